"""The sweep: its specification, which can be run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pandas as pd

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.threads import one_thread
from linrep.sweeps.chunks import call, read_rows
from linrep.sweeps.grid import Grid
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

    def only(self, selection: Mapping[str, Any] | str, replicate: int) -> pd.DataFrame:
        """Compute one replicate alone, with its own random stream, and store nothing.

        Parameters
        ----------
        selection : mapping of str to plain values, or str
            Parameters that single out a cell, or as in its name: ``"n=10,m=5"``.
        replicate : int
            Its number, from 0.

        Returns
        -------
        DataFrame
            What the function returned; what it raises is raised here.

        Raises
        ------
        ValueError, TypeError
            If there is no such cell or replicate.
        """
        number = check.integer("replicate", replicate, minimum=0, maximum=self.replicates - 1)
        cell = cast(Grid, self.grid).find(selection)
        with one_thread():  # as in a run
            result = call(self.function, cell, self.keys(cell), number, self.settings)
        return pd.DataFrame(read_rows(result, self.parameters))


checked(globals())
