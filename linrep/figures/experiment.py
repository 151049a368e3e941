"""What a script in ``experiments/`` is, and how it is found."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from linrep._lib import validation as check
from linrep._lib.extras import command, installed
from linrep._lib.scripts import available, scripts
from linrep._lib.suggest import unknown
from linrep.deep.readers import FOLDER_VARIABLE
from linrep.figures.sizes import Sizes, listed
from linrep.sweeps import Grid
from linrep.sweeps.targets import load_file

Cell = Mapping[str, Any]


def all_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as they are.

    Parameters
    ----------
    rows : DataFrame
    """
    return rows


@dataclass(frozen=True)
class Experiment:
    """A figure: which cells to run, how to run one replicate of a cell, how to draw the rows.

    With `sizes`, its functions get them: `cells` in the place of `quick`, `replicate` as keyword
    arguments, which a stored run repeats, and the others as a last argument.

    Attributes
    ----------
    id : str
        Paper and figure, as in ``fedrep.figure3``; the script is ``fedrep_figure3.py``.
    title : str
        One line.
    cells : callable
        ``cells(quick) -> Grid``: the points of the grid.
    replicate : callable
        ``replicate(cell, rng) -> DataFrame``: one independent repetition, all methods on the same
        problem and data. `rng` is a Generator of this cell and replicate alone.
    draw : callable
        ``draw(rows) -> matplotlib Figure`` from the rows alone.
    caption : callable
        ``caption(rows, replicates) -> str``: what is shown, with the exact setting; white space and
        line breaks in it do not matter.
    summary : callable
        ``summary(rows) -> DataFrame``: the few numbers that the picture is about, for the terminal
        and the manifest. Its index says what the numbers of a line belong to; counts of
        replicates are those of :mod:`linrep.figures.counts`. It is also called with half of the
        replicates, and with single ones.
    replicates, quick_replicates : int
        Per cell.
    packages : tuple of str
        Modules that linrep itself does not depend on.
    data : tuple of str
        Data sets, by their names for :func:`linrep.deep.load`, or files of the folder of
        ``--data``, that the full settings read from there; with ``--quick`` an experiment does
        with what comes along.
    signed : tuple of str
        Patterns of the labels or columns, such as ``"*exponent*"``, of numbers of the summary
        that can have either sign, though all that is seen may be positive.
    kept : callable or None
        ``kept(rows) -> DataFrame``: the rows that a record keeps, by default all. They have to give
        the same summary. None for none, where the figure is redrawn within a minute.
    sizes : Sizes or None
        What can be chosen, and by default is; None for nothing.
    paired : tuple of str
        Parameters of cells that change no random numbers: cells that differ only in these, such as
        methods, have the same problem and data in each replicate.
    given : mapping
        What was chosen instead, see :meth:`with_sizes`.
    """

    id: str
    title: str
    cells: Callable[[bool], Grid]
    replicate: Callable[[Cell, np.random.Generator], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Any]
    caption: Callable[[pd.DataFrame, int], str]
    summary: Callable[[pd.DataFrame], pd.DataFrame]
    replicates: int = 20
    quick_replicates: int = 3
    packages: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    kept: Callable[[pd.DataFrame], pd.DataFrame] | None = all_rows
    sizes: Sizes | None = None
    paired: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        check.identifier("id", self.id)

    def with_sizes(self, given: Mapping[str, Any]) -> Experiment:
        """Return the figure with other sizes or another number of replicates.

        Parameters
        ----------
        given : mapping
            Sizes by name, and ``replicates``.

        Raises
        ------
        ValueError, TypeError
            If there cannot be so many replicates. Sizes are checked where they are asked for, as
            those of ``--quick`` may go with them and the default ones not.
        """
        given = {**self.given, **given}
        if "replicates" in given:
            given["replicates"] = check.integer("replicates", given["replicates"], minimum=1)
        return replace(self, given=given)

    def at(self, quick: bool = False) -> Experiment:
        """Return the figure with its sizes fixed: its functions take none.

        Parameters
        ----------
        quick : bool, default False
            Take the small ones, where others are not given.
        """
        replicates = self.quick_replicates if quick else self.replicates
        replicates = self.given.get("replicates", replicates)
        fixed = replace(
            self, given={}, sizes=None, replicates=replicates, quick_replicates=replicates
        )
        sizes = self.sizes_at(quick)
        if sizes is None:
            return fixed
        cells, draw, caption, summary = self.cells, self.draw, self.caption, self.summary
        return replace(
            fixed,
            cells=lambda quick: cells(sizes),  # type: ignore[arg-type]
            draw=lambda rows: draw(rows, sizes),  # type: ignore[call-arg]
            caption=lambda rows, count: caption(rows, count, sizes),  # type: ignore[call-arg]
            summary=lambda rows: summary(rows, sizes),  # type: ignore[call-arg]
        )

    def sizes_at(self, quick: bool = False) -> Sizes | None:
        """Return the sizes, None where there are none to choose.

        Parameters
        ----------
        quick : bool, default False
            Take the small ones, where others are not given.

        Raises
        ------
        ValueError, TypeError
            If the figure has no size that is given, or it cannot be; the message begins with the
            name.
        """
        given = {name: value for name, value in self.given.items() if name != "replicates"}
        if self.sizes is None:
            if given:
                raise ValueError(f"{next(iter(given))} is no size of this figure; it has none")
            return None
        return (self.sizes.quick() if quick else self.sizes).changed(given)

    def others(self, quick: bool = False) -> dict[str, Any]:
        """Return the sizes and the number of replicates that are not the default ones.

        Parameters
        ----------
        quick : bool, default False
            Whether those of ``--quick`` are meant.
        """
        plain, sizes = replace(self, given={}), self.sizes_at(quick)
        default = plain.sizes_at(quick)
        others = {} if sizes is None or default is None else sizes.other_than(default)
        count = self.at(quick).replicates
        return others if count == plain.at(quick).replicates else {**others, "replicates": count}

    @property
    def trains_networks(self) -> bool:
        """Whether replicates take minutes, and keep checkpoints."""
        return "torch" in self.packages

    def missing(self, quick: bool = False) -> str | None:
        """Return what it needs and does not find, None if nothing is missing.

        Parameters
        ----------
        quick : bool, default False
            Whether the quick settings are meant, which do with the data that come along.
        """
        for package in self.packages:
            if not installed(package):
                return f"{package}: {command(package)}"
        if self.data and not quick and data_folder() is None:
            return f"--data FOLDER with {', '.join(self.data)} (or --quick)"
        return None


def data_folder() -> Path | None:
    """Return the folder of data sets that ``--data`` or the environment variable names."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


def list_sizes(others: Mapping[str, Any]) -> str:
    """Return sizes as text, such as ``n = 50, 500; d = 20``.

    Parameters
    ----------
    others : mapping
        As :meth:`Experiment.others` returns it.
    """
    return "; ".join(f"{name} = {listed(value)}" for name, value in others.items())


def matching(names: Iterable[str]) -> list[str]:
    """Return names with patterns, such as ``flute.*``, replaced by the ids that they match.

    Parameters
    ----------
    names : iterable of str
        Ids, patterns, or paths of scripts.

    Raises
    ------
    ValueError
        If a pattern matches none.
    """
    known = available()
    ids: list[str] = []
    for name in names:
        chosen = [name] if not set(name) & set("*?[") else fnmatch.filter(known, name)
        if not chosen:
            raise ValueError(unknown("unknown experiment", name, known))
        ids += chosen
    return list(dict.fromkeys(ids))


def load(name: str) -> Experiment:
    """Load an experiment by id, or from a script of your own by its path (ending in .py).

    Parameters
    ----------
    name : str
        An id such as ``fedrep.figure3``, or a path.

    Raises
    ------
    ValueError
        If there is no such experiment, or the script cannot be run or defines none.
    """
    known = scripts()
    if not name.endswith(".py") and name not in known:
        raise ValueError(unknown("unknown experiment", name, sorted(known)))
    path = Path(name) if name.endswith(".py") else known[name]
    experiment = load_file(path).get("EXPERIMENT")
    if not isinstance(experiment, Experiment):
        raise ValueError(f"{path} must define EXPERIMENT, a linrep.figures.experiment.Experiment")
    return experiment
