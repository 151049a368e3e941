"""FLUTE's objective, its server's step and the order of its phases."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep.deep import FLUTE  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.methods.hand import Hand, nc, of, on_the_processor  # noqa: E402, F401
from tests.deep.small import FULL, assert_close  # noqa: E402


def test_flutes_objective_by_hand():
    hand, client = Hand(), 2
    lambdas = {"lambda1": 0.2, "lambda2": 0.3, "lambda3": 0.4}
    method = FLUTE(**lambdas, server_lr=0.0)
    state = small.rounds(method, hand.fed, 1, clients=[client])
    index = hand.data.train[client]
    present = np.bincount(hand.data.y[index], minlength=small.CLASSES) > 0
    params = {name: value.requires_grad_() for name, value in hand.start().items()}
    x, y = torch.as_tensor(hand.data.x[index]).double(), torch.as_tensor(hand.data.y[index])
    names = [name for name in params if name.startswith("representation")]
    inner = {name.removeprefix("representation."): params[name] for name in names}
    features = torch.func.functional_call(hand.fed.model.representation, inner, (x,))
    head = params["head.weight"]
    value = torch.nn.functional.cross_entropy(features @ head.T + params["head.bias"], y)
    value = value + 0.2 * (features**2).sum() / len(x) + 0.3 * (head**2).sum()
    gram, m = head @ head.T, small.CLASSES
    u = torch.as_tensor(present, dtype=torch.float64)
    frame = torch.outer(u, u) * (torch.eye(m, dtype=torch.float64) - 1 / m) / math.sqrt(m - 1)
    value = value + 0.4 * (gram / gram.norm() - frame).norm()
    value.backward()
    found = state.shared | of(state.personal, client)
    expected = {name: p.detach() - FULL.lr * p.grad for name, p in params.items()}
    assert_close({name: found[name] for name in expected}, expected)


def test_flutes_server_step_by_hand():
    fed = small.federation()
    without = FLUTE(server_lr=0.0)
    state = small.rounds(without, fed, 1, clients=[0, 3])
    before = state.personal["head.weight"].clone()
    FLUTE(server_lr=0.5).server(fed, state, np.array([0, 3]))
    after = state.personal["head.weight"]
    assert torch.equal(after[1:3], before[1:3])
    for client in (0, 3):
        labels = fed.data.y[fed.data.train[client]]
        present = (np.bincount(labels, minlength=small.CLASSES) > 0).astype(float)
        head = before[client].numpy()
        slope = np.zeros_like(head)
        for place in np.ndindex(*head.shape):
            ends = []
            for by in (1e-6, -1e-6):
                shifted = head.copy()
                shifted[place] += by
                ends.append(nc(shifted, present, small.CLASSES))
            slope[place] = (ends[0] - ends[1]) / 2e-6
        expected = head - 0.5 * slope
        np.testing.assert_allclose(after[client].numpy(), expected, rtol=1e-6, atol=1e-8)


def test_flute_star_trains_heads_after_the_joint_epoch():
    joint, heads = FLUTE(head_epochs=4).phases()
    assert (joint.blocks, joint.epochs, heads.blocks, heads.epochs) == ((), 1, ("head",), 4)
