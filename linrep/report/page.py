"""The page: gathered values put into a template."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from linrep.claims import VERDICTS, contents
from linrep.claims.counts import KINDS, MORE, UNDER_CORRECTED, counts, holding, kinds
from linrep.claims.evidence import HOLDS, LEDGER_LEVEL, STRENGTHS, UNDECIDED, instance, sign, toward
from linrep.claims.grids import grids
from linrep.claims.grids import title as fact_title
from linrep.claims.ledger import largest_failure, readings, show
from linrep.report import mathml, prose
from linrep.report.entries import Entry, Report
from linrep.report.outline import outline

#: What each verdict means.
MEANINGS = {
    "holds": "the check found nothing against the statement",
    "misprint": "it fails where it is stated, and holds in a form that the paper prints elsewhere",
    "fails": "there is a counterexample, or a test rejects it",
    "vacuous": "its hypotheses cannot be met, or its bound is trivial, at any feasible size",
    "undecided": "the check says what it would take to decide",
    "error": "the check stopped with an exception",
    "unchecked": "neither the store has a result for the code as it is, nor the ledger any",
}
STEPS = {
    "conclusion": "a rate, sample size or comparison that readers take away is wrong",
    "statement": "the statement is false as printed",
    "proof step": "a step of the proof is wrong, the statement itself stands",
    "constant": "a constant is wrong",
    "slip": "obvious, and nothing rests on it",
}
#: How a headline begins that does not begin with a symbol; "a" is an article before a word.
_WORD = re.compile(r"[a-z][a-z'-]+(?![\w(])|a (?=[a-z]{2})")
_NUMBERED = re.compile(r"^(figure|table)(\d+)")
_THOUSANDS = 1e4  # from here on four digits are written with a power of ten
_MANY = 12  # parts from which those that hold are left to the command


def render(report: Report) -> str:
    """Return the page: HTML that needs no other file and no network."""
    environment = Environment(
        loader=PackageLoader("linrep.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["finite"] = math.isfinite
    ids = {entry.claim.id for entry in report.entries}
    environment.filters |= {
        "formula": _formula, "prose": mathml.prose, "number": _number, "sentence": _sentence,
        "shown": _show_number, "instance": instance,
        "cells": _cells, "value": _value, "json": lambda value: json.dumps(value, default=str),
        "readings": readings, "largest": largest_failure,
        "paper": contents.written,
        "day": lambda time: f"{time:%Y-%m-%d %H:%M} UTC", "grids": grids, "fact_title": fact_title,
        "slug": lambda words: words.replace(" ", "-"), "of": _of, "severity": severity,
        "markdown": lambda text: prose.html(text, ids), "inline": _inline,
        "headline": lambda text: _inline(text) + Markup("."), "related": _list_related,
        "place": _place, "figure_paper": _figure_paper, "figure_name": _figure_name,
    }  # fmt: skip
    papers = outline(report.entries)
    shown = [
        name
        for name in MEANINGS
        if name in VERDICTS or any(entry.verdict == name for entry in report.entries)
    ]
    strengths = {entry.strength for entry in report.entries}
    severities = set(map(severity, report.entries))
    return environment.get_template("report.html").render(
        report=report,
        papers=papers,
        theorems=[(paper, item) for paper in papers for item in paper.theorems],
        citations={name: paper.citation for name, paper in contents.known().items()},
        verdicts=shown,
        meanings=MEANINGS,
        steps=STEPS,
        severities=[name for name in STEPS if name in severities],
        strengths=[name for name in STRENGTHS if name in strengths],
        forms=list(KINDS),
        total=_counted(report.entries),
        counted=_counted,
        others=dict(zip(list(KINDS)[1:], MORE[1:], strict=True)),
        under_corrected=UNDER_CORRECTED,
        nouns=KINDS,
        holding=holding,
        origin=origin,
        ids=ids,
        many=_MANY,
        contradicting=[entry for entry in report.entries if entry.contradicts],
        stale=[entry for entry in report.entries if entry.stale],
        damaged=[entry for entry in report.entries if entry.damaged],
        raised=[entry for entry in report.entries if entry.verdict == "error"],
        smaller=[
            entry
            for entry in report.entries
            if entry.differs and not entry.contradicts and entry.verdict != "error"
        ],
        runs=_runs(report),
        level=f"{LEDGER_LEVEL:.0%}",
    )


def origin(entry: Entry) -> str:
    """Return where a result comes from."""
    if entry.result is None:
        return "no result"
    budget = entry.result.budget
    return f"{budget} run" if entry.stored else f"ledger, {budget}"


def severity(entry: Entry) -> str:
    """Return how severe a failure is, "" of what holds."""
    failing = entry.finding is not None and entry.verdict not in (HOLDS, UNDECIDED)
    return entry.finding.severity if failing else ""  # type: ignore[union-attr]


def _of(entries):
    """Return verdict, severity, strength and kind of claims, as the page's filters compare them."""
    kind = kinds(entry.claim for entry in entries)
    values = (
        (entry.verdict, severity(entry), entry.strength, kind[entry.claim.id]) for entry in entries
    )
    return ";".join("/".join(each) for each in values)


def _counted(entries):
    entries = list(entries)
    return counts(
        [entry.claim for entry in entries], {entry.claim.id: entry.verdict for entry in entries}
    )


def _number(value, toward=0):
    """Return a number in four digits, thousands in all; a dash for NaN, and no sign for zero."""
    if _THOUSANDS <= abs(value) < 100 * _THOUSANDS:
        return mathml.prose(f"{(round, math.ceil, math.floor)[toward](value):d}")
    return mathml.prose(show(value + 0.0, toward))


def _show_number(item, key):
    """Return a number of a result, a part or a fact, a bound with its sign."""
    value = getattr(item, key)
    return Markup("{}{}").format(
        sign(item, key) if math.isfinite(value) else "", _number(value, toward(item, key))
    )


def _formula(latex):
    """Return MathML, or the source where it cannot be converted: a user's claims may be plain."""
    try:
        return mathml.formula(latex)
    except mathml.Unreadable:
        return Markup("<code>{}</code>").format(latex)


def _inline(headline):
    """Return a headline as the beginning of a sentence; one that begins with a symbol stays."""
    if _WORD.match(headline):
        headline = headline[0].upper() + headline[1:]
    return prose.inline(headline)


def _place(place):
    """Return where a statement stands as the beginning of a line."""
    return mathml.prose(place[:1].upper() + place[1:] if _WORD.match(place) else place)


def _figure_paper(id):
    """Return the paper of a figure: of deep.flute_table1, drawn with networks, it is FLUTE."""
    home, _, name = id.partition(".")
    other = name.partition("_")[0]
    return other if home == "deep" and other in contents.known() else home


def _figure_name(id):
    """Return a figure's name as one asks for it: FedRep, Figure 3."""
    paper = _figure_paper(id)
    subject = id.partition(".")[2].removeprefix(f"{paper}_")
    subject = _NUMBERED.sub(lambda match: f"{match[1].capitalize()} {match[2]}", subject)
    name = contents.written(paper) if paper in contents.known() else paper.capitalize()
    return f"{name}, {subject.replace('_', ' ')}"


def _list_related(theorem):
    """Return what a theorem's related statements are about, by the ends of their ids."""
    start = theorem.statement.printed.claim.id
    ids = (item.printed.claim.id for item in theorem.others)
    return [id.removeprefix(f"{start}.").removeprefix(f"{id.partition('.')[0]}.") for id in ids]


def _sentence(text):
    """Return a sentence with its full stop."""
    return mathml.prose(text if text.endswith(".") else f"{text}.")


def _cells(records):
    """Return the columns of records, in the order in which they appear."""
    return list(dict.fromkeys(name for record in records for name in record))


def _value(value: Any) -> Markup:
    """Return a plain value in few digits; a matrix with a line for each row."""
    if isinstance(value, dict):
        lines = (Markup("{}: {}").format(name, _value(part)) for name, part in value.items())
        return Markup("; ").join(lines)
    if isinstance(value, list):
        if any(isinstance(part, list) for part in value):
            return Markup("<br>").join(map(_value, value))
        return Markup("[{}]").format(Markup(", ").join(map(_value, value)))
    if isinstance(value, float):
        return escape(f"{value:.6g}")
    if isinstance(value, str):
        return mathml.prose(value)
    words = {None: "none", True: "yes", False: "no"}
    return escape(words.get(value, value) if value is None or isinstance(value, bool) else value)


def _runs(report):
    """Return lines on where the results come from, for each origin: how many, seeds, when, what."""
    lines = []
    for name in dict.fromkeys(map(origin, report.entries)):
        entries = [entry for entry in report.entries if origin(entry) == name]
        results = [entry.result for entry in entries if entry.result is not None]
        times = [entry.finished for entry in entries if entry.finished]
        lines.append(
            {
                "origin": name,
                "count": len(entries),
                "seeds": ", ".join(map(str, sorted({result.seed for result in results}))),
                "seconds": sum(result.seconds for result in results),
                "first": min(times, default=None),
                "last": max(times, default=None),
                "versions": sorted({entry.versions for entry in entries if entry.versions}),
            }
        )
    return lines
