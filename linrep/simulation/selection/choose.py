"""Choosing a method and its settings by held-out data, beside baselines that share nothing."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.progress import progress_bar
from linrep.algorithms.diagnosis import RunWarning
from linrep.problems.clients import ClientData
from linrep.problems.prediction import predict_in_place
from linrep.problems.random import RNGLike, stream
from linrep.simulation.selection.candidates import Group, read_candidates, states
from linrep.simulation.selection.result import Selection, paired
from linrep.trace import Trace

MEASURES = ("squared", "sign")
RULES = ("least", "one_standard_error")


def select(
    data: ClientData,
    candidates: str | Callable[..., Trace] | Mapping[Any, Mapping[str, Any]] | None = None,
    *,
    baselines: bool = True,
    folds: int = 5,
    held_out: float | None = None,
    measure: str = "squared",
    rule: str = "least",
    prepare: Callable[[ClientData], ClientData] | None = None,
    workers: int = 1,
    progress: bool | None = None,
    rng: RNGLike = None,
    **grid: Any,
) -> Selection:
    """Choose a method, its rank, its ridge and its rounds by held-out samples of every client.

    Parameters
    ----------
    data : ClientData
        A truth, if there is one, is ignored: held-out samples decide.
    candidates : str, callable, or mapping of these to mappings, optional
        Methods, by name or as callables ``method(data, **settings) -> Trace``, each with the
        settings to try: a list is tried value by value, in all combinations. By default FedRep,
        alternating least squares and the nuclear norm. Where a method is given without settings,
        these are tried, ranks ``k`` of 1, 2, 3, 5 and 10; ``"fedrep"`` with ``rounds`` of 10, 30,
        100 and 300; ``"alternating_least_squares"`` with ``ridge`` of 0, a tenth of what
        :func:`linrep.ridge_penalty` finds, and that; ``"nuclear_norm"`` with the ``penalty`` of
        :func:`linrep.algorithms.personalized.penalties`.

        ``rounds`` are those of a single run, evaluated after each of them: early stopping. For a
        method that has a representation but no such parameter, ``ridge`` is that of heads refitted
        on it, see :func:`linrep.fit_heads`: numbers, or ``"leave_one_out"`` for
        :func:`linrep.ridge_penalty`.
    baselines : bool, default True
        Try least squares on all samples together (``"pooled"``), for each client (``"local_only"``)
        and with a penalty (``"ridge"``, ``"ridge_to_mean"``), too.
    folds : int, default 5
        Each client's samples are divided into so many parts, each held out once. A client's only
        sample is never held out.
    held_out : float, optional
        Instead: so many random splits, each with this share of every client's samples held out.
    measure : {"squared", "sign"}
        Squared errors; or the share of samples, with labels -1 and 1, whose prediction has the
        wrong sign. All samples have equal weight.
    rule : {"least", "one_standard_error"}
        Choose the least error; or, of the candidates that are behind by at most one paired standard
        error, the first: baselines come first, then the methods and their settings in the given
        order, so it is best to list simpler ones first.
    prepare : callable, optional
        ``prepare(data) -> ClientData``, such as ``lambda data: data.standardized()``, called on the
        samples learned from: errors are in the units of `data`.
    workers : int, default 1
        Threads that share the runs; the numbers do not depend on it.
    progress : bool, optional
        Show a bar. By default on terminals and in notebooks.
    rng : optional
        Anything `numpy.random.default_rng` takes: for the splits, and a seed for each that all
        methods share.
    **grid
        Settings, where `candidates` is one method.

    Returns
    -------
    Selection

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, no sample can be held out, or a method refuses its settings.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=30, d=8, k=2, noise=0.3, rng=0)
    >>> found = lr.select(truth.draw(10, rng=1), "alternating_least_squares", k=[1, 2, 4], rng=0)
    >>> found.best
    'alternating_least_squares k=2'
    >>> found.trace.state["B"].shape
    (8, 2)
    """
    check.choice("measure", measure, MEASURES)
    check.choice("rule", rule, RULES)
    workers = check.integer("workers", workers, minimum=1)
    if measure == "sign" and not np.isin(data.y, (-1.0, 1.0)).all():
        raise ValueError("measure='sign' needs labels that are -1 or 1")
    data = replace(data, truth=None)
    if prepare is None:
        prepare = _as_they_are
    groups = read_candidates(prepare(data), candidates, baselines, grid)
    generator = stream(rng, "selection")
    splits = _splits(data, folds, held_out, generator)
    *seeds, last = generator.integers(2**63, size=len(splits) + 1).tolist()
    jobs = [
        (group, prepare, *split, seed, measure)
        for group in groups
        for split, seed in zip(splits, seeds, strict=True)
    ]
    with (
        warnings.catch_warnings(),
        ThreadPoolExecutor(workers) as pool,
        progress_bar(progress, total=len(jobs), desc="select", unit="run") as bar,
    ):
        # What a run would warn of is in the table: how it ended, and how well it predicts.
        warnings.simplefilter("ignore", RunWarning)
        all_outcomes = []
        for outcomes in pool.map(lambda job: _outcomes(*job), jobs):
            all_outcomes.append(outcomes)
            bar.update()
    # Of each group's runs, one for each split, the candidates' outcomes side by side.
    several = len(splits)
    runs = [
        outcomes
        for place in range(len(groups))
        for outcomes in zip(*all_outcomes[place * several : (place + 1) * several], strict=True)
    ]

    def fit(label):
        for group in groups:
            for place, (own, _) in enumerate(group.candidates()):
                if own == label:
                    return next(itertools.islice(states(group, prepare(data), last), place, None))
        raise KeyError(label)

    settings = dict(itertools.chain.from_iterable(group.candidates() for group in groups))
    return _selection(data, settings, runs, [test for _, test in splits], measure, rule, fit)


def _as_they_are(data):
    return data


def _selection(data, settings, runs, tests, measure, rule, fit) -> Selection:
    """Return the tables: settings by candidates' names, and the outcomes of each in its splits."""
    labels, m = list(settings), [len(test.y) for test in tests]
    splits = pd.DataFrame(
        {
            label: [each.errors.sum() / size for each, size in zip(own, m, strict=True)]
            for label, own in zip(labels, runs, strict=True)
        }
    )
    overlap = float(np.mean([size / (len(data.y) - size) for size in m]))
    errors = splits.mean()
    # Of errors that agree to six digits, which rounds near convergence do, the first named is best.
    order = errors.map(lambda error: float(f"{error:.5e}")).sort_values(kind="stable").index
    behind = {label: paired(splits[label] - splits[order[0]], overlap) for label in labels}
    table = pd.DataFrame(list(settings.values()), index=pd.Index(labels, name="candidate"))
    table.insert(0, "algorithm", [own[0].name for own in runs])
    table["error"] = errors
    table["standard_error"] = [paired(splits[label], overlap)[1] for label in labels]
    if measure == "squared":
        table["explained_variance"] = 1.0 - errors / np.mean([np.var(test.y) for test in tests])
    table["behind"], table["paired_error"] = zip(*behind.values(), strict=True)
    table["rounds_done"] = [max(each.rounds for each in own) for own in runs]
    table["stopped"] = [_worst(each.stopped for each in own) for own in runs]
    table["seconds"] = [sum(each.seconds for each in own) for own in runs]
    best = order[0]
    if rule == "one_standard_error":  # the first one itself is behind by nothing
        best = next(own for own in labels if own == best or behind[own][0] <= behind[own][1])
    by_client = {
        label: _by_client(own, tests, data.names) for label, own in zip(labels, runs, strict=True)
    }
    selection = Selection(
        table=table.loc[order],
        splits=splits.rename_axis(index="split", columns="candidate"),
        clients=pd.DataFrame(by_client).rename_axis(index="client", columns="candidate"),
        best=best,
        measure=measure,
        rule=rule,
        overlap=overlap,
    )
    selection._fit = fit
    return selection


def _by_client(runs, tests, clients):
    """Return a candidate's mean error at each client's held-out samples of all splits."""
    parts = [
        pd.DataFrame({"error": run.errors, "m": test.m}, index=list(test.names))
        for run, test in zip(runs, tests, strict=True)
    ]
    sums = pd.concat(parts).groupby(level=0, sort=False).sum()
    return (sums["error"] / sums["m"]).reindex(list(clients))


class _Outcome(NamedTuple):
    """A candidate's summed errors at each of a split's held-out clients, and how it ran."""

    name: str
    errors: NDArray[np.float64]
    rounds: int
    stopped: str
    seconds: float


def _outcomes(group: Group, prepare, train, test, seed, measure) -> list[_Outcome]:
    """Run a group's candidates on one split."""
    outcomes = []
    for trace in states(group, prepare(train), seed):
        with np.errstate(over="ignore", invalid="ignore"):  # of runs that diverged
            predicted = predict_in_place(trace, test)
            if measure == "squared":
                wrong = (test.y - predicted) ** 2
            else:
                wrong = (np.sign(predicted) != test.y).astype(float)
        wrong = np.where(np.isfinite(wrong), wrong, np.inf)
        sums = np.add.reduceat(wrong, test.offsets[:-1])
        outcomes.append(
            _Outcome(group.name, sums, trace.rounds, trace.stop_reason, trace.wall_time)
        )
    return outcomes


def _splits(data, folds, held_out, generator):
    """Return pairs of data to learn from, of all clients, and held out, of those that have any."""
    if held_out is None:
        return list(data.folds(folds, rng=generator))
    count = check.integer("folds", folds, minimum=1)
    return [data.split(held_out, rng=own) for own in generator.spawn(count)]


def _worst(reasons):
    reasons = set(reasons)
    return next(each for each in ("diverged", "stalled", "rounds", "converged") if each in reasons)


checked(globals())
