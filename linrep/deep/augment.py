"""Functions for `augment` of a run: each draws from torch's generator, for every image anew."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def crop_and_flip(x: Tensor, padding: int = 4) -> Tensor:
    """Return images cut out at random from ones with a black margin, half of them mirrored."""
    count, channels, height, width = x.shape
    rows, columns = (
        torch.randint(2 * padding + 1, (count, 1)) + torch.arange(size) for size in (height, width)
    )
    mirrored = torch.rand(count, 1) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns).to(x.device)
    images, colours = torch.arange(count), torch.arange(channels)
    return F.pad(x, (padding,) * 4)[
        images[:, None, None, None], colours[None, :, None, None],
        rows.to(x.device)[:, None, :, None], columns[:, None, None, :],
    ]  # fmt: skip
