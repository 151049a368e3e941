"""Lemma A.16, proof: k = 1, lambda* = 1, 0, eta = 1/16, sigma_1(Theta_k) = sqrt(2)."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the squares of sigma_1((eta/2) Lambda_k Theta_k), and of 1/32."""
    return (Fraction(1, 16) / 2) ** 2 * 2, Fraction(1, 32) ** 2
