"""Functions that the tests sweep, where other processes can import them."""

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
