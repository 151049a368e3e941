"""The papers' splits of a dataset among clients: each is drawn once, without retries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from linrep._lib import validation as check
from linrep.deep.data import Dataset, FederatedData
from linrep.problems.random import stream

__all__ = [
    "affine_shifts",
    "alphabets",
    "dirichlet",
    "hold_out",
    "log_normal",
    "natural",
    "partition",
    "permuted_labels",
    "shards",
    "super_groups",
]

_FIXED = 5  # samples of a client beside those of the log-normal law
_SHIFTS = ((90, 3.0), (180, 6.0), (270, 9.0), (0, 0.0))  # degrees of rotation and shear, clockwise


def shards(dataset: Dataset, n: int, classes_per_client: int, *, rng: Any = None) -> FederatedData:
    """Cut the classes into shards of equal size, and give each client shards of different classes.

    The shards are the largest of which there are n times `classes_per_client`, so that of equal
    classes all samples are used if they divide. A class has as many shards of test samples as of
    training samples, and a client gets one with each of its shards.

    Parameters
    ----------
    dataset : Dataset
        All samples; if it has no test samples, the clients have none.
    n : int
        Number of clients.
    classes_per_client : int
        Number of classes of each client, S.
    rng : Generator or seed
        Of the split.

    Notes
    -----
    FedRep, appendix A.2: CIFAR's training images make Sn shards of 50000 / (Sn) images of one
    class. Each class is drawn in proportion to its shards that are left, except that one with as
    many shards as there are clients left must be taken; this never fails.
    """
    n = check.integer("n", n, minimum=1)
    per_client = check.integer(
        "classes_per_client", classes_per_client, minimum=1, maximum=dataset.classes
    )
    rng = stream(rng, "deep.partition")
    counts = np.bincount(dataset.y, minlength=dataset.classes)
    size, quota = _shard_quota(counts, n, per_client, rng)
    holders = _deal(quota, n, per_client, rng)
    train = _cut(dataset.y, holders, np.full(n, size), rng)
    if dataset.y_test.size == 0:
        return FederatedData.from_dataset(dataset, train, np.empty((n, 0), dtype=np.int64))
    counts = np.bincount(dataset.y_test, minlength=dataset.classes)[quota > 0]
    size = (counts // quota[quota > 0]).min()
    if size == 0:
        raise ValueError(
            f"test samples cannot be split: a class has {quota.max()} shards, and one has "
            f"{counts.min()} test samples"
        )
    test = _cut(dataset.y_test, holders, np.full(n, size), rng)
    return FederatedData.from_dataset(dataset, train, [part + dataset.y.size for part in test])


def dirichlet(
    dataset: Dataset,
    n: int,
    alpha: float,
    *,
    train_share: float = 0.75,
    min_samples: int = 1,
    rng: Any = None,
) -> FederatedData:
    """Divide each class among the clients in proportions from a Dirichlet law.

    Training and test samples of the dataset are put together, divided, and each client's samples
    are split again. A client short of samples gets them, one by one, from the client that has most.

    Parameters
    ----------
    dataset, n, rng
        As in :func:`shards`.
    alpha : float
        Concentration: the smaller, the fewer classes a client has.
    train_share : float
        Share of a client's samples that are for training, between 0 (excluded) and 1. One sample
        of each class always is, so that a client is tested on classes that it has seen.
    min_samples : int
        Least number of samples of a client.

    Notes
    -----
    pFL^MF, section 5, setups 1, 5 and 6: alpha of 1, 0.5 and 0.1.
    """
    alpha = check.real("alpha", alpha, above=0.0)
    least = check.integer("min_samples", min_samples, minimum=1)
    n = _clients(n, dataset, least)
    rng = stream(rng, "deep.partition")
    labels = dataset.all_y
    members = _members(labels, dataset.classes, rng)
    ends = rng.dirichlet(np.full(n, alpha), size=dataset.classes).cumsum(axis=1)
    ends[:, -1] = 1.0
    sizes = np.array([part.size for part in members])
    counts = np.diff(np.rint(ends * sizes[:, None]).astype(np.int64), axis=1, prepend=0)
    totals = counts.sum(axis=0)
    for client in np.flatnonzero(totals < least):
        while totals[client] < least:
            donor = totals.argmax()
            counts[counts[:, donor].argmax(), [donor, client]] += (-1, 1)
            totals[[donor, client]] += (-1, 1)
    pieces = [np.split(part, row.cumsum()[:-1]) for part, row in zip(members, counts, strict=True)]
    parts = [np.concatenate(piece) for piece in zip(*pieces, strict=True)]
    train, test = _split_each(parts, labels, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test)


def log_normal(
    dataset: Dataset,
    n: int,
    classes_per_client: int = 5,
    *,
    location: float = 4.0,
    scale: float = 1.0,
    smallest: int = 50,
    train_share: float = 0.9,
    rng: Any = None,
) -> FederatedData:
    """Give each client a few classes, and a number of samples that follows a log-normal law.

    Parameters
    ----------
    dataset, n, train_share, rng
        As in :func:`dirichlet`.
    classes_per_client : int
        Number of classes of each client, which share its samples equally. All classes are drawn
        equally often, one more or less.
    location, scale : float
        Mean and standard deviation of the logarithm of the number of samples, less 5.
    smallest : int
        Least number of samples: the law is conditioned on it.

    Notes
    -----
    FedRep, appendix A.2, follows Li et al. (2019): ten letters of FEMNIST, a few of them for
    each client (5 in their paper on FedProx), whose size is log-normal, plus 5. FedRep's 150
    clients have 50 samples or more, and 148 on average; these settings expect 143.
    """
    n = check.integer("n", n, minimum=1)
    per_client = check.integer(
        "classes_per_client", classes_per_client, minimum=1, maximum=dataset.classes
    )
    location, scale = check.real("location", location), check.real("scale", scale, above=0.0)
    least = check.integer("smallest", smallest, minimum=per_client)
    rng = stream(rng, "deep.partition")
    # The law above its least value, by its inverse: no draw is thrown away.
    below = ndtr((np.log(least - _FIXED) - location) / scale) if least > _FIXED else 0.0
    normal = ndtri(rng.uniform(below, 1.0, size=n))
    sizes = np.maximum(_FIXED + np.exp(location + scale * normal), least).astype(np.int64)
    quota = n * per_client // dataset.classes + np.zeros(dataset.classes, dtype=np.int64)
    more = rng.permutation(dataset.classes)[: n * per_client - quota.sum()]
    quota[more] += 1
    holders = _deal(quota, n, per_client, rng)
    labels = dataset.all_y
    each = -(-sizes // per_client)
    needed = np.bincount(holders.ravel(), np.repeat(each, per_client), dataset.classes)
    counts = np.bincount(labels, minlength=dataset.classes)
    short = np.argmax(needed - counts)
    if needed[short] > counts[short]:
        raise ValueError(
            f"class {short} must have {needed[short]:.0f} samples for its clients, it has "
            f"{counts[short]}: lower n, location or smallest"
        )
    train, test = _split_each(_cut(labels, holders, each, rng), labels, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test)


def permuted_labels(
    dataset: Dataset, n: int, groups: int, *, train_share: float = 0.75, rng: Any = None
) -> FederatedData:
    """Divide all samples evenly, and rename the classes in each group of clients.

    Parameters
    ----------
    dataset, n, train_share, rng
        As in :func:`dirichlet`.
    groups : int
        Number of groups, of n / groups clients, one more or less. Each has a permutation of the
        classes of its own, drawn at random.

    Notes
    -----
    pFL^MF, section 5, setup 3: 1000 clients in 10 groups, MNIST.
    """
    n = _clients(n, dataset)
    group = _blocks(n, check.integer("groups", groups, minimum=1, maximum=n))
    rng = stream(rng, "deep.partition")
    labels = dataset.all_y.copy()
    parts = np.array_split(rng.permutation(labels.size), n)
    renamed = rng.permuted(np.tile(np.arange(dataset.classes), (groups, 1)), axis=1)
    for client, part in enumerate(parts):
        labels[part] = renamed[group[client], labels[part]]
    train, test = _split_each(parts, labels, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test, y=labels, groups=group)


def super_groups(
    dataset: Dataset,
    n: int,
    groups: int | None = None,
    *,
    train_share: float = 0.75,
    rng: Any = None,
) -> FederatedData:
    """Cut the classes into groups, and give each client samples from one group.

    Parameters
    ----------
    dataset, n, train_share, rng
        As in :func:`dirichlet`.
    groups : int, optional
        Number of groups, of classes drawn at random and of n / groups clients, one more or less.
        By default the groups are the dataset's coarse classes, as CIFAR-100 has.

    Notes
    -----
    pFL^MF, section 5, setup 2: CIFAR-100, 20 groups of 5 classes, 500 clients.
    """
    n = check.integer("n", n, minimum=1)
    rng = stream(rng, "deep.partition")
    if groups is not None:
        most = min(n, dataset.classes)
        groups = check.integer("groups", groups, minimum=1, maximum=most)
        of_class = rng.permutation(_blocks(dataset.classes, groups))
    elif dataset.coarse is None:
        raise ValueError("groups must be given, since the classes come without coarse classes")
    else:
        of_class = dataset.coarse
    labels = dataset.all_y
    of_sample = np.unique(of_class[labels], return_inverse=True)[1]
    found = _at_most("groups", of_sample, n)
    group, parts = _blocks(n, found), []
    for number, members in enumerate(_members(of_sample, found, rng)):
        clients = np.count_nonzero(group == number)
        if members.size < clients:
            raise ValueError(
                f"group {number} must have a sample for each of its {clients} clients, it has "
                f"{members.size}"
            )
        parts += np.array_split(members, clients)
    train, test = _split_each(parts, labels, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test, groups=group)


def affine_shifts(dataset: Dataset, n: int, *, rng: Any = None) -> FederatedData:
    """Divide all images evenly, then rotate and shear them, in one of four ways for each client.

    Client i has shift i modulo 4: `groups` says which, and `side` the same as indicators, (n, 4).

    Parameters
    ----------
    dataset : Dataset
        Square images, uint8. Training and test images are divided separately.
    n, rng
        As in :func:`shards`.

    Notes
    -----
    PerFedSI, appendix D: rotations by 90, 180 and 270 degrees followed by shears of 3, 6 and 9
    degrees, both clockwise, and no shift. Here sheared rows are interpolated linearly about the
    middle of the image, with black outside.
    """
    n = check.integer("n", n, minimum=1, maximum=dataset.y.size)
    if dataset.x.dtype != np.uint8 or dataset.x.shape[2] != dataset.x.shape[3]:
        raise ValueError(
            f"dataset must hold square uint8 images, got {dataset.x.dtype} samples of shape "
            f"{dataset.x.shape[1:]}"
        )
    rng = stream(rng, "deep.partition")
    train = np.array_split(rng.permutation(dataset.y.size), n)
    test = np.array_split(dataset.y.size + rng.permutation(dataset.y_test.size), n)
    images = dataset.all_x.copy()
    shift = np.arange(n) % len(_SHIFTS)
    for client, parts in enumerate(zip(train, test, strict=True)):
        places = np.concatenate(parts)
        images[places] = _shifted(images[places], *_SHIFTS[shift[client]])
    return FederatedData.from_dataset(
        dataset, train, test, x=images, side=np.eye(len(_SHIFTS))[shift], groups=shift
    )


def natural(
    dataset: Dataset,
    n: int | None = None,
    *,
    min_samples: int = 1,
    train_share: float = 0.75,
    rng: Any = None,
) -> FederatedData:
    """Let each owner of samples be a client, in the order of the owners' numbers.

    Parameters
    ----------
    dataset : Dataset
        Samples with owners. Without test samples, those of each client are split.
    n : int, optional
        Number of clients, drawn at random from the owners with enough samples; by default all.
    min_samples : int
        Least number of samples of a client, training and test. Owners without a training sample
        are left out.
    train_share, rng
        As in :func:`dirichlet`, the share where there are no test samples.

    Notes
    -----
    FedRep, appendix A.2: 183 writers of Sent140 with 50 tweets or more. pFL^MF, section 5, setup
    4: writers of FEMNIST with 10 images or more.
    """
    least = check.integer("min_samples", min_samples, minimum=1)
    rng = stream(rng, "deep.partition")
    owner = _owners(dataset)
    trained = np.bincount(owner[: dataset.y.size], minlength=owner.max() + 1)
    clients = np.flatnonzero((np.bincount(owner) >= least) & (trained > 0))
    if clients.size == 0:
        raise ValueError(f"min_samples = {least} leaves no client, owners have fewer")
    if n is not None:
        n = check.integer("n", n, minimum=1, maximum=clients.size)
        clients = np.sort(rng.choice(clients, n, replace=False))
    members = _members(owner, owner.max() + 1, rng)
    parts = [members[client] for client in clients]
    if dataset.y_test.size:
        train = [part[part < dataset.y.size] for part in parts]
        test = [part[part >= dataset.y.size] for part in parts]
    else:
        train, test = _split_each(parts, dataset.y, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test)


def alphabets(
    dataset: Dataset,
    n: int,
    train_per_character: int = 16,
    test_per_character: int = 4,
    *,
    rng: Any = None,
) -> FederatedData:
    """Give each client an alphabet, and equally many samples of each of its characters.

    Parameters
    ----------
    dataset : Dataset
        Characters whose owner is their alphabet; training and test samples are put together.
    n : int
        Number of clients; an alphabet has n / (number of alphabets) of them, one more or less.
    train_per_character, test_per_character : int
        Number of a client's samples of each character.
    rng : Generator or seed
        Of the split.

    Notes
    -----
    PerFedSI, appendix D, table 2: with the 20 samples of each of Omniglot's characters, 16 and 4
    of 50 clients, 4 and 1 of 200, 1 and 1 of 500.
    """
    n = check.integer("n", n, minimum=1)
    sizes = [
        check.integer("train_per_character", train_per_character, minimum=1),
        check.integer("test_per_character", test_per_character, minimum=0),
    ]
    rng = stream(rng, "deep.partition")
    alphabet = np.unique(_owners(dataset), return_inverse=True)[1]
    labels = dataset.all_y
    group = _blocks(n, _at_most("alphabets", alphabet, n))
    train, test = [], []
    for number in range(group[-1] + 1):
        clients = np.count_nonzero(group == number)
        shares: list[list[np.ndarray]] = [[] for _ in range(2 * clients)]
        samples = rng.permutation(np.flatnonzero(alphabet == number))
        for character in np.unique(labels[samples]):
            members = samples[labels[samples] == character]
            if members.size < clients * sum(sizes):
                raise ValueError(
                    f"train_per_character + test_per_character must be at most "
                    f"{members.size // clients} with {clients} clients for an alphabet, since "
                    f"class {character} has {members.size} samples, got {sum(sizes)}"
                )
            pieces = np.split(members, np.cumsum(sizes * clients))
            for share, piece in zip(shares, pieces, strict=False):  # the last piece is left over
                share.append(piece)
        train += [np.concatenate(share) for share in shares[0::2]]
        test += [np.concatenate(share) for share in shares[1::2]]
    return FederatedData.from_dataset(dataset, train, test, groups=group)


_PARTITIONS = {
    function.__name__: function
    for function in (
        shards, dirichlet, permuted_labels, super_groups, alphabets, affine_shifts, log_normal,
        natural,
    )
}  # fmt: skip


def named(name: str) -> Callable[..., FederatedData]:
    """Return a partition by its name."""
    return _PARTITIONS[check.choice("partition", name, _PARTITIONS)]


def partition(dataset: Dataset, name: str, *args: Any, **settings: Any) -> FederatedData:
    """Call a partition by its name, as "shards".

    Parameters
    ----------
    dataset : Dataset
    name : str
    *args, **settings
        Of the partition, after the data set.
    """
    return named(name)(dataset, *args, **settings)


def hold_out(data: FederatedData, share: float = 0.25, *, rng: Any = None) -> FederatedData:
    """Split each client's training samples again, and leave its test samples out.

    What is chosen by the held-out samples, as a step size, has not seen those of the test. Images
    are scaled as before.

    Parameters
    ----------
    data : FederatedData
        Samples of the clients.
    share : float
        Share of a client's training samples that become its test samples, at least 0 and below 1;
        one sample of each class stays.
    rng : Generator or seed
        Of the split.
    """
    train_share = 1.0 - check.real("share", share, minimum=0.0, below=1.0)
    rng = stream(rng, "deep.hold_out")
    real = data.y.dtype.kind == "f"  # without classes of which a sample stays
    classes = np.zeros(len(data.y), dtype=np.int64) if real else data.y
    train, test = _split_each(data.train, classes, train_share, rng)
    return replace(data, train=tuple(train), test=tuple(test))


def _clients(n, dataset, least=1):
    """Return the number of clients, if there are enough samples for them."""
    total = dataset.y.size + dataset.y_test.size
    n = check.integer("n", n, minimum=1)
    if n * least > total:
        raise ValueError(
            f"n must be at most {total // least}, of {total} samples {least} or more for each "
            f"client, got {n}"
        )
    return n


def _owners(dataset):
    """Return the owner of each training and test sample."""
    if dataset.owner is None:
        raise ValueError("dataset must have an owner for each sample, it has none")
    return np.concatenate([dataset.owner, dataset.owner_test])


def _at_most(what, group, n):
    """Return the number of groups, if there is a client for each."""
    groups = int(group.max()) + 1
    if groups > n:
        raise ValueError(f"n must be at least {groups}, the number of {what}, got {n}")
    return groups


def _blocks(size, blocks):
    """Return the block of each of `size` things in a row, cut into blocks of about equal size."""
    return np.arange(size) * blocks // size


def _members(group, groups, rng):
    """Return the places of each group's members, in random order."""
    shuffled = rng.permutation(group.size)
    ordered = shuffled[np.argsort(group[shuffled], kind="stable")]
    return np.split(ordered, np.bincount(group, minlength=groups).cumsum()[:-1])


def _split_each(parts, labels, train_share, rng):
    """Split each client's samples: a share, and one of each class, is for training."""
    share = check.real("train_share", train_share, above=0.0, maximum=1.0)
    train, test = [], []
    for part in parts:
        part = rng.permutation(part)
        _, firsts = np.unique(labels[part], return_index=True)
        free = np.delete(part, firsts)
        tested = min(free.size, part.size - max(1, round(share * part.size)))
        test.append(free[:tested])
        train.append(np.concatenate([part[firsts], free[tested:]]))
    return train, test


def _shard_quota(counts, n, per_client, rng):
    """Return the size of a shard and the number of shards of each class, n * per_client in all."""
    sizes = np.arange(1, counts.max() + 1)
    possible = np.minimum(counts // sizes[:, None], n)  # a client has a class once
    enough = possible.sum(axis=1) >= n * per_client
    if not enough[0]:
        raise ValueError(
            f"n * classes_per_client = {n * per_client} shards cannot be cut: there are "
            f"{np.count_nonzero(counts)} classes of {counts[counts > 0].min()} to {counts.max()} "
            f"samples, of which a client has each at most once"
        )
    best = np.flatnonzero(enough)[-1]
    quota = possible[best]
    for _ in range(quota.sum() - n * per_client):
        quota[rng.choice(np.flatnonzero(quota == quota.max()))] -= 1
    return sizes[best], quota


def _deal(quota, n, per_client, rng):
    """Return n rows of per_client different classes, in which each class occurs quota times."""
    remaining = quota.copy()
    rows = np.empty((n, per_client), dtype=np.int64)
    for client in range(n):
        with np.errstate(divide="ignore"):
            # The largest of these are draws without replacement in proportion to `remaining`.
            keys = np.log(remaining) + rng.gumbel(size=remaining.size)
        keys[remaining == n - client] = np.inf  # due with every client from here on
        rows[client] = np.argsort(-keys, kind="stable")[:per_client]
        remaining[rows[client]] -= 1
    return rows


def _cut(labels, holders, sizes, rng):
    """Return each client's samples: of every class in its row, as many as the client's size."""
    members = _members(labels, labels.max() + 1, rng)
    taken = np.zeros(len(members), dtype=np.int64)
    parts = []
    for row, size in zip(holders, sizes, strict=True):
        parts.append(np.concatenate([members[c][taken[c] : taken[c] + size] for c in row]))
        taken[row] += size
    return parts


def _shifted(images, rotation, shear):
    """Rotate images clockwise by a multiple of 90 degrees, then shear them clockwise."""
    turned = np.rot90(images, -(rotation // 90), axes=(2, 3))
    height, width = turned.shape[2:]
    columns = np.arange(width)
    sheared = np.empty_like(turned, order="C")
    for row in range(height):
        # Above the middle a row moves to the right, so that what is upright leans clockwise.
        source = columns + np.tan(np.deg2rad(shear)) * (row - (height - 1) / 2.0)
        weights = np.maximum(0.0, 1.0 - np.abs(columns[:, None] - source)).astype(np.float32)
        sheared[:, :, row] = np.rint(turned[:, :, row].astype(np.float32) @ weights)
    return sheared


def __dir__():
    return sorted(__all__)
