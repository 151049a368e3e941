"""Figures: how one is computed, stored with its rows, compared with the record, and drawn."""

from linrep._lib import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
