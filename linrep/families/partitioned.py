"""Data sets split among clients, for networks."""

from __future__ import annotations

from functools import lru_cache

from linrep.deep import partitions, readers
from linrep.families import Family

#: Data sets are read once, not for every replicate.
_load = lru_cache(maxsize=4)(readers.load)


def _partitioned(parameters, settings, algorithm, rng):
    """Return a data set's samples, split among clients."""
    dataset = _load(parameters.pop("dataset", "digits"))
    name = parameters.pop("partition", "shards")
    return partitions.partition(dataset, name, **parameters, rng=rng), settings


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
        "dataset": "Data set, by default the digits",
        "partition": "How it is split, by name",
    },
)
