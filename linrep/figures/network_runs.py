"""Runs of tables of networks: stored and recorded ones, missing ones, and how long these take."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from linrep import deep
from linrep._lib import scripts
from linrep.figures import computing
from linrep.figures.computing import run_of, runs_in, runs_of, sweep_of
from linrep.figures.experiment import Cell, Experiment
from linrep.figures.reproduction import RECORD, RESULTS, read_record
from linrep.sweeps import Sweep

#: Folder of the runs of all tables.
RUNS = RESULTS / computing.RUNS
#: Folder of the records of tables, in that of all records.
NETWORKS = "networks"

Runs = set[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Table:
    """A table with the seed of its runs, and which of its cells are wanted."""

    item: Experiment
    seed: int
    wanted: Callable[[Cell], bool]

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep of the table."""
        return sweep_of(self.item, seed=self.seed)

    def rows(self, others: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the rows of the runs made here, and other rows of runs that were not."""
        directory = computing.run_directory(RUNS, self.item, self.sweep)
        with suppress(ValueError):  # there are none
            rows, _ = computing.so_far(self.item, directory, self.sweep, others)
            return rows
        return pd.DataFrame()

    def runs(self, rows: pd.DataFrame | None) -> Runs:
        """Return the runs that rows are of."""
        return set() if rows is None else set(runs_of(rows, self.sweep))

    def kept(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of runs that the table has: an earlier one may have had others."""
        return rows[runs_of(rows, self.sweep).isin(set(runs_in(self.sweep)))]

    def missing(self, rows: pd.DataFrame | None) -> Runs:
        """Return which runs of the wanted cells have no rows."""
        return set(runs_in(self.sweep, self.wanted)) - self.runs(rows)

    def plan(
        self, done: Container[tuple[Any, ...]], timed: pd.DataFrame, device: str
    ) -> tuple[pd.DataFrame, pd.Series]:
        """Return the wanted columns with counts of runs, and the seconds of each missing run.

        Seconds are means over the rows of a cell that were computed on the device. A method that
        has none is taken to last as long as the others of its column, where these have any.
        """
        timed = timed.reindex(columns=timed.columns.union(["device", "trained"], sort=False))
        timed = timed[(timed["device"] == device) & (timed["trained"] > 0.0)]
        cells = runs_of(timed, self.sweep).map(lambda run: run[:-1])
        means = timed["trained"].groupby(cells).mean().to_dict()
        runs = runs_in(self.sweep, self.wanted)
        table = pd.DataFrame(runs, columns=[*self.sweep.parameters, "replicate"])
        keys = [key for key in self.sweep.parameters if key != "method"] or ["method"]
        groups = table.groupby(keys, sort=False, dropna=False).ngroup()
        seconds = pd.Series([means.get(run[:-1]) for run in runs], dtype=float)
        seconds = seconds.fillna(seconds.groupby(groups).transform("mean"))
        is_done = pd.Series([run in done for run in runs])
        remaining = seconds.mask(is_done, 0.0)
        columns = table[keys].drop_duplicates().reset_index(drop=True)
        columns["runs"] = is_done.groupby(groups).size()
        columns["done"] = is_done.groupby(groups).sum()
        columns["seconds"] = remaining.groupby(groups).agg(lambda each: each.sum(skipna=False))
        return columns, seconds[~is_done]


def in_turn(parts: Sequence[tuple[Table, Runs]]) -> Sequence[tuple[Table, Runs]]:
    """Return tables with runs to make of them, of all tables what is worth most first.

    What a run is worth is the first entry of what orders the runs of its table.
    """
    if len(parts) == 1:
        return parts
    steps: dict[tuple[int, int], Runs] = {}
    for number, (table, runs) in enumerate(parts):
        if not runs:
            steps[0, number] = runs
        for cell in table.sweep.grid:
            for replicate in range(table.sweep.replicates):
                if (run := run_of(cell, replicate, table.sweep)) in runs:
                    worth = table.item.order(cell, replicate) if table.item.order else 0
                    first = worth[0] if isinstance(worth, tuple) else worth
                    steps.setdefault((int(first), number), set()).add(run)
    return [(parts[number][0], runs) for (_, number), runs in sorted(steps.items())]


def beside(own: Table, table: Table, recorded: pd.DataFrame | None) -> tuple[pd.DataFrame, int]:
    """Return rows of a table in the columns that a method of the user's has run in.

    They are those of runs made here, which are counted, or else of the recorded ones.
    """
    columns = [dict(cell) for cell in own.sweep.grid if own.wanted(cell)]
    method = columns[0]["method"]
    runs = runs_in(table.sweep, lambda cell: {**cell, "method": method} in columns)
    rows = table.rows(recorded)
    rows = rows[runs_of(rows, table.sweep).isin(set(runs))]
    return rows, len(table.runs(rows) & table.runs(table.rows()))


@dataclass(frozen=True, eq=False)
class Record:
    """What is recorded of a table of networks.

    Attributes
    ----------
    seed : int
    rows : DataFrame or None
        None if they are lost.
    digests : dict
        Of the data sets that the rows are of.
    """

    seed: int
    rows: pd.DataFrame | None
    digests: dict[str, str]

    def conflict(self, seed: int) -> str:
        """Return what keeps a record from having further rows of a seed, "" if nothing does."""
        if self.seed != seed:
            return f"of seed {self.seed}"
        if self.rows is None:
            return "without its rows"
        return next(filter(None, map(self.difference, self.digests)), "")

    def difference(self, name: str) -> str:
        """Return what keeps recorded rows of a data set from standing beside new ones, or ""."""
        try:
            same = deep.load(name).digest == self.digests[name]
        except (ImportError, ValueError, OSError):
            return f"of {name}, which cannot be read"
        return "" if same else f"of another {name} than is here"


def record_of(item: Experiment) -> Record | None:
    """Return the record of a table, None where there is none.

    Raises
    ------
    ValueError
        If it is damaged.
    """
    for folder in filter(None, (RECORD, scripts.record())):
        files = [folder / NETWORKS / f"{item.id}.{kind}" for kind in ("json", "parquet")]
        if any(file.exists() for file in files):
            manifest, rows = read_record(folder / NETWORKS, item.id)
            data = manifest["provenance"].get("data", {})
            digests = {name: about["sha256"] for name, about in data.items()}
            return Record(manifest["result"]["settings"]["seed"], rows, digests)
    return None
