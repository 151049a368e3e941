"""PerFedSI: federated averaging of the factors of a matrix, with side information on clients."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep import _validation as check
from linrep._clock import Stopwatch
from linrep._random import RNGLike, streams
from linrep.algorithms._setup import STOP_REASONS, read_pair
from linrep.kernels import completion as kernel
from linrep.kernels.designs import draw_participants
from linrep.kernels.rounds import COMPLETED, DIVERGED
from linrep.problems.completion import Observations, SideInformationCompletion
from linrep.trace import Trace, columns, read_record

Values = NDArray[np.float64]
_NOTHING = np.empty((0, 0))


def perfedsi(
    problem: SideInformationCompletion | Observations,
    *,
    step_size: float,
    k: int | None = None,
    rounds: int = 1000,
    local_steps: int = 5,
    participants: int = 1,
    replacement: bool = True,
    start: str | tuple[ArrayLike, ArrayLike] = "random",
    scale: float = 0.3,
    privacy: float = 0.0,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run federated averaging on U and V, with local steps on single entries.

    Each round, every participant starts from the server's U and V and takes gradient steps on
    :math:`\frac12 (e_i^\top U V^\top z - y_i)^2` for one of its entries after another; the server
    averages what they end with.

    Parameters
    ----------
    problem : SideInformationCompletion or Observations
        A ground truth, of which every step sees a fresh entry, uniform among the items; or entries,
        of which it sees one of the client's own, uniformly.
    step_size : float
        :math:`\eta`.
    k : int, optional
        Rank; by default the truth's.
    rounds : int, default 1000
    local_steps : int, default 5
        :math:`\tau`.
    participants : int, default 1
        Clients a round.
    replacement : bool, default True
        Draw them independently (Assumption C.1), so that one may be drawn twice; if False, as a
        uniform subset.
    start : "random" or pair (U, V)
        Independent N(0, scale^2) entries, or what they are: U (d, k), V (p, k).
    scale : float, default 0.3
    privacy : float, default 0
        Standard deviation of the noise that each participant adds to the entries of its V before it
        sends it (Remark C.2).
    record : int or array_like of int, default 1
        Record every so many rounds, or these rounds; the start and the last round always.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    Trace
        State ``U`` (d, k) and ``V`` (p, k). Without side information p = n and V holds a row per
        client. Metrics:

        - ``error``: :math:`\|(UV^\top - M^\star)Z^\top\|_F/\|M^\star Z^\top\|_F`, where the truth
          is known;
        - ``population_risk``: :math:`\frac1{2n}\|(UV^\top - M^\star)Z^\top\|_F^2`, equation (10);
        - ``loss``: mean half squared error of the round's entries, each before its step; NaN for
          the start;
        - ``floats_up``, ``floats_down``: numbers sent so far, (d + p) k each way and participant.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range or does not fit the others.

    Notes
    -----
    PerFedSI, Appendix C.1, equations (11) and (12), the residual of (12) transposed. A step costs
    O(k), a participant O(pk) besides, metrics O((n + d)k^2 + npk). Clients without entries send
    back what they were sent.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SideInformationCompletion.random(n=20, d=16, p=4, k=2, side="unit", rng=0)
    >>> trace = lr.perfedsi(truth, step_size=0.3, rounds=3000, participants=4, record=100, rng=1)
    >>> bool(trace["error"][-1] < 1e-3)
    True
    """
    watch = Stopwatch()
    truth, data = _read_problem(problem)
    n, d, Z = problem.n, problem.d, problem.Z
    if data is not None and data.A is not None:
        raise ValueError("problem must have no side information on items (A), which is not used")
    p = n if Z is None else Z.shape[1]
    if k is None:
        if truth is None:
            raise ValueError("k must be given where the truth is not known")
        k = truth.k
    k = check.integer("k", k, minimum=1, maximum=min(d, p))
    step_size = check.real("step_size", step_size, above=0.0)
    rounds = check.integer("rounds", rounds, minimum=0)
    local_steps = check.integer("local_steps", local_steps, minimum=1)
    participants = check.integer(
        "participants", participants, minimum=1, maximum=None if replacement else n
    )
    privacy = check.real("privacy", privacy, minimum=0.0)
    data_rng, participation_rng, start_rng = streams(rng, "data", "participation", "start")
    if isinstance(start, str) and start == "random":
        scale = check.real("scale", scale, above=0.0)
        U, V = (scale * start_rng.standard_normal((rows, k)) for rows in (d, p))
    else:
        U, V = read_pair(start, "'random'", U=(d, k), V=(p, k))
    noise = 0.0 if truth is None else truth.noise
    if data is None:
        entries = np.empty(0, dtype=np.int64), np.empty(0), np.zeros(n + 1, dtype=np.int64)
        stars = truth.U, truth.heads
    else:
        entries, stars = (data.items, data.values, data.offsets), (_NOTHING, _NOTHING)
    work = kernel.workspace(k, d, participants, local_steps)
    first = _measure(truth, Z, U, V, np.nan)
    if first is None:
        raise ValueError("start must not be so large that its error overflows")
    rows, recorded, status = [first], [0], COMPLETED
    for stop in read_record(record, rounds)[1:]:
        span = stop - recorded[-1]
        schedule = _draw_participants(participation_rng, n, span, participants, replacement)
        loss = np.empty(span)
        before = U.copy(), V.copy()
        completed, status = kernel.run_entrywise(
            data_rng, schedule, *entries, data is None, *stars, noise, local_steps, step_size,
            _NOTHING if Z is None else Z, Z is None, privacy, U, V, loss, work,
        )  # fmt: skip
        if completed:
            row = _measure(truth, Z, U, V, loss[completed - 1])
            if row is None:
                (U, V), status = before, DIVERGED
                break
            recorded.append(recorded[-1] + completed)
            rows.append(row)
        if status != COMPLETED:
            break
    sent = participants * k * (d + p) * np.array(recorded, dtype=float)
    return Trace(
        algorithm="PerFedSI",
        metrics=columns(rows)
        | {"floats_up": sent, "floats_down": sent.copy()},
        state={"U": U, "V": V},
        settings={
            "problem": repr(problem), "k": k, "rounds": rounds, "local_steps": local_steps,
            "participants": participants, "replacement": replacement,
            "start": "random" if isinstance(start, str) else "given", "scale": scale,
            "privacy": privacy, "step_size": step_size,
        },
        stop_reason=STOP_REASONS[status],
        wall_time=watch.seconds(),
        recorded=np.array(recorded),
    )  # fmt: skip


def _measure(truth, Z, U, V, loss):
    """Return a row of metrics, None where factors or errors are not finite."""
    if not (np.isfinite(U).all() and np.isfinite(V).all()):
        return None
    if truth is None:
        return {"loss": loss}
    with np.errstate(all="ignore"):  # what overflows is not finite then
        error = truth.deviation(U, V if Z is None else Z @ V)
        risk = error**2 / (2.0 * truth.n)
    if not np.isfinite(risk):
        return None
    return {
        "error": error / truth.norm if truth.norm > 0.0 else np.nan,
        "population_risk": risk,
        "loss": loss,
    }


def _draw_participants(rng, n, rounds, participants, replacement):
    """Return the clients of every round, shape (rounds, participants)."""
    if replacement:
        return rng.integers(0, n, (rounds, participants))
    schedule = np.empty((rounds, participants), dtype=np.int64)
    draw_participants(rng, np.arange(n), schedule)
    return schedule


def _read_problem(problem):
    """Return the truth, if known, and the entries, if they are fixed."""
    if isinstance(problem, SideInformationCompletion):
        return problem, None
    if isinstance(problem, Observations):
        return problem.truth, problem
    raise TypeError(
        f"problem must be a SideInformationCompletion or Observations, got {type(problem).__name__}"
    )
