"""The loop of every algorithm: what recording, tolerance, divergence and interrupts mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms import diagnosis
from linrep.algorithms.resumable import Resumable
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED
from linrep.problems.prediction import origin
from linrep.problems.random import RNGLike, Seed, renewed, seed_of, streams
from linrep.trace import Trace, columns, read_record, read_rounds

__all__ = ["run_rounds"]

#: Multiplications after which a kernel returns, so that a run can be interrupted.
WORK_PER_CALL = 2e8

#: Measurements that a method may keep until they are put into a table together.
MANY = 2**16

# Settings that say where a run begins and ends, or how its step was found, and not how it goes.
_MAY_DIFFER = {
    "rounds", "start", "scale", "tolerance", "problem", "step_size_rule", "prescribed_step_size",
    "factored",
}  # fmt: skip

# Starts that are computed from samples.
_STARTS = ("moments", "projected_gradient", "truncated")

_REASONS = {COMPLETED: "rounds", CONVERGED: "converged", DIVERGED: "diverged"}


class Method(Resumable, ABC):
    """A running algorithm: its state, and the rounds that change it.

    Attributes
    ----------
    most : int
        Rounds that one call of `run` may take, so that it lasts well below half a second.
    at_once : int
        Measurements to collect before they are put into a table.
    every_round : bool
        Whether `run` itself notes what is to be known of every round, so that it need not stop
        where one is recorded: then measurements are the rounds' numbers.
    saved_before_run : bool
        Whether only `measure` can see that a state is not finite, so that the driver saves what
        was before it.
    descends : bool or None
        Whether rounds lower the training loss of all samples, which a run on data of one's own is
        judged by; None where it is not, as rounds are to lower no loss.
    """

    most: int
    at_once: int = MANY
    every_round: bool = False
    saved_before_run: bool = False
    descends: bool | None = True

    @property
    @abstractmethod
    def state(self) -> dict[str, NDArray[np.float64]]:
        """The state, as the trace has it at the end."""

    @abstractmethod
    def run(self, rounds: int) -> tuple[int, int]:
        """Run at most so many rounds; return how many were completed, and how they ended.

        A round after which the state is not finite does not count, and leaves the state of the
        round before; if `run` cannot see it, `saved_before_run` says so.
        """

    @abstractmethod
    def measure(self) -> Any:
        """Return the measurements of the state.

        None where it is not finite, which a method may return that is `saved_before_run`.
        """

    def table(self, measured: list[Any]) -> dict[str, NDArray[np.float64]]:
        """Return the metrics of some measurements, an array each; by default those are mappings."""
        return columns(measured)

    @property
    def asked(self) -> float | None:
        """What clients were asked for so far, in units of `sent`; None where it is the rounds.

        It is where rounds ask for more, such as those whose step is found.
        """
        return None

    def converged(self, measured: Any) -> bool:
        """Tell whether a state with this measurement is the last; by default `run` tells."""
        return False


@dataclass(frozen=True)
class Beginning:
    """Where a run begins: its problem, its streams, and the trace that it goes on from, if any.

    The problem is what a run that goes on from this one is compared with, and whose clients' names
    the trace keeps.
    """

    problem: Any = None
    rngs: tuple[np.random.Generator, ...] = ()
    before: Trace | None = None

    def in_all(self, rounds: int) -> int:
        """Return how many rounds the one long run has that ends after so many more."""
        return rounds + (0 if self.before is None else self.before.rounds)


@dataclass(frozen=True)
class Checkpoint:
    """Where a run ended, its problem, and the random streams it began with."""

    saved: Any
    problem: str
    seeds: tuple[Seed, ...]


def begin(problem: Any, start: Any, rng: RNGLike, *purposes: str) -> Beginning:
    """Return where a run begins: with new random streams, or those of the trace that it continues.

    The problem is what the algorithm is given, the purposes are as for :func:`linrep.streams`, and
    `rng` is None where the start is a Trace to go on from.
    """
    if not isinstance(start, Trace):
        return Beginning(problem, tuple(streams(rng, *purposes)))
    if rng is not None:
        raise ValueError("rng must not be given with start=trace, whose streams are continued")
    if start.checkpoint is None or len(start.checkpoint.seeds) != len(purposes):
        raise ValueError("start must be a trace of the same algorithm")
    if start.stop_reason == "diverged":
        raise ValueError("start must not be a diverged trace: it has no state to continue from")
    return Beginning(problem, tuple(map(renewed, start.checkpoint.seeds)), start)


def each_way(
    numbers: float, up: float = 0.0, down: float = 0.0
) -> Callable[[NDArray], dict[str, NDArray[np.float64]]]:
    """Return what `drive` takes as `sent` where so many numbers go up and down each time.

    Up and down is what was sent before the first round.
    """

    def sent(times):
        floats = numbers * times.astype(float)
        return {"floats_up": up + floats, "floats_down": down + floats}

    return sent


def fingerprint(problem: Any) -> str:
    """Return a digest of a problem's contents, a thousand entries of each long array."""
    digest = blake2b(type(problem).__name__.encode(), digest_size=8)
    for name, value in sorted(vars(problem).items()):
        if isinstance(getattr(type(problem), name, None), cached_property):
            continue
        if isinstance(value, np.ndarray):
            flat = value.reshape(-1)
            some = flat[:: max(1, flat.size // 1000)]
            digest.update(f"{name} {value.shape} {value.dtype}".encode() + some.tobytes())
        elif isinstance(value, str | int | float | None):
            digest.update(f"{name} {value!r}".encode())
        elif type(value).__module__.startswith("linrep."):
            digest.update(fingerprint(value).encode())
    return digest.hexdigest()


def drive(
    method: Method,
    *,
    algorithm: str,
    rounds: int,
    record: int | ArrayLike,
    settings: Mapping[str, Any],
    watch: Stopwatch,
    begun: Beginning,
    sent: Callable[[NDArray[np.int64]], Mapping[str, NDArray[np.float64]]] = lambda recorded: {},
    judged: bool = False,
) -> Trace:
    """Run an algorithm and return its trace.

    Its state is that of its last row; for a run that diverged on data without a truth, that of the
    recorded round with the least training loss.

    Parameters
    ----------
    method : Method
        At its start.
    algorithm, rounds, settings
        As the trace has them.
    record : int or array_like of int
        As :func:`linrep.trace.read_record` takes it. Nothing but what is kept depends on it: where
        a state between two records was the last one that is finite, the run goes back there.
    watch : Stopwatch
        Running since the algorithm was called.
    begun : Beginning
        What `begin` returned: the method is taken to the end of its trace, and without its streams
        no run can go on from this one.
    sent : callable
        ``sent(recorded) -> mapping``: further metrics, of what was sent until these rounds; it is
        called with what the method asked for until then, if it says so.
    judged : bool
        Ask `converged` after every round, and not of the start alone.

    Raises
    ------
    ValueError
        If the start cannot be measured, `record` has no rounds, or the trace to continue is of
        another algorithm or problem, or has other settings.
    """
    problem, before = begun.problem, begun.before
    if before is not None:
        _check_same(before, algorithm, problem, settings)
        method.restore(before.checkpoint.saved)
    own_data = diagnosis.own_data(problem)
    at_start = None if own_data is None else method.save()
    wanted = read_record(record, rounds)
    stops: Iterable[int] = [rounds] if method.every_round else wanted[1:]
    recordable: Container[int] = ()
    if judged:
        stops, recordable = range(1, rounds + 1), set(wanted)
    done, row = 0, method.measure()
    if row is None:
        raise ValueError("start must not be so large that its metrics overflow")
    rows, recorded, parts, asked = [row], [0], [], [method.asked]
    status = CONVERGED if method.converged(row) else COMPLETED
    for stop in stops:
        if status != COMPLETED:
            break
        saved, first = method.save() if method.saved_before_run else None, done
        while done < stop and status == COMPLETED:
            completed, status = method.run(min(stop - done, method.most))
            done += completed
        if done > first:
            measured = method.measure()
            if measured is None:
                done, row = _last_finite(method, saved, first, done, row)
                status = DIVERGED
            else:
                row = measured
                if judged and status == COMPLETED and method.converged(row):
                    status = CONVERGED
        if done > recorded[-1] and (not judged or done in recordable or status != COMPLETED):
            if len(rows) >= method.at_once:
                parts.append(method.table(rows))
                rows = []
            rows.append(row)
            recorded.append(done)
            asked.append(method.asked)
    if method.every_round:
        rows = recorded = [*(t for t in wanted if t < done), done]
    parts.append(method.table(rows))
    metrics = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rounds_done = np.array(recorded) + (0 if before is None else before.rounds)
    floats = dict(sent(rounds_done if method.asked is None else np.array(asked)))
    seen = _samples_seen(problem, settings, rounds_done)
    if seen is not None:
        floats["samples"] = seen
    returned: int | None = None  # the round whose state a run that diverged has
    if own_data is not None and (
        status == DIVERGED or diagnosis.diverged(own_data, metrics, settings)
    ):
        status = DIVERGED
        best = diagnosis.best_round(metrics, np.array(recorded))
        _go_again(method, at_start, best)
        returned = int(rounds_done[0]) + best
    if before is not None:
        for name, values in metrics.items():
            if name in before:
                values[0] = before[name][-1]
        for name, values in floats.items():
            values += before[name][-1] - values[0]
    # Before the state is asked for, which may draw.
    checkpoint = None
    if begun.rngs:
        seeds = tuple(seed_of(each) for each in begun.rngs)
        checkpoint = Checkpoint(method.save(), fingerprint(problem), seeds)
    state = method.state
    notes: tuple[str, ...] = ()
    stop_reason = _REASONS[status]
    if own_data is not None:
        notes, stop_reason = diagnosis.diagnose(
            problem, own_data, metrics=metrics, rounds=rounds_done, state=state, settings=settings,
            stop_reason=stop_reason, returned=returned, descends=method.descends,
        )  # fmt: skip
    return Trace(
        algorithm=algorithm,
        metrics=metrics | floats,
        state=state,
        settings=dict(settings),
        stop_reason=stop_reason,
        wall_time=watch.seconds(),
        recorded=rounds_done,
        checkpoint=checkpoint,
        notes=notes,
        **origin(problem),
    )


def _samples_seen(
    problem: Any, settings: Mapping[str, Any], rounds: ArrayLike
) -> NDArray[np.float64] | None:
    """Return how many samples all clients together have seen until some rounds.

    Those that are stored, once; with new ones in every round, those drawn so far. None where there
    are no samples, or the settings of the trace do not say how they are drawn: ``batches``, ``m``,
    ``participants`` and ``start`` count.
    """
    rounds = np.asarray(rounds, dtype=np.float64)
    stored = getattr(getattr(problem, "data", problem), "y", None)
    if stored is not None:
        return np.full(rounds.shape, float(len(stored)))
    batches, m = settings.get("batches"), settings.get("m")
    if batches in (None, "population") or m is None or not hasattr(problem, "n"):
        return None
    if batches == "fixed":
        return np.full(rounds.shape, float(np.sum(np.broadcast_to(m, problem.n))))
    split = 2 if batches in ("split", "gram_split") else 1
    at_start = problem.n * m if settings.get("start") in _STARTS else 0
    return at_start + rounds * settings.get("participants", problem.n) * m * split


def _check_same(before, algorithm, problem, settings):
    """Refuse to go on from a run that one long run would not have begun with."""
    if before.algorithm != algorithm or fingerprint(problem) != before.checkpoint.problem:
        raise ValueError("start must be a trace of the same algorithm on the same problem")
    for name, value in settings.items():
        if name not in _MAY_DIFFER and before.settings.get(name) != value:
            raise ValueError(
                f"start must be a trace with the same settings: its {name} is "
                f"{before.settings.get(name)!r}, not {value!r}; to go on with others, "
                "start from the pair of matrices in its state"
            )


def _go_again(method, at_start, rounds):
    """Go to the state after so many rounds, from where the run began."""
    method.restore(at_start)
    done = 0
    while done < rounds:
        done += method.run(min(rounds - done, method.most))[0]


def _last_finite(method, saved, first, done, row):
    """Go back to the last round whose measurement is finite; return it with the measurement.

    `row` is that of the round `first`, which `saved` leads back to.
    """
    method.restore(saved)
    if done == first + 1:
        return first, row
    for t in range(first, done):
        before = method.save()
        method.run(1)
        measured = method.measure()
        if measured is None:
            method.restore(before)
            return t, row
        row = measured
    return done, row


def _as_it_is(state):
    """Return a state that is a mapping already."""
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be a mapping, or final given, got {type(state).__name__}")
    return dict(state)


def run_rounds(
    step: Callable[[Any, int], Any],
    state: Any,
    *,
    rounds: int,
    measure: Callable[[Any], Mapping[str, float]],
    algorithm: str = "custom",
    settings: Mapping[str, Any] | None = None,
    stop: Callable[[Mapping[str, float]], bool] | None = None,
    final: Callable[[Any], Mapping[str, NDArray[np.float64]]] = _as_it_is,
    record: int | ArrayLike = 1,
    sent: Callable[[NDArray[np.int64]], Mapping[str, NDArray[np.float64]]] = lambda recorded: {},
    problem: Any = None,
) -> Trace:
    """Run an algorithm given as one step, and record it.

    Parameters
    ----------
    step : callable
        ``step(state, t) -> state`` for round t = 1, 2, …; it must not change the state it is given.
    state : object
        The start.
    rounds : int
        Number of rounds, at least 0.
    measure : callable
        ``measure(state) -> mapping of metric names to floats``, the same names every time; called
        on the start and after each round.
    algorithm : str
        Name for plots and tables.
    settings : mapping, optional
        What to note in the trace.
    stop : callable, optional
        ``stop(metrics) -> bool``: converged. Asked of the start, too.
    final : callable, optional
        Turns the last state into the trace's ``state``; a mapping by default.
    record : int or array_like of int, default 1
        Keep the metrics of every so many rounds, or of these; of the start and the last always.
    sent : callable, optional
        ``sent(recorded) -> mapping`` of further metrics, of what was sent until these rounds.
    problem : object, optional
        ClientData, or objectives on them, that the state's models are for: the trace then predicts
        for their clients by name, and prepares data as they were.

    Returns
    -------
    Trace
        A round after which a metric is not finite ends the run as ``diverged``, without that round.
    """
    rounds = read_rounds(rounds, record)
    return drive(
        _Steps(step, state, measure, stop, final),
        algorithm=algorithm,
        rounds=rounds,
        record=record,
        settings=settings or {},
        watch=Stopwatch(),
        sent=sent,
        judged=True,
        begun=Beginning(problem),
    )


class _Steps(Method):
    """Rounds given as a step; see :class:`Method`."""

    kept = ("_state", "_done")

    most = 1
    saved_before_run = True

    def __init__(self, step, state, measure, stop, final):
        self._step, self._measure, self._stop, self._final = step, measure, stop, final
        self._state, self._done = state, 0

    @property
    def state(self):
        return dict(self._final(self._state))

    def run(self, rounds):
        self._state = self._step(self._state, self._done + 1)
        self._done += 1
        return 1, COMPLETED

    def measure(self):
        row = dict(self._measure(self._state))
        if self._done and not all(np.isfinite(value) for value in row.values()):
            return None
        return row

    def converged(self, measured):
        return self._stop is not None and self._stop(measured)


checked(globals())
