"""linrep: the theory of federated representation learning, checked by running it.

Names load on first use, so that importing the package costs nothing.
"""

from linrep._lib import lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
