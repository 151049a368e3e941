import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import cond, norm, svd
from scipy import stats
from scipy.linalg import subspace_angles

from linrep.problems import subspace
from linrep.problems.random import stream
from tests.reference import subspace as reference
from tests.strategies import frame, seeds
from tests.tools import COMPILED, EPS, FALSE_ALARM, close, draws

shapes = st.integers(1, 12).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, d)))


def bases(seed, d, k):
    return np.random.default_rng(seed).standard_normal((2, d, k))


def rounding(*matrices):
    """Bound the error of a distance: a basis moves its frame by its condition number."""
    d, k = matrices[0].shape
    return 20 * d * k * EPS * sum(cond(B) for B in matrices)


# Orthonormalization.


@given(seeds, shapes)
def test_orthonormalize_equals_the_reference_and_keeps_its_argument(seed, shape):
    B = bases(seed, *shape)[0]
    before = B.copy()
    Q = subspace.orthonormalize(B)
    close(Q, reference.orthonormalize(B), rounding(B))
    close(Q.T @ Q, np.eye(shape[1]), 10 * shape[0] * EPS)
    np.testing.assert_array_equal(B, before)


@given(seeds, shapes)
def test_orthonormalize_reads_lists_integers_and_any_memory_order(seed, shape):
    B = np.random.default_rng(seed).integers(-9, 10, shape)
    assume(np.linalg.matrix_rank(B) == shape[1])
    expected = subspace.orthonormalize(B.astype(float))
    for other in (B, B.tolist(), np.asfortranarray(B, dtype=float), B.astype(np.float32)):
        np.testing.assert_array_equal(subspace.orthonormalize(other), expected)


# Distance.


@given(seeds, shapes)
def test_distance_equals_its_definition_and_scipys_largest_angle(seed, shape):
    B1, B2 = bases(seed, *shape)
    actual, error = subspace.distance(B1, B2), rounding(B1, B2)
    close(actual, reference.distance(B1, B2), error)
    close(actual, np.sin(subspace_angles(B1, B2)[0]), error)
    P1, P2 = (Q @ Q.T for Q in map(reference.orthonormalize, (B1, B2)))
    close(actual, norm(P1 - P2, 2), error)


@given(seeds, shapes)
def test_distance_depends_on_the_spans_only(seed, shape):
    B1, B2 = bases(seed, *shape)
    R1, R2 = np.random.default_rng(seed + 1).standard_normal((2, shape[1], shape[1]))
    # Forming B R rounds by eps |B| |R|, which moves its span by eps times the condition numbers.
    error = rounding(B1, B2) + sum(
        20 * shape[1] * EPS * cond(B) * cond(R) for B, R in ((B1, R1), (B2, R2))
    )
    close(subspace.distance(B1 @ R1, B2 @ R2), subspace.distance(B1, B2), error)


@given(seeds, st.integers(1, 8))
def test_distance_of_the_whole_space_is_zero_and_of_orthogonal_frames_one(seed, k):
    B1, B2 = bases(seed, k, k)
    close(subspace.distance(B1, B2), 0.0, rounding(B1, B2))
    Q = frame(np.random.default_rng(seed), 2 * k, 2 * k)
    close(subspace.distance(Q[:, :k], Q[:, k:]), 1.0, 20 * k * EPS)
    assert subspace.distance(Q[:, :k], Q[:, k:]) <= 1.0


@given(st.floats(-14.0, 0.0), st.integers(2, 6), st.data())
def test_a_small_distance_is_accurate_in_every_digit(exponent, d, data):
    """Span(e1) against span(e1 cos + e2 sin), in any two coordinates: no rounding in the inputs."""
    sine = 10.0**exponent
    a, b = data.draw(st.permutations(range(d)))[:2]
    first, second = np.zeros((d, 1)), np.zeros((d, 1))
    first[a] = 1.0
    second[a], second[b] = np.sqrt((1.0 - sine) * (1.0 + sine)), sine
    # The entries of the second basis, and its norm, are rounded once or twice.
    for pair in ((first, second), (second, first), (-3.0 * first, second * 7.0)):
        np.testing.assert_allclose(subspace.distance(*pair), sine, rtol=16 * EPS)


def extended_distance(B1, B2):
    """Compute the distance in extended precision."""

    def orthonormal(B):
        Q = B.astype(np.longdouble)
        for _ in range(2):
            for a in range(Q.shape[1]):
                for b in range(a):
                    Q[:, a] -= (Q[:, b] @ Q[:, a]) * Q[:, b]
                Q[:, a] /= np.sqrt(Q[:, a] @ Q[:, a])
        return Q

    Q1, Q2 = orthonormal(B1), orthonormal(B2)
    for _ in range(2):
        Q2 = Q2 - Q1 @ (Q1.T @ Q2)
    return svd(Q2.astype(np.float64), compute_uv=False)[0]


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision to compare with"
)
@given(seeds, st.floats(-14.0, -1.0), st.integers(1, 4), st.integers(1, 30))
def test_a_small_distance_is_that_of_the_very_inputs(seed, exponent, k, more):
    """Against extended precision, for frames and for bases with columns of different lengths.

    What comes after the inputs, at most 2k + 4 vector operations on a column, each rounded to
    half a unit of its norm, adds a few units to the distance: a share of 1e-2 at 1e-14.
    """
    d, rng = 2 * k + more, np.random.default_rng(seed)
    B1 = frame(rng, d, k)
    B2 = B1 @ frame(rng, k, k) + 10.0**exponent * frame(rng, d, k)
    scale = np.exp(rng.uniform(-2.0, 2.0, k))
    for one, other in ((B1, B2), (B1 * scale, B2), (B1, B2 * scale)):
        close(subspace.distance(one, other), extended_distance(one, other), (2 * k + 4) * EPS)


# Principal angles.


@given(seeds, shapes)
def test_principal_angles_are_scipys(seed, shape):
    B1, B2 = bases(seed, *shape)
    angles, error = subspace.principal_angles(B1, B2), rounding(B1, B2)
    # SciPy takes each angle from its cosine or its sine alone, whose rounding error e becomes
    # e / sin or e / cos, at most sqrt(2 e).
    slope = np.minimum(np.sin(angles), np.cos(angles))
    close(angles, subspace_angles(B1, B2), 2 * error / np.maximum(slope, error**0.5))
    assert (np.diff(angles) <= 0.0).all()
    close(np.sin(angles[0]), subspace.distance(B1, B2), rounding(B1, B2))


@given(st.lists(st.floats(-14.0, 0.0), min_size=1, max_size=4), st.booleans())
def test_principal_angles_are_accurate_near_zero_and_near_a_right_angle(exponents, complement):
    """One plane per angle, so that the angles are known exactly."""
    small = np.sort(10.0 ** np.array(exponents))[::-1]
    k = len(small)
    angles = np.pi / 2 - small[::-1] if complement else small
    B1, B2 = np.zeros((2 * k, k)), np.zeros((2 * k, k))
    for a, angle in enumerate(small):
        B1[a, a] = 1.0
        pair = (np.sin(angle), np.cos(angle)) if complement else (np.cos(angle), np.sin(angle))
        B2[a, a], B2[k + a, a] = pair
    actual = subspace.principal_angles(B1, B2)
    # Absolute near a right angle, whose own rounding is that large.
    np.testing.assert_allclose(actual, angles, rtol=20 * EPS, atol=4 * EPS * complement)


# Drawing frames.


@given(seeds, shapes)
def test_random_frame_is_a_frame_and_repeats_with_its_seed(seed, shape):
    d, k = shape
    Q = subspace.random_frame(d, k, seed)
    close(Q.T @ Q, np.eye(k), 10 * d * EPS)
    np.testing.assert_array_equal(Q, subspace.random_frame(d, k, seed))
    np.testing.assert_array_equal(Q, subspace.random_frame(d, k, stream(seed, "frame")))
    assert not np.array_equal(Q, subspace.random_frame(d, k, seed + 1)) or d == 1


@pytest.mark.parametrize(("d", "k"), [(5, 2), (6, 1), (4, 3), (3, 3)])
def test_random_frame_has_haar_measure(d, k, fresh_rng):
    """By 10 000 frames (200 uncompiled).

    A row is what a fixed direction keeps of its length: squared Beta(k/2, (d - k)/2) for every row.
    A column is uniform on the sphere: an entry's law is that of a sphere's coordinate, symmetric.
    The sign of the determinant of a rotation is a fair coin.
    """
    frames = np.array([subspace.random_frame(d, k, fresh_rng) for _ in range(draws(10_000))])
    pvalues = []
    if k < d:
        lengths = np.sum(frames**2, axis=2)
        law = stats.beta(k / 2, (d - k) / 2)
        pvalues += [stats.kstest(lengths[:, row], law.cdf).pvalue for row in (0, d - 1)]
    else:
        signs = np.linalg.det(frames) > 0.0
        pvalues.append(stats.binomtest(int(signs.sum()), len(signs)).pvalue)
    coordinate = stats.beta((d - 1) / 2, (d - 1) / 2, loc=-1.0, scale=2.0)
    for row, column in ((0, 0), (d - 1, k - 1), (0, k - 1)):
        pvalues.append(stats.kstest(frames[:, row, column], coordinate.cdf).pvalue)
    assert min(pvalues) > FALSE_ALARM / len(pvalues)


distances = st.one_of(st.just(0.0), st.just(1.0), st.floats(-12.0, 0.0).map(lambda e: 10.0**e))


@given(seeds, st.integers(1, 4), st.integers(0, 5), distances, st.sampled_from(["equal", "single"]))
def test_frame_at_distance_has_the_angles_asked_for(seed, k, more, distance, angles):
    """Also where B comes from the very seed that the frame is drawn with."""
    d = more + (2 * k if angles == "equal" else k + 1)
    B = bases(seed, d, k)[0] if seed % 2 else subspace.random_frame(d, k, seed)
    tilted = subspace.frame_at_distance(B, distance, angles=angles, rng=seed)
    close(tilted.T @ tilted, np.eye(k), 20 * d * EPS)
    close(subspace.distance(B, tilted), distance, rounding(B))
    expected = np.full(k, distance)
    if angles == "single":
        expected[1:] = 0.0
    close(np.sin(subspace.principal_angles(B, tilted)), expected, rounding(B))
    for rng in (seed, stream(seed, "tilt")):
        again = subspace.frame_at_distance(B, distance, angles=angles, rng=rng)
        np.testing.assert_array_equal(tilted, again)


def test_frame_at_distance_tilts_in_every_direction_alike(fresh_rng):
    """Kolmogorov-Smirnov on 5 000 draws (100 uncompiled) of each variant.

    Around B = e1 in R^4 the part of a frame outside B is uniform on a sphere of R^3, where a
    coordinate is uniform; along B = (e1, e2) a single angle is in a uniform direction of the plane,
    and no column of the frame bears it more than another.
    """
    pvalues = []
    B = np.eye(4)[:, :1]
    for angles in ("equal", "single"):
        tilted = [
            subspace.frame_at_distance(B, 0.5, angles=angles, rng=fresh_rng)[2, 0] / 0.5
            for _ in range(draws(5_000))
        ]
        pvalues.append(stats.kstest(tilted, stats.uniform(-1.0, 2.0).cdf).pvalue)
    B, inside, columns = np.eye(3)[:, :2], [], []
    for _ in range(draws(5_000)):
        tilted = subspace.frame_at_distance(B, 1.0, angles="single", rng=fresh_rng)
        # What the frame kept of the plane is the line orthogonal to the tilt.
        kept = svd(B.T @ tilted)[0][:, 0]
        inside.append(np.arctan2(kept[1], kept[0]) % np.pi)
        columns.append(np.arctan2(tilted[2, 1], tilted[2, 0]) % np.pi)
    for directions in (inside, columns):
        pvalues.append(stats.kstest(directions, stats.uniform(0.0, np.pi).cdf).pvalue)
    assert min(pvalues) > FALSE_ALARM / len(pvalues)


@given(seeds, st.integers(1, 4), st.integers(1, 4), st.integers(0, 3))
def test_subspaces_of_different_dimension_have_scipys_angles(seed, k, more, rest):
    d = k + more + rest
    small, large = bases(seed, d, k)[0], bases(seed, d, k + more)[1]
    Q, P = (reference.orthonormalize(B) for B in (small, large))
    sines, error = svd(Q - P @ (P.T @ Q), compute_uv=False), rounding(large, small)
    for one, other in ((small, large), (large, small)):
        found = subspace.principal_angles(one, other)
        close(np.cos(found), np.cos(subspace_angles(one, other)), error)
        close(np.sin(found), sines, error)
        close(subspace.distance(one, other), sines[0], error)
    inside = large @ bases(seed, k + more, k)[0]
    close(subspace.distance(inside, large), 0.0, rounding(large, inside))
    assert np.isnan(subspace.distance_or_nan(small, large))


@pytest.mark.skipif(not COMPILED, reason="a thousand dimensions take long uncompiled")
def test_distance_in_many_dimensions(fresh_rng):
    for exponent in (-1, -6, -12):
        B = subspace.random_frame(1000, 5, fresh_rng)
        tilted = subspace.frame_at_distance(B, 10.0**exponent, rng=fresh_rng)
        # Both frames are rounded, by less than eps in norm per column and operation.
        close(subspace.distance(B, tilted), 10.0**exponent, 10 * 5 * EPS)
