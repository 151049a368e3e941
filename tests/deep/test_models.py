import copy
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.func import functional_call  # noqa: E402

from linrep.deep import models  # noqa: E402
from linrep.deep.layers import per_batch, seeded  # noqa: E402
from linrep.deep.models.factored import Factored  # noqa: E402
from linrep.deep.models.side import ChannelMasks  # noqa: E402

VECTORS = np.random.default_rng(0).standard_normal((11, 6))
#: Small networks of every kind: name, shape of a sample, settings.
CASES = {
    "cnn": ((3, 16, 16), {"widths": (4, 5), "hidden": (7, 6)}),
    "cnn100": ((3, 16, 16), {"widths": (4, 5), "hidden": (7, 6)}),
    "cnn100-fc2": (
        (3, 16, 16),
        {"widths": (4, 5), "hidden": (7, 6), "dropout_after": "fc2"},
    ),
    "cnn4": ((1, 8, 8), {"widths": (4, 5), "hidden": (7,)}),
    "blocks": ((1, 16, 16), {"width": 6}),
    "concatenated": ((1, 16, 16), {"width": 6, "side": 5}),
    "multiplied": ((3, 16, 16), {"width": 6, "side": 4}),
    "mlp": ((1, 8, 8), {"hidden": (9, 8)}),
    "linear": ((7,), {"k": 3}),
    "lstm": ((5,), {"embedding": VECTORS, "hidden": 5}),
}
cases = pytest.mark.parametrize("case", CASES)


def made(case, seed=0, classes=4):
    shape, settings = CASES[case]
    with seeded(seed):
        return models.build(case.split("-")[0], shape, classes, **settings).double()


def factored(base, rank, seed=0):
    with seeded(seed):
        return Factored(base, rank)


def samples(case, *sizes):
    """Inputs of a network: samples and, where it takes it, the side information of each client."""
    shape, settings = CASES[case]
    rng = np.random.default_rng(1)
    if case == "lstm":
        return (torch.from_numpy(rng.integers(len(VECTORS), size=(*sizes, *shape))),)
    x = torch.from_numpy(rng.standard_normal((*sizes, *shape)))
    if "side" not in settings:
        return (x,)
    return x, torch.from_numpy(rng.standard_normal((*sizes[:-1], settings["side"])))


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def names(model):
    return [name for name, _ in model.representation.named_children()]


# All of them


@cases
def test_a_model_is_a_head_on_a_representation(case):
    model = made(case).eval()
    inputs = samples(case, 3)
    features = model.representation(*inputs)
    assert features.shape == (3, model.head.in_features)
    output = model(*inputs)
    assert output.shape == (3, 4)
    assert output.equal(model.head(features))
    assert model.side_information is (len(inputs) == 2)
    assert {name.split(".")[0] for name, _ in model.named_parameters()} == {
        "representation",
        "head",
    }


# Architectures


def test_cnn_is_flutes():
    model = models.cnn(10)
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    weights = {name: shape for name, shape in shapes.items() if name.endswith("weight")}
    assert weights == {
        "representation.conv1.weight": (64, 3, 5, 5),
        "representation.conv2.weight": (64, 64, 5, 5),
        "representation.fc1.weight": (120, 64 * 5 * 5),
        "representation.fc2.weight": (64, 120),
        "head.weight": (10, 64),
    }
    assert count(model) == (3 * 25 + 1) * 64 + (64 * 25 + 1) * 64 + 1601 * 120 + 121 * 64 + 65 * 10


def test_cnn100_is_flutes_with_dropout_where_it_is_asked_for():
    expected = (3 * 25 + 1) * 64 + (64 * 25 + 1) * 128 + 3201 * 256 + 257 * 128 + 129 * 100
    for place, neighbours in (("pool1", ("pool1", "conv2")), ("fc2", ("relu4", None))):
        model = models.cnn100(dropout_after=place)
        assert count(model) == expected
        assert model.representation.dropout.p == 0.6
        found = [*names(model), None]
        at = found.index("dropout")
        assert (found[at - 1], found[at + 1]) == neighbours


@pytest.mark.parametrize("size", [16, 17, 28, 32, 33])
def test_cnns_take_images_of_any_size(size):
    x = torch.zeros(2, 1, size, size)
    for make in (models.cnn, models.cnn4, models.blocks):
        assert make(5, 1, size)(x).shape == (2, 5)


def test_sizes_of_the_others():
    # McMahan et al.'s networks for MNIST, as they count them.
    assert count(models.mlp(10, 784)) == 199_210
    assert count(models.cnn4(10, 1, 28)) == 1_663_370
    assert names(models.mlp(10, 784)) == ["flatten", "fc1", "relu1", "fc2", "relu2"]
    # Four blocks of 64 channels; 256 features of images of 32 pixels, as PerFedSI states.
    assert models.blocks(1623, 1, 32).head.in_features == 256
    convolutions = (9 + 1) * 64 + 3 * (64 * 9 + 1) * 64
    assert count(models.blocks(1623, 1, 28)) == convolutions + 4 * 2 * 64 + 65 * 1623
    # PerFedSI's first layer for z has 576 outputs.
    side = models.concatenated(1623, 256).representation.side
    assert side[0].out_features == 576
    assert count(side) == 257 * 576 + (64 * 9 + 1) * 64 + 2 * 64
    text = models.lstm(VECTORS, hidden=7)
    assert names(text) == ["embedding", "lstm", "last", "fc1", "relu1"]
    assert count(text) == 4 * 7 * (6 + 7 + 2) + 8 * 10 + 11 * 2


def test_the_linear_network_is_linear():
    model = made("linear")
    (x,) = samples("linear", 3)
    weights = model.representation.B.weight, model.head.weight
    torch.testing.assert_close(model(x), x @ weights[0].T @ weights[1].T)
    assert count(model) == 7 * 3 + 3 * 4
    assert models.linear(7, 3).head.out_features == 1


# Side information


def test_with_a_zero_embedding_model_1_is_the_plain_one():
    model = made("concatenated")
    x, z = samples("concatenated", 5)
    plain = models.blocks(4, 1, 16, width=6).double()
    plain.representation.load_state_dict(model.representation.features.state_dict())
    features = plain.head.in_features
    plain.head.weight.data = model.head.weight.data[:, :features]
    plain.head.bias.data = model.head.bias.data
    assert not torch.allclose(model(x, z), plain(x))
    for parameter in model.representation.side.parameters():
        nn.init.zeros_(parameter)
    for mode in (True, False):
        # Sums over more columns may be rounded in another order.
        torch.testing.assert_close(model.train(mode)(x, z), plain.train(mode)(x))


def test_with_ones_model_2_is_the_plain_one():
    model, plain = made("multiplied"), models.blocks(4, 3, 16, width=6).double()
    parts = model.representation
    plain.representation.load_state_dict(parts.before.state_dict() | parts.after.state_dict())
    plain.head.load_state_dict(model.head.state_dict())
    x, _ = samples("multiplied", 5)
    assert model(x, torch.ones(4).double()).equal(plain(x))


def test_each_shift_selects_its_own_channels():
    masks = ChannelMasks(4, 64)(torch.eye(4))
    assert masks.equal(torch.eye(4).repeat_interleave(16, dim=1))
    assert ChannelMasks(4, 6)(torch.eye(4)).sum(0).tolist() == [1.0] * 6
    model = made("multiplied")
    x, _ = samples("multiplied", 5)
    z = torch.eye(4, dtype=torch.float64)[1]
    seen = []
    model.representation.after.register_forward_pre_hook(lambda _, inputs: seen.append(*inputs))
    model(x, z)
    (features,) = seen
    selected = ChannelMasks(4, 6)(z) == 1
    assert (features[:, ~selected] == 0).all()
    assert features[:, selected].equal(model.representation.before(x)[:, selected])


@pytest.mark.parametrize("case", ["concatenated", "multiplied"])
def test_side_information_is_of_the_client_or_of_each_sample(case):
    model = made(case)
    x, z = samples(case, 5)
    assert model(x, z).equal(model(x, z.expand(5, -1)))
    model.eval()
    other = -z
    mixed = model(x, torch.stack([z, other, z, other, other]))
    torch.testing.assert_close(mixed[[0, 2]], model(x[[0, 2]], z))
    torch.testing.assert_close(mixed[[1, 3, 4]], model(x[[1, 3, 4]], other))


# Factorization


@pytest.mark.parametrize("rank", [1, 3])
@cases
def test_gradients_go_through_u_times_v(case, rank):
    base = made(case)
    model = factored(base, rank, 1)
    model.v.data = torch.from_numpy(np.random.default_rng(3).standard_normal(rank))
    inputs = samples(case, 3)
    columns = {name.removeprefix("U."): u for name, u in model.named_parameters() if name != "v"}
    theta = {
        name: sum(model.v[j] * u[j] for j in range(rank)).detach().requires_grad_()
        for name, u in columns.items()
    }
    assert theta.keys() == dict(base.named_parameters()).keys()
    expected = functional_call(base, theta, inputs)
    output = model(*inputs)
    torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-12)
    (output**2).sum().backward()
    gradients = torch.autograd.grad((expected**2).sum(), list(theta.values()))
    by_v = 0.0
    for (name, u), gradient in zip(columns.items(), gradients, strict=True):
        by_u = torch.stack([model.v[j].detach() * gradient for j in range(rank)])
        torch.testing.assert_close(u.grad, by_u, rtol=1e-9, atol=1e-10, msg=name)
        by_v = by_v + torch.stack([(u[j].detach() * gradient).sum() for j in range(rank)])
    torch.testing.assert_close(model.v.grad, by_v, rtol=1e-9, atol=1e-10)


class Scale(nn.Module):
    """A layer that does not say how it starts anew."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))


def test_of_rank_one_the_factored_network_starts_as_its_base():
    for case in CASES:
        base = made(case)
        state = copy.deepcopy(base.state_dict())
        model = Factored(base, 1)
        theta = model.parameters_of_base()
        assert all(theta[name].equal(value) for name, value in base.named_parameters())
        assert all(value.equal(base.state_dict()[name]) for name, value in state.items())
        assert model.side_information is base.side_information
    Factored(nn.Sequential(Scale()), 1)


def test_the_factored_start_has_the_usual_scale():
    with seeded(0):
        base = models.build("blocks", (3, 16, 16), 10)
    model = factored(base, 9, 1)  # from the same seed, a column would be the base
    assert model.v.tolist() == pytest.approx([1 / 3] * 9)
    theta = model.parameters_of_base()
    torch.testing.assert_close(theta["representation.block1.norm.weight"], torch.ones(64))
    assert theta["representation.block1.norm.bias"].equal(torch.zeros(64))
    # Sums of nine independent uniform numbers over three: their variance is that of one of them.
    # 36,864 numbers estimate the ratio with a standard deviation below one in a hundred.
    for name in ("representation.block2.conv.weight", "representation.block3.conv.weight"):
        usual = base.get_parameter(name)
        assert (theta[name].var() / usual.var()).item() == pytest.approx(1.0, abs=0.06)
        columns = model.get_parameter(f"U.{name}").flatten(1)
        assert columns[0].equal(usual.flatten())
        assert torch.corrcoef(columns).fill_diagonal_(0).abs().max() < 6 / math.sqrt(36_864)


def test_factored_networks_train_and_evaluate_as_their_base():
    model = factored(made("blocks"), 2)
    (x,) = samples("blocks", 5)
    model(x)
    assert not model.U.representation.block1.norm.running_mean.equal(torch.zeros(6).double())
    stored = copy.deepcopy(model.state_dict())
    model.eval()(x)
    assert all(value.equal(stored[name]) for name, value in model.state_dict().items())
    assert set(per_batch(model)["mask"]) == {
        f"U.representation.block{number}.norm.mask" for number in range(1, 5)
    }
