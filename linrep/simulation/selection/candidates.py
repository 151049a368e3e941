"""What a selection tries: methods with their settings, and how they are run."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linrep import algorithms
from linrep._lib import validation as check
from linrep._lib.display import brief
from linrep.problems.clients import ClientData
from linrep.trace import Trace

#: Candidates beside which all others stand.
BASELINES: Mapping[str, Mapping[str, Any]] = {
    "pooled": {}, "local_only": {}, "ridge": {}, "ridge_to_mean": {},
}  # fmt: skip
LEAVE_ONE_OUT = "leave_one_out"
RANKS = (1, 2, 3, 5, 10)
ROUNDS = (10, 30, 100, 300)


class Group(NamedTuple):
    """Candidates that one run serves: its states after several rounds, heads refitted or not."""

    name: str
    algorithm: Callable[..., Trace]
    settings: dict[str, Any]
    rounds: list[int | None]  # increasing
    ridges: list[Any]  # of heads refitted; None leaves them

    def candidates(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every candidate's name and settings, in the order of `states`."""
        for rounds, ridge in itertools.product(self.rounds, self.ridges):
            settings = dict(self.settings)
            settings |= {} if rounds is None else {"rounds": rounds}
            settings |= {} if ridge is None else {"ridge": ridge}
            words = [f"{name}={brief(value)}" for name, value in settings.items()]
            yield " ".join([self.name, *words]).replace("'", ""), settings


def states(group: Group, data: ClientData, seed: int) -> Iterator[Trace]:
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


def read_candidates(data, candidates, baselines, grid) -> list[Group]:
    """Return what is to be run.

    Parameters
    ----------
    data : ClientData
        Prepared: default settings depend on its size and scale.
    candidates, baselines, grid
        As :func:`linrep.select` takes them.
    """
    if candidates is None:
        candidates = {"fedrep": {}, "alternating_least_squares": {}, "nuclear_norm": {}}
        if grid:
            raise ValueError(f"{next(iter(grid))} needs candidates to be the method that it is of")
    elif isinstance(candidates, Mapping):
        if grid:
            raise ValueError(f"{next(iter(grid))} must be among the settings of a candidate")
    else:
        candidates = {candidates: grid}
    every = [(name, own) for name, own in BASELINES.items() if baselines and name not in candidates]
    groups: list[Group] = []
    for given, own in [*every, *candidates.items()]:
        name, algorithm = method_of(given)
        if not isinstance(own, Mapping):
            raise TypeError(f"candidates[{name!r}] must be a mapping of settings, got {own!r}")
        groups += _expanded(name, algorithm, dict(own) or _defaults(name, data))
    labels = [label for group in groups for label, _ in group.candidates()]
    if not labels:
        raise ValueError("candidates must hold at least one method where baselines=False")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"candidates must differ, got {twice!r} twice")
    return groups


def method_of(
    given: str | Callable[..., Trace], argument: str = "candidates"
) -> tuple[str, Callable[..., Trace]]:
    """Return a method's name and the method: one of this package by its name, or a callable.

    Parameters
    ----------
    given : str or callable
    argument : str
        What an error names.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if callable(given):
        return getattr(given, "__name__", type(given).__name__), given
    for module in (algorithms, algorithms.personalized):
        if isinstance(given, str) and inspect.isfunction(getattr(module, given, None)):
            return given, getattr(module, given)
    raise ValueError(f"{argument} must be methods of linrep.algorithms or callables, got {given!r}")


def _defaults(name, data) -> dict[str, Any]:
    """Return the settings that are tried of a method where none are given."""
    ranks = [k for k in RANKS if k <= min(data.n, data.d)]
    if name == "fedrep":
        return {"k": ranks, "rounds": ROUNDS}
    if name == "alternating_least_squares":
        alone = float(algorithms.ridge_penalty(data)[0])
        return {"k": ranks, "ridge": [0.0, 0.1 * alone, alone]}
    if name == "nuclear_norm":
        return {"penalty": algorithms.personalized.penalties(data)}
    return {}


def _expanded(name, algorithm, own) -> Iterator[Group]:
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
        rounds = sorted({check.integer("rounds", t, minimum=0) for t in lists.pop("rounds")})
    refitted = "ridge" in lists and "ridge" not in inspect.signature(algorithm).parameters
    ridges = lists.pop("ridge") if refitted else [None]
    for values in itertools.product(*lists.values()):
        settings: dict[str, Any] = dict(zip(lists, values, strict=True))
        yield Group(name, algorithm, settings, list(rounds), ridges)
