"""Clients in groups, each with labels, classes or a shift of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrep._lib import validation as check
from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions._draws import at_most, blocks_of, count_clients, members_of, split_each
from linrep.problems.random import stream

_SHIFTS = ((90, 3.0), (180, 6.0), (270, 9.0), (0, 0.0))  # degrees of rotation and shear, clockwise


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

    Returns
    -------
    FederatedData
        Its labels are the permuted ones; `groups` says which client is in which group.

    Raises
    ------
    ValueError
        If there are fewer samples than clients, or fewer clients than groups.

    Notes
    -----
    pFL^MF, section 5, setup 3: 1000 clients in 10 groups, MNIST.
    """
    n = count_clients(n, dataset)
    group = blocks_of(n, check.integer("groups", groups, minimum=1, maximum=n))
    rng = stream(rng, "deep.partition")
    labels = dataset.all_y.copy()
    parts = np.array_split(rng.permutation(labels.size), n)
    renamed = rng.permuted(np.tile(np.arange(dataset.classes), (groups, 1)), axis=1)
    for client, part in enumerate(parts):
        labels[part] = renamed[group[client], labels[part]]
    train, test = split_each(parts, labels, train_share, rng)
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

    Returns
    -------
    FederatedData
        Its `groups` says which client is in which group.

    Raises
    ------
    ValueError
        If there are no coarse classes and no number of groups, more groups than clients or
        classes, or fewer samples than clients in a group.

    Notes
    -----
    pFL^MF, section 5, setup 2: CIFAR-100, 20 groups of 5 classes, 500 clients.
    """
    n = check.integer("n", n, minimum=1)
    rng = stream(rng, "deep.partition")
    if groups is not None:
        most = min(n, dataset.classes)
        groups = check.integer("groups", groups, minimum=1, maximum=most)
        of_class = rng.permutation(blocks_of(dataset.classes, groups))
    elif dataset.coarse is None:
        raise ValueError("groups must be given, since the classes come without coarse classes")
    else:
        of_class = dataset.coarse
    labels = dataset.all_y
    of_sample = np.unique(of_class[labels], return_inverse=True)[1]
    parts, group = _within(of_sample, n, rng)
    train, test = split_each(parts, labels, train_share, rng)
    return FederatedData.from_dataset(dataset, train, test, groups=group)


def _within(group, n, rng):
    """Divide the samples of each group evenly among its clients; return the groups of these too."""
    groups = at_most("groups", group, n)
    of_client = blocks_of(n, groups)
    parts = []
    for number, members in enumerate(members_of(group, groups, rng)):
        clients = np.count_nonzero(of_client == number)
        if members.size < clients:
            raise ValueError(
                f"group {number} must have a sample for each of its {clients} clients, it has "
                f"{members.size}"
            )
        parts += np.array_split(members, clients)
    return parts, of_client


def affine_shifts(dataset: Dataset, n: int, *, rng: Any = None) -> FederatedData:
    """Divide all images evenly, then rotate and shear them, in one of four ways for each client.

    Parameters
    ----------
    dataset : Dataset
        Square images, uint8. Training and test images are divided separately.
    n : int
        Number of clients; client i has shift i modulo 4.
    rng : Generator or seed
        Of the split.

    Returns
    -------
    FederatedData
        Its `groups` is the shift of each client, its `side` the same as indicators, shape (n, 4).

    Raises
    ------
    ValueError
        If samples are no square images, or fewer than clients.

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
