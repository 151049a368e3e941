"""Stronger versions of statements: what is moved, which way, and what becomes of it."""

from dataclasses import replace
from fractions import Fraction

import pytest

from linrep.claims import (
    UNDECIDED,
    Cases,
    Claim,
    Frequency,
    claims,
    everywhere,
    ledger,
    mutants,
)  # fmt: skip
from linrep.claims.certificates import certificates
from linrep.claims.evidence import HOLDS, MISPRINT
from linrep.claims.mutants import Mutant, measure, try_mutant, weaker
from tests.tools import complaint


def square(budget, rng, *, factor=4, power=2.0, offset=0, used=1):
    """x^2 <= factor x^power / 4 + offset on [0, 1], at tenths."""
    cases = [
        (x**2, float(factor) * x**power / 4 + float(offset), {"x": x})
        for x in (i / 10 for i in range(1, 11))
    ]
    yield Cases(cases, name="at tenths")


def claim(stronger, **options):
    return Claim(
        "a.square", "x^2 is small", square, control={"power": 3.0}, stronger=stronger, **options
    )


def test_constants_are_moved_by_shares_of_themselves_and_exact_ones_stay_exact():
    moved = mutants.mutants(claim({"factor": -1, "power": 1, "offset": -1, "used": 0}))
    values = {(each.constant, each.share): [] for each in moved}
    for each in moved:
        values[each.constant, each.share].append(each.value)
    half = Fraction(1, 2)
    assert values["factor", half] == [2]
    assert values["factor", Fraction(1, 20)] == [Fraction(19, 5)]
    assert values["power", half] == [3.0]
    assert values["offset", half] == [Fraction(-1, 2)]
    assert values["used", half] == [Fraction(3, 2), half]
    less = {each.constant: each.value for each in weaker(claim({"factor": -1, "used": 0}))}
    assert less == {"factor": Fraction(21, 5)}


def test_the_smallest_change_that_is_noticed_is_found(monkeypatch):
    item = claim({"factor": -1, "used": -1})
    monkeypatch.setattr(mutants, "claims", lambda papers: {item.id: item})
    found = measure(item)
    assert found["factor"] == {"value": "4", "moved": {"5": "refuted"}}
    assert found["used"]["moved"] == {"5": "not noticed", "10": "not noticed", "50": "not noticed"}


def test_what_has_too_few_draws_for_the_statement_itself_is_tried_with_more(monkeypatch):
    def check(budget, rng, *, factor=1.0, other=1.0):
        yield Frequency(0, budget(3, 10_000), factor * other / 100.0, name="an event")

    item = Claim("a.rare", "rare", check, control={"other": -1.0}, stronger={"factor": -1})
    monkeypatch.setattr(mutants, "claims", lambda papers: {item.id: item})
    assert item.verify("quick").verdict == UNDECIDED
    assert measure(item)["factor"]["moved"] == dict.fromkeys(("5", "10", "50"), "not noticed")


def test_what_a_counterexample_decides_has_no_constants_to_move():
    def check(budget, rng, *, factor=1.0, printed=True):
        yield Cases([(2.0, factor, {})])

    item = Claim("a.printed", "so", check, control={"factor": 0.5})
    assert item.values == {"printed": True}
    with complaint(ValueError, "a.printed", "stronger"):
        replace(item, stronger={"factor": -1})
    corrected = replace(item, constants={"printed": False}, stronger={"factor": -1})
    assert corrected.values == {"factor": 1.0, "printed": False}


def test_intervals_prove_a_stronger_version(monkeypatch):
    def check(budget, rng, *, bound=2, other=1):
        bound = Fraction(bound)
        yield everywhere(
            lambda x: bound.denominator * x * x, lambda x: 0 * x + bound.numerator, {"x": (0, 1)}
        )

    item = Claim("a.intervals", "x^2 <= 2", check, control={"bound": Fraction(1, 2)},
                 stronger={"bound": -1, "other": 1})  # fmt: skip
    monkeypatch.setattr(mutants, "claims", lambda papers: {item.id: item})
    assert try_mutant(Mutant(item.id, "bound", Fraction(1, 20), Fraction(3, 2))) == "true as well"
    assert try_mutant(Mutant(item.id, "bound", Fraction(1, 20), Fraction(3, 4))) == "refuted"


def test_a_direction_is_one_of_three_and_of_a_constant_that_there_is():
    with complaint(ValueError, "factor", "2"):
        claim({"factor": 2})
    with complaint(ValueError, "facter"):
        claim({"facter": 1})


def test_a_family_of_examples_refutes_by_solvers():
    pytest.importorskip("z3")
    pytest.importorskip("cvc5")
    moved = Mutant("pflmf.theorem1.corrected", "p_power", Fraction(1, 20), Fraction(19, 10))
    assert try_mutant(moved) == "refuted"


def test_what_is_recorded_is_of_the_constants_that_claims_name():
    known, entries, wrong = claims(), ledger.recorded(), []
    for item in known.values():
        of = entries[item.id].sensitivity
        named = item.stronger if entries[item.id].verdict in (HOLDS, MISPRINT) else {}
        if set(of) != set(named):
            wrong.append(f"{item.id}: {sorted(named)}, recorded {sorted(of)}")
        for name, each in of.items():
            if each["value"] != str(item.value_of(name)):
                wrong.append(f"{item.id}: {name} is {item.value_of(name)}, not {each['value']}")
    assert not wrong, "linrep verify --sensitivity --record"


def test_no_example_refutes_what_says_less():
    """As one would of which an equality is asked, where the statement is an inequality."""
    pytest.importorskip("z3")
    pytest.importorskip("cvc5")
    examples = {item.claim for item in certificates().values() if item.family}
    moved = [each for name in sorted(examples) for each in weaker(claims()[name])]
    assert moved
    assert [each for each in moved if mutants.ask_solvers(each) == "refuted"] == []


@pytest.mark.slow
def test_what_says_less_is_not_refuted():
    """Else a constant was moved the wrong way; those of statistical claims are left out."""
    entries, wrong = ledger.recorded(), []
    for item in claims().values():
        exact = entries[item.id].verdict == HOLDS and entries[item.id].level == 0
        for moved in weaker(item) if exact else ():
            if try_mutant(moved) == "refuted":
                wrong.append(f"{moved.claim}: {moved.constant} = {moved.value}")
    assert not wrong


@pytest.mark.slow
def test_what_is_recorded_comes_out_again():
    """Of deterministic claims whose checks are short: the smallest change that was refuted is."""
    entries, wrong = ledger.recorded(), []
    for item in claims().values():
        entry = entries[item.id]
        if entry.level > 0 or entry.seconds > 5.0 or entry.verdict not in (HOLDS, MISPRINT):
            continue
        of = entries[item.id].sensitivity
        for moved in mutants.mutants(item):
            said = of[moved.constant]["moved"].get(f"{float(100 * moved.share):g}")
            # Of an identity one of both ways may be noticed alone.
            one_way = said == "refuted" and item.stronger[moved.constant]
            if one_way and try_mutant(moved) != "refuted":
                wrong.append(f"{moved.claim}: {moved.constant} = {moved.value}")
    assert not wrong


def test_no_change_that_is_accepted_is_proved():
    """A derivation is of the statement's own constants."""
    known = claims()
    item = known["pflmf.theorem1.corrected"]
    assert item.verify("quick", 0, start=1.0).strength != "certified"
