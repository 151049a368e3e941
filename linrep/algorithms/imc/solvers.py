"""The centralized solvers of inductive matrix completion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.threads import one_thread
from linrep.algorithms._setup import read_pair
from linrep.algorithms.diagnosis import Note, tell
from linrep.algorithms.imc.core import Core, dense, factors_of
from linrep.algorithms.imc.sides import fit_both
from linrep.algorithms.registry import algorithm
from linrep.problems.completion import Observations
from linrep.trace import MOST_ROUNDS, Trace, columns

__all__ = [
    "alternating",
    "balanced_gradient",
    "gauss_newton",
    "least_squares",
    "nuclear_norm",
]

Values = NDArray[np.float64]
_MOST_LEVELS = 10**6
_STEP = 0.5  # of gradient steps, over the squared norm of the start
_GROWTH = 10  # gradient steps in a row that lower the objective, after which they are doubled
_AWAY = 100.0  # times the start's objective
_HALVINGS = 50  # after which nothing leads downhill
_SMALL = 1000  # unknowns of a linear system
_EXACT = 1e-10  # relative residual below which differences are rounding
_STALLED = 1e-7  # relative decrease of the objective that ends a run on entries with noise


@algorithm("completion")
def gauss_newton(
    observations: Observations, k: int, *, iterations: int = 100, tolerance: float = 1e-14,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    """Fit by Gauss-Newton steps: least squares of the entries linearized in both factors.

    Parameters
    ----------
    observations : Observations
    k : int
        Rank.
    iterations : int, default 100
        At most so many.
    tolerance : float, default 1e-14
        Stop as ``converged`` when the residual on the entries, relative to them, is at most this,
        or below 1e-10 and does not fall any more. Where entries have noise or their truth is not
        known, an iteration that changes the objective by at most 1e-7 of it is the last, too.
    start : "spectral" or pair (U, V)
        The leading part of the entries' matrix, the others taken as zero, divided by their share,
        between the two bases; or factors (a, k), (p, k).

    Returns
    -------
    Trace
        State ``U`` (a, k), or (d, k) without side information on items, and ``V`` (p, k): the
        entries are fitted by A U V' Z'. Metrics: ``residual`` on the entries, relative to them, and
        ``error`` of the whole matrix, relative to it, where the truth is known. Unless the entries
        are those of a known truth without noise, the trace ends with the iterate of the least
        residual, beyond rounding.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or side information has dependent columns.

    Notes
    -----
    GNIMC of Zilber and Nadler, *Inductive Matrix Completion: No Bad Local Minima and a Fast
    Algorithm*, ICML 2022, its variant alpha = -1 with orthonormalized factors: the step of least
    norm. It is found from the normal equations, of size k(a + p), or kp where nothing is known of
    the items, whose rows are eliminated then.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SideInformationCompletion.random(n=300, d=40, p=6, k=2, rng=0)
    >>> seen = truth.observe(entries=600, rng=1)
    >>> bool(lr.algorithms.imc.gauss_newton(seen, 2)["error"][-1] < 1e-10)
    True
    """
    core = Core(observations, k)

    def steps(U, V):
        while True:
            U, V = _step(core, U, V)
            yield U, V

    return _follow("Gauss-Newton", core, start, steps, iterations, tolerance)


def _step(core, U, V):
    """Return the factors after the step of least norm; U becomes orthonormal before it."""
    U, mixing = np.linalg.qr(U)
    V = V @ mixing.T
    frame, mixing = np.linalg.qr(V)
    # U V' changes by dU V' + U dV', which is S frame' + U dV' with S = dU mixing'.
    S, dV = fit_both(core.left, core.right, U, frame, core.values - core.predict(U, V))
    return U + np.linalg.solve(mixing, S.T).T, V + dV


@algorithm("completion")
def alternating(
    observations: Observations, k: int, *, iterations: int = 1000, tolerance: float = 1e-14,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    """Fit by least squares in one factor and then in the other, orthonormalized in between.

    Parameters
    ----------
    observations, k, tolerance, start
        As in :func:`gauss_newton`, and so is what is returned and raised.
    iterations : int, default 1000
        At most so many.

    Notes
    -----
    Jain and Dhillon, *Provable Inductive Matrix Completion*, 2013.
    """
    core = Core(observations, k)

    def steps(U, V):
        while True:
            U = core.left.fit(core.right.seen(np.linalg.qr(V)[0]), core.values)
            U = np.linalg.qr(U)[0]
            V = core.right.fit(core.left.seen(U), core.values)
            yield U, V

    return _follow("alternating minimization", core, start, steps, iterations, tolerance)


@algorithm("completion")
def balanced_gradient(
    observations: Observations, k: int, *, iterations: int = 10_000, tolerance: float = 1e-14,
    step_size: float | None = None, balance: float = 0.5,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    r"""Fit by gradient steps in both factors, on the squared residual and a balancing term.

    .. math::
        \frac1{2q} \|P_\Omega(U V^\top) - y\|^2 + \frac{\lambda}{4} \|U^\top U - V^\top V\|_F^2

    with q the share of entries seen.

    Parameters
    ----------
    observations, k, tolerance, start
        As in :func:`gauss_newton`, and so is what is returned and raised.
    iterations : int, default 10000
        At most so many.
    step_size : float, optional
        In units of one over the squared spectral norm of the start's U; positive. By default 0.5,
        halved when a step would raise the objective, and doubled after ten that do not, up to 0.5
        again. On entries of a known truth without noise the objective may rise, to a hundred times
        that of the start.
    balance : float, default 0.5
        lambda, at least 0.

    Notes
    -----
    Zhang, Du and Gu, *Fast and Sample Efficient Inductive Matrix Completion via Multi-Phase
    Procrustes Flow*, ICML 2018, its last phase.
    """
    core, given = Core(observations, k), step_size is not None
    units = _STEP if step_size is None else check.real("step_size", step_size, above=0.0)
    balance = check.real("balance", balance, minimum=0.0)

    def objective(U, V, excess):
        return core.objective(U, V) / core.share + 0.25 * balance * np.vdot(excess, excess)

    def steps(U, V):
        norm = float(np.linalg.norm(U, 2))
        if norm == 0.0:
            return
        largest = eta = units / norm**2
        excess = U.T @ U - V.T @ V
        before, downhill = objective(U, V, excess), 0
        # Without noise a step that leads uphill may lead on: only one that leads away is cut.
        free = _AWAY * before if _is_exact(core.observations) else 0.0
        while True:
            in_U, in_V = core.gradients(U, V)
            scaled = balance * excess
            in_U += U @ scaled
            in_V -= V @ scaled
            for _ in range(_HALVINGS):
                new = U - eta * in_U, V - eta * in_V
                if given:
                    break
                excess = new[0].T @ new[0] - new[1].T @ new[1]
                after = objective(*new, excess)
                if after <= max(before, free):  # what overflows is not
                    break
                eta, downhill = 0.5 * eta, 0
            else:
                return
            U, V = new
            yield U, V
            if given:
                excess = U.T @ U - V.T @ V
                continue
            before, downhill = after, downhill + 1
            if downhill >= _GROWTH and eta < largest:
                eta, downhill = min(2.0 * eta, largest), 0

    settings = {
        "step_size": units if given else "adaptive",
        "step_size_rule": "given" if given else "adaptive",
        "balance": balance,
    }
    return _follow("balanced gradient descent", core, start, steps, iterations, tolerance, settings)


@algorithm("completion")
def nuclear_norm(
    observations: Observations, *, levels: int = 12, iterations: int = 3000,
    smallest: float = 1e-10, tolerance: float = 1e-12, record: int = 1,
) -> Trace:  # fmt: skip
    r"""Minimize the squared residual plus a multiple of the core's nuclear norm; the rank is free.

    .. math:: \tfrac12 \|P_\Omega(Q_A M Q_Z^\top) - y\|^2 + \lambda \|M\|_*

    Parameters
    ----------
    observations : Observations
    levels, iterations : int, default 12 and 3000
        Values of lambda, spaced geometrically from the least that gives M = 0, each solved from
        the last one's solution; steps in all.
    smallest : float, default 1e-10
        The last lambda, relative to the first.
    tolerance : float, default 1e-12
        A level ends when a step changes M by at most this, relative to M.
    record : int, default 1
        Keep the metrics of every so many steps, and of the start and the last.

    Returns
    -------
    Trace
        As for :func:`gauss_newton`; the state has the factors of M, their rank that of M.

    Notes
    -----
    Maxide of Xu, Jin and Zhou, *Speedup Matrix Completion with Side Information*, NIPS 2013, by
    accelerated proximal gradient steps, restarted where momentum points uphill.
    """
    levels = check.count("levels", levels, most=_MOST_LEVELS)
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    smallest = check.real("smallest", smallest, above=0.0)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    record = check.count("record", record, most=MOST_ROUNDS)
    core = Core(observations, None)
    first = np.linalg.norm(dense(core.adjoint(core.values)), 2)
    curvature = core.curvature()
    per_level = max(1, iterations // levels)

    def steps(M):
        for level in first * np.geomspace(1.0, smallest, levels + 1)[1:]:
            ahead, weight = M, 1.0
            for _ in range(per_level):
                gradient = dense(core.adjoint(core.predict_core(ahead) - core.values))
                U, size, VT = np.linalg.svd(ahead - gradient / curvature, full_matrices=False)
                size = np.maximum(size - level / curvature, 0.0)
                new = U * size @ VT
                if np.vdot(ahead - new, new - M) > 0.0:
                    weight = 1.0
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
                ahead = new + (weight - 1.0) / following * (new - M)
                change, M, weight = np.linalg.norm(new - M), new, following
                yield U * np.sqrt(size), VT.T * np.sqrt(size)
                if change <= tolerance * np.linalg.norm(M):
                    break

    U, V = factors_of(np.zeros(core.shape))
    rows, recorded, taken = [core.measure(U, V)], [0], 0
    for taken, (U, V) in enumerate(steps(np.zeros(core.shape)), 1):
        if taken % record == 0:
            rows.append(core.measure(U, V))
            recorded.append(taken)
    if taken > recorded[-1]:
        rows.append(core.measure(U, V))
        recorded.append(taken)
    U, V = factors_of(U @ V.T)
    return _make_trace("nuclear norm", core, U, V, rows, "rounds", recorded=np.array(recorded))


@algorithm("completion")
def least_squares(observations: Observations) -> Trace:
    """Fit the core by unconstrained least squares, of least norm; the rank is free.

    Parameters
    ----------
    observations : Observations

    Returns
    -------
    Trace
        As of :func:`gauss_newton`, with a single row besides the start's.
    """
    core = Core(observations, None)
    rows = [core.measure(*factors_of(np.zeros(core.shape)))]
    U, V = factors_of(core.least_squares())
    rows.append(core.measure(U, V))
    return _make_trace("least squares", core, U, V, rows, "rounds")


def _is_exact(observations: Observations) -> bool:
    """Tell whether entries are known to be those of a matrix of low rank, without noise."""
    return observations.truth is not None and observations.truth.noise == 0.0


def _follow(
    name: str,
    core: Core,
    start: Any,
    steps: Callable[[Values, Values], Iterator[tuple[Values, Values]]],
    iterations: int,
    tolerance: float,
    settings: dict[str, Any] | None = None,
) -> Trace:
    """Take steps until the residual is small enough or stalls, and return the best factors."""
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    judged = not _is_exact(core.observations)
    U, V = _read_start(core, start)
    walk = steps(U, V)
    with _threads_for(core), np.errstate(over="ignore", invalid="ignore"):
        rows, reason = [core.measure(U, V)], "rounds"
        before = core.objective(U, V)
        best = (before, U, V, 1)
        for _ in range(iterations):
            try:
                new = next(walk)
            except np.linalg.LinAlgError:  # a factor lost rank
                reason = "singular"
                break
            except StopIteration:
                reason = "converged"
                break
            objective = core.objective(*new)
            if not math.isfinite(objective):
                reason = "diverged"
                break
            U, V = new
            row = core.measure(U, V)
            rows.append(row)
            if objective < best[0]:
                best = objective, U, V, len(rows)
            last, residual = rows[-2]["residual"], row["residual"]
            stalled = judged and abs(before - objective) <= _STALLED * before
            if residual <= tolerance or (residual < _EXACT and residual >= last) or stalled:
                reason = "converged"
                break
            before = objective
    if judged and rows[-1]["residual"] >= _EXACT:
        _, U, V, count = best
        rows = rows[:count]
    notes: tuple[str, ...] = ()
    if reason == "diverged" and core.observations.truth is None:
        text = (
            f"{name} diverged, and its state is that of iteration {len(rows) - 1}: take a smaller "
            "k or, where it was given, leave step_size at its default"
        )
        notes = tell(Note("the run diverged", text))
    return _make_trace(name, core, U, V, rows, reason, settings, notes)


def _threads_for(core):
    """Let one thread do the linear algebra of small systems: sharing them takes twice as long."""
    # The limit is the process's: threads that leave in another order would not restore it.
    if current_thread() is main_thread() and sum(core.shape) * (core.k or 1) < _SMALL:
        return one_thread(known=True)
    return nullcontext()


def _read_start(core: Core, start: Any) -> tuple[Values, Values]:
    """Return factors in the bases."""
    if isinstance(start, str):
        check.choice("start", start, ("spectral",))
        return core.spectral()
    if isinstance(start, Trace):
        raise ValueError("start must be 'spectral' or a pair (U, V), got a Trace")
    assert core.k is not None
    (a, p), k = core.shape, core.k
    U, V = read_pair(start, "'spectral'", U=(a, k), V=(p, k))
    return core.left.inner(U), core.right.inner(V)


def _make_trace(
    name, core: Core, U, V, rows, reason, settings=None, notes=(), recorded=None
) -> Trace:
    """Return the trace of a run that came to these factors between the bases."""
    return Trace(
        algorithm=name,
        metrics=columns(rows),
        state={"U": core.left.given(U), "V": core.right.given(V)},
        settings={"problem": repr(core.observations), "k": core.k, **(settings or {})},
        stop_reason=reason,
        wall_time=core.watch.seconds(),
        notes=notes,
        recorded=recorded,
    )


checked(globals(), units=False)
