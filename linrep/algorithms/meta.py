"""ANIL and MAML on clients' linear regressions: a shared start from which one step adapts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import read_pair, read_problem, start_name
from linrep.algorithms.driver import COMPLETED, Method, begin, drive
from linrep.algorithms.errors import representation_errors
from linrep.algorithms.local import fit_heads
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import TRUNCATION, truncated_spectrum
from linrep.algorithms.step_sizes import units_of
from linrep.kernels import meta as kernel
from linrep.problems import subspace
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.trace import Trace, read_rounds

__all__ = ["anil", "maml"]

BATCHES = ("fixed", "fresh", "split")
#: What the outer step is of 1/(alpha sigma^2), as FedRep's theorem has it, with exact inner steps.
_SHARE = 0.25


@algorithm("regression")
def anil(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | None = None,
    k: int | None = None,
    rounds: int = 100,
    first_order: bool = False,
    batches: str | None = None,
    inner_step_size: float | None = None,
    step_size: float | None = None,
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    participation: float = 1.0,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run ANIL: clients adapt a shared head by one step; the server learns the initialization.

    .. math:: w_i = w - \alpha \nabla_w L_i^{(1)}(B, w), \qquad
              (B, w) \leftarrow (B, w) - \frac\beta{|I|} \sum_{i \in I}
              \nabla_{B, w}\, L_i^{(2)}(B, w_i)

    Parameters
    ----------
    problem : SharedRepresentation or ClientData
        A ground truth to draw from, or samples, at least two of every client.
    m : int, optional
        Samples per client and batch; with a SharedRepresentation only.
    k : int, optional
        Width of the representation; the truth's rank by default, required where there is none.
    rounds : int, default 100
        Outer steps.
    first_order : bool, default False
        Take the outer gradient at (B, w_i), and not through the inner step (FO-ANIL).
    batches : {"split", "fresh", "fixed"}, optional
        New samples in every round, of each client two batches of m (default with a
        SharedRepresentation), or one of m in two halves; or the same ones in two halves (default,
        and the only choice, with ClientData). The first half, rounded up, is for the inner step.
    inner_step_size : float, optional
        Step size alpha of the inner step; by default 1 for a truth. On data without one, where no
        step is given, 1/(2 s^2 sigma) with s^2 the mean square of the covariates and sigma as
        below, which keeps B and heads of similar size whatever the units of the data; 1/s^2 where
        `step_size` is given.
    step_size : float, optional
        Step size beta of the outer steps; by default 1/(4 s^4 alpha sigma^2) over 1 + (d + 1)/m,
        the mean square of a sample covariance of m normal samples, where sigma is the largest
        singular value of the clients' models over the root of n: the truth's, or the estimate of
        :func:`altgdmin`'s start; and s is 1 for a truth.
    start : "random", pair (B, w) or Trace
        By default B = Q (alpha s^2)^(-1/2), with Q uniform over orthonormal frames, and w = 0: then
        one inner step is exact where a client's covariates have the second moment s^2 I.
    participation : float, default 1
        Fraction of clients per round, drawn without replacement.
    record : int or array_like of int, default 1
        Record every so many rounds, or these; the start and the last always.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    Trace
        State ``B`` (d, k), ``w`` (k,) and, of stored samples, ``W`` (n, k): heads fitted to all of
        a client's samples. Metrics ``loss``, the mean outer loss of the round's participants, and,
        with a truth of rank k, ``distance``, of stored samples also ``population_risk``. B is not
        orthonormalized; distances are of its span.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, a client has one sample, or labels are all zero.

    Notes
    -----
    Collins, Mokhtari, Oh and Shakkottai, *MAML and ANIL provably learn representations*, 2022,
    whose analysis starts with alpha B'B near I and w small, of covariates
    of covariance I; the constants of the steps are linrep's. In terms of root(alpha) B, whose
    columns start orthonormal, the outer step is one of alpha beta with heads w_i / root(alpha), as
    FedRep's. With :math:`g^{(1)}, g^{(2)}` the losses' gradients in the model at B w and B w_i,
    :math:`u = B^\top g^{(2)}` and :math:`h = \frac1{m_1} X_1^\top X_1 B u`, exact outer gradients
    are :math:`g^{(2)} w_i^\top - \alpha g^{(1)} u^\top - \alpha h w^\top` in B and :math:`u -
    \alpha B^\top h` in w; first-order ones end before the first alpha.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=10, k=2, rng=0)
    >>> trace = lr.anil(truth, m=20, rounds=200, rng=1)
    >>> bool(trace["distance"][-1] < 0.1 * trace["distance"][0])
    True
    """
    return _run(
        "ANIL", False, problem, m=m, k=k, rounds=rounds, first_order=first_order, batches=batches,
        inner_step_size=inner_step_size, step_size=step_size, start=start,
        participation=participation, record=record, rng=rng,
    )  # fmt: skip


@algorithm("regression")
def maml(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | None = None,
    k: int | None = None,
    rounds: int = 100,
    first_order: bool = False,
    batches: str | None = None,
    inner_step_size: float | None = None,
    step_size: float | None = None,
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    participation: float = 1.0,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run MAML: clients adapt B and the head by one step; the server learns the initialization.

    .. math:: (B_i, w_i) = (B, w) - \alpha \nabla L_i^{(1)}(B, w), \qquad
              (B, w) \leftarrow (B, w) - \frac\beta{|I|} \sum_{i \in I}
              \nabla_{B, w}\, L_i^{(2)}(B_i, w_i)

    Parameters
    ----------
    problem, m, k, rounds, batches, inner_step_size, step_size, start, participation, record, rng
        As in :func:`anil`.
    first_order : bool, default False
        Take the outer gradient at (B_i, w_i), and not through the inner step (FO-MAML).

    Returns
    -------
    Trace
        As of :func:`anil`.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, a client has one sample, or labels are all zero.

    Notes
    -----
    Collins, Mokhtari, Oh and Shakkottai, *MAML and ANIL provably learn representations*, 2022. In
    the notation of :func:`anil`, now with :math:`u = B_i^\top g^{(2)}` and :math:`h = \frac1{m_1}
    X_1^\top X_1 (B u + w^\top w_i\, g^{(2)})`, exact outer gradients are :math:`g^{(2)} w_i^\top -
    \alpha g^{(1)} u^\top - \alpha h w^\top` in B and :math:`u - \alpha (g^{(1)\top} g^{(2)}) w_i -
    \alpha B^\top h` in w. With few samples relative to k, runs through the inner step diverge at
    the default outer step, and say so: choose a shorter one.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=100, d=10, k=2, rng=0)
    >>> trace = lr.maml(truth, m=20, rounds=200, first_order=True, rng=1)
    >>> bool(trace["distance"][-1] < 0.1 * trace["distance"][0])
    True
    """
    return _run(
        "MAML", True, problem, m=m, k=k, rounds=rounds, first_order=first_order, batches=batches,
        inner_step_size=inner_step_size, step_size=step_size, start=start,
        participation=participation, record=record, rng=rng,
    )  # fmt: skip


def _run(
    algorithm, whole, problem, *, m, k, rounds, first_order, batches, inner_step_size, step_size,
    start, participation, record, rng,
) -> Trace:  # fmt: skip
    watch = Stopwatch()
    rounds = read_rounds(rounds, record)
    if batches is None:
        batches = "split" if isinstance(problem, SharedRepresentation) else "fixed"
    check.choice("batches", batches, BATCHES)
    begun = begin(start, rng, "data", "participation", "start")
    data_rng, participation_rng, start_rng = begun.rngs
    truth, data, m = read_problem(problem, m, batches)
    if isinstance(truth, ImplicitRepresentation):
        raise ValueError("problem must be a truth that stores B*: samples of it are drawn")
    n, d = problem.n, problem.d
    if k is None and truth is None:
        raise ValueError("k must be given: the width of the representation to learn")
    k = check.rank(truth.k if k is None else k, n, d)
    participants = check.count_participants(n, participation)
    if data is None and batches == "fixed":
        data = truth.draw(m, rng=data_rng)
    if batches == "fresh" and m < 2:
        raise ValueError("m must be at least 2 with batches='fresh': a sample in each half")
    drawn = 0 if m is None or batches == "fixed" else int(m) * (2 if batches == "split" else 1)
    if data is not None and data.m.min() < 2:
        raise ValueError("data must have at least two samples of every client, one in each half")
    if isinstance(start, Trace):
        inner_step_size = start.settings.get("inner_step_size")
        step_size = start.step_size
    inner = (drawn + 1) // 2 if data is None else int(data.m.min() + 1) // 2
    square = units_of(data).covariates ** 2
    alpha, beta, rule = _steps(truth, data, k, inner, square, inner_step_size, step_size)
    if isinstance(start, str):
        check.choice("start", start, ("random",))
        B, w = subspace.random_frame(d, k, start_rng) / np.sqrt(alpha * square), np.zeros((k, 1))
    else:
        B, w = read_pair(_columns(start), "'random'", B=(d, k), w=(k, 1))
    largest = drawn if data is None else int(data.m.max())
    method = _Meta(
        B, w.ravel(), data, partial(_draw, truth, drawn, data_rng),
        Schedule(participation_rng, n, participants, min(rounds, 100)),
        (alpha, whole, not first_order), beta, kernel.workspace(k, d, largest),
        truth if truth is not None and truth.k == k else None, data_rng,
    )  # fmt: skip

    def sent(recorded):
        floats = participants * k * (d + 1) * recorded.astype(float)
        return {"floats_up": floats, "floats_down": floats.copy()}

    return drive(
        method,
        algorithm=("FO-" if first_order else "") + algorithm,
        rounds=rounds,
        record=record,
        settings={
            "problem": repr(problem), "m": m, "k": k, "rounds": rounds, "batches": batches,
            "first_order": first_order, "start": start_name(start), "participation": participation,
            "participants": participants, "inner_step_size": alpha, "step_size": beta,
            "step_size_rule": rule,
        },
        watch=watch,
        sent=sent,
        problem=problem,
        begun=begun,
    )  # fmt: skip


def _columns(start):
    """Return a pair whose head is a column, as matrices are read; others as they are."""
    if isinstance(start, Trace):
        return start.state["B"], start.state["w"][:, None]
    if isinstance(start, tuple) and len(start) == 2:
        return start[0], np.asarray(start[1])[..., None]
    return start


def _draw(truth, m, rng, participants):
    """Return m new samples of some clients."""
    return truth.draw(m, rng=rng, clients=participants)


def _steps(truth, data, k, m, square, alpha, beta):
    """Return alpha and beta, and by which rule beta was found."""
    if alpha is not None:
        alpha = check.real("inner_step_size", alpha, above=0.0)
    if beta is not None:
        beta = check.real("step_size", beta, above=0.0)
        return 1.0 / square if alpha is None else alpha, beta, "given"
    if truth is not None:
        d, sigma = truth.d, truth.sigma_max()
    else:
        d, sigma = data.d, truncated_spectrum(data, k, TRUNCATION)[1] / square
    if not sigma > 0.0:
        raise ValueError("step_size must be given where labels, or heads, are all zero")
    if alpha is None:
        alpha = 1.0 if data is None or data.truth is not None else 1.0 / (2.0 * square * sigma)
    noisy = 1.0 + (d + 1.0) / m
    return alpha, _SHARE / (square**2 * alpha * sigma**2 * noisy), "spectral"


class _Meta(Method):
    """Outer steps; see :class:`linrep.algorithms.driver.Method`."""

    kept = ("_BT", "_w", "_loss", "_schedule", "_data_rng")

    most = 1
    saved_before_run = True
    descends = False  # the loss is that after an inner step

    def __init__(self, B, w, data, draw, schedule, inner, step_size, work, truth, data_rng):
        self._BT, self._w = np.ascontiguousarray(B.T), np.ascontiguousarray(w)
        self._data, self._draw, self._schedule = data, draw, schedule
        self._inner, self._step_size, self._work = inner, step_size, work
        self._truth, self._data_rng, self._loss, self._done = truth, data_rng, np.nan, 0

    @property
    def state(self):
        B = self._BT.T.copy()
        fitted = {} if self._data is None else {"W": fit_heads(self._data, B)}
        return {"B": B, "w": self._w.copy()} | fitted

    def run(self, rounds):
        participants = self._schedule.next(1)[0]
        data: Any = self._data
        if data is None:
            data, participants = self._draw(participants), np.arange(len(participants))
        work = self._work
        self._loss = kernel.meta_gradients(
            data.X, data.y, data.offsets, participants, self._BT, self._w, *self._inner, work
        )
        share = self._step_size / len(participants)
        with np.errstate(over="ignore", invalid="ignore"):
            self._BT = self._BT - share * work.sumT
            self._w = self._w - share * work.head_sum
        self._done += 1
        return 1, COMPLETED

    def measure(self):
        """Return a row of metrics, None where the state is not finite."""
        if not (np.isfinite(self._BT).all() and np.isfinite(self._w).all()):
            return None
        row = {"loss": self._loss}
        if self._truth is not None:
            if self._data is None:  # no heads to fit
                row = {"distance": subspace.distance_or_nan(self._BT.T, self._truth.B)} | row
            else:
                B = self._BT.T.copy()
                row |= representation_errors(B, fit_heads(self._data, B), self._truth)
        return None if self._done and not np.isfinite(list(row.values())).all() else row


checked(globals(), units=False)
