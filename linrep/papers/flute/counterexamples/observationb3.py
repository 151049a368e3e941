"""(59) at Figure 2's setting: features are a simplex of three classes, clients have two each."""

from fractions import Fraction

THIRD = Fraction(1, 3)
FEATURES = [[(i == c) - THIRD for i in range(3)] for c in range(3)]


def head(c, other) -> list[Fraction]:
    """Return a client's head: a multiple of its class's feature minus the mean of its two."""
    return [(x - y) / 2 for x, y in zip(FEATURES[c], FEATURES[other], strict=True)]


def square_of_cosine(a, b) -> Fraction:
    """Return the square of the cosine between two vectors."""

    def inner(p, q):
        return sum(x * y for x, y in zip(p, q, strict=True))

    return inner(a, b) ** 2 / (inner(a, a) * inner(b, b))


def between_heads() -> Fraction:
    """Return the square of the cosine of two clients' heads of one class, 1 in the text."""
    return square_of_cosine(head(0, 1), head(0, 2))


def sides() -> tuple[Fraction, Fraction]:
    """Return the square of the cosine claimed, and that of a feature and its head."""
    return Fraction(1), square_of_cosine(FEATURES[0], head(0, 1))
