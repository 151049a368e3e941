"""Clients' samples on a device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from linrep._lib import validation as check
from linrep.deep.data import FederatedData
from linrep.deep.state import Clients


class Picked(NamedTuple):
    """Samples of K workers, (K, m >= 1) with padding, which is not real, and what each sees.

    Each worker has a count of samples, and side information z.
    """

    places: Tensor
    counts: NDArray[np.int64]
    real: Tensor
    y: Tensor
    z: Tensor


class Samples:
    """Clients' samples on a device."""

    def __init__(self, data: FederatedData, device: torch.device, dtype: torch.dtype):
        self.data = check.instance("data", data, FederatedData)
        self.device, self.dtype = device, dtype
        self.n, self.classes = data.n, data.classes
        self.x, self.y = (
            each.to(device, dtype if each.is_floating_point() else each.dtype)
            for each in (torch.tensor(data.x), torch.tensor(data.y))
        )
        self.sizes = {k: np.array([*map(len, getattr(data, k))]) for k in ("train", "test")}
        self._moments = None
        if data.mean is not None and data.std is not None:
            moments = (torch.tensor(value)[:, None, None] for value in (data.mean, data.std))
            self._moments = [value.to(device, dtype) for value in moments]
        side = np.zeros((self.n, 0)) if data.side is None else data.side
        self.side = torch.as_tensor(side).to(device, dtype)

    def counts(self, split: str, part: Clients) -> NDArray[np.int64]:
        """Return how many samples clients have, (c,)."""
        return self.sizes[split][part]

    def class_counts(self, part: Clients) -> Tensor:
        """Return how many of each client's training samples are of each class, (c, classes)."""
        picked = self.pick("train", part)
        ones = F.one_hot(picked.y.long(), self.classes) * picked.real.unsqueeze(2)
        return ones.sum(1).to(self.dtype)

    def present(self, part: Clients) -> Tensor:
        """Return 1 for the classes among each client's training samples, (c, classes)."""
        return (self.class_counts(part) > 0).to(self.dtype)

    def pick(self, split: str, part: Clients) -> Picked:
        """Return the samples of the workers of a part."""
        counts = self.counts(split, part)
        index = np.zeros((len(part), counts.max(initial=1)), dtype=np.int64)
        for row, count, client in zip(index, counts, part, strict=True):
            row[:count] = getattr(self.data, split)[client]
        places = torch.as_tensor(index, device=self.device)
        position = torch.arange(places.shape[1], device=self.device)
        real = position < torch.as_tensor(counts, device=self.device).unsqueeze(1)
        return Picked(places, counts, real, self.y[places], self.side[part])

    def see(self, places: Tensor, x: Tensor | None = None) -> Tensor:
        """Return what the network sees of samples (..., b)."""
        x = self.x[places] if x is None else x
        if self._moments is not None:
            mean, std = self._moments
            return (x.to(self.dtype) / 255.0 - mean) / std
        return x.to(self.dtype) if x.is_floating_point() else x
