"""Recorded claims as pages of Markdown: counts, and a page a paper."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linrep
from linrep._lib.display import number as show
from linrep._lib.papers import paper_of
from linrep._lib.papers import papers as known_papers
from linrep.claims import counterexamples, ledger
from linrep.claims.contents import counts, heads, in_order, kinds
from linrep.claims.evidence import (
    LEDGER_LEVEL,
    STRENGTHS,
    UNCHECKED,
    Fact,
    instance,
    plain_values,
    shown,
)
from linrep.claims.prose import SEVERITIES, Finding, findings, proofs, unescaped
from linrep.claims.record import Record

#: Of the file for programs that read recorded claims elsewhere; it grows where a key changes its
#: meaning or goes.
SCHEMA = 2


def hosted(items: Iterable[Record], address: Callable[[str], str]) -> str:
    """Return claims with all that is known of them, as JSON for programs elsewhere.

    It has ``schema``, ``version`` of linrep, and ``statements`` by id: the values of a record, and
    the ``address`` where it is shown.
    """
    made = {
        "schema": SCHEMA,
        "version": linrep.__version__,
        "statements": {item.id: {"address": address(item.id), **item.as_json()} for item in items},
    }
    return json.dumps(made, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def pages(entries: Mapping[str, Record]) -> dict[str, str]:
    """Return recorded claims as pages by file name: counts, and a page per paper."""
    own: dict[str, dict[str, Record]] = {}
    for item in in_order(entries.values()):
        own.setdefault(item.paper, {})[item.id] = item
    overview = [
        "# Ledger",
        "",
        "Each statement of the papers that can be tested, with its verdict, as recorded by `linrep "
        "verify --record`: it **holds**, it is a **misprint** (it fails where it is stated, and "
        "holds in a form that the paper prints elsewhere), it **depends on the reading** (of a "
        "sentence on a figure or a table: in some readings of its words it holds, in others it "
        "fails), it **fails**, it is **vacuous** (its "
        "hypotheses or its bound say nothing at any size that can exist), or it is **undecided**. "
        "The probability "
        "that any verdict in the ledger is wrong by chance is at most "
        f"{LEDGER_LEVEL:.0%}; the section *Error levels* of linrep's documentation says what that "
        "rests on. Tightness is "
        "the ratio of the left to the right side of a bound, where both are positive. A number "
        "behind ≥ or ≤ is a lower or an upper bound of the quantity measured. Statements on tables "
        "of networks are counted apart, and so are those that no paper prints: corrected forms of "
        "what does not hold, and this project's own statements. "
        "[Findings](findings.md) explains why claims fail, [Proofs](proofs.md) has the "
        "derivations. *Checked by* says whether there is one, and which solvers prove so many "
        "inequalities of the proof.",
        "",
        "Each entry has an address that stays, `ledger/PAPER.html#ID`; "
        '<a href="ledger.json">ledger.json</a> has them all for programs.',
    ]
    rows = {f"[{paper}](ledger/{paper}.md)": items for paper, items in own.items()}
    rows["all"] = {name: item for items in own.values() for name, item in items.items()}
    for columns, cells in (
        (heads(badge), lambda items: counts(items.values()).cells()),
        (STRENGTHS, _strengths),
    ):
        overview += ["", f"| paper | {' | '.join(columns)} |", "| --- |" + " --: |" * len(columns)]
        overview += [f"| {' | '.join([name, *cells(items)])} |" for name, items in rows.items()]
    overview += ["", "```{toctree}", ":hidden:", "", *(f"ledger/{paper}" for paper in own), "```"]
    made = {"ledger.md": overview}
    for paper, items in own.items():
        made[f"ledger/{paper}.md"] = _page(paper, items)
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def _strengths(items):
    """Return how many statements that the papers print on linear settings have which strength."""
    kind = kinds(items.values())
    found = Counter(item.strength for name, item in items.items() if kind[name] == "printed")
    return [str(found[name]) for name in STRENGTHS]


def _page(paper, own):
    lines = [
        f"# Ledger: {paper}",
        "",
        "[The overview](../ledger.md) explains the columns.",
        "",
        "| claim | place | kind | verdict | strength | checked by | measured | claimed | tightness "
        "| trials |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, entry in own.items():
        numbers = " | ".join(shown(entry, key) for key in ("measured", "predicted", "tightness"))
        kinds = ", ".join(entry.kinds)
        lines.append(
            f"| [`{name}`](#{anchor(name)}) | {cell(entry.place)} | {kinds} "
            f"| {badge(entry.verdict)} | {entry.strength} | {_checked_by(entry)} | {numbers} "
            f"| {entry.n_trials} |"
        )
    for name, item in own.items():
        lines += ["", f'<div id="{name}"></div>']  # the address that stays, ledger/PAPER.html#ID
        lines += ["", f"({anchor(name)})=", "", f"## `{name}`", "", *account(item)]
        if item.maps:  # whose picture and rows lie beside the page
            lines += ["", f"![All readings of {name}]({name}.png)", ""]
            lines += [f"{{download}}`A row for each reading <{name}.csv>`"]
    return lines


def _checked_by(entry):
    """Return what a verdict can be checked by: a derivation, solvers, what computes exactly."""
    solvers = [f"{solver} ({len(lines)})" for solver, lines in entry.proved_by.items()]
    tools = [f"{tool} ({count})" for tool, count in entry.exact.items()]
    return ", ".join(["derivation"] * (entry.id in proofs()) + solvers + tools)


def account(item: Record) -> list[str]:
    """Return a statement and what is known of it, as lines of Markdown."""
    lines = [
        cell(item.plain),
        "",
        *([f"$${item.latex}$$", ""] if item.latex else ()),
        *([f"Under {cell('; '.join(item.hypotheses))}.", ""] if item.hypotheses else ()),
    ]
    if item.verdict == UNCHECKED:
        return lines
    lines.append(_outcome(item))
    if reason := item.finding:
        link = f"#{anchor(reason.ids[0], 'finding')}"
        lines += ["", f"Why: [{cell(unescaped(reason.headline))}]({link})."]
    if len(item.parts) > 1:
        lines += ["", "| part | verdict | strength | measured | claimed | found |"]
        lines += ["| - | - | - | - | - | - |"]
        lines += [
            f"| {cell(part.name)} | {badge(part.verdict)} | {part.strength} | "
            f"{shown(part, 'measured')} | "
            f"{shown(part, 'predicted')} | {cell(part.sentence)} |"
            for part in item.parts
        ]
    if several := item.read_as():
        lines += ["", *(f"- {cell(line)}" for line in several)]
    for of_part in item.by_value().values():
        lines += ["", cell(of_part[0]), "", *(f"- {cell(line)}" for line in of_part[1:])]
    if noticed := "" if item.file else item.noticed:
        lines += ["", f"Sensitivity: {cell(noticed)}."]
    if most := item.largest_failure():
        lines += ["", f"Largest failure: {cell(most)}."]
    if item.facts:
        lines += ["", *(f"- {cell(fact(each))}" for each in item.facts)]
    if item.counterexample:
        lines += [
            "",
            f"Counterexample: `{_json(instance(item))}`",
        ]
    if item.worst:
        kind = "Worst" if item.counterexample else "Tightest"
        lines += [
            "",
            f"{kind} instance: `{_json(item.worst)}`",
        ]
    return lines


def _json(instance):
    return json.dumps(plain_values(instance), ensure_ascii=False)


def _outcome(result):
    """Return the verdict of a result with its sentence and what it rests on, as a line."""
    ends = [("from", result.low), ("to", result.high)]
    known = [f"{word} {show(end)}" for word, end in ends if math.isfinite(end)]
    interval = f", interval {' '.join(known)}" if known else ""
    twins = [item.id for item in result.corrected if item.form == "corrected"]
    by = f" Corrected: `{twins[0]}`." if twins else ""
    needed = f" It would take {result.needed}." if result.needed else ""
    strength = f"{result.strength}, " if result.strength else ""
    return (
        f"{badge(result.verdict)} {cell(result.sentence)}.{needed}{by} "
        f"({strength}{result.budget}, seed {result.seed}, {result.n_trials} trials, "
        f"error level {result.level:.1g}{interval}, {result.seconds:.0f} s)"
    )


def fact(item: Fact) -> str:
    """Return a number that decides nothing, with what it is, as a line."""
    return f"{title(item)}: {shown(item, 'value')} {item.unit}".rstrip()


def cell(text: str) -> str:
    """Return text for a table, in which | and * mean something."""
    return text.replace("|", "\\|").replace("*", "\\*")


def badge(verdict: str, link: str = "") -> str:
    """Return a verdict for a page, in its colour, and perhaps as a link to a label."""
    text = f"[{verdict}](#{link})" if link else verdict
    return f"[{text}]{{.badge .{verdict.split()[0]}}}"


def anchor(name: str, of: str = "claim") -> str:
    """Return the label of a claim's section in the ledger, or of the finding it comes first in."""
    return f"{of}-" + name.replace(".", "-").replace("_", "-").lower()


# Numbers that were taken at several settings, put into tables.


@dataclass(frozen=True)
class Grid:
    """A table: its heads, and rows whose first `keys` cells are the setting.

    `unit` is that of all numbers in it that have one, "" where they have several or none.
    """

    title: str
    heads: tuple[str, ...]
    keys: int
    rows: tuple[tuple[Any, ...], ...]
    unit: str = ""


def title(fact: Fact) -> str:
    """Return what a fact of a ledger is of, with its setting: "error, p = 0.1, K = 5"."""
    at = fact.setting.items()
    return ", ".join([fact.name, *(f"{name} = {_text(value)}" for name, value in at)])


def grids(facts: Iterable[Fact]) -> tuple[list[Grid], list[Fact]]:
    """Return tables of the facts that were taken at several settings, and the other facts.

    One quantity on two parameters has a row for each value of the first and a column for each
    value of the second; otherwise a row is a setting and a column a quantity.
    """
    groups: dict[tuple[str, ...], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(tuple(fact.setting), []).append(fact)
    tables, others = [], []
    for keys, group in groups.items():
        if keys and len({_values(fact) for fact in group}) > 1:
            tables.append(_grid(keys, group))
        else:
            others += group
    return tables, others


def _grid(keys, group):
    cells = {(_values(fact), fact.name): fact for fact in group}
    settings = list(dict.fromkeys(where for where, _ in cells))
    names = list(dict.fromkeys(name for _, name in cells))
    units = {fact.unit for fact in group} - {""}
    unit = units.pop() if len(units) == 1 else ""
    if len(keys) == 2 and len(names) == 1:
        rows, columns = (list(dict.fromkeys(values)) for values in zip(*settings, strict=True))
        heads = (keys[0], *(f"{keys[1]} = {column}" for column in columns))
        lines = (
            (row, *(cells.get(((row, column), names[0])) for column in columns)) for row in rows
        )
        return Grid(names[0], heads, 1, tuple(lines), unit)
    caption = names[0] if len(names) == 1 else ""
    heads = (*keys, *(names if len(names) > 1 else ["value"]))
    lines = ((*where, *(cells.get((where, name)) for name in names)) for where in settings)
    return Grid(caption, heads, len(keys), tuple(lines), unit)


def _values(fact):
    return tuple(map(_text, fact.setting.values()))


def _text(value):
    """Return a value of a setting as it is written: sizes in full, other numbers to six digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)


# For authors: what is wrong with a statement, on a page or two that stand alone.


def notes(papers: Iterable[str] = ()) -> dict[str, Finding]:
    """Return the findings that change a conclusion, by the id of their first statement."""
    asked = set(papers)
    return {
        name: finding
        for name, finding in findings().items()
        if finding.severity == SEVERITIES[-1] and name == finding.ids[0]
        if not asked or paper_of(name) in asked
    }


def note(finding: Finding) -> str:
    """Return the page on a finding, in Markdown.

    What the paper states, under which hypotheses, as printed and as checked; a counterexample; what
    is unaffected and what holds instead; what an author could answer; how to check it.
    """
    known = ledger.known([paper_of(finding.ids[0])])
    own = in_order(known[name] for name in finding.ids)
    headline = finding.headline[:1].upper() + finding.headline[1:]
    lines = [f"# {headline}", ""]
    for item in own:
        lines += _statement(item)
    lines += [*_hypotheses(own), finding.text, ""]
    lines += _examples(own)
    for item in (other for name in finding.ids for other in known[name].corrected):
        lines += [f"**Corrected statement** (`{item.id}`, {_verdict(item)}).", ""]
        lines += [f"$${item.latex}$$", ""] if item.latex else [item.plain, ""]
    check_it = f"`pip install linrep[all]`, then `linrep verify {' '.join(finding.ids)}`"
    return "\n".join([*lines, f"Check it: {check_it}.", ""])


def _statement(item: Record) -> Iterator[str]:
    """Yield what the paper states, and the verdict."""
    yield f"**{item.place}** (`{item.id}`, {_verdict(item)}). {item.plain}"
    yield ""
    if item.latex:
        yield f"$${item.latex}$$"
        yield ""


def _hypotheses(own) -> Iterator[str]:
    """Yield the hypotheses, each once."""
    known = dict.fromkeys(each for item in own for each in item.hypotheses)
    if known:
        yield f"**Under** {'; '.join(known)}."
        yield ""


def _examples(own: list[Record]) -> Iterator[str]:
    """Yield which counterexamples are files, and by whom they were checked."""
    for name, path in counterexamples.among(item.id for item in own).items():
        left, right = counterexamples.evaluate(path)
        file = path.relative_to(known_papers()[paper_of(name)].folder.parents[1]).as_posix()
        yield (
            f"In fractions (`{file}`): left side of `{name}` {float(left):.6g}, "
            f"right side {float(right):.6g}."
        )
        yield ""
    for item in own:
        if item.checked_by:
            yield f"`{item.id}` is checked by {item.checked_by}."
            yield ""


def _verdict(item: Record) -> str:
    return ", ".join(filter(None, [item.verdict, item.strength]))


def note_pages(papers: Iterable[str] = ()) -> dict[str, str]:
    """Return the notes as pages of the documentation, by file name, and a page that lists them."""
    found = notes(papers)
    listed = [
        "# For authors",
        "",
        "Of each failure that changes a conclusion a page or two that stand alone, to print or to "
        "send: what the paper states and under which hypotheses, a counterexample, what is "
        "unaffected, what holds instead, and what an author could answer. `linrep show ID --note` "
        "prints one.",
        "",
        "| statement | what is wrong |",
        "| - | - |",
    ]
    made = {}
    for name, finding in found.items():
        slug = anchor(name, "author")
        paper = paper_of(name)
        text = note(finding).replace("](proofs.md)", f"](../proofs/{paper}.md)")
        made[f"authors/{slug}.md"] = text.replace("](../../../docs/", "](../")
        listed.append(f"| [`{name}`](authors/{slug}.md) | {cell(finding.headline)} |")
    toctree = [f"authors/{Path(name).stem}" for name in made]
    listed += ["", "```{toctree}", ":hidden:", "", *toctree, "```", ""]
    return {"authors.md": "\n".join(listed), **made} if made else {}
