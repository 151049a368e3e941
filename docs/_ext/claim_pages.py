"""What the pages say of claims, from the claims, the ledger and the figures' manifests.

``{statements} PAPER`` makes the table of a paper's claims, ``{figures} PAPER`` shows its figures,
``{failures}`` lists what fails, by severity.
"""

import ast
import inspect
import json
import re
import textwrap
from html import escape
from pathlib import Path

from reference import Markdown

import linrep
from linrep.claims import HOLDS, UNDECIDED, claims, corrections, ledger
from linrep.claims.findings import SEVERITIES, findings
from linrep.report.mathml import prose

ROOT = Path(linrep.__file__).parents[1]
# Figures beyond the papers' own, and the claim that each is about.
ABOUT = {
    "fedrep.sample_size": "fedrep.theorem1",
    "fedrep.scaling": "fedrep.theorem1",
    "flute.sample_size": "flute.theorem5.1",
    "perfedsi.phase": "perfedsi.lower_bound",
    "perfedsi.federated": "perfedsi.theorem3.3",
    "pflmf.clusters": "pflmf.example2",
    "pflmf.rounds": "pflmf.theorem1",
    "pflmf.stationarity": "pflmf.theorem1",
}


def theory_of(check):
    """Return the functions of linrep.theory that a check uses, itself or through its helpers."""
    found, seen, left = set(), set(), [check]
    while left:
        function = inspect.unwrap(left.pop())
        if function in seen:
            continue
        seen.add(function)
        for item in _mentioned(function):
            if not inspect.isfunction(item):
                continue
            if item.__module__.startswith("linrep.theory."):
                if not item.__name__.startswith("_"):
                    found.add(f"{item.__module__}.{item.__qualname__}")
            elif item.__module__.startswith("linrep.claims."):
                left.append(item)
    return sorted(found)


def _mentioned(function):
    """Return the objects that a function's source names, dotted names to their end."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        names, inner = [], node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in function.__globals__:
            item = function.__globals__[inner.id]
            for name in reversed(names):
                item = getattr(item, name, None)
            yield item


def figures_of(paper):
    """Return the manifests of a paper's figures by id."""
    paths = sorted((ROOT / "figures").glob(f"{paper}.*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


def figure_of(name, known):
    """Return the id of the figure that a claim is about, or None."""
    for figure in known:
        about = ABOUT.get(figure, figure)
        if name == about or name.startswith(f"{about}."):
            return figure
    return None


def _place(item):
    """Sort places as a reader looks them up: by kind of statement, then by number."""
    parts = re.split(r"(\d+)", item.place.lstrip("(").lower())
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


class Statements(Markdown):
    def lines(self, paper):
        entries, shown = ledger.recorded(), figures_of(paper)
        known = [item for item in claims().values() if item.paper == paper and item.id in entries]
        lines = [
            "| statement | verdict | check | theory |",
            "| --- | --- | --- | --- |",
        ]
        for item in sorted(known, key=_place):
            module, name = item.check.__module__, item.check.__qualname__
            theory = [_reference(name, _short(name)) for name in theory_of(item.check)]
            figure = figure_of(item.id, shown)
            seen = f" ([figure](#{_figure_label(figure)}))" if figure else ""
            cells = [
                f"**{ledger.cell(item.place)}**{', corrected' if item.corrects else ''}. "
                f"{ledger.cell(prose(item.plain))}{seen}",
                f"[{entries[item.id]['verdict']}](#{ledger.anchor(item.id)})"
                + f", {entries[item.id]['strength']}" * bool(entries[item.id]["strength"]),
                _reference(f"{module}.{name}", name),
                ", ".join(theory) or "–",
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return lines


class Failures(Markdown):
    """What fails or is vacuous: a row for each cause, the gravest first."""

    def lines(self):
        entries = ledger.recorded()
        reasons = findings()
        lines = [
            "| claim | verdict | strength | severity | what is wrong | corrected |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        causes = {}
        for name in claims():
            if entries[name]["verdict"] not in (HOLDS, UNDECIDED):
                causes.setdefault(reasons[name], []).append(name)
        for finding, names in sorted(
            causes.items(), key=lambda pair: -SEVERITIES.index(pair[0].severity)
        ):
            by = [
                f"[`{item.id}`](#{ledger.anchor(item.id)})"
                for name in names
                for item in corrections(name)
            ]
            found = [entries[name] for name in names]
            cells = [
                ", ".join(f"[`{name}`](#{ledger.anchor(name)})" for name in names),
                *(
                    ", ".join(dict.fromkeys(entry.get(key) or "–" for entry in found))
                    for key in ("verdict", "strength")
                ),
                finding.severity,
                ledger.cell(finding.headline),
                ", ".join(by) or "–",
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return lines


class Figures(Markdown):
    def lines(self, paper):
        lines = []
        for name, manifest in figures_of(paper).items():
            up = "../" * (1 + self.env.docname.count("/"))
            lines += [
                f"({_figure_label(name)})=",
                "",
                f"### {name}: {manifest['title']}",
                "",
                f"```{{image}} {up}figures/{name}.svg",
                f":alt: {manifest['title']}",
                ":class: figure",
                "```",
                "",
                f"Drawn by `linrep figures {name}`; the numbers are in `figures/{name}.json`.",
                "",
                # Read aloud and on a phone, where the letters in the picture are small.
                f"<details><summary>Caption</summary>{escape(manifest['result']['caption'])}</details>",
                "",
            ]
        return lines


def _reference(name, text):
    return f"{{py:obj}}`{text} <{name}>`"


def _short(name):
    return name.removeprefix("linrep.theory.").partition(".")[2]


def _figure_label(name):
    return "figure-" + name.replace(".", "-").replace("_", "-")


def setup(app):
    for name, directive in {
        "statements": Statements,
        "failures": Failures,
        "figures": Figures,
    }.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
