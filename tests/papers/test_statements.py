"""What holds of every statement, and of all of them together."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linrep.claims import (
    FAILS,
    HOLDS,
    LEVEL,
    UNDECIDED,
    Condition,
    Measurement,
    claims,
    ledger,
    select,
    statement,
)
from linrep.claims.claim import Claim, corrections
from linrep.claims.evidence import LEDGER_LEVEL, STATISTICAL_CLAIMS
from linrep.claims.measurements import shared
from tests.tools import complaint

CLAIMS = claims()
RECORDED = ledger.recorded()
#: Claims whose negative controls are slow, or take longer than others that run the same lines.
SLOW = Path(__file__).with_name("slow.txt").read_text("utf-8").split()


def lacking(id, item):
    """Yield what a statement lacks, or its entry in the ledger."""
    if not re.fullmatch(r"[a-z]+(\.[a-zA-Z0-9_-]+)+", id):
        yield "an id of letters"
    for name in ("place", "latex", "plain"):
        text = getattr(item, name)
        if not text or text.strip() != text:
            yield name
    if not item.check.__doc__:
        yield "a docstring of its check"
    if "\n" in item.plain:
        yield "a plain sentence of one line"
    if item.corrects and not (item.corrects in CLAIMS and id.startswith(item.corrects)):
        yield "an id that begins with what it corrects"
    entry = RECORDED.get(id)
    if entry is None:
        yield f"an entry in the ledger: linrep verify {id} --budget standard --record"
        return
    if entry.level > LEVEL * (1.0 + 1e-9):
        yield "a level within its share"
    if (entry.budget, entry.seed) != ("standard", 0):
        yield "the standard budget and seed 0"
    if entry.verdict == FAILS and not entry.counterexample:
        yield "a counterexample"
    if entry.verdict == UNDECIDED and not entry.needed:
        yield "what it would take"


def test_statements_are_complete_and_recorded():
    found = {id: list(lacking(id, item)) for id, item in CLAIMS.items()}
    assert {id: what for id, what in found.items() if what} == {}


@pytest.mark.negative_control
@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.slow if id in SLOW else ()) for id in CLAIMS]
)
def test_a_negative_control_is_rejected(id):
    item = CLAIMS[id]
    control = item.negative_control("quick", np.random.default_rng(7))
    if control.verdict == UNDECIDED:  # its level takes more samples than a quick look has
        control = item.negative_control("standard", np.random.default_rng(7))
    assert control.verdict == FAILS, f"{id} with {dict(item.control)} {control}"


def constants(item):
    """Return the constants of a claim's check."""
    settings = list(inspect.signature(item.check).parameters.values())[2:]
    return {each.name: each.default for each in settings} | dict(item.constants)


# A check that rejects everything would reject its negative control, too. What it has to accept is
# in the ledger, which `linrep verify` runs; but for corrected constants that no claim states. A
# claim that corrects with the same constants states them, unless it looks at more.
MORE = ("pflmf.theorem1",)
STATED = {
    item.corrects
    for item in CLAIMS.values()
    if item.corrects not in ("", *MORE)
    and constants(item)
    == {**constants(CLAIMS[item.corrects]), **(CLAIMS[item.corrects].holds_with or {})}
}
UNSTATED = [
    name for name, item in CLAIMS.items() if item.holds_with is not None and name not in STATED
]


def test_a_true_version_is_recorded():
    without = []
    for name in CLAIMS.keys() - set(UNSTATED):
        corrected = {RECORDED[item.id].verdict for item in corrections(name)}
        unstated = CLAIMS[name].holds_with is not None and corrected - {FAILS}
        if RECORDED[name].verdict == FAILS and HOLDS not in corrected and not unstated:
            without.append(name)
    assert without == []


#: Of these no constants of the check are true: their controls come on top of what is false.
WITHOUT: list[str] = []


def test_a_control_of_what_fails_comes_on_top_of_what_holds():
    """Else it would be rejected for what is wrong in print, whatever it changes."""
    found = [
        name
        for name, item in CLAIMS.items()
        if RECORDED[name].verdict == FAILS
        and item.holds_with is None
        and not any(other.check is item.check for other in corrections(name))
    ]
    assert found == WITHOUT


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSTATED)
def test_corrected_constants_are_not_rejected(name):
    item = CLAIMS[name]
    assert item.verify("quick", np.random.default_rng(7), **item.holds_with).verdict != FAILS


@pytest.mark.negative_control
@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_how_a_level_is_shared_does_not_follow_what_comes_out(name):
    """Else a claim could choose what it is judged by."""
    found = [CLAIMS[name].measure("quick", seed) for seed in (11, 12)]
    first, second = [shared(x for x in each if isinstance(x, Measurement)) for each in found]
    assert first == pytest.approx(second, rel=1e-12)


def test_the_ledger_keeps_its_level():
    statistical = [entry for entry in RECORDED.values() if entry.level > 0.0]
    assert len(statistical) <= STATISTICAL_CLAIMS
    assert sum(entry.level for entry in RECORDED.values()) <= LEDGER_LEVEL


def test_lists_hold_nothing_else():
    assert set(RECORDED) == set(CLAIMS)
    assert set(SLOW) <= set(CLAIMS)


def test_patterns():
    assert [item.id for item in select(CLAIMS, ["fedrep.definition1"])] == ["fedrep.definition1"]
    assert len(select(CLAIMS, [])) == len(CLAIMS)
    assert all(item.paper == "fedrep" for item in select(CLAIMS, ["fedrep.*"]))
    with complaint(ValueError, "'nothing'", "--list"):
        select(CLAIMS, ["nothing"])
    with complaint(ValueError, "'fedrep.lema5'", "did you mean fedrep.lemma5"):
        select(CLAIMS, ["fedrep.lema5"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "nopaper"}, ("id", "'nopaper'")),
        ({"control": {}}, ("negative_control",)),
        ({"control": {"unknown": 1}}, ("'unknown'",)),
    ],
)
def test_an_incomplete_claim_is_refused(changes, words):
    fields = {"id": "a.b", "plain": "x"}
    with complaint(ValueError, *words):
        Claim(**{**fields, "control": {"c": 1}, "check": lambda budget, rng, c=0: None, **changes})


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda budget, rng, c=0: Condition(True), ("returns Condition",)),
        (lambda budget, rng, c=0: None, ("returns nothing",)),
        (lambda budget, rng, c=0: 3.0, ("returns float",)),
        (lambda budget, rng, c=0: [3.0], ("got float",)),
    ],
)
def test_a_check_that_measures_nothing_is_refused(check, words):
    claim = Claim(id="a.b", plain="x", control={"c": 1}, check=check)
    with complaint(TypeError, "a check yields measurements", *words):
        claim.measure()


@pytest.mark.parametrize("draw", [np.random.rand, lambda: np.random.seed(0)])  # noqa: NPY002
def test_global_random_numbers_are_refused(draw):
    def check(budget, rng, c=0):
        draw()
        yield Condition(True)

    claim = Claim(id="a.b", plain="x", control={"c": 1}, check=check)
    with complaint(ValueError, "global random numbers", "rng"):
        claim.measure()


def test_the_order_is_that_of_the_files_whatever_was_imported_first():
    first = "linrep.papers.pflmf.lemma3_to_7"
    code = f"import {first}; from linrep.claims import claims; print(*claims())"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert alone.stdout.split() == list(claims())


def check(budget, rng, *, x=1):
    yield from ()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"id": "mine"}, ValueError, ["paper.statement", "'mine'"]),
        ({"id": "../mine.bound"}, ValueError, ["id", "letters"]),
        ({"id": "mine./etc/x"}, ValueError, ["id", "letters"]),
        ({"id": "mine.bound\x1b[2J"}, ValueError, ["id", "letters"]),
        ({"id": "mine.b c"}, ValueError, ["id", "letters"]),
        ({"hypotheses": "Assumption 1"}, TypeError, ["hypotheses", "a list", "str"]),
    ],
)
def test_what_makes_no_statement_is_refused(options, kind, words):
    given = {"id": "mine.bound", "plain": "x", "negative_control": {"x": 2}} | options
    with complaint(kind, *words):
        statement(given.pop("id"), **given)(check)
