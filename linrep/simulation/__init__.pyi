"""What `linrep.simulation` offers, and where it is."""

from . import comparison as comparison
from . import families as families
from .replicates import ALGORITHMS as ALGORITHMS
from .replicates import KEEP as KEEP
from .replicates import family_of as family_of
from .replicates import find_algorithm as find_algorithm
from .replicates import known_parameters as known_parameters
from .replicates import of_samples as of_samples
from .replicates import plain_name as plain_name
from .replicates import required as required
from .replicates import simulate as simulate
from .replicates import sweep as sweep
