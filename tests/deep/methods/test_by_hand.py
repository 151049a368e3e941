"""Rounds of methods, step by step from their formulas."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from linrep.deep import models  # noqa: E402
from linrep.deep.training import loss, schedule  # noqa: E402
from linrep.problems.random import keyed  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.methods.hand import Hand, mean, moved, of, on_the_processor  # noqa: E402, F401
from tests.deep.small import EVERYONE, FULL, assert_close, assert_equal  # noqa: E402


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", [deep.FedAvg, deep.APFL])
def test_averages_by_hand(method, weighted):
    hand = Hand()
    chosen = method(weighted=weighted)
    state = small.rounds(chosen, hand.fed, count=1, participants=4)
    start = hand.start()
    clients = [moved(start, hand.gradient(start, i), -FULL.lr) for i in range(4)]
    sizes = np.array(small.SIZES, dtype=float)
    assert_close(state.shared, mean(clients, sizes if weighted else None))


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("name", ["fedprox", "ditto"])
def test_penalties_pull_to_the_averaged_model(name, penalty):
    hand = Hand()
    start, client = hand.start(), 2
    if name == "fedprox":
        method = deep.FedProx(mu=penalty, epochs=3)
    else:
        method = deep.Ditto(penalty=penalty, epochs=3)
    state = small.rounds(method, hand.fed, 1, clients=[client])
    found = state.shared if name == "fedprox" else state.personal
    found = found if name == "fedprox" else of(found, client)
    params = start
    for _ in range(3):
        pull = {k: penalty * (params[k] - start[k]) for k in params}
        params = moved(moved(params, hand.gradient(params, client), -FULL.lr), pull, -FULL.lr)
    assert_close(found, params)


def test_apfl_by_hand():
    hand, alpha, client = Hand(), 0.25, 1
    method = deep.APFL(alpha=alpha, epochs=2)
    state = small.rounds(method, hand.fed, 1, clients=[client])
    shared = own = hand.start()
    for _ in range(2):
        mixed = {k: alpha * own[k] + (1 - alpha) * shared[k] for k in own}
        own = moved(own, hand.gradient(mixed, client), -FULL.lr * alpha)
        shared = moved(shared, hand.gradient(shared, client), -FULL.lr)
    assert_close(of(state.personal, client), own)
    assert_close(state.shared, shared)


@pytest.mark.parametrize("chunk", [1, 64])
def test_scaffold_by_hand(chunk):
    hand, epochs, global_lr = Hand(), 2, 0.5
    hand.fed.chunk = chunk
    method = deep.Scaffold(epochs=epochs, global_lr=global_lr)
    state = method.start(hand.fed)
    x = hand.start()
    zero = {name: torch.zeros_like(value) for name, value in x.items()}
    controls, server = [zero] * 4, zero
    for participants in ([0, 1, 2], [1, 2, 3], [0, 1, 3]):
        method.round(hand.fed, state, np.array(participants))
        ends, news = [], list(controls)
        for i in participants:
            y = x
            for _ in range(epochs):
                step = moved(moved(hand.gradient(y, i), controls[i], -1.0), server, 1.0)
                y = moved(y, step, -FULL.lr)
            way = {k: (x[k] - y[k]) / (epochs * FULL.lr) for k in x}
            news[i] = moved(moved(controls[i], server, -1.0), way, 1.0)
            ends.append(y)
        controls, server = news, mean(news)
        x = moved(x, moved(mean(ends), x, -1.0), global_lr)
        assert_close(state.shared, x)
        for name in x:
            extra = state.extra[f"control.{name}"]
            torch.testing.assert_close(extra, torch.stack([c[name] for c in controls]))
            torch.testing.assert_close(state.extra[f"server.{name}"], extra.mean(0))


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_scaffolds_controls_are_gradients_with_momentum_too(momentum):
    sgd = deep.SGD(lr=1e-9, momentum=momentum, batch_size=100)  # so small that gradients stay
    fed = small.federation(sgd=sgd)
    method = deep.Scaffold(epochs=5)
    state = method.start(fed)
    for _ in range(2):
        method.round(fed, state, EVERYONE)
    hand = Hand()
    start = hand.start()
    for client in range(4):
        found = {k: state.extra[f"control.{k}"][client] for k in start}
        assert_close(found, hand.gradient(start, client), 1e-5)


def test_l2gds_pull_by_hand():
    method = deep.L2GD(p=1 - 1e-9, alpha=0.25, penalty=0.5)
    fed = small.federation()
    deep.L2GD(alpha=3.6).start(fed)  # all the way to the mean, and no further
    state = method.start(fed)
    rng = torch.Generator().manual_seed(0)
    for name, value in state.personal.items():
        state.personal[name] = torch.randn(value.shape, generator=rng, dtype=value.dtype)
    before = small.copied(state)
    clients = np.array([0, 2, 3])
    method.round(fed, state, clients)
    for name, value in state.personal.items():
        old = before[f"personal.{name}"][clients]
        expected = old - 0.125 / (4 * method.p) * (old - old.mean(0))
        torch.testing.assert_close(value[clients], expected)
        assert torch.equal(value[1], before[f"personal.{name}"][1])


def test_l2gd_trains_in_its_share_of_the_rounds():
    method, fed = deep.L2GD(p=0.7), small.federation("linear")
    state = method.start(fed)
    trained = 0
    for _ in range(160):
        before = {name: value.mean(0) for name, value in state.personal.items()}
        method.round(fed, state, EVERYONE)
        after = {name: value.mean(0) for name, value in state.personal.items()}
        trained += small.distance(before, after) > 1e-9
    # 160 coins: Hoeffding's inequality, probability of a failure below 1e-4.
    assert abs(trained / 160 - 0.3) < math.sqrt(math.log(2e4) / 320)


@pytest.mark.parametrize("client", [0, 1])
def test_perfedavg_by_hand_on_a_quadratic(client):
    data = small.data("real")
    network = models.Model(torch.nn.Flatten(), torch.nn.Linear(5, 1, bias=False))
    sgd = deep.SGD(lr=0.1, batch_size=5)
    fed = deep.Federation(data, network, sgd=sgd, dtype="float64")
    inner, share = 0.3, 0.45
    method = deep.PerFedAvg(inner_lr=inner, support=share)
    state = method.start(fed)
    w = state.shared["head.weight"][0].numpy().copy()
    method.round(fed, state, np.array([client]))
    size = small.SIZES[client]
    plan = schedule([size], [keyed(fed.seed, "batches", 0, 0, client)], batch_size=5)
    for position, weight in zip(plan.position[0], plan.weight[0], strict=True):
        rows = data.train[client][position[weight]]
        cut = min(round(share * len(rows)), len(rows) - 1)
        parts = [(data.x[part].astype(float), data.y[part]) for part in (rows[:cut], rows[cut:])]
        hessians = [x.T @ x / len(x) for x, _ in parts]
        slopes = [x.T @ y / len(x) for x, y in parts]
        adapted = w - inner * (hessians[0] @ w - slopes[0])
        direction = hessians[1] @ adapted - slopes[1]
        direction = direction - inner * hessians[0] @ direction
        w = w - sgd.lr * direction
    np.testing.assert_allclose(state.shared["head.weight"][0].numpy(), w, rtol=1e-9)
    shared, own = method.models(fed, state, np.array([client]))
    assert shared == {}
    expected = fed.train(
        state.shared, {}, np.array([client]), (deep.Phase(lr=inner),), round=1, purpose="adaptation"
    )
    assert_equal(own, expected)


def test_perfedavg_moves_a_client_with_a_single_sample():
    samples = small.data(sizes=(1, 2), tested=(1, 1))
    fed = small.federation(samples=samples)
    state = deep.PerFedAvg().start(fed)
    before = small.copied(state)
    deep.PerFedAvg().round(fed, state, np.array([0]))
    assert not torch.equal(state.shared["head.bias"], before["shared.head.bias"])


@pytest.mark.parametrize("order", ["simultaneous", "alternating"])
def test_pflmf_takes_an_objective_of_ones_own(order):
    class Twice(deep.PFLMF):
        def objective(self, network, params, batch, context):
            return 2.0 * loss(network, params, batch)

    states = []
    for kind, lr in ((deep.PFLMF, 0.1), (Twice, 0.05)):
        method = kind(rank=2, order=order)
        fed = small.federation("regression", sgd=deep.SGD(lr=lr, batch_size=100), method=method)
        states.append(small.rounds(method, fed))
    assert_close(states[0].shared, states[1].shared)
    assert_close(states[0].personal, states[1].personal)


def test_pflmfs_running_averages_take_up_a_batch_a_round():
    method = deep.PFLMF(rank=2)
    sgd = deep.SGD(lr=1e-12, batch_size=100)  # so small that statistics stay
    fed = small.federation("blocks", sgd=sgd, method=method)
    state = method.start(fed)
    seen = []
    for _ in range(3):
        method.round(fed, state, EVERYONE)
        seen.append({n: state.shared[n].clone() for n in fed.buffers if n.endswith("_mean")})
    for name, first in seen[0].items():
        batch = first / 0.1  # the averages start at 0
        torch.testing.assert_close(seen[2][name], (1.0 - 0.9**3) * batch)
