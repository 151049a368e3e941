"""The public calls of PerFedSI against their naive twins."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

from linrep import kernels
from tests.reference import perfedsi
from tests.strategies import completion, completions
from tests.tools import EPS, UNITS, close


@given(completions, st.floats(1e-3, 0.1))
def test_a_step_on_an_entry_is_the_papers(sizes, step_size):
    items, values, _, Z, U, V = completion(sizes)
    item, value, z = int(items[0]), float(values[0]), Z[0]
    found = kernels.perfedsi_step(item, value, z, U, V, step_size=step_size)
    expected = perfedsi.local_step(U, V, item, value, z, step_size)
    error = UNITS * EPS * (1.0 + norm(U) + norm(V)) ** 3
    close(found.U, expected[0], error)
    close(found.V, expected[1], error)
    close(found.loss, 0.5 * (U[item] @ V.T @ z - value) ** 2, error * (1.0 + abs(value)))


@given(completions, st.floats(1e-3, 0.02))
def test_an_epoch_is_the_mean_of_the_clients_steps(sizes, step_size):
    items, values, offsets, Z, U, V = completion(sizes)
    found = kernels.perfedsi_epoch(items, values, offsets, Z, U, V, step_size=step_size)
    entries = [list(zip(items[a:b], values[a:b], strict=True)) for a, b in pairwise(offsets)]
    losses = []
    for i, seen in enumerate(entries):  # clients weigh alike in the factors, entries in the loss
        losses += [len(seen) * perfedsi.round_of(U, V, [i], [seen], Z, step_size)[2]]
    expected_U, expected_V, _ = perfedsi.round_of(U, V, range(len(Z)), entries, Z, step_size)
    np.testing.assert_allclose(found.U, expected_U, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.V, expected_V, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.loss, sum(losses) / len(items), rtol=1e-9, atol=1e-11)
