"""Choosing a method and its settings by held-out data, beside baselines that share nothing."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep import _validation as check
from linrep import algorithms
from linrep._display import brief
from linrep.problems.clients import ClientData
from linrep.random import RNGLike, stream
from linrep.sweeps.progress import progress_bar
from linrep.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("squared", "sign")
RULES = ("least", "one_standard_error")
#: Candidates beside which all others stand.
BASELINES: Mapping[str, Mapping[str, Any]] = {
    "pooled": {}, "local_only": {}, "ridge": {}, "ridge_to_mean": {},
}  # fmt: skip
#: Methods in which no client learns from another.
ALONE = ("local_only", "ridge")
LEAVE_ONE_OUT = "leave_one_out"
_RANKS = (1, 2, 3, 5, 10)
_ROUNDS = (10, 30, 100, 300)
_SHOWN = 40  # candidates of a picture


@dataclass(eq=False)
class Selection:
    """Candidates and their errors at held-out samples, the chosen one, and its fit to all data.

    Attributes
    ----------
    table : DataFrame
        A row per candidate, least error first: ``algorithm``; the settings that candidates differ
        in; ``error``, the mean over held-out samples, averaged over the splits; its
        ``standard_error``, over the splits; ``explained_variance``, of squared errors, 1 - error /
        variance of the labels held out; ``behind``, its error less that of the first row, and the
        ``paired_error`` of that, the standard error over the splits of the differences; ``rounds
        done``; ``stopped``, the trace's stop reason, "diverged" if any split's run did; and
        ``seconds``, of all splits.
    splits : DataFrame
        Mean error of every candidate (column) in every split (row).
    clients : DataFrame
        Mean error of every candidate (column) at every client's (row) held-out samples; NaN for a
        client that has none.
    best : str
        The chosen candidate, in the index of these tables.
    measure : {"squared", "sign"}
    rule : {"least", "one_standard_error"}

    Notes
    -----
    Splits share training samples, so that standard errors over them are on the small side; and the
    least of many errors is, too. For an error to report, keep samples that :func:`select` does not
    see: ``train, test = data.split(...)``.
    """

    table: pd.DataFrame
    splits: pd.DataFrame
    clients: pd.DataFrame
    best: str
    measure: str
    rule: str
    _fit: Callable[[str], Trace] = field(repr=False)

    @cached_property
    def trace(self) -> Trace:
        """The chosen candidate, run on all data."""
        return self._fit(self.best)

    def compare(self, one: str, two: str) -> tuple[float, float]:
        """Return by how much one candidate's error exceeds another's, and its paired error.

        Parameters
        ----------
        one, two : str
            In the index of the tables.
        """
        return _paired(self.splits[one] - self.splits[two])

    def summary(self) -> str:
        """Return in a sentence who is ahead, and whether by more than a paired standard error.

        The best candidate in which clients share anything stands beside the best in which none
        does; without one of either kind, the first method beside the second.
        """
        alone = self.table["algorithm"].isin(ALONE)
        kinds = alone if alone.any() and not alone.all() else self.table["algorithm"]
        firsts = [group.index[0] for _, group in self.table.groupby(kinds.values, sort=False)]
        if len(firsts) == 1:
            return f"{self.best} has {self._value(self.best)}; there is nothing to compare with"
        ahead, other = firsts[:2]
        difference, error = self.compare(other, ahead)
        if error > 0.0:
            times = f"{difference / error:.1f} paired standard errors"
        else:
            times = "with no standard error"
        verdict = "more than the splits vary" if difference > error else "no more than chance"
        sense = ""
        if kinds is alone:
            pays = not alone[ahead]
            clear = difference > error
            sense = (
                f": sharing {'pays' if pays else 'does not pay'} here"
                if clear
                else ": whether sharing pays cannot be told from these"
            )
        return (
            f"{ahead} has {self._value(ahead)}, {other} {self._value(other)}: ahead by "
            f"{difference:.3g} ± {error:.2g}, {times}, {verdict}{sense}"
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw every candidate with its standard error, the best first; return the axes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure's by default.
        """
        from linrep.plotting.selection import candidates

        return candidates(self.table.head(_SHOWN), best=self.best, measure=self.measure, ax=ax)

    def _value(self, name):
        row = self.table.loc[name]
        if self.measure == "sign":
            return f"{100 * row['error']:.1f} % of signs wrong"
        return f"explained variance {row['explained_variance']:.3f}"

    def __repr__(self):
        columns = ["error", "standard_error", "behind", "paired_error"]
        if self.measure == "squared":
            columns.insert(2, "explained_variance")
        shown = self.table[columns].head(12).to_string(float_format="{:.4g}".format)
        rest = len(self.table) - 12
        more = f"\n... and {rest} more" if rest > 0 else ""
        return f"{shown}{more}\nchosen: {self.best}\n{self.summary()}"

    def _repr_html_(self):
        return f"{self.table.to_html()}<p>chosen: {self.best}<br>{self.summary()}</p>"


class _Group(NamedTuple):
    """Candidates that one run serves: its states after several rounds, heads refitted or not."""

    name: str
    algorithm: Callable[..., Trace]
    settings: dict[str, Any]
    rounds: list[int | None]  # increasing
    ridges: list[Any]  # of heads refitted; None leaves them

    def labels(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every candidate's name and settings, in the order of `_states`."""
        for rounds, ridge in itertools.product(self.rounds, self.ridges):
            settings = dict(self.settings)
            settings |= {} if rounds is None else {"rounds": rounds}
            settings |= {} if ridge is None else {"ridge": ridge}
            words = [f"{name}={brief(value)}" for name, value in settings.items()]
            yield " ".join([self.name, *words]).replace("'", ""), settings


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
    """Choose a method, its rank, its ridge and its rounds by samples held out of every client.

    Parameters
    ----------
    data : ClientData
    candidates : str, callable, or mapping of these to mappings, optional
        Methods, by name or as callables ``method(data, **settings) -> Trace``, each with the
        settings to try: a list is tried value by value, in all combinations. By default, and where
        a method is given without them: ranks ``k`` of 1, 2, 3, 5 and 10; for FedRep ``rounds`` of
        10, 30, 100 and 300; for ``"nuclear_norm"`` the ``penalty`` of
        :func:`linrep.algorithms.personalized.penalties`. By default FedRep, alternating least
        squares and the nuclear norm.

        ``rounds`` are those of one run, that goes on from one to the next: early stopping.
        ``ridge``, of a method that has no such parameter but a representation, is that of heads
        fitted anew on it, see :func:`linrep.fit_heads`: numbers, or ``"leave_one_out"`` for
        :func:`linrep.ridge_penalty`.
    baselines : bool, default True
        Try least squares on all samples together (``"pooled"``), for each client (``"local_only"``)
        and with a penalty (``"ridge"``, ``"ridge_to_mean"``), too.
    folds : int, default 5
        Each client's samples are dealt out to so many parts, each held out once. A client's only
        sample is never held out.
    held_out : float, optional
        Instead: so many random splits, each with this share of every client's samples held out.
    measure : {"squared", "sign"}
        Squared errors; or the share of samples, with labels -1 and 1, whose prediction has not the
        label's sign. Every sample counts the same.
    rule : {"least", "one_standard_error"}
        Choose the least error; or, of the candidates that are behind by at most one paired standard
        error, the one that is given first: baselines, then the methods and their settings in the
        order they are given, so that simpler ones are best put first.
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
    if not isinstance(data, ClientData):
        raise TypeError(f"data must be ClientData, got {type(data).__name__}")
    check.choice("measure", measure, MEASURES)
    check.choice("rule", rule, RULES)
    workers = check.integer("workers", workers, minimum=1)
    if measure == "sign" and not np.isin(data.y, (-1.0, 1.0)).all():
        raise ValueError("measure='sign' needs labels that are -1 or 1")
    groups = list(_groups(data, candidates, baselines, grid))
    generator = stream(rng, "selection")
    splits = list(_splits(data, folds, held_out, generator))
    seeds = generator.integers(2**63, size=len(splits) + 1).tolist()

    def one(job):
        group, (train, test), seed = job
        return _errors(group, train, test, seed, prepare, measure)

    jobs = [
        (group, split, seed)
        for group in groups
        for split, seed in zip(splits, seeds[:-1], strict=True)
    ]
    with (
        ThreadPoolExecutor(workers) as pool,
        progress_bar(progress, total=len(jobs), desc="select", unit="run") as bar,
    ):
        found = []
        for each in pool.map(one, jobs):
            found.append(each)
            bar.update()
    names = [label for group in groups for label in group.labels()]
    # Of each group's runs, one for each split, the candidates' outcomes side by side.
    outcomes = [
        outcome
        for place in range(len(groups))
        for outcome in zip(*found[place * len(splits) : (place + 1) * len(splits)], strict=True)
    ]

    def fit(label):
        candidate = 0
        for group in groups:
            for place, (own, _) in enumerate(group.labels()):
                if own == label:
                    prepared = data if prepare is None else prepare(data)
                    states = _states(group, prepared, seeds[-1])
                    return next(itertools.islice(states, place, None))
                candidate += 1
        raise KeyError(label)

    return _selection(data, names, outcomes, splits, measure, rule, fit)


def _selection(data, names, outcomes, splits, measure, rule, fit):
    labels = [label for label, _ in names]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"candidates must differ, got {twice!r} twice")
    tests = [test for _, test in splits]
    columns = {
        label: [each.errors.sum() / len(test.y) for each, test in zip(runs, tests, strict=True)]
        for label, runs in zip(labels, outcomes, strict=True)
    }
    by_split = pd.DataFrame(columns).rename_axis(index="split", columns="candidate")
    clients = {}
    for label, runs in zip(labels, outcomes, strict=True):
        parts = [
            pd.DataFrame({"error": each.errors, "m": test.m}, index=list(test.names))
            for each, test in zip(runs, tests, strict=True)
        ]
        sums = pd.concat(parts).groupby(level=0, sort=False).sum()
        clients[label] = (sums["error"] / sums["m"]).reindex(list(data.names))
    errors = by_split.mean()
    order = errors.sort_values(kind="stable").index
    first = order[0]
    pairs = {label: _paired(by_split[label] - by_split[first]) for label in labels}
    table = pd.DataFrame([settings for _, settings in names], index=labels)
    table.insert(0, "algorithm", [each[0].name for each in outcomes])
    table["error"] = errors
    table["standard_error"] = [_paired(by_split[label])[1] for label in labels]
    if measure == "squared":
        table["explained_variance"] = 1.0 - errors / _variance(tests)
    table["behind"] = [pairs[label][0] for label in labels]
    table["paired_error"] = [pairs[label][1] for label in labels]
    table["rounds done"] = [max(each.rounds for each in runs) for runs in outcomes]
    table["stopped"] = [_worst(each.stopped for each in runs) for runs in outcomes]
    table["seconds"] = [sum(each.seconds for each in runs) for runs in outcomes]
    best = first
    if rule == "one_standard_error":
        best = next(label for label in labels if pairs[label][0] <= pairs[label][1])
    return Selection(
        table=table.loc[order].rename_axis("candidate"),
        splits=by_split,
        clients=pd.DataFrame(clients).rename_axis(index="client", columns="candidate"),
        best=best,
        measure=measure,
        rule=rule,
        _fit=fit,
    )


class _Outcome(NamedTuple):
    """A candidate's summed errors at each of a split's held-out clients, and how it ran."""

    name: str
    errors: NDArray[np.float64]
    rounds: int
    stopped: str
    seconds: float


def _errors(group, train, test, seed, prepare, measure) -> list[_Outcome]:
    """Run a group on one split."""
    outcomes = []
    for trace in _states(group, train if prepare is None else prepare(train), seed):
        with np.errstate(over="ignore", invalid="ignore"):
            predicted = trace.predict(test)
            if measure == "squared":
                wrong = (test.y - predicted) ** 2
            else:
                wrong = (np.sign(predicted) != test.y).astype(float)
        sums = np.add.reduceat(np.where(np.isfinite(wrong), wrong, np.inf), test.offsets[:-1])
        outcomes.append(
            _Outcome(group.name, sums, trace.rounds, trace.stop_reason, trace.wall_time)
        )
    return outcomes


def _states(group: _Group, data: ClientData, seed: int) -> Iterator[Trace]:
    """Yield the trace of every candidate of a group."""
    takes = inspect.signature(group.algorithm).parameters
    settings = dict(group.settings)
    trace: Trace | None = None
    for rounds in group.rounds:
        if trace is None or (trace.checkpoint is None and trace.stop_reason == "rounds"):
            own = settings if rounds is None else settings | {"rounds": rounds}
            if "rng" in takes:
                own = own | {"rng": seed}
            trace = group.algorithm(data, **own)
        elif trace.stop_reason == "rounds" and rounds is not None:
            more = {name: value for name, value in settings.items() if name != "start"}
            before = trace.wall_time
            trace = group.algorithm(data, start=trace, rounds=rounds - trace.rounds, **more)
            trace.wall_time += before
        for ridge in group.ridges:
            yield trace if ridge is None else with_ridge(trace, data, ridge)


def with_ridge(trace: Trace, data: ClientData, ridge: Any) -> Trace:
    """Return a trace with heads fitted anew on its representation, by ridge regression.

    Parameters
    ----------
    trace : Trace
        With ``B`` and ``W``, or ``U`` and ``V``, in its state.
    data : ClientData
        What it was learned from.
    ridge : float, array_like, shape (n,), or "leave_one_out"
        As :func:`linrep.fit_heads` takes it; or what :func:`linrep.ridge_penalty` finds.
    """
    names = next((pair for pair in (("B", "W"), ("U", "V")) if pair[0] in trace.state), None)
    if names is None:
        raise ValueError(
            f"ridge needs a method with a parameter of this name or with a representation, "
            f"{trace.algorithm} has neither"
        )
    B = trace.state[names[0]]
    if isinstance(ridge, str):
        check.choice("ridge", ridge, (LEAVE_ONE_OUT,))
        ridge = algorithms.ridge_penalty(data, B)
    state = trace.state | {names[1]: algorithms.fit_heads(data, B, ridge=ridge)}
    taken = float(np.max(ridge))
    return replace(trace, state=state, settings=trace.settings | {"ridge": taken}, checkpoint=None)


def _groups(data, candidates, baselines, grid) -> Iterator[_Group]:
    """Yield what is to be run."""
    if candidates is None:
        candidates = {"fedrep": grid, "alternating_least_squares": {}, "nuclear_norm": {}}
        if grid:
            raise ValueError(f"{next(iter(grid))} needs candidates to be the method that it is of")
    elif isinstance(candidates, Mapping):
        if grid:
            raise ValueError(f"{next(iter(grid))} must be among the settings of a candidate")
    else:
        candidates = {candidates: grid}
    every = [(name, own) for name, own in BASELINES.items() if baselines and name not in candidates]
    for given, own in [*every, *candidates.items()]:
        name, algorithm = _method(given)
        if not isinstance(own, Mapping):
            raise TypeError(f"candidates[{name!r}] must be a mapping of settings, got {own!r}")
        yield from _expanded(name, algorithm, _defaults(name, data) | dict(own))


def _method(given) -> tuple[str, Callable[..., Trace]]:
    if callable(given):
        return getattr(given, "__name__", type(given).__name__), given
    for module in (algorithms, algorithms.personalized):
        if isinstance(given, str) and inspect.isfunction(getattr(module, given, None)):
            return given, getattr(module, given)
    raise ValueError(f"candidates must be methods of linrep.algorithms or callables, got {given!r}")


def _defaults(name, data) -> dict[str, Any]:
    """Return the settings that are tried of a method unless others are given."""
    if name in ("fedrep", "alternating_least_squares"):
        ranks = [k for k in _RANKS if k <= min(data.n, data.d)]
        return {"k": ranks} | ({"rounds": list(_ROUNDS)} if name == "fedrep" else {})
    if name == "nuclear_norm":
        return {"penalty": algorithms.personalized.penalties(data)}
    return {}


def _expanded(name, algorithm, own) -> Iterator[_Group]:
    """Yield a group for every combination of settings but of rounds and heads' penalties."""
    lists = {
        key: list(value) if isinstance(value, list | tuple | range | np.ndarray) else [value]
        for key, value in own.items()
    }
    empty = next((key for key, values in lists.items() if not values), None)
    if empty is not None:
        raise ValueError(f"{empty} of {name} must have at least one value")
    rounds: Iterable[Any] = [None]
    if "rounds" in lists:
        values = [check.integer("rounds", each, minimum=0) for each in lists.pop("rounds")]
        rounds = sorted(set(values))
    refitted = "ridge" in lists and "ridge" not in inspect.signature(algorithm).parameters
    ridges = lists.pop("ridge") if refitted else [None]
    for values in itertools.product(*lists.values()):
        settings = dict(zip(lists, values, strict=True))
        yield _Group(name, algorithm, settings, list(rounds), ridges)


def _splits(data, folds, held_out, generator):
    """Yield pairs of data to learn from, of all clients, and held out, of those that have any."""
    if held_out is not None:
        for own in generator.spawn(check.integer("folds", folds, minimum=1)):
            yield data.split(held_out, rng=own)
        return
    folds = check.integer("folds", folds, minimum=2)
    part = np.full(len(data.y), -1)
    dealt = 0
    for start, m in zip(data.offsets[:-1], data.m, strict=True):
        if m > 1:
            part[start : start + m] = (dealt + generator.permutation(m)) % folds
            dealt += m
    if dealt < folds:
        raise ValueError(
            f"folds must be at most {dealt}, the number of samples of clients with two or more, "
            f"got {folds}"
        )
    for fold in range(folds):
        yield data.part(part != fold), data.part(part == fold)


def _paired(differences) -> tuple[float, float]:
    """Return the mean of numbers that belong to splits and its standard error."""
    values = np.asarray(differences, dtype=float)
    with np.errstate(invalid="ignore"):  # infinite errors have no standard error
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def _variance(tests):
    """Return the variance of held-out labels around their mean in each split, averaged."""
    return float(np.mean([np.var(test.y) for test in tests]))


def _worst(reasons):
    reasons = set(reasons)
    return next(each for each in ("diverged", "rounds", "converged") if each in reasons)
