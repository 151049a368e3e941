"""Cuts of CFL's clusters where updates are zero, or their cosines tie."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep.deep import CFL  # noqa: E402

METHOD = CFL(eps1=100.0, eps2=0.0)


def cut(updates, method=METHOD):
    """Return the clusters after a cut, and the updates that are remembered."""
    update = torch.as_tensor(np.array(updates), dtype=torch.float32)
    cluster = torch.zeros(len(update), dtype=torch.int64)
    method._cut(cluster, update, cluster == 0)
    return cluster.numpy(), update.numpy()


def across(updates, second):
    """Return the largest cosine between the parts."""
    unit = np.array(updates) / np.maximum(np.linalg.norm(updates, axis=1, keepdims=True), 1e-30)
    return max(unit[i] @ unit[j] for i in np.flatnonzero(second) for j in np.flatnonzero(~second))


@pytest.mark.parametrize(
    "updates",
    [
        np.random.default_rng(0).normal(size=(6, 4)),
        [[1.0, 0.0], [-1.0, 0.1], [0.0, 0.0], [0.9, 0.1]],  # one client does not move
        [[0.0, 0.0], [2.0, 1.0]],
        [[1.0, 0.0], [1.0, 0.0]],  # two have one cut alone
        np.repeat(np.eye(3), 2, axis=0),  # three groups, each as far from the others
    ],
)
def test_the_largest_cosine_between_the_parts_is_least(updates):
    cluster, update = cut(updates)
    assert set(cluster) == {0, 1}
    cuts = [np.array(c) for c in itertools.product([False, True], repeat=len(cluster))]
    best = min(across(updates, c) for c in cuts if 0 < c.sum() < len(c))
    assert across(updates, cluster == 1) == pytest.approx(best, abs=1e-6)
    assert np.isnan(update).all()


def test_groups_that_tie_are_kept_whole():
    cluster, _ = cut(np.repeat(np.eye(3), 2, axis=0))
    assert (cluster[0::2] == cluster[1::2]).all()


@pytest.mark.parametrize("updates", [np.ones((4, 3)), np.eye(4), [[0.0, 0.0]] * 3 + [[1.0, 2.0]]])
def test_where_all_cosines_are_the_same_nothing_is_cut(updates):
    cluster, update = cut(updates)
    assert not cluster.any()
    np.testing.assert_array_equal(update, np.array(updates, dtype=np.float32))
