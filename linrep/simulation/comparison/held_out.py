"""Samples that every client holds out."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from linrep.problems.clients import ClientData

_SHARE = 0.3  # of a client's samples, where none is given


def parts(data: ClientData, keep: int | None, rng: Generator) -> tuple[ClientData, ClientData]:
    """Split every client's samples at random into those to learn from and those held out.

    Parameters
    ----------
    data : ClientData
    keep : int or None
        Samples of each client to learn from, or all it has; None for seven tenths, one at least.
    rng : Generator

    Returns
    -------
    train, test : ClientData
        All clients, with the truth, and those with samples held out, without. Each client's
        samples keep their order.

    Raises
    ------
    ValueError
        If nothing at all would be held out.
    """
    m = data.m
    count = np.floor(_SHARE * m + 0.5).astype(np.int64) if keep is None else m - keep
    count = np.clip(count, 0, m - 1)
    if not count.any():
        raise ValueError(f"no sample is held out of clients with {m.min()} to {m.max()} samples")
    client = np.repeat(np.arange(data.n), m)
    order = np.lexsort((rng.random(client.size), client))
    held = np.zeros(client.size, dtype=bool)
    held[order] = np.arange(client.size) - data.offsets[client] < count[client]
    return _part(data, ~held, data.truth), _part(data, held, None)


def _part(data, mask, truth):
    """Return the samples of a mask, of the clients that have any."""
    m = np.add.reduceat(mask, data.offsets[:-1], dtype=np.int64)
    there = np.flatnonzero(m)
    names = tuple(data.names[i] for i in there)
    return ClientData._keeping(
        X=data.X[mask],
        y=data.y[mask],
        offsets=np.append(0, np.cumsum(m[there])),
        names=names,
        truth=truth,
        rows=None if data.rows is None else data.rows[mask],
        index=None if data.index is None else data.index[mask],
        columns=data.columns,
    )
