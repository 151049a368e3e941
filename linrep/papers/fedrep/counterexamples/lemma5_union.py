"""The end of the proof of Lemma 5: 9 e^(-112) <= e^(-110), to the power d + k, or 9 <= e^2."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return 9, and an upper bound of e^2: e is at most 1/0! + ... + 1/9! + 2/10!."""
    total, term = Fraction(0), Fraction(1)
    for count in range(10):
        total, term = total + term, term / (count + 1)
    return Fraction(9), (total + 2 * term) ** 2
