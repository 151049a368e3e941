"""Calls that are refused, in a line that names what is wrong."""

from functools import partial

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms import biases, imc, personalized
from linrep.algorithms.step_sizes import smoothness_step_size, theorem_step_size
from tests.tools import complaint

SHARED = lr.SharedRepresentation.random(n=6, d=5, k=2, rng=0)
DATA = SHARED.draw(4, rng=0)
#: Of which nobody knows the truth; whose labels are 0; with one sample of each client.
OWN = lr.ClientData(DATA.X, DATA.y, DATA.offsets)
ZERO = lr.ClientData(DATA.X, 0.0 * DATA.y, DATA.offsets)
SINGLE = SHARED.draw(1, rng=0)
HEADLESS = lr.SharedRepresentation(SHARED.B, 0.0 * SHARED.W)
UNIFORM = lr.SharedRepresentation(SHARED.B, SHARED.W, design="uniform")
IMPLICIT = lr.ImplicitRepresentation(SHARED.W, 5)
LOW_RANK = lr.LowRankRegression(np.eye(3))
QUADRATIC = lr.QuadraticObjectives(np.random.default_rng(0).standard_normal((12, 4)))
CUSTOM = lr.CustomObjectives(lambda i, x: (0.5 * x @ x, x), n=2, d=2)
SIDES = lr.SideInformationCompletion.random(n=20, d=16, p=4, k=2, side="unit", rng=0)
ENTRIES = lr.Observations([0, 1], [0, 1], [1.0, 2.0])
BIASED = lr.BiasedRegression.random(n=20, d=5, p=3, rng=0).draw(5, rng=0)
UNBIASED = lr.ClientData(BIASED.X, BIASED.y, BIASED.offsets)
FULL, EMPTY, PAIR = np.eye(2), np.zeros((0, 2)), (SHARED.B, SHARED.W)

fedrep = partial(lr.fedrep, rounds=2, rng=0)
drawn = partial(fedrep, SHARED, m=4)
own = partial(fedrep, OWN, k=2)
gram = partial(drawn, batches="gram", start=0.5)
fedavg = partial(lr.fedavg, SHARED, m=4, rounds=2, step_size=0.1, rng=0)
flute = partial(lr.flute, LOW_RANK, k=1, m=2, step_size=0.1, rounds=1)
pflmf = partial(lr.pflmf, QUADRATIC, k=2, step_size=0.1)
perfedsi = partial(lr.perfedsi, SIDES, step_size=0.1)
anil = partial(lr.anil, SHARED, m=4)
maml = partial(lr.maml, SHARED, m=4)
alternating = partial(lr.alternating_least_squares, DATA, k=2)
factorization = partial(lr.linear_factorization, DATA, k=2)
projected = partial(lr.projected_gradient_start, DATA, 2)
step = partial(lr.run_trials, lambda problem, *, rng: None, None)


def biased(**change):
    return lr.BiasedRegression.random(**{"n": 20, "d": 5, "p": 3, "noise": 0.3, "rng": 0} | change)


def entries(**change):
    given = {"items": [0, 1], "clients": [0, 4], "values": [1.0, 2.0], "d": 4, "n": 5}
    return lr.Observations(**given | change)


CALLS = [
    (lambda: fedrep(None), TypeError, "problem must be SharedRepresentation or ClientData"),
    (lambda: fedrep(DATA.X), TypeError, "problem"),
    (lambda: drawn(m=None), ValueError, "m must be given"),
    (lambda: drawn(m=0), ValueError, "m must be at least 1"),
    (lambda: drawn(m=2.5), TypeError, "m must be an integer"),
    (lambda: drawn(m=[4] * 6), TypeError, "m must be an integer"),
    (lambda: drawn(m=0, batches="fixed"), ValueError, "m must be at least 1"),
    (lambda: drawn(m=[4] * 5, batches="fixed"), ValueError, "6 integers"),
    (lambda: own(m=3), ValueError, "m must not be given with ClientData"),
    (lambda: own(batches="fresh"), ValueError, "batches must be 'fixed' with ClientData"),
    (lambda: drawn(batches="stale"), ValueError, "batches"),
    (lambda: own(k=None), ValueError, "k must be given"),
    (lambda: drawn(k=3), ValueError, "k must equal the truth's rank 2"),
    (lambda: own(k=6), ValueError, "5 = min(n, d)"),
    (lambda: own(k=0), ValueError, "k must be at least 1"),
    (lambda: own(k=1.0), TypeError, "k must be an integer"),
    (lambda: drawn(rounds=-1), ValueError, "rounds must be at least 0"),
    (lambda: drawn(rounds=1.5), TypeError, "rounds must be an integer"),
    (lambda: drawn(rounds=None), TypeError, "rounds"),
    (lambda: drawn(record=0), ValueError, "record must be at least 1"),
    (lambda: drawn(record=[3]), ValueError, "record"),
    (lambda: drawn(record=[0.5]), ValueError, "record"),
    (lambda: drawn(participation=0), ValueError, "participation must be greater than 0"),
    (lambda: drawn(participation=1.01), ValueError, "participation must be at most 1"),
    (lambda: drawn(participation=0.05), ValueError, "none of 6"),
    (lambda: drawn(participation=np.nan), ValueError, "participation must be finite"),
    (lambda: drawn(participation="all"), TypeError, "participation"),
    (lambda: drawn(local_steps=0), ValueError, "local_steps must be at least 1"),
    (lambda: drawn(local_steps=1.0), TypeError, "local_steps must be an integer"),
    (lambda: drawn(head_step_size=0.1), ValueError, "head_step_size needs local_steps"),
    (lambda: drawn(local_steps=1, head_step_size=0), ValueError, "head_step_size must be greater"),
    (lambda: drawn(local_steps=1, head_step_size="a"), TypeError, "head_step_size"),
    (lambda: drawn(step_size=0), ValueError, "step_size must be greater than 0"),
    (lambda: drawn(step_size=np.inf), ValueError, "step_size must be finite"),
    (lambda: drawn(step_size="large"), ValueError, "step_size"),
    (lambda: drawn(step_size=[0.1]), TypeError, "step_size"),
    (lambda: drawn(step_size="smoothness"), ValueError, "batches='fixed'"),
    (lambda: drawn(step_size="adaptive"), ValueError, "step_size='adaptive' needs"),
    (lambda: own(step_size="theorem"), ValueError, "known truth"),
    (lambda: fedrep(HEADLESS, m=4), ValueError, "heads that are not all zero"),
    (lambda: drawn(normalization="mean"), ValueError, "normalization"),
    (lambda: drawn(tolerance=-1), ValueError, "tolerance must be at least 0"),
    (lambda: drawn(tolerance="low"), TypeError, "tolerance"),
    (lambda: own(tolerance=0.1), ValueError, "tolerance needs a known truth"),
    (lambda: drawn(start="zero"), ValueError, "start must be one of"),
    (lambda: drawn(start=1.5), ValueError, "start, a distance,"),
    (lambda: own(start=0.5), ValueError, "start as a distance needs a known truth"),
    (lambda: drawn(start=SHARED.B.T), ValueError, "start must have shape (5, 2)"),
    (lambda: drawn(start=SHARED.B * np.nan), ValueError, "start must be finite"),
    (lambda: drawn(start=SHARED.B + 0j), TypeError, "complex"),
    (lambda: drawn(start=np.ones((5, 2))), ValueError, "full column rank"),
    (lambda: drawn(start=(SHARED.B, SHARED.W[:3])), ValueError, "start's heads"),
    (lambda: drawn(start=(SHARED.B, SHARED.W * np.nan)), ValueError, "start's heads"),
    (lambda: drawn(start=(SHARED.B,)), ValueError, "a pair (B, W)"),
    (lambda: drawn(start=(*PAIR, 1)), ValueError, "a pair (B, W)"),
    (lambda: drawn(lokal_steps=2), TypeError, "lokal_steps"),
    # Simulated batches.
    (lambda: fedrep(UNIFORM, m=4, batches="gram"), ValueError, "Gaussian"),
    (lambda: gram(orthonormal=False), ValueError, "orthonormal=True"),
    (lambda: gram(batches="fixed", step_size="adaptive", orthonormal=False), ValueError, "needs"),
    (lambda: fedrep(IMPLICIT, m=4, batches="gram"), ValueError, "start must be 'random' or a"),
    (lambda: fedrep(IMPLICIT, m=4, start="random", batches="fresh"), ValueError, "no B*"),
    (lambda: fedavg(batches="gram", local_steps=2), ValueError, "local_steps=1"),
    (lambda: lr.fedsgd(UNIFORM, m=4, batches="gram", step_size=0.1), ValueError, "Gaussian"),
    (lambda: lr.fedsgd(DATA, batches="gram", step_size=0.1), ValueError, "ClientData"),
    (lambda: lr.local_only(UNIFORM, m=3, batches="gram"), ValueError, "Gaussian"),
    (lambda: lr.local_only(SHARED, m=[3] * 6, batches="gram"), TypeError, "m must be an integer"),
    (lambda: lr.local_only(IMPLICIT, m=3), ValueError, "no B*"),
    (lambda: lr.simulate_heads(UNIFORM, SHARED.B, 3), ValueError, "Gaussian"),
    (lambda: lr.simulate_heads(DATA, SHARED.B, 3), TypeError, "truth"),
    (lambda: lr.simulate_heads(SHARED, SHARED.B, 0), ValueError, "m must be at least 1"),
    (lambda: lr.simulate_heads(SHARED, 2.0 * SHARED.B, 3), ValueError, "orthonormal columns"),
    (lambda: lr.simulate_heads(SHARED, SHARED.B.T, 3), ValueError, "B must have shape (5, any)"),
    (lambda: lr.simulate_heads(SHARED, (FULL,), 3), ValueError, "a pair (C, Phi)"),
    (lambda: lr.simulate_heads(SHARED, (FULL, np.ones((1, 2))), 3), ValueError, "C and Phi"),
    (lambda: lr.simulate_heads(SHARED, (FULL, np.ones((1, 3))), 3), ValueError, "Phi must have"),
    (lambda: lr.simulate_heads(SHARED, (np.eye(3), EMPTY), 3), ValueError, "C must have shape"),
    (lambda: lr.simulate_heads(IMPLICIT, SHARED.B, 3), ValueError, "no B*"),
    # Global models.
    (lambda: lr.fedavg("data"), TypeError, "problem"),
    (lambda: fedavg(batches="split"), ValueError, "batches"),
    (lambda: fedavg(local_steps=None), TypeError, "local_steps"),
    (lambda: fedavg(step_size="theorem"), TypeError, "step_size"),
    (lambda: fedavg(step_size=None), ValueError, "stored samples"),
    (lambda: fedavg(step_size=None, batches="gram"), ValueError, "stored samples"),
    (lambda: lr.fedsgd(SHARED, m=3, step_size=0.1, local_steps=1), TypeError, "local_steps"),
    *(
        row
        for method in (anil, maml)
        for row in (
            (partial(method.func, OWN), ValueError, "k must be given"),
            (partial(method.func, SINGLE), ValueError, "two samples"),
            (partial(method, batches="gram"), ValueError, "batches"),
            (partial(method, m=1, batches="fresh"), ValueError, "m must be at least 2"),
            (partial(method, start="moments"), ValueError, "start must be one of"),
            (partial(method, start=(SHARED.B, np.ones(3))), ValueError, "shape"),
            (partial(method, inner_step_size=0.0), ValueError, "inner_step_size"),
            (partial(method, m=None), ValueError, "m must be given"),
            (partial(method.func, ZERO, k=2), ValueError, "all zero"),
            (partial(method.func, IMPLICIT, m=4), ValueError, "stores B*"),
        )
    ),
    # FLUTE and pFL^MF.
    (lambda: lr.flute(np.eye(3), k=1), TypeError, "LowRankRegression"),
    (lambda: flute(k=4), ValueError, "k must be between 1 and 3"),
    (lambda: flute(k=None), ValueError, "k must be given"),
    (lambda: flute(m=None), ValueError, "m must be given"),
    (lambda: flute(batches="population"), ValueError, "m must not be given"),
    (lambda: flute(m=None, batches="population", participation=0.5), ValueError, "participation"),
    (lambda: flute(batches="gram"), ValueError, "batches"),
    (lambda: flute(loss="third"), ValueError, "loss"),
    (lambda: flute(aggregate="median"), ValueError, "aggregate"),
    (lambda: flute(start="moments"), ValueError, "start must be 'random' or a pair (B, W)"),
    (lambda: flute(start=np.eye(3, 1)), ValueError, "start"),
    (lambda: flute(start=(np.eye(3, 1), np.eye(2, 1))), ValueError, "start's W"),
    (lambda: flute(scale=1.0, start=(np.eye(3, 1), np.eye(3, 1))), ValueError, "scale"),
    (lambda: flute(step_size="theorem"), ValueError, "a gap after k"),
    (lambda: flute(step_size=0.0), ValueError, "step_size must be greater than 0"),
    (lambda: flute(step_size=None, batches="fresh"), ValueError, "stored samples"),
    (lambda: flute(step_size=None, regularizer_step_size=0.1), ValueError, "regularizer_step_size"),
    (lambda: flute(gamma1=-1.0), ValueError, "gamma1"),
    (lambda: lr.flute(OWN, k=2, spectrum=True), ValueError, "spectrum needs a known truth"),
    (lambda: lr.flute(DATA, m=2), ValueError, "m must not be given"),
    (lambda: lr.pflmf(np.eye(3), k=1), TypeError, "problem must be Objectives, ClientData"),
    (lambda: lr.pflmf(SHARED), ValueError, "m must be given"),
    (lambda: pflmf(m=3), ValueError, "m must be given with a truth only"),
    (lambda: pflmf(k=5), ValueError, "k must be between 1 and 4"),
    (lambda: pflmf(k=None), ValueError, "k must be given"),
    (lambda: pflmf(step_size=0.0), ValueError, "step_size must be greater than 0"),
    (lambda: pflmf(aggregate="sum"), ValueError, "aggregate must be one of"),
    (lambda: pflmf(sampling="some"), ValueError, "sampling must be one of"),
    (lambda: pflmf(order="none"), ValueError, "order must be one of"),
    (lambda: pflmf(participation=1.5), ValueError, "participation must be at most 1"),
    (lambda: pflmf(participation=1e-3, sampling="fixed"), ValueError, "none of 12 clients"),
    (lambda: pflmf(head_step_size="tied"), ValueError, "head_step_size must be one of"),
    (lambda: pflmf(head_step_size=0.1, step_size=None), ValueError, "head_step_size needs"),
    (lambda: pflmf(batch=3), ValueError, "batch needs losses of samples"),
    (lambda: pflmf(start="moments"), ValueError, "start must be one of"),
    (lambda: pflmf(start=np.eye(4)), ValueError, "start must be a name or a pair"),
    (lambda: pflmf(start=(np.eye(4), np.eye(4))), ValueError, "U must have shape"),
    (lambda: pflmf(gradient_noise=-1.0), ValueError, "gradient_noise must be at least 0"),
    (lambda: personalized.local(np.eye(2)), TypeError, "problem must be Objectives or ClientData"),
    (lambda: personalized.nuclear_norm(CUSTOM, penalty=0.1), ValueError, "step_size must be given"),
    (lambda: personalized.nuclear_norm(QUADRATIC, penalty=-1.0), ValueError, "penalty"),
    (lambda: personalized.constrained(QUADRATIC, delta=-1.0), ValueError, "delta"),
    (lambda: personalized.hard_thresholding(QUADRATIC, k=5), ValueError, "k must be between 1"),
    (lambda: personalized.oracle_clusters(QUADRATIC), ValueError, "clusters must be 12 integers"),
    (
        lambda: personalized.distance_regularized(QUADRATIC, penalty=1.0, center="median"),
        ValueError,
        "center must be one of",
    ),
    (lambda: personalized.local(QUADRATIC, start=np.eye(2)), ValueError, "start must have shape"),
    # Completion and biases.
    (lambda: lr.perfedsi(np.eye(3)), TypeError, "problem must be SideInformationCompletion"),
    (lambda: lr.perfedsi(ENTRIES), ValueError, "k must be given"),
    (lambda: lr.perfedsi(SIDES), ValueError, "step_size must be given where entries are drawn"),
    (lambda: lr.perfedsi(entries(A=np.eye(4, 2)), k=1), ValueError, "no side information on items"),
    (lambda: perfedsi(step_size=0.0), ValueError, "step_size must be greater than 0"),
    (lambda: perfedsi(local_steps=0), ValueError, "local_steps must be at least 1"),
    (lambda: perfedsi(participants=21, replacement=False), ValueError, "participants"),
    (lambda: perfedsi(k=5), ValueError, "k must be between 1 and 4"),
    (lambda: perfedsi(start="spectral"), ValueError, "start must be 'random' or a pair"),
    (lambda: perfedsi(start=(np.ones((3, 2)), np.ones((4, 2)))), ValueError, "U must have shape"),
    (lambda: perfedsi(privacy=-1.0), ValueError, "privacy must be at least 0"),
    (
        lambda: imc.gauss_newton(entries(Z=np.ones((5, 2))), 1),
        ValueError,
        "Z must have independent",
    ),
    (
        lambda: imc.gauss_newton(entries(A=np.ones((4, 3))), 1),
        ValueError,
        "A must have independent",
    ),
    (lambda: imc.gauss_newton(entries(values=[0.0, 0.0]), 1), ValueError, "0 everywhere"),
    (lambda: imc.alternating(ENTRIES, 3), ValueError, "k must be between 1 and 2"),
    (lambda: imc.alternating(ENTRIES, 1, start="warm"), ValueError, "start must be"),
    (lambda: imc.least_squares(np.eye(2)), TypeError, "observations must be Observations"),
    (lambda: biases.least_squares(BIASED, side="two"), ValueError, "side must be one of"),
    (lambda: biases.fedavg(BIASED, step_size=0.1, participation=1.1), ValueError, "participation"),
    (lambda: biases.fedavg(UNBIASED, step_size=0.1), ValueError, "for data without a truth"),
    (lambda: biases.local_only(BIASED.truth), TypeError, "data must be ClientData"),
    (lambda: biased(explained=1.5), ValueError, "explained must be at most 1"),
    (lambda: biased(explained=0.5, p=20), ValueError, "explained must be 1 unless n > p"),
    (lambda: biased(side="one-hot"), ValueError, "p must be n = 20"),
    (lambda: biased(spread=-1.0), ValueError, "spread must be at least 0"),
    # Estimators, and what every client does alone.
    *(
        row
        for method in (lr.altgdmin, lr.altmin_gd)
        for row in (
            (partial(method, DATA, k=9), ValueError, "k must be between 1 and 5"),
            (partial(method, DATA, k=2, multiplier=0.0), ValueError, "multiplier"),
            (partial(method, DATA, k=2, multiplier=1.0, step_size=0.1), ValueError, "multiplier"),
            (partial(method, DATA, k=2, step_size=-1.0), ValueError, "step_size"),
            (partial(method, DATA, k=2, start="near"), ValueError, "start must be one of"),
            (partial(method, ZERO, k=2), ValueError, "not all zero"),
            (partial(method, SHARED, k=2), TypeError, "data must be ClientData"),
        )
    ),
    (lambda: lr.altmin_gd(SINGLE, k=2), ValueError, "two samples"),
    (
        lambda: lr.altmin_gd(DATA, k=2, rounds=7, disjoint=True),
        ValueError,
        "rounds must be at most",
    ),
    (
        lambda: lr.altgdmin(DATA, k=2, truncation=4.0, step_size=0.1, start="random"),
        ValueError,
        "truncation needs",
    ),
    *(
        row
        for method in (lr.method_of_moments, lr.cross_moments, lr.linear_factorization, lr.erm)
        for row in (
            (partial(method, DATA, k=6), ValueError, "k must be between 1 and 5"),
            (partial(method, None, k=1), TypeError, "data must be ClientData"),
        )
    ),
    (lambda: lr.cross_moments(SINGLE, k=1), ValueError, "two samples"),
    (lambda: alternating(k=6), ValueError, "k must be between 1 and 5"),
    (lambda: alternating(ridge=-1.0), ValueError, "ridge must be at least 0"),
    (lambda: alternating(start="zero"), ValueError, "start must be one of"),
    (lambda: alternating(start=np.ones((2, 1))), ValueError, "start must have shape (5, 2)"),
    (lambda: alternating(tolerance=-1.0), ValueError, "tolerance must be at least 0"),
    (lambda: factorization(start="moments"), ValueError, "start"),
    (lambda: factorization(start=(np.eye(3), np.eye(4))), ValueError, "shape"),
    (lambda: factorization(tolerance=-1.0), ValueError, "tolerance"),
    (lambda: factorization(rounds=0), ValueError, "rounds must be at least 1"),
    (lambda: lr.empirical_risk_minimizer(DATA, 1, starts=[np.eye(3)]), ValueError, "starts must"),
    (lambda: lr.empirical_risk_minimizer(DATA, 1, restarts=-1), ValueError, "restarts"),
    (lambda: lr.local_only(SHARED), ValueError, "m must be given"),
    (lambda: lr.local_only(SHARED, m=3, batches="other"), ValueError, "batches"),
    (lambda: lr.local_only(DATA, m=3), ValueError, "m must not be given"),
    (lambda: lr.local_only(None, m=3), TypeError, "problem"),
    (lambda: lr.pooled(None), TypeError, "data must be ClientData"),
    (lambda: lr.ridge(DATA, penalty=-1.0), ValueError, "penalty must be at least 0"),
    (lambda: lr.ridge(DATA, penalty=[1.0]), ValueError, "6, one per client"),
    (lambda: lr.ridge(DATA, penalty=1.0, per_client=True), ValueError, "per_client"),
    (lambda: lr.ridge_to_mean(DATA, penalty=0.0), ValueError, "penalty must be greater than 0"),
    (
        lambda: lr.ridge_to_mean(lr.ClientData(np.ones((1, 5000)), np.ones(1), np.arange(2))),
        ValueError,
        "d at most 4096",
    ),
    (lambda: lr.ridge_penalty(DATA, FULL), ValueError, "B must have shape (5, any)"),
    (lambda: lr.fit_heads(DATA, np.eye(5), ridge=-1.0), ValueError, "ridge must be at least 0"),
    (lambda: lr.fit_heads(DATA, np.ones(5)), ValueError, "B must have shape (5, any)"),
    (lambda: lr.fit_heads(DATA, np.ones((5, 0))), ValueError, "empty"),
    (lambda: lr.fit_heads(DATA, np.full((5, 1), np.nan)), ValueError, "B must be finite"),
    (lambda: lr.fit_heads((DATA.X, DATA.y), np.eye(5)), TypeError, "data must be ClientData"),
    (lambda: lr.fit_new_clients(lr.pooled(DATA), DATA), ValueError, "must have a representation"),
    # Starts, steps and trials.
    *(
        row
        for start in (lr.moments_start, lr.projected_gradient_start, lr.models_start)
        for row in (
            (partial(start, DATA, 0), ValueError, "k must be at least 1"),
            (partial(start, DATA, 6), ValueError, "5 = min(n, d)"),
            (partial(start, DATA, 2.0), TypeError, "k must be an integer"),
        )
    ),
    (lambda: lr.truncated_start(DATA, 2, truncation=0.0), ValueError, "truncation"),
    (lambda: projected(rounds=0), ValueError, "rounds must be at least 1"),
    (lambda: projected(rounds=1.5), TypeError, "rounds must be an integer"),
    (lambda: projected(step_size=0.0), ValueError, "step_size must be greater than 0"),
    (lambda: projected(step_size="theorem"), TypeError, "step_size"),
    (lambda: projected(rounds=20, step_size=1e200), ValueError, "diverge"),
    (lambda: lr.random_start(4, 2, 3), ValueError, "k must be between 1 and 2"),
    (lambda: lr.gaussian_start(4, 2, 3, -1.0), ValueError, "scale must be at least 0"),
    (lambda: theorem_step_size(HEADLESS, 4), ValueError, "heads that are not all zero"),
    (lambda: smoothness_step_size(ZERO, SHARED.B), ValueError, "heads and samples"),
    (lambda: step(trials=0), ValueError, "trials must be at least 1"),
    (lambda: step(trials=2.0), TypeError, "trials must be an integer"),
    (lambda: step(trials=1, workers=0), ValueError, "workers must be at least 1"),
    (lambda: step(trials=1, workers=None), TypeError, "workers"),
]


@pytest.mark.parametrize("row", CALLS, ids=range(len(CALLS)))
def test_a_call_is_refused_by_name(row):
    call, kind, words = row
    with complaint(kind, words):
        call()
