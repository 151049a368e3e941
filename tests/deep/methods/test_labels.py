"""Real labels and vectors with every method: trained on, or refused in a line before a round."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from linrep.deep import METHODS, models  # noqa: E402
from linrep.deep.data import FederatedData  # noqa: E402
from tests.deep import small  # noqa: E402

NEED_CLASSES = {"fedrod": "FedRoD", "fedas": "FedAS", "pfedfda": "PFedFDA", "flute": "FLUTE"}
NEED_PARTS = {*NEED_CLASSES, "fedcp", "lg", "perfedsi"}


def regression():
    rng = np.random.default_rng(0)
    train, test = small.split()
    count = sum(small.SIZES) + sum(small.TESTED)
    x = rng.integers(256, size=(count, 1, 8, 8), dtype=np.uint8)
    return FederatedData(x, rng.normal(size=count), train, test, classes=1, side=small.SIDE)


@pytest.mark.parametrize("name", METHODS)
def test_real_labels_are_trained_on_or_refused(name):
    def network():
        if name == "perfedsi":
            return models.multiplied(1, 2, 1, 8, layer=1, **small.BLOCKS)
        return models.cnn(1, 1, 8, **small.CONVOLUTIONS)

    settings = {"model": network, "rounds": 2, "participation": 0.5, "lr": 0.001, "rng": 0}
    if name not in NEED_CLASSES:
        trace = deep.run(regression(), name, **settings)
        assert np.isfinite(trace["test_loss"]).all()
        return
    with pytest.raises(ValueError, match=f"data must have classes for {NEED_CLASSES[name]}"):
        deep.run(regression(), name, **settings)


class Headed(torch.nn.Module):
    """A network with a head, whose representation has another name."""

    def __init__(self):
        super().__init__()
        self.trunk, self.head = torch.nn.Linear(5, 4), torch.nn.Linear(4, small.CLASSES)

    def forward(self, x):
        return self.head(self.trunk(x).relu())


@pytest.mark.parametrize("name", sorted(METHODS.keys() - NEED_PARTS))
def test_networks_without_a_representation_are_trained(name):
    settings = {"model": Headed, "rounds": 1, "participation": 0.5, "lr": 0.01, "rng": 0}
    assert np.isfinite(deep.run(small.data(), name, **settings)["test_loss"]).all()
