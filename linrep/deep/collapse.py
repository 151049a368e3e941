"""Neural collapse of heads: how far they are from simplex equiangular tight frames."""

from __future__ import annotations

import torch
from torch import Tensor


def neural_collapse(head: Tensor, present: Tensor, local: bool = False) -> Tensor:
    """Return the distance of a head's Gram matrix from that of a collapsed one.

    || HH'/||HH'|| - uu' ∘ (I - 11'/m) / sqrt(m - 1) ||, with Frobenius norms: FLUTE, (51) and
    Observation B.3, where m is the number of all classes; Observation B.2 where it is the number
    of the client's own.

    With s < m own classes (51) cannot be 0: what it compares with is positive semidefinite, but its
    norm is only c = sqrt(s (m (m - 2) + s) / (m - 1)) / m. The least value, 1 - c, is that of a
    multiple of it; the frame of the s classes alone has sqrt(1 + c² - 2 sqrt((s - 1) / (m - 1))).

    Parameters
    ----------
    head : Tensor, shape (..., m, k)
        Weights of a linear head, a row for each class (the paper's H_i transposed).
    present : Tensor, shape (..., m)
        u: 1 for the classes of the client, 0 for the others.
    local : bool
        Count the client's classes only: "averaged local NC2" instead of "global NC2".
    """
    gram = head @ head.mT
    gram = gram / torch.linalg.matrix_norm(gram)[..., None, None]
    count = torch.full_like(present[..., 0], present.shape[-1])
    if local:
        count = present.sum(-1)
    count = count[..., None, None]
    identity = torch.eye(present.shape[-1], dtype=head.dtype, device=head.device)
    frame = (identity - 1.0 / count) / torch.sqrt((count - 1.0).clamp(min=1.0))
    frame = present.unsqueeze(-1) * present.unsqueeze(-2) * frame
    return torch.linalg.matrix_norm(gram - frame)
