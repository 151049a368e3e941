"""What is known of a claim: a finished check in a store, or else what a ledger records."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linrep.claims.claim import BUDGETS, Claim, registered
from linrep.claims.record import Record

if TYPE_CHECKING:
    from linrep.claims.verify import Stored


@dataclass(frozen=True)
class Current:
    """What is known of a claim.

    Attributes
    ----------
    result : Record or None
        The stored run's, as a ledger would have it, else the ledger's, None where there is neither.
    run : Stored or None
        The stored run.
    recorded : Record or None
        What the ledger has.
    damaged : bool
        Whether the store has a run that cannot be read, and no other.
    stale : bool
        Whether all that the store has is of code, or of files it rests on, that was edited since.
    """

    result: Record | None
    run: Stored | None
    recorded: Record | None
    damaged: bool
    stale: bool


def current(
    item: Claim | Record,
    recorded: Record | None,
    *,
    store: str | Path,
    budget: str | None = None,
    seed: int = 0,
) -> Current:
    """Return what a store holds of a claim, for this state of the code, or else the ledger.

    A run of the mode of this process, or else one of the portable mode, in which verdicts are
    recorded.
    """
    budgets = [*reversed(BUDGETS)] if budget is None else [budget]
    if not any(_has_runs(Path(store, f"{name}-{seed}"), item.id) for name in budgets):
        return Current(recorded, None, recorded, damaged=False, stale=False)
    # Whether a run is of this state of the code, the code says.
    from linrep.claims.sequential import looked_at
    from linrep.claims.verify import is_damaged, is_stale, stored

    claim = item if isinstance(item, Claim) else registered(item.id)
    places: list[dict[str, Any]] = [
        {"budget": name, "seed": seed, "store": store} for name in budgets
    ]
    runs = (stored(claim, **place, mode=mode) for place in places for mode in (None, "portable"))
    run = next(filter(None, runs), None)
    if run is not None:
        run = looked_at(claim, run, store)
    damaged = run is None and any(is_damaged(claim, **place) for place in places)
    stale = run is None and not damaged and any(is_stale(claim, **place) for place in places)
    if run is not None:
        return Current(run.result, run, recorded, damaged=False, stale=False)
    return Current(recorded, None, recorded, damaged, stale)


def _has_runs(folder, name):
    """Tell whether a folder of a store has runs of a claim, of whatever state of the code."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return any(path.name.startswith(f"{name}-") for path in folder.iterdir())
    return False
