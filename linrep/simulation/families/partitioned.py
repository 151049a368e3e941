"""Data sets split among clients, for networks."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

import numpy as np

from linrep.deep import partitions, readers
from linrep.deep.data import Dataset, FederatedData
from linrep.simulation.families import Family, takes
from linrep.sweeps.targets import load

#: Settings that a text ``module:name`` or ``file.py:name`` may stand for.
_OF_ONES_OWN = ("model", "augment")


#: Partitions whose docstrings together have all parameters.
_SPLITS = ("shards", "dirichlet", "super_groups", "alphabets", "natural")
_loaded = lru_cache(maxsize=4)(load)  # a file would be run again for every replicate


def _is_drawn(name):
    """Tell whether a data set is a user's own function that draws it."""
    return _is_reference(name) and takes(_loaded(name), "rng")


def _dataset(name: str, rng: np.random.Generator) -> Any:
    """Return a data set by name, or what a user's own function returns."""
    return _loaded(name)(rng=rng) if _is_drawn(name) else _read(name)


@lru_cache(maxsize=4)  # data sets are read once, not for every replicate
def _read(name: str) -> Any:
    return _loaded(name)() if _is_reference(name) else readers.load(name)


def _digests(parameters):
    """Return the digest of a data set by its name, unless it is drawn."""
    name = parameters.get("dataset", "digits")
    return {} if _is_drawn(name) else {name: _read(name).digest}


def _is_reference(value):
    return isinstance(value, str) and ":" in value


def _partitioned(parameters, settings, algorithm, rng):
    """Return a data set's samples, split among clients."""
    dataset = _dataset(parameters.pop("dataset", "digits"), rng)
    settings = {
        name: load(value) if name in _OF_ONES_OWN and _is_reference(value) else value
        for name, value in settings.items()
    }
    if isinstance(dataset, FederatedData):  # split already
        return dataset, settings
    name = parameters.pop("partition", "shards")
    return partitions.partition(dataset, name, **parameters, rng=rng), settings


def _refuse(parameters, settings):
    """Raise a ValueError for data, a partition, a network or a device that is not there."""
    from linrep.deep.devices import read_device
    from linrep.deep.models import build

    name = parameters.pop("dataset", "digits")
    try:
        dataset = _dataset(name, np.random.default_rng(0))
    except (ImportError, OSError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(dataset, Dataset | FederatedData):
        kind = type(dataset).__name__
        raise ValueError(f"{name} must return a Dataset or FederatedData, it returned {kind}")
    if not isinstance(dataset, FederatedData):
        partition = parameters.pop("partition", "shards")
        function = partitions.named(partition)
        try:
            inspect.signature(function).bind(dataset, **parameters, rng=None)
        except TypeError as error:
            raise ValueError(f"partition {partition}: {error}") from None
    elif parameters:
        raise ValueError(f"{next(iter(parameters))} must not be given: {name} is split already")
    read_device(settings.get("device", "auto"))
    for each in _OF_ONES_OWN:
        if _is_reference(settings.get(each)):
            load(settings[each])
        elif each != "model" and isinstance(settings.get(each), str):
            raise ValueError(f"{each} must be file.py:function, got {settings[each]!r}")
    model = settings.get("model", "cnn")
    if not _is_reference(model) and model not in ("concatenated", "multiplied", "lstm"):
        build(model, dataset.x.shape[1:], dataset.classes)


FAMILY = Family(
    parameters=(
        *("dataset", "partition", "n", "classes_per_client", "alpha", "groups", "train_share"),
        *("train_per_character", "test_per_character", "min_samples"),
    ),
    data=(),
    sizes=(),
    constraints={},
    make=_partitioned,
    documented=(partitions.partition, *map(partitions.named, _SPLITS)),
    descriptions={
        "dataset": "Data set by name, .npz file, or your.py:function, which may take rng; by "
        "default the digits",
        "partition": "How it is split, by name",
    },
    refuse=_refuse,
    prefix="partition_",
    digests=_digests,
    own=("dataset", *_OF_ONES_OWN),
)
