"""One round's local steps, every item that they may see, and instances at the limits of the event.

Expectations over a client's items are means over given sequences: all of them, or balanced ones.
Clients walk independently, so that means over all of them need each client's own walks only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import hadamard

from linrep.claims._parts import Array
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory


#: Walks on which the event's c would have to be larger have diverged.
OVERFLOW = 1e30


class Limits(NamedTuple):
    """Constants of Definition 3.1; its mu is one for rows of U and for errors."""

    c: float
    rows: float
    errors: float


@dataclass(frozen=True)
class State:
    """A server's U and V, on a truth."""

    truth: SideInformationCompletion
    U: Array
    V: Array

    @cached_property
    def measured(self):
        """The loss and its gradients."""
        return theory.loss_and_gradients(self.truth, self.U, self.V)

    @property
    def loss(self) -> float:
        """L."""
        return self.measured[0]

    def setting(self, limits: Limits) -> theory.Setting:
        """Return the numbers of the statements; mu is the largest of the three incoherences."""
        mu = max(limits.rows, limits.errors, theory.scaling(self.truth.Z).mu_z)
        return theory.Setting.of(self.truth, c=limits.c, mu=mu)

    def told(self) -> dict[str, Any]:
        """Return plain values to build it again."""
        truth = self.truth
        parts = {"U": self.U, "V": self.V, "U*": truth.U, "V*": truth.V, "Z": truth.Z}
        if sum(part.size for part in parts.values()) > 64:
            return {"n": truth.n, "d": truth.d, "p": truth.p, "k": truth.k}
        return {name: part.tolist() for name, part in parts.items()}


def sequences(d: int, steps: int) -> Array:
    """Return all sequences of so many items, shape (d^steps, steps)."""
    return np.indices((d,) * steps).reshape(steps, -1).T


def balanced(d: int, steps: int, copies: int, rng) -> Array:
    """Return random sequences in which every item comes equally often at each step.

    Each is uniform; means over them have no error of first order in the step size.
    """
    column = np.tile(np.arange(d), copies)
    return np.stack([rng.permutation(column) for _ in range(steps)], axis=1)


def items_for(d: int, steps: int, most: int, rng) -> Array:
    """Return all sequences if there are at most so many, else so many balanced ones."""
    if d**steps <= most:
        return sequences(d, steps)
    return balanced(d, steps, max(1, most // d), rng)


class Walks:
    """Where all clients are after each of their steps, on each of N sequences of items.

    Parameters
    ----------
    state : State
    items : ndarray, shape (N, steps)
    step_size : float
    shift : pair of ndarray, optional
        How far from the state the round starts, U's part (d, k) and V's (p, k).

    Attributes
    ----------
    U, V : list of ndarray, shape (n, N, d, k), (n, N, p, k)
        Before the first step, and after each.
    shifts : list of pair of ndarray
        How far these are from the state: exact where steps are below the rounding of U and V.
    regularity : list of Regularity
        Of each of them; arrays (n, N).
    """

    def __init__(self, state: State, items: Array, step_size: float, shift=None):
        truth, count = state.truth, len(items)
        self.state, self.step_size, self.steps = state, step_size, items.shape[1]
        self.targets = truth.Z @ truth.V @ truth.U.T
        starts = (np.zeros_like(state.U), np.zeros_like(state.V)) if shift is None else shift
        in_U, in_V = (np.tile(part, (truth.n, count, 1, 1)) for part in starts)
        self.shifts = [(in_U, in_V)]
        errors = truth.Z @ (state.U @ state.V.T - truth.M).T
        heads, places = (truth.Z @ state.V)[:, None], np.arange(count)
        for item in items.T:
            row, old = in_U[:, places, item], state.U[item]
            turn = self._heads(in_V)
            residual = errors[:, item] + np.sum(row * (heads + turn) + old * turn, axis=2)
            moves = step_size * residual[..., None]
            in_U = in_U.copy()
            in_U[:, places, item] -= moves * (heads + turn)
            steps = moves * (old + row)
            in_V = in_V - truth.Z[:, None, :, None] * steps[:, :, None, :]
            self.shifts.append((in_U, in_V))
        self.U = [state.U + part for part, _ in self.shifts]
        self.V = [state.V + part for _, part in self.shifts]
        self.loss = state.loss - float(gain(state, *starts)) if shift is not None else state.loss
        self.regularity = [
            theory.local_regularity(truth, U, V, loss=self.loss, c_0=np.inf)
            for U, V in zip(self.U, self.V, strict=True)
        ]

    def _heads(self, V):
        """Return V' z of every client and walk, shape (n, N, k)."""
        return np.einsum("np,nepk->nek", self.state.truth.Z, V)

    def limits(self, quantile: float = 1.0) -> Limits:
        """Return the least constants which so large a share of all that is met satisfies."""

        def size(values):
            return float(np.quantile(values, quantile)) * (1.0 + 1e-12)

        parts = self.regularity
        return Limits(
            max(size([part.norms for part in parts]), size([part.loss for part in parts])),
            size([part.rows for part in parts]),
            size([part.errors for part in parts]),
        )

    def kept(self, limits: Limits, s: int) -> Array:
        """Return which walks are regular up to step s, shape (n, N)."""
        good = np.ones(self.U[0].shape[:2], dtype=bool)
        for part in self.regularity[: s + 1]:
            good &= (np.maximum(part.norms, part.loss) <= limits.c) & (part.rows <= limits.rows)
            good &= part.errors <= limits.errors
        return good.astype(float)

    def gradients(self, s: int):
        """Return each client's gradients at step s, shape (n, N, d, k) and (n, N, p, k)."""
        heads = self._heads(self.V[s])
        errors = np.einsum("nedk,nek->ned", self.U[s], heads) - self.targets[:, None]
        rows = np.einsum("ned,nedk->nek", errors, self.U[s])
        return errors[..., None] * heads[:, :, None], self.state.truth.Z[:, None, :, None] * rows[
            :, :, None
        ]

    def mean(self, values, kept) -> Array:
        """Return (1/n) sum_i E[values_i 1_G], G asking of every client that its walk is kept."""
        share = kept.mean(axis=1)
        others = np.array([np.prod(np.delete(share, i)) for i in range(len(share))])
        weights = kept * others[:, None] / kept.size
        return np.einsum("ne,ne...->...", weights, values)

    def drift(self, limits: Limits, s: int) -> tuple[Array, Array, float]:
        """Return the matrices whose norms are a_s and b_s of Lemma C.8, and P(G_s).

        An item's gradient is 1/d of the client's in the mean, whatever came before.
        """
        kept = self.kept(limits, s)
        chance = float(np.prod(kept.mean(axis=1)))
        found = [
            self.mean(values, kept) - chance * gradient
            for values, gradient in zip(self.gradients(s), self.state.measured[1:], strict=True)
        ]
        return found[0], found[1], chance

    def summed(self, limits: Limits, *, future: bool) -> tuple[float, float]:
        """Return the norm in Lemma C.10, and P(G_tau).

        With `future` under the event of the whole round, which knows the items of every step;
        else each step's part under the event of the steps before it.
        """
        kept = self.kept(limits, self.steps)
        chance = float(np.prod(kept.mean(axis=1)))
        if not future:
            drifts = [self.drift(limits, s)[:2] for s in range(self.steps)]
            found = [sum(part) for part in zip(*drifts, strict=True)]
        else:
            scale = self.state.truth.d / self.step_size
            found = [
                -scale * self.mean(move, kept) - self.steps * chance * gradient
                for move, gradient in zip(self.shifts[-1], self.state.measured[1:], strict=True)
            ]
        return float(np.sqrt(sum(np.sum(part**2) for part in found))), chance

    def moments(self, limits: Limits, participants: int) -> tuple[float, float, float]:
        """Return E||U+ - U||^2 1_G and the same for V, and E 1_G.

        Participants are drawn with replacement and walk independently; G asks that their walks are
        regular.
        """
        kept = self.kept(limits, self.steps)
        share = float(kept.mean())
        found = []
        for move in self.shifts[-1]:
            square = np.mean(np.sum(move**2, axis=(2, 3)) * kept)
            mean = np.mean(move * kept[..., None, None], axis=(0, 1))
            together = share ** (participants - 2) if participants > 1 else 0.0
            found.append(
                square * share ** (participants - 1) / participants
                + (participants - 1) / participants * np.sum(mean**2) * together
            )
        return float(found[0]), float(found[1]), share**participants


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


def unbalanced(c: float, condition: float, *, d: int = 8, k: int = 2, p: int = 4) -> State:
    """Return a state with M*'s smallest direction as weak in U as V's norm c allows.

    The error is in V, outside of its range, and moves along that direction of U only: gradients
    are as small as they can be. Rows, errors and losses are all of one size (Hadamard matrices).
    """
    frame = hadamard(d)[:, :k] / np.sqrt(d)
    values = np.ones(k)
    values[-1] = 1.0 / condition
    Z, V = hadamard(p).astype(float), np.eye(p, k)
    truth = SideInformationCompletion(frame * values, V, Z)
    U, V = frame * np.sqrt(values), V * np.sqrt(values)
    U[:, -1] *= np.sqrt(values[-1]) / c
    V[:, -1] *= c / np.sqrt(values[-1])
    V[k, -1] = 1e-3 / c  # of M*'s size 1e-3/c^2: too small for gradients in U
    return State(truth, U, V)


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


def from_numbers(shape, x) -> State | None:
    """Return the state that real numbers stand for, None if side information is dependent."""
    n, d, p, k = (shape[name] for name in "ndpk")
    Z, stars, side, U, V = np.split(x, np.cumsum([n * p, d * k, p * k, d * k]))
    Z = Z.reshape(n, p)
    if not np.isfinite(theory.scaling(Z).c_z):
        return None
    truth = SideInformationCompletion(stars.reshape(d, k), side.reshape(p, k), Z)
    state = State(truth, U.reshape(d, k), V.reshape(p, k))
    return state if truth.singular_values[-1] > 0.0 and state.loss > 0.0 else None


def numbers(shape) -> int:
    """Return how many real numbers it takes."""
    n, d, p, k = (shape[name] for name in "ndpk")
    return n * p + 2 * k * (d + p)


SHAPES = ({"n": 1, "d": 2, "p": 1, "k": 1}, {"n": 2, "d": 2, "p": 2, "k": 1},
          {"n": 3, "d": 3, "p": 2, "k": 2})  # fmt: skip


def gain(state: State, in_U: Array, in_V: Array) -> Array:
    """Return by how much L is smaller than at the state after moves (..., d, k), (..., p, k)."""
    truth = state.truth
    change = in_U @ np.swapaxes(state.V + in_V, -1, -2) + state.U @ np.swapaxes(in_V, -1, -2)
    both = 2.0 * (state.U @ state.V.T - truth.M) + change
    left, right = (np.einsum("np,...dp->...nd", truth.Z, part) for part in (both, change))
    return -0.5 * np.sum(left * right, axis=(-1, -2)) / truth.n


def progress(walks: Walks, limits: Limits, participants: int = 1) -> tuple[float, float]:
    """Return 1 - E[L+ 1_G]/L after one round, and E 1_G, with one or two participants.

    Drawn with replacement; G asks that their walks are regular.
    """
    state = walks.state
    kept = walks.kept(limits, walks.steps).ravel()
    in_U, in_V = (part.reshape(-1, *part.shape[2:]) for part in walks.shifts[-1])
    if participants == 2:
        in_U, in_V = (0.5 * (part[:, None] + part[None]) for part in (in_U, in_V))
        kept = np.outer(kept, kept)
    gained = float(np.mean(gain(state, in_U, in_V) * kept)) / state.loss
    return float(np.mean(1.0 - kept)) + gained, float(kept.mean())
