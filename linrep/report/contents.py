"""What the page shows, from the ledger, a store of finished checks and a folder of figures."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import linrep
from linrep._progress import progress_bar
from linrep._validation import identifier
from linrep.claims import BUDGETS, Claim, corrections
from linrep.claims.findings import Finding, findings
from linrep.claims.ledger import CONTRADICTS, outcome
from linrep.claims.proofs import proofs
from linrep.claims.sections import Section
from linrep.claims.verify import is_damaged, stored
from linrep.record import flat, table
from linrep.report import pictures

_FIGURE_WIDTH = 880  # CSS pixels


@dataclass(frozen=True)
class Entry:
    """A claim with its outcome.

    Attributes
    ----------
    claim : Claim
    result : mapping or None
        As `linrep.claims.verify.Result.as_json` gives it; None where nothing is known yet.
    stored : bool
        Whether `result` is a run in the store; else it is the ledger's.
    recorded : mapping or None
        What the ledger has.
    corrected_by : tuple of str
        Ids of the claims that put this one right.
    command : str
        What gives `result`, and computes it where the store does not hold it.
    damaged : bool
        Whether the store has a run that cannot be read.
    contradicts : bool
        Whether the run in the store has an outcome that the ledger's cannot be squared with.
    finding, proof : Finding, Section or None
        Why it fails, if it does; what the verdict is derived from, if that is known.
    picture : Picture or None
        The evidence; only a stored run has one.
    versions : str
    finished : datetime or None
        Of a stored run.
    """

    claim: Claim
    result: Mapping[str, Any] | None
    stored: bool
    recorded: Mapping[str, Any] | None
    corrected_by: tuple[str, ...]
    command: str
    damaged: bool = False
    contradicts: bool = False
    finding: Finding | None = None
    proof: Section | None = None
    picture: pictures.Picture | None = None
    versions: str = ""
    finished: datetime | None = None

    @property
    def verdict(self) -> str:
        """The verdict shown; "unchecked" where there is none."""
        return "unchecked" if self.result is None else self.result["verdict"]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What kinds of statements the claim's measurements are about, where that is known."""
        return tuple((self.result or {}).get("kinds", ()))

    @property
    def differs(self) -> bool:
        """Whether a stored run and the ledger give different verdicts."""
        both = self.stored and self.recorded is not None
        return both and self.verdict != self.recorded["verdict"]  # type: ignore[index]


@dataclass(frozen=True)
class Figure:
    """A figure that was drawn: its manifest, the numbers of its summary, its picture."""

    manifest: Mapping[str, Any]
    numbers: Sequence[Mapping[str, Any]]
    picture: pictures.Picture
    command: str


@dataclass(frozen=True)
class Report:
    """All that the page shows; `source` is the file of claims that are not linrep's."""

    entries: tuple[Entry, ...]
    figures: tuple[Figure, ...]
    made: datetime
    processors: int
    version: str
    source: str | None = None


def gather(
    chosen: Iterable[Claim],
    *,
    ledger: Mapping[str, Mapping[str, Any]],
    store: Path,
    budget: str | None = None,
    seed: int = 0,
    figures: Path | None = None,
    papers: Collection[str] | None = None,
    file: str | None = None,
    options: Sequence[str] = (),
    made: datetime | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Report:
    """Collect claims with their outcomes, and figures. Nothing is computed but pictures.

    Parameters
    ----------
    chosen : iterable of Claim
    ledger : mapping
        Recorded results by claim, shown where the store holds none.
    store : path
        Folder of finished checks, as `linrep.claims.verify.verify` fills it.
    budget : str, optional
        Which runs of the store are shown; by default, for each claim, that of the largest budget.
    seed : int
        Root of their streams.
    figures : path, optional
        Folder of figures with their manifests.
    papers : collection of str, optional
        Only figures of these.
    file : str, optional
        Where the claims come from, if not from linrep itself.
    options : sequence of str
        Further words of the commands shown, such as ``--store`` and a folder.
    made : datetime, optional
        When the page is made; by default now.
    progress : bool, optional
        Show a bar; by default on a terminal and in a notebook.
    executor : Executor, optional
        Draws the pictures; by default this process does.

    Returns
    -------
    Report

    Raises
    ------
    ValueError, OSError
        If the store or a figure is damaged.
    """
    budgets = tuple(reversed(BUDGETS)) if budget is None else (budget,)
    chosen = list(chosen)

    def command(name, budget, seed):
        words = ["linrep", "verify", *([file] if file else []), name]
        return shlex.join([*words, "--budget", budget, "--seed", str(seed), *options])

    runs = [_run(item, store, budgets, seed) for item in chosen]
    points = [None if run is None else run.points for run in runs]
    drawn = (map if executor is None else executor.map)(_picture, points)
    entries = []
    with progress_bar(progress, total=len(chosen), desc="report", unit="claim") as bar:
        for item, run, picture in zip(chosen, runs, drawn, strict=True):
            recorded = ledger.get(item.id)
            damaged = run is None and any(
                is_damaged(item, budget=name, seed=seed, store=store) for name in budgets
            )
            entries.append(
                _entry(item, recorded, run, damaged, picture, budgets, seed, command, file)
            )
            bar.update()
    return Report(
        entries=tuple(entries),
        figures=() if figures is None else tuple(_figures(figures, papers)),
        made=made or datetime.now(UTC),
        processors=os.cpu_count() or 1,
        version=linrep.__version__,
        source=file,
    )


def _run(item, store, budgets, seed):
    """Return what a store holds of a claim, of the first of the budgets that it holds."""
    found = (stored(item, budget=name, seed=seed, store=store) for name in budgets)
    return next(filter(None, found), None)


def _picture(points):
    return None if points is None else pictures.evidence(points)


def _entry(item, recorded, run, damaged, picture, budgets, seed, command, file):
    common = {
        "claim": item,
        "recorded": recorded,
        "corrected_by": tuple(other.id for other in corrections(item.id)),
        "finding": None if file else findings().get(item.id),
        "proof": None if file else proofs().get(item.id),
    }
    if run is None:
        asked = {"budget": budgets[0] if len(budgets) == 1 else BUDGETS[0], "seed": seed}
        shown = recorded or asked
        again = command(item.id, shown["budget"], shown["seed"])
        return Entry(result=recorded, stored=False, command=again, damaged=damaged, **common)
    return Entry(
        result=run.result.as_json(),
        stored=True,
        command=command(item.id, run.result.budget, seed),
        contradicts=recorded is not None
        and run.result.verdict != "error"
        and outcome(run.result.verdict, run.result.budget, recorded) == CONTRADICTS,
        picture=picture,
        versions=run.versions,
        finished=run.finished,
        **common,
    )


def _figures(folder, papers):
    for path in sorted(folder.glob("*.json")):
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise ValueError(f"{path} is no manifest of a figure: it is not JSON") from None
        # Others may keep their own files here.
        if not isinstance(manifest, dict) or not {"id", "result"} <= manifest.keys():
            continue
        _require(path, manifest, ("title", "provenance"))
        _require(path, manifest["provenance"], ("seconds", "finished", "versions"))
        found = manifest["result"]
        _require(path, found, ("caption", "settings", "rows", "summary"))
        _require(path, found["settings"], ("quick", "seed", "replicates"))
        if papers is not None and manifest["id"].partition(".")[0] not in papers:
            continue
        picture = pictures.stored(path.with_suffix(".svg"), _FIGURE_WIDTH, found["caption"])
        settings = found["settings"]
        words = ["linrep", "figures", identifier(f"{path}: id", manifest["id"])]
        words += ["--quick"] * bool(settings["quick"])
        command = shlex.join([*words, "--seed", str(settings["seed"])])
        numbers = flat(table(found)).astype(object)
        numbers = numbers.where(numbers.notna(), None).to_dict("records")
        yield Figure(manifest, numbers, picture, command)


def _require(path, values, names):
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"{path} is no manifest of a figure: it lacks {missing[0]!r}")
