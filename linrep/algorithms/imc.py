"""Inductive matrix completion: the centralized solvers that PerFedSI is compared with.

All fit entries of A M Z' with M of low rank. They work in orthonormal bases of the columns of A and
Z, as in the literature, and return M's factors in the given bases. Entries whose truth is known are
fitted as in the literature; from others, such as ratings, biases of items and clients are
subtracted first, and the factors are fitted with a ridge.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.progress import progress_bar
from linrep.algorithms import _imc_ridge as ridges
from linrep.algorithms._imc_biases import fit_biases
from linrep.algorithms._imc_core import Core, dense, factors_of
from linrep.algorithms._imc_damped import damped_steps, plain_step
from linrep.algorithms._imc_runs import (
    STALLED,
    follow,
    follow_joint,
    is_exact,
    is_spectral,
    make_empty,
    make_trace,
    read_start,
)
from linrep.algorithms.registry import algorithm
from linrep.problems.completion import Observations
from linrep.trace import MOST_ROUNDS, Trace, columns

__all__ = [
    "alternating",
    "balanced_gradient",
    "biases_only",
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


@algorithm("completion")
def gauss_newton(
    observations: Observations, k: int, *, ridge: float | None = None, biases: bool | None = None,
    damped: bool | None = None, iterations: int = 100, tolerance: float = 1e-14,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    r"""Fit by Gauss-Newton steps: least squares of the entries linearized in both factors.

    Parameters
    ----------
    observations : Observations
    k : int
        Rank.
    ridge : float, optional
        Half of it times the squared norms of both factors is added to half the squared residual on
        the entries; the factors are those between the orthonormal bases. By default 0 for entries
        whose truth is known. For others it is chosen: a tenth of the entries, always the same, is
        held out, the rest is fitted with ever smaller ridges, and all entries with the one that
        had the least error.
    biases : bool, optional
        Whether to fit an offset and a bias for every item and client, and the factors to the
        remainder; with a ridge, both are fitted before the solver begins. By default if the truth
        is not known.
    damped : bool, optional
        Whether to damp a step that would not lower the objective (Levenberg and Marquardt). By
        default yes, unless the entries are those of a known truth without noise; always with a
        ridge.
    iterations : int, default 100
        At most so many.
    tolerance : float, default 1e-14
        Stop as ``converged`` when the residual on the entries, relative to them, is at most this,
        or below 1e-10 and does not fall any more. Where entries have noise or their truth is not
        known, an iteration that changes the objective by at most 1e-7 of it is the last, too.
    start : "spectral" or pair (U, V)
        The leading part of the entries' matrix, the others taken as zero, between the two bases:
        divided by their share or, with a ridge, shrunk by it; or factors (a, k), (p, k).

    Returns
    -------
    Trace
        State ``U`` (a, k), or (d, k) without side information on items, and ``V`` (p, k): the
        entries are fitted by A U V' Z'. With biases also ``offset``, ``item_bias`` (d,) and
        ``client_bias`` (n,), which :meth:`Trace.predict` adds. Metrics: ``residual`` on the
        entries, relative to them, and ``error`` of the whole matrix, relative to it, where the
        truth is known. Unless the entries are those of a known truth without noise, the trace
        ends with the iterate of the least objective, beyond rounding. ``settings`` has the
        ``ridge`` and whether there are ``biases``; ``ridge_rule`` is "none", "given" or "held out".

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

    Damped, and with a ridge, steps are found by conjugate gradients to a hundredth, and with a
    ridge the residuals' second derivatives are taken along (Newton's steps).

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SideInformationCompletion.random(n=300, d=40, p=6, k=2, rng=0)
    >>> seen = truth.observe(entries=600, rng=1)
    >>> bool(lr.algorithms.imc.gauss_newton(seen, 2)["error"][-1] < 1e-10)
    True
    """
    plan = ridges.make_plan(observations, k, ridge, biases, ridges.factor_path(k))
    core = plan.core
    if damped is None:
        damped = not is_exact(observations)
    elif not isinstance(damped, bool | np.bool_):
        raise TypeError(f"damped must be True, False or None, got {damped!r}")
    damped = bool(damped) or plan.ridge > 0.0

    def plain(U, V):
        while True:
            U, V = plain_step(core, U, V)
            yield U, V

    U, V = factors = read_start(plan, start)
    walk = damped_steps(core, U, V, plan.ridge) if damped else plain(U, V)
    settings = {"damped": damped}
    return follow("Gauss-Newton", plan, factors, walk, iterations, tolerance, settings)


@algorithm("completion")
def alternating(
    observations: Observations, k: int, *, ridge: float | None = None, biases: bool | None = None,
    iterations: int = 1000, tolerance: float = 1e-14,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral", progress: bool | None = None,
) -> Trace:  # fmt: skip
    """Fit by least squares in one factor and then in the other, orthonormalized in between.

    Parameters
    ----------
    observations, k, ridge, biases, tolerance, start
        As in :func:`gauss_newton`, and so is what is returned and raised.
    iterations : int, default 1000
        At most so many.
    progress : bool, optional
        Whether to show a bar that counts least-squares fits of both sides, those that choose the
        ridge included; by default on a terminal and in a notebook. Fits with a ridge and without
        side information alone are reported.

    Notes
    -----
    Jain and Dhillon, *Provable Inductive Matrix Completion*, 2013. With a ridge nothing is
    orthonormalized, and columns that do not pay are 0, as in Hastie, Mazumder, Lee and Zadeh,
    *Matrix completion and low-rank SVD via fast alternating least squares*, 2015.

    With a ridge and without side information, biases are fitted in the same steps as factors, with
    ridges that are the ratio of the noise's variance to theirs. Their variances are estimated once
    more when the factors are known roughly, which is where the run begins.
    """
    with progress_bar(progress, desc="alternating minimization", unit=" sweeps") as bar:
        plan = ridges.make_plan(observations, k, ridge, biases, ridges.factor_path(k), bar)
        if plan.joint is not None:
            given = None if is_spectral(start) else read_start(plan, start)
            name = "alternating minimization"
            return follow_joint(name, plan, plan.joint, iterations, tolerance, given)
    core = plan.core

    def plain(U, V):
        while True:
            U = core.left.fit(core.right.seen(np.linalg.qr(V)[0]), core.values)
            U = np.linalg.qr(U)[0]
            V = core.right.fit(core.left.seen(U), core.values)
            yield U, V

    name = "alternating minimization"
    if plan.ridge == 0.0:
        factors = read_start(plan, start)
        return follow(name, plan, factors, plain(*factors), iterations, tolerance)
    U, V = factors = make_empty(core) if is_spectral(start) else read_start(plan, start)
    walk = ridges.alternate(core, U, V, plan.ridge, core.k, STALLED)
    return follow(name, plan, factors, walk, iterations, tolerance, judged=False)


@algorithm("completion")
def balanced_gradient(
    observations: Observations, k: int, *, ridge: float | None = None, biases: bool | None = None,
    iterations: int = 10_000, tolerance: float = 1e-14,
    step_size: float | None = None, balance: float = 0.5,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    r"""Fit by gradient steps in both factors, on the squared residual and a balancing term.

    .. math::
        \frac1{2q} \|P_\Omega(U V^\top) - y\|^2 + \frac{\lambda}{4} \|U^\top U - V^\top V\|_F^2

    with q the share of entries seen; a ridge is divided by it, too.

    Parameters
    ----------
    observations, k, ridge, biases, tolerance, start
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
    plan = ridges.make_plan(observations, k, ridge, biases, ridges.factor_path(k))
    core, given = plan.core, step_size is not None
    units = _STEP if step_size is None else check.real("step_size", step_size, above=0.0)
    balance = check.real("balance", balance, minimum=0.0)
    shrink = plan.ridge / core.share

    def objective(U, V, excess):
        return core.objective(U, V, plan.ridge) / core.share + 0.25 * balance * np.vdot(
            excess, excess
        )

    def steps(U, V):
        norm = float(np.linalg.norm(U, 2))
        if norm == 0.0:
            return
        largest = eta = units / norm**2
        excess = U.T @ U - V.T @ V
        before, downhill = objective(U, V, excess), 0
        # Without noise a step that leads uphill may lead on: only one that leads away is cut.
        free = _AWAY * before if is_exact(core.observations) else 0.0
        while True:
            in_U, in_V = core.gradients(U, V)
            scaled = balance * excess
            in_U += U @ scaled
            in_V -= V @ scaled
            if shrink > 0.0:
                in_U += shrink * U
                in_V += shrink * V
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
    factors, name = read_start(plan, start), "balanced gradient descent"
    return follow(name, plan, factors, steps(*factors), iterations, tolerance, settings)


@algorithm("completion")
def nuclear_norm(
    observations: Observations, *, ridge: float | None = None, biases: bool | None = None,
    levels: int = 12, iterations: int = 3000, smallest: float = 1e-10, tolerance: float = 1e-12,
    progress: bool | None = None,
) -> Trace:  # fmt: skip
    r"""Minimize the squared residual plus a multiple of the core's nuclear norm; the rank is free.

    .. math:: \tfrac12 \|P_\Omega(Q_A M Q_Z^\top) - y\|^2 + \lambda \|M\|_*

    Parameters
    ----------
    observations : Observations
    ridge : float, optional
        The last lambda, which is solved for directly; 0 to go down to ``smallest``. By default 0
        for entries whose truth is known; for others chosen as in :func:`gauss_newton`.
    biases : bool, optional
        As in :func:`gauss_newton`.
    levels, iterations : int, default 12 and 3000
        Values of lambda, spaced geometrically from the least that gives M = 0, each solved from
        the last one's solution; steps in all.
    smallest : float, default 1e-10
        The last lambda, relative to the first.
    tolerance : float, default 1e-12
        A level ends when a step changes M by at most this, relative to M.
    progress : bool, optional
        As in :func:`alternating`.

    Returns
    -------
    Trace
        As for :func:`gauss_newton`; the state has the factors of M, their rank that of M. With a
        ridge, ``settings`` has the ``duality_gap``: at most this share of the objective separates
        it from the least one, by the dual problem's value at the residuals, shrunk until no
        singular value exceeds the ridge. Without side information biases are unknowns of that
        problem, else they are given. Where a matrix has more than 2000 rows and columns, its
        largest singular value is found to a thousandth, and the gap with it.

    Notes
    -----
    Maxide of Xu, Jin and Zhou, *Speedup Matrix Completion with Side Information*, NIPS 2013, by
    accelerated proximal gradient steps, restarted where momentum points uphill. With a ridge by
    turns in two factors with as many columns as are needed, which has the same minimizer (Hastie,
    Mazumder, Lee and Zadeh, *Matrix completion and low-rank SVD via fast alternating least
    squares*, 2015).
    """
    levels = check.count("levels", levels, most=_MOST_LEVELS)
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    smallest = check.real("smallest", smallest, above=0.0)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    with progress_bar(progress, desc="nuclear norm", unit=" sweeps") as bar:
        plan = ridges.make_plan(observations, None, ridge, biases, ridges.factor_path(None), bar)
        if plan.joint is not None:
            return follow_joint(
                "nuclear norm", plan, plan.joint, iterations, tolerance, certified=True
            )
    core = plan.core
    if plan.ridge > 0.0:
        U, V = factors = make_empty(core)
        walk = ridges.alternate(core, U, V, plan.ridge, None, STALLED)
        return follow(
            "nuclear norm", plan, factors, walk, iterations, tolerance, judged=False, certified=True
        )
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
    rows = [core.measure(U, V)]
    for U, V in steps(np.zeros(core.shape)):
        rows.append(core.measure(U, V))
    U, V = factors_of(U @ V.T)
    return make_trace("nuclear norm", plan, U, V, rows, "rounds")


@algorithm("completion")
def least_squares(
    observations: Observations, *, ridge: float | None = None, biases: bool | None = None
) -> Trace:
    """Fit the core by unconstrained least squares, of least norm; the rank is free.

    Parameters
    ----------
    observations : Observations
    ridge : float, optional
        Half of it times the squared norm of the core between the orthonormal bases is added to half
        the squared residual. By default as in :func:`gauss_newton`; without side information on
        either side none is chosen, as what is not seen is 0 with any.
    biases : bool, optional
        As in :func:`gauss_newton`.

    Returns
    -------
    Trace
        As of :func:`gauss_newton`, with a single row besides the start's.
    """
    plan = ridges.make_plan(observations, None, ridge, biases, ridges.core_path())
    core = plan.core
    rows = [core.measure(*factors_of(np.zeros(core.shape)))]
    U, V = factors_of(core.least_squares(plan.ridge))
    rows.append(core.measure(U, V))
    return make_trace("least squares", plan, U, V, rows, "rounds")


def biases_only(observations: Observations) -> Trace:
    """Fit an offset and a bias for every item and client, which every solver should improve on.

    Parameters
    ----------
    observations : Observations

    Returns
    -------
    Trace
        State ``offset``, ``item_bias`` (d,) and ``client_bias`` (n,); ``settings`` has the
        variances that shrink them. A row before and one after, of the ``residual`` relative to the
        entries.

    Raises
    ------
    ValueError, TypeError
        If there is nothing but zeros to fit.

    Notes
    -----
    Crossed random effects, whose variances are estimated by moments: Gao and Owen, *Efficient
    moment calculations for variance components in large unbalanced crossed random effects models*,
    2017. A bias is shrunk the more the fewer its entries.

    Examples
    --------
    >>> import linrep as lr
    >>> seen = lr.Observations([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0])
    >>> trace = lr.algorithms.imc.biases_only(seen)
    >>> [round(float(value), 2) for value in trace.predict(seen)]
    [1.0, 2.0, 3.0, 4.0]
    """
    watch = Stopwatch()
    core = Core(observations, None)
    biases = fit_biases(observations)
    residual = float(np.linalg.norm(observations.values - biases.predict(observations)))
    names = ("item_variance", "client_variance", "noise_variance")
    return Trace(
        algorithm="biases",
        metrics=columns([{"residual": 1.0}, {"residual": residual / core.size}]),
        state=biases.state(),
        settings={"problem": repr(observations), **dict(zip(names, biases.variances, strict=True))},
        stop_reason="rounds",
        wall_time=watch.seconds(),
    )


checked(globals(), units=False)
