"""Algorithm 1 from the global minimum of a sum over two clients of |u v_i - a_i|^2/4.

a = (2, 1), (2, -1), u = (1, 0), v = (2, 2); K = 1 and eta = 1/100. The gradients of F are 0, those
of clients are not.
"""

from fractions import Fraction

A = ((2, 1), (2, -1))
ETA = Fraction(1, 100)


def gradients(u, v):
    """Return of F those in u and v, and clients' own in u."""
    apart = [
        [x * at - a for x, a in zip(u, each, strict=True)] for at, each in zip(v, A, strict=True)
    ]
    own = [[x * at for x in row] for at, row in zip(v, apart, strict=True)]
    in_u = [sum(column) / Fraction(2) for column in zip(*own, strict=True)]
    in_v = [sum(x * y for x, y in zip(u, row, strict=True)) / Fraction(2) for row in apart]
    return in_u, in_v, own


def squares() -> tuple[Fraction, Fraction]:
    """Return the squared gradients in all, at the start and after client 1 alone took part."""
    u, v, found = [Fraction(1), Fraction(0)], [Fraction(2), Fraction(2)], []
    for _ in range(2):
        in_u, in_v, own = gradients(u, v)
        found.append(sum(x * x for x in (*in_u, *in_v)))
        u = [x - ETA * g for x, g in zip(u, own[0], strict=True)]  # client 1's head does not move
    return found[0], found[1]
