"""Methods and starting points: callables of a problem that return a trace."""

from linrep.algorithms import biases, imc, personalized
from linrep.algorithms.erm import empirical_risk_minimizer
from linrep.algorithms.fedrep import fedrep
from linrep.algorithms.flute import flute, gaussian_start
from linrep.algorithms.global_model import fedavg, fedsgd
from linrep.algorithms.local import fit_heads, fit_new_clients, local_only, simulate_heads
from linrep.algorithms.perfedsi import perfedsi
from linrep.algorithms.pflmf import pflmf
from linrep.algorithms.starts import moments_start, projected_gradient_start, random_start
from linrep.algorithms.trials import run_trials

__all__ = [
    "biases",
    "empirical_risk_minimizer",
    "fedavg",
    "fedrep",
    "fedsgd",
    "fit_heads",
    "fit_new_clients",
    "flute",
    "gaussian_start",
    "imc",
    "local_only",
    "moments_start",
    "perfedsi",
    "personalized",
    "pflmf",
    "projected_gradient_start",
    "random_start",
    "run_trials",
    "simulate_heads",
]


def __dir__():
    return sorted(__all__)
