"""Rounds of ANIL and MAML on exact losses: the covariates have covariance I, labels no noise.

A client of model theta has the loss ||B w - theta||^2 / 2.
"""

from typing import NamedTuple

import numpy as np

#: By name: whether clients adapt B, too, and whether the outer gradient is through the inner step.
METHODS = {
    "FO-ANIL": (False, False),
    "ANIL": (False, True),
    "FO-MAML": (True, False),
    "MAML": (True, True),
}


class Setting(NamedTuple):
    """A start, what is to be found, and step sizes; models = heads target'."""

    start: np.ndarray
    target: np.ndarray
    heads: np.ndarray
    inner: float
    outer: float

    @property
    def models(self):
        """The clients' models, one a row."""
        return self.heads @ self.target.T

    @property
    def spread(self):
        """Mean of the heads' w w': its smallest eigenvalue is the diversity of the tasks."""
        return self.heads.T @ self.heads / len(self.heads)


def distance(B, target):
    """Return the sine of the largest principal angle."""
    frame = np.linalg.qr(B)[0]
    return np.linalg.norm(frame - target @ (target.T @ frame), 2)


def outer_gradients(B, w, models, inner, method="FO-ANIL"):
    """Return the mean gradients in B and w after one inner step of every client."""
    adapts, exact = METHODS[method]
    before = B @ w - models
    heads = w - inner * before @ B
    n = len(models)
    frames = np.tile(B, (n, 1, 1))
    if adapts:
        frames = frames - inner * before[:, :, None] * w
    after = (frames @ heads[..., None])[..., 0] - models
    back = (frames.mT @ after[..., None])[..., 0]
    in_B, in_w = after.T @ heads, back
    if exact:
        curved = back @ B.T
        if adapts:
            curved = curved + (heads @ w)[:, None] * after
            in_w = in_w - inner * np.sum(before * after, axis=1)[:, None] * heads
        in_B = in_B - inner * (before.T @ back + np.outer(curved.sum(axis=0), w))
        in_w = in_w - inner * curved @ B
    return in_B / n, in_w.mean(axis=0)


def frames(at, rounds, method="FO-ANIL"):
    """Return B before the first round and after each, from a head of zero."""
    B, w = at.start, np.zeros(at.start.shape[1])
    found = [B]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(rounds):
            in_B, in_w = outer_gradients(B, w, at.models, at.inner, method)
            B, w = B - at.outer * in_B, w - at.outer * in_w
            found.append(B)
    return np.array(found)


def distances(at, rounds, method="FO-ANIL"):
    """Return the distance before the first round and after each, infinite where a run diverges."""
    found = frames(at, rounds, method)
    return np.array([distance(B, at.target) if np.isfinite(B).all() else np.inf for B in found])


def draw(rng):
    """Return a random setting: inner B'B = I, and inner outer at most half of 1/largest spread."""
    d, k = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    heads = rng.standard_normal((3 * k, k))
    heads *= np.sqrt(len(heads)) / np.linalg.norm(heads, 2)
    target, other = (np.linalg.qr(rng.standard_normal((d, k)))[0] for _ in range(2))
    start = np.linalg.qr(target + rng.uniform(0.1, 1.5) * other)[0]
    inner = rng.uniform(1.0, 2.0)
    return Setting(start / np.sqrt(inner), target, heads, inner, rng.uniform(0.05, 0.5) / inner)
