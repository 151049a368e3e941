"""Algorithms in sweeps: a ground truth drawn from parameters, a run on it, and its results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.extras import need
from linrep.algorithms.drawing import watched
from linrep.algorithms.errors import errors
from linrep.algorithms.registry import ALGORITHMS
from linrep.problems import ClientData, SharedRepresentation
from linrep.problems.random import streams
from linrep.simulation import families
from linrep.simulation.families import Family, takes
from linrep.simulation.parameters import (
    DEEP,
    OF_METHOD,
    check_algorithm,
    check_axes,
    known_parameters,
    of_samples,
    owner,
    plain_name,
)
from linrep.sweeps import Grid, Sweep, label, load
from linrep.sweeps.columns import whole
from linrep.sweeps.grid import zipped_groups
from linrep.trace import Trace

_PERSONALIZED = "linrep.algorithms.personalized:"
KEEP = ("final", "rate", "trace")
_KEPT_ROUNDS = 200


def simulate(
    cell: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    keep: str = "final",
    problem: str | None = None,
    data: Mapping[str, str] | None = None,
) -> dict[str, Any] | list[dict[str, Any]]:
    """Draw a ground truth, run an algorithm on it, and return the results.

    Parameters
    ----------
    cell : mapping
        ``algorithm``, see :func:`find_algorithm`; parameters of the problem; all others are the
        algorithm's.
    rng : Generator
        Truth and run have separate streams, spawned from it: algorithms given equal generators see
        the same truth, data and participants.
    keep : {"final", "rate", "trace"}
        One row with the metrics after the last round; the same with the contraction of the distance
        per round, its interval, and its plateau, where there is a distance; or one row per round,
        evenly thinned to about 200.
    problem : {"regression", "completion", "clustered", "partitioned"}, optional
        The family of problems, a file of ``linrep/simulation/families``; by default the one that
        the algorithm is for, and regression for algorithms of your own:

        - regression has the parameters of :meth:`linrep.SharedRepresentation.random`; with
          ``models``, "normal" or "decaying", it is a :class:`linrep.LowRankRegression` instead, and
          k the rank that is fitted: methods are handed samples of it, unless ``batches`` are other
          than fixed;
        - completion, for `perfedsi` and the solvers beside it, has those of
          :meth:`linrep.SideInformationCompletion.random` (with ``kappa``, the ratio of the matrix's
          largest and smallest singular value, in the place of these): methods are handed
          ``per_client`` or ``entries`` of it, or ``oversampling`` times as many as there are
          degrees of freedom, k(d + p - k), or else fresh ones; ``with_side=False`` hides side
          information;
        - clustered has those of :func:`linrep.problems.personal.clustered`; it is for `pflmf` and
          the methods of :mod:`linrep.algorithms.personalized`, named as module:function;
        - partitioned, for methods that train networks, ``deep.fedrep`` and so on, is a data set
          (``dataset``, by default the digits) split among clients by the function of
          :mod:`linrep.deep.partitions` named by ``partition`` (by default shards), whose parameters
          are the problem's. Where a method has a setting of the same name, as APFL's ``alpha``, the
          two are ``partition_alpha`` and ``method_alpha``.
    data : mapping of str to str, optional
        Digests of data sets by name, which those of this process have to have.

    Returns
    -------
    dict or list of dict
        Metrics, ``rounds_done`` (``round`` for a trace) and ``stop_reason``; but for traces also
        ``sampling``, what samples the rounds saw, and ``settings``, the names of the rules that
        were taken where nothing was given.

    Raises
    ------
    ValueError, TypeError
        If a parameter is unknown or out of range.
    """
    check.choice("keep", keep, KEEP)
    if not isinstance(cell.get("algorithm"), str):
        raise ValueError("cell must name an algorithm")
    family = family_of(cell["algorithm"], problem)
    parameters, settings = _divided(cell, family)
    if data:
        _check_digests(parameters, family, data)
    truth_rng, run_rng = rng.spawn(2)
    algorithm = find_algorithm(cell["algorithm"])
    instance, settings = family.make(parameters, settings, algorithm, truth_rng)
    if of_samples(algorithm) and not isinstance(instance, ClientData):
        instance, settings = _drawn(instance, settings, algorithm, run_rng)
    drawn: list[int] = []
    if ":" in cell["algorithm"] and isinstance(instance, SharedRepresentation):
        instance = watched(instance, drawn)  # how algorithms of one's own sample is seen
    if takes(algorithm, "rng"):
        settings = {**settings, "rng": run_rng}
    result = algorithm(instance, **settings)
    trace = result if isinstance(result, Trace) else _as_trace(result)
    if keep == "trace":
        last = len(trace.recorded) - 1
        return [
            {
                "round": int(trace.recorded[place]),
                **_taken(trace, drawn),
                **{name: float(values[place]) for name, values in trace.metrics.items()},
                "stop_reason": trace.stop_reason,
            }
            for place in sorted({*range(0, last + 1, max(1, last // _KEPT_ROUNDS)), last})
        ]
    row: dict[str, Any] = {name: float(values[-1]) for name, values in trace.metrics.items()}
    if of_samples(algorithm):
        row = errors(trace, instance.truth) | row
    if keep == "rate" and "distance" in trace:
        rate = trace.rate()
        row |= {"rate": rate.rate, "rate_low": rate.low, "rate_high": rate.high}
        row |= {"plateau": rate.plateau, "level": rate.level}
    row |= {"rounds_done": trace.rounds, "stop_reason": trace.stop_reason}
    return _taken(trace, drawn) | row


def _own_code(cell, find, *, problem=None, **_):
    """Return what of a user's own a cell names: its algorithm, and what its problem is made of."""
    family = family_of(cell["algorithm"], problem)
    for name, value in cell.items():
        if isinstance(value, str) and ":" in value:
            if name == "algorithm":
                yield find_algorithm(value)
            elif plain_name(name, family) in family.own:
                yield find(value)


def _divided(cell, family):
    """Return the parameters of a cell's problem, and the settings of its algorithm."""
    parameters: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for name, value in cell.items():
        if name != "algorithm":
            of_problem, plain = owner(name, family)
            (parameters if of_problem else settings)[plain] = value
    return parameters, settings


def _check_digests(parameters, family, known):
    for name, digest in family.digests(parameters).items():
        if known.get(name, digest) != digest:
            raise ValueError(
                f"dataset {name} has other samples in this process than where the sweep was set "
                "up; a function that draws them must take rng"
            )


def _drawn(truth, settings, algorithm, rng):
    """Return the samples that fedrep draws with fixed batches and this generator, and what is left.

    The rank that is fitted is the truth's.
    """
    left = dict(settings) | ({"k": truth.k} if takes(algorithm, "k") else {})
    if "m" not in left:
        raise ValueError("m must be given: the number of samples per client")
    check.choice("batches", left.pop("batches", "fixed"), ("fixed",))
    return truth.draw(left.pop("m"), rng=streams(rng, "data", "participation", "start")[0]), left


def _taken(trace, drawn):
    """Return how a run sampled, and the names of what it took where nothing was given."""
    taken = {
        name: trace.settings[name]
        for name in ("start", "step_size_rule", "normalization")
        if isinstance(trace.settings.get(name), str)
    }
    said = ", ".join(f"{name}={value}" for name, value in taken.items())
    row: dict[str, Any] = {"settings": said}
    if "batches" in trace.settings:
        row["sampling"] = trace.settings["batches"]
    elif drawn:
        row["sampling"] = "fixed" if len(drawn) == 1 else f"{len(drawn)} draws"
        if 1 < len(drawn) >= trace.rounds:
            row["sampling"] = "fresh"
        row["samples"] = float(sum(drawn))
    elif "samples" in trace:
        row["sampling"] = "fixed"
    return row


def sweep(
    algorithms: str | Iterable[str],
    axes: Mapping[str, Any],
    *,
    replicates: int,
    seed: int = 0,
    keep: str = "final",
    problem: str | None = None,
    zipped: Iterable[Iterable[str]] = (),
    derived: Mapping[str, Any] | None = None,
    constraints: Mapping[str, str] | str | Iterable[str] = (),
) -> Sweep:
    """Return the sweep of one or several algorithms over parameters of problem and method.

    Parameters
    ----------
    algorithms : str or iterable of str
        See :func:`find_algorithm`; several make an axis of their own.
    axes : mapping
        Values of the parameters; the problem's sizes (n, d and k, p for completion) must be among
        these or `derived`.
    replicates, seed
        As in :class:`linrep.sweeps.Sweep`.
    keep, problem
        As in :func:`simulate`.
    zipped, derived, constraints
        As in :meth:`linrep.sweeps.Grid.product`; k <= min(n, d) is always a constraint, or
        k <= min(d, p).

    Returns
    -------
    Sweep
        Cells that agree in the parameters of problem and data (m) share truth, data and
        participants within a replicate: algorithms and their settings are compared in pairs. An
        algorithm has only those parameters that it knows.

    Raises
    ------
    ValueError
        If an algorithm or a parameter is unknown, or one is missing.
    """
    algorithms = (algorithms,) if isinstance(algorithms, str) else tuple(algorithms)
    check.choice("keep", keep, KEEP)
    if not algorithms:
        raise ValueError("algorithms must name at least one")
    if not axes:
        raise ValueError("axes must hold at least one")
    derived = derived or {}
    functions = [find_algorithm(name) for name in algorithms]
    of_each = [family_of(name, problem) for name in algorithms]
    family = of_each[0]
    if any(other is not family for other in of_each):
        raise ValueError(
            f"{' and '.join(algorithms)} are not run on the same problems: give problem"
        )
    # Loaded by now, so that the way to their files need not be part of the cells' names.
    algorithms = tuple(map(label, algorithms))
    known = {
        name: known_parameters(function, family)
        for name, function in zip(algorithms, functions, strict=True)
    }
    _check_owners((*axes, *derived), known, family)
    check_axes(dict(zip(algorithms, functions, strict=True)), family, axes, derived)
    for name in (*family.sizes, *family.data):
        if name == "oversampling":
            continue
        axis = axes.get(name, ())
        for value in (axis,) if isinstance(axis, str) or not isinstance(axis, Iterable) else axis:
            check.integer(name, whole(value), minimum=0)
    if not isinstance(constraints, Mapping):
        constraints = (constraints,) if isinstance(constraints, str) else constraints
        constraints = {rule: rule for rule in constraints}
    together = dict.fromkeys(zipped_groups(zipped, axes).values())
    grids = []
    for algorithm, own in known.items():

        def knows(name, own=own):
            return own is None or name in own

        groups = [tuple(filter(knows, group)) for group in together]
        grids.append(
            Grid.product(
                {"algorithm": algorithm} | {name: axes[name] for name in filter(knows, axes)},
                zipped=[group for group in groups if len(group) > 1],
                derived={name: derived[name] for name in filter(knows, derived)},
                constraints={**family.constraints, **constraints},
            )
        )
    grid = sum(grids[1:], grids[0])
    data: dict[str, str] = {}
    for cell in grid:
        if family.refuse is not None:
            family.refuse(*_divided(cell, family))
        if family.digests is not None:
            data |= family.digests(_divided(cell, family)[0])
    names = dict.fromkeys(name for cell in grid for name in cell)
    return Sweep(
        simulate,
        grid,
        replicates,
        seed=seed,
        paired=[name for name in names if not owner(name, family)[0] and name not in family.data],
        settings={"keep": keep}
        | ({} if problem is None else {"problem": problem})
        | ({"data": data} if data else {}),
    )


def _check_owners(names, known, family):
    """Raise a ValueError for a name that could be the problem's or an algorithm's."""
    for name in names if family.prefix else ():
        apart = f"{OF_METHOD}{name} or {family.prefix}{name}"
        for algorithm, own in known.items():
            if name in family.parameters and own is not None and name not in own:
                raise ValueError(
                    f"{name} is a setting of {algorithm} and a parameter of its data: give {apart}"
                )
        if name in family.parameters and f"{family.prefix}{name}" in names:
            raise ValueError(f"give {name} or {family.prefix}{name}, not both")


def find_algorithm(name: str) -> Callable[..., Any]:
    """Return an algorithm: one of this package by name, or ``module:function`` of your own.

    A method for networks of your own is a class that derives from :class:`linrep.deep.FedAvg`.

    Parameters
    ----------
    name : str

    Raises
    ------
    ValueError
        If there is none.
    """
    return _found(name)


@cache  # a file would be run again for every replicate
def _found(name):
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    if name.startswith(DEEP):
        return _deep(name)
    check_algorithm(name)
    method = load(name)
    methods = sys.modules.get("linrep.deep.methods")  # which a method of one's own has loaded
    if methods is not None and isinstance(method, type) and issubclass(method, methods.FedAvg):
        from linrep.deep.algorithms import algorithm

        return algorithm(method)
    return method


def _deep(name):
    need("deep", name)
    from linrep.deep.algorithms import algorithm

    try:
        return algorithm(name.removeprefix(DEEP))
    except ValueError as error:
        raise ValueError(f"unknown algorithm {name!r}: {error}") from None


def family_of(name: str, problem: str | None = None) -> Family:
    """Return the family of problems that an algorithm is run on.

    Parameters
    ----------
    name : str
        Of the algorithm.
    problem : str, optional
        Name of the family. By default the one that an algorithm of linrep is for, and regression
        for your own.

    Raises
    ------
    ValueError
        If there is no such family.
    """
    if problem is None:
        own = find_algorithm(name) if ":" in name and not name.startswith(DEEP) else None
        if name.startswith(DEEP) or getattr(own, "trains_networks", False):
            problem = "partitioned"
        elif name.startswith(_PERSONALIZED):
            problem = "clustered"
        else:
            problem = ALGORITHMS.family(name) if name in ALGORITHMS else "regression"
    return families.find(problem)


def _as_trace(result):
    metrics = {name: np.atleast_1d(np.asarray(values, float)) for name, values in result.items()}
    if not metrics or len({len(values) for values in metrics.values()}) > 1:
        raise ValueError("an algorithm must return a Trace or metric arrays of equal length")
    return Trace(algorithm="custom", metrics=metrics, state={})


checked(globals())
simulate.__module__ = "linrep.simulation"  # the public name, which runs on disk have
simulate.uses = _own_code  # type: ignore[attr-defined]
