"""Inequalities in a few real numbers that solvers decide: linrep certify."""

from linrep.claims.certificates import certificate


@certificate("anil.round", "rank one: the squared sine after a round, from its square s before")
def rank_one(s, g, *, share=1):
    """Return that the step g is at most one, and the bound times the new length of B."""
    given = [s >= 0, s <= 1, g >= 0, g <= 1]
    c = 1 - s
    after, length = (1 - g * c) ** 2 * s, 1 + g**2 * c * s
    return given, after <= (1 - share * g * c) ** 2 * s * length


@certificate("anil.diversity.corrected", "the squared sine s after a round, from its square before")
def both_heads(s):
    """Return that the sine is at most 4/5, and that a hundredth is gained."""
    given, c = [s >= 0, 25 * s <= 16], 1 - s
    return given, 100 * (1 - c / 4) ** 2 * s <= 99 * s * (1 + c * s / 16)
