"""Clients' samples on a device, those of several seeds together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from linrep.deep.data import FederatedData
from linrep.deep.state import Clients


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
        each = list(data) if isinstance(data, Sequence) else [data]
        for one in each:
            if not isinstance(one, FederatedData):
                raise TypeError(f"data must be FederatedData, got {type(one).__name__}")
        each = each * runs if len(each) == 1 else each
        if len(each) != runs:
            raise ValueError(f"data must be one or one for each of {runs} seeds, got {len(each)}")
        first = each[0]
        kinds = {(one.n, one.classes, one.x.shape[1:], one.x.dtype, one.y.dtype) for one in each}
        if len(kinds) > 1 or len({one.side is None for one in each}) > 1:
            raise ValueError("data of several seeds must agree in clients, classes and shapes")
        self.data = each
        self.n, self.classes = first.n, first.classes
        # Partitions of the same samples share them, unless labels are permuted.
        keys = [(id(one.x), one.y.tobytes()) for one in each]
        different = dict(zip(keys, each, strict=True))
        ends = np.cumsum([len(one.x) for one in different.values()])
        begins = {
            key: end - len(one.x) for (key, one), end in zip(different.items(), ends, strict=True)
        }
        self.x = torch.tensor(np.concatenate([one.x for one in different.values()])).to(self.device)
        y = torch.tensor(np.concatenate([one.y for one in different.values()]))
        self.y = y.to(self.device, self.dtype if y.is_floating_point() else y.dtype)
        self._places = {
            split: [
                [np.asarray(index) + begins[key] for index in getattr(one, split)]
                for key, one in zip(keys, each, strict=True)
            ]
            for split in ("train", "test")
        }
        self.sizes = {
            split: np.array([[len(index) for index in own] for own in places])
            for split, places in self._places.items()
        }
        self._scale = None
        if first.mean is not None:
            shape = (-1, *[1] * (first.x.ndim - 2))
            moments = [
                torch.stack([torch.as_tensor(getattr(one, name)).reshape(shape) for one in each])
                for name in ("mean", "std")
            ]
            self._scale = tuple(value.to(self.device, self.dtype) for value in moments)
        sides = [np.zeros((self.n, 0)) if one.side is None else one.side for one in each]
        self.side = torch.as_tensor(np.stack(sides)).to(self.device, self.dtype)

    def class_counts(self, part: Clients) -> Tensor:
        """Return how many of each client's training samples are of each class, (S, c, classes)."""
        places, counts = self.pick("train", part)
        ones = F.one_hot(self.y[places].long(), self.classes) * real(places, counts).unsqueeze(2)
        return ones.sum(1).to(self.dtype).unflatten(0, part.shape)

    def pick(self, split: str, part: Clients) -> tuple[Tensor, NDArray[np.int64]]:
        """Return padded places (K, m >= 1) of the workers' samples, and how many each has."""
        own = [self._places[split][s][client] for s, client in workers(part)]
        counts = np.array([len(index) for index in own])
        places = np.zeros((len(own), counts.max(initial=1)), dtype=np.int64)
        for row, index in zip(places, own, strict=True):
            row[: len(index)] = index
        return torch.as_tensor(places, device=self.device), counts

    def see(self, places: Tensor, runs: Tensor, x: Tensor | None = None) -> Tensor:
        """Return what the network sees of samples (..., b)."""
        x = self.x[places] if x is None else x
        if self._scale is not None:
            mean, std = (value[runs].unsqueeze(runs.ndim) for value in self._scale)
            return (x.to(self.dtype) / 255.0 - mean) / std
        return x.to(self.dtype) if x.is_floating_point() else x


def real(places: Tensor, counts: NDArray[np.int64]) -> Tensor:
    """Tell samples from padding, (K, m)."""
    position = torch.arange(places.shape[1], device=places.device)
    return position < torch.as_tensor(counts, device=places.device).unsqueeze(1)


def workers(part: Clients) -> list[tuple[int, int]]:
    """Return run and client of the workers of a part, in order."""
    return [(s, int(client)) for s, row in enumerate(part) for client in row]
