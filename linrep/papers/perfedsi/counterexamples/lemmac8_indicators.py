"""From (43) on: X is 1 or -1, with the same probability; the smaller event is X = 1."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return |E X 1| on the smaller event, and on the larger one, which is sure."""
    outcomes = (1, 1), (-1, 0)  # X, and whether it is in the smaller event
    smaller = sum((Fraction(x * kept, 2) for x, kept in outcomes), Fraction(0))
    larger = sum((Fraction(x, 2) for x, _ in outcomes), Fraction(0))
    return abs(smaller), abs(larger)
