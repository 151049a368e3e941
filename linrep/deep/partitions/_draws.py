"""Draws that several partitions share."""

from __future__ import annotations

import numpy as np

from linrep._lib import validation as check


def count_clients(n, dataset, least=1):
    """Return the number of clients, if there are enough samples for them."""
    total = dataset.y.size + dataset.y_test.size
    n = check.integer("n", n, minimum=1)
    if n * least > total:
        raise ValueError(
            f"n must be at most {total // least}, of {total} samples {least} or more for each "
            f"client, got {n}"
        )
    return n


def owners_of(dataset):
    """Return the owner of each training and test sample."""
    if dataset.owner is None:
        raise ValueError("dataset must have an owner for each sample, it has none")
    return np.concatenate([dataset.owner, dataset.owner_test])


def at_most(what, group, n):
    """Return the number of groups, if there is a client for each."""
    groups = int(group.max()) + 1
    if groups > n:
        raise ValueError(f"n must be at least {groups}, the number of {what}, got {n}")
    return groups


def blocks_of(size, blocks):
    """Return the block of each of `size` things in a row, cut into blocks of about equal size."""
    return np.arange(size) * blocks // size


def members_of(group, groups, rng):
    """Return the places of each group's members, in random order."""
    shuffled = rng.permutation(group.size)
    ordered = shuffled[np.argsort(group[shuffled], kind="stable")]
    return np.split(ordered, np.bincount(group, minlength=groups).cumsum()[:-1])


def split_each(parts, labels, train_share, rng):
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
