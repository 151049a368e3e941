"""Appendix B: two clients with the biases 1 and -1, for which one model has their mean 0."""

from fractions import Fraction


def sides(factor: Fraction | int = 1) -> tuple[Fraction, Fraction]:
    """Return the printed limit of a client's excess risk, and that of its definition."""
    biases = Fraction(1), Fraction(-1)
    mean = (biases[0] + biases[1]) / 2
    return Fraction(factor) * (biases[0] - mean) ** 2, (biases[0] - mean) ** 2 / 2
