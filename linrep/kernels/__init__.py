"""The papers' formulas as calls on arrays, and the compiled functions behind all that linrep runs.

The calls below take NumPy arrays of float64 and return such arrays in C order: B of shape (d, k),
heads as rows of W (n, k), clients' samples one after the other with offsets between them. Each
checks its arguments before it writes anything, `out` says where results go, and a `Workspace` saves
loops the allocation of scratch memory. They release the interpreter's lock.

The modules of this package contain what they and linrep's algorithms are built from: Numba
functions of arrays, without checks, which write into the caller's arrays.
"""

from importlib import import_module

_HOME = {
    "FedRepRound": "public_fedrep",
    "Gradient": "public_fedrep",
    "Orbit": "public_flute",
    "PFLMFRound": "public_pflmf",
    "PerFedSIRound": "public_perfedsi",
    "Workspace": "_border",
    "distance": "public_fedrep",
    "fedrep_round": "public_fedrep",
    "fit_heads": "public_fedrep",
    "gradient": "public_fedrep",
    "moments_start": "public_fedrep",
    "perfedsi_epoch": "public_perfedsi",
    "perfedsi_step": "public_perfedsi",
    "pflmf_quadratic_round": "public_pflmf",
    "pflmf_round": "public_pflmf",
    "theta_orbit": "public_flute",
    "theta_step": "public_flute",
}

__all__ = [*_HOME]


def __getattr__(name):
    if name in _HOME:
        value = getattr(import_module(f"linrep.kernels.{_HOME[name]}"), name)
        globals()[name] = value  # loops find it there, in a thirtieth of the time
        return value
    raise AttributeError(f"module 'linrep.kernels' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
