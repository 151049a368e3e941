"""What the lazily loaded modules are, for type checkers; tests/test_types.py compares."""

from linrep.theory import bound_lines as bound_lines
from linrep.theory import bounds as bounds
from linrep.theory import design_bounds as design_bounds
from linrep.theory import expectations as expectations
from linrep.theory import fedrep as fedrep
from linrep.theory import fedrep_lemmas as fedrep_lemmas
from linrep.theory import fedrep_limits as fedrep_limits
from linrep.theory import flute as flute
from linrep.theory import flute_lift as flute_lift
from linrep.theory import flute_samples as flute_samples
from linrep.theory import minimax as minimax
from linrep.theory import noise_floors as noise_floors
from linrep.theory import perfedsi as perfedsi
from linrep.theory import perfedsi_rounds as perfedsi_rounds
from linrep.theory import pflmf as pflmf
from linrep.theory import pflmf_rounds as pflmf_rounds
from linrep.theory import sample_sizes as sample_sizes
