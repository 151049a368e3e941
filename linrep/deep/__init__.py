"""The papers' deep experiments: verified local training, exact caching, one way to evaluate.

A thin layer over torch, which loads only with the names that need it; containers, readers and
partitions do without.
"""

import lazy_loader

from linrep._lib.extras import command

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"linrep.deep.{name} needs torch: {command('torch')}", name="torch"
        ) from None
