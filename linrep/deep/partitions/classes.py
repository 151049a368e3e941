"""Clients with a few of the classes, or with unequal shares of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from linrep._lib import validation as check
from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions._draws import count_clients, members_of, split_each
from linrep.problems.random import stream

_FIXED = 5  # samples of a client beside those of the log-normal law


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

    Raises
    ------
    ValueError
        If there are too few classes or samples for shards of one training (and one test) sample.

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
    dataset : Dataset
        All samples.
    n : int
        Number of clients.
    alpha : float
        Concentration: the smaller, the fewer classes a client has.
    train_share : float
        Share of a client's samples that are for training, between 0 (excluded) and 1. One sample
        of each class always is, so that a client is tested on classes that it has seen.
    min_samples : int
        Least number of samples of a client.
    rng : Generator or seed
        Of the split.

    Raises
    ------
    ValueError
        If there are too few samples.

    Notes
    -----
    pFL^MF, section 5, setups 1, 5 and 6: alpha of 1, 0.5 and 0.1.
    """
    alpha = check.real("alpha", alpha, above=0.0)
    least = check.integer("min_samples", min_samples, minimum=1)
    n = count_clients(n, dataset, least)
    rng = stream(rng, "deep.partition")
    labels = dataset.all_y
    members = members_of(labels, dataset.classes, rng)
    ends = rng.dirichlet(np.full(n, alpha), size=dataset.classes).cumsum(axis=1)
    ends[:, -1] = 1.0
    sizes = np.array([part.size for part in members])
    counts = np.diff(np.rint(ends * sizes[:, None]).astype(np.int64), axis=1, prepend=0)
    _fill_up(counts, least)
    pieces = [np.split(part, row.cumsum()[:-1]) for part, row in zip(members, counts, strict=True)]
    parts = [np.concatenate(piece) for piece in zip(*pieces, strict=True)]
    train, test = split_each(parts, labels, train_share, rng)
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

    Raises
    ------
    ValueError
        If a class has too few samples for the clients that have it.

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
    train, test = split_each(_cut(labels, holders, each, rng), labels, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test)


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
    members = members_of(labels, labels.max() + 1, rng)
    taken = np.zeros(len(members), dtype=np.int64)
    parts = []
    for row, size in zip(holders, sizes, strict=True):
        parts.append(np.concatenate([members[c][taken[c] : taken[c] + size] for c in row]))
        taken[row] += size
    return parts


def _fill_up(counts, least):
    """Move samples to clients with fewer than `least`, from the one that has most, in place."""
    totals = counts.sum(axis=0)
    for client in np.flatnonzero(totals < least):
        while totals[client] < least:
            donor = totals.argmax()
            label = counts[:, donor].argmax()
            counts[label, [donor, client]] += (-1, 1)
            totals[[donor, client]] += (-1, 1)
