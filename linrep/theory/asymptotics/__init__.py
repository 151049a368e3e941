"""Limits of methods on Gaussian batches as d and n grow together, m and k fixed."""

from linrep._lib import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
