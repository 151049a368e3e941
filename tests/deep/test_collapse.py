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
