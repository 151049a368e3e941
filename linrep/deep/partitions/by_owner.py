"""Clients that are the samples' owners, or that share what an owner has."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrep._lib import validation as check
from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions._draws import at_most, blocks_of, members_of, owners_of, split_each
from linrep.problems.random import stream


def natural(
    dataset: Dataset,
    n: int | None = None,
    *,
    min_samples: int = 1,
    train_share: float = 0.75,
    rng: Any = None,
) -> FederatedData:
    """Let each owner of samples be a client.

    Parameters
    ----------
    dataset : Dataset
        Samples with owners. Without test samples, those of each client are split.
    n : int, optional
        Number of clients, drawn at random from the owners with enough samples; by default all.
    min_samples : int
        Least number of samples of a client, training and test. Owners without a training sample
        are left out.
    train_share : float
        As in :func:`dirichlet`, where there are no test samples.
    rng : Generator or seed
        Of the clients and the split.

    Returns
    -------
    FederatedData
        Clients in the order of the owners' numbers.

    Raises
    ------
    ValueError
        If samples have no owners, or fewer than n have enough samples.

    Notes
    -----
    FedRep, appendix A.2: 183 writers of Sent140 with 50 tweets or more. pFL^MF, section 5, setup
    4: writers of FEMNIST with 10 images or more.
    """
    least = check.integer("min_samples", min_samples, minimum=1)
    rng = stream(rng, "deep.partition")
    owner = owners_of(dataset)
    trained = np.bincount(owner[: dataset.y.size], minlength=owner.max() + 1)
    clients = np.flatnonzero((np.bincount(owner) >= least) & (trained > 0))
    if clients.size == 0:
        raise ValueError(f"min_samples = {least} leaves no client, owners have fewer")
    if n is not None:
        n = check.integer("n", n, minimum=1, maximum=clients.size)
        clients = np.sort(rng.choice(clients, n, replace=False))
    members = members_of(owner, owner.max() + 1, rng)
    parts = [members[client] for client in clients]
    if dataset.y_test.size:
        train = [part[part < dataset.y.size] for part in parts]
        test = [part[part >= dataset.y.size] for part in parts]
    else:
        train, test = split_each(parts, dataset.y, train_share, rng)
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

    Returns
    -------
    FederatedData
        Its `groups` says which client has which alphabet, in the order of the owners' numbers.

    Raises
    ------
    ValueError
        If samples have no owners, there are fewer clients than alphabets, or a character has too
        few samples for all clients of its alphabet.

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
    alphabet = np.unique(owners_of(dataset), return_inverse=True)[1]
    labels = dataset.all_y
    group = blocks_of(n, at_most("alphabets", alphabet, n))
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
