import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import cond, norm, svd

from linrep.kernels import rounds
from tests.reference import fedrep as reference
from tests.reference.subspace import orthonormalize
from tests.strategies import frame, seeds
from tests.tools import (
    EPS,
    UNITS,
    close,
    complaint,
    exact_head_error,
    frame_error,
    rank_is_clear,
    stepped_head_error,
)

dimensions = st.integers(1, 5)
samples = st.integers(1, 11)


def garbage(*shape):
    return np.full(shape, np.nan)


@given(
    seeds,
    samples,
    st.integers(1, 9) | st.integers(rounds._LONG_ROWS - 2, rounds._LONG_ROWS + 5),
    st.integers(1, 10),
    st.integers(0, 3),
)
def test_project_is_the_transposed_product_and_leaves_other_columns(seed, m, d, k, more):
    rng = np.random.default_rng(seed)
    X, B, Z = rng.standard_normal((m, d)), rng.standard_normal((d, k)), garbage(k, m + more)
    rounds.project(X, B.T.copy(), Z)
    close(Z[:, :m], (X @ B).T, 2 * d * EPS * norm(X) * norm(B))
    assert np.isnan(Z[:, m:]).all()


def exact_head(Z, y):
    """Call the kernel on Z (m, k), with scratch and the unused columns full of NaN."""
    m, k = Z.shape
    wide = garbage(k, m + 2)
    wide[:, :m] = Z.T
    w = garbage(k)
    rounds.exact_head(wide, m, y, w, garbage(k, k), garbage(2 * k))
    return w


def check_exact_head(Z, y):
    w = exact_head(Z, y)
    expected = np.linalg.lstsq(Z, y, rcond=None)[0]
    close(w, expected, exact_head_error(Z, y, expected))


@given(seeds, samples, dimensions)
def test_exact_head_is_numpys_least_squares_for_any_shape(seed, m, k):
    rng = np.random.default_rng(seed)
    check_exact_head(rng.standard_normal((m, k)), rng.standard_normal(m))


@given(seeds, st.integers(2, 11), dimensions, st.sampled_from(["row", "column", "both", "rank"]))
def test_exact_head_has_minimum_norm_where_the_samples_are_dependent(seed, m, k, kind):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, k))
    if kind in ("row", "both"):
        Z[-1] = Z[0]
    if kind in ("column", "both"):
        Z[:, rng.integers(k)] = 0.0
    if kind == "rank":
        Z[:, -1] = Z[:, 0] * rng.standard_normal()
    assume(rank_is_clear(Z))
    y = rng.standard_normal(m)
    check_exact_head(Z, y)
    w = exact_head(Z, y)
    null = svd(Z)[2][np.linalg.matrix_rank(Z) :]
    close(null @ w, np.zeros(len(null)), exact_head_error(Z, y, w))


@given(seeds, st.integers(2, 5), st.integers(0, 6), st.floats(3.5, 6.0), st.booleans())
def test_exact_head_survives_bad_conditioning(seed, k, more, digits, wide):
    """Columns (or samples) so nearly dependent that normal equations would lose all they know."""
    rng = np.random.default_rng(seed)
    Z = frame(rng, k + more, k)
    Z[:, -1] = Z[:, 0] + 10.0**-digits * Z[:, -1]
    if wide and more > 0:
        Z = Z.T.copy()
    y = rng.standard_normal(len(Z))
    w = exact_head(Z, y)
    expected = np.linalg.lstsq(Z, y, rcond=None)[0]
    # Backward stable: the condition number enters squared only through the residual.
    residual = norm(y - Z @ expected)
    error = cond(Z) * (norm(expected) + norm(y)) + cond(Z) ** 2 * residual
    close(w, expected, UNITS * EPS * error)


@given(samples, dimensions)
def test_exact_head_of_a_zero_projection_is_zero(m, k):
    np.testing.assert_array_equal(exact_head(np.zeros((m, k)), np.ones(m)), np.zeros(k))


@given(seeds, samples, dimensions, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_exact_head_of_a_projection_that_is_not_finite_is_nan(seed, m, k, value):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, k))
    Z[rng.integers(m), rng.integers(k)] = value
    assert np.isnan(exact_head(Z, np.ones(m))).all()


@given(seeds, samples, dimensions, st.integers(-150, 300))
def test_exact_head_scales_with_its_data(seed, m, k, exponent):
    """Also where squares overflow; below 1e-150 they would underflow."""
    rng = np.random.default_rng(seed)
    Z, y = rng.standard_normal((m, k)), rng.standard_normal(m)
    w, scaled = exact_head(Z, y), exact_head(Z * 10.0**exponent, y) * 10.0**exponent
    close(scaled, w, 2 * exact_head_error(Z, y, w))


@given(seeds, dimensions, st.integers(0, 6))
def test_exact_head_does_not_mind_columns_of_different_size(seed, k, more):
    """Up to the tolerance of the rank."""
    rng = np.random.default_rng(seed)
    Z, y = frame(rng, k + more, k), rng.standard_normal(k + more)
    scale = 2.0 ** rng.integers(-18, 19, k)
    w = exact_head(Z, y)
    close(exact_head(Z * scale, y) * scale, w, 2 * exact_head_error(Z, y, w))


@given(seeds, st.integers(2, 5), st.integers(0, 6), st.floats(-300.0, -13.5))
def test_exact_head_takes_a_tiny_column_for_rounding(seed, k, more, exponent):
    """As a singular value decomposition does: heads are those without the column, and 0 there."""
    rng = np.random.default_rng(seed)
    Z, y = rng.standard_normal((k + more, k)), rng.standard_normal(k + more)
    tiny = rng.integers(k)
    Z[:, tiny] *= 10.0**exponent / norm(Z[:, tiny]) * norm(Z, 2)
    others = np.delete(Z, tiny, axis=1)
    assume(rank_is_clear(others))
    expected = np.insert(np.linalg.lstsq(others, y, rcond=None)[0], tiny, 0.0)
    # What is left out has a share of 10^-13.5 in each product.
    error = exact_head_error(others, y, expected) + 1e-12 * cond(others) ** 2 * norm(expected)
    close(exact_head(Z, y), expected, error + 1e-12 * cond(others) * norm(y) / norm(others, 2))


@given(seeds, samples, dimensions, st.integers(1, 12), st.one_of(st.none(), st.floats(1e-3, 3.0)))
def test_step_head_takes_the_reference_steps(seed, m, k, steps, step_size):
    rng = np.random.default_rng(seed)
    Z, y, start = rng.standard_normal((m, k)), rng.standard_normal(m), rng.standard_normal(k)
    if rng.random() < 0.2:
        Z[:, 0] = 0.0
    wide, w = garbage(k, m + 2), start.copy()
    wide[:, :m] = Z.T
    given_size = 0.0 if step_size is None else step_size
    rounds.step_head(wide, m, y, w, steps, given_size, garbage(k, k), garbage(2 * k))
    expected = reference.head_gradient_steps(Z, y, np.eye(k), start, steps, step_size)
    close(w, expected, stepped_head_error(Z, y, start, steps, step_size))


@given(seeds, st.integers(1, 8), st.data(), st.booleans())
def test_move_representation_refuses_what_is_not_finite(seed, d, data, orthonormal):
    k = data.draw(st.integers(1, d))
    value = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    rng = np.random.default_rng(seed)
    BT, gradientT = frame(rng, d, k).T.copy(), rng.standard_normal((k, d))
    gradientT[rng.integers(k), rng.integers(d)] = value
    before = BT.copy()
    assert not rounds.move_representation(BT, gradientT, 0.1, orthonormal, garbage(k, d))
    np.testing.assert_array_equal(BT, before)


@given(seeds, st.integers(1, 8), st.data(), st.booleans())
def test_move_representation_refuses_what_lost_rank(seed, d, data, orthonormal):
    """A step that makes one column a combination of those before it, up to rounding."""
    k = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    BT = frame(rng, d, k).T.copy()
    place = rng.integers(k)
    target = BT.copy()
    if place:
        weights = rng.standard_normal(place)
        target[place] = 2.0 * weights / norm(weights) @ BT[:place]
    else:
        target[place] = 0.0
    before = BT.copy()
    assert not rounds.move_representation(BT, BT - target, 1.0, orthonormal, garbage(k, d))
    np.testing.assert_array_equal(BT, before)


@given(seeds, st.integers(1, 8), st.data(), st.booleans())
def test_move_representation_takes_steps_whose_squares_overflow(seed, d, data, orthonormal):
    k = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    B, gradient = frame(rng, d, k), rng.standard_normal((d, k))
    BT = B.T.copy()
    assert rounds.move_representation(BT, gradient.T.copy(), 1e200, orthonormal, garbage(k, d))
    # Next to such a step B is nothing.
    if orthonormal:
        close(BT.T, orthonormalize(-gradient), frame_error(gradient, EPS * norm(gradient)))
    else:
        close(BT.T / 1e200, -gradient, 4 * EPS * norm(gradient))


def test_complaint_helper_can_fail():
    with pytest.raises(AssertionError), complaint(ValueError, "missing"):
        raise ValueError("something else")
    with pytest.raises(AssertionError), complaint(ValueError, "two"):
        raise ValueError("two\nlines")
