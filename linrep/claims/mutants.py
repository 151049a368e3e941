"""Versions of a statement that say more, and whether its check notices.

Each constant that a claim names in `stronger` is moved so that the statement says more. A true
statement that is sharp becomes false at once; a check that goes on accepting it has not looked
where that shows, or the statement is not sharp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from linrep.claims import solvers
from linrep.claims.certificates import POSSIBLE, certificates
from linrep.claims.claim import BUDGETS, Claim, claims, paper_of
from linrep.claims.evidence import CERTIFIED, FAILS, HOLDS, UNDECIDED
from linrep.claims.record import PROVED, Moved
from linrep.claims.record import REFUTED as COUNTEREXAMPLE
from linrep.claims.verify import stream

#: What becomes of a version: it is refuted, it is proved true as well, or the check does not notice
#: it; of a statistical one also that it is no longer accepted.
REFUTED, TRUE, DOUBTED, ACCEPTED = "refuted", "true as well", "doubted", "not noticed"

#: By how much of itself a constant is moved.
SHARES = (Fraction(1, 20), Fraction(1, 10), Fraction(1, 2))

_SECONDS = 5.0  # for a solver


@dataclass(frozen=True)
class Mutant:
    """A version of a statement that says more.

    Attributes
    ----------
    claim : str
        Id of the statement.
    constant : str
        Name of what was moved.
    share : Fraction
        By how much of itself; of what is 0, by how much.
    value : number
        What it is now.
    """

    claim: str
    constant: str
    share: Fraction
    value: Any


def mutants(claim: Claim, shares: Iterable[Fraction] = SHARES) -> list[Mutant]:
    """Return versions of a statement that say more: each of its constants moved."""
    shares = list(shares)
    return [
        Mutant(claim.id, name, share, _moved(claim.value_of(name), sign * share))
        for name, direction in claim.stronger.items()
        for share in shares
        for sign in ([direction] if direction else (1, -1))
    ]


def weaker(claim: Claim, share: Fraction = SHARES[0]) -> list[Mutant]:
    """Return versions of a statement that say less, which are true if it is."""
    return [
        Mutant(claim.id, name, share, _moved(claim.value_of(name), -direction * share))
        for name, direction in claim.stronger.items()
        if direction
    ]


def _moved(value, share):
    """Return a number moved by a share of itself, 0 by the share; exact where it was."""
    step = share * (abs(value) if value else 1)
    return value + float(step) if isinstance(value, float) else Fraction(value) + step


def try_mutant(mutant: Mutant, budget: str = "quick", seed: int = 0) -> str:
    """Return what becomes of a version: "refuted", "true as well", "not noticed" or "doubted"."""
    said = ask_solvers(mutant)
    if said == REFUTED:
        return REFUTED
    claim = claims([paper_of(mutant.claim)])[mutant.claim]
    changed = {mutant.constant: mutant.value}
    found = claim.verify(budget, stream(mutant.claim, seed), **changed)
    if found.verdict in (FAILS, UNDECIDED):
        return REFUTED if found.verdict == FAILS else DOUBTED
    proved = said == TRUE or found.strength == CERTIFIED
    return TRUE if found.verdict == HOLDS and proved else ACCEPTED


def ask_solvers(mutant: Mutant) -> str:
    """Return what solvers say of a version: "refuted", "true as well", or "" for neither.

    Lines count whose question has the constant. A false step of a proof refutes nothing, and only
    lines that suffice prove a version.
    """
    if not solvers.are_installed():
        return ""
    changed = {mutant.constant: Fraction(mutant.value)}
    having = [
        item
        for item in certificates([paper_of(mutant.claim)]).values()
        if item.claim == mutant.claim
        and mutant.constant in item.constants
        and item.smtlib(**changed) != item.smtlib()
    ]
    speaking = [item for item in having if item.family or item.stated]
    if any(_is_answer(COUNTEREXAMPLE, item.smtlib(**changed)) for item in speaking):
        return REFUTED
    enough = [item for item in having if item.stated and item.lines.suffice]
    proved = all(
        _is_answer(PROVED, item.smtlib(**changed))
        and _is_answer(POSSIBLE, item.hypotheses(**changed))
        for item in enough
    )
    return TRUE if enough and proved else ""


def _is_answer(answer, question):
    """Tell whether a solver answers so."""
    return any(solvers.ask(name, question, _SECONDS) == answer for name in solvers.SOLVERS)


def measure(
    claim: Claim,
    budget: str = "quick",
    seed: int = 0,
    shares: Iterable[Fraction] = SHARES,
    *,
    each: Callable[..., object] = lambda mutant, computed: None,
) -> dict[str, Moved]:
    """Try a statement's stronger versions, of each constant until one is refuted."""
    while (
        budget != BUDGETS[-1] and claim.verify(budget, stream(claim.id, seed)).verdict == UNDECIDED
    ):
        budget = BUDGETS[BUDGETS.index(budget) + 1]
    found: dict[str, dict[str, str]] = {}
    for mutant in mutants(claim, shares):
        outcomes = found.setdefault(mutant.constant, {})
        key = f"{float(100 * mutant.share):g}"
        if REFUTED in (said for percent, said in outcomes.items() if percent != key):
            each(mutant, computed=False)
            continue
        said = try_mutant(mutant, budget, seed)
        # Of an identity both ways have to be noticed.
        order = (REFUTED, TRUE, DOUBTED, ACCEPTED)
        outcomes[key] = max(said, outcomes.get(key, said), key=order.index)
        each(mutant, computed=True)
    return {
        name: {"value": str(claim.value_of(name)), "moved": outcomes}
        for name, outcomes in found.items()
    }
