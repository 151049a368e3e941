"""Other ways to relate the clients' models; see the folder for what they have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.algorithms.descent import SHARE
from linrep.algorithms.personalized.rounds import Options, Relation, no_penalty, run
from linrep.kernels.diameter import project_differences
from linrep.problems.clients import ClientData
from linrep.problems.losses import as_objectives
from linrep.problems.objectives import Objectives
from linrep.trace import Trace

Values = NDArray[np.float64]
CENTERS = ("mean", "global")
#: What all of them take.
DESCRIBED = {
    "problem": (
        "Objectives or ClientData",
        "Clients' functions, or samples, whose least squares they are.",
    ),
    "step_size": (
        "float",
        "Of a step on f_i. By default it is found in every round where there is one local step\n"
        "and F or the penalty can tell what is better: spectral projected gradient descent after\n"
        "Barzilai and Borwein. With several local steps, and with momentum (`constrained`,\n"
        "`nuclear_norm`), it is 1 over the largest smoothness of any f_i; with\n"
        '``center="global"``, 1.5 over it.',
    ),
    "rounds": ("int", "At most so many."),
    "tolerance": (
        "float",
        "Stop as ``converged`` after a round with no larger ``change``; of least squares on\n"
        "samples without a truth, times the covariates' root mean square and the labels' standard\n"
        "deviation, so that units do not matter.",
    ),
    "start": ("array_like, shape (n, d)", "By default zeros."),
}
_ADMM_STEPS = 20_000
_ADMM_ROUNDING = 1e-12


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
    local_steps : int, default 1
        Gradient steps per round.
    """
    options = Options(step_size, rounds, tolerance, start, local_steps)
    relation = Relation("local", lambda X, _: X, no_penalty, alone=True, sent=0)
    return run(problem, relation, options)


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
    local_steps : int, default 1
        With one, gradient descent on the mean of all functions.
    """
    options = Options(step_size, rounds, tolerance, start, local_steps)
    return run(problem, Relation("FedAvg", _mean_of(None), no_penalty), options)


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
    clusters : array_like of int, shape (n,), optional
        Which clients share a model; by default as the problem knows.
    local_steps : int, default 1
    """
    problem = as_objectives(problem)
    clusters = problem.clusters if clusters is None else np.asarray(clusters)
    if clusters is None or clusters.shape != (problem.n,) or clusters.dtype.kind not in "iu":
        raise ValueError(f"clusters must be {problem.n} integers, one per client")
    options = Options(step_size, rounds, tolerance, start, local_steps)
    return run(problem, Relation("oracle clusters", _mean_of(clusters), no_penalty), options)


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

    relation = Relation(
        "distance-regularized",
        server,
        pulled if center == "mean" else None,
        sent=problem.d * (2 if center == "global" else 1),
        share=SHARE if center == "global" else 1.0,
        restart=restart,
        noted={"penalty": penalty, "center": center},
    )
    return run(problem, relation, Options(step_size, rounds, tolerance, start))


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
    delta : float
        Not negative; 0 is a global model.

    Notes
    -----
    pFL^MF, Figure 1. The server's projection costs O(n^2 d) a step of the alternating direction
    method of multipliers.
    """
    delta = check.real("delta", delta, minimum=0.0)
    project = DiameterProjection(delta)
    relation = Relation(
        "distance-constrained",
        lambda X, _: project(X),
        accelerate=True,
        noted={"delta": delta},
    )
    return run(problem, relation, Options(step_size, rounds, tolerance, start))


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
    k

    Notes
    -----
    Jain, Meka and Dhillon, *Guaranteed rank minimization via singular value projection*, 2010. The
    server decomposes a matrix (n, d) in every round.
    """
    problem = as_objectives(problem)
    k = check.rank(k, problem.n, problem.d)

    def server(X, _):
        U, s, VT = np.linalg.svd(X, full_matrices=False)
        return (U[:, :k] * s[:k]) @ VT[:k]

    relation = Relation("hard thresholding", server, no_penalty, k=k, noted={"k": k})
    return run(problem, relation, Options(step_size, rounds, tolerance, start))


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
    penalty : float
        lambda, not negative.

    Notes
    -----
    The server decomposes a matrix (n, d) in every round.
    """
    penalty = check.real("penalty", penalty, minimum=0.0)
    problem = as_objectives(problem)

    def server(X, step):  # a step on every f_i is one of n times that size on F
        U, s, VT = np.linalg.svd(X, full_matrices=False)
        return (U * np.maximum(s - problem.n * step * penalty, 0.0)) @ VT

    relation = Relation("nuclear norm", server, accelerate=True, noted={"penalty": penalty})
    return run(problem, relation, Options(step_size, rounds, tolerance, start))


def penalties(problem: Objectives | ClientData, count: int = 6) -> list[float]:
    """Return penalties of :func:`nuclear_norm` to choose among, the largest first.

    Parameters
    ----------
    problem
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
    return [largest * 10.0 ** (-0.5 * halves) for halves in range(1, count + 1)]


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


checked(globals(), units=False)
