"""(54) for a client that lacks a class: lowering the bias of that class by log 2."""

from fractions import Fraction


def sides(own=2, others=1, lacking=1) -> tuple[Fraction, Fraction]:
    """Return a sample's probability of its class after the change, and before, at a minimizer.

    `own`, `others` and `lacking` are the exponentials of the logits of its class, of the client's
    other classes and of the class that it lacks, at any point with a head of 0 for that class.
    """
    after = Fraction(own) / (own + others + Fraction(lacking, 2))
    return after, Fraction(own) / (own + others + lacking)
