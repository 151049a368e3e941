"""A paper side by side: in its order what it states, each line with a verdict or why there is none.

Of each paper ``contents.toml``, in its folder, has an ``[[item]]`` for every displayed equation
and every sentence of mathematical content; above them its ``name``, its ``citation`` and the
``order`` of its places.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TypeVar

from linrep._lib.display import badge, literal
from linrep._lib.papers import papers
from linrep._lib.suggest import unknown
from linrep.claims import formulas, ledger
from linrep.claims.claim import Claim, registered
from linrep.claims.evidence import FAILS, HOLDS, UNCHECKED, VERDICTS, tally
from linrep.claims.prose import FINDINGS, PROOFS, findings, sections
from linrep.claims.record import Record

__all__ = ["Contents", "Item", "contents"]

#: In the folder of a paper.
FILE = "contents.toml"
NO_CLAIM = "no claim"

_WIDTH = 100  # characters of a line
#: Keys of a paper, and those of its items with their types.
TEXTS = ("name", "citation", "order")
KEYS = {"place": str, "says": str, "claims": list, "reason": str, "networks": bool}


@dataclass(frozen=True)
class Item:
    """A displayed equation, or a sentence of mathematical content.

    Attributes
    ----------
    place : str
        Where it stands, such as "Section 4, (11)".
    says : str
        What it says, in a line; formulas between dollar signs.
    claims : tuple of str
        Ids of the statements that test it.
    reason : str
        Why there is none.
    networks : bool
        Whether it is about tables or figures of trained networks.

    Examples
    --------
    >>> from linrep.claims.contents import Item
    >>> print(Item("Section 3, (2)", "$a = b$", claims=("mine.equation2",)))
    Section 3, (2): a = b
    """

    place: str
    says: str
    claims: tuple[str, ...] = ()
    reason: str = ""
    networks: bool = False

    def __str__(self):
        return f"{self.place}: {plain(self.says)}"

    def known(self) -> list[Claim]:
        """Return its statements, each once: those that the paper prints.

        Raises
        ------
        ValueError
            If there is none of an id.
        """
        return [registered(item.id) for item in self.printed()]

    def printed(self) -> list[Record]:
        """Return the texts of its statements, each once.

        Raises
        ------
        ValueError
            If there is none of an id.
        """
        if not self.claims:
            return []
        own = ledger.known({name.partition(".")[0] for name in self.claims})
        for name in self.claims:
            if name not in own:
                hint = unknown(
                    "no statement", name, own, otherwise="linrep verify --list lists them"
                )
                raise ValueError(f"{self.place}: {hint}")
        printed = [own[own[name].corrects or name] for name in self.claims]
        return list({item.id: item for item in printed}.values())


@dataclass(frozen=True, repr=False)
class Contents:
    """What a paper states, in its order; a notebook shows it.

    Attributes
    ----------
    paper : str
        Such as "fedrep".
    items : tuple of Item
    name, citation : str
        How the paper is called; its authors, title and place.
    order : str
        Its places in turn, between bars, where statements are not in the order of items.

    Examples
    --------
    >>> import linrep as lr
    >>> contents = lr.contents("fedrep")
    >>> contents.paper, any("fedrep.theorem1" in item.claims for item in contents)
    ('fedrep', True)
    """

    paper: str
    items: tuple[Item, ...]
    name: str = ""
    citation: str = ""
    order: str = field(default="", repr=False)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def title(self) -> str:
        """How many items there are, how many have no claim, and the verdicts of the others."""
        without = sum(not item.claims for item in self.items)
        found = of_paper(self.paper)
        texts = [f"{len(self)} equations and sentences, {without} without a claim"]
        for kind, noun in KINDS.items():
            if own := found.kinds[kind]:
                texts.append("".join(text for _, text in tally(_sorted(own), noun)))
        return f"{self.name or self.paper}: {'; '.join(texts)}"

    def __str__(self):
        lines = [fill(self.title, _WIDTH)]
        for item in self.items:
            lines += ["", fill(str(item), _WIDTH, subsequent_indent="  ")]
            lines += [
                fill(f"  {verdict:10} {rest}".rstrip(), _WIDTH, subsequent_indent=" " * 13)
                for verdict, rest in outcomes(item)
            ]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_markdown_(self):
        lines = [literal(self.title), "", "| place | what it says | |", "| - | - | - |"]
        for item in self.items:
            found = "<br>".join(
                f"{badge(verdict) if verdict in VERDICTS else verdict} {literal(rest)}"
                for verdict, rest in outcomes(item)
            )
            says = in_table(item.says, lambda text: text.replace("|", r"\|"))
            lines.append(f"| {literal(item.place)} | {says} | {found} |")
        return "\n".join(lines)


def outcomes(item: Item) -> list[tuple[str, str]]:
    """Return what is known of an item: a verdict and the rest of the line, for each statement."""
    if not item.claims:
        return [(NO_CLAIM, item.reason)]
    lines = []
    for printed in item.printed():
        for each in (printed, *printed.corrected):
            about = f"{each.form}: {each.plain}" if each.form != "printed" else ""
            lines.append((each.verdict, " · ".join(filter(None, [each.strength, each.id, about]))))
    return lines


def in_table(text: str, cell: Callable[[str], str]) -> str:
    r"""Return text for a table of Markdown, whose columns are parted by bars.

    Parameters
    ----------
    text : str
        Formulas between dollar signs, in which bars get their names.
    cell : callable
        What becomes of the text outside them.

    Examples
    --------
    >>> print(in_table(r"$\|a\| = |a|$", str))
    $\Vert a\Vert  = \vert a\vert $
    """
    parts = re.split(r"(\$[^$]+\$)", text)
    for at, part in enumerate(parts):
        formula = part.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
        parts[at] = formula if part.startswith("$") else cell(part)
    return "".join(parts)


def plain(text: str) -> str:
    """Return text with its formulas in plain letters."""
    return re.sub(r"\$([^$]+)\$", lambda found: formulas.text(found[1]), text)


def read(path: Path) -> Contents:
    """Return the contents of a paper from their file."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} of {path.parent.name} is no TOML: {error}") from None
    items = found.pop("item", None)
    texts = {key: found.pop(key, "") for key in TEXTS}
    if found or not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise ValueError(
            f"{path.name} of {path.parent.name} must hold {', '.join(TEXTS)} and "
            "[[item]] tables only"
        )
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"{path.name} of {path.parent.name}: {', '.join(texts)} must be texts")
    return Contents(
        path.parent.name,
        tuple(_item(each, f"{path.parent.name}, item {n}") for n, each in enumerate(items, 1)),
        **texts,
    )


def _item(values, where):
    """Return an item from a table of the file."""
    where = f"{where} ({values.get('place', 'no place')})"
    for key, value in values.items():
        if key not in KEYS:
            raise ValueError(f"{where}: {unknown('no key', key, KEYS)}")
        if not isinstance(value, KEYS[key]):
            raise ValueError(f"{where}: {key} must be a {KEYS[key].__name__}, got {value!r}")
    for key in ("place", "says"):
        if not values.get(key, "").strip():
            raise ValueError(f"{where}: {key} is missing")
    if values["says"].count("$") % 2:
        raise ValueError(f"{where}: a formula of says is not closed by $")
    ids = values.get("claims", [])
    if not all(isinstance(name, str) for name in ids) or len(set(ids)) < len(ids):
        raise ValueError(f"{where}: claims must be ids, each once, got {ids!r}")
    if bool(ids) == bool(values.get("reason", "").strip()):
        raise ValueError(f"{where}: either claims or the reason why there are none must be given")
    return Item(
        values["place"], values["says"], tuple(ids), values.get("reason", ""),
        values.get("networks", False),
    )  # fmt: skip


def known() -> dict[str, Contents]:
    """Return the contents of the papers that have theirs listed, by paper."""
    return _listed(tuple((name, item.folder / FILE) for name, item in papers().items()))


@cache
def _listed(listed):
    return {name: replace(read(path), paper=name) for name, path in listed if path.is_file()}


def written(paper: str) -> str:
    """Return how a paper is called, its name in ids where nothing else is listed."""
    return (known()[paper].name if paper in known() else "") or paper


def contents(paper: str) -> Contents:
    """Return what a paper states, in its order, with the verdicts.

    Parameters
    ----------
    paper : str
        Such as "fedrep".

    Returns
    -------
    Contents
        Printed, or shown by a notebook, it is the paper side by side with the ledger.

    Raises
    ------
    ValueError
        If the contents of no such paper are listed.
    """
    if paper not in known():
        raise ValueError(unknown("no paper whose contents are listed", paper, known()))
    return known()[paper]


def of_paper(paper: str) -> Counts:
    """Return how many of a paper's statements have which recorded verdict."""
    return counts(item for item in ledger.known([paper]).values() if item.verdict != UNCHECKED)


def _sorted(found):
    return {name: found[name] for name in (*VERDICTS, "unchecked") if found[name]}


def table(names: dict[str, str]) -> list[str]:
    """Return the counts of papers as a table of Markdown."""
    head = ["paper", *heads()]
    lines = [head, ["---", *["--:"] * (len(head) - 1)]]
    lines += [[name, *of_paper(paper).cells()] for paper, name in names.items()]
    return [f"| {' | '.join(line)} |" for line in lines]


# The order in which the papers state what claims are about: the ``order`` of their contents, or
# that of the items there. In an ``order`` equations of proofs follow the lemma, and a lemma follows
# the equations that its paper proves first.

Stated = TypeVar("Stated", bound=Claim | Record)


def in_order(claims: Iterable[Stated]) -> list[Stated]:
    """Return claims as the papers state them, each corrected one behind what it corrects."""
    items = list(claims)
    known = {item.id: item for item in items}
    papers = list(dict.fromkeys(item.paper for item in items))

    def key(item):
        printed = known.get(item.corrects or "", item)
        parts, words = printed.id.count("."), len(printed.place)
        paper, place = papers.index(item.paper), position(printed)
        return paper, place, parts, words, printed.id, item is not printed

    return sorted(items, key=key)


def position(claim: Claim | Record) -> int:
    """Return where in its paper a claim is stated, as a number to sort by."""
    order = _order(claim.paper)
    if not order:
        listed = _places(claim.paper)
        return listed.get(claim.corrects or claim.id, len(listed))
    clause = re.sub(r"(Assumption|Lemma|Section)s ", r"\1 ", claim.place).partition(";")[0]
    positions = [order[match.group()] for match in _pattern(claim.paper).finditer(clause)]
    if not positions:
        return len(order)
    first, *others = positions
    return next((place for place in others if _inside(claim.paper, first, place)), first)


def _inside(paper, section, place):
    """Tell whether a place is in a section of a paper."""
    names = list(_order(paper))[section : place + 1]
    heads = [name.startswith(("Section", "Appendix")) for name in names]
    return len(heads) > 1 and heads[0] and not any(heads[1:])


@cache
def _order(paper: str) -> dict[str, int]:
    names: list[str] = []
    for item in (known()[paper].order if paper in known() else "").split("|"):
        name = " ".join(item.split())
        if equations := re.fullmatch(r"\((\d+)\)-\((\d+)\)", name):
            first, last = map(int, equations.groups())
            names += [f"({number})" for number in range(first, last + 1)]
        elif name:
            names.append(name)
    return {name: number for number, name in enumerate(names)}


@cache
def _places(paper: str) -> dict[str, int]:
    """Return the place of each statement among those that the contents of a paper list."""
    items = known().get(paper, ())
    names = dict.fromkeys(name for item in items for name in item.claims)
    return {name: place for place, name in enumerate(names)}


@cache
def _pattern(paper: str) -> re.Pattern[str]:
    longest_first = sorted(_order(paper), key=len, reverse=True)
    return re.compile("|".join(rf"{re.escape(name)}(?!\.?\w)" for name in longest_first) or "(?!)")


# What tables of verdicts count: one rule for the README, the pages, the report and the shell.

#: Kinds of statements, each counted apart, and what one is called.
KINDS = {
    "printed": "statement",
    "networks": "network statement",
    "corrected": "corrected form",
    "own": "own statement",
}
#: What stands above the columns of verdicts, and of what follows them.
HEADS = {
    "holds": "hold", "misprint": "misprints", "depends on the reading": "depend on the reading",
    "fails": "fail",
}  # fmt: skip
MORE = ("causes", "on networks", "corrected forms", "own statements")
UNDER_CORRECTED = "under a corrected hypothesis"


@dataclass(frozen=True)
class Counts:
    """How many statements have which verdict.

    Attributes
    ----------
    kinds : mapping of str to Counter
        Verdicts by kind: "printed", of what papers print on their linear settings; "networks", on
        tables and figures of networks alone; "corrected", of corrected forms of what does not
        hold; and "own", of what no paper prints and nothing is corrected by.
    under_corrected : int
        How many of the printed ones that fail do so under a hypothesis that is not the paper's,
        but a corrected one.
    causes : int
        How many causes what does not hold of the printed ones has: findings, of which one may be
        about several statements.

    Examples
    --------
    >>> from linrep.claims.contents import of_paper
    >>> list(of_paper("fedrep").kinds)
    ['printed', 'networks', 'corrected', 'own']
    """

    kinds: Mapping[str, Counter[str]]
    under_corrected: int
    causes: int

    @property
    def printed(self) -> Counter[str]:
        """Verdicts of what papers print on their linear settings."""
        return self.kinds["printed"]

    def cells(self) -> list[str]:
        """Return the row of a table, whose heads are those of :func:`heads`."""
        row: list[str] = [str(self.printed.total())]
        for verdict in VERDICTS:
            row.append(str(self.printed[verdict]))
            if verdict == FAILS:
                row.append(str(self.under_corrected))
        others = [holding(self.kinds[kind]) for kind in list(KINDS)[1:]]
        return [*row, str(self.causes), *others]


def heads(name: Callable[[str], str] = lambda verdict: HEADS.get(verdict, verdict)) -> list[str]:
    """Return what stands above the numbers of statements."""
    verdicts: list[str] = []
    for verdict in VERDICTS:
        verdicts += [name(verdict), *[UNDER_CORRECTED] * (verdict == FAILS)]
    return ["statements", *verdicts, *MORE]


def holding(verdicts: Mapping[str, int]) -> str:
    """Say how many of some statements hold, a dash where there are none.

    Examples
    --------
    >>> from linrep.claims.contents import holding
    >>> holding({"holds": 2, "fails": 1}), holding({})
    ('2 of 3 hold', '–')
    """
    good, total = verdicts.get(HOLDS, 0), sum(verdicts.values())
    return f"{good} of {total} hold{'s' * (total == 1)}" if total else "–"


def kinds(items: Iterable[Record]) -> dict[str, str]:
    """Return of which kind of `KINDS` each statement is, by id."""
    items = list(items)
    apart = {paper: of_networks(paper) for paper in {item.paper for item in items}}
    return {
        item.id: "networks"
        if item.form == "printed" and item.id in apart[item.paper]
        else item.form
        for item in items
    }


def of_networks(paper: str) -> set[str]:
    """Return the ids of the statements that only items on networks are about."""
    there: dict[bool, set[str]] = {True: set(), False: set()}
    for item in known().get(paper, ()):
        there[item.networks] |= set(item.claims)
    return there[True] - there[False]


def counts(items: Iterable[Record]) -> Counts:
    """Count statements by kind and verdict."""
    items = list(items)
    kind, found = kinds(items), {name: Counter[str]() for name in KINDS}
    for item in items:
        found[kind[item.id]][item.verdict] += 1
    printed = [item for item in items if kind[item.id] == "printed"]
    failing = [item for item in printed if item.verdict == FAILS]
    wrong = (findings().get(item.id) for item in printed if item.verdict != HOLDS)
    return Counts(
        found,
        sum(any(each.endswith(" corrected") for each in item.changes) for item in failing),
        len({id(finding) for finding in wrong if finding}),
    )


# Whether what stands beside a paper's statements is about statements that there are.


def check(paper: str, known: Collection[str]) -> None:
    """Raise ValueError for what is wrong in a paper's findings, derivations or contents."""
    folder = papers()[paper].folder
    findings(tuple(folder.glob(FINDINGS)))
    for name in (FINDINGS, PROOFS):
        for path in folder.glob(name):
            for section in sections(path):
                _check_ids(path, ((id, section.line) for id in section.ids), known)
    for path in folder.glob(FILE):
        text = path.read_text("utf-8")
        named = [id for item in read(path) for id in item.claims]
        _check_ids(path, ((id, _line_of(id, text)) for id in named), known)


def _check_ids(path: Path, ids: Iterator[tuple[str, int]], known: Collection[str]) -> None:
    for id, line in ids:
        if id not in known:
            said = unknown("no statement", id, known, otherwise="linrep verify --list shows them")
            raise ValueError(f"{path}:{line}: {said}")


def _line_of(id: str, text: str) -> int:
    """Return the line of a file of TOML in which an id stands first."""
    before, found, _ = text.partition(f'"{id}"')
    return before.count("\n") + 1 if found else 1
