"""Random numbers by NumPy's C functions, called from kernels through private parts of numba."""

import numba
import numpy as np
from llvmlite.ir import ArrayType
from numba.core import cgutils
from numba.extending import intrinsic

from linrep.kernels._numpy_random import BIT_GENERATOR, SIGNATURES
from linrep.kernels.jit import kernel

# Members of bitgen_t by numba's names. The last, next_raw, has none; the functions above do not
# call it.
_BITGEN_T = (
    "state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double", "fnptr_next_uint64"
)  # fmt: skip


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


@kernel
def _one_of_each(rng, out):
    out[0], out[1] = uniform(rng), standard_normal(rng)
    out[2], out[3] = standard_t(rng, 3.0), below(rng, 9)


def attempt():
    """Raise if the numbers are not NumPy's."""
    rng, out = np.random.default_rng(0), np.empty(4)
    _one_of_each(np.random.default_rng(0), out)
    expected = [rng.random(), rng.standard_normal(), rng.standard_t(3.0), float(rng.integers(9))]
    if not np.allclose(out, expected):
        raise ArithmeticError("drawn numbers are wrong")
