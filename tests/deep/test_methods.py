import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import ClientData, fedrep  # noqa: E402
from linrep.deep import (  # noqa: E402
    APFL,
    FLUTE,
    L2GD,
    METHODS,
    PFLMF,
    SGD,
    Ditto,
    FedAvg,
    Federation,
    FedPer,
    FedProx,
    FedRep,
    LGFedAvg,
    Local,
    PerFedAvg,
    PerFedSI,
    Phase,
    Scaffold,
    models,
    neural_collapse,
)
from linrep.deep.data import FederatedData  # noqa: E402
from linrep.deep.federation import keyed  # noqa: E402
from linrep.deep.training import schedule  # noqa: E402
from linrep.subspace import distance  # noqa: E402
from tests.deep import small  # noqa: E402

EVERYONE = np.arange(4)[None]
#: One step a round, with all samples, and nothing but the gradient.
FULL = SGD(lr=0.2, momentum=0.0, weight_decay=0.0, batch_size=100)


def assert_close(one, other, tolerance=1e-12):
    """Compare tensors of the same names, relative to the largest number among them."""
    assert small.distance(dict(one), dict(other)) <= tolerance


def assert_equal(one, other):
    """Compare tensors of the same names bit by bit."""
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


# Blocks

#: Where a method's defaults do not fit the small network, or a round may do nothing.
NETWORK = {"lg": "cnn", "perfedsi": "concatenated"}
SETTINGS = {"l2gd": {"p": 1e-9, "penalty": 0.0}}


@pytest.mark.parametrize("network", [None, "blocks"])
@pytest.mark.parametrize("name", METHODS)
def test_after_a_round_what_should_have_moved_has_and_nothing_else(name, network):
    method = METHODS[name](**SETTINGS.get(name, {}))
    if network == "blocks" and name in ("apfl", "perfedsi", "lg"):
        pytest.skip("has no use for the network")
    network = network or NETWORK.get(name, "mlp")
    fed = small.federation(network, method=method, seeds=[0, 1])
    state = method.start(fed)
    before = small.copied(state)
    sampled = np.array([[0, 2], [1, 2]])
    method.round(fed, state, sampled)
    after = small.tensors(state)
    assert before.keys() == after.keys()
    for run, chosen in enumerate(sampled):
        others = np.setdiff1d(EVERYONE, chosen)
        for block, value in after.items():
            old = before[block]
            if block.startswith("shared."):
                assert not torch.equal(value[run], old[run]), block
            elif block.startswith("personal."):
                assert torch.equal(value[run, others], old[run, others]), block
                for client in chosen:
                    assert not torch.equal(value[run, client], old[run, client]), block
    assert state.round == 1
    shared, own = method.models(fed, state, sampled)
    wanted = set(fed.parameters) | set(fed.buffers)
    assert set(shared) | set(own) == wanted
    assert not set(shared) & set(own)


@pytest.mark.parametrize("name", METHODS)
def test_everyone_starts_from_the_same_weights(name):
    method = METHODS[name](**SETTINGS.get(name, {}))
    fed = small.federation(NETWORK.get(name, "mlp"), method=method, seeds=[0, 1])
    state = method.start(fed)
    for value in state.personal.values():
        assert (value == value[:, :1]).all()
    assert any(not torch.equal(v[0], v[1]) for v in (state.shared | state.personal).values())


def test_heads_that_have_no_epochs_are_bit_equal():
    fed = small.federation()
    state = FedRep(head_epochs=0).start(fed)
    before = small.copied(state)
    FedRep(head_epochs=0).round(fed, state, EVERYONE)
    assert torch.equal(state.personal["head.weight"], before["personal.head.weight"])
    assert not torch.equal(state.shared["representation.fc1.weight"],
                           before["shared.representation.fc1.weight"])  # fmt: skip


@pytest.mark.parametrize("method", [FedRep(personal=()), FLUTE(personal=(), server_lr=0.0)])
def test_no_personal_block_leaves_no_phase_for_it(method):
    phases = method.phases()
    assert len(phases) == 1
    assert set(phases[0].trained(["a", "b"])) == {"a", "b"}


# Degenerate identities


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FedPer(personal=()), FedAvg()),
        (LGFedAvg(personal=()), FedAvg()),
        (FedRep(personal=(), head_epochs=3), FedAvg()),
        (FedProx(mu=0.0), FedAvg()),
        (FLUTE(lambda1=0.0, lambda2=0.0, lambda3=0.0, server_lr=0.0), FedPer()),
        (Scaffold(global_lr=1e-9), None),
    ],
)
def test_methods_without_what_sets_them_apart(one, other):
    found = small.rounds(one, small.federation(), count=3)
    if other is None:  # the server hardly moves
        start = small.federation().start()
        assert_close(found.shared, start.shared, 1e-6)
        return
    expected = small.rounds(other, small.federation(), count=3)
    assert_close(small.tensors(found), small.tensors(expected))


def test_dittos_own_models_without_a_penalty_are_local_ones():
    ditto = small.rounds(Ditto(penalty=0.0), small.federation())
    local = small.rounds(Local(), small.federation())
    shared = small.rounds(FedAvg(), small.federation())
    assert_close(ditto.personal, local.personal)
    assert_close(ditto.shared, shared.shared)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_apfl_between_averaging_and_local_training(alpha):
    method, fed = APFL(alpha=alpha), small.federation(sgd=SGD(0.1, 0.5, 0.0, 4))
    state = small.rounds(method, fed)
    averaged = small.rounds(FedAvg(), fed)
    assert_close(state.shared, averaged.shared)
    _, mixed = method.models(fed, state, EVERYONE)
    if alpha:
        local = small.rounds(Local(), fed).personal
        assert_close(state.personal, local)
        assert_close(mixed, local)
    else:
        start = method.start(fed).personal
        assert_equal(state.personal, start)  # no gradient reaches them
        for name, value in mixed.items():
            assert torch.equal(value, averaged.shared[name].unsqueeze(1).expand_as(value))


def test_scaffolds_first_round_is_federated_averaging():
    fed = small.federation()
    scaffold, averaged = Scaffold(), FedAvg()
    state = scaffold.start(fed)
    expected = averaged.start(fed)
    scaffold.round(fed, state, EVERYONE)
    averaged.round(fed, expected, EVERYONE)
    assert_close(state.shared, expected.shared)


@pytest.mark.parametrize("embedding", ["block", "linear"])
def test_perfedsi_with_an_embedding_of_zero_is_federated_averaging(embedding):
    plain = models.blocks(small.CLASSES, 1, 8, **small.BLOCKS)
    model = models.concatenated(small.CLASSES, 2, 1, 8, embedding=embedding, **small.BLOCKS)
    model.representation.features.load_state_dict(plain.representation.state_dict())
    width = plain.head.in_features
    last = model.representation.side[2]
    last = last.norm if embedding == "block" else last
    with torch.no_grad():
        model.head.bias.copy_(plain.head.bias)
        model.head.weight[:, :width] = plain.head.weight
        last.weight.zero_()
        last.bias.zero_()
        if embedding == "linear":  # else the embedding would learn at once
            model.head.weight[:, width:] = 0.0
    sgd = SGD(lr=0.1, momentum=0.5, batch_size=4)
    settings = {"sgd": sgd, "dtype": "float64", "seeds": [3]}
    with_side = Federation(small.data("images"), model, **settings)
    without = Federation(small.data("images"), plain, **settings)
    found = small.rounds(PerFedSI(), with_side).shared
    expected = small.rounds(FedAvg(), without).shared
    same = {
        name: found[name.replace("representation.", "representation.features.")]
        for name in expected
    }
    same["head.weight"] = found["head.weight"][..., :width]
    assert_close(same, expected)


def test_perfedsi_with_a_mask_of_ones_is_federated_averaging():
    plain = models.blocks(small.CLASSES, 1, 8, **small.BLOCKS)
    model = models.multiplied(small.CLASSES, 2, 1, 8, layer=1, **small.BLOCKS)
    values = list(plain.state_dict().values())
    model.load_state_dict(dict(zip(model.state_dict(), values, strict=True)))
    samples = small.data("images")
    samples = FederatedData(
        samples.x, samples.y, samples.train, samples.test, samples.classes, side=np.ones((4, 2))
    )
    settings = {"sgd": small.FAST, "dtype": "float64", "seeds": [3]}
    found = small.rounds(PerFedSI(), Federation(samples, model, **settings)).shared
    expected = small.rounds(FedAvg(), Federation(samples, plain, **settings)).shared
    renamed = dict(zip(found, expected.values(), strict=True))
    assert_close(found, renamed)


def test_factored_networks_of_rank_one_follow_the_base_along_u():
    base = small.NETWORKS["mlp"][1]()
    factored = models.Factored(base, 1)
    data = small.data()
    theta = Federation(data, base, sgd=FULL, dtype="float64").start().shared
    start = Federation(data, factored, sgd=FULL, dtype="float64").start().shared
    for name, value in theta.items():
        torch.testing.assert_close(start["v"][..., 0] * start[f"U.{name}"][:, 0], value)


# By hand


class Hand:
    """Full-batch gradients of clients, from plain autograd."""

    def __init__(self, network="mlp", method=None):
        self.fed = small.federation(network, sgd=FULL, method=method)
        self.data = self.fed.data[0]

    def start(self):
        return {name: value[0].clone() for name, value in self.fed.start().shared.items()}

    def gradient(self, params, client, rows=slice(None)):
        index = self.data.train[client][rows]
        own = {name: value.detach().clone().requires_grad_() for name, value in params.items()}
        x = torch.as_tensor(self.data.x[index]).double()
        y = torch.as_tensor(self.data.y[index])
        outputs = torch.func.functional_call(self.fed.model, own, (x,))
        if y.is_floating_point():
            value = 0.5 * ((outputs[:, 0] - y) ** 2).mean()
        else:
            value = torch.nn.functional.cross_entropy(outputs, y)
        return dict(zip(own, torch.autograd.grad(value, list(own.values())), strict=True))


def moved(params, gradient, by):
    return {name: params[name] + by * gradient[name] for name in params}


def mean(values, weights=None):
    weights = np.full(len(values), 1 / len(values)) if weights is None else weights / weights.sum()
    return {k: sum(w * v[k] for w, v in zip(weights, values, strict=True)) for k in values[0]}


def run(values, run=0):
    return {name: value[run] for name, value in values.items()}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", [FedAvg, APFL])
def test_averages_by_hand(method, weighted):
    hand = Hand()
    chosen = method(weighted=weighted)
    state = small.rounds(chosen, hand.fed, count=1, participants=4)
    start = hand.start()
    clients = [moved(start, hand.gradient(start, i), -FULL.lr) for i in range(4)]
    sizes = np.array(small.SIZES, dtype=float)
    assert_close(run(state.shared), mean(clients, sizes if weighted else None))


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("name", ["fedprox", "ditto"])
def test_penalties_pull_to_the_averaged_model(name, penalty):
    hand = Hand()
    start, client = hand.start(), 2
    if name == "fedprox":
        method = FedProx(mu=penalty, epochs=3)
    else:
        method = Ditto(penalty=penalty, personal_epochs=3)
    state = method.start(hand.fed)
    method.round(hand.fed, state, np.array([[client]]))
    found = run(state.shared) if name == "fedprox" else run(state.personal)
    found = found if name == "fedprox" else run(found, client)
    params = start
    for _ in range(3):
        pull = {k: penalty * (params[k] - start[k]) for k in params}
        params = moved(moved(params, hand.gradient(params, client), -FULL.lr), pull, -FULL.lr)
    assert_close(found, params)


def test_apfl_by_hand():
    hand, alpha, client = Hand(), 0.25, 1
    method = APFL(alpha=alpha, epochs=2)
    state = method.start(hand.fed)
    method.round(hand.fed, state, np.array([[client]]))
    shared = own = hand.start()
    for _ in range(2):
        mixed = {k: alpha * own[k] + (1 - alpha) * shared[k] for k in own}
        own = moved(own, hand.gradient(mixed, client), -FULL.lr * alpha)
        shared = moved(shared, hand.gradient(shared, client), -FULL.lr)
    assert_close(run(run(state.personal), client), own)
    assert_close(run(state.shared), shared)


@pytest.mark.parametrize("chunk", [1, 64])
def test_scaffold_by_hand(chunk):
    hand, epochs, global_lr = Hand(), 2, 0.5
    hand.fed.chunk = chunk
    method = Scaffold(epochs=epochs, global_lr=global_lr)
    state = method.start(hand.fed)
    x = hand.start()
    zero = {name: torch.zeros_like(value) for name, value in x.items()}
    controls, server = [zero] * 4, zero
    for participants in ([0, 1, 2], [1, 2, 3], [0, 1, 3]):
        method.round(hand.fed, state, np.array([participants]))
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
        assert_close(run(state.shared), x)
        for name in x:
            extra = state.extra[f"control.{name}"][0]
            torch.testing.assert_close(extra, torch.stack([c[name] for c in controls]))
            torch.testing.assert_close(state.extra[f"server.{name}"][0], extra.mean(0))


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_scaffolds_controls_are_gradients_with_momentum_too(momentum):
    sgd = SGD(lr=1e-9, momentum=momentum, batch_size=100)  # so small that gradients stay
    fed = small.federation(sgd=sgd)
    method = Scaffold(epochs=5)
    state = method.start(fed)
    for _ in range(2):
        method.round(fed, state, EVERYONE)
    hand = Hand()
    start = hand.start()
    for client in range(4):
        found = {k: state.extra[f"control.{k}"][0, client] for k in start}
        assert_close(found, hand.gradient(start, client), 1e-5)


def test_l2gds_pull_by_hand():
    method = L2GD(p=1 - 1e-9, alpha=0.25, penalty=0.5)
    fed = small.federation()
    state = method.start(fed)
    rng = torch.Generator().manual_seed(0)
    for name, value in state.personal.items():
        state.personal[name] = torch.randn(value.shape, generator=rng, dtype=value.dtype)
    before = small.copied(state)
    clients = np.array([[0, 2, 3]])
    method.round(fed, state, clients)
    for name, value in state.personal.items():
        old = before[f"personal.{name}"][0, clients[0]]
        expected = old - 0.125 / method.p * (old - old.mean(0))
        torch.testing.assert_close(value[0, clients[0]], expected)
        assert torch.equal(value[0, 1], before[f"personal.{name}"][0, 1])


def test_l2gd_trains_in_its_share_of_the_rounds():
    method, fed = L2GD(p=0.7), small.federation("linear", seeds=range(4))
    state = method.start(fed)
    trained = 0
    for _ in range(40):
        before = {name: value.clone() for name, value in state.personal.items()}
        method.round(fed, state, np.tile(EVERYONE, (4, 1)))
        means = [
            torch.stack([v.mean(1).flatten(1).sum(1) for v in values.values()])
            for values in (before, state.personal)
        ]
        trained += int((~torch.isclose(*means, rtol=1e-9)).any(0).sum())
    # 160 coins: Hoeffding's inequality, probability of a failure below 1e-4.
    assert abs(trained / 160 - 0.3) < math.sqrt(math.log(2e4) / 320)


@pytest.mark.parametrize("variant", ["fo", "hf"])
@pytest.mark.parametrize("client", [0, 1])
def test_perfedavg_by_hand_on_a_quadratic(variant, client):
    data = small.data("real")
    network = models.Model(torch.nn.Flatten(), torch.nn.Linear(5, 1, bias=False))
    sgd = SGD(lr=0.1, batch_size=5)
    fed = Federation(data, network, sgd=sgd, dtype="float64")
    inner, share = 0.3, 0.45
    method = PerFedAvg(inner_lr=inner, support=share, variant=variant)
    state = method.start(fed)
    w = state.shared["head.weight"][0, 0].numpy().copy()
    method.round(fed, state, np.array([[client]]))
    size = small.SIZES[client]
    plan = schedule([size], [keyed(fed.seeds[0], "batches", 0, 0, client)], batch_size=5)
    for position, weight in zip(plan.position[0], plan.weight[0], strict=True):
        rows = data.train[client][position[weight]]
        cut = min(round(share * len(rows)), len(rows) - 1)
        parts = [(data.x[part].astype(float), data.y[part]) for part in (rows[:cut], rows[cut:])]
        hessians = [x.T @ x / len(x) for x, _ in parts]
        slopes = [x.T @ y / len(x) for x, y in parts]
        adapted = w - inner * (hessians[0] @ w - slopes[0])
        direction = hessians[1] @ adapted - slopes[1]
        if variant == "hf":
            direction = direction - inner * hessians[0] @ direction
        w = w - sgd.lr * direction
    np.testing.assert_allclose(state.shared["head.weight"][0, 0].numpy(), w, rtol=1e-9)
    shared, own = method.models(fed, state, np.array([[client]]))
    assert shared == {}
    expected = fed.train(
        state.shared, {}, np.array([[client]]), (Phase(lr=inner),), round=1, purpose="adaptation"
    )
    assert_equal(own, expected)


def test_perfedavg_moves_a_client_with_a_single_sample():
    samples = small.data(sizes=(1, 2), tested=(1, 1))
    fed = small.federation(samples=samples)
    state = PerFedAvg().start(fed)
    before = small.copied(state)
    PerFedAvg().round(fed, state, np.array([[0]]))
    assert not torch.equal(state.shared["head.bias"], before["shared.head.bias"])


def test_fedrep_by_hand():
    hand, client = Hand(), 2
    method = FedRep(head_epochs=3, epochs=2)
    state = method.start(hand.fed)
    method.round(hand.fed, state, np.array([[client]]))
    params = hand.start()
    for names in [("head",)] * 3 + [("representation",)] * 2:
        gradient = hand.gradient(params, client)
        still = [name for name in params if not name.startswith(names)]
        params = moved(params, gradient | {k: torch.zeros_like(params[k]) for k in still}, -0.2)
    found = run(state.shared) | run(run(state.personal), client)
    assert_close({name: found[name] for name in params}, params)


def test_new_clients_begin_with_the_mean_head_of_the_round_before_if_asked_to():
    fed = small.federation()
    method, own = FedRep(first_head="mean"), FedRep()
    state, other = method.start(fed), own.start(fed)
    clients = np.array([[0, 2]])
    method.round(fed, state, clients)
    own.round(fed, other, clients)
    for name, value in state.personal.items():
        mean_head = value[0, [0, 2]].mean(0)
        assert torch.equal(value[0, [0, 2]], other.personal[name][0, [0, 2]])
        for newcomer in (1, 3):
            torch.testing.assert_close(value[0, newcomer], mean_head)
    before = small.copied(state)
    method.round(fed, state, np.array([[1, 3]]))
    for name, value in state.personal.items():  # those who have taken part keep their own
        assert torch.equal(value[0, [0, 2]], before[f"personal.{name}"][0, [0, 2]])


# pFL^MF


def test_pflmfs_gradients_are_those_through_u_v():
    method = PFLMF(rank=3)
    fed, base = small.federation(sgd=FULL, method=method), Hand()
    start = run(fed.start().shared)
    u = {name[2:]: value for name, value in start.items() if name != "v"}
    v = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    theta = {name: torch.tensordot(v, value, 1) for name, value in u.items()}
    shared = {f"U.{name}": value[None] for name, value in u.items()} | {"v": v[None]}
    for client in range(4):
        slope = base.gradient(theta, client)
        new = fed.train(shared, {}, np.array([[client]]), (Phase(),), round=0)
        of_v = sum((u[k] * slope[k]).flatten(1).sum(1) for k in u)
        torch.testing.assert_close(new["v"][0, 0], v - FULL.lr * of_v)
        for name, value in u.items():
            of_u = v.reshape(-1, *[1] * slope[name].ndim) * slope[name]
            torch.testing.assert_close(new[f"U.{name}"][0, 0], value - FULL.lr * of_u)


def test_a_round_of_pflmf_by_hand():
    epochs, lr_v, clients = 3, 0.05, [0, 3]
    method = PFLMF(rank=2, epochs=epochs, lr_v=lr_v)
    fed = small.federation("regression", sgd=FULL, method=method)
    state = method.start(fed)
    B, w = (state.shared[f"U.{k}"][0].numpy().copy() for k in ("representation.B.weight",
                                                               "head.weight"))  # fmt: skip
    start = state.personal["v"][0].numpy().copy()
    method.round(fed, state, np.array([clients]))
    gradients = []
    for client in clients:
        index = fed.data[0].train[client]
        x, y = fed.data[0].x[index].astype(float), fed.data[0].y[index]

        def slope(v, x=x, y=y):
            own_B, own_w = np.tensordot(v, B, 1), np.tensordot(v, w, 1)
            residual = (x @ own_B.T @ own_w[0] - y) / len(y)
            return np.outer(own_w[0], residual @ x), (residual @ x @ own_B.T)[None]

        v = start[client].copy()
        for _ in range(epochs):
            of_B, of_w = slope(v)
            v -= lr_v * np.array([(B[j] * of_B).sum() + (w[j] * of_w).sum() for j in range(2)])
        np.testing.assert_allclose(state.personal["v"][0, client].numpy(), v, rtol=1e-10)
        gradients.append([np.multiply.outer(v, part) for part in slope(v)])
    for name, old, of_u in (
        ("representation.B.weight", B, np.mean([g[0] for g in gradients], 0)),
        ("head.weight", w, np.mean([g[1] for g in gradients], 0)),
    ):
        np.testing.assert_allclose(state.shared[f"U.{name}"][0].numpy(), old - FULL.lr * of_u)


# FLUTE


def nc(head, present, m):
    """Return (51) with the number of classes m."""
    gram = head @ head.T
    frame = np.outer(present, present) * (np.eye(len(head)) - 1.0 / m) / np.sqrt(m - 1.0)
    return np.linalg.norm(gram / np.linalg.norm(gram) - frame)


def etf(classes, k, scale, seed=0):
    frame = np.linalg.qr(np.random.default_rng(seed).normal(size=(k, classes)))[0].T
    return scale * (np.eye(classes) - 1.0 / classes) @ frame


@pytest.mark.parametrize("local", [False, True])
def test_neural_collapse_is_zero_for_simplex_frames(local):
    head, present = etf(4, 6, 2.5), np.ones(4)
    if local:
        present = np.array([1.0, 0.0, 1.0, 1.0])
        head = np.zeros((4, 6))
        head[present > 0] = etf(3, 6, 0.1)
    found = neural_collapse(torch.tensor(head), torch.tensor(present), local)
    assert found.item() == pytest.approx(0.0, abs=1e-12)
    other = neural_collapse(torch.tensor(head), torch.tensor(present), not local)
    assert (other.item() < 1e-12) == (not local)


@pytest.mark.parametrize(("m", "s"), [(10, 2), (10, 9), (5, 3), (4, 4)])
def test_neural_collapse_of_few_classes_has_a_least_value(m, s):
    present = np.r_[np.ones(s), np.zeros(m - s)]
    best, alone, other = etf(m, m, 1.0), np.zeros((m, m)), np.random.default_rng(1).normal(size=m)
    best[s:] = 0.0
    alone[:s, :s] = etf(s, s, 1.0)
    values = [nc(head, present, m) for head in (best, alone, best + 0.1 * np.diag(other))]
    c = np.sqrt(s * (m * (m - 2) + s) / (m - 1)) / m
    assert values[0] == pytest.approx(1.0 - c)
    away = 1.0 + c**2 - 2.0 * np.sqrt((s - 1) / (m - 1))
    assert values[1] ** 2 == pytest.approx(away, abs=1e-12)
    assert values[2] > values[0]


def test_neural_collapse_by_hand_and_in_batches():
    rng = np.random.default_rng(4)
    heads = rng.normal(size=(2, 3, 5, 4))
    present = (rng.random((2, 3, 5)) < 0.6).astype(float)
    present[..., :2] = 1.0
    for local in (False, True):
        found = neural_collapse(torch.tensor(heads), torch.tensor(present), local).numpy()
        for place in np.ndindex(2, 3):
            m = present[place].sum() if local else 5
            assert found[place] == pytest.approx(nc(heads[place], present[place], m))


def test_flutes_objective_by_hand():
    hand, client = Hand(), 2
    lambdas = {"lambda1": 0.2, "lambda2": 0.3, "lambda3": 0.4}
    method = FLUTE(**lambdas, server_lr=0.0)
    state = method.start(hand.fed)
    method.round(hand.fed, state, np.array([[client]]))
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
    found = run(state.shared) | run(run(state.personal), client)
    expected = {name: p.detach() - FULL.lr * p.grad for name, p in params.items()}
    assert_close({name: found[name] for name in expected}, expected)


def test_flutes_server_step_by_hand():
    fed = small.federation()
    without = FLUTE(server_lr=0.0)
    state = without.start(fed)
    without.round(fed, state, np.array([[0, 3]]))
    before = state.personal["head.weight"].clone()
    FLUTE(server_lr=0.5).server(fed, state, np.array([[0, 3]]))
    after = state.personal["head.weight"]
    assert torch.equal(after[0, 1:3], before[0, 1:3])
    for client in (0, 3):
        labels = fed.data[0].y[fed.data[0].train[client]]
        present = (np.bincount(labels, minlength=small.CLASSES) > 0).astype(float)
        head = before[0, client].numpy()
        slope = np.zeros_like(head)
        for place in np.ndindex(*head.shape):
            ends = []
            for by in (1e-6, -1e-6):
                shifted = head.copy()
                shifted[place] += by
                ends.append(nc(shifted, present, small.CLASSES))
            slope[place] = (ends[0] - ends[1]) / 2e-6
        expected = head - 0.5 * slope
        np.testing.assert_allclose(after[0, client].numpy(), expected, rtol=1e-6, atol=1e-8)


def test_flute_star_trains_heads_after_the_joint_epoch_or_before():
    after, before = (FLUTE(head_epochs=4, flute_order=o) for o in ("joint_first", "head_first"))
    assert [phase.blocks for phase in after.phases()] == [(), ("head",)]
    assert [phase.blocks for phase in before.phases()] == [("head",), ()]
    assert after.phases()[1].epochs == 4


# The linear problem


@dataclass(frozen=True)
class LinearFedRep(FedRep):
    """Heads to convergence, one step of the representation, orthonormalized: the theorem's."""

    step_size: float = 0.1

    def phases(self):
        return (
            Phase(self.personal, steps=400, lr=0.6),
            Phase(frozen=self.personal, steps=1, lr=self.step_size),
        )

    def server(self, federation, state, clients):
        name = "representation.B.weight"
        q, _ = torch.linalg.qr(state.shared[name].mT)
        state.shared[name] = q.mT.contiguous()


@pytest.mark.parametrize("participants", [6, 3])
def test_linear_fedrep_is_that_of_the_linear_problem(participants):
    rng = np.random.default_rng(0)
    n, m, d, k, step = 6, 60, 5, 2, 0.2
    X = rng.normal(size=(n, m, d)).astype(np.float32)  # as federated data keep them
    truth = np.linalg.qr(rng.normal(size=(d, k)))[0]
    y = np.einsum("imd,dk,ik->im", X.astype(float), truth, rng.normal(size=(n, k)))
    start = np.linalg.qr(rng.normal(size=(d, k)))[0]
    places = np.arange(n * m).reshape(n, m)
    data = FederatedData(
        X.reshape(-1, d), y.ravel(), tuple(places), tuple(p[:0] for p in places), classes=1
    )
    network = models.linear(d, k).double()
    with torch.no_grad():
        network.representation.B.weight.copy_(torch.tensor(start.T))
    settings = {"sgd": SGD(lr=0.1, batch_size=m), "dtype": "float64", "seeds": [0]}
    fed = Federation(data, network, **settings)
    method = LinearFedRep(step_size=step)
    state = method.start(fed)
    B = start
    for _ in range(10):
        clients = fed.sample("participation", state.round, participants)
        chosen = ClientData.from_list([(X[i].astype(float), y[places[i] // m, places[i] % m])
                                       for i in clients[0]])  # fmt: skip
        method.round(fed, state, clients)
        trace = fedrep(chosen, k=k, rounds=1, start=B, step_size=step, rng=0)
        B = trace.state["B"]
        found = state.shared["representation.B.weight"][0].numpy().T
        assert distance(found, B) < 1e-7
        assert np.linalg.norm(found @ found.T - B @ B.T) < 1e-10
    assert distance(B, start) > 0.1  # else there would be nothing to compare


# Bad input


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (partial(FedAvg, epochs=0), "epochs must be at least 1"),
        (partial(FedAvg, ft="body"), "ft must be one of 'head', 'all', got 'body'"),
        (partial(FedAvg, ft_epochs=0), "ft_epochs must be at least 1"),
        (partial(FedProx, mu=-1.0), "mu must be at least 0"),
        (partial(Scaffold, global_lr=0.0), "global_lr must be greater than 0"),
        (partial(FedRep, head_epochs=-1), "head_epochs must be at least 0"),
        (partial(FedRep, first_head="other"), "first_head must be one of"),
        (partial(Ditto, penalty=-1.0), "penalty must be at least 0"),
        (partial(Ditto, personal_epochs=-1), "personal_epochs must be at least 0"),
        (partial(APFL, alpha=1.5), "alpha must be between 0 and 1"),
        (partial(L2GD, p=1.0), "p must be between 0 and 1"),
        (partial(L2GD, alpha=0.0), "alpha must be greater than 0"),
        (partial(L2GD, alpha=0.9, penalty=2.0), "alpha times penalty must be at most p"),
        (partial(PerFedAvg, support=1.0), "support must be between 0 and 1"),
        (partial(PerFedAvg, variant="so"), "variant must be one of"),
        (partial(FLUTE, lambda2=-1.0), "lambda2 must be at least 0"),
        (partial(FLUTE, flute_order="last"), "flute_order must be one of"),
        (partial(PFLMF, rank=0), "rank must be at least 1"),
        (partial(PFLMF, steps_U=0), "steps_U must be at least 1"),
        (partial(PFLMF, ft="head"), "ft must be None or 'all'"),
    ],
)
def test_bad_settings_are_refused_in_a_line(make, said):
    with pytest.raises(ValueError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "network", "said"),
    [
        (FedPer(personal=("hed",)), "mlp", "no block 'hed'"),
        (LGFedAvg(), "mlp", "no block 'representation.conv1'"),
        (PerFedSI(), "mlp", "model must take side information"),
        (APFL(), "blocks", "model must keep no running statistics"),
        (FLUTE(), "regression", "data must have classes"),
        (FLUTE(personal=()), "mlp", "personal must hold the heads"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_in_a_line(method, network, said):
    with pytest.raises(ValueError, match=said) as caught:
        method.start(small.federation(network))
    assert "\n" not in str(caught.value)


def test_perfedsi_needs_side_information():
    samples = small.data("images", sizes=(4, 4), tested=(1, 1))
    with pytest.raises(ValueError, match="data must have side information"):
        PerFedSI().start(small.federation("multiplied", samples))
