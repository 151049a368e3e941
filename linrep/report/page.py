"""The page: claims with what is known of them, and figures, put into a template."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import linrep
from linrep._lib import records
from linrep._lib.progress import progress_bar
from linrep._lib.validation import identifier
from linrep.claims import BUDGETS, VERDICTS, Claim, contents, pages
from linrep.claims import ledger as book_of
from linrep.claims.contents import KINDS, counts, heads, in_order, kinds
from linrep.claims.current import Current, current
from linrep.claims.evidence import HOLDS, UNDECIDED
from linrep.claims.prose import SEVERITIES, Finding
from linrep.claims.record import Record, of_claim
from linrep.figures.record import flat, read, table
from linrep.report import mathml, pictures, prose

_THEOREMS = ("Theorem", "Corollary")


@dataclass(frozen=True)
class Entry:
    """A claim with what is known of it.

    Attributes
    ----------
    claim : Claim
    known : Current
        The run of the store, or else what the ledger has.
    command : str
        What gives the result, and computes it where the store does not hold it.
    record : Record
        All that is known of it.
    picture : Picture or None
        What the verdict rests on: of a stored run, or of a theorem or finding as recorded.
    """

    claim: Claim
    known: Current
    record: Record
    command: str
    picture: pictures.Picture | None = None

    @property
    def result(self) -> Record | None:
        """What is shown, None where nothing is known yet."""
        return self.known.result

    @property
    def finding(self) -> Finding | None:
        """Why it fails, if it does."""
        return self.record.finding

    @property
    def stored(self) -> bool:
        """Whether the result is a run in the store; else it is the ledger's."""
        return self.known.run is not None

    @property
    def stale(self) -> bool:
        """Whether all that the store has is of code, or of files it rests on, edited since."""
        return self.known.stale

    @property
    def damaged(self) -> bool:
        """Whether the store has a run that cannot be read."""
        return self.known.damaged

    @property
    def verdict(self) -> str:
        """The verdict shown; "unchecked" where there is none."""
        return "unchecked" if self.result is None else self.result.verdict

    @property
    def severity(self) -> str:
        """How severe a failure is, "" of what holds."""
        failing = self.finding is not None and self.verdict not in (HOLDS, UNDECIDED)
        return self.finding.severity if failing else ""  # type: ignore[union-attr]

    @property
    def other(self) -> Record | None:
        """The ledger's result, where a stored run has another verdict."""
        recorded = self.known.recorded
        differs = self.stored and recorded is not None and recorded.verdict != self.verdict
        return recorded if differs else None

    @property
    def contradicts(self) -> bool:
        """Whether the ledger's verdict cannot be squared with that of the run."""
        if self.other is None or self.result is None or self.verdict == "error":
            return False
        said = book_of.outcome(self.verdict, self.result.budget, self.other)
        return said == book_of.CONTRADICTS


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
    source: str | None = None


def gather(
    chosen: Iterable[Claim],
    *,
    ledger: Mapping[str, Record],
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
    entries = []
    with progress_bar(progress, desc="report", unit="claim") as bar:
        for item in chosen:
            known = current(item, ledger.get(item.id), store=store, budget=budget, seed=seed)
            there = {item.id: known.result} if known.result else {}
            record = of_claim(item, there, book, file) if file or not there else there[item.id]
            points = _points(record, known) if book or not file or known.run else None
            at = budget or BUDGETS[0], seed
            if known.result is not None:
                at = known.result.budget, seed if known.run else known.result.seed
            words = ["linrep", "verify", *([file] if file else []), item.id]
            words += ["--budget", at[0], "--seed", str(at[1]), *options]
            entries.append(
                Entry(
                    item,
                    known,
                    record,
                    shlex.join(words),
                    picture=None if points is None else pictures.evidence(points),
                )
            )
            bar.update()
    return Report(
        entries=tuple(entries),
        figures=() if figures is None else tuple(_figures(figures, papers)),
        made=made or datetime.now(UTC),
        source=file,
    )


def _points(item, known):
    """Return what a picture is drawn from: of a run, or of a theorem or finding as recorded."""
    if known.run is not None:
        return known.run.result.points
    theorem = item.place.startswith(_THEOREMS) and item.form == "printed"
    reason = item.finding
    if known.recorded is None or not (theorem or (reason and reason.ids[0] == item.id)):
        return None
    try:
        points = item.drawn()
    except (records.Damaged, OSError) as error:
        records.leave_out(error)
        return None
    return None if points is None else _select_deciding(points, known.recorded)


def _select_deciding(points, result):
    """Return the panel of a part that the verdict rests on, rather along an axis than in order."""
    panels = points.groupby("panel", sort=False)["xlabel"].first()
    names = [part.name for part in result.parts if part.verdict == result.verdict]
    deciding = [panel for name in names for panel in panels.index if panel.startswith(name)]
    deciding = deciding or list(panels.index)
    along = [panel for panel in deciding if not panels[panel].startswith("rank")]
    return points[points["panel"] == (along or deciding)[0]]


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
    manifest, drawing = read(path), records.beside(path, ".svg")
    result = manifest["result"]
    settings = result["settings"]
    words = ["linrep", "figures", identifier(f"{path}: id", manifest["id"])]
    words += ["--quick"] * bool(settings["quick"])
    command = shlex.join([*words, "--seed", str(settings["seed"])])
    numbers = flat(table(result)).astype(object)
    numbers = numbers.where(numbers.notna(), None).to_dict("records")
    return Figure(manifest, numbers, pictures.stored(path, drawing or b""), command)


def render(report: Report) -> str:
    """Return the page: HTML that needs no other file and no network."""
    environment = Environment(
        loader=PackageLoader("linrep.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    kind = kinds(entry.record for entry in report.entries)
    by_id = {entry.claim.id: entry for entry in report.entries}
    ordered = [by_id[item.id] for item in in_order(entry.claim for entry in report.entries)]
    papers = [(name, list(own)) for name, own in groupby(ordered, lambda each: each.claim.paper)]
    causes = {name: _causes(own) for name, own in papers}
    ids = {*by_id, *(_anchor(reason) for found in causes.values() for reason in found)}

    def account(entry, result):
        return prose.html(pages.account(result or entry.record), ids)

    environment.filters |= {
        "prose": mathml.prose, "paper": contents.written, "badge": prose.badge,
        "inline": prose.inline, "anchor": _anchor, "value": _value,
        "markdown": lambda text: prose.html(text.splitlines(), ids),
        "day": lambda time: f"{time:%Y-%m-%d %H:%M} UTC",
    }  # fmt: skip
    verdicts = [*VERDICTS, *sorted({entry.verdict for entry in report.entries} - {*VERDICTS})]
    notes = {
        "A run contradicts the ledger": [e for e in report.entries if e.contradicts],
        "A check stopped with an exception": [e for e in report.entries if e.verdict == "error"],
        "A stored run cannot be read, as it was damaged": [e for e in report.entries if e.damaged],
        "Checked before code was edited": [e for e in report.entries if e.stale],
    }
    return environment.get_template("report.html").render(
        report=report,
        version=linrep.__version__,
        processors=os.cpu_count(),
        papers=papers,
        causes=causes,
        citations={name: paper.citation for name, paper in contents.known().items()},
        account=account,
        kind=kind,
        origin=_origin,
        notes={note: entries for note, entries in notes.items() if entries},
        choices={
            "paper": [name for name, _ in papers],
            "verdict": verdicts,
            "severity": [name for name in reversed(SEVERITIES)],
            "form": list(KINDS),
        },
        heads=heads(),
        counted=[(name, _counted(own).cells()) for name, own in papers],
        total=_counted(report.entries).cells(),
    )


def _anchor(reason):
    """Return where a finding is on the page."""
    return pages.anchor(reason.ids[0], "finding")


def _causes(entries):
    """Return the findings on what neither holds nor is open, the most severe first."""
    found: dict[Finding, list[Entry]] = {}
    for entry in entries:
        if entry.finding and entry.verdict not in (HOLDS, UNDECIDED):
            found.setdefault(entry.finding, []).append(entry)
    order = ["", *SEVERITIES]
    return dict(sorted(found.items(), key=lambda item: -order.index(item[0].severity)))


def _counted(entries):
    return counts(entry.record for entry in entries)


def _origin(entry):
    """Return where a result comes from."""
    if entry.result is None:
        return "the stored result is of code that was edited since" if entry.stale else "no result"
    result, run = entry.result, entry.known.run
    where = f"{result.budget} run" if run else f"ledger, {result.budget}"
    parts = [where, f"seed {result.seed}", *result.measured_and_claimed()]
    if run is not None:
        parts += [f"{run.finished:%Y-%m-%d %H:%M} UTC" if run.finished else "", run.versions]
    return " · ".join(filter(None, parts))


def _value(value):
    """Return a number of a figure in few digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None else mathml.prose(str(value))
