import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.func import functional_call, vmap  # noqa: E402

from linrep.deep.layers import (  # noqa: E402
    BatchNorm,
    Dropout,
    converted,
    per_batch,
    statistics,
    undropped,
)
from linrep.deep.models.text import LSTM, Embedding, Last  # noqa: E402

WORD = 2**64
keys = st.integers(-(2**63), 2**63 - 1)
salts = st.integers(0, 2**63 - 1)
seeds = st.integers(0, 2**32 - 1)


def normal(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def key(number):
    return torch.tensor(number, dtype=torch.int64)


# splitmix64, in Python's integers


def finalizer(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def splitmix64(seed, count):
    return [finalizer((seed + i * 0x9E3779B97F4A7C15) % WORD) for i in range(1, count + 1)]


def test_the_reference_is_splitmix64():
    # Outputs of the published generator for seed 1234567.
    assert splitmix64(1234567, 5) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(
    number=keys, salt=salts, rows=st.integers(0, 5), columns=st.integers(1, 7), p=st.floats(0, 0.99)
)
def test_dropout_keeps_what_splitmix64_says(number, salt, rows, columns, p):
    seed = finalizer(splitmix64(number % WORD, 1)[0] ^ salt)
    expected = [(word >> 11) / 2**53 >= p for word in splitmix64(seed, rows * columns)]
    found = undropped(key(number), salt, (rows, columns), p)
    assert found.shape == (rows, columns)
    assert found.flatten().tolist() == expected


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_cuda_keeps_what_the_cpu_keeps():
    numbers = key([0, -1, 2**63 - 1, -(2**63), 12345])
    at_once = vmap(lambda number: undropped(number, 7, (100, 30), 0.3))
    assert at_once(numbers.cuda()).cpu().equal(at_once(numbers))


def test_dropout_keeps_the_mean_and_scales_what_it_keeps():
    layer = Dropout(0.75)
    x = torch.ones(4, 10, dtype=torch.float64)
    dropped = layer(x)
    assert set(dropped.unique().tolist()) == {0.0, 4.0}
    assert layer.eval()(x) is x
    assert Dropout(0.0)(x) is x


@given(number=keys, b=st.integers(1, 4), more=st.integers(0, 3))
def test_dropouts_mask_knows_neither_dtype_nor_appended_samples(number, b, more):
    layer = Dropout(0.5)

    def dropped(x):
        layer.key = key(number)
        return layer(x)

    x = torch.ones(b + more, 2, 3)
    assert dropped(x)[:b].equal(dropped(x[:b]))
    assert dropped(x).double().equal(dropped(x.double()))


def test_a_dropout_that_is_used_twice_draws_twice():
    layer, x = Dropout(0.5), torch.ones(4, 50)
    first, second = layer(x), layer(x)
    assert not first.equal(second)
    layer.key = key(0)
    assert layer(x).equal(first)


def test_dropout_of_channels_keeps_or_drops_them_whole():
    layer = Dropout(0.5, channels=True)
    dropped = layer(torch.ones(20, 8, 3, 3)).flatten(2)
    assert (dropped == dropped[..., :1]).all()
    assert set(dropped.unique().tolist()) == {0.0, 2.0}


def test_dropouts_of_one_network_do_not_share_a_mask():
    x = torch.ones(5, 50)
    one, other = Dropout(0.5, salt=1), Dropout(0.5, salt=2)
    assert not one(x).equal(other(x))
    assert per_batch(nn.Sequential(one, other)) == {"key": ["0.key", "1.key"], "mask": []}
    same = converted(nn.Sequential(Dropout(0.5), nn.ReLU(), Dropout(0.5)))
    assert [same[0].salt, same[2].salt] == [0, 1]
    twice = converted(nn.Sequential(one, nn.ReLU(), one))
    state = dict.fromkeys(per_batch(twice)["key"], key(7))
    assert list(state) == ["0.key"]
    kept_twice = torch.func.functional_call(twice, state, (x,)) == 4.0
    assert 0.1 < kept_twice.float().mean() < 0.4  # each use has a mask of its own


# Batch normalization


@settings(max_examples=30)
@given(
    seed=seeds,
    b=st.integers(2, 5),
    axes=st.integers(0, 3),
    momentum=st.sampled_from([0.0, 0.1, 0.4]),
    masked=st.booleans(),
)
def test_batch_normalization_is_torchs(seed, b, axes, momentum, masked):
    kind = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[axes]
    theirs = nn.Sequential(kind(2, eps=1e-3, momentum=momentum)).double()
    with torch.no_grad():
        theirs[0].weight.copy_(normal([seed, 0], 2))
        theirs[0].running_var.copy_(normal([seed, 1], 2).exp())
    ours = converted(copy.deepcopy(theirs))
    assert isinstance(ours[0], BatchNorm)
    if masked:  # by a mask of all samples
        ours[0].mask = torch.ones(b).double()
    for step in range(2):
        x, direction = (3.0 + 2.0 * normal([seed, step, i], b, 2, *[2] * axes) for i in (2, 3))
        gradients = []
        for layer in (ours, theirs):
            leaf = x.clone().requires_grad_()
            (layer(leaf) * direction).sum().backward()
            gradients.append(leaf.grad)
        assert_near(*gradients)
        assert_near(ours[0].weight.grad, theirs[0].weight.grad)
        assert_near(ours[0].bias.grad, theirs[0].bias.grad)
        assert_near(ours(x), theirs(x))
        for name, value in statistics(ours).items():
            assert_near(value, theirs.get_buffer(name))
            assert not value.requires_grad
    assert_near(ours.eval()(x), theirs.eval()(x))


def assert_near(actual, expected):
    # Gradients divide by standard deviations, which two values can make small.
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-9)


@settings(max_examples=30)
@given(seed=seeds, real=st.lists(st.booleans(), min_size=1, max_size=6))
def test_padded_samples_count_for_nothing(seed, real):
    real = torch.tensor([*real, True])
    x = normal([seed, 0], len(real), 2, 3, 3)
    direction = normal([seed, 1], len(real), 2, 3, 3)
    x[~real] *= 100.0
    ours, theirs = BatchNorm(2).double(), BatchNorm(2).double()
    ours.mask = real.double()
    padded, alone = (tensor.clone().requires_grad_() for tensor in (x, x[real]))
    output, expected = ours(padded), theirs(alone)
    (output[real] * direction[real]).sum().backward()
    (expected * direction[real]).sum().backward()
    assert_near(output[real], expected)
    assert_near(padded.grad[real], alone.grad)
    assert (padded.grad[~real] == 0).all()
    for mine, its in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert_near(mine, its)


@pytest.mark.parametrize("real", [0.0, 1.0])
def test_batches_of_fewer_than_two_values_leave_the_running_averages(real):
    layer = BatchNorm(3).double()
    layer.mask = torch.tensor([0.0, real], dtype=torch.float64)
    before = copy.deepcopy(layer.state_dict())
    x = normal(0, 2, 3, 1, 1).requires_grad_()
    output = layer(x)
    output[1].sum().backward()
    assert output.isfinite().all()
    assert x.grad.isfinite().all()
    for name, value in layer.state_dict().items():
        assert value.equal(before[name])


def test_running_averages_appear_in_the_dict_and_not_in_the_network():
    model = nn.Sequential(nn.Conv2d(1, 2, 1), BatchNorm(2)).double()
    before = copy.deepcopy(model.state_dict())
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    functional_call(model, state, (normal(0, 4, 1, 2, 2),))
    assert not state["1.running_mean"].equal(before["1.running_mean"])
    assert not state["1.running_var"].equal(before["1.running_var"])
    for name, value in model.state_dict().items():
        assert value.equal(before[name])


def test_masks_and_keys_are_no_part_of_what_is_stored():
    model = nn.Sequential(Dropout(0.5), BatchNorm(2), Embedding(np.eye(2)))
    known = set(nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(2)).state_dict())
    assert set(model.state_dict()) == known
    assert list(statistics(model)) == ["1.running_mean", "1.running_var"]
    assert per_batch(model) == {"key": ["0.key"], "mask": ["1.mask"]}
    assert per_batch(model[1]) == {"key": [], "mask": ["mask"]}


# LSTM


@settings(max_examples=20)
@given(
    seed=seeds,
    b=st.integers(1, 3),
    length=st.integers(1, 5),
    inputs=st.integers(1, 4),
    hidden=st.integers(1, 4),
)
def test_lstm_is_torchs(seed, b, length, inputs, hidden):
    ours = LSTM(inputs, hidden).double()
    theirs = nn.LSTM(inputs, hidden, batch_first=True).double()
    theirs.load_state_dict(ours.state_dict())
    x, weights = normal([seed, 0], b, length, inputs), normal([seed, 1], b, length, hidden)
    found, expected = ours(x), theirs(x)[0]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for name, value in theirs.named_parameters():
        torch.testing.assert_close(
            ours.get_parameter(name).grad, value.grad, rtol=1e-12, atol=1e-12
        )


def test_embedding_looks_vectors_up():
    matrix = normal(0, 5, 3).float()
    tokens = torch.tensor([[0, 4], [2, 2]])
    layer = Embedding(matrix.numpy())
    assert layer(tokens).equal(nn.functional.embedding(tokens, matrix))
    assert Last()(layer(tokens)).equal(matrix[[4, 2]])
    assert list(layer.parameters()) == []


# Torch's own


def test_a_network_is_converted_with_its_mode_and_its_sharing():
    norm = nn.BatchNorm1d(3)
    model = nn.Sequential(
        nn.Linear(3, 3), norm, nn.Dropout(0.2), nn.Sequential(norm, nn.Dropout2d(0.1))
    )
    ours = converted(model.eval())
    assert not ours.training
    assert not ours[3][0].training
    assert ours[1] is ours[3][0]
    assert (ours[2].salt, ours[3][1].salt) == (0, 1)
    assert (ours[2].channels, ours[3][1].channels) == (False, True)
    assert per_batch(ours)["key"] == ["2.key", "3.1.key"]
    assert isinstance(converted(nn.Dropout(0.5)), Dropout)
    same = nn.Dropout(0.5)
    thrice = converted(nn.Sequential(same, nn.ReLU(), same, nn.Sequential(same)))
    assert isinstance(thrice[0], Dropout)
    assert thrice[0] is thrice[2] is thrice[3][0]


def test_what_has_no_equal_stays():
    for layer in (nn.AlphaDropout(0.1), nn.Dropout(1.0), nn.BatchNorm1d(1, affine=False)):
        assert converted(nn.Sequential(layer))[0] is layer
        assert type(layer).__module__.startswith("torch.")


def test_layers_say_how_they_were_made():
    model = nn.Sequential(Dropout(0.5, 3), BatchNorm(2), LSTM(1, 2), Embedding(np.eye(3)))
    for words in (
        "Dropout(p=0.5, salt=3)",
        "BatchNorm(2, eps",
        "LSTM(1, 2, batch",
        "(3, 3)",
    ):
        assert words in str(model)
