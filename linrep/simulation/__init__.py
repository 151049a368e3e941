"""Algorithms in sweeps and side by side: a truth drawn from parameters, runs, and their results."""

from linrep._lib import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
