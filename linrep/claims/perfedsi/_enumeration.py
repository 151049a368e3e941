"""One round's local steps, for every item that they may see.

Expectations over a client's items are means over given sequences: all of them, or balanced ones.
Clients walk independently, so that means over all of them need each client's own walks only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linrep.claims import Cases, Exponent, Fact
from linrep.claims._parts import Array
from linrep.claims.perfedsi._states import Limits, State, gain
from linrep.theory import perfedsi as theory

Items = NDArray[np.int64]

#: Walks on which the event's c would have to be larger have diverged.
OVERFLOW = 1e30


def sequences(d: int, steps: int) -> Items:
    """Return all sequences of so many items, shape (d^steps, steps)."""
    return np.indices((d,) * steps).reshape(steps, -1).T


def balanced(d: int, steps: int, copies: int, rng) -> Items:
    """Return random sequences in which every item comes equally often at each step.

    Each is uniform; means over them have no error of first order in the step size.
    """
    column = np.tile(np.arange(d), copies)
    return np.stack([rng.permutation(column) for _ in range(steps)], axis=1)


def items_for(d: int, steps: int, most: int, rng) -> Items:
    """Return all sequences if there are at most so many, else so many balanced ones."""
    if d**steps <= most:
        return sequences(d, steps)
    return balanced(d, steps, max(1, most // d), rng)


class Walks:
    """Where all clients are after each of their steps, on each of N sequences of items (N, steps).

    A round may start at a shift from the state, U's part (d, k) and V's (p, k). `U` (n, N, d, k)
    and `V` (n, N, p, k) are before the first step and after each, `shifts` how far they are from
    the state: exact where steps are below the rounding of U and V. `regularity` is theirs, (n, N).
    """

    def __init__(self, state: State, items: Items, step_size: float, shift=None):
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
        self.regularity = [self._regularity(U, V) for U, V in zip(self.U, self.V, strict=True)]

    def _regularity(self, U, V):
        """Return what every client and walk asks of the constants, arrays of shape (n, N)."""
        truth = self.state.truth
        found = theory.local_regularity(
            truth.U, truth.V, truth.Z, truth.singular_values, np.swapaxes(U, 0, 1),
            np.swapaxes(V, 0, 1), loss=self.loss, c_0=np.inf,
        )  # fmt: skip
        return theory.Regularity(*(values.T for values in found))

    def _heads(self, V):
        """Return V' z of every client and walk, shape (n, N, k)."""
        return np.einsum("np,nepk->nek", self.state.truth.Z, V)

    def limits(self, quantile: float = 1.0) -> Limits:
        """Return the least constants which so large a share of all that is met satisfies."""

        def size(values):
            values = np.sort(np.ravel(values))
            above = values[math.ceil(quantile * (values.size - 1))]
            # Walks that diverge ask for infinite constants, as the largest of all does for itself:
            # there is nothing to interpolate.
            between = quantile < 1.0 and np.isfinite(above)
            found = np.quantile(values, quantile) if between else above
            return float(found) * (1.0 + 1e-12)

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

    def drift(self, limits: Limits, s: int, weight: float = 1.0) -> tuple[Array, Array, float]:
        """Return the matrices whose norms are a_s and b_s of Lemma C.8, and P(G_s).

        An item's gradient is 1/d of the client's in the mean, whatever came before. `weight` is
        that of the second term, the server's gradient: d where the printed d multiplies both.
        """
        kept = self.kept(limits, s)
        chance = float(np.prod(kept.mean(axis=1)))
        found = [
            self.mean(values, kept) - weight * chance * gradient
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
        regular, which is that of all clients where it is sure.
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


def progress(walks: Walks, limits: Limits, participants: int = 1) -> tuple[float, float]:
    """Return 1 - E[L+ 1_G]/L after one round, and E 1_G, with one or two participants.

    Drawn with replacement; G asks that their walks are regular, which is the event of all clients
    where it is sure, or where there is one client and one participant.
    """
    state = walks.state
    kept: Array = walks.kept(limits, walks.steps).ravel()
    in_U, in_V = (part.reshape(-1, *part.shape[2:]) for part in walks.shifts[-1])
    if participants == 2:
        in_U, in_V = (0.5 * (part[:, None] + part[None]) for part in (in_U, in_V))
        kept = np.outer(kept, kept)
    gained = float(np.mean(gain(state, in_U, in_V) * kept)) / state.loss
    return float(np.mean(1.0 - kept)) + gained, float(kept.mean())


def exact_cases(cases, *, name: str = "") -> Cases:
    """Return of cases (lhs over rhs, 1, instance, whether exact) those that are exact.

    The others are means over balanced sequences in place of all, or under events that ask less
    than all clients' walks.
    """
    return Cases([case[:3] for case in cases if case[3]], quantity="lhs/rhs", name=name)


def largest_inexact(cases) -> Fact:
    """Return the largest of the other cases, which decide nothing."""
    most = max((left / right for left, right, _, sure in cases if not sure), default=0.0)
    return Fact("largest lhs/rhs where the mean is not exact", most)


def power_of(name, variable, sizes, values, predicted, *, at_most=False) -> Exponent:
    """Return enumerated values, which have no noise, along a variable; and their power in it."""
    claimed = {"at_most" if at_most else "equals": predicted}
    return Exponent(
        sizes, [[value] * 2 for value in values], **claimed, along=variable, of=name,
        name=f"{name} in {variable}",
    )  # fmt: skip


def start_of(state: State) -> Walks:
    """Return walks without steps."""
    return Walks(state, np.zeros((1, 0), dtype=int), 0.0)
