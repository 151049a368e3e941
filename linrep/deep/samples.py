"""Clients' samples on a device, those of several seeds together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from linrep.deep.data import FederatedData
from linrep.deep.state import Clients


class Picked(NamedTuple):
    """Samples of K workers, (K, m >= 1) with padding, which is not real, and what each sees.

    Each worker has a count of samples, a run, and side information z.
    """

    places: Tensor
    counts: NDArray[np.int64]
    real: Tensor
    y: Tensor
    runs: Tensor
    z: Tensor


class Samples:
    """Clients' samples on a device, those of several seeds together."""

    def __init__(
        self,
        data: FederatedData | Sequence[FederatedData],
        runs: int,
        device: torch.device,
        dtype: torch.dtype,
    ):
        self.device, self.dtype = device, dtype
        self.data = each = _one_of_each(data, runs)
        self.n, self.classes = each[0].n, each[0].classes
        # Partitions of the same samples share them, unless labels are permuted.
        keys = [(id(one.x), one.y.tobytes()) for one in each]
        different = dict(zip(keys, each, strict=True))
        ends = np.cumsum([0, *(len(one.x) for one in different.values())])
        begins = dict(zip(different, ends, strict=False))
        x = torch.tensor(np.concatenate([one.x for one in different.values()]))
        self.x = x.to(device, dtype if x.is_floating_point() else x.dtype)
        y = torch.tensor(np.concatenate([one.y for one in different.values()]))
        self.y = y.to(device, dtype if y.is_floating_point() else y.dtype)
        self._places, self.sizes = {}, {}
        for split in ("train", "test"):
            self._places[split] = [
                [np.asarray(index) + begins[key] for index in getattr(one, split)]
                for key, one in zip(keys, each, strict=True)
            ]
            self.sizes[split] = np.array([[*map(len, run)] for run in self._places[split]])
        self._moments = None
        if each[0].mean is not None:
            shape = (len(each), -1, *[1] * (self.x.ndim - 2))
            moments = (np.stack([getattr(one, name) for one in each]) for name in ("mean", "std"))
            self._moments = [torch.tensor(m).reshape(shape).to(device, dtype) for m in moments]
        sides = [np.zeros((self.n, 0)) if one.side is None else one.side for one in each]
        self.side = torch.as_tensor(np.stack(sides)).to(device, dtype)

    def counts(self, split: str, part: Clients) -> NDArray[np.int64]:
        """Return how many samples clients have, (S, c)."""
        return np.take_along_axis(self.sizes[split], part, axis=1)

    def class_counts(self, part: Clients) -> Tensor:
        """Return how many of each client's training samples are of each class, (S, c, classes)."""
        picked = self.pick("train", part)
        ones = F.one_hot(picked.y.long(), self.classes) * picked.real.unsqueeze(2)
        return ones.sum(1).to(self.dtype).unflatten(0, part.shape)

    def present(self, part: Clients) -> Tensor:
        """Return 1 for the classes among each client's training samples, (S, c, classes)."""
        return (self.class_counts(part) > 0).to(self.dtype)

    def pick(self, split: str, part: Clients) -> Picked:
        """Return the samples of the workers of a part."""
        counts = self.counts(split, part).ravel()
        index = np.zeros((part.size, counts.max(initial=1)), dtype=np.int64)
        for row, count, (s, client) in zip(index, counts, workers(part), strict=True):
            row[:count] = self._places[split][s][client]
        places = torch.as_tensor(index, device=self.device)
        position = torch.arange(places.shape[1], device=self.device)
        real = position < torch.as_tensor(counts, device=self.device).unsqueeze(1)
        each = torch.as_tensor(workers(part), dtype=torch.int64, device=self.device)
        runs, clients = each.reshape(-1, 2).T
        return Picked(places, counts, real, self.y[places], runs, self.side[runs, clients])

    def see(self, places: Tensor, runs: Tensor, x: Tensor | None = None) -> Tensor:
        """Return what the network sees of samples (..., b)."""
        x = self.x[places] if x is None else x
        if self._moments is not None:
            mean, std = (value[runs].unsqueeze(runs.ndim) for value in self._moments)
            return (x.to(self.dtype) / 255.0 - mean) / std
        return x.to(self.dtype) if x.is_floating_point() else x


def _one_of_each(data, runs):
    """Return the data of each run, which must agree in what a network sees of them."""
    each = list(data) if isinstance(data, Sequence) else [data]
    for one in each:
        if not isinstance(one, FederatedData):
            raise TypeError(f"data must be FederatedData, got {type(one).__name__}")
    each = each * runs if len(each) == 1 else each
    if len(each) != runs:
        raise ValueError(f"data must be one or one for each of {runs} seeds, got {len(each)}")
    kinds = {(one.n, one.classes, one.x.shape[1:], one.x.dtype.kind, one.y.dtype) for one in each}
    if len(kinds) > 1 or len({one.side is None for one in each}) > 1:
        raise ValueError("data of several seeds must agree in clients, classes and shapes")
    return each


def workers(part: Clients) -> list[tuple[int, int]]:
    """Return run and client of the workers of a part, in order."""
    return [(s, int(client)) for s, row in enumerate(part) for client in row]
