"""Every public algorithm that takes samples, with settings under which it is run in tests."""

import linrep as lr
from linrep.algorithms import personalized


def of_rank(algorithm, **settings):
    """Return an algorithm of data and a rank, with these settings."""
    return lambda data, k: algorithm(data, k=k, **settings)


def without_rank(algorithm, **settings):
    """Return an algorithm that needs no rank as one that is given one."""
    return lambda data, k: algorithm(data, **settings)


#: By name: callables of (data, k). The first word is the algorithm's public name.
REPRESENTATIONS = {
    "fedrep": of_rank(lr.fedrep),
    "fedrep from moments": of_rank(lr.fedrep, start="moments"),
    "fedrep of some": of_rank(lr.fedrep, participation=0.5, rng=0),
    "fedrep with head steps": of_rank(lr.fedrep, local_steps=5),
    "fedrep by smoothness": of_rank(lr.fedrep, step_size="smoothness"),
    "fedavg": of_rank(lr.fedavg, local_steps=5),
    "fedavg of some": of_rank(lr.fedavg, participation=0.5, rng=0),
    "fedsgd": of_rank(lr.fedsgd),
    "fedsgd from random": of_rank(lr.fedsgd, start="random", rng=0),
    "flute": of_rank(lr.flute, rng=0),
    "flute of some": of_rank(lr.flute, participation=0.5, rng=0),
    "pflmf": of_rank(lr.pflmf, rounds=100, rng=0),
    "pflmf of some": of_rank(lr.pflmf, rounds=100, participation=0.5, rng=0),
    "pflmf with head steps": of_rank(lr.pflmf, rounds=100, local_steps=5, rng=0),
    "pflmf from heads of 0": of_rank(lr.pflmf, rounds=100, start="zero", rng=0),
    "pflmf balanced": of_rank(lr.pflmf, rounds=100, start="balanced", rng=0),
    "pflmf spectral": of_rank(lr.pflmf, rounds=100, start="spectral", rng=0),
    "anil": of_rank(lr.anil, rng=0),
    "anil to first order": of_rank(lr.anil, first_order=True, rng=0),
    "maml": of_rank(lr.maml, rng=0),
    "altgdmin": of_rank(lr.altgdmin),
    "altmin_gd": of_rank(lr.altmin_gd),
    "alternating_least_squares": of_rank(lr.alternating_least_squares),
    "linear_factorization": of_rank(lr.linear_factorization, rng=0),
    "method_of_moments": of_rank(lr.method_of_moments),
    "cross_moments": of_rank(lr.cross_moments),
    "erm": of_rank(lr.erm, restarts=1, rng=0),
}
MODELS = {
    "local_only": without_rank(lr.local_only),
    "pooled": without_rank(lr.pooled),
    "ridge": without_rank(lr.ridge),
    "ridge_to_mean": without_rank(lr.ridge_to_mean),
    "personalized.local": without_rank(personalized.local, rounds=100),
    "personalized.average": without_rank(personalized.average, rounds=100),
    "personalized.hard_thresholding": of_rank(personalized.hard_thresholding, rounds=100),
}
ALL = REPRESENTATIONS | MODELS

#: Exact heads, fitted to all of a client's samples and of the last representation.
FITTED = (
    "fedrep", "fedrep from moments", "fedrep by smoothness", "altgdmin",
    "alternating_least_squares", "method_of_moments", "cross_moments", "erm",
)  # fmt: skip

#: Public names of linrep.algorithms that are none, or that take entries or none of one's own data.
OTHERS = {
    "biases", "empirical_risk_minimizer", "fit_heads", "fit_new_clients", "gaussian_start", "imc",
    "models_start", "moments_start", "perfedsi", "personalized", "projected_gradient_start",
    "random_start", "ridge_penalty", "run_trials", "simulate_heads", "truncated_start",
}  # fmt: skip
