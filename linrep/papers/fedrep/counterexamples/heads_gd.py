"""Section 4.1: m = k = 2, G = diag(1, 1/100), errors (1, 100) of a head; epsilon = 1/2.

log(1/epsilon) = 0.69 updates are less than one. Even one, of whatever step, is not enough.
"""

from fractions import Fraction

SPECTRUM = Fraction(1), Fraction(1, 100)
ERROR = Fraction(1), Fraction(100)
EPSILON = Fraction(1, 2)


def left_by_one_update() -> Fraction:
    """Return the share of the loss that the best step leaves.

    The loss is error' G error/2, of gradient g = G error; its least value along g is lower by
    (g'g)^2/(2 g'Gg).
    """
    gradient = [a * b for a, b in zip(SPECTRUM, ERROR, strict=True)]
    loss = sum(a * b**2 for a, b in zip(SPECTRUM, ERROR, strict=True))
    curvature = sum(a * b**2 for a, b in zip(SPECTRUM, gradient, strict=True))
    return 1 - Fraction(sum(a**2 for a in gradient) ** 2) / curvature / loss


def sides() -> tuple[Fraction, Fraction]:
    """Return what one update leaves of the loss, and epsilon."""
    return left_by_one_update(), EPSILON
