"""Drawing clients' samples, given each one's regression vector."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep.kernels import designs
from linrep.problems.clients import ClientData
from linrep.problems.random import stream

DESIGNS = {
    "gaussian": designs.GAUSSIAN,
    "rademacher": designs.RADEMACHER,
    "uniform": designs.UNIFORM,
    "sphere": designs.SPHERE,
    "student_t": designs.STUDENT_T,
}


def draw_samples(
    theta: NDArray[np.float64],
    m: int | ArrayLike,
    *,
    noise: float,
    design: str = "gaussian",
    degrees_of_freedom: float = 5.0,
    rng,
):
    """Draw y = <theta_i, x> + noise for every client i, one client after the other.

    Parameters
    ----------
    theta : ndarray, shape (n, d)
        Regression vectors as rows.
    m : int or array_like of int, shape (n,)
        Samples per client, at least 1: one number for all, or one per client.
    noise, design, degrees_of_freedom, rng
        As for :class:`SharedRepresentation`.

    Returns
    -------
    X : ndarray, shape (N, d)
    y : ndarray, shape (N,)
    offsets : ndarray of int, shape (n + 1,)
    """
    n, d = theta.shape
    if np.ndim(m) == 0:
        m = check.integer("m", m, minimum=1)
        memory.require("the clients' samples", n * m * (d + 1), n=n, m=m, d=d)
        sizes = np.full(n, m)
    else:
        sizes = check.read_array("m", m)
        if sizes.shape != (n,) or sizes.dtype.kind not in "iu":
            raise ValueError(f"m must be an integer or {n} integers, one per client")
        if sizes.min() < 1:
            raise ValueError(f"m must be at least 1 for every client, got {sizes.min()}")
        total = sum(sizes.tolist())  # of Python's integers, which do not overflow
        largest = f"up to {sizes.max()}"
        memory.require("the clients' samples", total * (d + 1), n=n, m=largest, d=d)
    rng = stream(rng, "data")
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    X = np.empty((offsets[-1], d))
    y = np.empty(offsets[-1])
    designs.draw_clients(
        rng, DESIGNS[design], degrees_of_freedom, noise, np.ascontiguousarray(theta), offsets, X, y
    )
    return X, y, offsets


def draw_data(truth: Any, m: int | ArrayLike, rng) -> ClientData:
    """Draw samples of a truth with noise and a design, which is attached to them."""
    X, y, offsets = draw_samples(
        truth.theta, m, noise=truth.noise, design=truth.design,
        degrees_of_freedom=truth.degrees_of_freedom, rng=rng,
    )  # fmt: skip
    return ClientData._keeping(X=X, y=y, offsets=offsets, truth=truth)


def shown(truth: Any, *sizes: str) -> str:
    """Return a truth as text: its sizes, and noise and design where they are not the default."""
    parts = [f"{name}={getattr(truth, name)}" for name in sizes]
    if truth.noise:
        parts.append(f"noise={truth.noise:g}")
    if (design := getattr(truth, "design", "gaussian")) != "gaussian":
        parts.append(f"design={design!r}")
    return f"{type(truth).__name__}({', '.join(parts)})"
