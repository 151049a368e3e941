"""Definition C.3 for A_{t,0} with c = 1.01, mu = 1.1, c_0 = 1/2: V = V* = 1, U one small row.

k = r = 1 and z = 1.
"""

from fractions import Fraction


def sides(d: int = 16, mu: Fraction = Fraction(11, 10)) -> tuple[Fraction, Fraction]:
    """Return the incoherence of U, and the mu of the event."""
    c, c_0, root = Fraction(101, 100), Fraction(1, 2), {16: 4, 64: 8, 256: 16}[d]
    star = Fraction(1, root)  # the rows of U*
    U = [Fraction(1, 10**4 * root)] + [Fraction(0)] * (d - 1)
    squares = [(u - star) ** 2 for u in U]
    largest = max(u * u for u in U)
    assert d * largest <= Fraction(11, 10)
    assert d * max(squares) <= Fraction(11, 10) * sum(squares)
    assert sum(squares) / 2 <= c * min(sum(squares) / 2, c_0)
    return d * largest / sum(u * u for u in U), mu
