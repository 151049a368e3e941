"""Truths that watch what is drawn from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from linrep.problems.clients import ClientData


def needs_truth(algorithm: Callable[..., Any]) -> bool:
    """Tell whether a method draws its samples itself, and takes their number as an argument."""
    m = inspect.signature(algorithm).parameters.get("m")
    return m is not None and m.default is m.empty


def watched(truth: Any, drawn: list[int], only: ClientData | None = None) -> Any:
    """Return a truth that notes the size of what is drawn, and may have only one thing to give.

    In `drawn` it notes the number of samples of every draw. With `only`, that is what the first
    draw is, whatever is asked for; a second one is refused.
    """
    kind = type(truth)

    def draw(self, *arguments, **settings):
        if only is None:
            data = kind.draw(truth, *arguments, **settings)
        elif drawn:
            raise ValueError("draws samples more than once: sampling='fresh' or 'own' lets it")
        else:
            data = only
        drawn.append(len(data.y))
        return data

    watching: Any = object.__new__(type(kind.__name__, (kind,), {"draw": draw}))
    watching.__dict__.update(truth.__dict__)
    return watching
