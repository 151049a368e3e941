"""Going on with more runs until claims are decided, at the level of a single decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from typing import Any, TypedDict

from linrep._lib import atomic as files
from linrep._lib import records, shapes
from linrep._lib.progress import progress_bar
from linrep.claims.claim import Claim
from linrep.claims.evidence import ERROR, LEVEL, UNDECIDED, Evidence
from linrep.claims.measurements import joined
from linrep.claims.record import Record
from linrep.claims.verdict import judge, runs_decide
from linrep.claims.verify import Stored, measured, place_of, stored, verify

#: How the file ends that says of a run how often it was looked at.
_LOOKS = ".looks.json"


class _Looks(TypedDict):
    looks: int
    level: float


_KIND = records.Kind("looks", "linrep verify --until-decided", shapes.reader(_Looks))


def share(level: float, look: int) -> float:
    """Return what a look at the runs so far may spend of a level.

    The shares level/(j (j + 1)) of all looks j = 1, 2, ... sum to the level. Whichever look a
    verdict comes at, and however the looks depend on each other, it is wrong with probability at
    most the level.

    Parameters
    ----------
    level : float
    look : int
        From 1.
    """
    return level / (look * (look + 1))


def until_decided(
    chosen: Iterable[Claim],
    *,
    budget: str = "quick",
    store: str | Path,
    seed: int = 0,
    level: float = LEVEL,
    seconds: float = 600.0,
    times: float = 1024,
    say: Callable[[str], object] = print,
    progress: bool | None = None,
    **options: Any,
) -> list[Record]:
    """Run checks, and again on other random numbers those that more runs would decide.

    A check is run with the seed, then with the next one, the two after it, the four after those,
    and so on. After each doubling the runs of all its seeds are put together and decided, at the
    :func:`share` of the level that is the look's, and so is the negative control where it is run.
    What would take other sizes is left undecided.

    Parameters
    ----------
    chosen : iterable of Claim
    budget, store, seed, level, progress : optional
        As for :func:`linrep.claims.verify.verify`.
    seconds : float
        A doubling that would take longer than what is left of them is not begun.
    times : float
        How many times the runs of a single check, at most.
    say : callable
        Called with a line of text at each look.
    **options
        Further ones of :func:`linrep.claims.verify.verify`.

    Returns
    -------
    list of Record
        Of all runs of a claim together, with the level that they have spent.
    """
    began = time.monotonic()
    chosen = list(chosen)
    settings = {"budget": budget, "store": store, **options}
    first = verify(chosen, seed=seed, level=share(level, 1), progress=progress, **settings)
    taken = {result.id: [result] for result in first}
    pooled = {
        item.id: _measured(item, result, store)
        for item, result in zip(chosen, first, strict=True)
        if result.verdict == UNDECIDED
    }
    results = {result.id: result for result in first}
    settings["fresh"] = False  # of other seeds whatever is stored is as good
    going, runs, look = chosen, 1, 1
    while 2 * runs <= times:
        left = seconds - (time.monotonic() - began)
        going = [
            item
            for item in going
            if results[item.id].verdict == UNDECIDED
            and runs_decide(pooled[item.id], share(level, look))
        ]
        waiting, going = going, _affordable(going, results, left * settings.get("workers", 1))
        if len(going) < len(waiting):
            few = len(waiting) - len(going)
            say(f"{left:.0f} s are too few to double the runs of {few} undecided claims")
        if not going:
            break
        look += 1
        ends = f", {left:.0f} s left" if left < inf else ""
        say(f"look {look}: {2 * runs} times the runs, {len(going)} undecided{ends}")
        with progress_bar(progress, lines=True, total=runs, desc=f"look {look}", unit="run") as bar:
            for other in range(seed + runs, seed + 2 * runs):
                for result in verify(going, seed=other, progress=False, **settings):
                    taken[result.id].append(result)
                bar.update()
        runs *= 2
        for item in list(going):
            try:
                pooled[item.id], results[item.id] = _together(
                    item, taken[item.id], look, level, store
                )
                _note(item, results[item.id], level, store)
            except ValueError as error:
                say(f"{item.id}: {error}")
                going.remove(item)
    return [results[item.id] for item in chosen]


def _affordable(going, results, seconds):
    """Return the claims whose runs so far can be made once more in these seconds, cheap ones first.

    Of runs that were stored it is known how long they took.
    """
    affordable = []
    for item in sorted(going, key=lambda item: results[item.id].seconds):
        seconds -= results[item.id].seconds
        if seconds >= 0.0:
            affordable.append(item)
    return affordable


def _together(item, taken, look, level, store):
    """Return what several runs of a claim's check measured, and the claim as they decide it."""
    for result in taken:
        if result.verdict == ERROR:
            return [], result
    runs = [_measured(item, result, store) for result in taken]
    pooled = joined(runs)
    found = judge(pooled, share(level, look))
    spent = level * look / (look + 1) if found.level else 0.0
    evidence = {each.name: getattr(found, each.name) for each in fields(Evidence)}
    return pooled, replace(
        taken[0],
        **{**evidence, "level": spent},
        readings=found.readings,
        seconds=round(sum(result.seconds for result in taken), 2),
        control=_control(item, taken, share(level, look), store),
        stored=all(result.stored for result in taken),
        looks=look,
    )


def _control(item, taken, level, store):
    """Decide the negative control as the claim is: all its runs together, at the look's share.

    Where its runs cannot be put together, the first of them alone.
    """
    runs = [_measured(item, result, store, of="control") for result in taken]
    if not all(runs):  # it was not run
        return taken[0].control
    try:
        return judge(joined(runs), level).verdict
    except ValueError:
        return judge(runs[0], level).verdict


def _measured(item, result, store, of="measurements"):
    return measured(
        item, budget=result.budget, seed=result.seed, store=store, mode=result.mode, of=of
    )


def _note(item, result, level, store):
    """Write beside the run of the first seed how often it and those that follow were looked at."""
    if result.looks == 1:  # a check that raised
        return
    place = place_of(item, budget=result.budget, seed=result.seed, store=store, mode=result.mode)
    content = _KIND.written({"looks": result.looks, "level": level})
    files.write(place.with_name(f"{place.name}{_LOOKS}"), content.encode())


def looked_at(item: Claim, run: Stored, store: str | Path) -> Stored:
    """Return a stored run, or in its place all runs together where that is how it was decided."""
    first = run.result
    where: dict[str, Any] = {"budget": first.budget, "store": store, "mode": first.mode}
    place = place_of(item, seed=first.seed, **where)
    note = place.with_name(f"{place.name}{_LOOKS}")
    if not note.is_file():
        return run
    said = _KIND.read(note)
    seeds = range(first.seed + 1, first.seed + 2 ** (said["looks"] - 1))
    others = [stored(item, seed=seed, **where) for seed in seeds]
    if not all(others):  # of another state of the code, or removed
        return run
    taken = [first, *(each.result for each in others if each)]
    _, result = _together(item, taken, said["looks"], said["level"], store)
    return replace(run, result=replace(result, stored=True))
