"""linrep: the theory of federated representation learning, checked by running it.

Names load on first use, so that importing the package costs nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "BestModel": "linrep.problems",
    "BiasedRegression": "linrep.problems",
    "ClientData": "linrep.problems",
    "Comparison": "linrep.comparison",
    "CustomObjectives": "linrep.problems",
    "ImplicitRepresentation": "linrep.problems",
    "LeastSquaresObjectives": "linrep.problems",
    "LogisticObjectives": "linrep.problems",
    "LowRankRegression": "linrep.problems",
    "Objectives": "linrep.problems",
    "Observations": "linrep.problems",
    "Preparation": "linrep.problems",
    "QuadraticObjectives": "linrep.problems",
    "Ratings": "linrep.problems",
    "RunWarning": "linrep.diagnosis",
    "SampleObjectives": "linrep.problems",
    "SharedRepresentation": "linrep.problems",
    "SideInformationCompletion": "linrep.problems",
    "SoftmaxObjectives": "linrep.problems",
    "Trace": "linrep.trace",
    "altgdmin": "linrep.algorithms",
    "alternating_least_squares": "linrep.algorithms",
    "altmin_gd": "linrep.algorithms",
    "anil": "linrep.algorithms",
    "compare": "linrep.comparison",
    "cross_moments": "linrep.algorithms",
    "empirical_risk_minimizer": "linrep.algorithms",
    "erm": "linrep.algorithms",
    "fedavg": "linrep.algorithms",
    "fedrep": "linrep.algorithms",
    "fedsgd": "linrep.algorithms",
    "fit_heads": "linrep.algorithms",
    "fit_new_clients": "linrep.algorithms",
    "flute": "linrep.algorithms",
    "gaussian_start": "linrep.algorithms",
    "linear_factorization": "linrep.algorithms",
    "local_only": "linrep.algorithms",
    "maml": "linrep.algorithms",
    "method_of_moments": "linrep.algorithms",
    "models_start": "linrep.algorithms",
    "moments_start": "linrep.algorithms",
    "perfedsi": "linrep.algorithms",
    "pflmf": "linrep.algorithms",
    "pooled": "linrep.algorithms",
    "projected_gradient_start": "linrep.algorithms",
    "read_movielens": "linrep.problems",
    "read_ratings": "linrep.problems",
    "random_start": "linrep.algorithms",
    "ridge": "linrep.algorithms",
    "ridge_penalty": "linrep.algorithms",
    "ridge_to_mean": "linrep.algorithms",
    "run_rounds": "linrep.driver",
    "run_trials": "linrep.algorithms",
    "select": "linrep.selection",
    "simulate_heads": "linrep.algorithms",
    "truncated_start": "linrep.algorithms",
    "statement": "linrep.claims.entry",
    "statements": "linrep.claims.lookup",
    "streams": "linrep.random",
}
_MODULES = (
    "algorithms", "claims", "comparison", "deep", "experiment", "kernels", "plotting", "problems",
    "report", "selection", "simulation", "stats", "subspace", "sweeps", "testing", "theory",
)  # fmt: skip

__all__ = [*_HOME, *_MODULES, "__version__"]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"linrep.{name}")
    raise AttributeError(f"module 'linrep' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
