"""What the papers predict, and what is exact: pure functions of a problem's parameters."""

from importlib import import_module

__all__ = [
    "bound_lines",
    "bounds",
    "design_bounds",
    "expectations",
    "fedrep",
    "fedrep_lemmas",
    "fedrep_limits",
    "flute",
    "flute_lift",
    "flute_samples",
    "minimax",
    "noise_floors",
    "perfedsi",
    "perfedsi_rounds",
    "pflmf",
    "pflmf_rounds",
    "sample_sizes",
]


def __getattr__(name):
    if name in __all__:
        return import_module(f"linrep.theory.{name}")
    raise AttributeError(f"module 'linrep.theory' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
