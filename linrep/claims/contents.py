"""A paper side by side: in its order what it states, each line with a verdict or why there is none.

Of each paper ``contents.toml``, in its folder, has an ``[[item]]`` for every displayed equation
and every sentence of mathematical content; above them its ``name``, its ``citation`` and the
``order`` of its places.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import fill

from linrep._lib.display import badge, literal
from linrep._lib.papers import papers
from linrep._lib.suggest import unknown
from linrep.claims import formulas, ledger
from linrep.claims.claim import Claim, registered
from linrep.claims.counts import KINDS, Counts, heads
from linrep.claims.counts import counts as count
from linrep.claims.evidence import UNCHECKED, VERDICTS, tally
from linrep.claims.record import Record

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

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def title(self) -> str:
        """How many items there are, how many have no claim, and the verdicts of the others."""
        without = sum(not item.claims for item in self.items)
        found = counts(self.paper)
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
    """Return what is known of an item: a verdict and the rest of the line, for each statement.

    Parameters
    ----------
    item : Item
        One without a claim has "no claim" and the reason.
    """
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
    """Return text with its formulas in plain letters.

    Parameters
    ----------
    text : str
        Formulas between dollar signs.
    """
    return re.sub(r"\$([^$]+)\$", lambda found: formulas.text(found[1]), text)


def read(path: Path) -> Contents:
    """Return the contents of a paper from their file.

    Parameters
    ----------
    path : path
        ``contents.toml`` in the folder of the paper.

    Raises
    ------
    ValueError
        If it is no such file; the message says which item is wrong, and how.
    """
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
        texts["name"],
        texts["citation"],
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
    """Return how a paper is called, its name in ids where nothing else is listed.

    Parameters
    ----------
    paper : str
    """
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


def counts(paper: str) -> Counts:
    """Return how many of a paper's statements have which recorded verdict.

    Parameters
    ----------
    paper : str
    """
    return count(item for item in ledger.known([paper]).values() if item.verdict != UNCHECKED)


def _sorted(found):
    return {name: found[name] for name in (*VERDICTS, "unchecked") if found[name]}


def table(names: dict[str, str]) -> list[str]:
    """Return the counts of papers as a table of Markdown.

    Parameters
    ----------
    names : dict of str
        What stands in the first column, by paper.
    """
    head = ["paper", *heads()]
    lines = [head, ["---", *["--:"] * (len(head) - 1)]]
    lines += [[name, *counts(paper).cells()] for paper, name in names.items()]
    return [f"| {' | '.join(line)} |" for line in lines]
