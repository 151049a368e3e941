"""Rounds of the methods that later papers compare with, step by step from their formulas."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.func import functional_call  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from linrep import deep  # noqa: E402
from linrep.deep import models  # noqa: E402
from linrep.deep.data import FederatedData  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.methods.hand import Hand, mean, moved, of, on_the_processor  # noqa: E402, F401
from tests.deep.small import CLASSES, EVERYONE, FULL, assert_close, assert_equal  # noqa: E402


def sgd_step(hand, value, params, names):
    """Return parameters after a step of FULL along the gradient of a function of them."""
    own = {name: value.detach().clone().requires_grad_() for name, value in params.items()}
    gradients = torch.autograd.grad(value(own), [own[name] for name in names])
    gradient = dict(zip(names, gradients, strict=True))
    return params | moved({name: params[name] for name in names}, gradient, -FULL.lr)


def samples(hand, client):
    index = hand.data.train[client]
    return torch.as_tensor(hand.data.x[index]).double(), torch.as_tensor(hand.data.y[index])


def representation(hand, params, x):
    own = {
        name.removeprefix("representation."): value
        for name, value in params.items()
        if name.startswith("representation.")
    }
    return functional_call(hand.fed.model.representation, own, (x,))


@pytest.mark.parametrize("kind", [deep.Local, deep.L2GD])
def test_everyone_takes_part(kind):
    settings = {"model": "mlp", "rounds": 4, "rng": 2}
    few, all_of_them, meant = (
        deep.run(small.data(), kind(**own), participation=share, **settings)
        for own, share in (({}, 0.25), ({"everyone": True}, 0.25), ({}, 1.0))
    )
    for name, value in meant.state.items():
        np.testing.assert_array_equal(all_of_them.state[name], value)
    assert all_of_them.settings["participants"] == 4
    np.testing.assert_array_equal(all_of_them["floats_up"], meant["floats_up"])
    np.testing.assert_array_equal(meant["floats_up"], 4 * few["floats_up"])


def test_fedmtl_pulls_to_the_mean_of_all():
    hand, penalty = Hand(), 0.3
    method = deep.FedMTL(penalty=penalty, epochs=2)
    state = method.start(hand.fed)
    models = [hand.start() for _ in small.SIZES]
    for round in range(2):
        middle = mean(models)
        method.round(hand.fed, state, np.array([0, 2]))
        for i in (0, 2):
            for _ in range(2):
                pull = {k: penalty * (models[i][k] - middle[k]) for k in middle}
                step = moved(models[i], hand.gradient(models[i], i), -FULL.lr)
                models[i] = moved(step, pull, -FULL.lr)
        for i, model in enumerate(models):
            assert_close(of(state.personal, i), model)
        assert state.round == round + 1
    assert_close(state.shared, mean(models))


def test_fedbabu_keeps_the_head():
    hand = Hand()
    state = small.rounds(deep.FedBABU(), hand.fed, count=1, participants=4)
    start = hand.start()
    body = [name for name in start if name.startswith("representation.")]
    clients = [moved(start, hand.gradient(start, i), -FULL.lr) for i in range(4)]
    expected = mean(clients) | {k: v for k, v in start.items() if k not in body}
    assert_close(state.shared, expected)


@pytest.mark.parametrize("client", range(4))
def test_fedrod_by_hand(client):
    method = deep.FedRoD()
    hand = Hand(method=method)
    state = small.rounds(method, hand.fed, 1, clients=[client])
    x, y = samples(hand, client)
    start = hand.start()
    counts = torch.bincount(y, minlength=CLASSES).double()

    def balanced(params):
        features = representation(hand, params, x)
        outputs = F.linear(features, params["head.shared.weight"], params["head.shared.bias"])
        weights = counts * outputs.exp()  # balanced softmax
        return -(weights / weights.sum(1, keepdim=True))[range(len(y)), y].log().mean()

    def empirical(params):
        features = representation(hand, start, x)
        outputs = sum(
            F.linear(features, own[f"{head}.weight"], own[f"{head}.bias"])
            for own, head in ((start, "head.shared"), (params, "head.own"))
        )
        return F.cross_entropy(outputs, y)

    own = ["head.own.weight", "head.own.bias"]
    expected = sgd_step(hand, balanced, start, [name for name in start if name not in own])
    expected |= {name: sgd_step(hand, empirical, start, own)[name] for name in own}
    assert_close(state.shared, {k: v for k, v in expected.items() if k not in own})
    assert_close(of(state.personal, client), {name: expected[name] for name in own})


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_fedcp_by_hand(penalty):
    method, client = deep.FedCP(penalty=penalty, epochs=2), 0
    hand = Hand(method=method)
    state = small.rounds(method, hand.fed, 1, clients=[client])
    x, y = samples(hand, client)
    start = params = hand.start()
    torch.testing.assert_close(start["head.context"], start["head.own.weight"].sum(0))

    def discrepancy(a, b):
        def kernel(u, v):
            return sum(torch.exp(-((u - v) ** 2).sum() / (2 * w)) for w in (10, 15, 20, 50))

        pairs = itertools.product(range(len(a)), repeat=2)
        return (
            sum(kernel(a[i], a[j]) + kernel(b[i], b[j]) - 2 * kernel(a[i], b[j]) for i, j in pairs)
            / len(a) ** 2
        )

    def value(own):
        h = representation(hand, own, x)
        v = start["head.context"]  # as the round began
        k = h.shape[1]
        policy = F.linear(h * v / v.norm(), own["head.policy.0.weight"], own["head.policy.0.bias"])
        policy = F.layer_norm(
            policy, (2 * k,), own["head.policy.1.weight"], own["head.policy.1.bias"]
        ).relu()
        r, s = policy[:, :k].exp(), policy[:, k:].exp()
        outputs = F.linear(h * r / (r + s), own["head.own.weight"], own["head.own.bias"])
        outputs = outputs + F.linear(
            h * s / (r + s), own["head.shared.weight"], own["head.shared.bias"]
        )
        found = F.cross_entropy(outputs, y)
        if penalty:
            found = found + penalty * discrepancy(h, representation(hand, start, x))
        return found

    for _ in range(2):
        still = ("head.shared", "head.context")
        moving = [name for name in params if not name.startswith(still)]
        params = sgd_step(hand, value, params, moving)
    own = {k: params.pop(k) for k in list(params) if k.startswith(("head.own", "head.context"))}
    own["head.context"] = own["head.own.weight"].sum(0)
    assert_close(of(state.personal, client), own, 1e-10)
    for name in ("weight", "bias"):  # the mean of the participants' heads, here of one
        params[f"head.shared.{name}"] = own[f"head.own.{name}"]
    assert_close(state.shared, params, 1e-10)


def test_cfl_without_cuts_is_federated_averaging():
    one = small.rounds(deep.CFL(eps1=0.0), small.federation())
    other = small.rounds(deep.FedAvg(), small.federation())
    for i in range(4):
        assert_close(of(one.personal, i), other.shared)
    assert not one.extra["cluster"].any()


def test_cfl_cuts_so_that_the_largest_cosine_between_the_parts_is_least():
    fed = small.federation(sgd=FULL)
    method = deep.CFL(eps1=100.0, eps2=0.0)
    state = small.rounds(method, fed, 1, clients=[0, 1, 2])
    assert not state.extra["cluster"].any()  # one has not taken part yet
    update = state.extra["update"].clone()
    before = state.own(EVERYONE)
    own = fed.train({}, before, EVERYONE, method.phases(), round=1)
    names = fed.parameters
    update = torch.cat([(own[k] - before[k]).flatten(1) for k in names], dim=1).numpy()
    method.round(fed, state, EVERYONE)
    found = state.extra["cluster"].numpy().copy()
    unit = update / np.linalg.norm(update, axis=1, keepdims=True)
    cosine = unit @ unit.T

    def across(second):
        return max(cosine[i, j] for i in range(4) for j in range(4) if second[i] and not second[j])

    cuts = [np.array(cut) for cut in itertools.product([False, True], repeat=4)]
    best = min(across(cut) for cut in cuts if 0 < cut.sum() < 4)
    assert across(found == 1) == pytest.approx(best, rel=1e-6)
    # The models were averaged before the cut, and go apart after it.
    method.round(fed, state, EVERYONE)
    first = state.personal["head.weight"]
    for i, j in itertools.combinations(range(4), 2):
        assert torch.equal(first[i], first[j]) == (found[i] == found[j])


def test_fedas_by_hand():
    hand = Hand()
    method = deep.FedAS(align_lr=0.3, epochs=1)
    state = small.rounds(method, hand.fed, 1, clients=[0, 2])
    own = [of({k: v.clone() for k, v in state.personal.items()}, i) for i in range(4)]
    server = dict(state.shared)
    method.round(hand.fed, state, np.array([0, 1]))
    body = [name for name in own[0] if name.startswith("representation.")]
    models, information = [], []
    for i in (0, 1):
        x, y = samples(hand, i)
        classes = y.unique().tolist()
        wanted = representation(hand, own[i], x)

        def align(params, x=x, y=y, classes=classes, wanted=wanted):
            features = representation(hand, params, x)
            return sum(
                F.mse_loss(features[y == c], wanted[y == c].mean(0).expand((y == c).sum(), -1))
                for c in classes
            )

        start = {name: server[name].clone().requires_grad_() for name in body}
        gradients = torch.autograd.grad(align(start), list(start.values()))
        aligned = {
            name: server[name] - 0.3 * each for name, each in zip(body, gradients, strict=True)
        }
        params = own[i] | aligned
        params = moved(params, hand.gradient(params, i), -FULL.lr)
        assert_close(of(state.personal, i), params, 1e-10)
        models.append({name: params[name] for name in body})
        gradient = hand.gradient(params, i)
        information.append(sum(float((value**2).sum()) for value in gradient.values()))
    assert_close(state.shared, mean(models, np.array(information)), 1e-10)


def test_fedas_weighs_evenly_where_no_client_has_information():
    samples = small.data()
    sure = FederatedData(samples.x, 0 * samples.y, samples.train, samples.test, classes=1)
    model = models.mlp(1, 5, hidden=(6,))  # of one class: losses and gradients are zero
    fed = deep.Federation(sure, model, sgd=FULL, dtype="float64")
    method = deep.FedAS(align_lr=0.3)
    state = method.start(fed)
    for round in range(2):
        method.round(fed, state, np.array([0, 2]) + round)
    for name, value in state.shared.items():
        torch.testing.assert_close(value, state.personal[name][[1, 3]].mean(0))


def gaussian(x, y, otherwise):
    """Return class means, those given of classes with two samples or fewer, and a covariance."""
    means = np.stack([
        x[y == c].mean(0) if (y == c).sum() > 2 else otherwise[c] for c in range(CLASSES)
    ])  # fmt: skip
    away = x - means[y]
    return means, away.T @ away / (len(x) - 1) + np.eye(x.shape[1])


def discriminant(means, covariance, prior, eps=1e-4):
    k = len(covariance)
    covariance = (1 - eps) * covariance + eps * np.trace(covariance) / k * np.eye(k)
    weight = np.stack([np.linalg.solve(covariance, mean) for mean in means])
    return weight, np.log(prior) - 0.5 * np.array(
        [m @ w for m, w in zip(means, weight, strict=True)]
    )


def frequencies(y, eps=1e-4):
    found = np.bincount(y, minlength=CLASSES) / len(y) + eps
    return found / found.sum()


def mixture(x, y, server):
    """Return the mixture of a client's Gaussian features with the server's, for the best β."""
    prior = frequencies(y)
    twice = np.flatnonzero(np.bincount(y, minlength=CLASSES)[y] > 1)
    order = twice[np.argsort(y[twice], kind="stable")]
    if not len(order):
        return server

    def mix(fit, beta):
        local = gaussian(x[fit], y[fit], server[0])
        return [beta * a + (1 - beta) * b for a, b in zip(local, server, strict=True)]

    def held_out(beta):
        total = 0.0
        for fit, rest in ((order[::2], order[1::2]), (order[1::2], order[::2])):
            weight, bias = discriminant(*mix(fit, beta), prior)
            outputs = torch.as_tensor(x[rest] @ weight.T + bias)
            total += float(F.cross_entropy(outputs, torch.as_tensor(y[rest])))
        return total

    return mix(slice(None), min(np.linspace(0, 1, 11), key=held_out))


def test_pfedfda_by_hand():
    hand = Hand()
    method = deep.PFedFDA()
    state = method.start(hand.fed)
    start = hand.start()
    names = [name for name in start if name.startswith("representation.")]
    server = [state.shared[f"gaussians.{name}"].numpy() for name in ("means", "covariance")]
    assert ((server[0] >= 0) & (server[0] < 1)).all()
    np.testing.assert_array_equal(server[1], np.eye(6))
    method.round(hand.fed, state, np.array([0, 2]))
    bodies, mixtures = [], []
    for i in (0, 2):
        x, y = samples(hand, i)
        weight, bias = discriminant(*server, frequencies(y.numpy()))
        params = start | {
            "head.weight": torch.as_tensor(weight),
            "head.bias": torch.as_tensor(bias),
        }
        after = moved(params, hand.gradient(params, i), -FULL.lr)
        bodies.append({name: after[name] for name in names})
        features = representation(hand, after, x).detach().numpy()
        mixtures.append(mixture(features, y.numpy(), server))
    shared = state.shared
    for name, values in zip(("means", "covariance"), zip(*mixtures, strict=True), strict=True):
        assert np.allclose(shared[f"gaussians.{name}"], np.mean(values, axis=0), rtol=1e-9)
    assert_close({name: shared[name] for name in names}, mean(bodies), 1e-10)


def test_pfedfdas_clients_are_judged_by_heads_of_the_shared_representation():
    hand = Hand()
    method = deep.PFedFDA()
    state = small.rounds(method, hand.fed, count=2)
    shared, own = method.models(hand.fed, state, EVERYONE)
    after = state.shared
    server = [after[f"gaussians.{name}"].numpy() for name in ("means", "covariance")]
    assert_equal(shared, {k: v for k, v in after.items() if k.startswith("representation.")})
    for i in range(4):
        x, y = samples(hand, i)
        features = representation(hand, after, x).numpy()
        head = discriminant(*mixture(features, y.numpy(), server), frequencies(y.numpy()))
        assert np.allclose(own["head.weight"][i], head[0], rtol=1e-9)
        assert np.allclose(own["head.bias"][i], head[1], rtol=1e-9)
