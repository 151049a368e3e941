"""The papers' deep experiments: verified local training, exact caching, one way to evaluate.

PyTorch is loaded only with the names that need it; containers, readers and partitions do not.
"""

from linrep._lib import lazy
from linrep._lib.extras import need

_load, __dir__, __all__ = lazy.attach(__name__, __file__)


def __getattr__(name):
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            need("deep", f"linrep.deep.{name}")
        raise
