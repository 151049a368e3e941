"""What the papers predict, and what holds exactly: pure functions of a problem's parameters."""

from importlib import import_module

__all__ = [
    "expectations",
    "fedrep",
    "fedrep_lemmas",
    "fedrep_limits",
    "flute",
    "flute_lift",
    "flute_samples",
    "perfedsi",
    "perfedsi_rounds",
    "pflmf",
    "pflmf_rounds",
]


def __getattr__(name):
    if name in __all__:
        return import_module(f"linrep.theory.{name}")
    raise AttributeError(f"module 'linrep.theory' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
