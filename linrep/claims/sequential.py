"""Going on with more runs until claims are decided, at the level of a single decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from typing import Any

from linrep._lib.progress import progress_bar
from linrep.claims.claim import Claim
from linrep.claims.decisions import takes_runs
from linrep.claims.evidence import ERROR, FAILS, LEVEL, UNDECIDED, Evidence, Result
from linrep.claims.measurements import joined
from linrep.claims.verdict import judge
from linrep.claims.verify import measured, verify


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
) -> list[Result]:
    """Run checks, and again on other random numbers those that more runs would decide.

    A check is run with the seed, then with the next one, the two after it, the four after those,
    and so on. After each doubling the runs of all its seeds are put together and decided, at the
    :func:`share` of the level that is the look's. What would take other sizes is left undecided.

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
    list of Result
        Of all runs of a claim together, with the level that they have spent.
    """
    began = time.monotonic()
    chosen = list(chosen)
    settings = {"budget": budget, "store": store, **options}
    first = verify(chosen, seed=seed, level=share(level, 1), progress=progress, **settings)
    taken = {result.id: [result] for result in first}
    results = {result.id: result for result in first}
    settings["fresh"] = False  # of other seeds whatever is stored is as good
    going, runs, look = chosen, 1, 1
    while 2 * runs <= times:
        left = seconds - (time.monotonic() - began)
        going = [item for item in going if _takes_runs(results[item.id])]
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
                results[item.id] = _together(item, taken[item.id], look, level, budget, store)
            except ValueError as error:
                say(f"{item.id}: {error}")
                going.remove(item)
    return [results[item.id] for item in chosen]


def _takes_runs(result):
    """Tell whether more runs decide all that is undecided."""
    parts = [part for part in result.parts if part.verdict == UNDECIDED] or [result]
    return result.verdict == UNDECIDED and all(takes_runs(part.needed) for part in parts)


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


def _together(item, taken, look, level, budget, store):
    """Decide a claim by several runs of its check."""
    for result in taken:
        if result.verdict == ERROR:
            return result
    runs = [measured(item, budget=budget, seed=result.seed, store=store) for result in taken]
    found = judge(joined(runs), share(level, look))
    spent = level * look / (look + 1) if found.level else 0.0
    controls = [result.control for result in taken]
    return replace(
        taken[0],
        **{
            each.name: getattr(found, each.name)
            for each in fields(Evidence)
            if each.name != "level"
        },
        level=spent,
        readings=found.readings,
        seconds=round(sum(result.seconds for result in taken), 2),
        control=FAILS if FAILS in controls else controls[0],
        stored=all(result.stored for result in taken),
    )
