"""Entrywise rounds against their naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.kernels import completion
from linrep.kernels.rounds import COMPLETED, DIVERGED
from tests.reference import perfedsi as naive
from tests.strategies import seeds

NOTHING = np.empty((0, 0))


STEP = 0.02  # with factors of this size nothing grows beyond bounds


def draw(rng, n, d, p, k):
    """Return U, V, Z of unit rows, and a truth's factors."""
    U, V, Z, starU, starV = (
        rng.standard_normal(shape) for shape in ((d, k), (p, k), (n, p), (d, k), (p, k))
    )
    return U, V, Z / np.linalg.norm(Z, axis=1, keepdims=True), starU, starV


def fresh_entries(U, heads):
    """Return entries that are drawn from a truth, without noise."""
    none = np.empty(0, dtype=np.int64)
    return completion.Entries(none, np.empty(0), np.zeros(4, np.int64), True, U, heads, 0.0)


@given(seeds, st.integers(1, 5), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3),
       st.integers(1, 4), st.booleans(), st.booleans())  # fmt: skip
def test_rounds_are_the_papers(seed, n, d, p, k, count, fresh, identity):
    rng = np.random.default_rng(seed)
    if identity:
        p = n
    U, V, Z, starU, starV = draw(rng, n, d, p, k)
    if identity:
        Z = np.eye(n)
    heads = Z @ starV
    items = np.concatenate([rng.permutation(d)[: max(1, d // 2)] for _ in range(n)])
    offsets = np.arange(n + 1) * max(1, d // 2)
    values = rng.standard_normal(items.size)
    schedule = rng.integers(0, n, (3, 2))
    stream, copy = np.random.default_rng(seed), np.random.default_rng(seed)
    expected_U, expected_V, expected = U.copy(), V.copy(), []
    for clients in schedule:
        entries = []
        for client in clients:
            if fresh:
                drawn = [int(copy.random() * d) for _ in range(count)]
                entries.append([(item, starU[item] @ heads[client]) for item in drawn])
            else:
                first, last = offsets[client], offsets[client + 1]
                places = [first + int(copy.random() * (last - first)) for _ in range(count)]
                entries.append([(items[place], values[place]) for place in places])
        expected_U, expected_V, mean = naive.round_of(
            expected_U, expected_V, clients, entries, Z, STEP
        )
        expected.append(mean)
    loss = np.empty(3)
    done = completion.run_entrywise(
        stream,
        schedule,
        completion.Entries(items, values, offsets, fresh, starU, heads, 0.0),
        completion.Settings(count, STEP, 0.0),
        completion.Side(NOTHING if identity else Z, identity),
        U,
        V,
        loss,
        completion.workspace(k, d, 2, count),
    )
    assert done == (3, COMPLETED)
    np.testing.assert_allclose(U, expected_U, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(V, expected_V, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-11)


def test_what_diverges_leaves_the_last_finite_factors():
    rng = np.random.default_rng(0)
    U, V, Z, starU, starV = draw(rng, 3, 4, 2, 1)
    loss = np.empty(200)
    done, status = completion.run_entrywise(
        rng,
        np.zeros((200, 1), dtype=np.int64),
        fresh_entries(starU, Z @ starV),
        completion.Settings(5, 50.0, 0.0),
        completion.Side(Z, False),
        U,
        V,
        loss,
        completion.workspace(1, 4, 1, 5),
    )
    assert status == DIVERGED
    assert done < 200
    assert np.isfinite(loss[:done]).all()


@pytest.mark.parametrize("participants", [1, 4])
def test_noise_for_privacy_is_that_of_a_mean(participants):
    rng = np.random.default_rng(0)
    V, Z = np.zeros((500, 4)), np.zeros((3, 500))
    completion.run_entrywise(
        rng,
        np.zeros((1, participants), dtype=np.int64),
        fresh_entries(np.zeros((2, 4)), np.zeros((3, 4))),
        completion.Settings(1, 0.1, 0.8),
        completion.Side(Z, False),
        np.zeros((2, 4)),
        V,
        np.empty(1),
        completion.workspace(4, 2, participants, 1),
    )
    # 2000 numbers: five standard errors of their standard deviation are 8 percent.
    assert abs(V.std() * np.sqrt(participants) / 0.8 - 1.0) < 0.08


@given(
    seeds,
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.integers(1, 4),
    st.integers(1, 4),
    st.booleans(),
)
def test_what_a_groups_vectors_explain_is_removed(seed, sizes, k, p, dependent):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    vectors, table, values = (
        rng.standard_normal((offsets[-1], k)),
        rng.standard_normal((offsets[-1], p)),
        rng.standard_normal(offsets[-1]),
    )
    if dependent:
        vectors[:, -1] = 3.0 * vectors[:, 0]
    expected = [naive.left_over(vectors, part, offsets) for part in (table, values)]
    completion.eliminate(offsets, vectors, table, values, np.empty(p))
    np.testing.assert_allclose(table, expected[0], atol=1e-10)
    np.testing.assert_allclose(values, expected[1], atol=1e-10)


@given(seeds, st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_a_step_and_its_size_are_those_of_the_entrys_loss(seed, d, p, k):
    rng = np.random.default_rng(seed)
    U, V, z = rng.standard_normal((d, k)), rng.standard_normal((p, k)), rng.standard_normal(p)
    item, value, square = d - 1, rng.standard_normal(), z @ z
    size = completion.curvature_step_size(U[item], V.T @ z, value, square)
    # The curvature along the steepest direction, by differences, is at most half of one over it.
    new_U, new_V = naive.entry_step(U, V, item, value, z, 1.0)
    dU, dV = new_U - U, new_V - V
    length = np.sqrt(np.sum(dU**2) + np.sum(dV**2))
    if length > 1e-3:
        h = 1e-4 / length
        at = [naive.entry_loss(U + t * dU, V + t * dV, item, value, z) for t in (-h, 0.0, h)]
        curvature = (at[0] - 2.0 * at[1] + at[2]) / 1e-8
        assert curvature <= 0.5 / size * (1.0 + 1e-4) + 1e-4
        new = naive.entry_step(U, V, item, value, z, size)
        taken = naive.entry_loss(*new, item, value, z)
        assert taken < at[1] * (1.0 + 1e-12)
    u, v = U[item].copy(), V.T @ z
    residual = completion.step_on_entry(u, v, value, size, square)
    expected_U, expected_V = naive.entry_step(U, V, item, value, z, size)
    np.testing.assert_allclose(residual, U[item] @ V.T @ z - value, atol=1e-12)
    np.testing.assert_allclose(u, expected_U[item], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(v, expected_V.T @ z, rtol=1e-9, atol=1e-11)


def test_factors_of_zero_get_no_step():
    nothing = np.zeros(2)
    assert completion.curvature_step_size(nothing, nothing, 0.0, 1.0) == 0.0


@given(seeds, st.integers(1, 8), st.integers(1, 4))
def test_rows_are_weighed_by_their_residual(seed, count, k):
    rng = np.random.default_rng(seed)
    X, Y, values = (rng.standard_normal(size) for size in ((count, k), (count, k), count))
    X_new, Y_new, residuals = X.copy(), Y.copy(), np.empty(count)
    square = completion.weigh_by_residual(X_new, Y_new, values, residuals)
    expected = [sum(x * y for x, y in zip(*rows, strict=True)) for rows in zip(X, Y, strict=True)]
    expected = np.array(expected) - values
    np.testing.assert_allclose(residuals, expected, atol=1e-13)
    np.testing.assert_allclose(square, expected @ expected, atol=1e-12)
    np.testing.assert_allclose(X_new, X * expected[:, None], atol=1e-12)
    np.testing.assert_allclose(Y_new, Y * expected[:, None], atol=1e-12)
