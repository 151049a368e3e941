"""What `linrep.figures` offers, and where it is."""

from . import computing as computing
from . import drawing as drawing
from . import experiment as experiment
from . import networks as networks
from . import plotting as plotting
from . import record as record
from . import reproduction as reproduction
from . import sizes as sizes
from . import summaries as summaries
