"""What the lazily loaded names are, for type checkers; tests/test_types.py compares."""

from linrep.kernels._border import Workspace as Workspace
from linrep.kernels.public_fedrep import FedRepRound as FedRepRound
from linrep.kernels.public_fedrep import Gradient as Gradient
from linrep.kernels.public_fedrep import distance as distance
from linrep.kernels.public_fedrep import fedrep_round as fedrep_round
from linrep.kernels.public_fedrep import fit_heads as fit_heads
from linrep.kernels.public_fedrep import gradient as gradient
from linrep.kernels.public_fedrep import moments_start as moments_start
from linrep.kernels.public_flute import Orbit as Orbit
from linrep.kernels.public_flute import theta_orbit as theta_orbit
from linrep.kernels.public_flute import theta_step as theta_step
from linrep.kernels.public_perfedsi import PerFedSIRound as PerFedSIRound
from linrep.kernels.public_perfedsi import perfedsi_epoch as perfedsi_epoch
from linrep.kernels.public_perfedsi import perfedsi_step as perfedsi_step
from linrep.kernels.public_pflmf import PFLMFRound as PFLMFRound
from linrep.kernels.public_pflmf import pflmf_quadratic_round as pflmf_quadratic_round
from linrep.kernels.public_pflmf import pflmf_round as pflmf_round
