"""Learning curves in the limit: against recursions in coordinates, simulations and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.problems import ImplicitRepresentation
from linrep.theory import asymptotics, fedrep_limits, finite
from linrep.theory.asymptotics import learning_curves
from tests.reference import asymptotics as reference
from tests.strategies import seeds
from tests.tools import close, complaint


def truth_of(seed, n, d, k, noise=0.0, equal=False):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((n, k))
    if equal:  # of norm root(k), in pairs of opposite directions of each axis: isotropic
        W = np.sqrt(k) * np.vstack([np.eye(k), -np.eye(k)] * (n // (2 * k)))
    return ImplicitRepresentation(W, d, noise)


def chordal(B, truth):
    """Return the sum of the squared sines of the principal angles."""
    return np.sum(np.sin(lr.subspace.principal_angles(B, truth)) ** 2)


def state(seed, k):
    """Return C and Phi of a random frame and truth."""
    rng = np.random.default_rng(seed)
    truth = np.linalg.qr(rng.standard_normal((2 * k, k)))[0]
    return truth[:k], truth[k:]


@given(seeds, st.integers(1, 4))
def test_a_step_is_that_in_coordinates(seed, k):
    rng = np.random.default_rng(seed + 1)
    C, Phi = state(seed, k)
    A, X, root = np.eye(k) + 0.3 * rng.standard_normal((k, k)), *rng.standard_normal((2, k, k))
    found = learning_curves.advance(C, np.eye(k) - C @ C.T, A, X, root @ root.T)
    new_C, new_Phi = reference.step(C, Phi, A, Phi @ X, root @ root.T)
    # Frames agree up to signs of their columns.
    close(found[0].T @ found[0], new_C.T @ new_C, 1e-8)
    close(np.trace(found[1]), np.sum(new_Phi**2), 1e-8)
    close(found[1], np.eye(k) - found[0] @ found[0].T, 1e-8)
    close(learning_curves.outside_gram(*found[:2]), new_Phi.T @ new_Phi, 1e-7)


@pytest.mark.parametrize("batches", ["same", "split"])
def test_means_over_data_are_those_of_simulated_clients(batches):
    rng = np.random.default_rng(0)
    C, Phi = state(3, 2)
    truth, m = truth_of(1, 3, 9, 2, noise=0.5), 12
    E = np.eye(2) - C @ C.T
    exact = getattr(learning_curves, f"{batches}_gradient")
    g = exact(truth.W, C, learning_curves.outside_gram(C, E), m=m, noise=0.5)
    parts = [reference.means(truth.W, C, Phi, 0.5, m, batches, rng, 300) for _ in range(20)]
    for found, drawn in zip(
        (g.inside, Phi @ g.outside, g.power), zip(*parts, strict=True), strict=True
    ):
        error = np.std(drawn, axis=0, ddof=1) / np.sqrt(len(drawn))
        assert np.all(np.abs(np.mean(drawn, axis=0) - found) < 4.5 * error + 1e-12)


def agreement(truth, curve, at, runs=6, **settings):
    """Return the error of the curve's squared chordal distance in units of the runs' own error."""
    logs = []
    for seed in range(runs):
        squares = [
            np.sum(lr.fedrep(truth, rounds=t, rng=seed, **settings).state["Phi"] ** 2)
            if t
            else curve.squared_chordal[0]
            for t in at
        ]
        logs.append(np.log(squares))
    mean, sd = np.mean(logs, axis=0), np.std(logs, axis=0, ddof=1)
    return (mean - np.log(curve.squared_chordal[list(at)])) / (sd / np.sqrt(runs)), sd


SETTINGS = [
    ({}, 0.0, {}),
    ({"participation": 0.25}, 0.3, {}),
    ({"batches": "gram_split"}, 0.5, {"batches": "split"}),
    ({"local_steps": 3}, 0.2, {}),
    ({"local_steps": 2, "head_step_size": 0.2}, 0.0, {}),
]


@pytest.mark.parametrize(("settings", "noise", "limit"), SETTINGS)
def test_runs_follow_the_curve(settings, noise, limit):
    truth = truth_of(0, 4000, 3000, 2, noise)
    shared = {"m": 9, "step_size": 0.6, "start": 0.7}
    options = {key: value for key, value in settings.items() if key != "batches"} | limit
    curve = asymptotics.fedrep(truth, rounds=12, rng=5, **shared, **options)
    errors, sd = agreement(truth, curve, (1, 4, 12), **shared, **{"batches": "gram"} | settings)
    # Six runs; the bias of order 1/n and the particles' error are below a run's own spread.
    assert np.all(np.abs(errors) < 4.0 * np.sqrt(6)), (errors, sd)
    assert np.all(sd < 0.1)


@pytest.mark.parametrize("batches", ["same", "split"])
def test_without_fluctuations_it_is_the_round_of_infinitely_many_clients(batches):
    """With d = k no direction is left in which the sampling could throw B: exact."""
    heads = truth_of(1, 40, 6, 2).W
    options = {"m": 8, "step_size": 0.3, "rounds": 15, "batches": batches}
    wide, flat, exact = (ImplicitRepresentation(heads, d, 0.2) for d in (4, 2, 10**6))
    found = asymptotics.fedrep(flat, start=0.6, **options).distance
    close(found, fedrep_limits.limit_distances(exact, 0.6, **options), 1e-12)
    assert np.all(asymptotics.fedrep(wide, start=0.6, **options).distance[1:] > found[1:])


def test_split_batches_with_many_samples_of_heads_are_rounds_with_known_heads():
    """Then w_i = C w_i*; gamma/m is kept. Head errors are of order 1/m."""
    eta, rounds, errors = 0.4, 10, []
    heads = truth_of(0, 40, 6, 2).W
    S = heads.T @ heads / 40
    for m in (10**3, 10**5):
        truth = ImplicitRepresentation(heads, 2 + 20 * m, 0.5)  # (d - k)/(nm) = 1/2
        curve = asymptotics.fedrep(
            truth, m=m, step_size=eta, rounds=rounds, start=0.6, batches="split"
        )
        C, E, known = 0.8 * np.eye(2), 0.36 * np.eye(2), [0.6]
        for _ in range(rounds):
            P = learning_curves.outside_gram(C, E)
            q = np.einsum("ia,ab,ib->i", heads, P, heads) + 0.25
            N = 0.5 * eta**2 * C @ (heads.T * q) @ heads @ C.T / 40
            C, E, _ = learning_curves.advance(C, E, np.eye(2), eta * S @ C.T, N)
            known.append(np.sqrt(np.linalg.eigvalsh(E)[-1]))
        errors.append(np.abs(curve.distance - known).max())
    assert errors[0] < 10.0 / 10**3
    assert errors[1] < 0.02 * errors[0]


@pytest.mark.slow
def test_small_noise_settles_where_the_floor_is():
    """The floor has the corrections of finite d and n, of order 1/d."""
    W = truth_of(2, 20, 6, 3).W
    for batches in ("same", "split"):
        options = {"m": 12, "step_size": 0.4, "batches": batches}
        errors = []
        for copies in (50, 5000):
            truth = ImplicitRepresentation(np.tile(W, (copies, 1)), 3 + 10 * copies, 1e-5)
            last = asymptotics.fedrep(truth, start=0.01, rounds=400, **options)
            floor = finite.floor(truth, **options)
            errors.append(abs(last.squared_chordal[-1] / floor - 1.0))
        assert errors[0] < 5.0 / 500
        assert errors[1] < 0.02 * errors[0]


@pytest.mark.parametrize("kind", ["moments", "truncated"])
def test_starts_are_where_the_limit_puts_them(kind):
    truth = lr.SharedRepresentation.random(n=2000, d=300, k=2, noise=0.3, rng=0)
    start = getattr(lr, f"{kind}_start")
    found = [chordal(start(truth.draw(10, rng=seed), 2), truth.B) for seed in range(6)]
    limits = [
        np.trace(asymptotics.spectral_start(truth, m=10, kind=kind, rng=seed).E)
        for seed in range(3)
    ]
    assert abs(np.mean(found) / np.mean(limits) - 1.0) < 0.08


@pytest.mark.parametrize("kind", ["moments", "truncated", "cross"])
@given(seeds, st.integers(1, 3), st.integers(2, 4), st.floats(0.0, 1.0), st.booleans())
def test_angles_on_many_samples_are_those_by_quadrature(kind, seed, k, m, noise, ragged):
    W = np.vstack([truth_of(seed, 3, 5, k).W, np.eye(k)])
    truth = ImplicitRepresentation(W, k + 4, noise)
    sizes, weights = np.full(len(W), m), "clients"
    if ragged:
        sizes, weights = m + np.arange(len(W)) % 3 - 1, 1.0 + np.arange(len(W))
    least = 2 if kind == "cross" else 1
    shares = np.where(sizes < least, 0.0, weights if ragged else 1.0)
    expected = reference.start_angles(W, k + 4, noise, sizes, kind, shares / shares.sum())
    if expected[0] > 1.0:
        with complaint(ValueError, "m must be larger"):
            asymptotics.many_samples(truth, m=sizes, kind=kind, weights=weights)
    else:
        found = asymptotics.many_samples(truth, m=sizes, kind=kind, weights=weights)
        close(found, expected, 1e-9)


@pytest.mark.parametrize("kind", ["moments", "truncated", "cross"])
@pytest.mark.parametrize("weights", ["clients", "samples", "best"])
def test_estimators_on_clients_of_two_sizes_are_where_the_law_puts_them(kind, weights):
    """The table of docs/learning-curves.md."""
    truth = lr.SharedRepresentation.random(n=400, d=20, k=2, noise=0.5, condition=2.0, rng=0)
    m = np.repeat([5, 400], [300, 100])
    if weights == "best":
        weights = asymptotics.best_weights(truth, m=m, kind=kind)
    found = []
    for seed in range(20):
        data = truth.draw(m, rng=seed)
        if kind == "truncated":
            B = lr.truncated_start(data, 2, weights=weights)
        else:
            estimate = lr.method_of_moments if kind == "moments" else lr.cross_moments
            B = estimate(data, k=2, weights=weights).state["B"]
        found.append(chordal(B, truth.B))
    expected = np.sum(asymptotics.many_samples(truth, m=m, kind=kind, weights=weights))
    # What is left out is of the order of the square of what is computed.
    error = 4.0 * np.std(found, ddof=1) / np.sqrt(20)
    assert abs(np.mean(found) - expected) < error + expected**2


@pytest.mark.parametrize("kind", ["moments", "truncated", "cross"])
def test_no_weights_are_better_than_the_best(kind):
    truth, rng = truth_of(0, 12, 30, 2, noise=1.0, equal=True), np.random.default_rng(0)
    m = np.repeat([40, 200, 3000], 4)  # each of the four heads at each size
    best = asymptotics.best_weights(truth, m=m, kind=kind)
    least = np.sum(asymptotics.many_samples(truth, m=m, kind=kind, weights=best))
    for _ in range(20):
        other = np.repeat(rng.uniform(0.5, 2.0, 3), 4) * best
        found = np.sum(asymptotics.many_samples(truth, m=m, kind=kind, weights=other))
        assert found >= least * (1.0 - 1e-12)
    if kind == "moments":
        close(best, m / m.sum(), 1e-15)


@pytest.mark.parametrize(("kind", "n", "m"), [("moments", 40, 1000), ("truncated", 4000, 10)])
@pytest.mark.parametrize("condition", [1.0, 2.0])
def test_starts_on_many_samples_are_where_the_law_puts_them(kind, n, m, condition):
    truth = lr.SharedRepresentation.random(n=n, d=20, k=2, noise=0.3, condition=condition, rng=0)
    start = getattr(lr, f"{kind}_start")
    found = [chordal(start(truth.draw(m, rng=seed), 2), truth.B) for seed in range(40)]
    expected = np.sum(asymptotics.many_samples(truth, m=m, kind=kind))
    error = 5.0 * np.std(found, ddof=1) / np.sqrt(40)
    # What is left out is of the order of the square of what is computed.
    assert abs(np.mean(found) - expected) < error + 5.0 * expected**2


def test_the_law_of_many_samples_is_the_limit_of_the_other_one():
    truth = truth_of(0, 4000, 40, 2, noise=0.3, equal=True)
    for m in (1, 20):
        exact = asymptotics.spectral_start(truth, m=m, kind="truncated", rng=0).E
        first = np.sum(asymptotics.many_samples(truth, m=m, kind="truncated"))
        # What is left out is of second order; labels of 4000 clients are drawn.
        assert abs(np.trace(exact) - first) < 2.0 * first**2 + 0.1 * first
    k, N = 2, 4000 * 1000
    squares = asymptotics.many_samples(truth_of(0, 4000, 200, k, equal=True), m=1000)
    close(squares, np.full(k, 0.75 * k * (k + 4) * (200 - k) / N), 1e-12)


def test_a_start_below_the_threshold_says_nothing():
    truth = ImplicitRepresentation(np.ones((100, 1)), 10**6, 1.0)
    limit = asymptotics.spectral_start(truth, m=2, kind="truncated", rng=0)
    assert np.isnan(limit.eigenvalues[0])
    np.testing.assert_array_equal(limit.C, [[0.0]])


@pytest.mark.parametrize("first_order", [True, False])
def test_anil_is_that_of_simulated_clients(first_order):
    rng = np.random.default_rng(0)
    n, d, k, m, alpha, beta = 200, 150, 2, 5, 0.4, 0.5  # exact and first order are 10 % apart
    W = rng.standard_normal((n, k))
    C, Phi = 0.8 * np.eye(k), 0.6 * np.eye(k)
    scale, head = np.eye(k) / np.sqrt(alpha), np.zeros(k)
    for _ in range(3):
        C, Phi, scale, head = reference.anil_round(
            np.tile(W, (1500, 1)), C, Phi, scale, head, 0.5, (d - k) / n, m, alpha, beta,
            first_order, rng,
        )  # fmt: skip
    curve = asymptotics.anil(
        ImplicitRepresentation(W, d, 0.5), m=m, inner_step_size=alpha, step_size=beta, rounds=3,
        start=0.6, first_order=first_order, particles=200_000, rng=1,
    )  # fmt: skip
    assert abs(np.sum(Phi**2) / curve.squared_chordal[-1] - 1.0) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("first_order", [True, False])
def test_anil_follows_its_curve(first_order):
    rng = np.random.default_rng(0)
    n, d, k, alpha = 600, 300, 2, 0.5
    W, basis = rng.standard_normal((n, k)), np.linalg.qr(rng.standard_normal((d, 2 * k)))[0]
    truth = lr.SharedRepresentation(basis[:, :k], W, noise=0.3)
    frame = 0.6 * basis[:, :k] + 0.8 * basis[:, k:]
    settings = {"m": 20, "inner_step_size": alpha, "step_size": 0.2, "rounds": 12}
    start = (frame / np.sqrt(alpha), np.zeros(k))
    runs = [
        lr.anil(truth, batches="split", start=start, rng=seed, first_order=first_order, **settings)
        for seed in range(4)
    ]
    curve = asymptotics.anil(truth, start=0.8, rng=1, first_order=first_order, **settings)
    # A run's standard deviation is 2 %; the two curves are 15 % apart.
    squares = [chordal(run.state["B"], truth.B) for run in runs]
    assert abs(np.mean(squares) / curve.squared_chordal[-1] - 1.0) < 0.04


def balanced(A, k):
    """Return the balanced factors of the best matrix of rank k."""
    P, s, Qt = np.linalg.svd(A, full_matrices=False)
    return Qt[:k].T * np.sqrt(s[:k]), P[:, :k] * np.sqrt(s[:k])


@pytest.mark.parametrize(("n", "d", "k"), [(6, 4, 2), (4, 6, 2), (5, 3, 3), (3, 3, 1)])
@pytest.mark.parametrize(("p", "K", "share"), [(1.0, 1, 0.5), (0.4, 1, 0.9), (0.7, 4, 1.9)])
def test_the_rate_of_pflmf_is_that_of_the_mean_map(n, d, k, p, K, share):
    A = np.random.default_rng(n).standard_normal((n, d))
    eta = share * n / np.linalg.norm(A, 2)
    found = asymptotics.pflmf.mean_rate(
        lr.QuadraticObjectives(A), k=k, step_size=eta, participation=p, local_steps=K
    )
    values = np.linalg.eigvals(reference.pflmf_mean_map(A, *balanced(A, k), eta, p, K))
    nearest = np.argsort(np.abs(values - 1.0))  # k^2 directions change no model
    assert np.abs(values[nearest[: k * k]] - 1.0).max() < 1e-4
    close(found, np.abs(values[nearest[k * k :]]).max(), 1e-5)


def test_the_rate_of_pflmf_is_that_of_a_run():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 5))
    problem, (U, V) = lr.QuadraticObjectives(A), balanced(A, 2)
    start = U + 1e-3 * rng.standard_normal(U.shape), V + 1e-3 * rng.standard_normal(V.shape)
    eta = 0.3 * 8 / np.linalg.norm(A, 2)
    errors = []
    for rounds in (60, 100):  # later it is rounding
        state = lr.pflmf(
            problem, k=2, step_size=eta, head_step_size="theorem", aggregate="full", start=start,
            rounds=rounds, record=[rounds], stationarity=False, local_steps=3, rng=0,
        ).state  # fmt: skip
        errors.append(np.linalg.norm(state["V"] @ state["U"].T - V @ U.T))
    found = asymptotics.pflmf.mean_rate(problem, k=2, step_size=eta, local_steps=3)
    # The minimum that is reached is off balance by as much as the start.
    close((errors[1] / errors[0]) ** (1 / 40), found, 1e-3)
