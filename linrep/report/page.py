"""The page: gathered values put into a template."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from linrep.claims import VERDICTS
from linrep.claims.evidence import LEDGER_LEVEL
from linrep.claims.ledger import readings, show
from linrep.report import mathml
from linrep.report.contents import Entry, Report

PAPERS = {
    "fedrep": ("FedRep", "Collins, Hassani, Mokhtari and Shakkottai, Exploiting Shared "
               "Representations for Personalized Federated Learning, ICML 2021"),
    "flute": ("FLUTE", "Liu, Shen and Yang, Federated Representation Learning in the "
              "Under-Parameterized Regime, ICML 2024"),
    "perfedsi": ("PerFedSI", "A Framework for Personalized Federated Learning with Side "
                 "Information"),
    "pflmf": ("pFL^MF", "Dadras, Stich and Yurtsever, Personalized Federated Learning via "
              "Low-Rank Matrix Optimization, TMLR"),
}  # fmt: skip
#: Sign and meaning of each verdict; the sign and the word tell them apart without colour.
MEANINGS = {
    "holds": ("✓", "the check found nothing against the statement"),
    "fails": ("✗", "there is a counterexample, or a test rejects it"),
    "vacuous": ("∅", "its hypotheses or its bound say nothing at any size that can exist"),
    "undecided": ("?", "the check says what it would take to decide"),
    "error": ("!", "the check stopped with an exception"),
    "unchecked": ("–", "neither the store nor the ledger has a result"),
}
_AXIS = (-4, 4)  # decades of tightness that are drawn
_LONG = 240  # letters from which a sentence of several readings becomes a list


def render(report: Report) -> str:
    """Return the page: HTML that needs no other file and no network."""
    environment = Environment(
        loader=PackageLoader("linrep.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "formula": _formula, "prose": mathml.prose, "number": _number, "listed": _listed,
        "cells": _cells, "value": _value, "json": lambda value: json.dumps(value, default=str),
        "readings": readings, "paper": lambda name: PAPERS.get(name, (name, ""))[0],
        "day": lambda time: f"{time:%Y-%m-%d %H:%M} UTC",
    }  # fmt: skip
    papers = list(dict.fromkeys(entry.claim.paper for entry in report.entries))
    shown = [
        name
        for name in MEANINGS
        if name in VERDICTS or any(entry.verdict == name for entry in report.entries)
    ]
    return environment.get_template("report.html").render(
        report=report,
        groups={
            paper: [entry for entry in report.entries if entry.claim.paper == paper]
            for paper in papers
        },
        citations={paper: PAPERS.get(paper, ("", ""))[1] for paper in papers},
        verdicts=shown,
        meanings=MEANINGS,
        counts=Counter((entry.claim.paper, entry.verdict) for entry in report.entries),
        kinds=sorted({kind for entry in report.entries for kind in entry.kinds}),
        origins=list(dict.fromkeys(map(origin, report.entries))),
        origin=origin,
        ids={entry.claim.id for entry in report.entries},
        contradicting=[entry for entry in report.entries if entry.contradicts],
        damaged=[entry for entry in report.entries if entry.damaged],
        raised=[entry for entry in report.entries if entry.verdict == "error"],
        smaller=[
            entry
            for entry in report.entries
            if entry.differs and not entry.contradicts and entry.verdict != "error"
        ],
        bounds=_bounds(report.entries),
        ticks=[
            (mathml.prose(f"10^{decade}" if decade else "1"), _percent(decade))
            for decade in range(_AXIS[0], _AXIS[1] + 1, 2)
        ],
        runs=_runs(report),
        level=f"{LEDGER_LEVEL:.0%}",
    )


def origin(entry: Entry) -> str:
    """Return where a result comes from, one of the page's filters."""
    if entry.result is None:
        return "no result"
    budget = entry.result["budget"]
    return f"{budget} run" if entry.stored else f"ledger, {budget}"


def _number(value):
    """Return a number in four digits, a dash for none, and no sign for zero."""
    return show(value if value is None else value + 0.0)


def _formula(latex):
    """Return MathML, or the source where it cannot be converted: a user's claims may be plain."""
    try:
        return mathml.formula(latex)
    except mathml.Unreadable:
        return Markup("<code>{}</code>").format(latex)


def _listed(sentence):
    """Return a sentence, as a list where it tells several readings, ``name: found``, at length."""
    items: list[str] = []
    for piece in re.split(r"; (?![^(]*\))", sentence):
        if items and ": " not in piece:
            items[-1] += f"; {piece}"
        else:
            items.append(piece)
    if len(sentence) < _LONG or len(items) < 3:
        return mathml.prose(sentence if sentence.endswith(".") else f"{sentence}.")
    lines = (Markup("<li>{}</li>").format(mathml.prose(item)) for item in items)
    return Markup("<ul>{}</ul>").format(Markup("").join(lines))


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
    words = {None: "none", True: "yes", False: "no"}
    return escape(words.get(value, value) if value is None or isinstance(value, bool) else value)


def _bounds(entries):
    """Return the bounds whose tightness is known, the loosest first, with places on the axis."""
    found = [
        (entry, entry.result["tightness"])
        for entry in entries
        if (entry.result or {}).get("tightness") is not None
    ]
    return [
        {"entry": entry, "tightness": tightness,
         "place": _percent(math.log10(tightness) if tightness > 0.0 else -math.inf)}
        for entry, tightness in sorted(found, key=lambda pair: pair[1])
    ]  # fmt: skip


def _percent(decade):
    low, high = _AXIS
    return round(100.0 * (min(max(decade, low), high) - low) / (high - low), 1)


def _runs(report):
    """Return lines on where the results come from, for each origin: how many, seeds, when, what."""
    lines = []
    for name in dict.fromkeys(map(origin, report.entries)):
        own = [entry for entry in report.entries if origin(entry) == name]
        results = [entry.result for entry in own if entry.result is not None]
        times = [entry.finished for entry in own if entry.finished]
        lines.append(
            {
                "origin": name,
                "count": len(own),
                "seeds": ", ".join(map(str, sorted({result["seed"] for result in results}))),
                "seconds": sum(result["seconds"] for result in results),
                "first": min(times, default=None),
                "last": max(times, default=None),
                "versions": sorted({entry.versions for entry in own if entry.versions}),
            }
        )
    return lines
