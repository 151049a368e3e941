"""Splits of a dataset among clients, each drawn once, without retries."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrep import _validation as check
from linrep._random import stream
from linrep.deep.data import Dataset, FederatedData


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

    Returns
    -------
    FederatedData

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
    train = _cut(dataset.y, holders, np.full(dataset.classes, size), rng)
    if len(dataset.y_test) == 0:
        return FederatedData.from_dataset(dataset, train, [[]] * n)
    counts = np.bincount(dataset.y_test, minlength=dataset.classes)
    used = quota > 0
    size = (counts[used] // quota[used]).min()
    if size == 0:
        raise ValueError(
            f"test samples cannot be split: a class has {quota.max()} shards, and one has "
            f"{counts[used].min()} test samples"
        )
    test = _cut(dataset.y_test, holders, np.full(dataset.classes, size), rng)
    return FederatedData.from_dataset(dataset, train, [part + len(dataset.y) for part in test])


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
    left = quota.copy()
    rows = np.empty((n, per_client), dtype=np.int64)
    for client in range(n):
        with np.errstate(divide="ignore"):
            # The largest of these are draws without replacement in proportion to `left`.
            keys = np.log(left) + rng.gumbel(size=left.size)
        keys[left == n - client] = np.inf  # due with every client from here on
        rows[client] = np.argsort(-keys, kind="stable")[:per_client]
        left[rows[client]] -= 1
    return rows


def _cut(y, holders, sizes, rng):
    """Return each client's samples: of every class in its row, as many as the class's size."""
    shuffled = rng.permutation(len(y))
    by_class = [shuffled[y[shuffled] == label] for label in range(len(sizes))]
    taken = np.zeros_like(sizes)
    parts = []
    for row in holders:
        parts.append(np.concatenate([by_class[c][taken[c] : taken[c] + sizes[c]] for c in row]))
        taken[row] += sizes[row]
    return parts
