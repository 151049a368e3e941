"""The sweep: its specification, which can be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linrep._lib.arguments import checked
from linrep.sweeps.runner import run
from linrep.sweeps.specification import Specification
from linrep.sweeps.store import Run


class Sweep(Specification):
    """A function of a cell's parameters and a random stream, over a grid, with replicates.

    Parameters
    ----------
    function : callable
        ``function(cell, rng, **settings)`` returns one row (a mapping of names to numbers, strings,
        booleans or None; a bare number counts as the column ``value``), several (a sequence of such
        mappings) or a DataFrame. `rng` is a `numpy.random.Generator`, or, with `streams`, a dict of
        Generators by purpose.
    grid : Grid or iterable of mappings
        The cells.
    replicates : int
        Independent repetitions of every cell, at least 1.
    seed : int, default 0
        Root of all streams, at least 0.
    paired : iterable of str
        Parameters that change no stream: cells that differ only in these share their random
        numbers within a replicate. Algorithms and step sizes, typically.
    streams : mapping of str to iterable of str, optional
        One stream per purpose, with the parameters that change it; all others do not. Instead of
        `paired`.
    settings : mapping, optional
        Further keyword arguments of the function, the same for all cells and without influence on
        the streams. Plain values.
    name : str, optional
        What is computed; the function's name by default, required for what has none (a lambda, a
        partial). Two sweeps of different names do not share a directory.

    Raises
    ------
    ValueError, TypeError
        If an argument is not of this kind, or a parameter has the name of a stored column.

    Notes
    -----
    A stream is ``default_rng(SeedSequence(key, spawn_key=(replicate,)))`` with `key` the first 128
    bits of the SHA-256 of seed, purpose and those parameters; rows store it in hexadecimal. It
    depends on nothing else: not on the order, the chunks, the workers, or the other cells.
    """

    def run(self, directory: str | Path, **options: Any) -> Run:
        """Compute what is missing in a run directory.

        Parameters
        ----------
        directory : path
        **options
            As in :func:`linrep.sweeps.run`.
        """
        return run(self, directory, **options)


checked(globals())
