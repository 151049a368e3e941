"""Data sets split among clients, for networks."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any

from linrep.deep import partitions, readers
from linrep.deep.data import FederatedData
from linrep.families import Family
from linrep.sweeps.targets import load

#: Settings that a text ``module:name`` or ``file.py:name`` may stand for.
_OF_ONES_OWN = ("model", "optimizer", "schedule", "augment")


@lru_cache(maxsize=4)  # data sets are read once, not for every replicate
def _dataset(name: str) -> Any:
    """Return a data set by name, or what a user's own function returns."""
    return load(name)() if _is_reference(name) else readers.load(name)


def _is_reference(value):
    return isinstance(value, str) and ":" in value


def _partitioned(parameters, settings, algorithm, rng):
    """Return a data set's samples, split among clients."""
    dataset = _dataset(parameters.pop("dataset", "digits"))
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
    from linrep.deep.federation import read_device
    from linrep.deep.models import build

    name = parameters.pop("dataset", "digits")
    try:
        dataset = _dataset(name)
    except (ImportError, OSError) as error:
        raise ValueError(str(error)) from None
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
    documented=(partitions.partition,),
    descriptions={
        "dataset": "Data set by name, .npz file, or your.py:function; by default the digits",
        "partition": "How it is split, by name",
    },
    refuse=_refuse,
)
