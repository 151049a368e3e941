"""Functions that sweeps in tests run; importable by other processes."""

import time

import numpy as np

COLUMNS_THAT_MAY_DIFFER = ["seconds"]


def walk(cell, rng):
    """Return two rows that depend on every parameter and on the stream."""
    steps = rng.standard_normal(cell["steps"]) * cell["scale"]
    return [{"end": float(np.sum(steps[:cut])), "cut": cut} for cut in (1, cell["steps"])]


def slow_walk(cell, rng):
    """Take a few milliseconds."""
    time.sleep(0.003)
    return walk(cell, rng)


def fragile(cell, rng):
    """Fail in one cell always, elsewhere now and then."""
    if cell["a"] == 2 or rng.random() < 0.1:
        raise RuntimeError(f"a = {cell['a']}")
    return rng.random()


def same_rows(one, other):
    """Assert that two tables hold the same rows in the same order, bit for bit."""
    one, other = (frame.drop(columns=COLUMNS_THAT_MAY_DIFFER) for frame in (one, other))
    assert list(one) == list(other)
    assert len(one) == len(other)
    for name in one:
        left, right = one[name].to_numpy(), other[name].to_numpy()
        if left.dtype.kind == "f":
            left, right = left.view(np.int64), right.view(np.int64)
        assert ((left == right) | ((left != left) & (right != right))).all(), name
