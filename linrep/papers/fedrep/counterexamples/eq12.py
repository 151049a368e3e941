"""(12): kappa^4 k^2 (d/(rn) + k log(rn)) log(1/eps) samples, where (11) takes kappa^6."""

from fractions import Fraction


def over_claimed(kappa: Fraction, start: Fraction, kappa_power: int, start_power: int) -> Fraction:
    """Return a lower bound of the samples of (11) over kappa^power/E0^power, free of the rest.

    At the longest step, eta = 1/(4 sigma_max^2), a round multiplies the distance by (1 - x)^(1/2),
    x = E0/(8 kappa^2). As -log(1 - x) <= x/(1 - x), it takes T >= 2 (1/x - 1) log(1/eps) of them,
    of kappa^4/E0^2 samples each, times what (11) and (12) have in common.
    """
    rounds = 2 * (8 * kappa**2 / start - 1)
    return kappa**4 / start**2 * rounds / (kappa**kappa_power / start**start_power)


def sides() -> tuple[Fraction, Fraction]:
    """Return it from distance 1/2 at kappa = 2^20, and a constant that is too small: 10^6."""
    return over_claimed(Fraction(2) ** 20, Fraction(3, 4), 4, 0), Fraction(10**6)
