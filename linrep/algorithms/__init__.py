"""Methods and starting points: callables of a problem that return a trace."""

from linrep.algorithms import biases as biases
from linrep.algorithms import imc as imc
from linrep.algorithms import personalized as personalized
from linrep.algorithms.erm import empirical_risk_minimizer
from linrep.algorithms.fedrep import fedrep
from linrep.algorithms.flute import flute, gaussian_start
from linrep.algorithms.local import fit_heads, local_only, simulate_heads
from linrep.algorithms.one_model import fedavg, fedsgd
from linrep.algorithms.perfedsi import perfedsi
from linrep.algorithms.pflmf import pflmf
from linrep.algorithms.starts import moments_start, projected_gradient_start, random_start
from linrep.algorithms.trials import run_trials

__all__ = [
    "empirical_risk_minimizer",
    "fedavg",
    "fedrep",
    "fedsgd",
    "fit_heads",
    "flute",
    "gaussian_start",
    "local_only",
    "moments_start",
    "perfedsi",
    "pflmf",
    "projected_gradient_start",
    "random_start",
    "run_trials",
    "simulate_heads",
]
