"""(11) after one local step: one client with F = -(u v)^2/2 at u = v = 1, K = 2, without noise."""

from fractions import Fraction

ETA = Fraction(1, 20)


def squares(p: Fraction = Fraction(1, 2)) -> tuple[Fraction, Fraction, Fraction]:
    """Return E|D grad(V_1)|^2, E|grad(V_1)|^2 and |grad(V_0)|^2; eta_v = p eta/K.

    A participant's v grows by the factor 1 + eta_v, and its gradient -v as well. The second
    derivatives v^2, u^2 and 2 u v of F have the norm 4 at most there, and eta is below 1/(2L).
    """
    grown = (1 + p * ETA / 2) ** 2
    return p * grown, p * grown + 1 - p, Fraction(1)


def sides() -> tuple[Fraction, Fraction]:
    """Return both sides with V_k on the right, where the right side is larger than with V^t."""
    p = Fraction(1, 2)
    left, later, _ = squares(p)
    return left, p * later


def display() -> tuple[Fraction, Fraction]:
    """Return |D|_2^2 sigma^2 and the mean square of the noise, which the display says is equal.

    One of two clients takes part; noise is +-1/2 for each, so that sigma^2 = 1/2.
    """
    sigma = Fraction(1, 2)
    return 2 * sigma**2, sigma**2
