"""Neural collapse of heads."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep.deep import neural_collapse  # noqa: E402
from tests.deep.methods.hand import nc  # noqa: E402


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
