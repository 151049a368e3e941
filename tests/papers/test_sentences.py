"""What verdicts say: how large a violation is, how many of each there are."""

import re
from fractions import Fraction
from math import inf

import pytest

from linrep.claims import Cases, ledger
from linrep.claims.decisions import excess
from linrep.claims.evidence import ratio_is, tally
from linrep.claims.verdict import decide


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        ([(1.0, 2.0, {})], "left side larger in 0 of 1 case"),
        ([(1.0, 2.0, {}), (1.0, 1.0, {})], "left side larger in 0 of 2 cases"),
        ([(3.0, 2.0, {})], "left side larger in 1 of 1 case: 1.5 times the right side"),
        (
            [(30.0, 2.0, {}), (1.0, 0.5, {})],
            "left side larger in 2 of 2 cases; at the largest excess 15 times the right side",
        ),
        ([(3.0, 0.0, {})], "left side larger in 1 of 1 case, by 3"),
        ([(-1.0, -3.0, {}), (0.0, 1.0, {})], "left side larger in 1 of 2 cases, by up to 2"),
        ([(inf, 1.0, {})], "left side larger in 1 of 1 case: the left side is infinite"),
        (
            [(1 + Fraction(1, 10**25), Fraction(1), {})],
            "left side larger in 1 of 1 case: 1 + 1e-25 times the right side",
        ),
    ],
)
def test_a_violation_is_told_as_a_ratio_where_there_is_one(cases, sentence):
    assert decide(Cases(cases, name="it")).sentence == sentence


def test_the_instance_stands_beside_the_number():
    at = {"p": "1/10", "T": 200, "L": 1}
    found = decide(Cases([(3, 2, at)], name="it", shown=("p", "T", "q")))
    assert found.sentence.endswith("1.5 times the right side (p = 1/10, T = 200)")


def test_the_ledger_says_it_as_the_check_does():
    """A sentence that is worded anew is recorded anew."""
    pattern = re.compile(r"left side larger in (\d+) of (\d+) cases?")
    seen = 0
    for name, entry in ledger.recorded().items():
        for part in (entry, *entry["parts"]):
            found = pattern.search(part["sentence"])
            if not found:
                continue
            violations, count = map(int, found.groups())
            left, right = (
                inf if part[key] is None else part[key] for key in ("measured", "predicted")
            )
            if violations and left == right:
                continue  # only their fractions differ
            kind = ratio_is(part["measured_is"], part["predicted_is"])
            said = excess(left, right, violations, count, {}, kind=kind)
            assert said in part["sentence"], (name, part.get("name", ""))
            seen += violations > 0
    assert seen > 100


def test_shares_of_clients_and_rounds_stand_beside_the_shortfall_of_theorem_1():
    for name in ("pflmf.theorem1", "pflmf.theorem1.noise"):
        entry = ledger.recorded()[name]
        at = entry["counterexample"]
        said = (
            f"at least {entry['measured']:.4g} times the right side (p = {at['p']}, T = {at['T']})"
        )
        assert said in entry["sentence"]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"holds": 1}, "1 claim holds"),
        ({"fails": 22, "holds": 0}, "22 of 22 claims fail"),
        ({"vacuous": 2}, "2 of 2 claims are vacuous"),
        ({"holds": 2, "fails": 1, "error": 1}, "4 claims: 2 hold, 1 fails, 1 stops with an error"),
        ({"undecided": 1, "vacuous": 2}, "3 claims: 1 is undecided, 2 are vacuous"),
        ({}, "0 claims"),
    ],
)
def test_verdicts_are_counted_in_a_sentence(counts, said):
    assert "".join(text for _, text in tally(counts)) == said
