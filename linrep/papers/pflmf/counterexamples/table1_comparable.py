"""Table 1, MNIST, Dir(0.5): the accuracies of pFL^MF at r = 15 and of FLUTE, in per cent."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return how many points they are apart, and 10 points, within which they are comparable."""
    return Fraction("98.24") - Fraction("76.72"), Fraction(10)
