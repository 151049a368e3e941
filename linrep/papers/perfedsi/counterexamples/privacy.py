"""One step of a client with z = (1, 2, 2)/3 on item 3, of 16; r = 1, U = U* and V = (1, 1, 2)/2.

(z, rating) and (-z, -rating) give the same update: what can be known is z up to its sign.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the squared cosine of z and what the server computes, and 99/100, less than 1."""
    z = [Fraction(x, 3) for x in (1, 2, 2)]
    u, star = Fraction(1, 4), [Fraction(1, 4), Fraction(0), Fraction(0)]  # rows of U and of M*
    V, eta = [Fraction(1, 2), Fraction(1, 2), Fraction(1)], Fraction(1, 10)
    residual = sum((u * v - s) * x for v, s, x in zip(V, star, z, strict=True))
    move = [eta * residual * x * u for x in z]  # V less the V that the client sends
    found = [step / (eta * u) for step in move]
    inner = sum((x * y for x, y in zip(found, z, strict=True)), Fraction(0))
    squares = [sum((x * x for x in one), Fraction(0)) for one in (found, z)]
    return inner**2 / (squares[0] * squares[1]), Fraction(99, 100)
