"""Section 3, |D_m| <= d for eps >> e^(-d): eps = e^(-100), d = 1000, M = 100, k = 4, r = 1."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the samples of a client in the rounds that it takes part in, tau = C = 1, and d."""
    d, clients, r, root_of_k, log = 1000, 100, 1, 2, 100
    rounds = d * root_of_k**3 * r * log
    return Fraction(rounds, clients), Fraction(d)
