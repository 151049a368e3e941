"""Definition 3.1, c = 1.01, mu = 1.1, c_0 = 1/2, T = 1: V = V*, and U has one small row.

d = 16, r = 1, k = 2, z = (1, 1) and (1, -1): both clients have the same loss. All iterates of a
round of one step are in the event.
"""

from fractions import Fraction


def sides(bound: int = 10**6) -> tuple[Fraction, Fraction]:
    """Return the least (|V|/|U|)^2 in the round, and the square of a bound on |V|/|U|."""
    d, size, level = 16, Fraction(1, 2 * bound), Fraction(0)
    c, mu, c_0 = Fraction(101, 100), Fraction(11, 10), Fraction(1, 2)
    eta, star = size / d**2 / 1000, Fraction(1, 4)  # star: U*'s rows; V* = (1, 0)
    start = [size / 4] + [Fraction(0)] * (d - 1), [Fraction(1), Fraction(0)]
    found = []
    for z in ((1, 1), (1, -1)):
        for item in (None, *range(d)):
            U, V = list(start[0]), list(start[1])
            if item is not None:
                v = V[0] * z[0] + V[1] * z[1]
                x = U[item] * v - star
                V = [w - eta * x * U[item] * y for w, y in zip(V, z, strict=True)]
                U[item] -= eta * x * v
            v = V[0] * z[0] + V[1] * z[1]
            squares = [(u * v - star) ** 2 for u in U]
            level = level or sum(squares, Fraction(0)) / 2  # L at the start
            norms = [sum((w * w for w in A), Fraction(0)) for A in (U, V)]
            assert max(norms) <= c**2
            assert d * max(u * u for u in U) <= mu
            assert d * max(squares) <= mu * sum(squares)
            assert sum(squares) / 2 <= c * min(level, c_0)
            found.append(norms[1] / norms[0])
    return min(found), Fraction(bound) ** 2
