import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.theory import fedrep as theory
from linrep.theory import fedrep_lemmas as lemmas
from tests.strategies import seeds
from tests.tools import EPS, close

whole = st.integers(1, 500)
conditions = st.floats(1.0, 50.0)
distances = st.floats(0.0, 0.99)
clients = st.integers(2, 500)


def relative(actual, expected, units=100):
    close(actual, expected, units * EPS * np.abs(expected))


def random(seed=0, n=6, d=5, k=2, **options):
    return lr.SharedRepresentation.random(n=n, d=d, k=k, rng=seed, **options)


# Theorem 1.


@given(seeds, st.integers(1, 6))
def test_condition_is_that_of_the_extreme_subsets(seed, participants):
    truth = random(seed)
    values = [
        np.linalg.svd(truth.W[list(subset)], compute_uv=False)
        for subset in itertools.combinations(range(6), participants)
    ]
    actual = theory.condition(truth, participants)
    if participants == 1:
        assert actual == np.inf
    else:
        expected = max(v[0] for v in values) / min(v[-1] for v in values)
        close(actual, expected, 100 * EPS * expected**2)
        assert actual >= theory.condition(truth) * (1 - 100 * EPS * expected)


def test_the_step_size_limit_is_what_algorithms_take():
    truth = random()
    trace = lr.fedrep(truth, m=9, rounds=1, step_size="theorem", rng=0)
    relative(theory.step_size_limit(truth.sigma_max()), trace.step_size)


@given(st.floats(0.0, 1.0), st.floats(0.01, 0.25), distances)
def test_contraction_is_equation_11(sigma_min, step_size, distance):
    actual = theory.contraction(sigma_min, step_size=step_size, initial_distance=distance)
    close(actual, (1 - step_size * (1 - distance**2) * sigma_min**2 / 2) ** 0.5, 10 * EPS)
    assert 0.9 < actual <= 1.0
    assert theory.contraction(sigma_min, step_size=step_size) <= actual
    assert (
        theory.contraction(sigma_min / 2, step_size=step_size, initial_distance=distance) >= actual
    )


def test_contraction_of_a_truth_is_that_of_its_smallest_sigma():
    truth = random()
    sigma_min = np.linalg.svd(truth.W / np.sqrt(truth.n))[1][-1]
    expected = np.sqrt(1 - 0.2 * 0.75 * sigma_min**2 / 2)
    relative(theory.contraction(truth, step_size=0.2, initial_distance=0.5), expected)
    assert theory.contraction(truth, step_size=0.2, initial_distance=1.0) == 1.0


@pytest.mark.compiled
def test_a_whole_run_stays_below_the_theorem():
    """With twenty times the samples asked for at c = 1; failure has probability below 1e-100."""
    truth = random(n=20, d=6, k=2, condition=1.0)
    start = lr.subspace.frame_at_distance(truth.B, 0.5, rng=1)
    trace = lr.fedrep(truth, m=2_000, rounds=20, start=start, step_size="theorem", rng=2)
    factor = theory.contraction(truth, step_size=trace.step_size, initial_distance=0.5)
    assert (trace["distance"] <= 0.5 * factor ** np.arange(21) * (1 + 1e-9)).all()
    assert theory.failure_probability(20, truth.d, truth.k, truth.n) < 1e-100


@given(st.floats(1e-8, 1.0), st.floats(0.0, 0.99), st.floats(0.0, 1.0))
def test_rounds_are_the_first_that_reach_the_tolerance(tolerance, factor, start):
    needed, distance = 0, start
    while distance > tolerance:
        needed += 1
        distance = start * factor**needed
    # A number of rounds that reaches the tolerance up to rounding is as good.
    actual = theory.rounds(tolerance, factor, start)
    assert actual == needed or abs(start * factor ** min(actual, needed) / tolerance - 1) < 1e-10


@given(st.integers(0, 40), st.sampled_from([0.5, 0.9, 0.99, 0.3]))
def test_rounds_that_fit_exactly_are_not_rounded_up(T, factor):
    assert theory.rounds(factor ** float(T), factor) == T


def test_rounds_at_the_limits():
    assert theory.rounds(0.1, 1.0) == np.inf
    assert theory.rounds(0.5, 1.0, 0.5) == 0
    assert theory.rounds(0.1, 0.0) == 1
    assert theory.rounds(0.1, 0.5, 0.0) == 0
    np.testing.assert_array_equal(theory.rounds([0.5, 0.25, 0.2], 0.5), [1, 2, 3])


@given(whole, whole, clients, conditions, distances, st.floats(0.1, 10.0))
def test_sample_size_is_that_of_theorem_1(d, k, rn, kappa, distance, c):
    E0 = 1 - distance**2
    expected = c * (kappa**4 * k**2 * d / (E0**2 * rn) + kappa**4 * k**3 * np.log(rn) / E0**2)
    actual = theory.sample_size(
        d, k, rn, condition=kappa, initial_distance=distance, constant=c
    )  # fmt: skip
    close(actual, expected, 1000 * EPS * expected / E0)


@given(whole, whole, clients, conditions, distances, st.floats(0.1, 10.0))
def test_the_sample_size_makes_delta_small_enough_for_lemma_6(d, k, rn, kappa, distance, c):
    """With the constant 2 (125/16)^2 c^2, by the inequality of the two means."""
    m = theory.sample_size(
        d, k, rn, condition=kappa, initial_distance=distance, constant=2 * (125 / 16 * c) ** 2
    )
    delta = lemmas.delta(k, rn, m, c) + lemmas.delta_prime(k, d, rn, m, c)
    assert delta <= lemmas.delta_limit(kappa, distance) * (1 + 1e-9)


def test_sample_sizes_at_the_limits():
    assert theory.sample_size(30, 3, 1) == 9 * 30  # log 1 = 0
    assert theory.sample_size(30, 3, 10, initial_distance=1.0) == np.inf
    grid = theory.sample_size(np.array([[10.0], [20.0]]), [1, 2, 3], 7)
    assert grid.shape == (2, 3)
    assert (np.diff(grid, axis=0) > 0).all()
    assert (np.diff(grid, axis=1) > 0).all()


@given(whole, whole, clients, conditions, distances, st.floats(1e-6, 1.0), st.integers(1, 50))
def test_the_gaussian_sample_size_is_that_of_the_statement(d, k, rn, kappa, distance, failure, T):
    t, E0, smallest = np.log(7 * T / failure), 1 - distance**2, 0.8
    each = 64 * (k + 2 * np.log(rn) + 2 * t)
    together = 900 * k * (d + 2 * t) * kappa**2 / (E0**2 * smallest**2 * rn)
    actual = theory.gaussian_sample_size(
        d, k, rn, sigma_min=smallest, condition=kappa, initial_distance=distance, failure=failure,
        rounds=T,
    )  # fmt: skip
    close(actual, max(each, together), 1000 * EPS * max(each, together) / E0)
    assert theory.gaussian_sample_size(d, k, rn, initial_distance=1.0) == np.inf


@given(st.integers(1, 7), st.integers(1, 7), clients, conditions, distances)
def test_for_normal_covariates_theorem_1_asks_for_enough(d, k, rn, kappa, distance):
    """With c = 190000, for the printed probability, where sigma_max^2 >= 1 as in Assumption 3."""
    k = min(d, k)
    failure = float(theory.failure_probability(1, d, k, rn))
    size = {"condition": kappa, "initial_distance": distance}
    printed = theory.sample_size(d, k, rn, constant=190_000.0, **size)
    assert printed >= theory.gaussian_sample_size(
        d, k, rn, sigma_min=1.0 / kappa, failure=failure, **size
    )


@given(st.floats(1e-9, 0.5), whole, whole, clients, conditions)
def test_total_samples_are_equation_12(tolerance, d, k, rn, kappa):
    expected = kappa**4 * k**2 * (d / rn + k * np.log(rn)) * np.log(1 / tolerance)
    relative(theory.total_samples(tolerance, d, k, rn, condition=kappa), expected)


@given(st.floats(1e-9, 0.5), conditions, distances, st.floats(0.1, 1.0))
def test_what_theorem_1_leads_to_is_a_round_times_the_rounds(tolerance, kappa, distance, share):
    size = {"condition": kappa, "initial_distance": distance}
    factor = theory.contraction(1.0, step_size=0.25 / kappa**2, initial_distance=distance)
    expected = theory.sample_size(50, 3, 20, **size) * share * np.log(tolerance) / np.log(factor)
    actual = theory.total_samples_of_theorem1(tolerance, 50, 3, 20, participation=share, **size)
    close(actual, expected, 1e-9 * expected)


def test_equation_12_lacks_two_powers_of_the_condition_and_three_of_the_overlap():
    def total(kappa, distance):
        return theory.total_samples_of_theorem1(
            0.1, 50, 3, 20, condition=kappa, initial_distance=distance
        )

    printed = theory.total_samples(0.1, 50, 3, 20, condition=40.0)
    assert abs(total(80.0, 0.0) / total(40.0, 0.0) - 64.0) < 0.01
    assert abs(theory.total_samples(0.1, 50, 3, 20, condition=80.0) / printed - 16.0) < 1e-9
    assert abs(total(40.0, 0.5**0.5) / total(40.0, 0.0) - 8.0) < 0.01
    assert total(1.0, 1.0) == np.inf


def test_failure_probability_is_that_of_theorem_1():
    assert theory.failure_probability(1000, 5, 2, 1) == 1.0
    relative(theory.failure_probability(7, 1, 9, 50), 7 * np.exp(-100.0))
    relative(theory.failure_probability(7, 900, 1, 2), 7 * np.exp(-100.0 * np.log(2)), 1e4)
    assert theory.failure_probability(0, 5, 2, 1) == 0.0


# Theorem 2.


@given(seeds, st.integers(2, 8), st.integers(1, 3), st.integers(1, 1000))
def test_the_moments_start_is_bounded_as_printed(seed, d, k, m):
    assume(d >= k)
    truth = random(seed, n=6, d=d, k=k)
    values = np.linalg.svd(truth.W / np.sqrt(6 * k), compute_uv=False)
    parameters = {"sigma_min": values[-1], "condition": values[0] / values[-1], "constant": 3.0}
    expected = 3 * (values[0] / values[-1]) ** 2 * k * d / (values[-1] ** 2 * m * 6)
    relative(theory.initial_distance_bound(d, k, 6, m, **parameters), expected)
    size = theory.initial_sample_size(d, k, 6, **parameters)
    relative(theory.initial_distance_bound(d, k, 6, max(size, 1.0), **parameters), min(size, 1.0))


# One model for all.


@given(seeds)
def test_the_best_single_model_is_a_stationary_point_with_the_printed_minimum(seed):
    truth = random(seed)
    model, error = theory.best_single_model(truth.theta)
    n, W, B = truth.n, truth.W, truth.B
    printed = sum(norm(B @ sum(W[j] - W[i] for j in range(n)) / n) ** 2 for i in range(n)) / (2 * n)
    relative(error, printed, 1000)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        other = model + rng.standard_normal(truth.d)
        loss = np.mean([norm(other - theta) ** 2 for theta in truth.theta]) / 2
        close(loss, error + norm(other - model) ** 2 / 2, 1000 * EPS * loss)


def test_clients_that_agree_lose_nothing_to_a_single_model():
    assert theory.best_single_model(np.ones((4, 3)))[1] == 0.0


# Claim 1.


def ratio(X, M):
    """The ratio of Definition 4, sample by sample."""
    n, m, _ = X.shape
    total = sum((X[i, j] @ M[i]) ** 2 for i in range(n) for j in range(m))
    return total / (m * norm(M) ** 2)


@given(seeds, st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))
def test_extreme_ratios_hold_for_rank_one_and_are_attained(seed, n, m, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m, d))
    low, high = theory.one_row_ratios(X)
    error = 1000 * EPS * high
    for _ in range(10):
        M = np.outer(rng.standard_normal(n), rng.standard_normal(d))
        assert low - error <= ratio(X, M) <= high + error
    attained = []
    for i in range(n):
        for v in np.linalg.svd(X[i])[2]:
            M = np.zeros((n, d))
            M[i] = v
            attained.append(ratio(X, M))
    close(max(attained), high, error)
    close(min(attained), low, error)
    assert low == 0.0 or m >= d


def test_the_witness_is_the_first_sample():
    X = np.random.default_rng(0).standard_normal((4, 5, 9))
    for i, value in enumerate(theory.witness_ratio(X)):
        M = np.zeros((4, 9))
        M[i] = X[i, 0]
        relative(value, ratio(X, M))
        assert norm(X[i, 0]) ** 2 / 5 <= value <= theory.one_row_ratios(X[i])[1] * (1 + 10 * EPS)
    relative(theory.witness_ratio(X[2]), theory.witness_ratio(X)[2])
