"""Interval arithmetic: what is certified is true everywhere, what is refuted fails at the point."""

from fractions import Fraction
from math import exp, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.claims import FAILS, HOLDS, UNDECIDED, Condition, Missing, decide
from linrep.claims.search import everywhere


def test_an_inequality_of_two_variables_is_proved():
    found = everywhere(
        lambda x, y: (x * y).log(), lambda x, y: x + y, {"x": (Fraction(1, 100), 5), "y": (1, 5)}
    )
    assert isinstance(found, Condition)
    decided = decide(found)
    assert (decided.verdict, decided.strength) == (HOLDS, "certified")
    x, y = np.meshgrid(np.linspace(0.01, 5, 200), np.linspace(1, 5, 200))
    assert found.measured >= (np.log(x * y) - x - y).max()


def test_a_false_one_is_refuted_at_a_point_of_the_region():
    found = everywhere(lambda x: x.exp(), lambda x: 1 + 2 * x, {"x": (0, 2)}, name="chord")
    decided = decide(found)
    assert (decided.verdict, decided.strength, decided.name) == (FAILS, "exact", "chord")
    x = Fraction(found.setting["x"])
    assert 0 <= x <= 2
    assert exp(x) - 1 - 2 * float(x) == pytest.approx(found.measured)
    assert found.measured > 0


def test_where_both_sides_meet_it_gives_up_and_says_so():
    found = everywhere(lambda x: 1 + x, lambda x: x.exp(), {"x": (-1, 1)}, boxes=200)
    assert isinstance(found, Missing)
    assert decide(found).verdict == UNDECIDED
    assert "200" in found.why or "201" in found.why


def test_a_point_may_be_the_region():
    assert everywhere(lambda x: x, lambda x: x * x, {"x": (3, 3)}).good
    assert not everywhere(
        lambda x: x, lambda x: x * x, {"x": (Fraction(1, 2), Fraction(1, 2))}
    ).good


def test_undefined_on_a_piece_is_not_proved():
    found = everywhere(lambda x: x.log(), lambda x: x, {"x": (-1, 1)}, boxes=100)
    assert isinstance(found, Missing) or not found.good


def test_ends_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match="region of x: the lower end 2"):
        everywhere(lambda x: x, lambda x: x, {"x": (2, 1)})


@given(st.fractions(0, 3), st.fractions(Fraction(1, 100), 3))
def test_logarithms_below_their_tangents(low, length):
    above = Fraction(1, 1000)
    found = everywhere(
        lambda x: (1 + x).log(), lambda x: x + above.numerator / (1000 + 0 * x),
        {"x": (low, low + length)},
    )  # fmt: skip
    assert found.good
    assert found.measured <= 0
    assert found.measured >= log1p(low) - float(low) - 0.001 - 1e-12
