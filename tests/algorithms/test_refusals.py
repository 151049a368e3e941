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
LARGE = lr.ClientData(np.ones((1, 5000)), np.ones(1), np.arange(2))
FULL, EMPTY = np.eye(2), np.zeros((0, 2))

fedrep = partial(lr.fedrep, rounds=2, rng=0)
drawn = partial(fedrep, SHARED, m=4)
own = partial(fedrep, OWN, k=2)
gram = partial(drawn, batches="gram", start=0.5)
fedavg = partial(lr.fedavg, SHARED, m=4, rounds=2, step_size=0.1, rng=0)
flute = partial(lr.flute, LOW_RANK, k=1, m=2, step_size=0.1, rounds=1)
pflmf = partial(lr.pflmf, QUADRATIC, k=2, step_size=0.1)
pulled = partial(personalized.distance_regularized, QUADRATIC)
perfedsi = partial(lr.perfedsi, SIDES, step_size=0.1)
anil = partial(lr.anil, SHARED, m=4)
maml = partial(lr.maml, SHARED, m=4)
altgdmin = partial(lr.altgdmin, DATA, k=2)
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
    (lambda: drawn(m=None), "m must be given"),
    (lambda: drawn(m=0), "m must be at least 1"),
    (lambda: drawn(m=[4] * 6), TypeError, "m must be an integer"),
    (lambda: drawn(m=[4] * 5, batches="fixed"), "6 integers"),
    (lambda: own(m=3), "m must not be given with ClientData"),
    (lambda: own(batches="fresh"), "batches must be 'fixed' with ClientData"),
    (lambda: drawn(batches="stale"), "batches"),
    (lambda: own(k=None), "k must be given"),
    (lambda: drawn(k=3), "k must equal the truth's rank 2"),
    (lambda: own(k=6), "5 = min(n, d)"),
    (lambda: own(k=0), "k must be at least 1"),
    (lambda: drawn(rounds=-1), "rounds must be at least 0"),
    (lambda: drawn(record=0), "record must be at least 1"),
    (lambda: drawn(record=[3]), "record"),
    (lambda: drawn(participation=0), "participation must be greater than 0"),
    (lambda: drawn(participation=1.01), "participation must be at most 1"),
    (lambda: drawn(participation=0.05), "none of 6"),
    (lambda: drawn(local_steps=0), "local_steps must be at least 1"),
    (lambda: drawn(head_step_size=0.1), "head_step_size needs local_steps"),
    (lambda: drawn(local_steps=1, head_step_size=0), "head_step_size must be greater"),
    (lambda: drawn(step_size=0), "step_size must be greater than 0"),
    (lambda: drawn(step_size="large"), "step_size"),
    (lambda: drawn(step_size="smoothness"), "batches='fixed'"),
    (lambda: drawn(step_size="adaptive"), "step_size='adaptive' needs"),
    (lambda: own(step_size="theorem"), "known truth"),
    (lambda: fedrep(HEADLESS, m=4), "heads that are not all zero"),
    (lambda: drawn(normalization="mean"), "normalization"),
    (lambda: drawn(tolerance=-1), "tolerance must be at least 0"),
    (lambda: own(tolerance=0.1), "tolerance needs a known truth"),
    (lambda: drawn(start="zero"), "start must be one of"),
    (lambda: drawn(start=1.5), "start, a distance,"),
    (lambda: own(start=0.5), "start as a distance needs a known truth"),
    (lambda: drawn(start=SHARED.B.T), "start must have shape (5, 2)"),
    (lambda: drawn(start=np.ones((5, 2))), "full column rank"),
    (lambda: drawn(start=(SHARED.B, SHARED.W[:3])), "start's heads"),
    (lambda: drawn(start=(SHARED.B,)), "a pair (B, W)"),
    # Simulated batches.
    (lambda: fedrep(UNIFORM, m=4, batches="gram"), "Gaussian"),
    (lambda: gram(orthonormal=False), "orthonormal=True"),
    (lambda: gram(batches="fixed", step_size="adaptive", orthonormal=False), "needs"),
    (lambda: fedrep(IMPLICIT, m=4, batches="gram"), "start must be 'random' or a"),
    (lambda: fedrep(IMPLICIT, m=4, start="random", batches="fresh"), "no B*"),
    (lambda: fedavg(batches="gram", local_steps=2), "local_steps=1"),
    (lambda: lr.fedsgd(UNIFORM, m=4, batches="gram", step_size=0.1), "Gaussian"),
    (lambda: lr.fedsgd(DATA, batches="gram", step_size=0.1), "ClientData"),
    (lambda: lr.local_only(UNIFORM, m=3, batches="gram"), "Gaussian"),
    (lambda: lr.local_only(SHARED, m=[3] * 6, batches="gram"), TypeError, "m must be an integer"),
    (lambda: lr.local_only(IMPLICIT, m=3), "no B*"),
    (lambda: lr.simulate_heads(UNIFORM, SHARED.B, 3), "Gaussian"),
    (lambda: lr.simulate_heads(DATA, SHARED.B, 3), TypeError, "truth"),
    (lambda: lr.simulate_heads(SHARED, SHARED.B, 0), "m must be at least 1"),
    (lambda: lr.simulate_heads(SHARED, 2.0 * SHARED.B, 3), "orthonormal columns"),
    (lambda: lr.simulate_heads(SHARED, SHARED.B.T, 3), "B must have shape (5, any)"),
    (lambda: lr.simulate_heads(SHARED, (FULL,), 3), "a pair (C, Phi)"),
    (lambda: lr.simulate_heads(SHARED, (FULL, np.ones((1, 2))), 3), "C and Phi"),
    (lambda: lr.simulate_heads(SHARED, (FULL, np.ones((1, 3))), 3), "Phi must have"),
    (lambda: lr.simulate_heads(SHARED, (np.eye(3), EMPTY), 3), "C must have shape"),
    (lambda: lr.simulate_heads(IMPLICIT, SHARED.B, 3), "no B*"),
    # Global models.
    (lambda: fedavg(batches="split"), "batches"),
    (lambda: fedavg(step_size="theorem"), TypeError, "step_size"),
    (lambda: fedavg(step_size=None), "stored samples"),
    *(
        row
        for method in (anil, maml)
        for row in (
            (partial(method.func, OWN), "k must be given"),
            (partial(method.func, SINGLE), "two samples"),
            (partial(method, batches="gram"), "batches"),
            (partial(method, m=1, batches="fresh"), "m must be at least 2"),
            (partial(method, start="moments"), "start must be one of"),
            (partial(method, start=(SHARED.B, np.ones(3))), "shape"),
            (partial(method, inner_step_size=0.0), "inner_step_size"),
            (partial(method, m=None), "m must be given"),
            (partial(method.func, ZERO, k=2), "all zero"),
            (partial(method.func, IMPLICIT, m=4), "stores B*"),
        )
    ),
    # FLUTE and pFL^MF.
    (lambda: flute(k=4), "k must be between 1 and 3"),
    (lambda: flute(k=None), "k must be given"),
    (lambda: flute(m=None), "m must be given"),
    (lambda: flute(batches="population"), "m must not be given"),
    (lambda: flute(m=None, batches="population", participation=0.5), "participation"),
    (lambda: flute(batches="gram"), "batches"),
    (lambda: flute(loss="third"), "loss"),
    (lambda: flute(aggregate="median"), "aggregate"),
    (lambda: flute(start="moments"), "start must be 'random' or a pair (B, W)"),
    (lambda: flute(start=np.eye(3, 1)), "start"),
    (lambda: flute(start=(np.eye(3, 1), np.eye(2, 1))), "start's W"),
    (lambda: flute(scale=1.0, start=(np.eye(3, 1), np.eye(3, 1))), "scale"),
    (lambda: flute(step_size="theorem"), "a gap after k"),
    (lambda: flute(step_size=0.0), "step_size must be greater than 0"),
    (lambda: flute(step_size=None, batches="fresh"), "stored samples"),
    (lambda: flute(step_size=None, regularizer_step_size=0.1), "regularizer_step_size"),
    (lambda: flute(gamma1=-1.0), "gamma1"),
    (lambda: lr.flute(OWN, k=2, spectrum=True), "spectrum needs a known truth"),
    (lambda: lr.flute(DATA, m=2), "m must not be given"),
    (lambda: lr.pflmf(SHARED), "m must be given"),
    (lambda: pflmf(m=3), "m must be given with a truth only"),
    (lambda: pflmf(k=5), "k must be between 1 and 4"),
    (lambda: pflmf(k=None), "k must be given"),
    (lambda: pflmf(step_size=0.0), "step_size must be greater than 0"),
    (lambda: pflmf(aggregate="sum"), "aggregate must be one of"),
    (lambda: pflmf(sampling="some"), "sampling must be one of"),
    (lambda: pflmf(order="none"), "order must be one of"),
    (lambda: pflmf(participation=1.5), "participation must be at most 1"),
    (lambda: pflmf(participation=1e-3, sampling="fixed"), "none of 12 clients"),
    (lambda: pflmf(head_step_size="tied"), "head_step_size must be one of"),
    (lambda: pflmf(head_step_size=0.1, step_size=None), "head_step_size needs"),
    (lambda: pflmf(batch=3), "batch needs losses of samples"),
    (lambda: pflmf(start="moments"), "start must be one of"),
    (lambda: pflmf(start=np.eye(4)), "start must be a name or a pair"),
    (lambda: pflmf(start=(np.eye(4), np.eye(4))), "U must have shape"),
    (lambda: pflmf(gradient_noise=-1.0), "gradient_noise must be at least 0"),
    (lambda: personalized.nuclear_norm(CUSTOM, penalty=0.1), "step_size must be given"),
    (lambda: personalized.nuclear_norm(QUADRATIC, penalty=-1.0), "penalty"),
    (lambda: personalized.constrained(QUADRATIC, delta=-1.0), "delta"),
    (lambda: personalized.hard_thresholding(QUADRATIC, k=5), "k must be between 1"),
    (lambda: personalized.oracle_clusters(QUADRATIC), "clusters must be 12 integers"),
    (lambda: pulled(penalty=1.0, center="median"), "center must be one of"),
    (lambda: personalized.local(QUADRATIC, start=np.eye(2)), "start must have shape"),
    # Completion and biases.
    (lambda: lr.perfedsi(ENTRIES), "k must be given"),
    (lambda: lr.perfedsi(SIDES), "step_size must be given where entries are drawn"),
    (lambda: lr.perfedsi(entries(A=np.eye(4, 2)), k=1), "no side information on items"),
    (lambda: perfedsi(step_size=0.0), "step_size must be greater than 0"),
    (lambda: perfedsi(local_steps=0), "local_steps must be at least 1"),
    (lambda: perfedsi(participants=21, replacement=False), "participants"),
    (lambda: perfedsi(k=5), "k must be between 1 and 4"),
    (lambda: perfedsi(start="spectral"), "start must be 'random' or a pair"),
    (lambda: perfedsi(start=(np.ones((3, 2)), np.ones((4, 2)))), "U must have shape"),
    (lambda: perfedsi(privacy=-1.0), "privacy must be at least 0"),
    (lambda: imc.gauss_newton(entries(Z=np.ones((5, 2))), 1), "Z must have independent"),
    (lambda: imc.gauss_newton(entries(A=np.ones((4, 3))), 1), "A must have independent"),
    (lambda: imc.gauss_newton(entries(values=[0.0, 0.0]), 1), "0 everywhere"),
    (lambda: imc.alternating(ENTRIES, 3), "k must be between 1 and 2"),
    (lambda: imc.alternating(ENTRIES, 1, start="warm"), "start must be"),
    (lambda: biases.least_squares(BIASED, side="two"), "side must be one of"),
    (lambda: biases.fedavg(BIASED, step_size=0.1, participation=1.1), "participation"),
    (lambda: biases.fedavg(UNBIASED, step_size=0.1), "for data without a truth"),
    (lambda: biases.local_only(BIASED.truth), TypeError, "data must be ClientData"),
    (lambda: biased(explained=1.5), "explained must be at most 1"),
    (lambda: biased(explained=0.5, p=20), "explained must be 1 unless n > p"),
    (lambda: biased(side="one-hot"), "p must be n = 20"),
    (lambda: biased(spread=-1.0), "spread must be at least 0"),
    # Estimators, and what every client does alone.
    *(
        row
        for method in (lr.altgdmin, lr.altmin_gd)
        for row in (
            (partial(method, DATA, k=9), "k must be between 1 and 5"),
            (partial(method, DATA, k=2, multiplier=0.0), "multiplier"),
            (partial(method, DATA, k=2, multiplier=1.0, step_size=0.1), "multiplier"),
            (partial(method, DATA, k=2, step_size=-1.0), "step_size"),
            (partial(method, DATA, k=2, start="near"), "start must be one of"),
            (partial(method, ZERO, k=2), "not all zero"),
            (partial(method, SHARED, k=2), TypeError, "data must be ClientData"),
        )
    ),
    (lambda: lr.altmin_gd(SINGLE, k=2), "two samples"),
    (lambda: lr.altmin_gd(DATA, k=2, rounds=7, disjoint=True), "rounds must be at most"),
    (lambda: altgdmin(truncation=4.0, step_size=0.1, start="random"), "truncation needs"),
    *(
        row
        for method in (lr.method_of_moments, lr.cross_moments, lr.linear_factorization, lr.erm)
        for row in (
            (partial(method, DATA, k=6), "k must be between 1 and 5"),
            (partial(method, None, k=1), TypeError, "data must be ClientData"),
        )
    ),
    (lambda: lr.cross_moments(SINGLE, k=1), "two samples"),
    (lambda: alternating(k=6), "k must be between 1 and 5"),
    (lambda: alternating(ridge=-1.0), "ridge must be at least 0"),
    (lambda: alternating(start="zero"), "start must be one of"),
    (lambda: alternating(start=np.ones((2, 1))), "start must have shape (5, 2)"),
    (lambda: alternating(tolerance=-1.0), "tolerance must be at least 0"),
    (lambda: factorization(start="moments"), "start"),
    (lambda: factorization(start=(np.eye(3), np.eye(4))), "shape"),
    (lambda: factorization(tolerance=-1.0), "tolerance"),
    (lambda: factorization(rounds=0), "rounds must be at least 1"),
    (lambda: lr.empirical_risk_minimizer(DATA, 1, starts=[np.eye(3)]), "starts must"),
    (lambda: lr.empirical_risk_minimizer(DATA, 1, restarts=-1), "restarts"),
    (lambda: lr.local_only(SHARED), "m must be given"),
    (lambda: lr.local_only(SHARED, m=3, batches="other"), "batches"),
    (lambda: lr.local_only(DATA, m=3), "m must not be given"),
    (lambda: lr.ridge(DATA, penalty=-1.0), "penalty must be at least 0"),
    (lambda: lr.ridge(DATA, penalty=[1.0]), "6, one per client"),
    (lambda: lr.ridge(DATA, penalty=1.0, per_client=True), "per_client"),
    (lambda: lr.ridge_to_mean(DATA, penalty=0.0), "penalty must be greater than 0"),
    (lambda: lr.ridge_to_mean(LARGE), "d at most 4096"),
    (lambda: lr.ridge_penalty(DATA, FULL), "B must have shape (5, any)"),
    (lambda: lr.fit_heads(DATA, np.eye(5), ridge=-1.0), "ridge must be at least 0"),
    (lambda: lr.fit_heads(DATA, np.ones(5)), "B must have shape (5, any)"),
    (lambda: lr.fit_heads(DATA, np.ones((5, 0))), "empty"),
    (lambda: lr.fit_heads((DATA.X, DATA.y), np.eye(5)), TypeError, "data must be ClientData"),
    (lambda: lr.fit_new_clients(lr.pooled(DATA), DATA), "must have a representation"),
    # Starts, steps and trials.
    *(
        row
        for start in (lr.moments_start, lr.projected_gradient_start, lr.models_start)
        for row in (
            (partial(start, DATA, 0), "k must be at least 1"),
            (partial(start, DATA, 6), "5 = min(n, d)"),
            (partial(start, DATA, 2.0), TypeError, "k must be an integer"),
        )
    ),
    (lambda: lr.truncated_start(DATA, 2, truncation=0.0), "truncation"),
    (lambda: projected(rounds=0), "rounds must be at least 1"),
    (lambda: projected(step_size=0.0), "step_size must be greater than 0"),
    (lambda: projected(step_size="theorem"), TypeError, "step_size"),
    (lambda: projected(rounds=20, step_size=1e200), "diverge"),
    (lambda: lr.random_start(4, 2, 3), "k must be between 1 and 2"),
    (lambda: lr.gaussian_start(4, 2, 3, -1.0), "scale must be at least 0"),
    (lambda: theorem_step_size(HEADLESS, 4), "heads that are not all zero"),
    (lambda: smoothness_step_size(ZERO, SHARED.B), "heads and samples"),
    (lambda: step(trials=0), "trials must be at least 1"),
    (lambda: step(trials=1, workers=0), "workers must be at least 1"),
]


@pytest.mark.parametrize("row", CALLS, ids=range(len(CALLS)))
def test_a_call_is_refused_by_name(row):
    call, *words = row
    kind = ValueError if isinstance(words[0], str) else words.pop(0)
    with complaint(kind, *words):
        call()
