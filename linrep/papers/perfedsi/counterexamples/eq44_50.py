"""(44) at the server's iterate: V = V* = 1, U = (1 + e) U*, z = 1, and k = r = mu_z = 1."""

from fractions import Fraction


def sides(error: Fraction = Fraction(1, 1000)) -> tuple[Fraction, Fraction]:
    """Return the squares of |M* z| |U'Ez| and of c sqrt(L), without the common eta/d."""
    c = 1 + error  # of U
    loss = error**2 / 2
    return (c * error) ** 2, c**2 * loss
