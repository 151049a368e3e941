"""What `linrep.simulation` offers, and where it is."""

from . import comparison as comparison
from . import families as families
from .replicates import ALGORITHMS as ALGORITHMS
from .replicates import KEEP as KEEP
from .replicates import family_of as family_of
from .replicates import find_algorithm as find_algorithm
from .replicates import simulate as simulate
from .replicates import sweep as sweep
