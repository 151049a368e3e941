"""Algorithms side by side on the same truths, samples and participants."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator

from linrep import algorithms as known
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.progress import progress_bar
from linrep._lib.threads import one_thread
from linrep.algorithms.diagnosis import RunWarning
from linrep.algorithms.drawing import needs_truth, watched
from linrep.algorithms.errors import errors
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike, stream
from linrep.problems.regression import ImplicitRepresentation
from linrep.simulation.families import takes
from linrep.simulation.result import AXES, COLUMNS, METRICS, Comparison
from linrep.trace import Trace

__all__ = ["Comparison", "compare"]

SAMPLINGS = ("fixed", "fresh", "own")
_HELD_OUT = 0.3  # of a client's samples, where none is given
_OF_TRUTH = ("distance", "population_risk")


class _Entrant(NamedTuple):
    """A method with its settings, under the name that tables give it."""

    label: str
    algorithm: Callable[..., Trace]
    settings: dict[str, Any]


def compare(
    problem: Any,
    algorithms: Iterable[Any] | Mapping[str, Any],
    *,
    m: int | Iterable[int] | None = None,
    axis: str = "samples",
    sampling: str = "fixed",
    metric: str | None = None,
    trials: int = 10,
    simulate: bool | None = None,
    workers: int = 1,
    progress: bool | None = None,
    rng: RNGLike = None,
    **settings: Any,
) -> Comparison:
    """Compare algorithms on the same truths, samples, participants and starts.

    Parameters
    ----------
    problem : SharedRepresentation, LowRankRegression, callable or ClientData
        A truth to draw samples from; ``problem(rng)``, called once per trial, for a new truth in
        each; or your own samples, of which every trial holds out a different part.
    algorithms : iterable or mapping
        Names of methods of :mod:`linrep.algorithms` and :mod:`~linrep.algorithms.personalized`, or
        callables ``algorithm(problem, *, rng, **settings)``. A mapping gives them names of its own,
        with a method or a pair of a method and its settings:
        ``{"long steps": ("fedrep", {"step_size": 0.5})}``; or settings alone, of a method of that
        name.
    m : int or iterable of int
        Samples per client, one number or several; of your own data, the number used for learning.
    axis : {"samples", "rounds", "floats", "seconds"}
        What methods are compared along: the total number of samples seen, over the values of `m`
        or, with fresh samples, over rounds; communication rounds; numbers sent both ways; wall
        time, as if all rounds of a run took the same time.
    sampling : {"fixed", "fresh", "own"}
        ``"fixed"``: all methods have the same samples, once; a method that draws them itself (its
        parameter ``m`` has no default) is given these when it draws, and no others. ``"fresh"``: m
        new samples per client and round, which a method must draw itself. ``"own"``: each method is
        given the truth and samples as it does by default, so that one may see new samples in every
        round and another the same ones; the table and the picture say so.
    metric : str, optional
        ``"distance"``, the principal-angle distance to the representation, the default if all
        methods have one (for a method that learns only models, that of their k leading right
        singular vectors); ``"population_risk"``, half the mean squared distance to the clients'
        true models, otherwise; on your own data, ``"unexplained"``, the share of the held-out
        variance that is not explained.
    trials : int, default 10
        Independent repetitions.
    simulate : bool, optional
        With fresh samples of a Gaussian design: draw what a round depends on instead of the
        samples, with exactly the same distribution and for any m and d, see the documentation on
        simulated batches. All methods have to take ``batches="gram"`` then. By default where the
        truth stores no B* (``store=False``).
    workers : int, default 1
        Threads that share the runs; the numbers do not depend on it, but wall times do.
    progress : bool, optional
        Show a bar; by default where standard error is a terminal.
    rng : optional
        Anything `numpy.random.default_rng` takes.
    **settings
        For all methods that take them, such as ``k`` or ``rounds``.

    Returns
    -------
    Comparison
        Rows, a table with intervals in pairs, a sentence on who is ahead where, and a picture.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, a setting is one that no method takes, or a method cannot
        sample as asked.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=50, d=20, k=2, noise=0.1, rng=0)
    >>> found = lr.compare(
    ...     truth, ["fedrep", "alternating_least_squares"], m=[5, 10, 20], k=2, trials=3, rng=1
    ... )
    >>> list(found.rows["samples"].unique())
    [250, 500, 1000]
    """
    check.choice("axis", axis, AXES)
    check.choice("sampling", sampling, SAMPLINGS)
    if metric is not None:
        check.choice("metric", metric, METRICS)
    trials = check.integer("trials", trials, minimum=1)
    workers = check.integer("workers", workers, minimum=1)
    own_data = isinstance(problem, ClientData)
    if not (own_data or callable(problem) or hasattr(problem, "draw")):
        raise TypeError(
            f"problem must be a truth, a function or ClientData, got {type(problem).__name__}"
        )
    if own_data and sampling != "fixed":
        raise ValueError("sampling must be 'fixed' with ClientData, which has its samples already")
    if simulate and sampling != "fresh":
        raise ValueError("simulate=True needs sampling='fresh': stored samples are no simulation")
    entrants = _read(algorithms, settings)
    if sampling == "fresh":
        for each in entrants:
            if not takes(each.algorithm, "m"):
                raise ValueError(f"sampling='fresh' needs methods that draw, {each.label} does not")
    sizes = _sizes(m)
    jobs = [
        (entrant, size, trial, seeds)
        for trial, generators in enumerate(
            each.spawn(3) for each in stream(rng, "comparison").spawn(trials)
        )
        for size, seeds in zip(sizes, _by_size(generators, len(sizes)), strict=True)
        for entrant in entrants
    ]

    def one(job):
        entrant, size, trial, seeds = job
        try:
            rows, taken = _run(problem, entrant, size, sampling, seeds, axis, simulate)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{entrant.label}: {error}") from error
        named = {"method": entrant.label, "trial": trial, "m": size}
        return [named | row for row in rows], entrant.label, seeds[0], taken

    with (
        warnings.catch_warnings(),
        one_thread(),  # BLAS's threads would be in each other's way
        ThreadPoolExecutor(workers) as pool,
        progress_bar(progress, total=len(jobs), desc="compare", unit="run") as bar,
    ):
        warnings.simplefilter("ignore", RunWarning)  # how runs ended is in the rows
        rows: list[dict[str, Any]] = []
        resolved: dict[str, dict[str, Any]] = {}
        runs: dict[str, list[tuple[Any, dict[str, Any]]]] = {}
        for new_rows, label, seed, taken in pool.map(one, jobs):
            rows += new_rows
            resolved.setdefault(label, taken)
            if sampling == "fresh" and len(sizes) == 1:
                runs.setdefault(label, []).append((_truth(problem, seed), taken))
            bar.update()
    table = pd.DataFrame(rows)
    table = table[[name for name in COLUMNS if name in table]]
    batches = [str(taken.get("batches")) for taken in resolved.values()]
    if sampling == "fresh" and all(each.startswith("gram") for each in batches):
        sampling = "simulated"
    truths = []
    if axis == "samples" and sampling == "fixed" and not own_data:
        # One for all trials, or one for each.
        of_trials = dict.fromkeys(tuple(seeds[0]) for *_, seeds in jobs)
        truths = [_truth(problem, seed) for seed in of_trials]
        truths = truths[:1] if truths[0] is problem else truths
    return Comparison(
        table, axis=axis, sampling=sampling, metric=metric,
        settings=pd.DataFrame.from_dict(resolved, orient="index"), truths=truths,
        runs=runs,
    )  # fmt: skip


def _read(algorithms, settings) -> list[_Entrant]:
    """Return the methods with the settings that they take."""
    if isinstance(algorithms, str) or callable(algorithms):
        algorithms = [algorithms]
    if isinstance(algorithms, Mapping):
        given = [_named(label, value) for label, value in algorithms.items()]
    else:
        given = [(None, each, {}) for each in algorithms]
    if not given:
        raise ValueError("algorithms must hold at least one method")
    entrants = []
    for label, method, own in given:
        name, algorithm = _method_of(method)
        if label is None:
            label = name
        shared = {key: value for key, value in settings.items() if takes(algorithm, key)}
        for key in own:
            if not takes(algorithm, key):
                raise ValueError(f"{label} has no setting {key!r}")
        entrants.append(_Entrant(label, algorithm, shared | own))
    for key in settings:
        if not any(takes(each.algorithm, key) for each in entrants):
            raise ValueError(f"no method has a setting {key!r}")
    labels = [each.label for each in entrants]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"algorithms must differ, got {twice!r} twice: give them names")
    return entrants


def _method_of(given) -> tuple[str, Callable[..., Trace]]:
    """Return a method's name and the method: one of this package by its name, or a callable."""
    if callable(given):
        return getattr(given, "__name__", type(given).__name__), given
    for module in (known, known.personalized):
        if isinstance(given, str) and inspect.isfunction(getattr(module, given, None)):
            return given, getattr(module, given)
    raise ValueError(f"algorithms must be methods of linrep.algorithms or callables, got {given!r}")


def _named(label, value):
    """Return name, method and settings of an entry of a mapping."""
    if isinstance(value, Mapping):
        return label, label, dict(value)
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], Mapping):
            raise TypeError(f"algorithms[{label!r}] must be a method and a mapping, got {value!r}")
        return label, value[0], dict(value[1])
    return label, value, {}


def _sizes(m) -> list[int | None]:
    if m is None:
        return [None]
    values = [m] if isinstance(m, int | np.integer) else list(m)
    if not values:
        raise ValueError("m must hold at least one number")
    return [check.integer("m", each, minimum=1) for each in values]


def _by_size(generators: list[Generator], count: int) -> list[list[list[int]]]:
    """Return, for every size, seeds of a truth, of samples and of a run.

    Truths and runs are the same for all sizes; samples are independent. They are plain numbers:
    a SeedSequence counts the streams that are spawned from it, whoever asks.
    """
    problem_rng, data_rng, run_rng = generators
    of_problem, of_run = (each.integers(2**63, size=2).tolist() for each in (problem_rng, run_rng))
    of_data = data_rng.integers(2**63, size=(count, 2)).tolist()
    return [[of_problem, each, of_run] for each in of_data]


def _truth(problem, seed):
    """Return the truth of a trial."""
    drawn_anew = callable(problem) and not hasattr(problem, "draw")
    return problem(np.random.default_rng(seed)) if drawn_anew else problem


def _run(problem, entrant, size, sampling, seeds, along, simulate):
    """Run a method once; return its rows, and the settings it resolved to."""
    problem_seed, data_seed, run_seed = seeds
    run = dict(entrant.settings)
    drawn: list[int] = []
    data_rng = np.random.default_rng(data_seed)
    truth: Any = None
    test: ClientData | None = None
    given: Any
    if isinstance(problem, ClientData):
        given, test = _parts(problem, size, data_rng)
    else:
        truth = _truth(problem, problem_seed)
        if size is None:
            raise ValueError("m must be given: the number of samples per client")
        data = truth.draw(size, rng=data_rng) if sampling == "fixed" else None
        alone = data is not None and not needs_truth(entrant.algorithm)
        given = data if alone else watched(truth, drawn, data)
        if not alone:
            run["m"] = size
        if sampling == "fresh":
            stores_none = isinstance(truth, ImplicitRepresentation)
            run |= _batches(entrant, stores_none if simulate is None else simulate)
    if takes(entrant.algorithm, "rng"):
        run["rng"] = np.random.default_rng(run_seed)
    trace = entrant.algorithm(given, **run)
    if not isinstance(trace, Trace):
        raise TypeError(f"a linrep.Trace must be returned, got {type(trace).__name__}")
    if sampling == "fresh" and "batches" not in trace.settings and len(drawn) < trace.rounds:
        raise ValueError(f"drew samples {len(drawn)} times in {trace.rounds} rounds, not in each")
    return _measured(trace, truth, given, drawn, test, along), trace.settings


def _batches(entrant, simulated):
    """Return the setting with which a method sees new samples in every round."""
    if not takes(entrant.algorithm, "batches"):
        if simulated:
            raise ValueError("has no parameter batches, with which its samples could be simulated")
        return {}
    given = str(entrant.settings.get("batches", "gram" if simulated else "fresh"))
    if simulated and not given.startswith("gram"):
        raise ValueError(f"batches must be 'gram' or 'gram_split' with simulate, got {given!r}")
    return {"batches": given}


def _parts(data: ClientData, keep: int | None, rng: Generator) -> tuple[ClientData, ClientData]:
    """Split every client's samples at random into those to learn from and those held out.

    Learned from are so many of each client's, or all it has; without a number seven tenths, one at
    least. Each client's samples keep their order.
    """
    m = data.m
    count = np.floor(_HELD_OUT * m + 0.5).astype(np.int64) if keep is None else m - keep
    count = np.clip(count, 0, m - 1)
    if not count.any():
        raise ValueError(f"no sample is held out of clients with {m.min()} to {m.max()} samples")
    client = np.repeat(np.arange(data.n), m)
    order = np.lexsort((rng.random(client.size), client))
    held = np.zeros(client.size, dtype=bool)
    held[order] = np.arange(client.size) - data.offsets[client] < count[client]
    return _part(data, ~held, data.truth), _part(data, held, None)


def _part(data, mask, truth):
    """Return the samples of a mask, of the clients that have any."""
    m = np.add.reduceat(mask, data.offsets[:-1], dtype=np.int64)
    there = np.flatnonzero(m)
    names = tuple(data.names[i] for i in there)
    return ClientData._keeping(
        X=data.X[mask],
        y=data.y[mask],
        offsets=np.append(0, np.cumsum(m[there])),
        names=names,
        truth=truth,
        rows=None if data.rows is None else data.rows[mask],
        index=None if data.index is None else data.index[mask],
        columns=data.columns,
    )


def _measured(trace, truth, given, drawn, test, along) -> list[dict[str, Any]]:
    """Return rows of a run: its last state, or that of every recorded round.

    Its models are compared with a truth, or, where there is none, on held-out samples. What it was
    given are samples, or a truth to draw from, of which it has drawn these numbers.
    """
    there = [name for name in _OF_TRUTH if name in trace]
    once = isinstance(given, ClientData) or _draws_once(trace.settings, drawn)

    def spent(place):
        done = int(trace.recorded[place])
        sent = [trace[name][place] for name in ("floats_up", "floats_down") if name in trace]
        return {
            "rounds": done,
            "samples": _samples(trace, place, given, drawn),
            "floats": float(sum(sent)) if sent else float("nan"),
            "seconds": trace.wall_time * done / trace.rounds if trace.rounds else trace.wall_time,
        }

    if test is not None or not there or (along == "samples" and once):
        last = errors(trace, truth) if test is None else {"unexplained": 1.0 - trace.score(test)}
        last = last or {name: float(trace[name][-1]) for name in there}
        return [spent(-1) | {"stop_reason": trace.stop_reason} | last]
    rows = []
    for place in range(len(trace.recorded)):
        row = {name: float(trace[name][place]) for name in there}
        rows.append(spent(place) | row | {"stop_reason": trace.stop_reason})
    return rows


def _draws_once(settings, drawn):
    """Tell whether all rounds saw the same samples; a start may draw some of its own."""
    return settings["batches"] == "fixed" if "batches" in settings else len(drawn) == 1


def _samples(trace, place, given, drawn):
    """Return how many samples were seen: as the trace says, or what a user's own method drew."""
    if isinstance(given, ClientData):
        return len(given.y)
    if "samples" in trace:
        return int(trace["samples"][place])
    done = 1.0 if len(drawn) == 1 or not trace.rounds else trace.recorded[place] / trace.rounds
    return round(done * sum(drawn))


checked(globals())
