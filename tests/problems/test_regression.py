from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.linalg import norm
from scipy import stats

from linrep import SharedRepresentation
from linrep.problems.random import stream
from linrep.problems.regression import DESIGNS, HEADS, SUBSETS_ENUMERATED
from tests.strategies import frame, seeds
from tests.tools import EPS, FALSE_ALARM, close, draws

# Normal heads have no scaling that holds exactly, and no prescribed condition.
SCALED = [heads for heads in HEADS if heads != "gaussian"]
every_scaling = pytest.mark.parametrize("heads", SCALED)
sizes = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda size: st.tuples(st.just(size[0]), st.just(size[1]), st.integers(1, min(size)))
)


def random(seed, n, d, k, **options):
    return SharedRepresentation.random(n=n, d=d, k=k, rng=seed, **options)


# Heads.


def check_scaling(truth, heads):
    """What each convention promises, condition prescribed or not."""
    n, k, W = truth.n, truth.k, truth.W
    error = 20 * n * k * EPS
    lengths = norm(W, axis=1)
    if heads == "sphere":
        close(lengths, np.full(n, np.sqrt(k)), error)
    elif heads == "unit_rows":
        close(lengths, np.ones(n), error)
    elif heads == "scaled_qr":
        close(norm(W), float(k), error * k)
    else:
        close(norm(W), np.sqrt(k), error)


@every_scaling
@given(seed=seeds, size=sizes)
def test_heads_follow_their_convention(heads, seed, size):
    truth = random(seed, *size, heads=heads)
    check_scaling(truth, heads)
    k = truth.k
    if heads in ("qr", "scaled_qr"):
        scale = k if heads == "scaled_qr" else 1.0
        close(truth.W.T @ truth.W, scale * np.eye(k), 20 * truth.n * k * EPS * scale)
    close(truth.B.T @ truth.B, np.eye(k), 10 * truth.d * EPS)
    assert (truth.n, truth.d, truth.k) == size


@every_scaling
@given(seed=seeds, size=sizes, digits=st.floats(0.0, 6.0))
@example(seed=0, size=(4, 4, 4), digits=0.0)  # which leaves only the rotations, scaled
@example(seed=1196155, size=(7, 9, 4), digits=2.119140625)  # rows with a negative inner product
def test_a_prescribed_condition_is_met_and_the_convention_kept(heads, seed, size, digits):
    n, _, k = size
    condition = 10.0**digits if k > 1 else 1.0
    truth = random(seed, *size, heads=heads, condition=condition)
    check_scaling(truth, heads)
    values = np.linalg.svd(truth.W, compute_uv=False)
    # In geometric progression; each is off by a rounding error of the largest.
    expected = np.geomspace(condition, 1.0, k)
    expected *= norm(truth.W) / norm(expected)
    close(values, expected, 20 * n * k * EPS * expected[0])
    # Relative to the smallest, that error is larger by the condition number.
    close(truth.condition, condition, 60 * n * k * EPS * condition**2)


def test_normal_heads_are_normal_of_variance_one_over_k(fresh_rng):
    """Kolmogorov-Smirnov on 30 000 heads (600 uncompiled) in R^5, and between two entries."""
    W = random(fresh_rng, draws(30_000), 6, 5, heads="gaussian").W * np.sqrt(5.0)
    pvalues = [stats.kstest(column, "norm").pvalue for column in W.T]
    pvalues.append(stats.pearsonr(W[:, 0], W[:, 1]).pvalue)
    assert min(pvalues) > FALSE_ALARM / len(pvalues)


def test_heads_on_the_sphere_are_uniform_and_independent(fresh_rng):
    """Kolmogorov-Smirnov and chi-square on 30 000 heads (600 uncompiled) in R^3."""
    W = random(fresh_rng, draws(30_000), 3, 3).W / np.sqrt(3.0)
    pvalues = [stats.kstest(column, stats.uniform(-1.0, 2.0).cdf).pvalue for column in W.T]
    octants = (W[0::2] > 0.0) @ [4, 2, 1]
    pvalues.append(stats.chisquare(np.bincount(octants, minlength=8)).pvalue)
    pairs = (W[0::2, 0] > 0.0) * 2 + (W[1::2, 0] > 0.0)
    pvalues.append(stats.chisquare(np.bincount(pairs, minlength=4)).pvalue)
    assert min(pvalues) > FALSE_ALARM / len(pvalues)


@pytest.mark.parametrize(
    ("heads", "condition"), [*product(SCALED, [None, 5.0]), ("gaussian", None)]
)
def test_heads_have_no_preferred_direction(heads, condition, fresh_rng):
    """Direction of the first client's head in the plane, 2 000 truths (200 uncompiled)."""
    count = max(200, draws(2_000))
    angles = []
    for _ in range(count):
        w = random(fresh_rng, 3, 2, 2, heads=heads, condition=condition).W[0]
        angles.append(np.arctan2(w[1], w[0]))
    law = stats.uniform(-np.pi, 2.0 * np.pi)
    assert stats.kstest(angles, law.cdf).pvalue > FALSE_ALARM


@given(seeds, sizes, st.sampled_from(HEADS))
def test_a_truth_changes_with_its_seed_and_neither_with_noise_nor_with_design(seed, size, heads):
    first, other = (random(each, *size, heads=heads) for each in (seed, seed + 1))
    second = random(seed, *size, heads=heads, noise=0.5, design="sphere")
    np.testing.assert_array_equal(first.B, second.B)
    np.testing.assert_array_equal(first.W, second.W)
    assert (second.noise, second.design) == (0.5, "sphere")
    if size[1] > 1:
        assert not np.array_equal(first.B, other.B)


# Derived quantities.


def test_condition_of_singular_heads_is_infinite():
    B = np.eye(3)[:, :2]
    assert SharedRepresentation(B, np.zeros((4, 2))).condition == np.inf
    assert SharedRepresentation(B, np.ones((1, 2))).condition == np.inf
    assert SharedRepresentation(B, [[2.0, 0.0], [0.0, 1.0]]).condition == 2.0


@given(seeds, st.integers(1, 8), st.integers(1, 3), st.data())
def test_sigmas_are_the_extremes_over_all_subsets(seed, n, k, data):
    participants = data.draw(st.integers(1, n))
    W = np.random.default_rng(seed).standard_normal((n, k))
    truth = SharedRepresentation(np.eye(4)[:, :k], W)
    spectra = [
        np.linalg.svd(W[list(subset)] / np.sqrt(participants), compute_uv=False)
        for subset in combinations(range(n), participants)
    ]
    largest = max(values[0] for values in spectra)
    smallest = min(values[-1] for values in spectra) if participants >= k else 0.0
    close(truth.sigma_max(participants), largest, 20 * n * EPS * largest)
    close(truth.sigma_min(participants), smallest, 20 * n * EPS * largest)
    assert truth.sigma_max() == truth.sigma_max(n)
    assert truth.sigma_min() == truth.sigma_min(n)


@given(seeds, st.integers(18, 40), st.integers(1, 4), st.data())
def test_sigma_max_bounds_every_subset_where_there_are_too_many(seed, n, k, data):
    participants = data.draw(st.integers(5, n - 5))
    assert comb(n, participants) > SUBSETS_ENUMERATED
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((n, k)) * np.exp(rng.standard_normal((n, 1)))
    truth = SharedRepresentation(np.eye(4)[:, :k], W)
    bound = truth.sigma_max(participants)
    # Random subsets; those with the longest rows; and those that reach furthest in one direction.
    directions = np.concatenate((np.linalg.svd(W)[2], rng.standard_normal((10, k))))
    subsets = [rng.permutation(n)[:participants] for _ in range(20)]
    subsets += [np.argsort(-np.abs(W @ direction))[:participants] for direction in directions]
    subsets.append(np.argsort(-norm(W, axis=1))[:participants])
    for subset in subsets:
        assert norm(W[subset], 2) / np.sqrt(participants) <= bound * (1 + 20 * n * EPS)


def test_sigmas_of_heads_on_one_line_are_those_of_the_longest_and_of_the_shortest():
    W = np.arange(1.0, 31.0)[:, None]
    truth = SharedRepresentation(np.eye(2)[:, :1], W)
    for found, some in ((truth.sigma_max(10), W[-10:]), (truth.sigma_min(10), W[:10])):
        expected = np.sqrt(np.mean(some**2))
        close(found, expected, 20 * EPS * expected)
    assert SharedRepresentation(np.eye(2)[:, :1], 0 * W).sigma_min(10) == 0.0


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_sigma_min_is_found_where_there_are_too_many_subsets(seed, k):
    """All 12 870 subsets of 8 in 16 clients: an upper bound by contract, met in these cases."""
    n, size = 16, 8
    assert comb(n, size) > SUBSETS_ENUMERATED
    W = np.random.default_rng(seed).standard_normal((n, k))
    rows = W[np.array(list(combinations(range(n), size)))]
    expected = np.linalg.svd(rows / np.sqrt(size), compute_uv=False)[:, -1].min()
    close(SharedRepresentation(np.eye(4)[:, :k], W).sigma_min(size), expected, 1e-9 * expected)


@given(seeds, sizes)
def test_with_heads_changes_the_heads_only(seed, size):
    truth = random(seed, *size, noise=0.2, design="student_t", degrees_of_freedom=7.0)
    W = np.ones((2, truth.k))
    other = truth.with_heads(W)
    np.testing.assert_array_equal(other.W, W)
    close(other.B, truth.B, 10 * truth.d * EPS)
    assert (other.noise, other.design, other.degrees_of_freedom) == (0.2, "student_t", 7.0)


# Samples.


@given(seeds, sizes, st.data())
def test_samples_of_ragged_clients_come_in_order_and_obey_the_model(seed, size, data):
    """Of all clients, or of some in an order of their own."""
    truth = random(seed, *size)
    some = data.draw(st.none() | st.lists(st.integers(0, truth.n - 1), min_size=1, max_size=5))
    clients = range(truth.n) if some is None else some
    m = data.draw(st.lists(st.integers(1, 6), min_size=len(clients), max_size=len(clients)))
    drawn = truth.draw(m, rng=seed, clients=some)
    np.testing.assert_array_equal(drawn.m, m)
    np.testing.assert_array_equal(drawn.truth.W, truth.W[list(clients)])
    assert some is not None or drawn.truth is truth
    for place, i in enumerate(clients):
        X, y = drawn.client(place)
        close(y, X @ (truth.B @ truth.W[i]), 4 * truth.d * EPS * norm(X) * norm(truth.W[i]))


@given(seeds, sizes, st.integers(1, 5), st.sampled_from(list(DESIGNS)), st.booleans())
def test_samples_repeat_with_their_seed_and_go_on_along_a_stream(seed, size, m, design, noisy):
    truth = random(seed, *size, design=design, noise=0.3 * noisy)
    first, second = truth.draw(m, rng=seed), truth.draw([m] * truth.n, rng=seed)
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    # Client after client: drawing them one by one from one stream is the same.
    rng = stream(seed, "data")
    for i in range(truth.n):
        one = truth.draw(m, rng=rng, clients=[i])
        X, y = first.client(i)
        np.testing.assert_array_equal(one.X, X)
        close(one.y, y, 20 * truth.d * EPS * (norm(X) * norm(truth.W[i]) + 1.0))
    if design not in ("rademacher", "sphere"):  # those take few values in one dimension
        assert not np.array_equal(truth.draw(m, rng=rng).X, first.X)


@given(seeds, sizes, st.integers(1, 5), st.floats(0.01, 10.0), st.sampled_from(list(DESIGNS)))
def test_noise_is_added_and_changes_nothing_else(seed, size, m, noise, design):
    """The covariates are those without noise, and so is what noise is a multiple of."""
    quiet, noisy, louder = (
        random(seed, *size, design=design, noise=level).draw(m, rng=seed)
        for level in (0.0, noise, 2.0 * noise)
    )
    np.testing.assert_array_equal(noisy.X, quiet.X)
    size = np.abs(quiet.y) + np.abs(noisy.y) + np.abs(louder.y)
    close(louder.y - quiet.y, 2.0 * (noisy.y - quiet.y), 8 * EPS * size)
    assert (noisy.y != quiet.y).all()


def test_noise_is_a_standard_deviation(fresh_rng):
    """Kolmogorov-Smirnov on 20 000 residuals (400 uncompiled)."""
    truth = random(fresh_rng, 4, 3, 2, noise=0.25)
    data = truth.draw(draws(5_000), rng=fresh_rng)
    residuals = data.y - np.sum(data.X * np.repeat(truth.theta, data.m, axis=0), axis=1)
    assert stats.kstest(residuals, stats.norm(scale=0.25).cdf).pvalue > FALSE_ALARM


# Representation.


def test_repr_shows_what_is_not_default():
    truth = random(0, 4, 3, 2)
    assert repr(truth) == "SharedRepresentation(n=4, d=3, k=2)"
    other = random(0, 4, 3, 2, noise=0.5, design="uniform")
    assert repr(other) == "SharedRepresentation(n=4, d=3, k=2, noise=0.5, design='uniform')"


@given(seeds, st.integers(1, 8), st.data())
def test_a_frame_given_with_rounding_errors_is_cleaned(seed, d, data):
    k = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    B = frame(rng, d, k) + 1e-10 * rng.standard_normal((d, k))
    truth = SharedRepresentation(B, np.ones((k, k)))
    close(truth.B.T @ truth.B, np.eye(k), 10 * d * EPS)
    close(truth.B, B, 1e-9 * d)
