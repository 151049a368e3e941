"""A client's head sees the first half of its samples, the gradient the other one."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from linrep.kernels.fedrep import Samples
from linrep.kernels.halves import halves_gradients
from linrep.kernels.rounds import EXACT, Settings, no_truth, workspace
from tests.reference import fedrep
from tests.strategies import cases, head_steps, participants_of
from tests.tools import rank_is_clear


@given(cases(k_within_n=False, m=(2, 9)), head_steps, st.data())
def test_heads_and_gradients_are_of_different_samples(case, steps, data):
    participants = participants_of(case, data)
    clients = np.arange(case.n) if participants is None else participants
    halves = []
    for i in clients:
        X, y = case.clients[i]
        middle = (len(y) + 1) // 2
        halves.append(((X[:middle], y[:middle]), (X[middle:], y[middle:])))
    count, size = steps or (EXACT, 0.0)
    heads = []
    for i, ((X, y), _) in zip(clients, halves, strict=True):
        if steps is None:
            assume(rank_is_clear(X @ case.B))
            heads.append(fedrep.head_least_squares(X, y, case.B))
        else:
            heads.append(fedrep.head_gradient_steps(X, y, case.B, case.W[i], count, size))
    heads = np.reshape(heads, (len(clients), case.k))
    assume(np.abs(heads).max() < 1e6)
    weight = 0.3
    W, settings = case.W.copy(), Settings(0.1, True, count, size, True, -1.0)
    work = workspace(case.k, case.d, max(len(y) for _, y in case.clients), len(clients))
    BT = np.ascontiguousarray(case.B.T)
    samples, truth = Samples(case.X, case.y, case.offsets), no_truth(case.d, case.k)
    loss = halves_gradients(samples, clients, BT, W, weight, settings, truth, work)
    parts = [(X, y, case.B, w) for (_, (X, y)), w in zip(halves, heads, strict=True)]
    scale = 1.0 + np.abs(heads).max() ** 2
    np.testing.assert_allclose(W[clients], heads, rtol=1e-6, atol=1e-6 * scale)
    expected = weight * sum(fedrep.client_gradient(*part) for part in parts)
    np.testing.assert_allclose(work.gradientT.T, expected, rtol=1e-6, atol=1e-6 * scale)
    np.testing.assert_allclose(
        loss, sum(fedrep.client_loss(*part) for part in parts), rtol=1e-6, atol=1e-6 * scale
    )
    absent = np.setdiff1d(np.arange(case.n), clients)
    np.testing.assert_array_equal(W[absent], case.W[absent])
