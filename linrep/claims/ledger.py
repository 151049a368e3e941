"""What is recorded of claims, of each paper in a file, and how a run stands beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from linrep._lib import atomic as files
from linrep._lib import records
from linrep._lib.display import number as show
from linrep._lib.papers import PICTURES, Paper, own, paper_of
from linrep._lib.papers import papers as known_papers
from linrep.claims import prose
from linrep.claims.certificates import lines_of
from linrep.claims.claim import BUDGETS, Claim, claims
from linrep.claims.evidence import (
    CERTIFIED,
    DEPENDS,
    ERROR,
    FAILS,
    HOLDS,
    STRENGTHS,
    UNCHECKED,
    UNDECIDED,
    VALUE,
    Evidence,
    strengths_of_parts,
)
from linrep.claims.record import Line, Moved, Record
from linrep.claims.solvers import UNKNOWN

#: Of the files: it grows when a number that is recorded comes to mean something else.
VERSION = 2

AS_RECORDED, CONTRADICTS = "as recorded", "contradicts"
UNDECIDED_HERE = "undecided at this budget"
FEWER_HERE = "alike in the fewer readings of this budget"
DECIDED_HERE = "decided here and undecided in the record"
AS_EXPECTED = "as expected, without a record"
UNEXPECTED = "not as expected, without a record"
#: How a verdict stands beside the recorded one.
OUTCOMES = (
    AS_RECORDED,
    UNDECIDED_HERE,
    FEWER_HERE,
    DECIDED_HERE,
    AS_EXPECTED,
    UNEXPECTED,
    CONTRADICTS,
)
#: Those that are differences.
WRONG = (UNEXPECTED, CONTRADICTS)
#: Numbers that no chance decides agree to so many digits, and what is about 0 to this.
_RELATIVE, _ABSOLUTE = 1e-10, 1e-12

# The file.


def _read(content):
    version = content["version"] if isinstance(content, dict) else 1
    if version != VERSION:
        raise ValueError(f"its numbers are those of version {version}, not {VERSION}")
    found = {each.id: each for each in map(Record.from_json, content["claims"])}
    for each in found.values():
        if each.verdict != UNCHECKED and each.budget not in BUDGETS:
            raise ValueError(f"{each.id} is of the budget {each.budget!r}")
    return found


def _text(values):
    """Return plain values as JSON, a line a text, a part, a fact, and so on: what changes shows."""
    blocks = ",\n".join(map(_block, values["claims"]))
    return f'{{"version": {values["version"]}, "claims": [\n{blocks}\n]}}'


def _block(record):
    lines = []
    for name, value in record.items():
        if _is_empty(name, value, record):
            continue
        if name in ("parts", "facts", "readings"):
            kept = (_line(each if name == "readings" else _sparse(each)) for each in value)
            text = "[\n  " + ",\n  ".join(kept) + "\n ]"
        elif name in ("lines", "sensitivity"):
            kept = (f"{json.dumps(key)}: {_line(each)}" for key, each in value.items())
            text = "{\n  " + ",\n  ".join(kept) + "\n }"
        else:
            text = _line(value)
        lines.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}"


def _sparse(values):
    return {name: value for name, value in values.items() if not _is_empty(name, value, values)}


def _is_empty(name, value, values):
    """Tell whether a value is what is read where nothing is written."""
    if name == "claimed":
        return value == values["strength"]
    if name in _PASSING or (name in ("own", "n_trials", "level") and not value):
        return True
    usual = {"measured_is": VALUE, "predicted_is": VALUE, "looks": 1}
    return value is None or value in ("", [], {}) or (name in usual and value == usual[name])


def _line(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


_KIND = records.Kind(
    "ledger",
    "linrep verify --record",
    _read,
    ids=lambda content: [each["id"] for each in content["claims"]],
    text=_text,
)
#: Of a run, no part of the record.
_PASSING = ("stored", "expected", "missing", "corrected_by")


def _write(path, entries, beside):
    """Write a ledger with its pictures."""
    values = {"version": VERSION, "claims": [each.as_json() for each in entries.values()]}
    _KIND.write(path, values, beside)


def _pictures_beside(path):
    """Return the pictures of a ledger by the name of their file, as they are."""
    content = records.beside(path, PICTURES) if records.is_there(path) else None
    return {} if content is None else {path.with_suffix(PICTURES).name: content}


def check(path: Path) -> None:
    """Raise ValueError where a ledger or its pictures are damaged: neither is written to then."""
    _KIND.check(path)


# What is in it.


def known(papers: Iterable[str] = ()) -> dict[str, Record]:
    """Return the statements of papers by id, in the order of their files, with what is known.

    Nothing of a paper is imported, unless it has no ledger yet: then the texts are those of its
    claims, as they are where the ledger of a package is damaged, which a warning says.
    """
    asked = set(papers)
    found: dict[str, Record] = {}
    for name, paper in known_papers().items():
        if not asked or name in asked:
            found |= _of_paper(paper, _state(paper.ledger), _state(paper.folder / prose.PROOFS))
    return found


def recorded(path: Path | None = None, folder: Path | None = None) -> dict[str, Record]:
    """Return the claims that have a recorded verdict, by id: in a ledger, or in all papers'.

    Of these one of a package that is damaged is left out, which a warning says.
    """
    if path is None:
        there = [name for name, paper in known_papers().items() if records.is_there(paper.ledger)]
        found = known(there) if there else {}
    else:
        beside = folder or path.parent
        found = {id: earned(each, beside) for id, each in _KIND.known(path, {}).items()}
    return {id: each for id, each in found.items() if each.verdict != UNCHECKED}


def _state(path):
    """Return what changes when a file does, None where there is none."""
    try:
        status = files.current(path).stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=64)
def _of_paper(paper: Paper, ledger: Any, page: Any) -> dict[str, Record]:
    """Return the records of a paper, put together once for each state of its files."""
    instead = "the texts are those of its code"
    if paper.name in own():
        found = _KIND.known(paper.ledger, {})
    else:
        found = _KIND.shown(paper.ledger, {}, instead)
    if not found:
        found = {id: Record.of(item) for id, item in claims([paper.name]).items()}
    by_id = {id: earned(each, paper.folder) for id, each in found.items()}
    corrected: dict[str, list[Record]] = {}
    for each in by_id.values():
        if each.corrects:
            corrected.setdefault(each.corrects, []).append(each)
    return {
        id: replace(
            each,
            book=paper.ledger,
            corrected=tuple(corrected.get(id, ())),
        )
        for id, each in by_id.items()
    }


def place(id: str) -> Path | None:
    """Return the ledger of the paper that a claim is of, None where there is no such paper."""
    paper = known_papers().get(paper_of(id))
    return None if paper is None else paper.ledger


# How a run stands beside it.


def outcome(verdict: str, budget: str, entry: Record | None, expected: str = HOLDS) -> str:
    """Return how a verdict stands beside the recorded one, one of `OUTCOMES`.

    A claim that is not recorded is expected to hold, unless it says otherwise. With a smaller
    budget than the recorded one's undecided contradicts nothing, on either hand: there are fewer
    trials, and fewer cells to decide; nor does it there that all readings agree of what depends on
    the reading, as fewer are looked at. With the same budget or a larger one a claim that was
    decided has to be decided again, and with the same budget one that was not must not be. A check
    that raised contradicts.
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
    if entry.verdict == DEPENDS and more < 0:
        return FEWER_HERE
    return CONTRADICTS


def differing(result: Record, entry: Record | None) -> list[str]:
    """Say which numbers and readings of a run are not those that are recorded, in a line each.

    In the portable mode the same libraries give the same numbers again, with the seed of the record
    and its budget, or the quick one. Else those are compared, with the budget of the record, whose
    intervals are recorded: the intervals have to meet where the statement has the same number.
    """
    if entry is None or ERROR in (result.verdict, entry.verdict):
        return []
    numbers = _other_numbers(result, entry)
    return [*_weaker(result, entry), *numbers, *_other_readings(result, entry)]


def _weaker(result, entry):
    """Yield that a verdict stands less firmly than it is recorded with the same budget."""
    firm = [STRENGTHS.index(each.strength) if each.strength else -1 for each in (result, entry)]
    if result.verdict == entry.verdict and result.budget == entry.budget and firm[0] > firm[1] >= 0:
        yield f"{result.strength}, recorded {entry.strength}"


def _are_again(result, entry):
    """Tell whether the same libraries take the same numbers, in the portable mode."""
    same = ("seed", "mode", "looks", "versions")
    return result.mode == "portable" and all(getattr(result, x) == getattr(entry, x) for x in same)


def _other_readings(result, entry):
    """Yield in how many readings a part has another verdict; of other runs the opposite one."""
    if result.budget != entry.budget:
        return
    before, again = _named(entry), _are_again(result, entry)
    for name, part in _named(result).items():
        old = before[name].map if name in before else None
        if part.map is None or old is None or part.map.axes != old.axes:
            continue
        pairs = zip(part.map.verdicts, old.verdicts, strict=True)
        count = sum({*pair} == {"h", "f"} or (again and pair[0] != pair[1]) for pair in pairs)
        if count:
            what = "another" if again else "the opposite"
            yield f"{name}: {count} of {len(old.verdicts)} readings with {what} verdict"


def _other_numbers(result, entry):
    again = _are_again(result, entry)
    if again and result.budget in (entry.budget, "quick"):
        before = measured(entry) if result.budget == entry.budget else entry.quick
        return list(_unlike(measured(result), before)) if before else []
    if result.budget != entry.budget:
        return []
    before = _named(entry)
    return [
        f"{name}: {show(part.measured)}, recorded {_ends(before[name])}"
        for name, part in _named(result).items()
        if name in before and before[name].interval and _are_apart(part, before[name])
    ]


def _named(item):
    """Return the parts of a record by name, those of one name numbered."""
    found: dict[str, Evidence] = {}
    for part in item.parts:
        same = sum(name.partition(" #")[0] == part.name for name in found)
        found[f"{part.name} #{same + 1}" if same else part.name] = part
    return found


def measured(item: Record) -> dict[str, float | None]:
    """Return what was measured in each part, None for what is not finite.

    Of one that is read in every way that is the share of readings that hold, that of those that
    fail, and a sum of all their numbers with weights, which a change of any of them changes.
    """
    found = {}
    for name, part in _named(item).items():
        found[name] = part.measured if math.isfinite(part.measured) else None
        if part.map is not None:
            counts, cells = part.map.counts(excluded=True), len(part.map.verdicts)
            found[f"{name}, share that fails"] = counts[FAILS] / cells
            numbers = enumerate(part.map.estimate, 1)
            found[f"{name}, weighted sum"] = math.fsum(
                place * number for place, number in numbers if number is not None
            )
    return found


def _unlike(now, before):
    """Yield which numbers are not the recorded ones, to rounding."""
    for name in {**now, **before}:
        if name not in before:
            yield f"{name}: not in the record"
        elif name not in now:
            yield f"{name}: in the record alone"
        elif None in (now[name], before[name]):
            if now[name] is not before[name]:
                yield f"{name}: {now[name]}, recorded {before[name]}"
        elif not math.isclose(now[name], before[name], rel_tol=_RELATIVE, abs_tol=_ABSOLUTE):
            yield f"{name}: {show(now[name])}, recorded {show(before[name])}"


def _are_apart(part, known):
    """Tell whether intervals for one quantity do not meet: the statement has the same number."""
    if not math.isclose(part.predicted, known.predicted, rel_tol=1e-9):
        return False
    first, last = part.interval or (part.measured, part.measured)
    return first > known.high or last < known.low


def _ends(part):
    return f"{show(part.low)} to {show(part.high)}"


# What changes it.


def record(results: Iterable[Record], known: Mapping[str, Claim], path: Path | None = None) -> None:
    """Put results into a ledger, in place of those of the same claims.

    The texts of all claims become those of the code, and what solvers have answered to another
    question than a line is now is dropped; so are entries of claims that are not known any more.
    """
    by_path: dict[Path, dict[str, Record]] = {}
    for result in results:
        home = path or place(result.id)
        if home is None:
            raise ValueError(f"{result.id} is of no paper that has a ledger")
        by_path.setdefault(home, {})[result.id] = result
    for home, found in by_path.items():
        there = {id: item for id, item in known.items() if path or place(id) == home}
        _record(found, there, home)


def _record(results, known, path):
    """Put results into one ledger, while no other process does."""
    with files.alone(path.parent):
        records.forget()  # what another process has changed in this tick of the clock
        check(path)
        before = _KIND.known(path, {})
        if before and not before.keys() & known.keys():
            raise ValueError(
                f"{path} is the ledger of other claims, such as {next(iter(before))}: name another "
                "file, or remove it"
            )
        check_budget(results.values(), before)
        for result in results.values():
            if result.verdict == ERROR:
                raise ValueError(
                    f"{result.id} cannot be recorded, its check raised: {result.sentence}"
                )
        entries = _as_of_code({**before, **results}, known, before)
        drawn = {id: result.points for id, result in results.items()}
        from linrep.claims import pictures

        beside = pictures.written(drawn, entries, path)
        _write(path, entries, {path.with_suffix(PICTURES).name: beside})


def _as_of_code(found, known, before):
    """Return records of the claims that there are, with their texts and their lines as they are."""
    return {
        id: replace(
            found.get(id, Record.of(claim)).with_texts(claim),
            lines=lines_now(id, before.get(id)),
            sensitivity=_of_constants(claim, before.get(id)),
        )
        for id, claim in known.items()
    }


def _of_constants(claim, last):
    """Return what became of versions of the constants that a claim has now."""
    moved = last.sensitivity if last else {}
    values = {name: str(value) for name, value in claim.values.items()}
    return {
        name: of
        for name, of in moved.items()
        if name in claim.stronger and of["value"] == values[name]
    }


def lines_now(claim: str, last: Record | None) -> dict[str, Line]:
    """Return lines of a claim's proof with the answers that are recorded of the same questions."""
    before = last.lines if last else {}
    return {name: _with_answers(line, before.get(name)) for name, line in lines_of(claim).items()}


def _with_answers(line, before):
    """Return a line with what is recorded of the same question."""
    if before is None or before["sha256"] != line["sha256"]:
        return line
    return {**line, **{key: before[key] for key in ("answers", "possible") if key in before}}


def of_code(claim: Claim) -> Record:
    """Return the record of a paper's claim without a verdict, its texts and lines as they are."""
    last = known([claim.paper]).get(claim.id)
    lines = lines_now(claim.id, last)
    beside = ("sensitivity", "corrected", "book")
    return Record.of(
        claim, lines=lines, **{name: getattr(last, name) for name in beside if last is not None}
    )


def stale(paper: str) -> list[str]:
    """Return the statements of a paper whose texts or lines are not recorded as they are."""
    there, before = claims([paper]), _KIND.known(known_papers()[paper].ledger, {})
    now = _as_of_code(before, there, before)
    wrong = [id for id, entry in now.items() if before.get(id) != entry]
    return wrong + [id for id in before if id not in now]


def refresh(papers: Iterable[str]) -> None:
    """Write the texts and the lines of papers' statements into their ledgers as they are."""
    for name in papers:
        _change(name, lambda entries: entries)


def record_answers(
    said: Mapping[str, Mapping[str, Mapping[str, str]]],
    possible: Mapping[str, Mapping[str, bool]],
    versions: Mapping[str, str],
) -> None:
    """Write what solvers answer into the ledgers.

    Where a solver does not decide what it has decided before, its earlier answer stays; so does
    that hypotheses are possible.
    """

    def answered(entries):
        changed = {}
        for id in said.keys() & entries.keys():
            lines = dict(entries[id].lines)
            for name, answers in said[id].items():
                lines[name] = _answered(lines[name], answers, possible[id][name], versions)
            changed[id] = replace(entries[id], lines=lines)
        return {**entries, **changed}

    for paper in sorted(set(map(paper_of, said))):
        _change(paper, answered)


def _answered(line: Line, given, possible, versions) -> Line:
    """Return what is recorded of a line with the answers that were given to its question."""
    before = {who.partition(" ")[0]: (who, what) for who, what in line.get("answers", {}).items()}
    answers = {}
    for solver, answer in given.items():
        kept = answer == UNKNOWN and solver in before
        who, what = before[solver] if kept else (f"{solver} {versions[solver]}", answer)
        answers[who] = what
    made: Line = {**line, "answers": answers}
    if possible or line.get("possible"):
        made["possible"] = True
    return made


def record_sensitivity(found: Mapping[str, Mapping[str, Moved]]) -> None:
    """Put what became of versions that say more into the ledgers, claim by claim."""

    def moved(entries):
        changed = {
            id: replace(entries[id], sensitivity=found[id]) for id in found.keys() & entries.keys()
        }
        return {**entries, **changed}

    for paper in sorted(set(map(paper_of, found))):
        _change(paper, moved)


def _change(paper, change):
    """Change the ledger of a paper, whose texts and lines become those of the code."""
    path, there = known_papers()[paper].ledger, claims([paper])
    with files.alone(path.parent):
        records.forget()
        check(path)
        before = _KIND.known(path, {})
        gone = {id: entry for id, entry in before.items() if id not in there}
        entries = {**change(_as_of_code(before, there, before)), **gone}
        if list(entries.items()) != list(before.items()):
            _write(path, entries, _pictures_beside(path))


def check_budget(items: Iterable[Any], entries: Mapping[str, Record], budget: str = "") -> None:
    """Raise ValueError where an entry is of a larger budget than what is to take its place."""
    for item in items:
        before = entries[item.id].budget if item.id in entries else ""
        if BUDGETS.index(budget or item.budget) < BUDGETS.index(before or BUDGETS[0]):
            raise ValueError(f"{item.id} is recorded with the budget {before} already")


# What a verdict rests on, looked for wherever it is read: a claim cannot say it of itself.


def earned(found: Record, folder: Path | None) -> Record:
    """Return a record with the strength that its grounds give it, and what is missing."""
    if found.stated and found.stated != found.statement():
        changed = "the statement has changed since: linrep verify --record looks at it again"
        return replace(found, strength="", claimed="", missing=changed)
    if any(each.asked for each in found.parts):
        found = by_solvers(found, {name for names in found.proved_by.values() for name in names})
    if not any(each.claimed != each.strength for each in (found, *found.parts)):
        return replace(found, missing="") if found.missing else found
    there = prose.digest(found.id, folder) if folder else ""
    if there and found.derivation in ("", there):
        covered = replace(prose.covered(found), derivation=there)
        return replace(covered, missing=_missing(covered, "samples are statistical"))
    changed = "changed since it was verified: linrep verify --record looks at it again"
    lacks = f"{prose.PROOFS} has no section headed `{found.id}`"
    why = f"its section of {prose.PROOFS} has {changed}" if there else lacks
    return replace(found, missing=_missing(found, why))


def by_solvers(found: Record, proved: Collection[str]) -> Record:
    """Return a record with the parts certified whose lines solvers prove.

    The statement is certified by parts whose lines are the statement itself, and no more than
    derived by others.
    """

    def certified(part, which):
        proves = part.asked and part.verdict == HOLDS and which >= set(part.asked)
        return replace(part, strength=CERTIFIED, claimed=CERTIFIED) if proves else part

    whole = {name for name in proved if name in found.lines and found.lines[name].get("whole")}
    deciding = [certified(part, whole) for part in found.parts]
    parts = tuple(certified(part, set(proved)) for part in found.parts)
    return replace(found, parts=parts, **strengths_of_parts(deciding, found.verdict))


def _missing(found: Evidence, why: str) -> str:
    """Say why a verdict that its check calls proved has another strength."""
    if found.claimed == found.strength or not found.strength:
        return ""
    return f"its check says proved, and {why}; it is {found.strength}"
