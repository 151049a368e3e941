"""Running checks: in parallel, stored one by one, found again by the next run."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from linrep._lib import code, portable
from linrep._lib.progress import JobsBar, say_stopped
from linrep.claims import (
    evidence,
    inputs,
    laws,
    measurements,
    multiverse,
    rates,
    sampled,
    search,
    slopes,
)
from linrep.claims.claim import Budget, Claim, load_file, registered
from linrep.claims.evidence import ERROR, LEVEL, Evidence, Fact
from linrep.claims.ledger import earned, of_code
from linrep.claims.measurements import Curve, Measurement
from linrep.claims.prose import folder_of
from linrep.claims.record import Record, of_claim
from linrep.claims.verdict import judge
from linrep.sweeps import Stopped, Sweep, generator, open_run, stream_key
from linrep.sweeps.directories import SPECIFICATION
from linrep.sweeps.workers import WorkerEnded, WorkerPool, run_jobs

_DIGITS = 12  # of the state of the code, in the name of a run directory
#: Modules that decide and present what was measured, when it is read: measurements outlive them.
_DECIDING = tuple(
    f"claims/{name}"
    for name in (
        "confidence", "contents", "counterexamples", "current", "evidence", "formulas", "ledger",
        "lookup", "mutants", "pages", "pictures", "prose", "record", "sequential", "solvers",
        "verdict", "verify",
    )
)  # fmt: skip


class Interrupted(Exception):
    """Checks were interrupted; everything finished is stored.

    Parameters
    ----------
    store : path
    done, total : int
        Claims whose results are stored, and all.
    at_once : bool
        Whether a check that was running has been left: its thread may still be at work.
    """

    def __init__(self, store: str | Path, done: int, total: int, *, at_once: bool = False):
        self.at_once = at_once
        super().__init__(f"{store}: {say_stopped(done, total, 'claims')}")


@dataclass(frozen=True)
class Stored:
    """What a store holds of a claim.

    Attributes
    ----------
    result : Record
    versions : str
        Of the libraries that computed it.
    finished : datetime
    """

    result: Record
    versions: str
    finished: datetime


def verify(
    chosen: Iterable[Claim],
    *,
    budget: str = "quick",
    seed: int = 0,
    workers: int = 1,
    store: str | Path,
    file: str | Path | None = None,
    progress: bool | None = None,
    expected: Mapping[str, float] | None = None,
    fresh: bool = False,
    level: float = LEVEL,
    each: Callable[[Record], object] | None = None,
) -> list[Record]:
    """Run the checks of claims that a store does not hold yet.

    Parameters
    ----------
    chosen : iterable of Claim
    budget : {"quick", "standard", "thorough"}
    seed : int
        Root of all streams; a claim's own depends on it, its id and nothing else.
    workers : int
        Processes; with one, this one.
    store : path
        Folder with a run directory per claim, budget, seed and state of the code: what is there is
        not computed again.
    file : path, optional
        Where the claims come from, if not from linrep itself. Their negative controls are run, too;
        and what they import and read counts as their code.
    progress : bool, optional
        Show a bar with the time left; by default on a terminal and in a notebook.
    expected : mapping of str to float, optional
        Seconds that claims took before: the longest are started first, and the time left follows
        from them.
    fresh : bool
        Measure anew, whatever is stored.
    level : float
        Probability of a false verdict that a claim is allowed.
    each : callable, optional
        Is given each result as soon as there is one.

    Returns
    -------
    list of Record
        In the order of `chosen`. A check that raised is there too, with the verdict "error".

    Raises
    ------
    Interrupted
        On an interrupt (Ctrl-C), after the checks that were running are stored. A second one
        ends at once.
    """
    Budget(budget)
    chosen = list(chosen)
    source = None if file is None else str(Path(file).resolve())
    jobs = {item.id: (item.id, budget, seed, str(store), source, fresh) for item in chosen}
    waiting = sorted(jobs, key=lambda name: -(expected or {}).get(name, math.inf))
    # By the claims as they are now: the code may be edited while they are checked.
    results: dict[str, Record] = {}
    took = {name: (expected or {}).get(name) for name in jobs}
    try:
        by_id = {item.id: item for item in chosen}

        def finish(name, place, found_there):
            results[name] = _result(by_id[name], budget, seed, place, found_there, level)
            if each is not None:
                each(results[name])
            bar.done(name, computed=not found_there)

        with JobsBar(progress, took, desc="verify", unit="claim") as bar:
            if workers == 1 or len(jobs) == 1:
                for name in waiting:
                    finish(name, *compute(*jobs[name]))
            else:
                with WorkerPool(workers) as pool:
                    ordered = {name: (compute, *jobs[name]) for name in waiting}
                    try:
                        for name, place in run_jobs(pool, ordered):
                            if isinstance(place, WorkerEnded):
                                place = give_up(name, budget, seed, store, place), False
                            finish(name, *place)
                    except KeyboardInterrupt:
                        bar.write("waiting for the checks that run; another interrupt ends them")
                        raise
        return [results[item.id] for item in chosen]
    except (KeyboardInterrupt, Stopped) as interrupt:  # in a check, or beside one
        done = _done(chosen, results, budget, seed, store)
        at_once = getattr(interrupt, "at_once", False)
        raise Interrupted(store, done, len(chosen), at_once=at_once) from None


def _done(chosen, results, budget, seed, store):
    """Count what is stored; a check may just have been, and its result not yet be read."""

    def is_stored(item):
        with suppress(ValueError, OSError):  # begun, and not yet a run directory
            return stored(item, budget=budget, seed=seed, store=store) is not None
        return False

    return sum(item.id in results or is_stored(item) for item in chosen)


def compute(
    name: str, budget: str, seed: int, store: str, source: str | None, fresh: bool = False
) -> tuple[Path, bool]:
    """Run one check, unless its run directory holds it; return that, and whether it did."""
    if source is not None:
        load_file(source)
    place, status = _place(_directory(name, budget, seed, store), fresh)
    if status != "ok":
        _run(check, name, budget, seed, place)
    return place, status == "ok"


def give_up(name: str, budget: str, seed: int, store: str | Path, reason: Exception) -> Path:
    """Store that a check could not be brought to an end, and return its run directory."""

    def ended(cell, rng, *, budget):
        raise reason

    base = _directory(name, budget, seed, store)
    place, status = _place(base)
    if status == "ok":  # of before
        place, _ = _place(base, fresh=True)
    _run(ended, name, budget, seed, place)
    return place


def _run(function, name, budget, seed, place):
    sweep = Sweep(
        function,
        [{"claim": name}],
        1,
        seed=seed,
        settings={"budget": budget},
        name=f"verify {name}",
    )
    sweep.run(place, progress=False, retry_failed=True, processes=False)


def stream(name: str, seed: int) -> np.random.Generator:
    """Return the generator of a claim's check; a negative control's is spawned from it."""
    return generator(stream_key(seed, "", {"claim": name}), 0)


def is_own(item: Claim) -> bool:
    """Tell whether a claim is a user's, and not linrep's."""
    return not item.check.__module__.startswith("linrep.papers.")


def with_control(
    item: Claim, rng: np.random.Generator
) -> tuple[np.random.Generator, np.random.Generator]:
    """Return the generators of a claim's check and of its negative control.

    The control's is spawned first where both are run, as a check may spawn from its own.
    """
    return (rng, rng.spawn(1)[0]) if is_own(item) else (rng, deepcopy(rng).spawn(1)[0])


def check(cell: Mapping[str, Any], rng: np.random.Generator, *, budget: str) -> dict[str, Any]:
    """Run the check of a cell's claim; the row a sweep stores.

    Of a claim that is not linrep's the negative control is run, too, and the row says which files
    it rests on.
    """
    item = registered(cell["claim"])
    own = is_own(item)
    rng, aside = with_control(item, rng)
    began = time.process_time()
    with inputs.watched() if own else nullcontext():
        taken = item.measure(budget, rng)
        judge(taken)  # what cannot be decided is an error of the check, not of who reads it
        row: dict[str, Any] = {
            "measurements": json.dumps(plain(taken)),
            "cpu_seconds": time.process_time() - began,
        }
        if own:
            against = item.measure_control(budget, aside)
            judge(against)
            row["control"] = json.dumps(plain(against))
    if own:
        row["inputs"] = json.dumps(inputs.digests())
    return row


def stored(
    item: Claim, *, budget: str, seed: int, store: str | Path, mode: str | None = None
) -> Stored | None:
    """Return what a store holds of a claim, None if that is nothing for this state of the code.

    Of the mode of this process, or of another one.

    Raises
    ------
    ValueError, OSError
        If the store is damaged.
    """
    mode = mode or portable.mode()
    place, row = _find(_directory(item.id, budget, seed, store, mode))
    if row is None:
        return None
    written = max(part.path.stat().st_mtime for part in open_run(place).parts())
    return Stored(
        result=_read(item, budget, seed, row, mode=mode, stored=True),
        versions=str(row["versions"]),
        finished=datetime.fromtimestamp(written, UTC),
    )


def is_damaged(item: Claim, *, budget: str, seed: int, store: str | Path) -> bool:
    """Tell whether a store has a claim's run that cannot be read."""
    for place in _places(_directory(item.id, budget, seed, store)):
        try:
            if open_run(place).damaged():
                return True
        except ValueError:
            if any(place.glob("parts/*.parquet")):
                return True
    return False


def is_stale(item: Claim, *, budget: str, seed: int, store: str | Path) -> bool:
    """Tell whether a store has a claim's run, where it has none for this state of the code."""
    runs = f"{item.id}-{'[0-9a-f]' * _DIGITS}"
    folder = Path(store, f"{budget}-{seed}")
    return any(any(folder.glob(f"{name}/parts/*.parquet")) for name in (runs, f"{runs}-*"))


def measured(
    item: Claim,
    *,
    budget: str,
    seed: int,
    store: str | Path,
    mode: str | None = None,
    of: str = "measurements",
) -> list[Any]:
    """Return what a check that a store holds has measured, and did not raise.

    Parameters
    ----------
    item : Claim
    budget, seed, store
        As for :func:`verify`.
    mode : {"native", "portable"}, optional
        By default that of this process.
    of : {"measurements", "control"}
        Of the claim or of its negative control; empty where that was not run.
    """
    row = open_run(place_of(item, budget=budget, seed=seed, store=store, mode=mode)).read().iloc[0]
    text = row.get(of)
    return list(read(json.loads(text))) if _is_measured(text) else []


def place_of(
    item: Claim, *, budget: str, seed: int, store: str | Path, mode: str | None = None
) -> Path:
    """Return the run directory of a claim for this state of the code, there or not."""
    return _place(_directory(item.id, budget, seed, store, mode))[0]


def _is_measured(text):
    """Tell whether a cell of a row has measurements; earlier versions had a control's verdict."""
    return isinstance(text, str) and text.startswith("[")


def _result(item, budget, seed, place, found_there, level):
    row, mode = open_run(place).read().iloc[0], portable.mode()
    return _read(item, budget, seed, row, mode=mode, stored=found_there, level=level)


def _read(item, budget, seed, row, *, mode, stored, level=LEVEL):
    """Return the result that a run's row has."""
    if row["status"] == "ok":
        decided = judge(read(json.loads(row["measurements"])), level)
    else:
        decided = Evidence(ERROR, str(row["exception"]))
    control = row.get("control")
    if _is_measured(control):
        control = judge(read(json.loads(control)), level).verdict
    folder, of_paper = folder_of(item.id, item.check)
    result = replace(
        of_code(item)
        if of_paper
        else of_claim(item, {}, None, inspect.getsourcefile(inspect.unwrap(item.check))),
        **{each.name: getattr(decided, each.name) for each in fields(decided)},
        seed=seed,
        budget=budget,
        seconds=round(float(row.get("cpu_seconds", row["seconds"])), 2),
        mode=mode,
        versions=_libraries(str(row["versions"])),
        stated=(of_code(item) if of_paper else Record.of(item)).statement(),
        stored=stored,
        control=control if isinstance(control, str) else None,
        readings=decided.readings,
    )
    return earned(result, folder)


def _libraries(versions):
    """Return versions without that of linrep, whose numbers are compared."""
    return "; ".join(each for each in versions.split("; ") if not each.startswith("linrep "))


def _directory(name, budget, seed, store, mode=None):
    """Return a claim's run directory: another state of the code has one of its own.

    Of the claims' code all files count that lie beside its own: they import from each other. Its
    own is kept apart from them: a neighbour may make a claim of the same id.
    """
    item = registered(name)
    own = Path(inspect.getsourcefile(inspect.unwrap(item.check)) or "")
    state = code.state("deep", *_DECIDING, *code.statements(), mode=mode)
    digest = hashlib.sha256(state.encode())
    digest.update(_digest(own) if is_own(item) else _digest_of_linreps(own))
    return Path(store) / f"{budget}-{seed}" / f"{name}-{digest.hexdigest()[:_DIGITS]}"


def _digest(path):
    """Return the digest of a file of claims and of those beside it."""
    digest = hashlib.sha256()
    for each in (path, *sorted(path.parent.glob("*.py"))):
        digest.update(each.read_bytes())
    return digest.digest()


# As the other sources of linrep: as they are when the process first asks.
_digest_of_linreps = cache(_digest)


def _place(base, fresh=False):
    """Return where a claim's run is, or has to be, and its status, None where there is none."""
    place, row = _find(base, fresh)
    return place, None if row is None else row["status"]


def _find(base, fresh=False):
    """Return where a claim's run is, or has to be, and its row, None where there is none.

    Where files were edited that it read or imported, it is run again beside the older ones.
    """
    places = _places(base)
    for old in reversed(places):
        if not (old / SPECIFICATION).exists() and not any(old.glob("parts/*.parquet")):
            return old, None  # ended before it began
        try:
            run = open_run(old)
        except ValueError:  # damaged: what is beside it cannot be trusted to be of this check
            continue
        if not run.count():
            return old, None
        row = run.read().iloc[0]
        rests_on = row.get("inputs")
        if fresh or (isinstance(rests_on, str) and not inputs.unchanged(json.loads(rests_on))):
            continue
        return old, row
    return _next(base, len(places)), None


def _places(base):
    """Return the directories of a claim's runs, the oldest first."""
    places: list[Path] = []
    while (place := _next(base, len(places))).exists():
        places.append(place)
    return places


def _next(base, count):
    """Return the directory of the run after so many."""
    return base.with_name(f"{base.name}-{count + 1}") if count else base


# Measurements, facts and curves as plain values, which a store holds, and back.

_CLASSES = {
    name: each
    for module in (evidence, laws, measurements, multiverse, rates, sampled, search, slopes)
    for name, each in vars(module).items()
    if isinstance(each, type) and issubclass(each, Measurement | Curve | Fact)
}


def plain(item: Any) -> Any:
    """Return a measurement, fact or curve as plain values that :func:`read` takes."""
    if isinstance(item, Measurement | Fact | Curve):
        values = {each.name: plain(getattr(item, each.name)) for each in fields(item) if each.init}
        return {"class": type(item).__name__, **values}
    if isinstance(item, pd.DataFrame):
        return {"table": {name: plain(column.tolist()) for name, column in item.items()}}
    if isinstance(item, Mapping):
        return {"mapping": {str(name): plain(value) for name, value in item.items()}}
    if isinstance(item, Fraction):
        return {"fraction": str(item)}
    if hasattr(item, "tolist"):
        return plain(item.tolist())
    if isinstance(item, list | tuple):
        return [plain(value) for value in item]
    if item is None or isinstance(item, bool | int | float | str):
        return item
    raise TypeError(f"a measurement holds a {type(item).__name__}: {item!r}")


def read(item: Any) -> Any:
    """Return the measurement, fact or curve of which :func:`plain` made plain values."""
    if isinstance(item, list):
        return [read(value) for value in item]
    if not isinstance(item, dict):
        return item
    if "class" in item:
        values = {name: read(value) for name, value in item.items() if name != "class"}
        return _CLASSES[item["class"]](**values)
    if "fraction" in item:
        return Fraction(item["fraction"])
    if "table" in item:
        return pd.DataFrame({name: read(column) for name, column in item["table"].items()})
    return {name: read(value) for name, value in item["mapping"].items()}
