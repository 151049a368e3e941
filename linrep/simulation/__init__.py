"""Algorithms in sweeps and side by side: a truth drawn from parameters, runs, and their results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
