"""Methods without what sets them apart are simpler ones."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep.deep import (  # noqa: E402
    APFL,
    FLUTE,
    METHODS,
    SGD,
    Ditto,
    FedAvg,
    Federation,
    FedPer,
    FedProx,
    FedRep,
    LGFedAvg,
    Local,
    PerFedSI,
    Scaffold,
    layers,
    models,
)
from linrep.deep.data import FederatedData  # noqa: E402
from linrep.deep.models.factored import Factored  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.small import EVERYONE, FULL, assert_close, assert_equal  # noqa: E402


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


def test_dittos_personalized_models_without_a_penalty_are_local_ones():
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


def test_perfedsi_with_an_embedding_of_zero_is_federated_averaging():
    plain = models.blocks(small.CLASSES, 1, 8, **small.BLOCKS)
    model = models.concatenated(small.CLASSES, 2, 1, 8, **small.BLOCKS)
    model.representation.features.load_state_dict(plain.representation.state_dict())
    width = plain.head.in_features
    last = model.representation.side[2].norm
    with torch.no_grad():
        model.head.bias.copy_(plain.head.bias)
        model.head.weight[:, :width] = plain.head.weight
        last.weight.zero_()
        last.bias.zero_()
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
    factored = Factored(base, 1)
    data = small.data()
    theta = Federation(data, base, sgd=FULL, dtype="float64").start().shared
    start = Federation(data, factored, sgd=FULL, dtype="float64").start().shared
    for name, value in theta.items():
        torch.testing.assert_close(start["v"][..., 0] * start[f"U.{name}"][:, 0], value)


class Fixed(torch.nn.Module):
    """A layer whose weights are no parameters."""

    def __init__(self, layer):
        super().__init__()
        self.values = [value.detach().clone().double() for value in layer.parameters()]

    def forward(self, x):
        weight, bias = (value.to(x.device) for value in self.values)
        return torch.nn.functional.linear(x, weight, bias)


def with_a_fixed_layer(frozen):
    """Return a network whose first layer is fixed, as frozen parameters or without any."""
    with layers.seeded(0):
        first, second, head = (
            torch.nn.Linear(*size) for size in ((5, 6), (6, 4), (4, small.CLASSES))
        )
    first = first.requires_grad_(False) if frozen else Fixed(first)
    body = torch.nn.Sequential(torch.nn.Flatten(), first, torch.nn.Tanh(), second, torch.nn.Tanh())
    return models.Model(body, head)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"perfedsi", "pflmf"}))
def test_a_frozen_layer_is_one_without_parameters(name, engine):
    settings = {
        "lg": {"personal": ("representation",)},
        "perfedavg": {"inner_lr": 0.3},
    }.get(name, {})
    method, found = METHODS[name](**settings), []
    for frozen in (True, False):

        def network(frozen=frozen):
            return with_a_fixed_layer(frozen)

        fed = Federation(
            small.data(), method.network(network), sgd=small.FAST, dtype="float64",
            device=small.DEVICE,
        )  # fmt: skip
        state = small.rounds(method, fed, count=3)
        judged = fed.evaluate(*method.models(fed, state, EVERYONE), EVERYONE)
        found.append((small.tensors(state), judged))
    (one, one_judged), (other, other_judged) = found
    assert_close({key: one[key] for key in other}, other)
    for key, value in one_judged.items():
        np.testing.assert_allclose(value, other_judged[key], rtol=1e-9)
