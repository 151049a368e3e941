"""Arithmetic that bounds have in common."""

import numpy as np

from linrep._lib import validation as check


def squared_cosine(name, distance):
    """Return 1 - distance^2 of distances in [0, 1]."""
    distance = check.numbers(name, distance, minimum=0.0, maximum=1.0)
    return (1.0 - distance) * (1.0 + distance)


def ratio(a, b):
    """Return a/b, infinite where b is not positive."""
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.full(a.shape, np.inf), where=b > 0.0)[()]
