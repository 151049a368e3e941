"""A Sphinx extension with pages on the claims of papers, made from what is recorded.

``linrep_papers``, in the configuration, names the papers, by default those of linrep: it writes
their ledger as pages. ``{side-by-side} PAPER`` is a paper in its order, ``{findings} PAPER`` says
why statements fail, ``{failures}`` lists what fails by severity, ``{derivations} PAPER`` has the
proofs, and ``{constants} CLAIM`` tables the numbers of a claim. Pages are in MyST Markdown with its
extensions attrs_inline and dollarmath.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from linrep._lib.papers import own, paper_of, papers
from linrep._lib.records import Damaged
from linrep.claims import contents, ledger, prose
from linrep.claims.contents import heads, in_order
from linrep.claims.evidence import UNCHECKED, shown
from linrep.claims.pages import anchor, badge, cell, grids, note_pages, pages, title
from linrep.claims.prose import FINDINGS, SEVERITIES, findings, sections, unescaped

#: Colours and badges, those of the report.
STYLE = Path(__file__).with_name("templates") / "components.css"


class Markdown(SphinxDirective):
    """A directive that stands for the lines of Markdown that `lines` returns."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the lines, in their order."""
        node, page = nodes.Element(), self.state_machine.node
        before = len(page)
        try:
            lines = list(self.lines(*self.arguments))
        except Damaged as error:
            raise self.error(str(error)) from None
        # As the papers write it; what Python and terminals show has a caret.
        lines = [line.replace("pFL^MF", "pFL<sup>MF</sup>") for line in lines]
        text = StringList(lines, "generated")
        self.state.nested_parse(text, self.content_offset, node, match_titles=True)
        # MyST adds sections to the page itself, before what is returned.
        made, page.children = page.children[before:], page.children[:before]
        return [*node.children, *made]

    def lines(self, *arguments: Any) -> Any:
        """Return the lines."""
        raise NotImplementedError


#: What each severity means to a reader.
_MEANINGS = {
    "conclusion": "A rate, a sample size or a comparison that readers take away is wrong.",
    "statement": "The statement is false as printed.",
    "proof step": "A step of the proof does not follow; the statement itself stands.",
    "constant": "A constant or a condition is too small or too large.",
    "slip": "Obvious, and nothing rests on it.",
    "reading": "The words leave open what is compared: in some readings the sentence holds, in "
    "others it fails.",
}


class SideBySide(Markdown):
    """A paper in its order: a row for each item, with badges or why there is no claim."""

    def lines(self, paper):
        """Return the lines on a paper."""
        if paper not in contents.known():
            return [f"The contents of {contents.written(paper)} are not listed yet."]
        items = contents.known()[paper]
        found = contents.of_paper(paper)
        return [
            f"{len(items)} displayed equations and sentences, "
            f"{sum(not item.claims for item in items)} of them without a claim. Statements on the "
            "paper's linear settings by verdict; those on tables and figures of networks, and what "
            "the paper does not print, apart:",
            "",
            *table("counts", heads(badge), [found.cells()], "--:"),
            *table(
                "statements",
                ["place", "what it says", "verdict"],
                [_side(item) for item in items],
            ),
        ]


def _side(item):
    """Return the cells of an item: its place, what it says, badges with strengths."""
    found = [_judged(claim) for claim in item.printed()]
    if not found:
        found = [f"[no claim]{{.strength}} {contents.in_table(item.reason, table_cell)}"]
    says = contents.in_table(item.says, table_cell) + " (networks)" * item.networks
    return [f"**{table_cell(item.place)}**", says, "<br>".join(found)]


def _judged(claim):
    """Return the badges of a statement and of its corrected forms, linked to the ledger."""
    texts = []
    for item in (claim, *claim.corrected):
        if item.verdict == UNCHECKED:
            texts.append(f"unchecked `{item.id}`")
            continue
        strength = f" [{item.strength}]{{.strength}}" * bool(item.strength)
        text = badge(item.verdict, anchor(item.id)) + strength
        if item.id in findings():
            text += f" ({finding_link('why', findings()[item.id])})"
        texts.append(text if item.form == "printed" else f"{item.form}: {text}")
    return ", ".join(texts)


class Failures(Markdown):
    """What fails or is vacuous: a row for each cause, the gravest first."""

    def lines(self, *names):
        """Return the lines on papers, by default on linrep's own."""
        lines, asked, recorded = [], names or own(), ledger.recorded()
        for severity in reversed(SEVERITIES):
            found = dict.fromkeys(
                item
                for id, item in findings().items()
                if item.severity == severity and paper_of(id) in asked
            )
            columns = ["verdict", "paper", "place", "what is wrong", "corrected form"]
            rows = [
                [
                    _verdict(finding, recorded),
                    contents.written(paper_of(finding.ids[0])),
                    _place(finding),
                    finding_link(table_cell(_capital(unescaped(finding.headline))), finding),
                    " ".join(_corrections(finding)) or "–",
                ]
                for finding in found
            ]
            lines += [f"## {severity.capitalize()}", "", _MEANINGS[severity], ""]
            lines += table("statements failures", columns, rows)
        return lines


class Findings(Markdown):
    """Why a paper's statements fail, the gravest first; behind them what has no severity."""

    def lines(self, paper):
        """Return the lines on a paper."""
        page = papers()[paper].folder / FINDINGS
        found = dict.fromkeys(
            item for item in findings().values() if paper_of(item.ids[0]) == paper
        )
        lines, recorded = [], ledger.recorded()
        for finding in sorted(found, key=lambda item: -SEVERITIES.index(item.severity)):
            about = [
                f"{badge(recorded[item.id].verdict, anchor(item.id))} "
                f"{cell(item.place)} (`{item.id}`)"
                for item in in_order(_known(finding))
            ]
            kind = finding.severity.replace(" ", "-")
            lines += [
                f"({anchor(finding.ids[0], 'finding')})=",
                "",
                f"## {_capital(finding.headline)}",
                "",
                f"[{finding.severity}]{{.severity .{kind}}} {_MEANINGS[finding.severity]}",
                "",
                *(f"- {line}" for line in about),
                "",
                *_folded(_rebased(finding.with_program(), paper)),
                "",
            ]
        return [*lines, *_rebased("\n".join(_others(page)), paper).splitlines()]


class Derivations(Markdown):
    """The derivations on a paper's page of proofs, what they share first."""

    def lines(self, paper):
        """Return the lines on a paper."""
        page = papers()[paper].folder / prose.PROOFS
        if not page.is_file():
            return ["No verdict rests on a derivation."]
        text = page.read_text("utf-8").partition("\n### ")[0].partition("\n")[2]
        lines, recorded = text.splitlines(), ledger.recorded()
        known = ledger.known([paper])
        for ids, headline, text, _ in sections(page):
            linked = [
                f"[`{name}`](#{anchor(name)})" if name in recorded else f"`{name}`"
                for name in ids
                if name in known
            ]
            lines += [
                f"## {_capital(headline)}",
                "",
                "Statements: " + ", ".join(linked) + ".",
                "",
                *_checked(known[name] for name in ids if name in known),
                *_rebased(text, paper).splitlines(),
                "",
            ]
        return lines


def _checked(items):
    """Return which solvers prove lines of a derivation, as a paragraph."""
    lines = [f"Checked by {item.checked_by}, of `{item.id}`." for item in items if item.checked_by]
    return [" ".join(lines), ""] if lines else []


def table_cell(text):
    """Return text as it is for a table of Markdown."""
    return cell(text).replace("_", "\\_")


def table_row(cells):
    """Return the row of a table of Markdown."""
    return f"| {' | '.join(cells)} |"


def table(kind, heads, rows, below="---"):
    """Return the lines of a table of Markdown in a container of a kind."""
    lines = [heads, [below] * len(heads), *rows]
    return [f"````{{container}} {kind}", "", *map(table_row, lines), "````", ""]


def _known(finding):
    """Return a finding's statements."""
    known = ledger.known([paper_of(finding.ids[0])])
    return [known[name] for name in finding.ids]


def finding_link(text, finding):
    """Return text as a link to a finding."""
    return f"[{text}](#{anchor(finding.ids[0], 'finding')})"


def _place(finding):
    """Return where the first of a finding's statements stands, and how many more there are."""
    first, *others = dict.fromkeys(item.place for item in in_order(_known(finding)))
    return table_cell(first) + f" and {len(others)} more" * bool(others)


def _verdict(finding, recorded):
    """Return the badges of a finding's verdicts, linked to the first, and their strengths."""
    entries = [recorded[name] for name in finding.ids]
    strengths = dict.fromkeys(entry.strength for entry in entries if entry.strength)
    badges = dict.fromkeys(badge(entry.verdict, anchor(finding.ids[0])) for entry in entries)
    return " ".join([*badges, *(f"[{name}]{{.strength}}" for name in strengths)])


def _corrections(finding):
    """Return the badges of the corrected statements, each verdict linked to its first."""
    found: dict[str, str] = {}
    for item in (item for known in _known(finding) for item in known.corrected):
        found.setdefault(item.verdict, item.id)
    return [badge(verdict, anchor(name)) for verdict, name in found.items()]


def _folded(text):
    """Yield lines of Markdown with blocks of Python behind a summary."""
    for piece in re.split(r"(?ms)^(```python\n.*?^```$)", text):
        if piece.startswith("```python"):
            yield from ("<details><summary>Counterexample in Python</summary>", "")
            yield from (*piece.splitlines(), "", "</details>", "")
        else:
            yield from piece.splitlines()


def _others(page):
    """Yield the lines of sections that name no statement: readings, what cannot be decided."""
    text = page.read_text("utf-8")
    for section in re.split(r"(?m)^(?=### )", text)[1:]:
        if not section.startswith("### `"):
            yield from section.removeprefix("#").splitlines()


def _rebased(text, paper):
    """Return text with the links that lead on from where it is kept, seen from its page."""
    if paper in own():  # of which each has a page in docs/findings and in docs/proofs
        text = text.replace("](proofs.md)", f"](../proofs/{paper}.md)")
        text = text.replace("](../../../docs/", "](../")
    return re.sub(r"\n(?=\*\*Corrected\*\*)", "\n\n", text)


def _capital(headline):
    """Return a headline as a title, unless it begins with a symbol or a name."""
    word = headline.split()[0]
    return headline[0].upper() + headline[1:] if word.isalpha() and word.isascii() else headline


class Constants(Markdown):
    """The numbers of a claim that are recorded at several settings, as a table."""

    def lines(self, name):
        """Return the lines on a claim."""
        entry = ledger.recorded()[name]
        tables, others = grids(entry.facts)
        lines = []
        for item in others:
            lines += [table_cell(f"{_capital(title(item))}: {shown(item, 'value')}."), ""]
        for grid in tables:
            unit = f", in units of {table_cell(grid.unit)}" * bool(grid.unit)
            rows = (
                [cell if isinstance(cell, str) else shown(cell, "value") for cell in row]
                for row in grid.rows
            )
            lines += table("constants", [*map(table_cell, grid.heads)], rows, "--:")
            recorded = f"Recorded with the budget {entry.budget}{unit}"
            lines += [f"{recorded}: [`{name}`](#{anchor(name)}).", ""]
        return lines


def write_pages(folder: Path, names: Iterable[str]) -> None:
    """Write the ledger of papers, and the notes for authors on them, as pages into a folder.

    What has not changed is left alone, so that it is not read again.
    """
    found = ledger.recorded()
    made = pages({id: item for id, item in found.items() if item.paper in set(names)})
    for name, text in {**made, **note_pages(names)}.items():
        page = folder / name
        page.parent.mkdir(exist_ok=True)
        if not page.is_file() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")
    for item in found.values():
        if item.paper in set(names) and item.maps:
            _write_map(item, folder / "ledger" / item.id)


def _write_map(item, path):
    """Write all readings of a statement as rows, and draw them."""
    import matplotlib.pyplot as plt
    import pandas as pd

    from linrep.figures import plotting

    tables = [each.rows().assign(part=name) for name, each in item.maps.items()]
    rows = pd.concat(tables).to_csv(index=False)
    table, picture = (path.with_name(f"{path.name}.{kind}") for kind in ("csv", "png"))
    if picture.is_file() and table.is_file() and table.read_text("utf-8") == rows:
        return
    table.write_text(rows, "utf-8")
    points = pd.concat(each.points(name) for name, each in item.maps.items())
    with plotting.style():
        figure = plotting.evidence(points)
        figure.savefig(picture, dpi=150)
        plt.close(figure)


def _write(app: Any, config: Any) -> None:
    names = config.linrep_papers or own()
    try:
        for name in names:
            ledger.check(papers()[name].ledger)
        write_pages(Path(app.srcdir), names)
    except Damaged as error:
        raise ExtensionError(str(error)) from None


def setup(app: Any) -> dict[str, bool]:
    """Add the directives, the badges' style, and the pages of the ledger."""
    for name, directive in {
        "constants": Constants,
        "derivations": Derivations,
        "failures": Failures,
        "findings": Findings,
        "side-by-side": SideBySide,
    }.items():
        app.add_directive(name, directive)
    app.add_config_value("linrep_papers", [], "env", list)
    app.config.html_static_path.append(str(STYLE))
    app.add_css_file(STYLE.name)
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
