"""Methods of networks as algorithms: functions of data, with all settings as parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from linrep._lib import validation as check
from linrep.deep.data import FederatedData
from linrep.deep.methods import METHODS, FedAvg
from linrep.deep.runs import run
from linrep.trace import Trace

#: Settings that do not say what is computed.
_OF_ONE_RUN = (
    "data", "method", "rng", "checkpoint", "checkpoint_every", "callback", "progress",
)  # fmt: skip


def algorithm(method: str | type[FedAvg]) -> Callable[..., Trace]:
    """Return a method as an algorithm: a function of data, with all settings as parameters."""
    kind: type[FedAvg]
    if isinstance(method, str):
        name, kind = method, METHODS[check.choice("method", method, METHODS)]
    else:
        name, kind = method.__name__, method
    of_method = {field.name: field.default for field in fields(kind)}
    of_run = {
        each.name: each.default
        for each in inspect.signature(run).parameters.values()
        if each.name not in _OF_ONE_RUN
    }

    def call(data: FederatedData, *, rng: Any = None, **settings: Any) -> Trace:
        unknown = [each for each in settings if each not in of_method | of_run]
        if unknown:
            raise TypeError(f"unknown setting {unknown[0]!r} of {name}")
        if isinstance(settings.get("personal"), str):  # one block, as the command line has it
            settings["personal"] = (settings["personal"],)
        made = kind(**{each: settings.pop(each) for each in list(settings) if each in of_method})
        return run(data, made, rng=rng, **settings)

    keyword = inspect.Parameter.KEYWORD_ONLY
    call.trains_networks = True  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = kind.__doc__
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(inspect.Parameter(k, keyword, default=v) for k, v in (of_method | of_run).items()),
            inspect.Parameter("rng", keyword, default=None),
        ]
    )
    return call
