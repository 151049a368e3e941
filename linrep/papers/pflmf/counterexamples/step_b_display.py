"""The display before (13), k = 1: one client with F = (u v)^2/2 at u = 1, v = 0, p = 1, K = 5."""

from fractions import Fraction


def sides(
    v: Fraction = Fraction(0), noise: Fraction = Fraction(1, 10)
) -> tuple[Fraction, Fraction]:
    """Return |V - V_1|^2, noise included, and eta_v^2 times the exact gradient's square."""
    eta_v = Fraction(49, 500)
    return (eta_v * (v + noise)) ** 2, (eta_v * v) ** 2
