"""(4) with X'X/N = I, k = 1: gamma_1 = 2 gamma_2, and gamma_1 = 0; the loss has the weight 1/2."""

from fractions import Fraction

INSTANCE = {"gamma_1": "1/4", "gamma_2": "1/8", "weight of the loss": "1/2"}


def shrinkage(gamma_1, gamma_2, weight=Fraction(1, 2)) -> Fraction:
    """Return what the minimizer is of the best model of rank k, c/(c + 2 gamma_2 - gamma_1).

    The loss on new labels exceeds that on a client's own by an amount in proportion to it.
    """
    return weight / (weight + 2 * Fraction(gamma_2) - Fraction(gamma_1))


def sides(gamma_1=Fraction(1, 4)) -> tuple[Fraction, Fraction]:
    """Return the over-fitting with term (I), and that without it, which it is said to mitigate."""
    return shrinkage(gamma_1, Fraction(1, 8)), shrinkage(0, Fraction(1, 8))
