"""Which samples, and which clients, are held out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep.problems.random import RNGLike, stream


def held_out_samples(
    m: NDArray[np.int64], held_out: float | None, keep: int | None, rng: RNGLike
) -> NDArray[np.bool_]:
    """Return which samples are held out, client by client, as a mask of shape (N,).

    Parameters
    ----------
    m : ndarray of int, shape (n,)
        Samples of each client.
    held_out, keep, rng
        As :meth:`ClientData.split` takes them.
    """
    if (held_out is None) == (keep is None):
        raise ValueError("either held_out or keep must be given, and not both")
    if keep is not None:
        count = m - np.minimum(m, check.integer("keep", keep, minimum=1))
    else:
        count = np.minimum(_count(held_out, m), m - 1)  # one sample at least to learn from
    if not count.any():
        given = f"held_out={held_out}" if keep is None else f"keep={keep}"
        raise ValueError(f"{given} holds out no sample of clients with {m.min()} to {m.max()}")
    client = np.repeat(np.arange(m.size), m)
    order = np.lexsort((stream(rng, "split").random(client.size), client))
    rank = np.arange(client.size) - np.repeat(np.cumsum(m) - m, m)
    mask = np.zeros(client.size, dtype=bool)
    mask[order] = rank < count[client]
    return mask


def fold_of_samples(m: NDArray[np.int64], folds: int, rng: RNGLike) -> NDArray[np.int64]:
    """Return which fold each sample is held out in, shape (N,), -1 for a client's only sample.

    Parameters
    ----------
    m : ndarray of int, shape (n,)
        Samples of each client.
    folds : int
        Their number; as many of a client's samples are in each, and of all samples, up to one.
    rng : optional
        As :meth:`ClientData.folds` takes it.
    """
    folds = check.integer("folds", folds, minimum=2)
    shared = int(m[m > 1].sum())
    if shared < folds:
        raise ValueError(
            f"folds must be at most {shared}, the samples of clients that have more than one, "
            f"got {folds}"
        )
    rng = stream(rng, "split")
    fold, dealt = [], 0
    for count in m.tolist():
        fold.append((dealt + rng.permutation(count)) % folds if count > 1 else np.array([-1]))
        dealt += count if count > 1 else 0
    return np.concatenate(fold)


def new_clients(
    names: tuple[Hashable, ...],
    held_out: float | None,
    chosen: Iterable[Hashable] | None,
    rng: RNGLike,
) -> NDArray[np.bool_]:
    """Return which clients are held out, as a mask of shape (n,).

    Parameters
    ----------
    names : tuple
        Of all clients.
    held_out, chosen, rng
        As :meth:`ClientData.split_clients` takes them.
    """
    if (held_out is None) == (chosen is None):
        raise ValueError("either held_out or names must be given, and not both")
    mask = np.zeros(len(names), dtype=bool)
    if chosen is None:
        count = int(_count(held_out, np.array([len(names)]))[0])
        if not 0 < count < len(names):
            raise ValueError(
                f"held_out must leave clients on both sides, got {held_out} of {len(names)}"
            )
        mask[stream(rng, "split").choice(len(names), count, replace=False)] = True
        return mask
    places = {name: place for place, name in enumerate(names)}
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    for name in wanted:
        if name not in places:
            raise ValueError(f"names must be of clients, there is no client {name!r}")
        mask[places[name]] = True
    if not mask.any() or mask.all():
        raise ValueError(f"names must leave clients on both sides, got {len(wanted)} of them")
    return mask


def _count(held_out, sizes):
    """Return how many of each size a share, or a whole number, is."""
    if isinstance(held_out, int | np.integer) and not isinstance(held_out, bool):
        return np.full(sizes.shape, check.integer("held_out", held_out, minimum=1))
    share = check.real("held_out", held_out, above=0.0, below=1.0)
    return np.floor(share * sizes + 0.5).astype(np.int64)
