"""Whether the recorded figures come out again: drawn beside the record, compared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from linrep._lib import portable, records, scripts
from linrep._lib.papers import own, paper_of
from linrep.figures import computing, drawing, experiment, record
from linrep.figures.experiment import Experiment

#: Where the record is, in the working directory or else in the installation, and where other runs
#: write.
RECORD, RESULTS = Path("figures"), Path("runs", "figures")
#: The papers' figures, those on real data included.
PAPERS = ("*.figure*", "*.digits")
#: Libraries whose versions the digits depend on: also the system's, which has exp and log.
_ARITHMETIC = ("numpy", "scipy", "numba", "llvmlite", "libc", "system")
_SHOWN = 20  # lines, of what is not as recorded


@dataclass(frozen=True)
class Reproduction:
    """How figures compare with the record.

    Attributes
    ----------
    table : DataFrame
        As :func:`linrep.figures.record.compare` gives it, for all figures.
    mode : str
        That of the process, "portable" or "native".
    reasons : mapping of str to tuple of str
        Why the same digits are not asked for of a figure, so that intervals decide; figures of
        which they are asked for are not in it.
    """

    table: pd.DataFrame
    mode: str
    reasons: Mapping[str, tuple[str, ...]]

    @property
    def wrong(self) -> pd.DataFrame:
        """The lines of the table because of which a figure is not reproduced."""
        same = self.table["outcome"] == record.SAME
        near = self.table["outcome"].isin([record.INSIDE, record.TOO_FEW, record.OTHER])
        return self.table[~(same | (near & self.table["figure"].isin(self.reasons)))]

    @property
    def reproduced(self) -> bool:
        """Whether all figures are."""
        return self.wrong.empty

    def counts(self) -> pd.DataFrame:
        """Return how many numbers of each figure have which outcome, and what its rows are."""
        table = self.table
        numbers = table[table["part"] == "number"]
        kinds = [record.SAME, record.INSIDE, record.OUTSIDE]
        counts = pd.crosstab(numbers["figure"], numbers["outcome"])
        if record.TOO_FEW in counts:
            kinds.insert(2, record.TOO_FEW)
        counts = counts.reindex(columns=kinds, fill_value=0)
        digests = table[(table["part"] == "rows") & (table["what"] == "digest")]
        digests = digests.set_index("figure")["outcome"]
        counts["rows"] = digests.map({record.SAME: "same bits"}).fillna("other bits")
        changed = table[table["part"] == "record"].groupby("figure").size()
        if len(changed):
            counts[record.CHANGED] = changed.reindex(counts.index, fill_value=0)
        return counts.rename_axis(columns=None).reset_index()

    def text(self) -> str:
        """Return the table and what is not as recorded, at most a screen, and the last line."""
        parts = [self.counts().to_string(index=False)]
        wrong = self.wrong.sort_values(
            "outcome", key=lambda kinds: kinds.map({record.CHANGED: 0, record.OUTSIDE: 1}).fillna(2)
        )
        if len(wrong):
            shown = wrong.head(_SHOWN).fillna("–").astype({"recorded": str, "new": str})
            parts.append(shown.to_string(index=False, max_colwidth=60))
        if len(wrong) > _SHOWN:
            parts.append(f"and {len(wrong) - _SHOWN} more")
        return "\n\n".join([*parts, self.sentence()])

    def sentence(self) -> str:
        """Return one line: whether it was reproduced, what was done, and in which mode."""
        return f"{'reproduced' if self.reproduced else 'NOT reproduced'}: {self.extent()}"

    def extent(self) -> str:
        """Return of how many figures the numbers are as recorded, and in which sense."""
        figures = self.table["figure"].nunique()
        good = figures - self.wrong["figure"].nunique()
        parts = []
        if strict := figures - len(self.reasons):
            parts.append("the same digits, in the portable mode")
        if self.reasons:
            whys = dict.fromkeys(why for own in self.reasons.values() for why in own)
            parts.append(f"inside the recorded intervals, which decide: {'; '.join(whys)}")
        if len(parts) == 2:
            parts = [f"{strict}: {parts[0]}", f"{len(self.reasons)}: {parts[1]}"]
        return f"{good} of {figures} figures ({'; '.join(parts)})"


def recorded(folder: Path = RECORD) -> list[str]:
    """Return the ids of the figures that have a record."""
    return sorted({path.stem for place in _places(folder) for path in place.glob("*.json")})


def _places(folder):
    own = scripts.record()
    return [folder] if folder != RECORD or own is None else [folder, own]


def read_record(folder: Path, name: str) -> tuple[Mapping[str, Any], pd.DataFrame | None]:
    """Return what is recorded of a figure.

    Parameters
    ----------
    folder : Path
    name : str
        Id of the figure.

    Returns
    -------
    manifest : mapping
    rows : DataFrame or None
        Those that are stored.

    Raises
    ------
    ValueError
        If there is none, or it is damaged.
    """
    paths = [place / f"{name}.json" for place in _places(folder)]
    path = next(filter(records.is_there, paths), None)
    if path is None:
        raise ValueError(f"{name} has no record in {folder}; --record makes one")
    manifest, stored = record.read(path), records.beside(path, ".parquet")
    return manifest, None if stored is None else pd.read_parquet(BytesIO(stored))


def check_figures(
    chosen: Iterable[Experiment],
    *,
    folder: Path = RECORD,
    out: Path = RESULTS,
    workers: int = 1,
    seed: int | None = None,
    done: Callable[[drawing.Drawn], None] = lambda drawn: None,
) -> Reproduction:
    """Draw figures again, and compare them with the record.

    Parameters
    ----------
    chosen : iterable of Experiment
        Each with a record.
    folder : Path
        The record. Nothing there is changed.
    out : Path
        Where the figures are drawn.
    workers : int, default 1
        Threads.
    seed : int, optional
        Another root of all streams than the recorded one: then intervals decide.
    done : callable, optional
        Called with each figure that is drawn.

    Returns
    -------
    Reproduction

    Raises
    ------
    ValueError
        If a figure has no record, or needs what is not there.
    linrep.figures.computing.Failed
        If a replicate failed.
    """
    chosen = list(chosen)
    for item in chosen:
        if others := item.others():
            sizes = experiment.list_sizes(others)
            raise ValueError(f"{item.id}: a record is of the default sizes, not of {sizes}")
        read_record(folder, item.id)  # all of them before the first is drawn
    compared = []
    for item in chosen:
        drawn = draw_again(item, folder=folder, out=out, workers=workers, seed=seed)
        done(drawn)
        compared.append(compare(item, drawn, folder))
    return together(compared)


def papers(folder: Path = RECORD) -> list[str]:
    """Return the ids of the figures of linrep's own papers, those with networks left out.

    Raises
    ------
    ValueError
        If one of them has no record.
    """
    there = recorded(folder)
    if not there:
        raise ValueError(f"there are no recorded figures in {folder.resolve()}")
    names = [name for name in experiment.matching(PAPERS) if paper_of(name) in own()]
    if missing := [name for name in names if name not in there]:
        raise ValueError(f"{', '.join(missing)}: no record in {folder.resolve()}")
    return names


def again(name: str, folder: Path, out: Path) -> tuple[pd.DataFrame, list[str]] | str:
    """Draw a figure by id, and compare it: what a worker process does. Its run is kept.

    Parameters
    ----------
    name : str
    folder, out : Path
        As for :func:`check_figures`.

    Returns
    -------
    tuple or str
        As of :func:`compare`, or what failed.
    """
    item = experiment.load(name)
    try:
        return compare(item, draw_again(item, folder=folder, out=out, keep=True), folder)
    except computing.Failed as error:
        return str(error)


def draw_again(
    item: Experiment,
    *,
    folder: Path,
    out: Path,
    workers: int = 1,
    seed: int | None = None,
    keep: bool = False,
) -> drawing.Drawn:
    """Draw a figure with the recorded seed, or another one.

    Parameters
    ----------
    item : Experiment
    folder, out, workers, seed
        As for :func:`check_figures`.
    keep : bool, default False
        As for :func:`linrep.figures.drawing.make_figure`.
    """
    manifest, _ = read_record(folder, item.id)
    root = manifest["result"]["settings"]["seed"] if seed is None else seed
    return drawing.make_figure(item, out=out, workers=workers, seed=root, keep=keep)


def compare(item: Experiment, drawn: drawing.Drawn, folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return how a figure compares, and why its digits need not be the recorded ones.

    Parameters
    ----------
    item : Experiment
    drawn : Drawn
    folder : Path
        The record.
    """
    manifest, kept = read_record(folder, item.id)
    table = record.compare(
        manifest,
        drawn.manifest["result"],
        kept=kept,
        new_kept=None if kept is None else drawing.kept_rows(item, drawn.rows),
        again=None if kept is None else item.at().summary(kept),
    )
    return table, _reasons(manifest, drawn.manifest)


def together(compared: Iterable[tuple[pd.DataFrame, list[str]]]) -> Reproduction:
    """Return how figures compare, from what :func:`compare` says of each."""
    tables, reasons = zip(*compared, strict=True)
    names = [table["figure"].iloc[0] for table in tables]
    return Reproduction(
        pd.concat(tables, ignore_index=True),
        portable.mode(),
        {name: tuple(own) for name, own in zip(names, reasons, strict=True) if own},
    )


def _reasons(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return why two runs need not have the same digits."""
    before, now = (each["provenance"] for each in (old, new))
    reasons = ["this process is not in the portable mode"] * (now["mode"] != "portable")
    reasons += ["the record is not of the portable mode"] * (before["mode"] != "portable")
    for name in _ARITHMETIC:
        there, here = (each["versions"].get(name) for each in (before, now))
        reasons += [f"{name} {here} here, {there} in the record"] * (there != here)
    one, two = (
        {f"{blas['name']} {blas['version']}" for blas in each["BLAS"]} for each in (before, now)
    )
    if one != two:
        here, there = (", ".join(sorted(only)) or "none" for only in (two - one, one - two))
        reasons.append(f"{here} here, {there} in the record")
    recorded, seed = (each["result"]["settings"]["seed"] for each in (old, new))
    return reasons + [f"seed {seed}, not {recorded}"] * (seed != recorded)
