"""From (43) on, for the gradient in V: one step of M = 20 clients, all alike, from V = 1, c = 1.

d = 16, z = 1, and c_0 is any that the start has: every other item makes V larger, and so leads out
of the event of the round's first step, mu = 11/10. In the mean over all items V moves by nearly 0.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return |E X| on the event of the first step, and on that of the start, which is sure.

    X is the change of a client's gradient in V.
    """
    d, clients, eta, t = 16, 20, Fraction(1, 10**9), Fraction(1, 10**9)
    mu, size, error = Fraction(11, 10), (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    row = size / 4
    star = [row - error * (-1) ** i / 4 for i in range(d)]  # of norm 1

    def errors(U, V):
        return [u * V - s for u, s in zip(U, star, strict=True)]

    def gradient(U, V):
        return sum(x * u for x, u in zip(errors(U, V), U, strict=True))

    def regular(U, V, level):
        squares = [x * x for x in errors(U, V)]
        return (
            max(sum(u * u for u in U), V * V) <= 1
            and d * max(u * u for u in U) <= mu
            and d * max(squares) <= mu * sum(squares)
            and sum(squares) <= level  # L_m <= c min(L, c_0)
        )

    U, V, smaller, larger, kept = [row] * d, Fraction(1), Fraction(0), Fraction(0), 0
    start, level = gradient(U, V), sum(x * x for x in errors(U, V))
    assert regular(U, V, level)
    for i, x in enumerate(errors(U, V)):
        after = [row - eta * x * V * (j == i) for j in range(d)], V - eta * x * row
        change = (gradient(*after) - start) / d
        larger += change
        if regular(*after, level):
            smaller, kept = smaller + change, kept + 1
    # The other clients' first steps are in the event as well.
    return abs(smaller) * Fraction(kept, d) ** (clients - 1), abs(larger)
