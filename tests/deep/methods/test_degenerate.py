"""Methods without what sets them apart are simpler ones."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from linrep.deep import layers, models  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.small import EVERYONE, assert_close  # noqa: E402


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (deep.FedPer(personal=()), deep.FedAvg()),
        (deep.LGFedAvg(personal=()), deep.FedAvg()),
        (deep.FedRep(personal=(), head_epochs=3), deep.FedAvg()),
        (deep.FedAlt(), deep.FedRep(head_epochs=1)),
        (deep.FLUTE(lambda1=0.0, lambda2=0.0, lambda3=0.0, server_lr=0.0), deep.FedPer()),
    ],
)
def test_methods_without_what_sets_them_apart(one, other):
    found, expected = (small.rounds(each, small.federation(), count=3) for each in (one, other))
    assert_close(small.tensors(found), small.tensors(expected))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_apfl_between_averaging_and_local_training(alpha):
    method, fed = deep.APFL(alpha=alpha), small.federation()
    _, mixed = method.models(fed, small.rounds(method, fed), EVERYONE)
    local = small.rounds(deep.Local(), fed).personal
    averaged = small.rounds(deep.FedAvg(), fed).shared
    assert_close(mixed, local if alpha else averaged)


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


@pytest.mark.parametrize("name", sorted(deep.METHODS.keys() - {"perfedsi", "pflmf"}))
def test_a_frozen_layer_is_one_without_parameters(name, engine):
    settings = {
        "lg": {"personal": ("representation",)},
        "perfedavg": {"inner_lr": 0.3},
    }.get(name, {})
    method, found = deep.METHODS[name](**settings), []
    for frozen in (True, False):

        def network(frozen=frozen):
            return with_a_fixed_layer(frozen)

        fed = deep.Federation(
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
