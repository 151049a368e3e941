"""Clients' linear regressions: models that share a representation, or nearly so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linrep._lib.outlines import outline
from linrep.simulation.families import Family, parameters_of, takes

#: Singular values of models (n, d) that need not share a representation of rank k, by the name
#: that a cell has for them: independent normal ones, and those of FLUTE's Figure 3.
MODELS: Mapping[str, Callable[[int, int], Any]] = {
    "normal": lambda n, d: None,
    "decaying": lambda n, d: [2.0 * d / (place + 2) for place in range(min(n, d))],
}
_PROBLEM = "linrep.problems.regression:SharedRepresentation"
_DRAWN = outline(f"{_PROBLEM}.random")


def _regression(parameters, settings, algorithm, rng):
    """Return a shared representation; with models, a low-rank regression or samples of it."""
    from linrep._lib import validation as check
    from linrep.problems import LowRankRegression, SharedRepresentation

    models = parameters.pop("models", None)
    if models is None:
        return SharedRepresentation.random(**parameters, rng=rng), settings
    k = parameters.pop("k")
    check.choice("models", models, MODELS)
    for name in parameters:
        if name not in parameters_of(LowRankRegression.random):
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


FAMILY = Family(
    parameters=(*parameters_of(_DRAWN), "models"),
    data=("m",),
    sizes=("n", "d", "k"),
    constraints={
        "k <= d": "k > d: the representation would have dependent columns",
        "k <= n": "k > n: fewer clients than the rank",
    },
    make=_regression,
    documented=(_DRAWN, outline(_PROBLEM)),
    descriptions={
        "models": 'Models that share no representation of rank k: "normal" or "decaying"'
    },
)
