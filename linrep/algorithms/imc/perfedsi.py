"""PerFedSI: federated averaging of the factors of a matrix, with side information on clients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.frozen import moderate, positive, read, step_count
from linrep.algorithms._setup import read_pair, start_name
from linrep.algorithms.driver import WORK_PER_CALL, Method, begin, drive, each_way
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import root_mean_square
from linrep.kernels import completion as kernel
from linrep.kernels.designs import draw_participants
from linrep.problems.completion import Observations, SideInformationCompletion
from linrep.problems.random import RNGLike
from linrep.trace import Trace, read_rounds

__all__ = ["perfedsi"]

Values = NDArray[np.float64]
_NOTHING = np.empty((0, 0))
_SCALE = 0.3  # of a random start


@algorithm("completion")
def perfedsi(
    problem: SideInformationCompletion | Observations,
    *,
    step_size: float | None = None,
    k: int | None = None,
    rounds: int = 1000,
    local_steps: int = 5,
    participants: int = 1,
    replacement: bool = True,
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    scale: float | None = None,
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
        A ground truth, from which every step draws a new entry, uniform among the items; or
        entries, of which every step draws one of the client's own uniformly.
    step_size : float, optional
        Step size :math:`\eta`. By default, for entries, every local step has its own: one over
        twice a bound on the curvature of its entry's loss, :math:`|v|^2 + |z|^2 |u|^2 + |z| |\rho|`
        for u the row of U, :math:`v = V^\top z` and :math:`\rho` the error. With a ground truth it
        must be given.
    k : int, optional
        Rank; by default the truth's.
    rounds
    local_steps : int, default 5
        Local steps :math:`\tau` of a participant in a round.
    participants : int, default 1
        Clients per round.
    replacement : bool, default True
        Draw them independently (Assumption C.1), so that a client may be drawn twice; if False,
        draw a uniform subset.
    start : "random", pair (U, V) or Trace
        Independent N(0, scale^2) entries, or the matrices U (d, k) and V (p, k). With the trace of
        another run, that run is continued with its streams, and `rng` must not be given.
    scale : float, optional
        0.3 by default; where neither a truth nor a step size is given, times the root of the root
        mean square of the entries, so that units do not matter.
    privacy : float, default 0
        Standard deviation of the noise that each participant adds to the entries of its V before it
        sends it (Remark C.2).
    record, rng

    Returns
    -------
    Trace
        State ``U`` (d, k) and ``V`` (p, k). Without side information p = n, and V has a row per
        client. Metrics:

        - ``error``: :math:`\|(UV^\top - M^\star)Z^\top\|_F/\|M^\star Z^\top\|_F`, where the truth
          is known;
        - ``population_risk``: :math:`\frac1{2n}\|(UV^\top - M^\star)Z^\top\|_F^2`, equation (10);
        - ``loss``: mean half squared error of the round's entries, each before its step; NaN for
          the start;
        - ``step_size``: mean step of the round, NaN for the start, if no step size is given;
        - ``floats_up``, ``floats_down``: numbers sent so far, (d + p) k each way per participant.

    Notes
    -----
    PerFedSI, Appendix C.1, equations (11) and (12), the residual of (12) transposed. A step costs
    O(k), a participant O(pk) besides, metrics O((n + d)k^2 + npk). Clients without entries return
    what they received.

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
    if data is not None and data.A is not None:
        raise ValueError("problem must have no side information on items (A), which is not used")
    n, d = problem.n, problem.d
    p = n if problem.Z is None else problem.Z.shape[1]
    if k is None:
        if truth is None:
            raise ValueError("k must be given where the truth is not known")
        k = truth.k
    k = check.integer("k", k, minimum=1, maximum=min(d, p))
    if step_size is None and data is None:
        raise ValueError("step_size must be given where entries are drawn from a ground truth")
    options = _Options(
        n=n, k=k, rounds=read_rounds(rounds, record), step_size=step_size,
        local_steps=local_steps, participants=participants, replacement=replacement,
        privacy=privacy,
    )  # fmt: skip
    size = options.participants * (k * (d + 2 * p) + 5 * options.local_steps)
    memory.require("the participants", size, participants=options.participants)
    begun = begin(problem, start, rng, "data", "participation", "start")
    data_rng, participation_rng, start_rng = begun.rngs
    if scale is None:
        scale = _SCALE
        if options.adaptive and truth is None:
            scale *= float(np.sqrt(root_mean_square(data.values))) or 1.0
    else:
        scale = check.real("scale", scale, above=0.0, maximum=check.LARGEST)
    if isinstance(start, str) and start == "random":
        U, V = (scale * start_rng.standard_normal((rows, k)) for rows in (d, p))
    else:
        U, V = read_pair(start, "'random'", U=(d, k), V=(p, k))
    method = _PerFedSI(problem, options, (U, V), (data_rng, participation_rng))
    rule = "curvature" if options.adaptive else "given"
    return drive(
        method,
        algorithm="PerFedSI",
        rounds=options.rounds,
        record=record,
        settings={
            "problem": repr(problem), "k": k, "rounds": options.rounds,
            "local_steps": options.local_steps, "participants": options.participants,
            "replacement": replacement, "start": start_name(start), "scale": scale,
            "privacy": options.privacy,
            "step_size": rule if options.adaptive else options.step_size, "step_size_rule": rule,
        },
        watch=watch,
        sent=each_way(options.participants * k * (d + p)),
        begun=begun,
    )  # fmt: skip


@dataclass(frozen=True)
class _Options:
    """The settings of a run for n clients at rank k, checked."""

    n: int
    k: int
    rounds: int
    step_size: float | None  # None where every local step has its own
    local_steps: int
    participants: int
    replacement: bool
    privacy: float

    def __post_init__(self):
        most = None if self.replacement else self.n
        read(
            self,
            step_size=positive,
            local_steps=step_count,
            participants=partial(check.integer, minimum=1, maximum=most),
            privacy=moderate,
        )

    @property
    def adaptive(self) -> bool:
        """Whether every local step has its own size."""
        return self.step_size is None

    def numbers(self) -> kernel.Settings:
        """Return what the kernel takes of the settings."""
        step_size = np.nan if self.step_size is None else self.step_size
        return kernel.Settings(self.local_steps, step_size, self.privacy, self.adaptive)


class _PerFedSI(Method):
    """Rounds on entries; see :class:`linrep.algorithms.driver.Method`."""

    buffers = ("_U", "_V", "_order")
    kept = ("_loss", "_step", "_rngs")

    saved_before_run = True

    def __init__(self, problem, options: _Options, start, rngs):
        truth, data = _read_problem(problem)
        self._truth, self._Z, self._rngs = truth, problem.Z, rngs
        self._U, self._V = start
        self._loss = self._step = np.nan
        self._settings, self._replacement = options.numbers(), options.replacement
        self._side = kernel.Side(_NOTHING if self._Z is None else self._Z, self._Z is None)
        self._n, self._participants = options.n, options.participants
        self._order = np.arange(self._n)  # shuffled on from round to round
        (d, k), p = self._U.shape, len(self._V)
        self._work = kernel.workspace(k, d, options.participants, options.local_steps)
        a_round = options.participants * k * (4 * options.local_steps + d + 2 * p)
        self.most = max(1, int(WORK_PER_CALL / a_round))
        self._entries = kernel.Entries(
            items=np.empty(0, dtype=np.int64) if data is None else data.items,
            values=np.empty(0) if data is None else data.values,
            offsets=np.zeros(self._n + 1, np.int64) if data is None else data.offsets,
            fresh=data is None,
            U=truth.U if data is None else _NOTHING,
            V=truth.heads if data is None else _NOTHING,
            noise=0.0 if truth is None else truth.noise,
        )

    @property
    def state(self):
        return {"U": self._U, "V": self._V}

    def run(self, rounds):
        data_rng, participation_rng = self._rngs
        shape = rounds, self._participants
        if self._replacement:
            schedule = participation_rng.integers(0, self._n, shape)
        else:
            schedule = np.empty(shape, dtype=np.int64)
            draw_participants(participation_rng, self._order, schedule)
        loss = np.empty(rounds)
        completed, status = kernel.run_entrywise(
            data_rng, schedule, self._entries, self._settings, self._side, self._U, self._V, loss,
            self._work,
        )  # fmt: skip
        if completed:
            self._loss = loss[completed - 1]
            total, count = self._work.steps
            self._step = total / count if count else np.nan
        return completed, status

    def measure(self):
        """Return a row of metrics, None where factors or errors are not finite."""
        if not (np.isfinite(self._U).all() and np.isfinite(self._V).all()):
            return None
        truth = self._truth
        step = {"step_size": self._step} if self._settings.adaptive else {}
        if truth is None:
            return {"loss": self._loss, **step}
        with np.errstate(all="ignore"):  # what overflows is not finite then
            heads = self._V if self._Z is None else self._Z @ self._V
            error = truth.deviation(self._U, heads)
            risk = error**2 / (2.0 * truth.n)
        if not np.isfinite(risk):
            return None
        return {
            "error": error / truth.norm if truth.norm > 0.0 else np.nan,
            "population_risk": risk,
            "loss": self._loss,
            **step,
        }


def _read_problem(problem):
    """Return the truth, if known, and the entries, if they are fixed."""
    if isinstance(problem, SideInformationCompletion):
        return problem, None
    return problem.truth, problem


checked(globals(), units=False)
