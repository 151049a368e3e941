"""(49) at the server's iterate: V = V* = 1, U = (1 + e) U*, z = 2 for all clients, d = 16.

k = r = sigma_1 = mu_E = 1 and mu_z = 4: c = 1 + e is enough, and all L_m are L.
"""

from fractions import Fraction


def sides(error: Fraction = Fraction(1, 1000)) -> tuple[Fraction, Fraction]:
    """Return both sides of (49), without the common eta^2/d^2."""
    d, z, c = 16, 2, 1 + error
    row, x = c / 4, z * error / 4  # of U and of Ez
    loss = d * x**2 / 2
    square = d * row**2  # of U
    # |z|^4 U U' diag(x^2) U, a multiple of U*, over d: the norm of U is that multiple.
    left = z**4 * square * x**2 * c * d
    return left, c**3 * 4 * loss
