"""FLUTE: clients send both gradients, the server steps, with a regularizer, on all of (B, W)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import read_pair, read_problem, read_rank, start_name
from linrep.algorithms.driver import begin, drive, each_way
from linrep.algorithms.flute.options import Options, prescribe
from linrep.algorithms.flute.rounds import Draws, make_rounds, source
from linrep.algorithms.registry import algorithm
from linrep.algorithms.step_sizes import units_of
from linrep.kernels import linalg
from linrep.problems.clients import ClientData
from linrep.problems.low_rank import BestModel, LowRankRegression
from linrep.problems.random import RNGLike, stream
from linrep.problems.regression import SharedRepresentation
from linrep.trace import Trace, columns, read_rounds

__all__ = ["flute", "gaussian_start"]

Values = NDArray[np.float64]


@algorithm("regression")
def flute(
    problem: LowRankRegression | SharedRepresentation | ClientData,
    *,
    step_size: float | str | None = None,
    m: int | ArrayLike | None = None,
    k: int | None = None,
    rounds: int = 100,
    batches: str = "fixed",
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    scale: float | None = None,
    participation: float = 1.0,
    regularizer_step_size: float | None = None,
    gamma1: float = 0.25,
    gamma2: float = 0.125,
    loss: str = "half",
    aggregate: str = "sum",
    record: int | ArrayLike = 1,
    spectrum: bool = False,
    measure: Callable[[Values, Values], Mapping[str, float]] | None = None,
    tolerance: float | None = None,
    rng: RNGLike = None,
) -> Trace:
    r"""Run FLUTE for linear regression.

    Each round, client i sends the gradients of its loss :math:`L_i` in B and w_i, and the server
    takes a gradient step on their sum and, at the same point, on the regularizer
    :math:`R = -\gamma_1 \|BW^\top\|_F^2 + \gamma_2 (\|B^\top B\|_F^2 + \|W^\top W\|_F^2)`:

    .. math::
        B \leftarrow B - \eta_l \sum_i \nabla_B L_i - \eta_r \nabla_B R, \qquad
        w_i \leftarrow w_i - \eta_l \nabla_{w_i} L_i - \eta_r \nabla_{w_i} R

    Parameters
    ----------
    problem : LowRankRegression, SharedRepresentation or ClientData
        A ground truth to draw from, or samples.
    step_size : float or "theorem", optional
        Step size :math:`\eta_l`; ``"theorem"`` is the largest of Theorem 5.1,
        :math:`\Delta^2/(228\lambda_1^3)`, which is small. By default it is found in every round,
        unless batches are fresh: with all clients, whose rounds are gradient descent on
        :math:`\sum_i L_i + R`, that of Barzilai and Borwein, and a step that raises the objective
        is repeated with a shorter length; with some, 1.5/L, where L is the largest curvature of
        their function.
    m : int
        Samples per client and batch; only with a ground truth, and not for the population. For
        ``batches="fixed"`` also one number per client.
    k, rounds
    batches : {"fixed", "fresh", "population"}
        The same samples every round (FLUTE's Algorithm 1); new ones every round; infinitely many
        samples of covariance I, where every gradient is its expectation.
    start : "random", pair (B, W) or Trace
        Independent N(0, scale^2) entries of B (d, k) and W (n, k), or the matrices themselves. With
        the trace of another run, that run is continued with its streams, and `rng` must not be
        given.
    scale : float, optional
        Standard deviation :math:`\alpha` of the random start, by default 1/(10 d); on data without
        a truth times the root of the labels' standard deviation over the covariates' root mean
        square, so that units do not matter.
    participation : float, default 1
        Fraction of clients per round, drawn without replacement, as in :func:`fedrep`. Their
        gradients in B stand for those of all clients, and the heads of the others do not move. The
        paper has 1, and so does the population.
    regularizer_step_size : float, optional
        Step size :math:`\eta_r` of the regularizer, by default `step_size`; if that is found in
        every round, 0 or not given. On data without a truth the regularizer is then multiplied by
        the covariates' mean square, which the paper's covariates have 1.
    gamma1, gamma2 : float, default 1/4 and 1/8
        Weights of the regularizer, nonnegative.
    loss : {"half", "full"}
        :math:`L_i` is :math:`\frac1{2m}\|X_iBw_i-y_i\|^2`, whose gradients Appendix A.1 uses, or
        twice that, as (5) has it.
    aggregate : {"sum", "mean"}
        ``"mean"`` divides the gradients of :math:`L_i`, in B and in w_i, by the number of clients:
        gradient descent on (4). ``"sum"`` is (5).
    record
    spectrum : bool, default False
        Record singular values of the lifted iterate, too; needs a truth.
    measure : callable, optional
        ``measure(B, W) -> mapping of metric names to floats``: more to record, the same names every
        time.
    tolerance : float, optional
        Stop as ``converged`` after a round that changed (B, W) by at most this, in Frobenius norm
        relative to (B, W). By default a run stops early only after a round that changes nothing at
        all.
    rng

    Returns
    -------
    Trace
        State ``B`` (d, k) and ``W`` (n, k). Metrics, of which only the loss and the floats need no
        truth:

        - ``error``: :math:`\|BW^\top-\Phi_k\|_F/\|\Phi_k\|_F`, with Phi_k the best of rank k;
        - ``client_error``: :math:`\frac1n\sum_i\|Bw_i-(\Phi_k)_i\|`, equation (7);
        - ``truth_error``: :math:`\frac1n\sum_i\|Bw_i-\phi_i\|`, the metric of Section 7.1;
        - ``population_risk``: :math:`\frac1{2n}\sum_i\|Bw_i-\phi_i\|^2`;
        - ``distance``: principal-angle distance of B to U_k, NaN where B has lost rank;
        - ``loss``: mean half squared error of the round's clients on its samples, at the state it
          started from, whatever `loss` is; NaN for the start; not for the population;
        - ``sigma_1``, ``sigma_k``, ``sigma_res`` with ``spectrum=True``: largest singular value of
          the lifted iterate, smallest of its leading k rows, largest of the others;
        - ``step_size``, if it is found in every round: that of the round, NaN for the start;
        - ``floats_up``, ``floats_down``: numbers sent so far, k(d + 1) each way per client,
          including what is tried or measured to find a step.

    Notes
    -----
    FLUTE, Algorithm 1, equations (4) to (6). With the defaults, a round is equation (13) exactly,
    see the documentation on FLUTE. Cost per round O(n m d), O((n + d) k^2) for the population. For
    fixed batches it is O(n d^2) where so many rounds are asked for that it pays to compute second
    moments of the samples before: setting ``factored``.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.LowRankRegression.random(n=30, d=10, singular_values=[3, 2, 1, 0.5], rng=0)
    >>> trace = lr.flute(truth, k=2, step_size=0.05, rounds=2000, batches="population", rng=1)
    >>> bool(trace["error"][-1] < 1e-12)
    True
    """
    watch = Stopwatch()
    options = Options(
        rounds=read_rounds(rounds, record), batches=batches, step_size=step_size,
        regularizer_step_size=regularizer_step_size, gamma1=gamma1, gamma2=gamma2, loss=loss,
        aggregate=aggregate, tolerance=0.0 if tolerance is None else tolerance,
    )  # fmt: skip
    kinds = LowRankRegression, SharedRepresentation
    truth, data, size = read_problem(problem, m, batches, kinds)
    n, d = problem.n, problem.d
    k = read_rank(k, truth, n, d)
    if isinstance(truth, SharedRepresentation):
        truth = LowRankRegression(
            truth.theta.T, truth.noise, truth.design, truth.degrees_of_freedom
        )
    begun = begin(problem, start, rng, "data", "participation", "start")
    data_rng, participation_rng, start_rng = begun.rngs
    participants = check.count_participants(n, participation)
    if batches == "population" and participants < n:
        raise ValueError("participation must be 1 with batches='population'")
    if spectrum and truth is None:
        raise ValueError("spectrum needs a known truth, whose leading rows it is compared in")
    units = units_of(data)  # 1 of samples that are drawn, which have those of the truth
    if data is None and batches == "fixed":
        data = truth.draw(size, rng=data_rng)
    if isinstance(start, str) and start == "random":
        scale = np.sqrt(units.models) / (10.0 * d) if scale is None else scale
        scale = check.real("scale", scale, above=0.0, maximum=check.LARGEST)
        B, W = gaussian_start(n, d, k, scale, start_rng)
    else:
        if scale is not None:
            raise ValueError("scale must not be given with a start of one's own")
        B, W = read_pair(start, "'random'", B=(d, k), W=(n, k))
    best = None if truth is None else truth.best(k)
    draws, factored = None, False
    if batches != "population":
        largest = size if data is None else int(data.m.max())
        schedule = Schedule(participation_rng, n, participants)
        read = begun.in_all(options.rounds) * participants / n
        draws = Draws(source(truth, data, largest, read), schedule, data_rng, largest)
        factored = data is not None and draws.source.X is not data.X
    sizes = options.step_sizes(best)
    table = _metrics(truth, best, spectrum, batches, measure)
    method, rule = make_rounds(options, table, truth, draws, B, W, sizes, units.covariates)
    noted = sizes if options.step_size is not None else (rule, rule if sizes[1] else 0.0)
    known = best is not None and best.gap > 0.0
    return drive(
        method,
        algorithm="FLUTE",
        rounds=options.rounds,
        record=record,
        settings={
            "problem": repr(problem),
            "m": m,
            "k": k,
            **vars(options),
            "start": start_name(start),
            "scale": scale,
            "participation": participation,
            "participants": participants,
            "step_size": noted[0],
            "step_size_rule": rule,
            **({"prescribed_step_size": prescribe(best)} if known else {}),
            "regularizer_step_size": noted[1],
            "factored": factored,
        },
        watch=watch,
        sent=each_way(participants * k * (d + 1)),
        begun=begun,
    )


def gaussian_start(
    n: int, d: int, k: int, scale: float, rng: RNGLike = None
) -> tuple[Values, Values]:
    """Return B (d, k) and W (n, k) of independent N(0, scale^2) entries.

    Parameters
    ----------
    n, d, k : int
        Clients, ambient dimension, rank.
    scale : float
        Standard deviation, alpha in FLUTE's Algorithm 1.
    rng

    Returns
    -------
    B : ndarray, shape (d, k)
    W : ndarray, shape (n, k)
    """
    for name, size in (("n", n), ("d", d), ("k", k)):
        check.integer(name, size, minimum=1)
    scale = check.real("scale", scale, minimum=0.0, maximum=check.LARGEST)
    memory.require("the factors", 2 * (n + d) * k, n=n, d=d, k=k)
    rng = stream(rng, "start")
    return scale * rng.standard_normal((d, k)), scale * rng.standard_normal((n, k))


def _metrics(truth, best, spectrum, batches, measure):
    """Return a function of states (B, W, loss) that makes the array of each metric."""
    if truth is not None:
        theta, target = truth.theta, best.Phi.T
        size = np.linalg.norm(best.singular_values)

    def table(states):
        B, W, losses = (np.array(values) for values in zip(*states, strict=True))
        metrics = {}
        if truth is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                models = W @ np.swapaxes(B, -1, -2)
                to_target, to_truth = models - target, models - theta
                errors = [_ratio(np.linalg.norm(each), size) for each in to_target]
                metrics = {
                    "error": np.array(errors),
                    "client_error": np.mean(np.linalg.norm(to_target, axis=-1), axis=-1),
                    "truth_error": np.mean(np.linalg.norm(to_truth, axis=-1), axis=-1),
                    "population_risk": 0.5 * np.mean(np.sum(to_truth**2, axis=-1), axis=-1),
                    "distance": np.array([_distance(each, best.U) for each in B]),
                }
        if batches != "population":
            metrics["loss"] = losses
        if spectrum:
            metrics |= columns([_spectrum(B, W, best) for B, W, _ in states])
        if measure is not None:
            metrics |= columns([measure(B, W) for B, W, _ in states])
        return metrics

    return table


def _ratio(a, b):
    return a / b if b > 0.0 else np.inf if a > 0.0 else 0.0


def _distance(B, U):
    """Return the principal-angle distance, NaN where a basis is not of full rank."""
    BT, UT = B.T.copy(), U.T.copy()
    k, d = BT.shape
    sine, independence, _ = linalg.distance_between(BT, UT, np.empty((k, k)))
    return sine if independence > d * np.finfo(np.float64).eps else np.nan


def _spectrum(B, W, best: BestModel):
    """Return extreme singular values of the lifted iterate, from its leading rows and the rest.

    The leading rows are (U_k'B + V_k'W)/sqrt(2); subtracting what they span, not its Gram matrix,
    keeps small remainders accurate.
    """
    root = np.sqrt(2.0)
    leading = (best.U.T @ B + best.V.T @ W) / root
    others = np.vstack([B - best.U @ leading / root, W - best.V @ leading / root])
    return {
        "sigma_1": np.linalg.norm(np.vstack([B, W]), 2),
        "sigma_k": np.linalg.norm(leading, -2),
        "sigma_res": np.linalg.norm(others, 2),
    }


checked(globals(), units=False)
