"""What the page shows, from the ledger, a store of finished checks and a folder of figures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import linrep
from linrep._lib import records
from linrep._lib.progress import progress_bar
from linrep._lib.validation import identifier
from linrep.claims import BUDGETS, Claim, corrections, sensitivity
from linrep.claims.certificates import say_checked
from linrep.claims.current import current
from linrep.claims.evidence import Result
from linrep.claims.findings import finding
from linrep.claims.ledger import CONTRADICTS, outcome, recorded_points
from linrep.claims.proofs import proofs
from linrep.figures.record import KIND, flat, read, table
from linrep.report import pictures
from linrep.report.entries import Entry, Figure, Report
from linrep.report.outline import list_pictured, outline


def gather(
    chosen: Iterable[Claim],
    *,
    ledger: Mapping[str, Result],
    store: Path,
    budget: str | None = None,
    seed: int = 0,
    figures: Path | None = None,
    papers: Collection[str] | None = None,
    file: str | None = None,
    options: Sequence[str] = (),
    made: datetime | None = None,
    progress: bool | None = None,
    book: Path | None = None,
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
    book : path, optional
        The ledger's file, beside which is what its pictures are drawn from; by default the paper's.

    Returns
    -------
    Report

    Warns
    -----
    UserWarning
        If a figure, or the recorded pictures, are damaged: they are left out.

    Raises
    ------
    ValueError, OSError
        If the store is damaged.
    """
    chosen = list(chosen)

    def command(name, budget, seed):
        words = ["linrep", "verify", *([file] if file else []), name]
        return shlex.join([*words, "--budget", budget, "--seed", str(seed), *options])

    entries, points = {}, {}
    for item in chosen:
        recorded = ledger.get(item.id)
        known = current(item, recorded, store=store, budget=budget, seed=seed)
        entries[item.id] = _entry(item, known, budget or BUDGETS[0], seed, command, file)
        if known.run is not None:
            points[item.id] = known.run.result.points
    drawn = [("picture", id, table) for id, table in points.items() if table is not None]
    twice = []  # whose picture is of one panel, and so is the one that the outline has
    for entry in list_pictured(outline(entries.values())):
        id = entry.claim.id
        if not entry.stored and entry.recorded and (book or not file):
            try:
                points[id] = recorded_points(id, book)
            except (records.Damaged, OSError) as error:
                records.leave_out(error)
        if (own := points.get(id)) is not None:
            deciding = _select_deciding(own, entry.result)
            if entry.stored and len(deciding) == len(own):  # drawn already
                twice.append(id)
            else:
                drawn.append(("chief", id, deciding))
    with progress_bar(progress, total=len(drawn), desc="report", unit="picture") as bar:
        for kind, id, table in drawn:
            entries[id] = replace(entries[id], **{kind: pictures.evidence(table)})
            bar.update()
    for id in twice:
        entries[id] = replace(entries[id], chief=entries[id].picture)
    return Report(
        entries=tuple(entries.values()),
        figures=() if figures is None else tuple(_figures(figures, papers)),
        made=made or datetime.now(UTC),
        processors=os.cpu_count() or 1,
        version=linrep.__version__,
        source=file,
    )


def _select_deciding(points, result):
    """Return the panel of a part that the verdict rests on, rather along an axis than in order."""
    panels = points.groupby("panel", sort=False)["xlabel"].first()
    names = [part.name for part in result.parts if part.verdict == result.verdict]
    deciding = [panel for name in names for panel in panels.index if panel.startswith(name)]
    deciding = deciding or list(panels.index)
    along = [panel for panel in deciding if not panels[panel].startswith("rank")]
    return points[points["panel"] == (along or deciding)[0]]


def _entry(item, known, budget, seed, command, file):
    run, recorded = known.run, known.recorded
    common = {
        "claim": item,
        "result": known.result,
        "stored": run is not None,
        "recorded": recorded,
        "damaged": known.damaged,
        "stale": known.stale,
        "corrected_by": tuple(other.id for other in corrections(item.id)),
        "finding": None if file else finding(item.id),
        "proof": None if file else proofs().get(item.id),
        "checked_by": "" if file else say_checked(item.id, known.result),
        "sensitivity": "" if file else sensitivity.say(item),
    }
    if run is None:
        if recorded is not None:
            budget, seed = recorded.budget, recorded.seed
        return Entry(command=command(item.id, budget, seed), **common)
    return Entry(
        command=command(item.id, run.result.budget, seed),
        contradicts=recorded is not None
        and run.result.verdict != "error"
        and outcome(run.result.verdict, run.result.budget, recorded) == CONTRADICTS,
        versions=run.versions,
        finished=run.finished,
        **common,
    )


def _figures(folder, papers):
    for path in sorted(folder.glob("*.json")):
        if papers is not None and path.stem.partition(".")[0] not in papers:
            continue
        try:
            yield _figure(path)
        except (ValueError, OSError) as error:
            # Others may keep their own files here.
            if not isinstance(error, records.Foreign) or path.with_suffix(".svg").exists():
                records.leave_out(error)


def _figure(path):
    """Return a figure from its manifest and the picture that belongs to it."""
    manifest, drawing = read(path), KIND.beside(path, ".svg")
    result = manifest["result"]
    settings = result["settings"]
    words = ["linrep", "figures", identifier(f"{path}: id", manifest["id"])]
    words += ["--quick"] * bool(settings["quick"])
    command = shlex.join([*words, "--seed", str(settings["seed"])])
    numbers = flat(table(result)).astype(object)
    numbers = numbers.where(numbers.notna(), None).to_dict("records")
    return Figure(manifest, numbers, pictures.stored(path, drawing or b""), command)
