"""What verdicts say: how large a violation is, how many of each there are."""

import re
from fractions import Fraction
from math import inf

import pytest

from linrep._lib.display import number
from linrep.claims import Cases, ledger
from linrep.claims.evidence import tally
from linrep.claims.verdict import decide


@pytest.mark.parametrize(
    ("cases", "numbers"),
    [
        ([(1.0, 2.0, {})], ["0", "1"]),
        ([(1.0, 2.0, {}), (1.0, 1.0, {})], ["0", "2"]),
        ([(3.0, 2.0, {})], ["1", "1", "1.5"]),
        ([(30.0, 2.0, {}), (1.0, 0.5, {})], ["2", "2", "15"]),
        ([(3.0, 0.0, {})], ["1", "1", "3"]),
        ([(-1.0, -3.0, {}), (0.0, 1.0, {})], ["1", "2", "2"]),
        ([(1 + Fraction(1, 10**25), Fraction(1), {})], ["1", "1", "1", "1e-25"]),
    ],
)
def test_a_sentence_has_the_counts_and_the_ratio_or_the_difference(cases, numbers):
    """How many of how many, then how many times the right side, or by how much where that is 0."""
    sentence = decide(Cases(cases, name="it")).sentence
    assert re.findall(r"\d[\d.]*(?:e-?\d+)?", sentence) == numbers
    assert ("times" in sentence) == (cases[0][1] > 0 and numbers[0] != "0")


def test_an_infinite_left_side_is_called_so():
    assert "infinite" in decide(Cases([(inf, 1.0, {})], name="it")).sentence


def test_the_instance_stands_beside_the_number():
    at = {"p": "1/10", "T": 200, "L": 1}
    sentence = decide(Cases([(3, 2, at)], name="it", shown=("p", "T", "q"))).sentence
    assert all(text in sentence for text in ("1.5", "p = 1/10", "T = 200"))
    assert "L" not in sentence


def test_shares_of_clients_and_rounds_stand_beside_the_shortfall_of_theorem_1():
    for name in ("pflmf.theorem1", "pflmf.theorem1.noise"):
        entry = ledger.recorded()[name]
        at = entry.counterexample
        for text in (number(entry.measured, -1), f"p = {at['p']}", f"T = {at['T']}"):
            assert text in entry.sentence


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
