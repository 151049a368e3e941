"""Functions that the tests sweep, where other processes can import them."""

import time

import numpy as np


def normal(cell, rng):
    """One row with a little of everything."""
    return {
        "first": rng.random(),
        "second": rng.standard_normal(),
        "count": int(rng.integers(1000)),
        "kind": "even" if cell["a"] % 2 == 0 else "odd",
        "positive": bool(rng.random() > 0.5),
        "product": float(np.sum(rng.standard_normal((20, 20)) @ rng.standard_normal((20, 20)))),
    }


def uniform(cell, rng):
    """A number, which depends on nothing but the stream."""
    return rng.random()


def fragile(cell, rng):
    """Some rows; one of four fails."""
    value = rng.random()
    if value < 0.25:
        raise RuntimeError("too small")
    return [{"step": step, "value": value + step} for step in range(2)]


def walk(cell, rng):
    """Two rows that depend on every parameter and on the stream."""
    steps = rng.standard_normal(cell["steps"]) * cell["scale"]
    return [{"end": float(np.sum(steps[:cut])), "cut": cut} for cut in (1, cell["steps"])]


def slow_walk(cell, rng):
    """The same, in a few milliseconds."""
    time.sleep(0.003)
    return walk(cell, rng)
