"""Terms are written as solvers read them."""

from fractions import Fraction

import pytest

from linrep.claims.certificates import Term, script
from tests.tools import complaint

x, y = Term("x"), Term("y")


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (x + 1, "(+ x 1.0)"),
        (2 - x, "(- 2.0 x)"),
        (Fraction(-3, 4) * x, "(* (- (/ 3.0 4.0)) x)"),
        (1 / (x - y), "(/ 1.0 (- x y))"),
        (x**3, "(* x x x)"),
        (x**1, "x"),
        (-x, "(- x)"),
        (x <= y, "(<= x y)"),
        (0 < x, "(> x 0.0)"),  # noqa: SIM300 - what Python makes of it
        (x == 2, "(= x 2.0)"),
        (x**2 / 2 >= 1, "(>= (/ (* x x) 2.0) 1.0)"),
    ],
)
def test_terms_are_written_in_prefix_form(term, text):
    assert term.text == text


def test_what_has_no_place_in_a_question_is_refused():
    with complaint(TypeError, "0.5"):
        x + 0.5
    with complaint(ValueError, "exponent", "0"):
        x**0
    with complaint(ValueError, "exponent", "0.5"):
        x**0.5
    with complaint(TypeError, "comparisons"):
        assert 0 < x < 1


def test_a_question_asks_for_what_is_not_so():
    text = script(["x", "y"], [x > 0, True], x * y <= 1, "one\ntwo")
    assert text.splitlines() == [
        "; one",
        "; two",
        "(set-logic QF_NRA)",
        "(declare-const x Real)",
        "(declare-const y Real)",
        "(assert (> x 0.0))",
        "(assert true)",
        "(assert (not (<= (* x y) 1.0)))",
        "(check-sat)",
    ]
