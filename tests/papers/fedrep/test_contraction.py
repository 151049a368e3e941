"""Helper formulas of the checks of Lemma 6 against naive versions."""

from fractions import Fraction

import numpy as np
import pytest

from linrep.papers.fedrep import eq70_to_84, eq85
from linrep.theory.fedrep_lemmas import triangle_bound


def test_needed_inverts_the_bound():
    for least in (0.4, 0.9, 0.999):
        triangle = np.diag([least, 1.0])
        delta = eq70_to_84._needed(triangle, 0.1, 1.3)
        bound = triangle_bound(delta, step_size=0.1, sigma_max=1.3)
        assert float(bound) == pytest.approx(least**-0.5)
    assert eq70_to_84._needed(1.5 * np.eye(2), 0.1, 1.3) == 0.0


def test_excess_of_the_conclusion():
    for a in (Fraction(1, 4), Fraction(1, 10)):
        for share in (Fraction(0), Fraction(1, 5)):
            y = share * a
            direct = (1 - a + 2 * y) ** 2 - (1 - 4 * y) * (1 - a / 2)
            assert direct == a * eq85._excess(a, share, Fraction(1, 2))


def test_largest_share_makes_the_conclusion_an_equality():
    a = 0.25
    y = eq85._largest_share() * a
    assert (1 - a + 2 * y) / np.sqrt(1 - 4 * y) == pytest.approx(np.sqrt(1 - a / 2), rel=1e-12)
