"""What a sweep is: a function, cells, replicates, and which parameters change which stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.suggest import unknown
from linrep.sweeps.grid import Grid, canonical, cell_name
from linrep.sweeps.targets import reference

#: Columns of every stored row besides the parameters and what the function returns.
RESERVED = (
    "cell", "replicate", "row", "status", "exception", "notes", "seconds", "stream", "versions",
)  # fmt: skip
FORMAT = 2
MOST_REPLICATES = 10**10  # of a cell: storing so many rows takes more than a day


@dataclass(frozen=True, eq=False)
class Specification:
    """What a sweep computes: all of a :class:`linrep.sweeps.Sweep` but that it can be run.

    Parameters
    ----------
    function, grid, replicates, seed, paired, streams, settings, name
        As for :class:`linrep.sweeps.Sweep`.
    """

    function: Callable[..., Any]
    grid: Grid | Iterable[Mapping[str, Any]]
    replicates: int
    seed: int = 0
    paired: str | Iterable[str] = ()
    streams: Mapping[str, Iterable[str]] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self):
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {type(self.function).__name__}")
        grid = self.grid if isinstance(self.grid, Grid) else Grid.of(self.grid)
        known = dict.fromkeys(name for cell in grid for name in cell)
        for name in known:
            if name in RESERVED:
                raise ValueError(f"{name!r} cannot be a parameter, it is a column of every row")
        name = self.name or getattr(self.function, "__qualname__", "<")
        if "<lambda>" in name or name == "<":
            raise ValueError("name must be given: the function has none of its own")
        streams = None
        if self.streams is not None:
            if tuple(self.paired):
                raise ValueError("paired and streams must not be given together")
            if not self.streams:
                raise ValueError("streams must name at least one purpose")
            streams = {
                purpose: _check_known(f"streams[{purpose!r}]", names, known)
                for purpose, names in self.streams.items()
            }
        for attribute, value in (
            ("grid", grid),
            ("replicates", check.count("replicates", self.replicates, most=MOST_REPLICATES)),
            ("seed", check.integer("seed", self.seed, minimum=0)),
            ("paired", _check_known("paired", self.paired, known)),
            ("streams", streams),
            ("settings", _read_settings(self.settings)),
            ("name", name),
        ):
            object.__setattr__(self, attribute, value)

    def __repr__(self):
        return f"Sweep({self.name}, {self.grid}, replicates={self.replicates}, seed={self.seed})"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Cell names, in order."""
        return tuple(cell_name(cell) for cell in self.grid)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in order of first occurrence."""
        return tuple(dict.fromkeys(name for cell in self.grid for name in cell))

    @property
    def target(self) -> str | None:
        """Where the function is found again; not part of the sweep's identity."""
        return reference(self.function)

    def keys(self, cell: Mapping[str, Any]) -> dict[str, int]:
        """Return a cell's stream keys by purpose, which is empty where there is one stream.

        Parameters
        ----------
        cell : mapping of str to plain values
        """
        if self.streams is None:
            relevant = {"": [name for name in cell if name not in self.paired]}
        else:
            relevant = {
                purpose: [name for name in names if name in cell]
                for purpose, names in self.streams.items()
            }
        return {
            purpose: stream_key(self.seed, purpose, {name: cell[name] for name in names})
            for purpose, names in relevant.items()
        }

    def describe(self) -> dict[str, Any]:
        """Return what the rows depend on, as plain data: two sweeps are the same if this is."""
        return {
            "format": FORMAT,
            "name": self.name,
            "seed": self.seed,
            "settings": dict(sorted(self.settings.items())),
            "replicates": self.replicates,
            "cells": [dict(cell) for cell in self.grid],
            "streams": [
                {purpose: f"{key:032x}" for purpose, key in self.keys(cell).items()}
                for cell in self.grid
            ],
        }


def stream_key(seed: int, purpose: str, parameters: Mapping[str, Any]) -> int:
    """Return the 128-bit key of a stream.

    Parameters
    ----------
    seed : int
        Root of all streams.
    purpose : str
        What is drawn; empty where there is one stream.
    parameters : mapping of str to plain values
        Those that change the stream.
    """
    text = json.dumps([seed, purpose, canonical(parameters)], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def generator(key: int, replicate: int) -> Generator:
    """Return a replicate's generator.

    Parameters
    ----------
    key : int
        Of the stream, as :func:`stream_key` returns it.
    replicate : int
        Its number, from 0 on.
    """
    check.integer("replicate", replicate, minimum=0)
    return Generator(PCG64(SeedSequence(_words(key), spawn_key=(replicate,))))


@lru_cache(maxsize=1024)
def _words(key):
    """Return a key as SeedSequence would take it apart, which takes a third of its time."""
    return np.array([key >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)], dtype=np.uint32)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the lines that tell two descriptions apart; empty if they are the same."""
    lines = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if name == "cells":
            lines += _cell_differences(_by_cell(old), _by_cell(new))
        elif name != "streams" and before != after:
            lines.append(f"{name}: {json.dumps(before)} there, {json.dumps(after)} here")
    return lines


def extends(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tell whether a description only adds cells and replicates to another."""
    grown = ("cells", "streams", "replicates")
    same = all(old.get(name) == new.get(name) for name in {*old, *new} if name not in grown)
    has_old_cells = _by_cell(old).items() <= _by_cell(new).items()
    return same and has_old_cells and new["replicates"] >= old["replicates"]


def _by_cell(description):
    """Return, by canonical cell, its stream keys as text."""
    pairs = zip(description["cells"], description["streams"], strict=True)
    return {canonical(cell): canonical(keys) for cell, keys in pairs}


def _cell_differences(old, new):
    lines = []
    for word, some, others in (("only there", old, new), ("only here", new, old)):
        only = [cell for cell in some if cell not in others]
        if only:
            name = cell_name(json.loads(only[0]))
            lines.append(f"cells {word}: {len(only)}, such as {name}")
    changed = [cell for cell in old if cell in new and old[cell] != new[cell]]
    if changed:
        name = cell_name(json.loads(changed[0]))
        lines.append(f"cells with other streams: {len(changed)}, such as {name}")
    return lines


def _read_settings(settings) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise type(error)(f"settings must hold plain finite values: {error}") from None


def _check_known(argument, names: Iterable[str], known) -> Sequence[str]:
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in known:
            raise ValueError(unknown(f"{argument}: unknown parameter", name, known))
    return names


checked(globals())
