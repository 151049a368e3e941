"""What is true, and what clients see of it."""

from linrep._lib import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
