"""One step of a client with z = (1, 2, 2)/3 on item 3, of 16; r = 1, U = U* and V = (1, 1, 2)/2.

(z, rating) and (-z, -rating) give the same update: what can be known is z up to its sign.
"""

from fractions import Fraction
from math import isqrt

ETA, ROW = Fraction(1, 10), Fraction(1, 4)  # of U, the item's
V = [Fraction(1, 2), Fraction(1, 2), Fraction(1)]


def inner(a, b):
    """Return the inner product."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def update(z, rating):
    """Return how much less the item's row of U and V are that the client sends."""
    residual = ROW * inner(V, z) - rating
    return ETA * residual * inner(V, z), [ETA * residual * x * ROW for x in z]


def sides() -> tuple[Fraction, Fraction]:
    """Return 2, the least number of answers that leaves z open, and how many there are.

    An answer is z up to its sign. V's move is eta times the row and p = rho z, where the residual
    rho is (u V' - M*_i) z, so that its square is (u V' - M*_i) p; M* has U* in its first column.
    """
    z = [Fraction(x, 3) for x in (1, 2, 2)]
    star = [ROW, Fraction(0), Fraction(0)]
    sent = update(z, inner(star, z))
    scaled = [step / (ETA * ROW) for step in sent[1]]
    square = inner([ROW * v - entry for v, entry in zip(V, star, strict=True)], scaled)
    size = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    assert size**2 == square
    answers = set()
    for sign in (1, -1):
        guess = [sign * x / size for x in scaled]
        if update(guess, inner(star, guess)) == sent:
            answers.add(max(tuple(guess), tuple(-x for x in guess)))
    assert answers == {tuple(z)}
    return Fraction(2), Fraction(len(answers))
