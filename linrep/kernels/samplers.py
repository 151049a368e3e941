"""Random numbers one at a time, as the methods of NumPy's Generator return them.

Numba has all of these methods, in Python, and compiles them anew into every kernel that draws. The
C functions behind NumPy's are called instead where they are as fast. They are not for chi-square
numbers, whose constants numba takes out of the loop. Where NumPy's library does not show its
functions, numba's methods are taken throughout. The state that is left is the same, numbers are so
up to rounding.
"""

from linrep.kernels._numpy_random import SHOWN
from linrep.kernels.jit import kernel, private

_draws = private("_draws") if SHOWN else None

if _draws is not None:
    uniform, standard_normal, standard_t, below = (
        _draws.uniform, _draws.standard_normal, _draws.standard_t, _draws.below
    )  # fmt: skip

else:

    @kernel(counted=True)
    def uniform(rng):  # noqa: D103
        return rng.random()

    @kernel(counted=True)
    def standard_normal(rng):  # noqa: D103
        return rng.standard_normal()

    @kernel(counted=True)
    def standard_t(rng, degrees_of_freedom):  # noqa: D103
        return rng.standard_t(degrees_of_freedom)

    @kernel(counted=True)
    def below(rng, n):  # noqa: D103
        return rng.integers(0, n)


@kernel(counted=True)
def chisquare(rng, degrees_of_freedom):
    """Return a number of the chi-square distribution."""
    return rng.chisquare(degrees_of_freedom)
