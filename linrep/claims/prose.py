"""What is written of statements beside their code: findings, derivations, what to cite.

Of each paper ``findings.md``, ``proofs.md`` and ``paper.bib``, in its folder; of claims of your own
the latter two beside their file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from markdown_it import MarkdownIt

import linrep
from linrep._lib import validation as check
from linrep._lib.papers import files, paper_of, papers
from linrep.claims import counterexamples
from linrep.claims.evidence import PROVED, Evidence

if TYPE_CHECKING:
    from linrep.claims.measurements import Measurement

FINDINGS, PROOFS, BIB = "findings.md", "proofs.md", "paper.bib"

_MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "backticks"])


class Section(NamedTuple):
    """The ids of the statements, the rest of the heading, the text in Markdown, and its line."""

    ids: tuple[str, ...]
    headline: str
    text: str
    line: int


def sections(path: Path) -> Iterator[Section]:
    """Yield the sections of a page whose heading reads "`id`, `id`: headline"."""
    page = path.read_text(encoding="utf-8")
    tokens = _MARKDOWN.parse(page)
    lines = page.splitlines()
    headings = [
        (heading.map, title)
        for heading, title in pairwise(tokens)
        if heading.type == "heading_open" and heading.map
    ]
    ends = [lines_of[0] for lines_of, _ in headings[1:]]
    for (lines_of, title), end in zip(headings, [*ends, len(lines)], strict=True):
        statements, _, headline = title.content.partition(": ")
        (line,) = _MARKDOWN.parseInline(statements)
        ids = tuple(part.content for part in line.children or () if part.type == "code_inline")
        if ids:
            text = "\n".join(lines[lines_of[1] : end]).strip()
            yield Section(ids, headline, text, lines_of[0] + 1)


def unescaped(text: str) -> str:
    """Return Markdown for readers of plain text: stars and underscores are what they are."""
    return text.replace(r"\*", "*").replace(r"\_", "_")


# Why statements fail.

#: What a failure concerns, from the least to the gravest. The first is none: words are open.
SEVERITIES = ("reading", "slip", "constant", "proof step", "statement", "conclusion")

_SEVERITY = "Severity: "  # begins the line below a heading, which a full stop ends


@dataclass(frozen=True)
class Finding:
    """What is wrong with one or more statements, and why.

    Attributes
    ----------
    ids : tuple of str
        The statements.
    headline : str
        What is wrong, in a line.
    severity : str
        One of `SEVERITIES`; "" where none is given.
    reason : str
        The first paragraph.
    text : str
        All of it, in Markdown.

    Examples
    --------
    >>> from linrep.claims.prose import findings
    >>> findings()["fedrep.theorem2"].severity
    'statement'
    """

    ids: tuple[str, ...]
    headline: str
    severity: str
    reason: str
    text: str

    def with_program(self) -> str:
        """Return the text with a program that shows it: a block of its own, or counterexamples."""
        if "```python" in self.text:
            return self.text
        scripts = [
            f"```python\n{path.read_text('utf-8').rstrip()}\n```\n"
            for path in dict.fromkeys(counterexamples.among(self.ids).values())
        ]
        before, bold, after = self.text.partition("\n\n**")
        return "\n\n".join([before, *scripts]) + (f"\n**{after}" if bold else "")


def findings(paths: tuple[Path, ...] | None = None) -> Mapping[str, Finding]:
    """Return the findings by statement.

    Parameters
    ----------
    paths : tuple of paths, optional
        The pages, by default of all papers. A heading names statements and says what is wrong
        with them.

    Raises
    ------
    ValueError
        If a severity is none of `SEVERITIES`.
    """
    return _findings(tuple(files(FINDINGS)) if paths is None else paths)


@cache
def _findings(pages):
    by_id: dict[str, Finding] = {}
    for page, (ids, headline, text, line_number) in (
        (path, section) for path in pages for section in sections(path)
    ):
        name = ""
        if text.startswith(_SEVERITY):
            line, _, text = text.partition("\n")
            name, text = line.removeprefix(_SEVERITY).removesuffix("."), text.strip()
        if name and name not in SEVERITIES:
            known = f"severity must be one of {', '.join(SEVERITIES)}"
            raise ValueError(f"{page}:{line_number}: {ids[0]}: {known}, got {name!r}")
        reason = " ".join(text.partition("\n\n")[0].split())
        by_id |= dict.fromkeys(ids, Finding(ids, headline, name, reason, text))
    return MappingProxyType(by_id)


def finding(id: str) -> Finding | None:
    """Return why a statement fails, None where nothing is said, from the page of its paper."""
    return findings(tuple(files(FINDINGS, [paper_of(id)]))).get(id)


# Derivations of what checks say is proved.

Item = TypeVar("Item", bound="Measurement")
Found = TypeVar("Found", bound=Evidence)


def proved(item: Item, *, but: Collection[str] = ()) -> Item:
    """Say that a derivation covers what is measured: of a group, each of its parts.

    It is no more than said: the verdict is "derived" where the page of proofs, ``proofs.md`` beside
    the file of the claim, has a section headed with the claim's id.

    Parameters
    ----------
    item : Measurement
    but : collection of str, optional
        Names of parts, such as readings, that the derivation does not cover.

    Returns
    -------
    Measurement
        With strength "proved", which `linrep verify` looks for a ground of.
    """
    from linrep.claims.measurements import Measurement, Readings, Together

    check.instance("item", item, Measurement)
    if isinstance(item, Together | Readings):
        return replace(item, parts=[proved(part, but=but) for part in item.parts])
    return item if item.name in but else replace(item, strength=PROVED)


def proofs() -> Mapping[str, Section]:
    """Return the derivations by statement: the sections of the papers' pages of proofs."""
    return _proofs(tuple(files(PROOFS)))


@cache
def _proofs(paths):
    by_id = {name: item for path in paths for item in sections(path) for name in item.ids}
    return MappingProxyType(by_id)


def derivation(id: str, folder: Path) -> Section | None:
    """Return the section about a statement in a folder's page, None where there is none."""
    path = folder / PROOFS
    if not path.is_file():
        return None
    section = _by_statement(path, path.stat().st_mtime_ns).get(id)
    return section if section and section.text else None


def digest(id: str, folder: Path) -> str:
    """Return the SHA-256 of the section about a statement in a folder's page, "" of none."""
    section = derivation(id, folder)
    return sha256(section.text.encode()).hexdigest() if section else ""


def folder_of(id: str, check: Callable[..., Any]) -> tuple[Path, bool]:
    """Return the folder with the page about a claim, and whether a paper's package makes it.

    An id alone does not tell: a file may make a claim of the same id as a paper.
    """
    paper = papers().get(paper_of(id))
    if paper and check.__module__.startswith(f"{paper.module}."):
        return paper.folder, True
    source = inspect.getsourcefile(inspect.unwrap(check))
    return Path(source).parent if source else Path(), False


def derived(found: Found, id: str, check: Callable[..., Any]) -> Found:
    """Return what a check has just found, as strong as a derivation makes it that is there."""
    return covered(found) if digest(id, folder_of(id, check)[0]) else found


def covered(item: Found) -> Found:
    """Return some evidence, and its parts, as strong as the derivation that it claims makes it."""
    return replace(
        item, strength=item.claimed or item.strength, parts=tuple(map(covered, item.parts))
    )


@lru_cache(maxsize=32)
def _by_statement(path, changed):
    return {name: item for item in sections(path) for name in item.ids}


# What to cite: a paper in BibTeX, with the place of a statement in it.

_SPECIAL = {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "^": r"\^{}"}


def bibtex_of_linrep() -> str:
    """Return the entry of linrep itself."""
    return f"""\
@software{{linrep,
  title   = {{linrep: the theory of federated and multi-task representation learning, checked by \
running it}},
  author  = {{{{The linrep developers}}}},
  version = {{{linrep.__version__}}},
  license = {{BSD-3-Clause}},
}}
"""


def bibtex_of_tools() -> str:
    """Return the entries of the libraries and solvers that linrep computes and draws with."""
    return Path(__file__).with_name("tools.bib").read_text("utf-8")


def bibtex(name: str, folder: Path | None = None) -> str:
    """Return the entry of a paper."""
    path = (folder or papers()[name].folder) / BIB
    if not path.is_file():
        raise ValueError(f"{name} has no {BIB} to cite it by, which would be {path}")
    return path.read_text("utf-8")


def cited_as(id: str, place: str, form: str) -> str:
    """Return what is said of a statement: its place, and what it is called here."""
    name = f"{id} in linrep {linrep.__version__}"
    name = name if form == "printed" else f"{form} form, {name}"
    return f"{place} ({name})" if place else name


def noted(entry: str, note: str) -> str:
    r"""Return an entry of BibTeX with a note, in which no sign means anything to TeX.

    Parameters
    ----------
    entry : str
        It ends with a line that has the closing brace alone.
    note : str

    Examples
    --------
    >>> print(noted("@misc{a,\n  title = {On a},\n}\n", "Lemma 5_1"), end="")
    @misc{a,
      title = {On a},
      note = {Lemma 5\_1},
    }
    """
    text = "".join(_SPECIAL.get(sign, sign) for sign in note)
    start = entry.rstrip().removesuffix("}").rstrip().removesuffix(",")
    return f"{start},\n  note = {{{text}}},\n}}\n"
