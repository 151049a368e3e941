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

    An answer is z of norm 1 up to its sign: V's move is eta times the row, the residual and z.
    """
    z = [Fraction(x, 3) for x in (1, 2, 2)]
    sent = update(z, ROW * z[0])  # M* has U* in its first column alone
    scaled = [step / (ETA * ROW) for step in sent[1]]
    square = inner(scaled, scaled)  # of the residual
    size = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    assert size**2 == square
    answers = set()
    for sign in (1, -1):
        guess = [sign * x / size for x in scaled]
        ratings = (ROW * inner(V, guess) - residual for residual in (size, -size))
        if any(update(guess, rating) == sent for rating in ratings):
            answers.add(max(tuple(guess), tuple(-x for x in guess)))
    assert answers == {tuple(z)}
    return Fraction(2), Fraction(len(answers))
