"""Numbers drawn in kernels are those of NumPy's Generator, and leave it in the same state.

Those that numba draws itself are so up to rounding.
"""

import numpy as np
import pytest

from linrep.kernels import samplers
from linrep.kernels._numpy_random import SHOWN
from linrep.kernels.jit import kernel


@kernel(counted=True)
def draw(rng, which, parameter, out):
    for index in range(out.shape[0]):
        if which == 0:
            out[index] = samplers.uniform(rng)
        elif which == 1:
            out[index] = samplers.standard_normal(rng)
        elif which == 2:
            out[index] = samplers.standard_t(rng, parameter)
        elif which == 3:
            out[index] = samplers.chisquare(rng, parameter)
        else:
            out[index] = samplers.below(rng, int(parameter))


def chisquare(rng, parameter):
    return rng.chisquare(parameter)


METHODS = (
    lambda rng, parameter: rng.random(),
    lambda rng, parameter: rng.standard_normal(),
    lambda rng, parameter: rng.standard_t(parameter),
    chisquare,
    lambda rng, parameter: rng.integers(0, int(parameter)),
)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox, np.random.MT19937])
@pytest.mark.parametrize(
    ("which", "parameter"),
    [(0, 0.0), (1, 0.0), (2, 2.5), (2, 40.0), (3, 0.3), (3, 1.0), (3, 70.0), (4, 1), (4, 7),
     (4, 2**31), (4, 2**40)],
)  # fmt: skip
def test_they_are_numpys(bits, which, parameter):
    ours, theirs = (np.random.Generator(bits(5)) for _ in range(2))
    found = np.empty(2000)
    draw(ours, which, float(parameter), found)
    expected = [METHODS[which](theirs, parameter) for _ in range(len(found))]
    theirs_are_called = SHOWN and METHODS[which] is not chisquare
    np.testing.assert_allclose(found, expected, rtol=0 if theirs_are_called else 4e-15)
    assert ours.integers(2**62) == theirs.integers(2**62)
