"""Random numbers one at a time, as the methods of NumPy's Generator return them.

Numba has all of these methods, in Python, and compiles them anew into every kernel that draws. The
C functions behind NumPy's are called instead where they are as fast. They are not for chi-square
numbers, whose constants numba takes out of the loop. Where NumPy's library does not show its
functions, numba's methods are taken throughout. The state that is left is the same, numbers are so
up to rounding.
"""

import numba
import numpy as np
from llvmlite.ir import ArrayType
from numba.core import cgutils
from numba.extending import intrinsic

from linrep.kernels._numpy_random import BIT_GENERATOR, SHOWN, SIGNATURES
from linrep.kernels.jit import kernel

# Members of bitgen_t by numba's names. The last, next_raw, has none; the functions above do not
# call it.
_BITGEN_T = (
    "state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double", "fnptr_next_uint64"
)  # fmt: skip


if SHOWN:
    _uniform, _normal, _t, _bounded = (
        numba.types.ExternalFunction(name, signature) for name, signature in SIGNATURES.items()
    )

    @intrinsic
    def _bits(typing_context, rng):
        """Return the address of NumPy's bitgen_t of a Generator, as the C functions take it."""

        def generate(context, builder, signature, arguments):
            (kind,) = signature.args
            value = cgutils.create_struct_proxy(kind)(context, builder, value=arguments[0])
            bits = cgutils.create_struct_proxy(
                context.data_model_manager[kind].get_type("bit_generator")
            )(context, builder, value=value.bit_generator)
            address = context.get_value_type(BIT_GENERATOR)
            place = cgutils.alloca_once(builder, ArrayType(address, len(_BITGEN_T)))
            for index, field in enumerate(_BITGEN_T):
                builder.store(getattr(bits, field), cgutils.gep_inbounds(builder, place, 0, index))
            return builder.ptrtoint(place, address)

        return BIT_GENERATOR(rng), generate

    @kernel
    def uniform(rng):
        """Return a number uniform on [0, 1)."""
        return _uniform(_bits(rng))

    @kernel
    def standard_normal(rng):
        """Return a standard normal number."""
        return _normal(_bits(rng))

    @kernel
    def standard_t(rng, degrees_of_freedom):
        """Return a number of Student's distribution."""
        return _t(_bits(rng), degrees_of_freedom)

    @kernel
    def below(rng, n):
        """Return one of 0, ..., n - 1, each with the same probability."""
        return np.int64(_bounded(_bits(rng), 0, n - 1, 0, False))

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
