"""Lemma A.11, second case: eta Delta = 1/36, t = 1000 and t' = 500, where D was below last."""

from fractions import Fraction


def sides(
    x=Fraction(1, 36), t=1000, before=500, constant=200, share=Fraction(1, 16)
) -> tuple[Fraction, Fraction]:
    """Return the display and the lemma's bound, in units of lambda*_1^2/(eta Delta^2).

    Both are over (1 - eta Delta/16)^(t + 1).
    """
    rate = 1 - x * share
    return constant * rate ** (t + 1 - before) / rate ** (t + 1), Fraction(constant)
