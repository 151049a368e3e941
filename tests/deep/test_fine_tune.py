"""New clients: some blocks trained, all others as a run has left them."""

from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from tests.deep import small  # noqa: E402

REST = ("representation.fc1.weight", "representation.fc2.bias")


def clients(seed, n=4, classes=3):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((classes, 6))

    def draw(size):
        y = np.arange(size) % classes
        return centres[y] + 0.1 * rng.standard_normal((size, 6)), y

    return deep.FederatedData.from_lists([(*draw(15), *draw(6)) for _ in range(n)], classes=classes)


@cache
def trained(method):
    return deep.run(clients(1), method, model="mlp", rounds=2, participation=0.5, rng=3)


@pytest.mark.parametrize("method", ["fedavg", "fedrep", "apfl", "l2gd"])
def test_only_the_blocks_move_and_the_rest_is_what_the_run_has_left(method):
    before = trained(method)
    trace = deep.fine_tune(clients(2, 5), before, model="mlp", epochs=3, lr=0.1, rng=1)
    assert trace.recorded.tolist() == [0, 1, 2, 3]
    assert trace.state["personal.head.weight"].shape == (5, 3, 200)
    for name in REST:
        left = before.state.get(f"shared.{name}")
        if left is None:
            left = before.state[f"personal.{name}"].mean(0)
        np.testing.assert_array_equal(trace.state[f"shared.{name}"], left)
    assert trace["test_loss"][-1] < trace["test_loss"][0]
    assert trace.state["accuracies"].mean() == trace["accuracy"][-1]


def test_heads_start_anew_and_alike_whatever_was_trained():
    starts = [
        deep.fine_tune(clients(2), trained(method), model="mlp", epochs=0, rng=1)
        for method in ("fedavg", "fedrep")
    ]
    heads = [trace.state["personal.head.weight"] for trace in starts]
    np.testing.assert_array_equal(heads[0], heads[1])
    np.testing.assert_array_equal(heads[0], np.broadcast_to(heads[0][0], heads[0].shape))


def test_new_clients_are_trained_together_or_one_by_one():
    before, settings = trained("fedavg"), {"model": "mlp", "epochs": 2, "rng": 1}
    trace = deep.fine_tune(clients(2, 5), before, **settings)
    with small.stepping("loop"):
        apart = deep.fine_tune(clients(2, 5), before, chunk=2, **settings)
    for name, value in trace.state.items():
        np.testing.assert_allclose(apart.state[name], value, atol=1e-5)
