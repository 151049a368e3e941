"""What `linrep.theory` offers: read when it is imported, and by type checkers."""

from . import asymptotics as asymptotics
from . import bound_lines as bound_lines
from . import bounds as bounds
from . import design_bounds as design_bounds
from . import expectations as expectations
from . import fedrep as fedrep
from . import fedrep_lemmas as fedrep_lemmas
from . import fedrep_limits as fedrep_limits
from . import finite as finite
from . import finite_bounds as finite_bounds
from . import flute as flute
from . import flute_lift as flute_lift
from . import flute_limit as flute_limit
from . import flute_samples as flute_samples
from . import minimax as minimax
from . import perfedsi as perfedsi
from . import perfedsi_rounds as perfedsi_rounds
from . import pflmf as pflmf
from . import pflmf_rounds as pflmf_rounds
from . import requirements as requirements
from . import sample_sizes as sample_sizes
from .requirements import asked as asked
