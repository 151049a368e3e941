"""A global model: FedSGD and FedAvg on a shared representation and a shared head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.frozen import one_of, positive, read, step_count
from linrep.algorithms._setup import METRICS, Setup, choose_batches, prepare
from linrep.algorithms.descent import FIRST, ROUGH, Backtracking, Descent, Smoothness
from linrep.algorithms.driver import Method, drive
from linrep.algorithms.fedrep.gram import coordinates, embed, require_gaussian
from linrep.algorithms.registry import algorithm
from linrep.algorithms.step_sizes import require_stored, units_of
from linrep.kernels import global_model as kernel
from linrep.kernels.fedrep import Samples
from linrep.kernels.linalg import orthonormalize
from linrep.kernels.rounds import COMPLETED, CONVERGED, measure, truth_of, workspace
from linrep.problems.clients import ClientData
from linrep.problems.losses import LeastSquaresObjectives
from linrep.problems.random import RNGLike
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.trace import Trace, read_rounds

__all__ = ["fedavg", "fedsgd"]

BATCHES = ("fixed", "fresh", "gram")


@algorithm("regression")
def fedavg(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | ArrayLike | None = None,
    k: int | None = None,
    rounds: int = 100,
    batches: str | None = None,
    start: str | float | ArrayLike | tuple[ArrayLike, ArrayLike] | Trace = "moments",
    participation: float = 1.0,
    local_steps: int = 1,
    step_size: float | None = None,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run FedAvg on a global model: all clients share the representation B and the head w.

    Each round, every participating client starts from (B, w), takes `local_steps` gradient steps
    on :math:`\frac1{2m_i}\|y_i - X_i B w\|^2` in both at once, and the server averages the results.

    Parameters
    ----------
    problem, m, k, rounds, participation, record, rng
    batches : {"fresh", "fixed", "gram"}, optional
        As in :func:`fedrep`; a fresh batch serves all local steps of a round, and ``"gram"`` takes
        one local step only.
    start : {"moments", "models", "random", "projected_gradient", "truncated"}, float, array, Trace
        As in :func:`fedrep`; the shared head starts at the mean of the starting heads. On data
        without a truth, where the step size is found, B of a start by name is multiplied by the
        root of the labels' standard deviation over the covariates' root mean square, and heads
        divided by it, so that units do not matter.
    local_steps : int, default 1
        Gradient steps per client and round; 1 is FedSGD.
    step_size : float, optional
        Step size, for B and w alike. By default it is found in every round, on stored samples:
        where all clients take one step, rounds are gradient descent on the mean of their losses,
        and the step is that of Barzilai and Borwein, where one that leads up is taken again,
        shorter. Where all take several, it is lengthened while that mean falls, and halved where it
        rises. Where clients are drawn it is 1.5/L, L the largest curvature at (B, w) of the
        participants' mean loss, with several local steps of any client's. Where rounding is all
        that is left to gain, the run ends as ``converged``.

    Returns
    -------
    Trace
        State ``B`` (d, k), ``w`` (k,), and ``W`` (n, k) with every row equal to w; with simulated
        batches also the coordinates of B against B* (:func:`fedrep` has those of B* against B):
        ``D`` = B*' B (k, k), and ``E`` (p, k) outside of B*, so that E' E = B' B - D' D. Where the
        step size is found there is the metric ``step_size``, that of the round, NaN for the start;
        and floats count what was tried or measured to find it, too.

    Notes
    -----
    The baseline of FedRep with a global model, equation (5) and Section 5.1. B is not
    orthonormalized; distances are to its span.
    """
    watch = Stopwatch()
    batches = choose_batches(problem) if batches is None else batches
    options = _Options(read_rounds(rounds, record), batches, local_steps, step_size)
    setup = prepare(
        problem, m=m, k=k, batches=batches, start=start, participation=participation, rng=rng
    )
    if step_size is None and isinstance(start, str):
        _balance(setup)
    given = setup.data
    setup = setup.compressed(options.rounds, 2.0 * setup.d * options.local_steps)
    method: SharedModel
    if step_size is not None:
        prepare_rounds = _simulated if batches == "gram" else _sampled
        rounds_of = _rounds_of(setup, options, *prepare_rounds(setup, options))
        rule, method = "given", SharedModel(*rounds_of)
    elif setup.participants < setup.n:
        rule, method = "smoothness", _BySmoothness(setup, options)
    else:
        all_take = _Adaptive if options.local_steps == 1 else _Searching
        rule, method = "adaptive", all_take(setup, options)

    return drive(
        method,
        algorithm="FedSGD" if options.local_steps == 1 else "FedAvg",
        rounds=options.rounds,
        record=record,
        settings={
            "problem": repr(problem),
            "m": m,
            "k": setup.k,
            **vars(options),
            "start": setup.start,
            "participation": participation,
            "participants": setup.participants,
            "step_size": rule if step_size is None else options.step_size,
            "step_size_rule": rule,
            "factored": setup.data is not given,
        },
        watch=watch,
        sent=setup.sent((setup.d + 1) * setup.k),
        judged=True,
        begun=setup.begun,
    )


@dataclass(frozen=True)
class _Options:
    """The settings of a run, checked: what runs its rounds honours each of them, or refuses it."""

    rounds: int
    batches: str
    local_steps: int
    step_size: float | None  # None where it is to be found

    def __post_init__(self):
        read(self, batches=one_of(BATCHES), local_steps=step_count, step_size=positive)
        if self.step_size is None:
            require_stored(self.batches)


def _balance(setup):
    """Give B and the heads of a start by name one size, in the units of data of one's own."""
    size = units_of(setup.data).models
    if setup.start == "random":
        setup.W[:] *= size
    setup.B[:] *= np.sqrt(size)
    setup.W[:] /= np.sqrt(size)


class SharedModel(Method):
    """Rounds on a model (B, w) of all clients; see :class:`linrep.algorithms.driver.Method`.

    Draws are the schedule and the stream of the data. ``update(BT, w, participants)`` returns BT, w
    and the loss after a round, ``metrics(BT, w, loss)`` a row, ``state_of(B, w)`` what is kept.
    """

    kept: ClassVar[tuple[str, ...]] = ("_BT", "_w", "_loss", "_draws", "_done")

    most = 1
    saved_before_run = True

    def __init__(self, draws, B, w, update, metrics, state_of):
        self._draws, self._update, self._metrics, self._state_of = draws, update, metrics, state_of
        self._BT, self._w = np.ascontiguousarray(B.T), np.ascontiguousarray(w)
        self._loss, self._done = np.nan, 0

    @property
    def state(self):
        """What the trace keeps."""
        return self._state_of(self._BT.T.copy(), self._w)

    def run(self, rounds):
        """Run a round."""
        participants = self._draws[0].next(1)[0]
        self._BT, self._w, self._loss = self._update(self._BT, self._w, participants)
        self._done += 1
        return 1, COMPLETED

    def measure(self):
        """Return a row of metrics, None where they, or the model, are not finite."""
        if not (np.isfinite(self._BT).all() and np.isfinite(self._w).all()):
            return None
        row = self._metrics(self._BT, self._w, self._loss)
        return None if self._done and not np.isfinite(list(row.values())).all() else row


def _rounds_of(setup: Setup, options: _Options, B, truth, update, state_of):
    """Return what `SharedModel` takes, for a model that is everyone's."""

    def state(B, w):
        return state_of(B) | {"w": w, "W": np.tile(w, (setup.n, 1))}

    draws = setup.schedule(), setup.data_rng
    return draws, B, setup.W.mean(axis=0), update, _metrics(truth, setup.n), state


class _FindsSteps(SharedModel):
    """What rounds whose step is found have in common."""

    kept: ClassVar[tuple[str, ...]] = ("step",)

    step = np.nan

    def run(self, rounds):
        completed, status = super().run(rounds)
        return completed, CONVERGED if self.step == 0.0 else status

    def __init__(self, setup, options: _Options, update):
        self._setup = setup
        of_B = setup.B, setup.truth, update, lambda B: {"B": B}
        super().__init__(*_rounds_of(setup, options, *of_B))

    def measure(self):
        row = super().measure()
        return None if row is None else row | {"step_size": self.step}


class _Adaptive(_FindsSteps):
    """One step of all clients, by gradient descent whose steps are found on the way."""

    kept: ClassVar[tuple[str, ...]] = ("_descent",)

    def __init__(self, setup, options: _Options):
        super().__init__(setup, options, self._move)
        data = setup.data
        weights = np.sqrt(np.repeat(data.m * data.n, data.m).astype(float))
        self._X, self._y = data.X / weights[:, None], data.y / weights
        self._descent = Descent(self._evaluate, self._BT, self._w)

    def _evaluate(self, BT, w):
        residual = self._X @ (w @ BT) - self._y
        g = residual @ self._X
        loss = 0.5 * float(residual @ residual)
        return loss, (np.outer(w, g), BT @ g), None

    @property
    def asked(self):
        return self._descent.asked

    def _move(self, BT, w, participants):
        loss = self._descent.value
        self._descent.move()
        self.step = self._descent.step
        return *self._descent.factors, loss


class _BySmoothness(_FindsSteps):
    """Steps of a share of 1/L, for drawn clients or several local steps."""

    kept: ClassVar[tuple[str, ...]] = ("_smoothness",)

    def __init__(self, setup, options: _Options, first=FIRST):
        super().__init__(setup, options, self._move)
        self._local_steps = local_steps = options.local_steps
        self._work = kernel.workspace(setup.k, setup.d, setup.largest)
        drawn = setup.participants < setup.n
        copies, shared = setup.n if local_steps > 1 else 1, setup.d * setup.k
        # Of several steps L is any client's, of which participants may be others the next time.
        self._smoothness = Smoothness(
            copies * (shared + setup.k), drawn=drawn and local_steps == 1, first=first,
            order=np.concatenate(
                [np.tile(np.arange(shared), copies), shared + np.tile(np.arange(setup.k), copies)]
            ),
        )  # fmt: skip
        self._objectives = LeastSquaresObjectives(setup.data)

    @property
    def asked(self):
        return self._done + self._smoothness.gradients

    def _move(self, BT, w, participants):
        self.step = self.find_step(BT, w, participants)
        return self.play(BT, w, participants, self.step)

    def play(self, BT, w, participants, step):
        """Return the (B, w) that a round leads to, and the loss it started from."""
        data = self._setup.stored
        loss = kernel.global_model_round(
            Samples(data.X, data.y, data.offsets), participants, BT, w, step,
            self._local_steps, self._work,
        )  # fmt: skip
        count = self._setup.participants
        return self._work.sumT / count, self._work.head_sum / count, loss

    def find_step(self, BT, w, participants):
        """Return the step: by the mean of losses, or by each with factors of its own."""
        n, d = self._setup.n, self._setup.d
        several = self._local_steps > 1
        copies = n if several else 1
        mask = np.zeros((n, 1))
        mask[slice(None) if several else participants] = 1.0 if several else 1.0 / len(participants)

        def gradient(BTs, ws):
            models = np.einsum("ca,cad->cd", ws, BTs)
            g = mask * self._objectives.gradients(np.broadcast_to(models, (n, d)))
            if not several:
                g = g.sum(axis=0, keepdims=True)
            return ws[:, :, None] * g[:, None, :], np.einsum("cad,cd->ca", BTs, g)

        factors = np.tile(BT, (copies, 1, 1)), np.tile(w, (copies, 1))
        return self._smoothness.step(gradient, factors)


class _Searching(_BySmoothness):
    """Several local steps of all clients, lengthened while the mean of their losses falls."""

    kept: ClassVar[tuple[str, ...]] = ("_search", "_factors")

    def __init__(self, setup, options: _Options):
        super().__init__(setup, options, first=ROUGH)
        self._everyone = np.arange(setup.n)
        self._factors = self._BT, self._w  # of the search
        self._search = Backtracking(
            self._try, lambda: self._factors, self._take,
            value=self._value(), first=self.find_step(self._BT, self._w, self._everyone),
        )  # fmt: skip

    @property
    def asked(self):
        return self._search.trials + self._smoothness.gradients if self._search.trials else 0

    @np.errstate(over="ignore", invalid="ignore")  # such a round is taken back
    def _value(self):
        BT, w = self._factors
        return self._objectives.value(np.tile(w @ BT, (self._setup.n, 1)))

    def _try(self, step):
        self._factors = self.play(*self._factors, self._everyone, step)[:2]
        return self._value()

    def _take(self, factors):
        self._factors = factors

    def _move(self, BT, w, participants):
        loss = self._search.value
        self._search.move()
        self.step = self._search.step
        return *self._factors, loss


@algorithm("regression")
def fedsgd(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | ArrayLike | None = None,
    k: int | None = None,
    rounds: int = 100,
    batches: str | None = None,
    start: str | float | ArrayLike | tuple[ArrayLike, ArrayLike] | Trace = "moments",
    participation: float = 1.0,
    step_size: float | None = None,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    """Run FedSGD on a global model (B, w): :func:`fedavg` with one local step.

    Parameters
    ----------
    problem, m, k, rounds, participation, record, rng
    batches, start, step_size
        As in :func:`fedavg`.

    Returns
    -------
    Trace
    """
    return fedavg(
        problem, m=m, k=k, rounds=rounds, batches=batches, start=start,
        participation=participation, step_size=step_size, record=record, rng=rng,
    )  # fmt: skip


def _sampled(setup: Setup, options: _Options):
    """Return the start, the truth it is measured by, a round, and what the trace keeps of a B."""
    work = kernel.workspace(setup.k, setup.d, setup.largest)

    def update(BT, w, participants):
        data = setup.data
        if data is None:
            data = setup.source.draw(setup.largest, rng=setup.data_rng, clients=participants)
            participants = np.arange(setup.participants)
        loss = kernel.global_model_round(
            Samples(data.X, data.y, data.offsets), participants, BT, w, options.step_size,
            options.local_steps, work,
        )  # fmt: skip
        return work.sumT / setup.participants, work.head_sum / setup.participants, loss

    return setup.B, setup.truth, update, lambda B: {"B": B}


def _simulated(setup: Setup, options: _Options):
    """Return what _sampled does, in coordinates: B = B* D + N E is D over E, and B* is I over 0.

    The sum over clients of X' (X B w - y) is drawn in coordinates of B* and N, and in length
    outside of these. docs/gram.md derives it.
    """
    source, rng, m, k = setup.source, setup.data_rng, setup.largest, setup.k
    require_gaussian("batches='gram'", source)
    if options.local_steps > 1:
        raise ValueError(
            f"batches='gram' needs local_steps=1, got {options.local_steps}: each further step "
            "adds a direction X'X X'r per client"
        )
    assert options.step_size is not None
    step_size = options.step_size
    implicit = isinstance(source, ImplicitRepresentation)
    start = setup.B if implicit else np.vstack(coordinates(source.B, setup.B))
    size = len(start)
    others = setup.d - size
    weight = 1.0 / (m * setup.participants)

    @np.errstate(over="ignore", invalid="ignore")  # the metrics tell when a run diverges
    def update(BT, w, participants):
        lack = np.tile(w @ BT, (len(participants), 1))
        lack[:, :k] -= source.W[participants]
        square = source.noise**2 + np.sum(lack**2, axis=1)
        s = np.sqrt(square)
        along = rng.chisquare(m, len(s))
        normal = rng.standard_normal(lack.shape)
        length = np.sqrt(square * along)
        shrink = np.zeros_like(s)
        np.divide(np.sum(lack * normal, axis=1), s * (s + source.noise), out=shrink, where=s > 0.0)
        total = np.sum(length**2)
        gradient = weight * ((along - length * shrink) @ lack + length @ normal)
        following = BT - step_size * np.outer(w, gradient)
        if others > 0:
            outside = weight * np.sqrt(rng.chisquare(others) * total)
            rows = np.vstack([following[:, k:].T, -step_size * outside * w])
            following[:, k:] = np.linalg.qr(rows)[1].T
        return following, w - step_size * (BT @ gradient), 0.5 * weight * total

    def state_of(B):
        state = {"D": B[:k], "E": B[k:]}
        return state if implicit else state | {"B": embed(source, B[:k], B[k:], rng)}

    return start, SharedRepresentation(np.eye(size, k), source.W), update, state_of


def _metrics(truth, n):
    names = ("loss",) if truth is None else tuple(METRICS)
    if truth is not None:
        d, k = truth.B.shape
        known, work, row = truth_of(truth.B, truth.W), workspace(k, d, 1, 1), np.empty(4)

    def metrics(BT, w, loss):
        if not orthonormalize(BT.copy()) > BT.shape[1] * np.finfo(np.float64).eps:
            return dict.fromkeys(names, np.nan)
        if truth is None:
            return {"loss": loss}
        measure(BT, np.tile(w, (n, 1)), known, False, work, row)
        return {name: row[column] for name, column in METRICS.items()} | {"loss": loss}

    return metrics


checked(globals(), units=False)
