import dataclasses
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions import (
    affine_shifts,
    alphabets,
    dirichlet,
    hold_out,
    log_normal,
    natural,
    partition,
    permuted_labels,
    shards,
    super_groups,
)


def dataset(counts, test_counts=None):
    """Samples that are told apart by their value."""
    y = np.repeat(np.arange(len(counts)), counts)
    y_test = np.repeat(np.arange(len(counts)), counts if test_counts is None else test_counts)
    x = np.arange(y.size + y_test.size, dtype=float)[:, None]
    return Dataset(x[: y.size], y, x[y.size :], y_test, classes=len(counts))


def places(data):
    return [part.tolist() for part in (*data.train, *data.test)]


def characters(alphabets=3, each=2, samples=20):
    """As Omniglot: characters of alphabets, equally many samples of each."""
    y = np.repeat(np.arange(alphabets * each), samples)
    return Dataset(np.arange(y.size, dtype=float)[:, None], y, owner=y // each)


def pictures(count=24, test_count=8, size=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (count + test_count, 2, size, size), dtype=np.uint8)
    y = np.arange(count + test_count) % 4
    return Dataset(x[:count], y[:count], x[count:], y[count:])


def written(sizes, test_sizes=()):
    """Samples of writers, one class or the other."""
    owner, owner_test = (np.repeat(np.arange(len(s)), s) for s in (sizes, test_sizes))
    x = np.arange(owner.size + owner_test.size, dtype=float)[:, None]
    return Dataset(
        x[: owner.size], np.arange(owner.size) % 2, x[owner.size :],
        np.arange(owner_test.size) % 2, owner=owner, owner_test=owner_test,
    )  # fmt: skip


def group_sizes(data):
    return np.bincount(data.groups)


def client_sizes(data):
    return data.sizes + [part.size for part in data.test]


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


COARSE = dataclasses.replace(dataset([30] * 6), coarse=np.array([0, 1, 2, 0, 1, 2]))
CASES = {
    "shards": lambda rng: shards(dataset([40] * 5), 5, 2, rng=rng),
    "dirichlet": lambda rng: dirichlet(dataset([40] * 5), 6, 0.3, rng=rng),
    "permuted_labels": lambda rng: permuted_labels(dataset([40] * 5), 6, 2, rng=rng),
    "super_groups": lambda rng: super_groups(dataset([40] * 5), 6, 2, rng=rng),
    "coarse": lambda rng: super_groups(COARSE, 6, rng=rng),
    "alphabets": lambda rng: alphabets(characters(), 6, 6, 2, rng=rng),
    "affine_shifts": lambda rng: affine_shifts(pictures(), 5, rng=rng),
    "log_normal": lambda rng: log_normal(dataset([200] * 5), 6, 2, smallest=10, rng=rng),
    "natural": lambda rng: natural(written([10, 20, 30, 40]), 3, rng=rng),
}


@pytest.mark.parametrize("case", CASES)
def test_the_seed_decides_the_split(case):
    first, again, other = (CASES[case](seed) for seed in (1, 1, 2))
    assert places(first) == places(again) != places(other)


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"affine_shifts"}))
def test_a_client_is_tested_on_classes_it_has_seen(case):
    data = CASES[case](3)
    for part, test in zip(data.train, data.test, strict=True):
        assert test.size
        assert set(data.y[test]) <= set(data.y[part])


@pytest.mark.parametrize(
    "case", ["dirichlet", "permuted_labels", "super_groups", "coarse", "log_normal", "natural"]
)
def test_a_share_of_each_client_is_for_training(case):
    data = CASES[case](4)
    share = 0.9 if case == "log_normal" else 0.75
    # Beyond rounding, training has more only where a client has too few samples of its classes.
    assert (data.sizes >= share * client_sizes(data) - 0.5).all()
    np.testing.assert_allclose(data.sizes.sum() / client_sizes(data).sum(), share, atol=0.05)


def test_a_partition_is_called_by_its_name():
    whole = dataset([40] * 5)
    direct = dirichlet(whole, 3, 0.5, train_share=0.5, rng=1)
    assert places(partition(whole, "dirichlet", 3, alpha=0.5, train_share=0.5, rng=1)) == places(
        direct
    )


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    n=st.integers(1, 10),
    alpha=st.sampled_from([1e-3, 0.1, 1.0, 1e3]),
    least=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_dirichlet_gives_every_sample_to_one_client_and_each_its_least(
    counts, n, alpha, least, seed
):
    whole = dataset(counts, [1] * len(counts))
    total = sum(counts) + len(counts)
    if n * least > total:
        with pytest.raises(ValueError, match=f"of {total} samples"):
            dirichlet(whole, n, alpha, min_samples=least, rng=seed)
        return
    data = dirichlet(whole, n, alpha, min_samples=least, rng=seed)
    assert sorted(chain(*places(data))) == list(range(total))
    assert client_sizes(data).min() >= least


def test_dirichlet_goes_from_one_class_a_client_to_all():
    whole = dataset([100] * 10, [0] * 10)
    few, many = (
        np.mean([np.unique(data.y[part]).size for part in data.train])
        for data in (dirichlet(whole, 10, alpha, rng=0) for alpha in (0.01, 100.0))
    )
    assert few < 3.0
    assert many == 10.0


def test_there_may_be_no_test_samples():
    for data in (
        shards(dataset([4, 4], [0, 0]), 2, 1, rng=0),
        dirichlet(dataset([20] * 3), 4, 1.0, train_share=1.0, rng=0),
    ):
        assert sum(part.size for part in data.test) == 0


def test_permuted_labels_are_one_permutation_in_each_group():
    whole = dataset([60] * 6)
    data = permuted_labels(whole, 9, 3, rng=0)
    assert group_sizes(data).tolist() == [3, 3, 3]
    assert sorted(chain(*places(data))) == list(range(720))
    maps = []
    for group in range(3):
        clients = np.flatnonzero(data.groups == group)
        own = np.concatenate([np.r_[data.train[c], data.test[c]] for c in clients])
        pairs = set(zip(whole.all_y[own].tolist(), data.y[own].tolist(), strict=True))
        assert len(pairs) == 6  # a function of the true class, and no two share a name
        assert {new for _, new in pairs} == set(range(6))
        maps.append(pairs)
    assert maps[0] != maps[1]


@pytest.mark.parametrize("whole", [dataset([40] * 7), COARSE], ids=["random", "coarse"])
def test_groups_share_no_class(whole):
    groups = 3 if whole.coarse is None else None
    data = super_groups(whole, 7, groups, rng=0)
    assert sorted(group_sizes(data)) == [2, 2, 3]
    seen = [set() for _ in range(3)]
    for client, part in enumerate(data.train):
        seen[data.groups[client]] |= set(data.y[part].tolist())
    assert set.union(*seen) == set(range(whole.classes))
    assert sum(map(len, seen)) == whole.classes
    if whole.coarse is not None:
        assert seen == [{0, 3}, {1, 4}, {2, 5}]


def test_groups_and_alphabets_without_samples_have_no_clients():
    kept = COARSE.restrict([0, 2, 5])  # nothing of group 1
    data = super_groups(kept, 3, rng=0)
    assert [set(data.y[part].tolist()) for part in data.train] == [{0}, {0}, {1, 2}]
    data = alphabets(characters().restrict([0, 4, 5]), 2, rng=0)
    assert [set(data.y[part].tolist()) for part in data.train] == [{0}, {1, 2}]


@pytest.mark.parametrize(("n", "train", "test"), [(3, 16, 4), (12, 4, 1), (30, 1, 1), (7, 4, 2)])
def test_alphabets_give_each_client_all_characters_of_one(n, train, test):
    data = alphabets(characters(), n, train, test, rng=0)
    for client in range(n):
        own = np.repeat([2 * data.groups[client], 2 * data.groups[client] + 1], [train, train])
        assert sorted(data.y[data.train[client]]) == own.tolist()
        counts = np.bincount(data.y[data.test[client]], minlength=6)
        assert counts[np.unique(own)].tolist() == [test, test]
        assert counts.sum() == 2 * test
    assert group_sizes(data).max() - group_sizes(data).min() <= 1


def test_images_are_rotated_and_sheared_clockwise_about_their_middle():
    whole = pictures()
    data = affine_shifts(whole, 6, rng=0)
    assert data.groups.tolist() == [0, 1, 2, 3, 0, 1]
    np.testing.assert_array_equal(data.side, np.eye(4)[data.groups])
    for client, (turns, degrees) in enumerate([(1, 3), (2, 6), (3, 9), (0, 0)]):
        own = np.r_[data.train[client], data.test[client]]
        slope = np.tan(np.deg2rad(degrees))
        for before, after in zip(whole.all_x[own], data.x[own], strict=True):
            expected = [
                ndimage.affine_transform(
                    np.rot90(channel.astype(float), turns, axes=(1, 0)),
                    [[1.0, 0.0], [slope, 1.0]],
                    offset=(0.0, -2.0 * slope),
                    order=1,
                    mode="grid-constant",
                )
                for channel in before
            ]
            np.testing.assert_allclose(after, expected, atol=0.51)


def test_shifts_keep_training_and_test_images_apart():
    data = affine_shifts(pictures(), 5, rng=0)
    assert sorted(np.concatenate(data.train)) == list(range(24))
    assert sorted(np.concatenate(data.test)) == list(range(24, 32))
    assert max(data.sizes) - min(data.sizes) <= 1


@given(
    n=st.integers(1, 12),
    per_client=st.integers(1, 4),
    smallest=st.integers(4, 30),
    seed=st.integers(0, 2**32),
)
def test_log_normal_sizes_have_a_least_and_are_shared_by_classes(n, per_client, smallest, seed):
    whole = dataset([10_000] * 4, [0] * 4)
    data = log_normal(whole, n, per_client, scale=0.5, smallest=smallest, rng=seed)
    for part, test in zip(data.train, data.test, strict=True):
        _, counts = np.unique(data.y[np.r_[part, test]], return_counts=True)
        assert counts.size == per_client
        assert np.unique(counts).size == 1
    assert client_sizes(data).min() >= smallest
    holders = np.zeros(4, int)
    for part in data.train:
        holders[np.unique(data.y[part])] += 1
    assert holders.max() - holders.min() <= 1


def test_log_normal_sizes_follow_the_law_above_its_least():
    whole = dataset([200_000], [0])
    sizes = client_sizes(log_normal(whole, 1000, 1, smallest=50, rng=0))
    # P(size > 5 + exp(4) | size >= 50) is a half over P(5 + exp(4 + Z) >= 50) = 0.577.
    share = np.mean(sizes > 5 + np.exp(4.0))
    assert abs(share - 0.5 / 0.5765) < 4.0 * np.sqrt(0.13 * 0.87 / 1000)


def test_owners_are_clients():
    data = natural(written([4, 2, 0, 6], [1, 5, 1, 2]), min_samples=5, rng=0)
    assert data.sizes.tolist() == [4, 2, 6]
    assert [part.size for part in data.test] == [1, 5, 2]
    assert sorted(chain(*places(data))) == [*range(18), 19, 20]
    assert natural(written([4, 2, 6], [1, 1, 1]), 2, min_samples=4, rng=0).sizes.tolist() == [4, 6]


def test_held_out_samples_are_training_samples():
    data = shards(dataset([24] * 4), 4, 2, rng=0)
    kept = hold_out(data, 0.25, rng=1)
    for before, train, test in zip(data.train, kept.train, kept.test, strict=True):
        assert sorted([*train, *test]) == sorted(before)
        assert len(test) == 6
        assert set(data.y[train]) == set(data.y[before])


def test_real_labels_are_held_out():
    clients = [(np.ones((12, 3)), np.arange(12.0), [], [])] * 2
    kept = hold_out(FederatedData.from_lists(clients, classes=1), 0.25, rng=0)
    assert [part.size for part in kept.test] == [3, 3]
