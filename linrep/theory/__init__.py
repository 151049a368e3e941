"""What the papers predict, and what is exact: pure functions of a problem's parameters."""

from linrep._lib import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
