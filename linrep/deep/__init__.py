"""The papers' deep experiments: verified local training, exact caching, one way to evaluate.

A thin layer over torch, which loads only with the names that need it; containers, readers and
partitions do without.
"""

from importlib import import_module

from linrep._lib.extras import command

_HOME = {
    "APFL": "methods",
    "CFL": "methods",
    "Dataset": "data",
    "Ditto": "methods",
    "FLUTE": "methods",
    "FedAS": "methods",
    "FedAlt": "methods",
    "FedAvg": "methods",
    "FedBABU": "methods",
    "FedCP": "methods",
    "FedMTL": "methods",
    "FedPer": "methods",
    "FedProx": "methods",
    "FedRep": "methods",
    "FedRoD": "methods",
    "FederatedData": "data",
    "Federation": "federation",
    "L2GD": "methods",
    "LGFedAvg": "methods",
    "Local": "methods",
    "METHODS": "methods",
    "PFLMF": "methods",
    "PFedFDA": "methods",
    "PerFedAvg": "methods",
    "PerFedSI": "methods",
    "Phase": "training",
    "SGD": "training",
    "Scaffold": "methods",
    "State": "state",
    "choose_lr": "runs",
    "fine_tune": "runs",
    "load": "readers",
    "neural_collapse": "collapse",
    "run": "runs",
    "run_seeds": "runs",
}
_MODULES = (
    "algorithms", "augment", "collapse", "data", "devices", "engines", "features", "federation",
    "layers", "methods", "models", "partitions", "probe", "readers", "runs", "samples", "state",
    "training",
)  # fmt: skip

__all__ = [*_HOME, *_MODULES]


def __getattr__(name):
    home = name if name in _MODULES else _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'linrep.deep' has no attribute {name!r}")
    try:
        module = import_module(f"linrep.deep.{home}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"linrep.deep.{name} needs torch: {command('torch')}", name="torch"
        ) from None
    return module if name in _MODULES else getattr(module, name)


def __dir__():
    return sorted(__all__)
