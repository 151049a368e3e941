"""The recorded verdicts and their pictures, and how a run is compared with them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrep._lib import atomic as files
from linrep._lib import records
from linrep._lib.display import number as show
from linrep._lib.papers import FOLDER, LEDGER, ledgers, paper_of, papers
from linrep.claims import sensitivity
from linrep.claims.certificates import checked_by, count_exact
from linrep.claims.claim import BUDGETS, Claim
from linrep.claims.counts import counts, heads, kinds
from linrep.claims.evidence import (
    ERROR,
    FAILS,
    HOLDS,
    LEDGER_LEVEL,
    STRENGTHS,
    UNDECIDED,
    VERDICTS,
    Result,
    instance,
    shown,
)
from linrep.claims.findings import findings
from linrep.claims.grids import title
from linrep.claims.grounds import earned
from linrep.claims.order import in_order
from linrep.claims.proofs import proofs
from linrep.claims.quantities import Fact
from linrep.claims.sections import unescaped
from linrep.claims.stated import Stated, stated

if TYPE_CHECKING:
    import pandas as pd

#: Of linrep's own papers.
PATH = FOLDER / LEDGER
AS_RECORDED, CONTRADICTS = "as recorded", "contradicts"
UNDECIDED_HERE = "undecided at this budget"
DECIDED_HERE = "decided here and undecided in the record"
AS_EXPECTED = "as expected, without a record"
UNEXPECTED = "not as expected, without a record"
#: How a verdict stands beside the recorded one.
OUTCOMES = (AS_RECORDED, UNDECIDED_HERE, DECIDED_HERE, AS_EXPECTED, UNEXPECTED, CONTRADICTS)
_HAIR = 1.001  # times the right side, below which a failure says little of its size
#: Those that are differences.
WRONG = (UNEXPECTED, CONTRADICTS)


def _results(entries):
    """Return the results of plain values by claim."""
    results = {result.id: result for result in map(Result.from_json, entries)}
    for result in results.values():
        if result.budget not in BUDGETS or result.verdict not in VERDICTS:
            raise ValueError(f"{result.id} is {result.verdict!r}, of the budget {result.budget!r}")
    return results


_KIND = records.Kind(
    "ledger",
    "linrep verify --record",
    _results,
    ids=lambda entries: [entry["id"] for entry in entries],
)
#: Of the file of pictures beside a ledger.
_PICTURES = ".parquet"


def recorded(path: Path | None = None) -> dict[str, Result]:
    """Return the recorded results by claim; empty where nothing is recorded.

    Parameters
    ----------
    path : path, optional
        A ledger, by default those of all papers; one of a package that is damaged is left out,
        which a warning says.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    entries: dict[str, Result] = {}
    of_papers = ledgers()
    for each in of_papers if path is None else [path]:
        read = _KIND.known if each in (path, PATH) else _KIND.shown
        folder = None if each in of_papers else each.parent
        found = read(each, {})
        texts = stated(set(map(paper_of, found))) if found else {}
        entries |= {id: earned(entry, folder, texts) for id, entry in found.items()}
    return entries


def place(id: str) -> Path | None:
    """Return the ledger of the paper that a claim is of, None where there is no such paper."""
    paper = papers().get(paper_of(id))
    return None if paper is None else paper.ledger


def recorded_points(id: str, path: Path | None = None) -> pd.DataFrame | None:
    """Return what a claim's recorded picture is drawn from, None where none is recorded.

    Parameters
    ----------
    id : str
    path : path, optional
        The ledger, by default the paper's; beside it is the file of its pictures.

    Raises
    ------
    ValueError
        If one of the two is damaged, or the pictures are gone.
    """
    path = path or place(id)
    if path is None or not records.is_there(path):
        return None
    table = _pictures_of(path)
    points = table[table["claim"] == id].drop(columns="claim").reset_index(drop=True)
    return _with_values(points) if len(points) else None


def check(path: Path) -> None:
    """Raise ValueError where a ledger or its pictures are damaged: neither is written to then.

    Parameters
    ----------
    path : path
    """
    _KIND.check(path)


def _pictures_of(path):
    """Return the rows that the pictures of a ledger are drawn from."""
    import pandas as pd

    content = _KIND.beside(path, _PICTURES)
    return pd.DataFrame({"claim": []}, dtype=str) if content is None else _table(content)


@lru_cache(maxsize=4)
def _table(content):
    import pandas as pd

    return pd.read_parquet(BytesIO(content))


def _with_values(points):
    """Return points without the columns of others; y stays where there are intervals alone."""
    return points.loc[:, points.notna().any() | (points.columns == "y")]


def outcome(verdict: str, budget: str, entry: Result | None, expected: str = HOLDS) -> str:
    """Return how a verdict stands beside the recorded one, one of `OUTCOMES`.

    A claim that is not recorded is expected to hold, unless it says otherwise. With a smaller
    budget than the recorded one's undecided contradicts nothing, on either hand: there are fewer
    trials, and fewer cells to decide. With the same budget or a larger one a claim that was decided
    has to be decided again, and with the same budget one that was not must not be. A check that
    raised contradicts.

    Parameters
    ----------
    verdict, budget : str
    entry : Result or None
        What the ledger records of the claim.
    expected : str
        The verdict that the claim expects where nothing is recorded.
    """
    if entry is None:
        return AS_EXPECTED if verdict == expected else UNEXPECTED
    if verdict == entry.verdict:
        return AS_RECORDED
    if verdict == "error":
        return CONTRADICTS
    more = BUDGETS.index(budget) - BUDGETS.index(entry.budget)
    if verdict == UNDECIDED:
        return UNDECIDED_HERE if more < 0 else CONTRADICTS
    if entry.verdict == UNDECIDED:
        return DECIDED_HERE if more != 0 else CONTRADICTS
    return CONTRADICTS


def record(results: Iterable[Result], known: Collection[str], path: Path | None = None) -> None:
    """Put results into a ledger, in place of those of the same claims.

    What their pictures are drawn from goes into a file beside it.

    Parameters
    ----------
    results : iterable of Result
    known : collection of str
        Ids of the claims that there are: entries of others are dropped, in the ledger of papers
        those of the papers that results are of.
    path : path, optional
        The ledger, by default that of each claim's paper.

    Raises
    ------
    ValueError
        If a check raised, a larger budget is recorded already, or the ledger or its pictures are
        damaged.
    """
    by_path: dict[Path, list[Result]] = {}
    for result in results:
        home = path or place(result.id)
        if home is None:
            raise ValueError(f"{result.id} is of no paper that has a ledger")
        by_path.setdefault(home, []).append(result)
    for home, own in by_path.items():
        _record(own, known, home, path is None)


def _record(results, known, path, of_papers):
    """Put results into one ledger, while no other process does."""
    with files.alone(path.parent):
        records.forget()  # what another process has changed in this tick of the clock
        check(path)
        entries = recorded(path)
        check_budget(results, entries)
        for result in results:
            if result.verdict == ERROR:
                raise ValueError(
                    f"{result.id} cannot be recorded, its check raised: {result.sentence}"
                )
        entries |= {result.id: result for result in results}
        own = {paper_of(result.id) for result in results}
        entries = {
            name: entry
            for name, entry in entries.items()
            if name in known or (of_papers and paper_of(name) not in own)
        }
        # Where the numbers came from this time, and what was expected, is no part of the record.
        passing = {"stored", "expected", "missing"} | ({"derivation"} if of_papers else set())
        values = [
            {key: value for key, value in entries[name].as_json().items() if key not in passing}
            for name in sorted(entries)
        ]
        beside = {path.with_suffix(_PICTURES).name: _pictures(results, entries, path)}
        _KIND.write(path, values, beside)


def _pictures(results, entries, path):
    """Return the file of what the entries' pictures are drawn from."""
    import pandas as pd

    table = _pictures_of(path) if records.is_there(path) else pd.DataFrame({"claim": []})
    tables = [table[table["claim"].isin(entries.keys() - {each.id for each in results})]]
    tables += [each.points.assign(claim=each.id) for each in results if each.points is not None]
    tables = [_with_values(table) for table in tables if len(table)]
    table = pd.concat(tables or [pd.DataFrame({"claim": []}, dtype=str)], ignore_index=True)
    table = table.sort_values("claim", kind="stable")
    buffer = BytesIO()
    table.to_parquet(buffer, compression="zstd", index=False)
    return buffer.getvalue()


def check_budget(items: Iterable[Any], entries: Mapping[str, Result], budget: str = "") -> None:
    """Raise ValueError where an entry is of a larger budget than what is to take its place.

    Parameters
    ----------
    items : iterable of Result, or of Claim
    entries : mapping of str to Result
    budget : str
        Of the claims; results have their own.
    """
    for item in items:
        before = entries[item.id].budget if item.id in entries else BUDGETS[0]
        if BUDGETS.index(budget or item.budget) < BUDGETS.index(before):
            raise ValueError(f"{item.id} is recorded with the budget {before} already")


def pages(known: Mapping[str, Claim | Stated], entries: Mapping[str, Result]) -> dict[str, str]:
    """Return the ledger as pages by file name: counts, and a page per paper."""
    own: dict[str, dict[str, Claim | Stated]] = {}
    for item in in_order(known.values()):
        if item.id in entries:
            own.setdefault(item.paper, {})[item.id] = item
    overview = [
        "# Ledger",
        "",
        "Each statement of the papers that can be tested, with its verdict, as recorded by `linrep "
        "verify --record`: it **holds**, it is a **misprint** (it fails where it is stated, and "
        "holds in a form that the paper prints elsewhere), it **fails**, it is **vacuous** (its "
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
    verdicts = {name: result.verdict for name, result in entries.items()}
    for columns, cells in (
        (heads(badge), lambda items: counts(items.values(), verdicts).cells()),
        (STRENGTHS, lambda items: _strengths(items, entries)),
    ):
        overview += ["", f"| paper | {' | '.join(columns)} |", "| --- |" + " --: |" * len(columns)]
        overview += [f"| {' | '.join([name, *cells(items)])} |" for name, items in rows.items()]
    overview += ["", "```{toctree}", ":hidden:", "", *(f"ledger/{paper}" for paper in own), "```"]
    made = {"ledger.md": overview}
    for paper, items in own.items():
        made[f"ledger/{paper}.md"] = _page(paper, items, entries)
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def _strengths(items, entries):
    """Return how many statements that the papers print on linear settings have which strength."""
    kind = kinds(items.values())
    found = Counter(entries[name].strength for name in items if kind[name] == "printed")
    return [str(found[name]) for name in STRENGTHS]


def _page(paper, own, entries):
    lines = [
        f"# Ledger: {paper}",
        "",
        "[The overview](../ledger.md) explains the columns.",
        "",
        "| claim | place | kind | verdict | strength | checked by | measured | claimed | tightness "
        "| trials |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, item in own.items():
        entry = entries[name]
        numbers = " | ".join(shown(entry, key) for key in ("measured", "predicted", "tightness"))
        kinds = ", ".join(entry.kinds)
        lines.append(
            f"| [`{name}`](#{anchor(name)}) | {cell(item.place)} | {kinds} "
            f"| {badge(entry.verdict)} | {entry.strength} | {_checked_by(entry)} | {numbers} "
            f"| {entry.n_trials} |"
        )
    for name, item in own.items():
        lines += ["", f'<div id="{name}"></div>']  # the address that stays, ledger/PAPER.html#ID
        lines += ["", f"({anchor(name)})=", "", f"## `{name}`", "", *account(item, entries[name])]
    return lines


def _checked_by(entry):
    """Return what a verdict can be checked by: a derivation, solvers, what computes exactly."""
    solvers = [f"{solver} ({len(steps)})" for solver, steps in checked_by(entry.id).items()]
    tools = [f"{tool} ({count})" for tool, count in count_exact(entry).items()]
    return ", ".join(["derivation"] * (entry.id in proofs()) + solvers + tools)


def account(item: Claim | Stated, result: Result | None, *, own: bool = False) -> list[str]:
    """Return a statement and what is known of it, as lines of Markdown.

    Parameters
    ----------
    item : Claim or Stated
    result : Result or None
        None where nothing is known.
    own : bool
        Whether it comes from a file of claims, of which papers' findings say nothing.
    """
    lines = [
        cell(item.plain),
        "",
        *([f"$${item.latex}$$", ""] if item.latex else ()),
        *([f"Under {cell('; '.join(map(str, item.hypotheses)))}.", ""] if item.hypotheses else ()),
    ]
    if result is None:
        return lines
    lines.append(_outcome(result))
    if reason := None if own else findings().get(item.id):
        link = f"#{anchor(reason.ids[0], 'finding')}"
        lines += ["", f"Why: [{cell(unescaped(reason.headline))}]({link})."]
    if len(result.parts) > 1:
        lines += ["", "| part | verdict | strength | measured | claimed | found |"]
        lines += ["| - | - | - | - | - | - |"]
        lines += [
            f"| {cell(part.name)} | {badge(part.verdict)} | {part.strength} | "
            f"{shown(part, 'measured')} | "
            f"{shown(part, 'predicted')} | {cell(part.sentence)} |"
            for part in result.parts
        ]
    if several := readings(result):
        lines += ["", *(f"- {cell(line)}" for line in several)]
    if noticed := "" if own else sensitivity.say(item):
        lines += ["", f"Sensitivity: {cell(noticed)}."]
    if most := largest_failure(result):
        lines += ["", f"Largest failure: {cell(most)}."]
    if result.facts:
        lines += ["", *(f"- {cell(fact(item))}" for item in result.facts)]
    if result.counterexample:
        lines += ["", f"Counterexample: `{json.dumps(instance(result), ensure_ascii=False)}`"]
    if result.worst:
        kind = "Worst" if result.counterexample else "Tightest"
        lines += ["", f"{kind} instance: `{json.dumps(result.worst, ensure_ascii=False)}`"]
    return lines


def _outcome(result):
    """Return the verdict of a result with its sentence and what it rests on, as a line."""
    interval = ""
    if math.isfinite(result.low) or math.isfinite(result.high):
        interval = f", interval {show(result.low)} to {show(result.high)}"
    by = f" Corrected: `{result.corrected_by}`." if result.corrected_by else ""
    needed = f" It would take {result.needed}." if result.needed else ""
    strength = f"{result.strength}, " if result.strength else ""
    return (
        f"{badge(result.verdict)} {cell(result.sentence)}.{needed}{by} "
        f"({strength}{result.budget}, seed {result.seed}, {result.n_trials} trials, "
        f"error level {result.level:.1g}{interval}, {result.seconds:.0f} s)"
    )


def failing_parts(verdicts: Iterable[str]) -> str:
    """Say how many parts fail, "" if at most one does: the sentence is about the first.

    Parameters
    ----------
    verdicts : iterable of str
        Of the parts of a result.
    """
    verdicts = list(verdicts)
    count = verdicts.count(FAILS)
    return f"{count} of {len(verdicts)} parts fail" if count > 1 else ""


def numbers_of(result: Result | None) -> list[str]:
    """Return what stands beside a verdict: its strength, its numbers, what else fails or is needed.

    Parameters
    ----------
    result : Result or None
        None has none of them.
    """
    if result is None:
        return []
    several = failing_parts(part.verdict for part in result.parts)
    needed = f"it would take {result.needed}" if result.needed else ""
    numbers = measured_and_claimed(result)
    strength = f"{result.strength} ({result.missing})" if result.missing else result.strength
    return list(filter(None, [strength, *numbers, several, needed, result.looked]))


def measured_and_claimed(result: Result) -> list[str]:
    """Return what was measured and what is claimed, where these are numbers.

    Parameters
    ----------
    result : Result
    """
    return [
        f"{name} {shown(result, key)}"
        for name, key in (("measured", "measured"), ("claimed", "predicted"))
        if math.isfinite(getattr(result, key))
    ]


def readings(result: Result) -> list[str]:
    """Say, for each part that can be read in several ways, how it was read and how else.

    Parameters
    ----------
    result : Result
    """
    by_part: dict[str, list[Mapping[str, Any]]] = {}
    for item in result.readings:
        by_part.setdefault(item["of"], []).append(item)
    lines = []
    for name, items in by_part.items():
        (taken,) = (item for item in items if item["taken"])
        others = "; ".join(
            f"{_reading(item)}: {item['verdict']}" for item in items if not item["taken"]
        )
        prefix = f"{name}: " if name else ""
        of = f"“{taken['phrase']}” " if taken.get("phrase") else ""
        line = f"{prefix}{of}read as “{_reading(taken)}”"
        line += f" (otherwise {others})" if others else ""
        good = sum(item["verdict"] == HOLDS for item in items)
        lines.append(f"{line}; {good} of {len(items)} readings hold{'s' * (good == 1)}")
    return lines


def _reading(item):
    """Return the name of a reading, with where another form than the sentence's is printed."""
    place = item.get("printed_at")
    return f"{item['reading']}, printed in {place}" if place else item["reading"]


def largest_failure(result: Result) -> str:
    """Say which part fails by most, "" where what decides does or is not a mere rounding above 1.

    The failure that stands most firmly decides, and that may be one in exact numbers by a hair.

    Parameters
    ----------
    result : Result
    """
    by_a_hair = result.verdict == FAILS and 0.0 < result.tightness < _HAIR
    failing = [
        part for part in result.parts if part.verdict == FAILS and 0.0 < part.tightness < math.inf
    ]
    most = max(failing, key=lambda part: part.tightness, default=None)
    if not by_a_hair or most is None or most.tightness < _HAIR:
        return ""
    return f"{most.name}: {most.sentence} ({most.strength})"


def fact(item: Fact) -> str:
    """Return a number that decides nothing, with what it is, as a line.

    Parameters
    ----------
    item : Fact
    """
    return f"{title(item)}: {shown(item, 'value')} {item.unit}".rstrip()


def cell(text: str) -> str:
    """Return text for a table, in which | and * mean something."""
    return text.replace("|", "\\|").replace("*", "\\*")


def badge(verdict: str, link: str = "") -> str:
    """Return a verdict for a page, in its colour, and perhaps as a link to a label."""
    text = f"[{verdict}](#{link})" if link else verdict
    return f"[{text}]{{.badge .{verdict}}}"


def anchor(name: str, of: str = "claim") -> str:
    """Return the label of a claim's section in the ledger, or of the finding it comes first in."""
    return f"{of}-" + name.replace(".", "-").replace("_", "-").lower()
