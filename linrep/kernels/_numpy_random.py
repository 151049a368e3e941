"""The C functions behind the methods of NumPy's Generator, made known to the linker."""

import ctypes

import llvmlite.binding
import numba
import numpy as np

#: The type in which the functions take the address of NumPy's bitgen_t.
BIT_GENERATOR = numba.uintp
_NUMBER, _WHOLE = numba.float64, numba.uint64
SIGNATURES = {
    "random_standard_uniform": _NUMBER(BIT_GENERATOR),
    "random_standard_normal": _NUMBER(BIT_GENERATOR),
    "random_standard_t": _NUMBER(BIT_GENERATOR, _NUMBER),
    "random_bounded_uint64": _WHOLE(BIT_GENERATOR, _WHOLE, _WHOLE, _WHOLE, numba.boolean),
}


def _shown():
    """Make the functions known; tell whether all of them are there."""
    try:
        library = ctypes.CDLL(np.random._generator.__file__)
        addresses = {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in SIGNATURES
        }
    except (AttributeError, OSError):
        return False
    for name, address in addresses.items():
        llvmlite.binding.add_symbol(name, address)
    return True


#: Whether NumPy's library shows its functions; compiled kernels that draw depend on it.
SHOWN = not numba.config.DISABLE_JIT and _shown()
