"""Networks, data and functions of one's own, beside plain torch."""

import copy
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from linrep import deep  # noqa: E402
from linrep.deep import SGD, Phase  # noqa: E402
from linrep.deep.augment import crop_and_flip  # noqa: E402
from tests.deep import small  # noqa: E402


class Usual(nn.Module):
    """A network as torchvision builds them: torch's layers, a dropout used twice, the head `fc`."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.hidden, self.drop, self.fc = nn.Linear(36, 8), nn.Dropout(0.2), nn.Linear(8, 3)
        self.late = nn.BatchNorm1d(8)

    def forward(self, x):
        x = torch.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        x = self.late(self.hidden(self.drop(x.flatten(1)))).relu()
        return self.fc(self.drop(x))


TWICE = (Phase(epochs=2),)


def trained(samples=None, network="mlp", phases=TWICE, **sgd):
    """Return what all clients have after a round."""
    fed = small.federation(network, samples, sgd=SGD(lr=0.1, momentum=0.5, batch_size=4, **sgd))
    return fed.train(fed.start().shared, {}, small.EVERYONE, phases, round=0)


# Steps


def test_an_augmentation_is_a_function_and_named_in_the_settings():
    found = SGD(lr=0.2, augment=partial(crop_and_flip, padding=2)).settings
    assert found["augment"] == "crop_and_flip(padding=2)"
    assert found["lr"] == 0.2
    assert "augment" not in SGD().settings


# Augmentation


def test_crops_are_windows_and_half_of_them_mirrored():
    torch.manual_seed(0)
    x = torch.arange(1, 1 + 3 * 5 * 7).reshape(1, 3, 5, 7).repeat(200, 1, 1, 1)
    padded = nn.functional.pad(x[0], (2,) * 4)
    windows = {}
    for row in range(5):
        for column in range(5):
            window = padded[:, row : row + 5, column : column + 7]
            windows[window.numpy().tobytes()] = (row, column, False)
            windows[window.flip(2).contiguous().numpy().tobytes()] = (row, column, True)
    seen = [windows[image.numpy().tobytes()] for image in crop_and_flip(x, padding=2)]
    assert len(set(seen)) > 35  # of fifty
    assert 70 < sum(mirrored for *_, mirrored in seen) < 130
    torch.testing.assert_close(crop_and_flip(x[:1], padding=0).sum(), x[:1].sum())


@pytest.mark.parametrize("network", ["cnn", "blocks"])
def test_augmentations_are_the_same_for_clients_together(network):
    samples = small.data("images")
    augment = partial(crop_and_flip, padding=1)
    loop, vmap = small.each_way(lambda: trained(samples, network, augment=augment))
    assert small.distance(loop, vmap) < 1e-11
    assert small.distance(loop, trained(samples, network)) > 1e-4


def test_augmented_features_are_not_computed_once():
    samples, phase = small.data("images"), (Phase(("head",)),)
    once = trained(samples, "cnn", phases=phase, augment=lambda x: x)
    cached = trained(samples, "cnn", phases=phase)
    assert small.distance(once, cached) < 1e-12
    drawn = trained(samples, "cnn", phases=phase, augment=partial(crop_and_flip, padding=1))
    assert small.distance(drawn, cached) > 1e-5


# Networks


@pytest.mark.parametrize("method", ["fedrep", "ditto"])
def test_torchs_layers_and_any_head_for_clients_together_or_not(method):
    samples = small.data("images")
    loop, vmap = small.each_way(
        lambda: deep.run(
            samples, method, model=Usual, head="fc", rounds=2, participation=1.0, batch_size=4,
            rng=0, dtype="float64", device=small.DEVICE,
        )
    )  # fmt: skip
    assert loop.state.keys() == vmap.state.keys()
    if method != "ditto":
        assert "shared.representation.norm.running_mean" in loop.state
    assert any(name.endswith("head.weight") for name in loop.state)
    for name, value in loop.state.items():
        np.testing.assert_allclose(value, vmap.state[name], rtol=1e-9, atol=1e-11)


def test_a_network_that_is_split_computes_what_it_did():
    whole = Usual().eval()
    parts = deep.models.split(copy.deepcopy(whole), "fc")
    x = torch.rand(2, 1, 8, 8)
    torch.testing.assert_close(parts(x), whole(x))
    assert parts.head.weight.equal(whole.fc.weight)
    nested = nn.Sequential(nn.Flatten(), nn.Sequential(nn.ReLU(), nn.Linear(64, 3)))
    assert isinstance(deep.models.split(nested, "1.1").head, nn.Linear)


def test_new_clients_fine_tune_the_same_head():
    samples = small.data("images")
    run = deep.run(samples, "fedper", model=Usual, head="fc", rounds=1, participation=1.0, rng=0)
    tuned = deep.fine_tune(samples, run, model=Usual, head="fc", epochs=1, rng=0)
    kept = "shared.representation.conv.weight"
    np.testing.assert_array_equal(tuned.state[kept], run.state[kept])


# Data


def test_tensors_are_taken_and_labels_in_a_column():
    y = torch.tensor([[0], [1], [1], [0]])  # as columns of files have them
    data = deep.FederatedData.from_lists([(torch.arange(12.0).reshape(4, 3), y, [], [])])
    np.testing.assert_array_equal(data.x, np.arange(12.0).reshape(4, 3))
    assert data.y.tolist() == [0, 1, 1, 0]


def test_images_with_transparency_have_four_channels():
    images = np.zeros((2, 8, 8, 4), np.uint8)
    assert deep.FederatedData.from_lists([(images, [0, 1], [], [])]).x.shape == (2, 4, 8, 8)
