"""Claims as pytest tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from linrep._lib.extras import need
from linrep._lib.papers import papers
from linrep.claims.claim import BUDGETS, Claim, claims, load_file, select
from linrep.claims.evidence import FAILS
from linrep.claims.ledger import WRONG, outcome, recorded
from linrep.claims.record import Record
from linrep.claims.verify import stream, with_control


def claim_tests(
    source: str | Path | Iterable[Claim],
    *,
    only: Iterable[str] = (),
    budget: str = "quick",
    seed: int = 0,
    ledger: str | Path | None = None,
) -> Callable[..., None]:
    """Return a pytest test of each claim and of its negative control.

    Assign it to a name that begins with ``test``: the claim is tested for the verdict that it
    expects, and its check for rejecting the negative control, with the numbers of ``linrep
    verify``.

    Parameters
    ----------
    source : path, str or iterable of Claim
        A file of claims, by a path that is relative to the current folder if it is relative; the
        name of a paper, whose ledger is expected by default; or the claims.
    only : iterable of str
        Ids or patterns, by default all.
    budget : {"quick", "standard", "thorough"}
    seed : int, default 0
    ledger : path, optional
        Recorded verdicts, which are expected of the claims that they are of; as with ``linrep
        verify --ledger`` a verdict that is undecided at a smaller budget than the recorded one's
        contradicts nothing.

    Returns
    -------
    callable
        Parametrized: ``[mine.bound]`` and ``[mine.bound-control]`` for a claim "mine.bound".

    Raises
    ------
    ValueError
        If the file makes no claim, a pattern matches none, there is no such ledger, or the budget
        is not one of these.
    """
    need("test", "claim_tests")
    import pytest

    if budget not in BUDGETS:
        raise ValueError(f"budget must be one of {', '.join(BUDGETS)}, got {budget!r}")
    if isinstance(source, str) and source in papers():
        known: Mapping[str, Claim] = claims([source])
        own = papers()[source].ledger
        ledger = own if ledger is None and own.is_file() else ledger
    elif isinstance(source, str | Path):
        known = load_file(source)
    else:
        known = {item.id: item for item in source}
    entries: Mapping[str, Record] = {}
    if ledger is not None:
        if not Path(ledger).is_file():
            raise ValueError(f"ledger: no such file: {ledger}")
        entries = recorded(Path(ledger))
    chosen = select(known, only)
    if not chosen:
        raise ValueError("source holds no claim")
    cases: list[Any] = []
    for item in chosen:
        cases.append(pytest.param(item, False, id=item.id))
        cases.append(pytest.param(item, True, id=f"{item.id}-control"))

    @pytest.mark.parametrize(("claim", "control"), cases)
    def test(claim, control):
        rng, aside = with_control(claim, stream(claim.id, seed))
        if control:
            found = claim.negative_control(budget, aside)
            good = found.verdict == FAILS
            reason = f"the check does not reject the negative control {claim.control}"
        else:
            found, entry = claim.verify(budget, rng), entries.get(claim.id)
            good = outcome(found.verdict, budget, entry, claim.expected) not in WRONG
            reason = f"expected {claim.expected if entry is None else entry.verdict}"
        if not good:
            needed = f" It would take {found.needed}." if found.needed else ""
            raise AssertionError(
                f"{claim.id} {found.verdict}, {reason}: {found.sentence}.{needed}"
                + (f" {dict(found.counterexample)}" if found.counterexample else "")
            )

    return test
