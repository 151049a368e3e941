"""Algorithms in sweeps: a ground truth drawn from parameters, a run on it, and what it came to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np

from linrep import _validation as check
from linrep.algorithms import Trace, fedavg, fedrep, fedsgd, flute, local_only
from linrep.problems import LowRankRegression, SharedRepresentation
from linrep.sweeps import Grid, Sweep, label, load

ALGORITHMS: Mapping[str, Callable[..., Any]] = {
    "fedrep": fedrep,
    "fedsgd": fedsgd,
    "fedavg": fedavg,
    "local_only": local_only,
    "flute": flute,
}
KEEP = ("final", "rate", "trace")
#: What every cell must meet, with the reason.
CONSTRAINTS = {
    "k <= d": "k > d: the representation would have dependent columns",
    "k <= n": "k > n: fewer clients than the rank",
}

#: Singular values of models (n, d) that need not share a representation of rank k, by the name
#: that a cell has for them: independent normal ones, and those of FLUTE's Figure 3.
MODELS: Mapping[str, Callable[[int, int], Any]] = {
    "normal": lambda n, d: None,
    "decaying": lambda n, d: 2.0 * d / (np.arange(1, min(n, d) + 1) + 1),
}


def _parameters(function):
    return tuple(name for name in inspect.signature(function).parameters if name != "rng")


_PROBLEM = (*_parameters(SharedRepresentation.random), "models")
_KEPT_ROUNDS = 200


def simulate(
    cell: Mapping[str, Any], rng: np.random.Generator, *, keep: str = "final"
) -> dict[str, Any] | list[dict[str, Any]]:
    """Draw a ground truth, run an algorithm on it, and return what it came to.

    Parameters
    ----------
    cell : mapping
        ``algorithm``, see :func:`find_algorithm`; the parameters of
        :meth:`linrep.SharedRepresentation.random`, which describe the problem; all others are the
        algorithm's. With ``models``, a key of `MODELS`, the problem is a
        :class:`linrep.LowRankRegression` instead, and k the rank that is fitted: methods are handed
        samples of it, unless ``batches`` are other than fixed.
    rng : Generator
        Truth and run have streams of their own, spawned from it: algorithms given equal generators
        meet the same truth, data and participants.
    keep : {"final", "rate", "trace"}
        One row with the metrics after the last round; the same with the contraction of the distance
        per round, its interval, and its plateau, where there is a distance; or one row per round,
        evenly thinned to about 200.

    Returns
    -------
    dict or list of dict
        Metrics, ``rounds_done`` (``round`` for a trace) and ``stop_reason``.

    Raises
    ------
    ValueError, TypeError
        If a parameter is unknown or out of range.
    """
    check.choice("keep", keep, KEEP)
    problem = {name: cell[name] for name in _PROBLEM if name in cell}
    settings = {name: cell[name] for name in cell if name not in (*_PROBLEM, "algorithm")}
    truth_rng, run_rng = rng.spawn(2)
    algorithm = find_algorithm(cell["algorithm"])
    met: Any
    if problem.get("models") is None:
        problem.pop("models", None)
        met = SharedRepresentation.random(**problem, rng=truth_rng)
    else:
        met, settings = _low_rank(problem, settings, algorithm, truth_rng)
    result = algorithm(met, rng=run_rng, **settings)
    trace = result if isinstance(result, Trace) else _as_trace(result)
    if keep == "trace":
        return [
            {
                "round": int(trace.recorded[place]),
                **{name: float(values[place]) for name, values in trace.metrics.items()},
                "stop_reason": trace.stop_reason,
            }
            for place in _thinned(len(trace.recorded) - 1)
        ]
    row: dict[str, Any] = {name: float(values[-1]) for name, values in trace.metrics.items()}
    if keep == "rate" and "distance" in trace:
        rate = trace.rate()
        row |= {
            "rate": rate.rate,
            "rate_low": rate.low,
            "rate_high": rate.high,
            "plateau": rate.plateau,
            "level": rate.level,
        }
    return row | {"rounds_done": trace.rounds, "stop_reason": trace.stop_reason}


def sweep(
    algorithms: str | Iterable[str],
    axes: Mapping[str, Any],
    *,
    replicates: int,
    seed: int = 0,
    keep: str = "final",
    zipped: Iterable[Iterable[str]] = (),
    derived: Mapping[str, Any] | None = None,
    constraints: Mapping[str, str] | Iterable[str] = (),
) -> Sweep:
    """Return the sweep of one or several algorithms over parameters of problem and method.

    Parameters
    ----------
    algorithms : str or iterable of str
        See :func:`find_algorithm`; several make an axis of their own.
    axes : mapping
        Values of the parameters; n, d and k must be among these or `derived`.
    replicates, seed
        As in :class:`linrep.sweeps.Sweep`.
    keep : {"final", "rate", "trace"}
        As in :func:`simulate`.
    zipped, derived, constraints
        As in :meth:`linrep.sweeps.Grid.product`; k <= min(n, d) is always a constraint.

    Returns
    -------
    Sweep
        Cells that agree in m and in the parameters of the problem share truth, data and
        participants within a replicate: algorithms and their settings are compared in pairs. An
        algorithm has only those parameters that it knows.

    Raises
    ------
    ValueError
        If an algorithm or a parameter is unknown.
    """
    algorithms = (algorithms,) if isinstance(algorithms, str) else tuple(algorithms)
    check.choice("keep", keep, KEEP)
    derived = derived or {}
    functions = [find_algorithm(name) for name in algorithms]
    # Loaded by now, so that the way to their files need not be part of the cells' names.
    algorithms = tuple(map(label, algorithms))
    known = dict(zip(algorithms, map(known_parameters, functions), strict=True))
    for name in (*axes, *derived):
        if not any(own is None or name in own for own in known.values()):
            every = dict.fromkeys(name for own in known.values() for name in own or ())
            raise ValueError(
                f"unknown parameter {name!r} of {' and '.join(algorithms)}; "
                f"there are {', '.join(every)}"
            )
    for name in ("n", "d", "k", "m"):
        if name != "m" and name not in axes and name not in derived:
            raise ValueError(f"{name} must be given")
        axis = axes.get(name, ())
        for value in (axis,) if isinstance(axis, str) or not isinstance(axis, Iterable) else axis:
            if not isinstance(value, Integral) and not (
                isinstance(value, float) and value.is_integer()
            ):
                if isinstance(value, float) and not np.isfinite(value):
                    raise ValueError(f"{name} must be finite, got {value}")
                raise ValueError(f"{name} must be an integer, got {value!r}")
    if not isinstance(constraints, Mapping):
        constraints = (constraints,) if isinstance(constraints, str) else constraints
        constraints = {rule: rule for rule in constraints}
    together = [(group,) if isinstance(group, str) else tuple(group) for group in zipped]
    for group in together:
        if len(group) < 2:
            raise ValueError(f"zipped must hold groups of at least two axes, got {group!r}")
        for name in group:
            if name not in axes:
                raise ValueError(f"zipped: unknown axis {name!r}; there are {', '.join(axes)}")
    grids = []
    for algorithm, own in known.items():

        def takes(name, own=own):
            return own is None or name in own

        groups = [tuple(filter(takes, group)) for group in together]
        grids.append(
            Grid.product(
                {
                    "algorithm": algorithm,
                    **{name: axis for name, axis in axes.items() if takes(name)},
                },
                zipped=[group for group in groups if len(group) > 1],
                derived={name: rule for name, rule in derived.items() if takes(name)},
                constraints={**CONSTRAINTS, **constraints},
            )
        )
    grid = sum(grids[1:], grids[0])
    names = dict.fromkeys(name for cell in grid for name in cell)
    return Sweep(
        simulate,
        grid,
        replicates,
        seed=seed,
        paired=[name for name in names if name not in (*_PROBLEM, "m")],
        settings={"keep": keep},
    )


@cache  # a file would be run again for every replicate
def find_algorithm(name: str) -> Callable[..., Any]:
    """Return an algorithm: one of this package by name, or ``module:function`` of your own.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    if ":" not in name:
        raise ValueError(
            f"unknown algorithm {name!r}; there are {', '.join(ALGORITHMS)}, and module:function "
            "for one of your own"
        )
    return load(name)


def known_parameters(algorithm: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the parameters that a cell may have with an algorithm, None if any."""
    signature = inspect.signature(fedavg if algorithm is fedsgd else algorithm).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature):
        return None
    own = [parameter.name for parameter in signature][1:]
    hidden = ("rng", "local_steps") if algorithm is fedsgd else ("rng",)
    return tuple(dict.fromkeys((*_PROBLEM, *(name for name in own if name not in hidden))))


def _low_rank(problem, settings, algorithm, rng):
    """Return a low-rank regression or samples of it, and the algorithm's settings."""
    models, k = problem.pop("models"), problem.pop("k")
    check.choice("models", models, MODELS)
    for name in problem:
        if name not in _parameters(LowRankRegression.random):
            raise ValueError(f"{name} has no meaning with models={models!r}")
    values = MODELS[models](problem["n"], problem["d"])
    truth = LowRankRegression.random(**problem, singular_values=values, rng=rng)
    signature = inspect.signature(algorithm).parameters.values()
    if any(each.name == "k" or each.kind is each.VAR_KEYWORD for each in signature):
        settings = {**settings, "k": k}
    if settings.get("batches", "fixed") != "fixed":
        return truth, settings
    if "m" not in settings:
        raise ValueError("m must be given: the number of samples per client")
    others = {name: value for name, value in settings.items() if name not in ("m", "batches")}
    return truth.draw(settings["m"], rng=rng), others


def _as_trace(result):
    metrics = {name: np.atleast_1d(np.asarray(values, float)) for name, values in result.items()}
    if not metrics or len({len(values) for values in metrics.values()}) > 1:
        raise ValueError("an algorithm must return a Trace or metric arrays of equal length")
    return Trace(algorithm="custom", metrics=metrics, state={})


def _thinned(last):
    """Return about evenly spaced rows, the first and the last among them."""
    return sorted({*range(0, last + 1, max(1, last // _KEPT_ROUNDS)), last})
