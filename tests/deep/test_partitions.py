import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.deep.data import Dataset
from linrep.deep.partitions import shards


def dataset(counts, test_counts=None):
    """Samples that are told apart by their value."""
    y = np.repeat(np.arange(len(counts)), counts)
    y_test = np.repeat(np.arange(len(counts)), counts if test_counts is None else test_counts)
    x = np.arange(y.size + y_test.size, dtype=float)[:, None]
    return Dataset(x[: y.size], y, x[y.size :], y_test, classes=len(counts))


def places(data):
    return [part.tolist() for part in (*data.train, *data.test)]


@given(
    counts=st.lists(st.integers(20, 40), min_size=1, max_size=6),
    n=st.integers(1, 8),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32),
)
def test_shards_are_equal_and_of_as_many_classes_as_asked(counts, n, share, seed):
    per_client = 1 + int(share * (len(counts) - 1))
    data = shards(dataset(counts), n, per_client, rng=seed)
    for part, test in zip(data.train, data.test, strict=True):
        labels, sizes = np.unique(data.y[part], return_counts=True)
        assert labels.size == per_client
        assert np.unique(sizes).size == 1
        test_labels, test_sizes = np.unique(data.y[test], return_counts=True)
        assert test_labels.tolist() == labels.tolist()
        assert np.unique(test_sizes).size == 1
        assert part.max() < sum(counts) <= test.min()
    assert np.unique(data.sizes).size == 1


@pytest.mark.parametrize(("n", "per_client"), [(10, 2), (10, 5), (5, 10), (20, 1)])
def test_shards_of_equal_classes_use_every_sample(n, per_client):
    data = shards(dataset([100] * 10), n, per_client, rng=0)
    assert (data.sizes == 1000 // n).all()
    assert sum(part.size for part in data.test) == 1000


def test_the_seed_of_shards_decides_the_split():
    first, again, other = (shards(dataset([40] * 5), 5, 2, rng=seed) for seed in (1, 1, 2))
    assert places(first) == places(again) != places(other)


def test_shards_without_test_samples():
    data = shards(dataset([4, 4], [0, 0]), 2, 1, rng=0)
    assert [part.size for part in data.test] == [0, 0]


@pytest.mark.parametrize(
    ("counts", "test_counts", "n", "per_client", "said"),
    [
        ([5, 5], [5, 5], 6, 2, "12 shards cannot be cut: there are 2 classes of 5 to 5 samples"),
        ([5, 0], [5, 0], 1, 2, "2 shards cannot be cut: there are 1 classes"),
        ([5, 5], [5, 5], 2, 3, "classes_per_client must be between 1 and 2"),
        ([5, 5], [5, 5], 0, 2, "n must be at least 1"),
        ([9, 9], [3, 9], 4, 2, "test samples cannot be split: a class has 4 shards"),
    ],
)
def test_shards_that_cannot_be_are_refused_in_one_line(counts, test_counts, n, per_client, said):
    with pytest.raises(ValueError, match=said) as caught:
        shards(dataset(counts, test_counts), n, per_client)
    assert "\n" not in str(caught.value)
