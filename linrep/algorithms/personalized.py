"""What pFL^MF is compared with: other ways to relate the clients' models, on the same functions.

All keep the matrix of models theta (n, d) itself. Each round every client takes gradient steps on
its own function from its own model, and the server replaces the matrix by its projection on what is
allowed, or by the proximal point of a penalty: with one local step, proximal gradient descent.

Every function takes the following, next to what is its own.

problem : Objectives or ClientData
    Clients' functions, or samples, whose least squares they are.
step_size : float, optional
    Of a step on f_i. By default it is found in every round where there is one local step and F or
    the penalty can tell what is better: spectral projected gradient descent
    after Barzilai and Borwein. With several local steps, and with momentum (`constrained`,
    `nuclear_norm`), it is 1 over the largest smoothness of any f_i; with ``center="global"``, 1.5
    over it.
rounds : int, default 1000
    At most so many.
tolerance : float, default 1e-10
    Stop as ``converged`` after a round with no larger ``change``; of least squares on samples
    without a truth, times the covariates' root mean square and the labels' standard deviation, so
    that units do not matter.
start : array_like, shape (n, d), optional
    By default zeros.

It returns a Trace with the state ``theta`` (n, d) and the metrics ``objective``, F without any
penalty; ``change``, the root mean square over clients of the models' change in the last round, over
the step size (NaN for the start); ``gap``, ``error`` and ``truth_error`` as in :func:`pflmf`, where
there is a rank or a truth; ``step_size`` where it is found, that of the round (of `local`, over
1/L_i of each client, where smoothness is known); and ``floats_up`` and ``floats_down``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.algorithms.curvature import SHARE
from linrep.algorithms.descent import Descent
from linrep.algorithms.diagnosis import own_data
from linrep.algorithms.driver import run_rounds
from linrep.algorithms.pflmf import distances
from linrep.algorithms.step_sizes import units_of
from linrep.kernels.diameter import project_differences
from linrep.problems.clients import ClientData
from linrep.problems.losses import LeastSquaresObjectives, as_objectives
from linrep.problems.objectives import Objectives
from linrep.trace import Trace

Values = NDArray[np.float64]
Server = Callable[[Values, float], Values]
Penalty = Callable[[Values], float]
CENTERS = ("mean", "global")
_ADMM_STEPS = 20_000
_ADMM_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Options:
    """The arguments that the methods share, checked."""

    step_size: float | None
    rounds: int
    tolerance: float
    start: ArrayLike | None
    local_steps: int = 1

    def __post_init__(self):
        tolerance = check.real("tolerance", self.tolerance, minimum=0.0)
        object.__setattr__(self, "local_steps", check.local_steps(self.local_steps))
        object.__setattr__(self, "tolerance", tolerance)

    def models(self, n: int, d: int) -> Values:
        """Return the models (n, d) that a run begins with."""
        return np.zeros((n, d)) if self.start is None else check.array("start", self.start, (n, d))


def local(
    problem: Objectives | ClientData,
    *,
    local_steps: int = 1,
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    """Let every client minimize its own function.

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    local_steps : int, default 1
        Gradient steps per round.
    """
    options = _Options(step_size, rounds, tolerance, start, local_steps)
    return _run(
        "local", problem, lambda X, _: X, options, sent=0, penalty=_nothing, alone=True,
    )  # fmt: skip


def average(
    problem: Objectives | ClientData,
    *,
    local_steps: int = 1,
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    """Run FedAvg: a global model, the mean of the clients' after their local steps.

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    local_steps : int, default 1
        With one, gradient descent on the mean of all functions.
    """
    options = _Options(step_size, rounds, tolerance, start, local_steps)
    server = _mean_of(None)
    return _run("FedAvg", problem, server, options, penalty=_nothing)


def oracle_clusters(
    problem: Objectives | ClientData,
    *,
    clusters: ArrayLike | None = None,
    local_steps: int = 1,
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    """Run FedAvg within every cluster.

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    clusters : array_like of int, shape (n,), optional
        Which clients share a model; by default as the problem knows.
    local_steps : int, default 1
    """
    found = as_objectives(problem)
    clusters = found.clusters if clusters is None else np.asarray(clusters)
    if clusters is None or clusters.shape != (found.n,) or clusters.dtype.kind not in "iu":
        raise ValueError(f"clusters must be {found.n} integers, one per client")
    options = _Options(step_size, rounds, tolerance, start, local_steps)
    server = _mean_of(clusters)
    return _run("oracle clusters", found, server, options, penalty=_nothing)


def distance_regularized(
    problem: Objectives | ClientData,
    *,
    penalty: float,
    center: str = "mean",
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    r"""Pull every model towards a common one.

    .. math:: \frac1n \sum_i \Big(f_i(\theta_i) + \frac\lambda2 \|\theta_i - c\|^2\Big)

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    penalty : float
        lambda, not negative.
    center : {"mean", "global"}
        c is the mean of the models, and all are minimized over (Hanzely and Richtárik, 2020); or
        the model of FedAvg, found on the way (Ditto of Li et al., 2021).
    """
    penalty = check.real("penalty", penalty, minimum=0.0)
    check.choice("center", center, CENTERS)
    problem = as_objectives(problem)
    shared = np.zeros(problem.d)

    def restart():
        nonlocal shared
        shared = np.zeros(problem.d)

    def server(X, step):
        nonlocal shared
        if center == "global":
            models = np.tile(shared, (problem.n, 1))
            shared = shared - step * problem.gradients(models).mean(axis=0)
            c = shared
        else:
            c = X.mean(axis=0)
        return (X + step * penalty * c) / (1.0 + step * penalty)

    def pulled(X):
        return 0.5 * penalty * float(np.sum((X - X.mean(axis=0)) ** 2))

    sent = problem.d * (2 if center == "global" else 1)
    options = _Options(step_size, rounds, tolerance, start)
    return _run(
        "distance-regularized",
        problem,
        server,
        options,
        sent=sent,
        penalty=pulled if center == "mean" else None,
        share=SHARE if center == "global" else 1.0,
        restart=restart,
        noted={"penalty": penalty, "center": center},
    )


def constrained(
    problem: Objectives | ClientData,
    *,
    delta: float,
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    r"""Keep any two models within a distance: :math:`\|\theta_i - \theta_j\| \le \delta`.

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    delta : float
        Not negative; 0 is a global model.

    Notes
    -----
    pFL^MF, Figure 1. The server's projection costs O(n^2 d) a step of the alternating direction
    method of multipliers.
    """
    delta = check.real("delta", delta, minimum=0.0)
    project = DiameterProjection(delta)
    options = _Options(step_size, rounds, tolerance, start)
    return _run(
        "distance-constrained",
        problem,
        lambda X, _: project(X),
        options,
        accelerate=True,
        noted={"delta": delta},
    )


def hard_thresholding(
    problem: Objectives | ClientData,
    *,
    k: int,
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    """Truncate the matrix of models to rank k after every step: projected gradient descent.

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    k : int
        Rank, at most min(n, d).

    Notes
    -----
    Jain, Meka and Dhillon, *Guaranteed rank minimization via singular value projection*, 2010. The
    server decomposes a matrix (n, d) in every round.
    """
    problem = as_objectives(problem)
    k = check.rank(k, problem.n, problem.d)

    def server(X, _):
        left, s, right = np.linalg.svd(X, full_matrices=False)
        return (left[:, :k] * s[:k]) @ right[:k]

    options = _Options(step_size, rounds, tolerance, start)
    return _run(
        "hard thresholding", problem, server, options, k=k, penalty=_nothing, noted={"k": k}
    )


def nuclear_norm(
    problem: Objectives | ClientData,
    *,
    penalty: float,
    step_size: float | None = None,
    rounds: int = 1000,
    tolerance: float = 1e-10,
    start: ArrayLike | None = None,
) -> Trace:
    r"""Minimize :math:`F(\theta) + \lambda \|\theta\|_*` by accelerated proximal steps.

    Parameters
    ----------
    problem, step_size, rounds, tolerance, start
        See the module.
    penalty : float
        lambda, not negative.

    Notes
    -----
    The server decomposes a matrix (n, d) in every round.
    """
    penalty = check.real("penalty", penalty, minimum=0.0)
    problem = as_objectives(problem)

    def server(X, step):  # a step on every f_i is one of n times that size on F
        left, s, right = np.linalg.svd(X, full_matrices=False)
        return (left * np.maximum(s - problem.n * step * penalty, 0.0)) @ right

    options = _Options(step_size, rounds, tolerance, start)
    return _run(
        "nuclear norm", problem, server, options, accelerate=True, noted={"penalty": penalty}
    )


def penalties(problem: Objectives | ClientData, count: int = 6) -> list[float]:
    """Return penalties of :func:`nuclear_norm` to choose among, the largest first.

    Parameters
    ----------
    problem : Objectives or ClientData
    count : int, default 6
        How many, two in each power of ten.

    Returns
    -------
    list of float
        The first is a third of the spectral norm of the gradient of F at 0, from which on the
        minimizer is 0.
    """
    count = check.integer("count", count, minimum=1)
    problem = as_objectives(problem)
    gradient = problem.gradients(np.zeros((problem.n, problem.d))) / problem.n
    largest = float(np.linalg.norm(gradient, 2))
    return [largest * 10.0 ** (-0.5 * place) for place in range(1, count + 1)]


class DiameterProjection:
    """Projection onto the sets of models of which no two are further apart than delta.

    Keeps its multipliers, so that a next call for models near by is quick.

    Parameters
    ----------
    delta : float
        At least 0.
    """

    def __init__(self, delta: float):
        self._delta = check.real("delta", delta, minimum=0.0)
        self._multipliers: Values | None = None

    def __call__(self, X: Values) -> Values:
        """Return the projection of models (n, d)."""
        n, mean = len(X), X.mean(axis=0)
        memory.require("the differences of all models", 4 * n * X.size, n=n, d=X.shape[1])
        if self._delta == 0.0:
            return np.tile(mean, (n, 1))
        if _diameter(X) <= self._delta:
            return X
        Y = np.zeros((n, n, X.shape[1])) if self._multipliers is None else self._multipliers
        D = _clip(X[:, None] - X[None], self._delta)
        theta = np.empty_like(X)
        project_differences(
            X + mean, self._delta, Y, D, theta, (D - Y).mean(axis=1),
            _ADMM_ROUNDING * np.abs(X - mean).max(), _ADMM_STEPS,
        )  # fmt: skip
        self._multipliers = Y
        widest = _diameter(theta)
        return mean + (theta - mean) * (min(1.0, self._delta / widest) if widest > 0.0 else 1.0)


def _diameter(X):
    """Return the largest distance of two rows."""
    return np.sqrt(np.max(np.sum((X[:, None] - X[None]) ** 2, axis=2)))


def _clip(D, delta):
    """Shorten vectors along the last axis to at most delta."""
    length = np.sqrt(np.sum(D**2, axis=-1, keepdims=True))
    return D * (delta / np.maximum(length, delta))


def _mean_of(clusters):
    """Return a server that replaces models by their mean, in every cluster."""

    def server(X, _):
        if clusters is None:
            return np.tile(X.mean(axis=0), (len(X), 1))
        _, member, counts = np.unique(clusters, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), X.shape[1]))
        np.add.at(sums, member, X)
        return (sums / counts[:, None])[member]

    return server


def _nothing(X):
    """Return the penalty of models that are allowed."""
    return 0.0


def _run(
    name,
    problem,
    server: Server,
    options: _Options,
    *,
    accelerate=False,
    k=None,
    sent=None,
    penalty: Penalty | None = None,
    alone=False,
    share=1.0,
    restart: Callable[[], None] | None = None,
    noted=None,
) -> Trace:
    """Run rounds of local steps and a server.

    penalty is n times what is added to F, where the server is its proximal map or a projection;
    alone says that no model depends on another. A step by smoothness is a share of 1/L. restart is
    called before the first round: a server may remember others.
    """
    problem = as_objectives(problem)
    n, d = problem.n, problem.d
    step_size: float | str | None = options.step_size
    local_steps = options.local_steps
    limit = options.tolerance * _gradients_unit(problem)
    theta = options.models(n, d)
    best = None if k is None else problem.best(k)
    rule = "given"
    if step_size is None and local_steps == 1 and penalty is not None:
        rule = step_size = "adaptive"
        step, first = _adaptive(problem, server, penalty, theta, alone)
    else:
        if step_size is None:
            longest = _inverse_smoothness(problem)
            if longest is None:
                raise ValueError(
                    "step_size must be given where the functions' smoothness is unknown"
                )
            rule, step_size = "smoothness", share * longest
        step_size = check.real("step_size", step_size, above=0.0, maximum=check.LARGEST)
        step, first = _constant(problem, server, theta, step_size, local_steps, accelerate)
    if restart is not None:
        step = _restarting(step, restart)
    asked = {0: 0}

    def measure(state):
        asked[state["done"]] = state["asked"]
        with np.errstate(over="ignore", invalid="ignore"):
            value = problem.value(state["theta"])
            row: dict[str, Any] = {"objective": value, "change": state["change"]}
            row |= distances(problem, best, state["theta"], value)
        return row | ({"step_size": state["step"]} if rule == "adaptive" else {})

    def floats(recorded):
        exchanges = np.array([asked[int(t)] for t in recorded], dtype=float)
        each = n * (d if sent is None else sent) * exchanges
        return {"floats_up": each, "floats_down": each.copy()}

    return run_rounds(
        step, first, rounds=options.rounds, measure=measure, algorithm=name,
        stop=lambda row: row["change"] <= limit,
        final=lambda state: {"theta": state["theta"]},
        settings={
            "problem": repr(problem), "step_size": step_size, "step_size_rule": rule,
            "rounds": options.rounds, "local_steps": local_steps, "tolerance": options.tolerance,
            **(noted or {}),
        },
        sent=floats,
        problem=problem,
    )  # fmt: skip


def _gradients_unit(problem):
    """Return the size that gradients have by the units of data of one's own, 1 of others."""
    data = own_data(problem)
    if data is None or not isinstance(problem, LeastSquaresObjectives):
        return 1.0
    units = units_of(data)
    return units.covariates * units.labels


def _restarting(step, restart):
    """Return a step that lets the server forget, where it is that of the first round."""

    def restarting(state, t):
        if t == 1:
            restart()
        return step(state, t)

    return restarting


def _inverse_smoothness(problem):
    """Return 1 over the largest smoothness of any function, None where it is unknown."""
    largest = float(problem.smoothness.max())
    return 1.0 / largest if 0.0 < largest < np.inf else None


def _constant(problem, server, theta, step_size, local_steps, accelerate):
    """Return a round with a step that stays, and its first state."""

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is not finite then
    def step(state, t):
        theta, ahead, weight = state["theta"], state["ahead"], state["weight"]
        X = ahead
        for _ in range(local_steps):
            X = X - step_size * problem.gradients(X)
        following = server(X, step_size) if np.isfinite(X).all() else X
        change = np.sqrt(np.sum((following - ahead) ** 2) / problem.n) / step_size
        ahead, move = following, following - theta
        if accelerate:  # restarted where momentum points uphill (O'Donoghue and Candès, 2015)
            weight = 1.0 if np.vdot(state["ahead"] - following, move) > 0.0 else weight
            heavier = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
            ahead, weight = following + (weight - 1.0) / heavier * move, heavier
        known = {"theta": following, "ahead": ahead, "weight": weight, "change": change}
        return known | {"done": t, "asked": t}

    start = {"theta": theta, "ahead": theta, "weight": 1.0, "change": np.nan}
    return step, start | {"done": 0, "asked": 0}


def _adaptive(problem, server, penalty, theta, alone):
    """Return a round whose step is found, and its first state.

    The descent runs on the models, each in units in which it is as smooth as the others where none
    depends on another.
    """
    n, d = problem.n, problem.d
    roots, first = np.ones((n, 1)), _inverse_smoothness(problem)
    if alone and first is not None:
        roots[problem.smoothness > 0.0, 0] = np.sqrt(problem.smoothness[problem.smoothness > 0.0])
        first = 1.0

    @np.errstate(over="ignore", invalid="ignore")  # such models are not taken
    def evaluate(x):
        models = x.reshape(n, d) / roots
        values, gradients = problem.values_and_gradients(models)
        return float(values.sum()) + penalty(models), (gradients / roots).ravel(), None

    def proximal(x, step):
        if not np.isfinite(x).all():
            return x
        return (roots * server(x.reshape(n, d) / roots, step)).ravel()

    # From models that are allowed: those that are not may have any value.
    descent = Descent(
        evaluate, proximal((roots * theta).ravel(), 0.0), proximal=proximal, first=first
    )

    def step(state, t):
        descent.restore(state["descent"])
        before = descent.x
        descent.move()
        size = np.linalg.norm(roots * (descent.x - before).reshape(n, d)) / np.sqrt(n)
        return {
            "theta": descent.x.reshape(n, d) / roots,
            "change": size / descent.step if descent.step > 0.0 else 0.0,
            "step": descent.step, "descent": descent.save(), "done": t,
            "asked": descent.trials + 1,
        }  # fmt: skip

    start = {"theta": theta, "change": np.nan, "step": np.nan, "descent": descent.save()}
    return step, start | {"done": 0, "asked": 0}


checked(globals(), units=False)
