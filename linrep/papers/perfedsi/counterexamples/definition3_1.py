"""Definition 3.1 with c = 2 and c_0 = 1/(8 d): a client's own U shrinks by K, mu = min(d, K^2).

r = sigma_1 = 1, M = 2 and z = (1, 0), (0, 1), so that c_z = 2: the server has U = U*, and V =
V* + (0, w). Client 1 does not move. Client 2, whose ratings are 0, takes a step of size 2 d on each
of the d items: w changes its sign, and one row of U becomes 1/K of what it was.
"""

from fractions import Fraction


def sides(d: int = 16, root: Fraction = Fraction(2, 3)) -> tuple[Fraction, Fraction]:
    """Return a lower bound of |V|/|U| at the end, and c^2/(1 - sqrt(s)), s = 2 c_z c c_0.

    1/K is 1 - 2 root^2.
    """
    c, eta, c_0 = 2, 2 * d, Fraction(1, 8 * d)
    u = Fraction(1, {16: 4, 64: 8, 256: 16}[d])  # the rows of U*
    w = root * u
    level = d * (u * w) ** 2 / 4  # L at the server: client 1 has no loss
    mu, U = min(Fraction(d), 1 / (1 - 2 * root**2) ** 2), [u] * d
    assert level <= c_0
    for item in (None, *range(d)):
        if item is not None:
            before, x = U[item], U[item] * w
            U[item] -= eta * x * w
            w -= eta * x * before
        squares = [(row * w) ** 2 for row in U]  # of E z
        sizes = sum(row * row for row in U), 1 + w * w
        assert max(sizes) <= c**2
        assert max(d * row * row for row in U) <= 1
        assert d * max(squares) <= mu * sum(squares)
        assert sum(squares) / 2 <= c * min(level, c_0)
    assert len(set(map(abs, U))) == 1  # and |V| is at least 1
    assert 8 * c_0 == u**2  # s
    return u / abs(U[0]), c**2 / (1 - u)
