"""Definition C.3 for A_{t,1} with c = 2, mu = 1 and any c_0: a step leaves one row of E, k = 2.

r = sigma_1 = 1, M = 2 and z = (1, 0), (0, 1): the server has U = U*, and V = V* + (0, w). Client 1
does not move. At client 2, whose ratings are 0, a step of size d on any item fits all of them.
"""

from fractions import Fraction


def sides(
    d: int = 16, mu: Fraction = Fraction(1), c_0: Fraction = Fraction(1, 10**6)
) -> tuple[Fraction, Fraction]:
    """Return the incoherence of client 2's error after its step, and the mu of the event."""
    c, eta, w = 2, d, min(Fraction(1, d), c_0)
    u = star = Fraction(1, {16: 4, 64: 8, 256: 16}[d])  # the rows of U and of U*
    level = d * (u * w) ** 2 / 4  # L at the server: client 1 has no loss
    row = u - eta * (u * w) * w  # the item's row of U, and the second entry of V
    last = w - eta * (u * w) * u
    for U, V in (([u] * d, (1, w)), ([row] + [u] * (d - 1), (1, last))):
        squares = [(x * V[1]) ** 2 for x in U]  # of E z
        assert max(sum(x * x for x in U), sum(x * x for x in V)) <= c**2
        assert d * max(x * x for x in U) <= 1
        assert d * max(squares) <= sum(squares)
        assert sum(squares) / 2 <= c * min(level, c_0)
    E = [(x - star, x * last) for x in (row, u)]  # the item's row, and all others
    lengths = [a * a + b * b for a, b in E]
    assert lengths[1] == 0  # the item's row has the norm of E, whose columns are 2
    return Fraction(d, 2), mu
