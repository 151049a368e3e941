"""Claim A.3 at lambda*_1 = 4, kappa = 2/3, sigma_k = 1/10: what Lemma A.5's proof draws from it."""

from fractions import Fraction

FIRST, SIGMA, U = 4, Fraction(1, 10), Fraction(65, 64)
#: 1 + eta lambda*_2/2 + eta Delta/8 = U^2 and 1 + (eta/2)(lambda*_1 - Delta/2) = U^3.
STEP = 2 * (U**3 - 1) + 4 * U**2 * (U - 1)  # eta lambda*_1, below 1/6
GAP = 8 * U**2 * (U - 1) / STEP * FIRST


def rest(unit_power=0) -> Fraction:
    """Return 9/10 of the sigma_1^2(Theta_res) that c_1 lambda*_1^unit_power allows, or less.

    c_1^3 = Delta^2/2^7, and 4^(3 unit_power) is a power of 2. The root is found by halving.
    """
    allowed = GAP**2 / 2**7 * SIGMA**5 * Fraction(2) ** round(6 * unit_power)
    low, high = Fraction(0), Fraction(1)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**3 <= allowed else (low, middle)
    return Fraction(9, 10) * low


def sides(unit_power=0) -> tuple[Fraction, Fraction]:
    """Return the cubes of (Delta/(4 sigma_k^2))^(kappa/2) sigma_1^2(Theta_res) and of its bound.

    That is Delta sigma_k/(8 sqrt(lambda*_1)).
    """
    left = GAP / (4 * SIGMA**2) * rest(unit_power) ** 3
    return left, (GAP * SIGMA / 8) ** 3 / 8
