"""States of the server, at random and at the limits of the event of Definition 3.1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import hadamard

from linrep.claims.instances import Reader
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import Limits, State


def plain(state: State) -> dict[str, Any]:
    """Return plain values to build a state again; of a large one its sizes."""
    truth = state.truth
    parts = {"U": state.U, "V": state.V, "U*": truth.U, "V*": truth.V, "Z": truth.Z}
    if sum(part.size for part in parts.values()) > 64:
        return {"n": truth.n, "d": truth.d, "p": truth.p, "k": truth.k}
    return {name: part.tolist() for name, part in parts.items()}


def alike(p: int, d: int, *, size: float = 1.0, error: float = 0.01, on_side: bool = True) -> State:
    """Return a state of rank 1 in which all clients have the same loss, and U's rows one size.

    Side information is a Hadamard matrix: c_z = mu_z = 1. The side of V has norm `size` and that
    of U the rest, or the other way round; both errors and heads are along the truth.
    """
    Z = hadamard(p).astype(float)
    u, v = np.ones((d, 1)) / np.sqrt(d), np.eye(p, 1)
    truth = SideInformationCompletion(u, v, Z)
    other = (1.0 + error) / size
    return State(truth, other * u, size * v) if on_side else State(truth, size * u, other * v)


def unbalanced(
    c: float,
    condition: float,
    *,
    d: int = 8,
    k: int = 2,
    p: int = 4,
    c_z: float = 1.0,
    error: float = 1e-3,
) -> State:
    """Return a state with M*'s smallest direction as weak in U as V's norm c allows.

    The error is in V, outside of its range, and moves along that direction of U only: gradients
    are as small as they can be. Rows, errors and losses are all of one size (Hadamard matrices).
    Side information is weakest, 1/c_z, along the error, whose size in V is error/c.
    """
    frame = hadamard(d)[:, :k] / np.sqrt(d)
    values = np.ones(k)
    values[-1] = 1.0 / condition
    Z, V = hadamard(p).astype(float), np.eye(p, k)
    Z[:, k] /= np.sqrt(c_z)
    truth = SideInformationCompletion(frame * values, V, Z)
    U, V = frame * np.sqrt(values), V * np.sqrt(values)
    U[:, -1] *= np.sqrt(values[-1]) / c
    V[:, -1] *= c / np.sqrt(values[-1])
    V[k, -1] = error / c  # of M*'s size error/c^2: too small for gradients in U
    return State(truth, U, V)


def saddle(k: int) -> State:
    """Return U = 0 and V = 0, where nothing moves: L is k sigma_k^2/2, sigma_1 = sigma_k = 1."""
    state = unbalanced(1.0, 1.0, k=k)
    return State(state.truth, 0.0 * state.U, 0.0 * state.V)


def drawn(rng, *, n=4, d=4, p=2, k=1, side="gaussian", error=0.1, tilt=1.0, condition=1.0) -> State:
    """Return a random state: the truth's factors, one tilt times larger than the other, and noise.

    The noise has `error` times the truth's size, entry by entry.
    """
    values = np.geomspace(1.0, 1.0 / condition, k)
    truth = SideInformationCompletion.random(
        n=n, d=d, p=p, k=k, side=side, singular_values=values, rng=rng
    )
    U = tilt * (truth.U + error * rng.standard_normal((d, k)) / np.sqrt(d))
    V = (truth.V + error * rng.standard_normal((p, k)) / np.sqrt(p)) / tilt
    return State(truth, U, V)


def aligned(p: int, d: int, *, error: float = 0.01) -> State:
    """Return a state of rank 1 with most side information along the truth, mu_z = 1.

    8 p clients have sqrt(p) e_1, p - 1 others a direction each and no error: c_z is about p.
    """
    Z = np.sqrt(p) * np.vstack([np.tile(np.eye(1, p), (8 * p, 1)), np.eye(p)[1:]])
    u, v = np.ones((d, 1)) / np.sqrt(d), np.eye(p, 1)
    return State(SideInformationCompletion(u, v, Z), (1.0 + error) * u, v)


def edge(d: int, *, c: float = 1.0, error: float = 0.01) -> tuple[State, Limits]:
    """Return a state of one client with V's norm at its limit, and the limits.

    Every other item makes V larger, and so leads out of the event however small the step.
    """
    u, signs = np.ones((d, 1)) / np.sqrt(d), np.resize([1.0, -1.0], (d, 1)) / np.sqrt(d)
    size = np.sqrt(1.0 - error**2)
    truth = SideInformationCompletion(size * u - error * signs, np.eye(1), np.eye(1))
    return State(truth, size / c * u, c * np.eye(1)), Limits(c * (1.0 + 1e-12), 1.1, 2.0)


def read(reader: Reader, shape) -> State | None:
    """Return the state that real numbers stand for, None if side information is dependent."""
    n, d, p, k = (shape[name] for name in "ndpk")
    Z, stars, side, U, V = (
        reader.numbers(*sizes) for sizes in ((n, p), (d, k), (p, k), (d, k), (p, k))
    )
    if not np.isfinite(theory.scaling(Z).c_z):
        return None
    truth = SideInformationCompletion(stars, side, Z)
    state = State(truth, U, V)
    return state if truth.singular_values[-1] > 0.0 and state.loss > 0.0 else None


SHAPES = (
    {"n": 1, "d": 2, "p": 1, "k": 1},
    {"n": 2, "d": 2, "p": 2, "k": 1},
    {"n": 3, "d": 3, "p": 2, "k": 2},
)
