"""Kinds of problems that algorithms are swept over, and how a cell of a grid becomes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from linrep import _validation as check
from linrep.deep import partitions, readers
from linrep.problems import (
    LowRankRegression,
    SharedRepresentation,
    SideInformationCompletion,
    personal,
)


@dataclass(frozen=True)
class Kind:
    """What a family of algorithms is run on.

    Attributes
    ----------
    parameters : tuple of str
        Of a cell, those that describe the problem.
    data : tuple of str
        Those that say how much is seen of it.
    options : tuple of str
        Those that change what an algorithm makes of it, with the same problem and data.
    documented : tuple of callables
        Whose docstrings say what the parameters are.
    descriptions : mapping of str to str
        One line on those that no docstring has.
    sizes : tuple of str
        Integers among the parameters without which there is no problem.
    constraints : mapping of str to str
        What every cell must meet, with the reason.
    make : callable
        ``make(parameters, settings, algorithm, rng) -> (problem, settings)``; draws the problem and
        takes what it used out of the settings.
    """

    parameters: tuple[str, ...]
    data: tuple[str, ...]
    sizes: tuple[str, ...]
    constraints: Mapping[str, str]
    make: Callable[[dict, dict, Callable, np.random.Generator], tuple[Any, dict]]
    options: tuple[str, ...] = field(default=())
    documented: tuple[Callable[..., Any], ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a function has a parameter, or any."""
    signature = inspect.signature(function).parameters.values()
    return any(each.name == name or each.kind is each.VAR_KEYWORD for each in signature)


def _parameters(function):
    return tuple(name for name in inspect.signature(function).parameters if name != "rng")


#: Singular values of models (n, d) that need not share a representation of rank k, by the name
#: that a cell has for them: independent normal ones, and those of FLUTE's Figure 3.
MODELS: Mapping[str, Callable[[int, int], Any]] = {
    "normal": lambda n, d: None,
    "decaying": lambda n, d: 2.0 * d / (np.arange(1, min(n, d) + 1) + 1),
}


def _regression(parameters, settings, algorithm, rng):
    """Return a shared representation; with models, a low-rank regression or samples of it."""
    models = parameters.pop("models", None)
    if models is None:
        return SharedRepresentation.random(**parameters, rng=rng), settings
    k = parameters.pop("k")
    check.choice("models", models, MODELS)
    for name in parameters:
        if name not in _parameters(LowRankRegression.random):
            raise ValueError(f"{name} has no meaning with models={models!r}")
    values = MODELS[models](parameters["n"], parameters["d"])
    truth = LowRankRegression.random(**parameters, singular_values=values, rng=rng)
    if takes(algorithm, "k"):
        settings = {**settings, "k": k}
    if settings.get("batches", "fixed") != "fixed":
        return truth, settings
    if "m" not in settings:
        raise ValueError("m must be given: the number of samples per client")
    others = {name: value for name, value in settings.items() if name not in ("m", "batches")}
    return truth.draw(settings["m"], rng=rng), others


REGRESSION = Kind(
    parameters=(*_parameters(SharedRepresentation.random), "models"),
    data=("m",),
    sizes=("n", "d", "k"),
    constraints={
        "k <= d": "k > d: the representation would have dependent columns",
        "k <= n": "k > n: fewer clients than the rank",
    },
    make=_regression,
    documented=(SharedRepresentation.random, SharedRepresentation),
    descriptions={"models": "Models that share no representation of rank k: normal or decaying"},
)


def _completion(parameters, settings, algorithm, rng):
    """Return a matrix of which every step sees a fresh entry, or entries of it."""
    n, d, p, k = (parameters[name] for name in COMPLETION.sizes)
    kappa = check.real("kappa", parameters.pop("kappa", 1.0), minimum=1.0)
    truth = SideInformationCompletion.random(
        **parameters, singular_values=np.geomspace(kappa, 1.0, k), rng=rng
    )
    given = {name: settings[name] for name in COMPLETION.data if name in settings}
    with_side = settings.get("with_side", True)
    if not isinstance(with_side, bool):
        raise TypeError(f"with_side must be true or false, got {with_side!r}")
    used = (*COMPLETION.data, "with_side")
    settings = {name: value for name, value in settings.items() if name not in used}
    if takes(algorithm, "k"):
        settings["k"] = k
    if not given:
        if not takes(algorithm, "local_steps"):
            raise ValueError("per_client, entries or oversampling must be given")
        return truth if with_side else truth.without_side_information(), settings
    if len(given) > 1:
        raise ValueError(f"only one of {', '.join(given)} may be given")
    if "oversampling" in given:
        rate = check.real("oversampling", given.pop("oversampling"), above=0.0)
        given["entries"] = max(1, round(rate * k * (d + p - k)))
        if given["entries"] > n * d:
            raise ValueError(f"oversampling must leave at most n d = {n * d} entries, got {rate:g}")
    seen = truth.observe(**given, rng=rng)
    return seen if with_side else seen.without_side_information(), settings


COMPLETION = Kind(
    parameters=tuple(
        "kappa" if name == "singular_values" else name
        for name in _parameters(SideInformationCompletion.random)
    ),
    data=("per_client", "entries", "oversampling"),
    options=("with_side",),
    sizes=("n", "d", "p", "k"),
    constraints={
        "k <= d": "k > d: the matrix cannot have this rank",
        "k <= p": "k > p: side information of fewer dimensions than the rank",
    },
    make=_completion,
    documented=(
        SideInformationCompletion.random,
        SideInformationCompletion.observe,
        SideInformationCompletion,
    ),
    descriptions={
        "kappa": "Ratio of the matrix's largest and smallest singular value",
        "oversampling": "Entries over degrees of freedom, k(d + p - k)",
        "with_side": "false hides the side information of the same entries",
    },
)


def _clustered(parameters, settings, algorithm, rng):
    """Return clients' functions of which each belongs to a cluster."""
    others = {name: value for name, value in settings.items() if name != "m"}
    return personal.clustered(**parameters, m=settings.get("m"), rng=rng), others


CLUSTERED = Kind(
    parameters=tuple(name for name in _parameters(personal.clustered) if name != "m"),
    data=("m",),
    sizes=("n", "d", "clusters"),
    constraints={"clusters <= n": "clusters > n: a cluster without clients"},
    make=_clustered,
    documented=(personal.clustered,),
)


#: Data sets are read once, not for every replicate.
_load = lru_cache(maxsize=4)(readers.load)


def _partitioned(parameters, settings, algorithm, rng):
    """Return a data set's samples, split among clients."""
    dataset = _load(parameters.pop("dataset", "digits"))
    name = parameters.pop("partition", "shards")
    return partitions.partition(dataset, name, **parameters, rng=rng), settings


PARTITIONED = Kind(
    parameters=(
        *("dataset", "partition", "n", "classes_per_client", "alpha", "groups", "train_share"),
        *("train_per_character", "test_per_character", "min_samples"),
    ),
    data=(),
    sizes=(),
    constraints={},
    make=_partitioned,
    documented=(partitions.partition,),
    descriptions={
        "dataset": "Data set, by default the digits",
        "partition": "How it is split, by name",
    },
)
