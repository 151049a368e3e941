"""What `linrep.theory.asymptotics` offers: read when it is imported, and by type checkers."""

from . import fixed_batches as fixed_batches
from . import flute as flute
from . import perfedsi as perfedsi
from . import pflmf as pflmf
from .learning_curves import Curve as Curve
from .learning_curves import anil as anil
from .learning_curves import fedrep as fedrep
from .starts import SpectralLimit as SpectralLimit
from .starts import best_weights as best_weights
from .starts import many_samples as many_samples
from .starts import spectral_start as spectral_start
