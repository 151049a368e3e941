"""The linear factorization of multi-task regression, minimized over both factors at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms._setup import read_pair, start_name
from linrep.algorithms.diagnosis import Note, diagnose, own_data, tell
from linrep.algorithms.errors import representation_errors
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import root_mean_square
from linrep.algorithms.step_sizes import units_of
from linrep.kernels import factorization as kernel
from linrep.problems.clients import ClientData
from linrep.problems.prediction import origin
from linrep.problems.random import RNGLike, stream
from linrep.problems.regression import SharedRepresentation
from linrep.trace import MOST_ROUNDS, Trace, columns

__all__ = ["linear_factorization"]

_FOUND = {"step_size_rule": "line search"}


@algorithm("regression")
def linear_factorization(
    data: ClientData,
    *,
    k: int,
    rounds: int = 500,
    tolerance: float = 1e-6,
    start: str | tuple[ArrayLike, ArrayLike] = "random",
    rng: RNGLike = None,
) -> Trace:
    r"""Minimize the balanced squared loss over a representation and heads together, by L-BFGS.

    .. math:: \min_{B, W} \frac1n \sum_i \frac1{m_i} \|y_i - X_i B w_i\|^2
              + \frac14 \Big\| B^\top B - \frac1n W^\top W \Big\|_F^2

    On data without a truth the second term is multiplied by the mean square of the covariates,
    which a truth's have 1.

    Parameters
    ----------
    data, k
    rounds : int, default 500
        At most so many iterations.
    tolerance : float, default 1e-6
        Stop as ``converged`` once no entry of the objective's gradient is larger in size, with
        labels, and covariates of data without a truth, scaled to mean square 1.
    start : "random" or pair (B, W), default "random"
        Of (d, k) and (n, k). Random entries are normal, of variance s/d and s/k, where s is the
        root mean square of the labels.
    rng

    Returns
    -------
    Trace
        State ``B`` (d, k) with orthonormal columns, and ``W`` (n, k), so that W B' is the product
        of the factors. Metrics ``loss``, mean over clients of (1/2m)||y_i - X_i B w_i||^2, and
        ``objective``, the above; with a truth of rank k also ``distance`` and ``population_risk``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the labels or covariates are so large that the loss is
        not finite.

    Warns
    -----
    RunWarning
        If L-BFGS found no step that lowers the objective before the tolerance was met, or for what
        any run on data without a truth warns of.

    Notes
    -----
    Burer and Monteiro's factorization as in Tripuraneni, Jin and Jordan, *Provable meta-learning
    of linear representations*, 2021, where it is called LF. The second term decides how a product
    is split between the factors: it can be made 0 without a change of the product, so that the
    minimizers of the objective are minimizers of the loss. A minimum that is found need not be the
    least one.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=50, d=10, k=2, rng=0)
    >>> bool(lr.linear_factorization(truth.draw(20, rng=1), k=2, rng=2)["distance"][-1] < 1e-4)
    True
    """
    watch = Stopwatch()
    n, d = data.n, data.d
    k = check.rank(k, n, d)
    rounds = check.count("rounds", rounds, most=MOST_ROUNDS)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    # Solved for labels of mean square 1, and covariates, too, where no truth says that they are: of
    # labels s times and covariates c times as large, factors are root(s/c) times as large.
    size, covariates = root_mean_square(data.y) or 1.0, units_of(data).covariates
    if isinstance(start, str):
        check.choice("start", start, ("random",))
        rng = stream(rng, "start")
        B, W = rng.standard_normal((d, k)) / np.sqrt(d), rng.standard_normal((n, k)) / np.sqrt(k)
    else:
        pair = read_pair(start, "'random'", B=(d, k), W=(n, k))
        B, W = (each / np.sqrt(size / covariates) for each in pair)
    y = data.y / size
    truth = data.truth
    known = truth if isinstance(truth, SharedRepresentation) and truth.k == k else None
    scratch = np.empty(d), np.empty(int(data.m.max())), np.empty(d)

    def split(entries):
        """Return B' and W."""
        return entries[: k * d].reshape(k, d), entries[k * d :].reshape(n, k)

    def imbalance(BT, W):
        return BT @ BT.T - W.T @ W / n

    def objective(entries):
        gradient = np.empty_like(entries)
        (BT, W), (of_BT, of_W) = split(entries), split(gradient)
        heads = W / covariates
        loss = kernel.gradient(data.X, y, data.offsets, BT, heads, of_BT, of_W, *scratch)
        gap = imbalance(BT, W)
        of_BT[:] = 2.0 * of_BT + gap @ BT
        of_W[:] = 2.0 / covariates * of_W - W @ gap / n
        return 2.0 * loss + 0.25 * np.sum(gap**2), gradient

    rows = []

    def record(entries, value):
        BT, W = split(entries)
        loss = 0.5 * (value - 0.25 * np.sum(imbalance(BT, W) ** 2))
        row = {"loss": size**2 * loss, "objective": size**2 * value}
        if known is not None:
            row |= representation_errors(BT.T, size / covariates * W, known)
        rows.append(row)

    entries = np.concatenate([B.T.ravel(), W.ravel()])
    value = float(objective(entries)[0])
    if not np.isfinite(size * size * value):
        raise ValueError("data must not be so large that the loss at the start overflows")
    record(entries, value)
    optimum = minimize(
        objective, entries, jac=True, method="L-BFGS-B",
        callback=lambda intermediate_result: record(
            intermediate_result.x, float(intermediate_result.fun)
        ),
        options={"maxiter": rounds, "maxfun": 20 * rounds, "gtol": tolerance, "ftol": 0.0},
    )  # fmt: skip
    BT, W = split(optimum.x)
    frame, factor = np.linalg.qr(BT.T)
    state = {"B": frame, "W": size / covariates * (W @ factor.T)}
    metrics, stop_reason = columns(rows), "converged" if optimum.status == 0 else "rounds"
    gave_up = optimum.status not in (0, 1)
    text = f"L-BFGS gave up: {optimum.message}"
    notes = tell(Note("L-BFGS gave up", text)) if gave_up else ()
    if own_data(data) is not None:
        found_out, stop_reason = diagnose(
            data, data, metrics=metrics, rounds=np.arange(len(rows)), state=state, settings=_FOUND,
            stop_reason=stop_reason, returned=None,
        )  # fmt: skip
        notes += found_out
    return Trace(
        algorithm="linear factorization",
        metrics=metrics | {"samples": np.full(len(rows), float(len(data.y)))},
        state=state,
        settings={
            "problem": repr(data), "k": k, "rounds": rounds, "tolerance": tolerance,
            "start": start_name(start),
        },
        stop_reason=stop_reason,
        wall_time=watch.seconds(),
        notes=notes,
        **origin(data),
    )  # fmt: skip


checked(globals(), units=False)
