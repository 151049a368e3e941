"""For authors: what is wrong with a statement, on a page or two that stand alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from linrep._lib.papers import paper_of
from linrep._lib.papers import papers as known_papers
from linrep.claims import counterexamples, ledger
from linrep.claims.findings import SEVERITIES, Finding, findings
from linrep.claims.order import in_order
from linrep.claims.pages import anchor, cell
from linrep.claims.record import Record


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


def pages(papers: Iterable[str] = ()) -> dict[str, str]:
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
