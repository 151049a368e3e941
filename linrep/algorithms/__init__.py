"""Methods and starting points: callables of a problem that return a trace."""

from linrep.algorithms import biases, imc, personalized
from linrep.algorithms.baselines.alternating import alternating_least_squares
from linrep.algorithms.baselines.altmin import altgdmin, altmin_gd
from linrep.algorithms.baselines.estimators import (
    cross_moments,
    empirical_risk_minimizer,
    erm,
    method_of_moments,
)
from linrep.algorithms.baselines.factorization import linear_factorization
from linrep.algorithms.baselines.global_model import fedavg, fedsgd
from linrep.algorithms.baselines.meta import anil, maml
from linrep.algorithms.baselines.ridge import pooled, ridge, ridge_penalty, ridge_to_mean
from linrep.algorithms.fedrep.fedrep import fedrep
from linrep.algorithms.flute.flute import flute, gaussian_start
from linrep.algorithms.imc.perfedsi import perfedsi
from linrep.algorithms.local import fit_heads, fit_new_clients, local_only, simulate_heads
from linrep.algorithms.pflmf.pflmf import pflmf
from linrep.algorithms.starts import (
    models_start,
    moments_start,
    projected_gradient_start,
    random_start,
    truncated_start,
)
from linrep.algorithms.trials import run_trials

__all__ = [
    "alternating_least_squares",
    "altgdmin",
    "altmin_gd",
    "anil",
    "biases",
    "cross_moments",
    "empirical_risk_minimizer",
    "erm",
    "fedavg",
    "fedrep",
    "fedsgd",
    "fit_heads",
    "fit_new_clients",
    "flute",
    "gaussian_start",
    "imc",
    "linear_factorization",
    "local_only",
    "maml",
    "method_of_moments",
    "models_start",
    "moments_start",
    "perfedsi",
    "personalized",
    "pflmf",
    "pooled",
    "projected_gradient_start",
    "random_start",
    "ridge",
    "ridge_penalty",
    "ridge_to_mean",
    "run_trials",
    "simulate_heads",
    "truncated_start",
]


def __dir__():
    return sorted(__all__)
