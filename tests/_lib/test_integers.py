"""Integers of NumPy that would overflow, and integers that are no floats."""

import warnings

import numpy as np
import pytest

import linrep as lr
from linrep import sweeps
from linrep.theory import pflmf

pytestmark = pytest.mark.compiled
TRUTH = lr.SharedRepresentation.random(n=10, d=5, k=2, noise=0.1, rng=0)
#: With integers that NumPy's smallest kind has, whose products it has not.
CALLS = {
    "samples of a batch": lambda kind: lr.fedrep(TRUTH, m=kind(100), rounds=kind(10), rng=0),
    "samples": lambda kind: TRUTH.draw(kind(100), rng=0).X,
    "a start": lambda kind: lr.gaussian_start(kind(100), kind(100), kind(50), 1.0, rng=0),
    "a truth": lambda kind: (
        lr.SharedRepresentation.random(n=kind(100), d=kind(100), k=kind(50), rng=0).W
    ),
    "a random start": lambda kind: lr.random_start(kind(100), kind(100), kind(50), rng=0),
    "a rank": lambda kind: lr.method_of_moments(TRUTH.draw(20, rng=0), k=kind(2)),
    "a formula": lambda kind: pflmf.lemma7(kind(100), 0.01),
}


def numbers(found):
    if isinstance(found, lr.Trace):
        return [found["samples"], found["loss"], *found.state.values()]
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64])
def test_small_integers_of_numpy_are_integers(call, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found, expected = call(kind), call(int)
    for one, other in zip(numbers(found), numbers(expected), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("d", lambda huge: lr.SharedRepresentation.random(n=3, d=huge, k=1)),
        ("m", lambda huge: lr.fedrep(TRUTH, m=huge)),
        ("step_size", lambda huge: lr.fedrep(TRUTH, m=8, step_size=huge)),
        ("noise", lambda huge: lr.SharedRepresentation(TRUTH.B, TRUTH.W, huge)),
        ("gap", lambda huge: pflmf.theorem1(huge, smoothness=1, step_size=0.1, rounds=3)),
        ("y", lambda huge: lr.ClientData(np.eye(2), [huge, 1], [0, 2])),
        ("replicates", lambda huge: sweeps.Sweep(len, [{"a": 1}], replicates=huge)),
    ],
)
def test_integers_beyond_floating_point_are_refused_by_name(name, call):
    for huge in (10**400, -(10**400)):
        with pytest.raises(ValueError, match=name) as said:
            call(huge)
        assert len(str(said.value)) < 200
