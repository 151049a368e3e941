"""(5) and Appendix A.1: one client, N = d = k = 1, x = B = w = eta = 1 and y = 0."""

from fractions import Fraction

INSTANCE = {"one client, N = d = k": 1, "x, B, w, eta": 1, "y": 0}


def changes(loss=1) -> tuple[Fraction, Fraction]:
    """Return the change of B in (5), for losses of this weight, and in Appendix A.1."""
    x, w, y, B, loss = 1, 1, 0, Fraction(1), Fraction(loss)

    def value(B):
        return loss * (x * B * w - y) ** 2

    # The loss is a square in B: a difference over 2 is its derivative.
    return -(value(B + 1) - value(B - 1)) / 2, -Fraction(x) * (x * B * w - y) * w


def sides(loss=1) -> tuple[Fraction, Fraction]:
    """Return how far apart the changes are, and 0."""
    printed, appendix = changes(loss)
    return abs(printed - appendix), Fraction(0)
