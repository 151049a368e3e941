r"""Exact expectations over rounds of PerFedSI: local steps on every item that clients may see.

A local step is (11), (12) on one of the client's d entries, each as likely as the others, so that
tau steps are one of d^tau sequences of items. Clients walk independently: a mean over all of them
and all their sequences, under the event of Definition 3.1 or without it, needs each client's own
walks only. What a round changes is computed from the changes, which stays exact where steps are
below the rounding of U and V. Lemmas C.7 to C.11 bound these means (:mod:`linrep.theory.perfedsi`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep._lib import display as show
from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.completion import SideInformationCompletion
from linrep.problems.random import RNGLike, generator
from linrep.theory import perfedsi as theory

_AWAY = 1e100  # numbers of a walk that diverges are cut off there

Values = NDArray[np.float64]
Items = NDArray[np.int64]


class Limits(NamedTuple):
    """Constants of Definition 3.1, which has one mu for rows of U and for errors.

    Attributes
    ----------
    c : float
        Of the norms and of the clients' losses.
    rows, errors : float
        mu of the rows of U, and mu of the errors' entries.
    """

    c: float
    rows: float
    errors: float

    def __repr__(self):
        return show.line(self)


@dataclass(frozen=True, repr=False)
class State:
    """The server's factors at the start of a round.

    Parameters
    ----------
    truth : SideInformationCompletion
    U, V : ndarray, shape (d, k), (p, k)
    """

    truth: SideInformationCompletion
    U: Values
    V: Values

    def __post_init__(self):
        k = check.array("U", self.U, (self.truth.d, None)).shape[1]
        check.array("V", self.V, (self.truth.p, k))

    def __repr__(self):
        return f"State({self.truth}, L={self.loss:.3g})"

    @cached_property
    def loss_and_gradients(self) -> tuple[float, Values, Values]:
        """L of (10), and its gradients in U and V."""
        return theory.loss_and_gradients(self.truth, self.U, self.V)

    @property
    def loss(self) -> float:
        """L."""
        return self.loss_and_gradients[0]

    @property
    def gradients(self) -> tuple[Values, Values]:
        """Gradients of L in U, shape (d, k), and in V, shape (p, k)."""
        return self.loss_and_gradients[1:]

    def setting(self, limits: Limits) -> theory.Setting:
        """Return the numbers of the statements; mu is the largest of the three incoherences.

        Parameters
        ----------
        limits : Limits
        """
        mu = max(limits.rows, limits.errors, theory.scaling(self.truth.Z).mu_z)
        return theory.Setting.of(self.truth, c=limits.c, mu=mu)

    def gain(self, in_U: Values, in_V: Values) -> Values:
        """Return by how much L is smaller after moves of the factors, shape (...).

        Parameters
        ----------
        in_U, in_V : ndarray, shape (..., d, k), (..., p, k)
        """
        in_U, in_V = check.real_array("in_U", in_U), check.real_array("in_V", in_V)
        for name, move, factor in (("in_U", in_U, self.U), ("in_V", in_V, self.V)):
            if move.shape[-2:] != factor.shape:
                raise ValueError(f"{name} must end in {factor.shape}, got shape {move.shape}")
        truth = self.truth
        change = in_U @ np.swapaxes(self.V + in_V, -1, -2) + self.U @ np.swapaxes(in_V, -1, -2)
        both = 2.0 * (self.U @ self.V.T - truth.M) + change
        left, right = (np.einsum("np,...dp->...nd", truth.Z, part) for part in (both, change))
        return -0.5 * np.sum(left * right, axis=(-1, -2)) / truth.n


def sequences(d: int, steps: int) -> Items:
    """Return all sequences of items, shape (d^steps, steps).

    Parameters
    ----------
    d, steps : int
        Number of items, and of local steps.
    """
    d, steps = (
        check.integer("d", d, minimum=1),
        check.integer("steps", steps, minimum=1, maximum=64),
    )
    memory.require("the sequences", 2 * steps * d**steps, d=d, steps=steps)
    return np.indices((d,) * steps).reshape(steps, -1).T


def balanced(d: int, steps: int, copies: int, *, rng: RNGLike = None) -> Items:
    """Return random sequences in which every item comes equally often at each step.

    Each is uniform; means over them have no error of first order in the step size.

    Parameters
    ----------
    d, steps : int
        As in :func:`sequences`.
    copies : int
        How often an item comes at each step; there are ``copies * d`` sequences.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    ndarray of int, shape (copies * d, steps)
    """
    for name, number in (("d", d), ("steps", steps), ("copies", copies)):
        check.integer(name, number, minimum=1)
    memory.require("the sequences", 2 * d * steps * copies, d=d, steps=steps, copies=copies)
    rng = generator(rng)
    column = np.tile(np.arange(d), copies)
    return np.stack([rng.permutation(column) for _ in range(steps)], axis=1)


class Walks:
    """Where all clients are after each of their local steps, on each of N sequences of items.

    Parameters
    ----------
    state : State
    items : ndarray of int, shape (N, steps)
        The sequences over which means are taken: all of them (:func:`sequences`), for exact ones.
    step_size : float
    shift : pair of ndarray, shape (d, k), (p, k), optional
        Of U and V, from the state to where the round starts; nothing by default.

    Raises
    ------
    ValueError
        If `items` are not of this kind.

    Attributes
    ----------
    U, V : list of ndarray, shape (n, N, d, k), (n, N, p, k)
        Before the first step and after each.
    shifts : list of pairs of ndarray
        How far these are from the state's: exact where steps are below the rounding of U and V.
    loss : float
        L at the round's start.
    regularity : list of Regularity
        What each U and V ask of the constants, arrays of shape (n, N).

    Notes
    -----
    PerFedSI, (11) and (12), the residual of (12) transposed.
    """

    def __init__(
        self,
        state: State,
        items: Items,
        step_size: float,
        shift: tuple[Values, Values] | None = None,
    ):
        items = check.read_array("items", items)
        check.real("step_size", step_size, minimum=0.0)
        truth, count = state.truth, len(items) if items.ndim else 0
        integers = items.ndim == 2 and items.dtype.kind in "iu"
        if not integers or not np.isin(items, range(truth.d)).all():
            raise ValueError(f"items must be sequences of items 0 to {truth.d - 1}, one a row")
        self.state, self.step_size, self.steps = state, step_size, items.shape[1]
        self.targets = truth.Z @ truth.V @ truth.U.T
        starts = np.zeros_like(state.U), np.zeros_like(state.V)
        if shift is not None:
            if len(shift) != 2:
                raise ValueError(f"shift must be a pair of changes of U and V, got {len(shift)}")
            starts = (
                check.table("shift[0]", shift[0], starts[0].shape),
                check.table("shift[1]", shift[1], starts[1].shape),
            )
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
        self.loss = state.loss - float(state.gain(*starts)) if shift is not None else state.loss
        self.regularity = [self._regularity(U, V) for U, V in zip(self.U, self.V, strict=True)]

    def _regularity(self, U, V):
        """Return what every client and walk asks of the constants, arrays of shape (n, N)."""
        truth = self.state.truth
        # Walks that run away ask for constants beyond all others, whatever they are.
        U, V = (np.swapaxes(A, 0, 1).clip(-_AWAY, _AWAY) for A in (U, V))
        constants = theory.local_regularity(
            truth.U, truth.V, truth.Z, truth.singular_values, U, V, loss=self.loss, c_0=np.inf
        )
        return theory.Regularity(*(values.T for values in constants))

    def _heads(self, V):
        """Return V' z of every client and walk, shape (n, N, k)."""
        return np.einsum("np,nepk->nek", self.state.truth.Z, V)

    def limits(self, quantile: float = 1.0) -> Limits:
        """Return the least constants of Definition 3.1 that the walks satisfy.

        Parameters
        ----------
        quantile : float, default 1
            Share of the walks' steps that have to satisfy each of them.
        """

        def size(values):
            values = np.sort(np.ravel(values))
            above = values[math.ceil(quantile * (values.size - 1))]
            # Walks that diverge ask for infinite constants, as the largest of all does for itself:
            # there is nothing to interpolate.
            between = quantile < 1.0 and np.isfinite(above)
            limit = np.quantile(values, quantile) if between else above
            return float(limit) * (1.0 + 1e-12)

        check.real("quantile", quantile, minimum=0.0, maximum=1.0)
        parts = self.regularity
        return Limits(
            max(size([part.norms for part in parts]), size([part.loss for part in parts])),
            size([part.rows for part in parts]),
            size([part.errors for part in parts]),
        )

    def kept(self, limits: Limits, s: int) -> Values:
        """Return 1 for walks that are regular up to a step, else 0; shape (n, N).

        Parameters
        ----------
        limits : Limits
        s : int
            The step, from 0 on; 0 is the start.
        """
        check.integer("s", s, minimum=0, maximum=self.steps)
        good = np.ones(self.U[0].shape[:2], dtype=bool)
        for part in self.regularity[: s + 1]:
            good &= (np.maximum(part.norms, part.loss) <= limits.c) & (part.rows <= limits.rows)
            good &= part.errors <= limits.errors
        return good.astype(float)

    def gradients(self, s: int) -> tuple[Values, Values]:
        """Return the gradients of every client's loss L_i at its factors after s steps.

        Parameters
        ----------
        s : int

        Returns
        -------
        in_U, in_V : ndarray, shape (n, N, d, k), (n, N, p, k)
        """
        check.integer("s", s, minimum=0, maximum=self.steps)
        heads = self._heads(self.V[s])
        errors = np.einsum("nedk,nek->ned", self.U[s], heads) - self.targets[:, None]
        rows = np.einsum("ned,nedk->nek", errors, self.U[s])
        return errors[..., None] * heads[:, :, None], self.state.truth.Z[:, None, :, None] * rows[
            :, :, None
        ]

    def mean(self, values: Values, kept: Values) -> Values:
        r"""Return :math:`\frac1n \sum_i \mathrm E[x_i 1_G]`, G asking it of every client's walk.

        Parameters
        ----------
        values : ndarray, shape (n, N, ...)
            x_i on every walk.
        kept : ndarray, shape (n, N)
            1 for the walks that G allows, as from :meth:`kept`.
        """
        kept = check.table("kept", kept, self.U[0].shape[:2])
        values = check.array("values", values, None)
        if values.shape[:2] != kept.shape:
            raise ValueError(f"values must have shape {(*kept.shape, '...')}, got {values.shape}")
        share = kept.mean(axis=1)
        others = np.array([np.prod(np.delete(share, i)) for i in range(len(share))])
        weights = kept * others[:, None] / kept.size
        return np.einsum("ne,ne...->...", weights, values)

    def drift(self, limits: Limits, s: int, weight: float = 1.0) -> tuple[Values, Values, float]:
        """Return the matrices whose norms are a_s and b_s of Lemma C.8, and P(G_s).

        An item's gradient is 1/d of the client's in the mean, whatever came before.

        Parameters
        ----------
        limits : Limits
        s : int
        weight : float, default 1
            Of the second term, the server's gradient: d where the printed d multiplies both.

        Returns
        -------
        in_U, in_V : ndarray, shape (d, k), (p, k)
        chance : float
        """
        is_kept = self.kept(limits, s)
        chance = float(np.prod(is_kept.mean(axis=1)))
        drifts = [
            # Walks that diverged have left the event.
            self.mean(np.where(is_kept[..., None, None], values, 0.0), is_kept)
            - weight * chance * gradient
            for values, gradient in zip(self.gradients(s), self.state.gradients, strict=True)
        ]
        return drifts[0], drifts[1], chance

    def summed(self, limits: Limits, *, future: bool) -> tuple[float, float]:
        """Return the norm in Lemma C.10, and P(G_tau).

        Parameters
        ----------
        limits : Limits
        future : bool
            Take all of it under the event of the whole round, which knows the items of every step,
            rather than each step's part under the event of the steps before it.

        Returns
        -------
        norm, chance : float
        """
        is_kept = self.kept(limits, self.steps)
        chance = float(np.prod(is_kept.mean(axis=1)))
        if not future:
            drifts = [self.drift(limits, s)[:2] for s in range(self.steps)]
            totals = [sum(part) for part in zip(*drifts, strict=True)]
        else:
            scale = self.state.truth.d / self.step_size
            totals = [
                -scale * self.mean(move, is_kept) - self.steps * chance * gradient
                for move, gradient in zip(self.shifts[-1], self.state.gradients, strict=True)
            ]
        return float(np.sqrt(sum(np.sum(part**2) for part in totals))), chance

    def moments(self, limits: Limits, participants: int) -> tuple[float, float, float]:
        """Return E||U+ - U||^2 1_G and the same for V, and E 1_G.

        Lemma C.7's left sides. Participants are drawn with replacement and walk independently; G
        asks that their walks are regular, which is that of all clients where it is sure.

        Parameters
        ----------
        limits : Limits
        participants : int
            Their number C.

        Returns
        -------
        in_U, in_V, chance : float
        """
        check.integer("participants", participants, minimum=1)
        is_kept = self.kept(limits, self.steps)
        share = float(is_kept.mean())
        moments = []
        for move in self.shifts[-1]:
            square = np.mean(np.sum(move**2, axis=(2, 3)) * is_kept)
            mean = np.mean(move * is_kept[..., None, None], axis=(0, 1))
            together = share ** (participants - 2) if participants > 1 else 0.0
            moments.append(
                square * share ** (participants - 1) / participants
                + (participants - 1) / participants * np.sum(mean**2) * together
            )
        return float(moments[0]), float(moments[1]), share**participants


def progress(walks: Walks, limits: Limits, participants: int = 1) -> tuple[float, float]:
    r"""Return :math:`1 - \mathrm E[L_+ 1_G]/L` of one round, and the probability of G.

    Participants are drawn with replacement; G asks that their walks are regular, which is the event
    of all clients where it is sure, or where there is one client and one participant.

    Parameters
    ----------
    walks : Walks
        Of the round, from the state itself.
    limits : Limits
    participants : {1, 2}

    Returns
    -------
    progress, chance : float

    Raises
    ------
    ValueError
        For more participants.

    Notes
    -----
    The left side of PerFedSI's Lemma C.11.
    """
    if participants not in (1, 2):
        raise ValueError(f"participants must be 1 or 2, got {participants!r}")
    state = walks.state
    is_kept: Values = walks.kept(limits, walks.steps).ravel()
    in_U, in_V = (part.reshape(-1, *part.shape[2:]) for part in walks.shifts[-1])
    if participants == 2:
        in_U, in_V = (0.5 * (part[:, None] + part[None]) for part in (in_U, in_V))
        is_kept = np.outer(is_kept, is_kept)
    gained = float(np.mean(state.gain(in_U, in_V) * is_kept)) / state.loss
    return float(np.mean(1.0 - is_kept)) + gained, float(is_kept.mean())


def progress_of_rounds(
    state: State, limits: Limits, items: Items, step_size: float, rounds: int
) -> tuple[float, float]:
    r"""Return :math:`1 - \mathrm E[L_T 1_G]/L_0` of T rounds of one participant, and P(G).

    Every participant and sequence of every round is enumerated. G asks of every client, in each
    round, that its walk is regular.

    Parameters
    ----------
    state : State
    limits : Limits
    items : ndarray of int, shape (N, steps)
        As for :class:`Walks`.
    step_size : float
    rounds : int
        Their number T, at least 1; there are up to (n N)^T ends.

    Returns
    -------
    progress, chance : float

    Notes
    -----
    The left side of PerFedSI's Theorem C.4, (15).
    """
    rounds = check.integer("rounds", rounds, minimum=1)
    states = [(np.zeros_like(state.U), np.zeros_like(state.V), 1.0)]
    for _ in range(rounds):
        following = []
        for in_U, in_V, weight in states:
            walks = Walks(state, items, step_size, (in_U, in_V))
            is_kept = walks.kept(limits, walks.steps)
            share = is_kept.mean(axis=1)
            ends_U, ends_V = walks.shifts[-1]
            for client in range(len(share)):
                each = weight * np.prod(np.delete(share, client)) / is_kept.size
                following += [
                    (ends_U[client, walk], ends_V[client, walk], each)
                    for walk in np.flatnonzero(is_kept[client])
                ]
        states = following
    if not states:  # no walk is regular
        return 1.0, 0.0
    shifts_U, shifts_V, weights = (np.array(part) for part in zip(*states, strict=True))
    chance = float(weights.sum())
    gained = float(state.gain(shifts_U, shifts_V) @ weights) / state.loss
    return max(0.0, 1.0 - chance) + gained, chance


checked(globals(), nan=False, large=False)
