"""T_R and Lemma A.5, k = 1: lambda* = 2s, s, eta = 1/(12 s), s = 10^8, sigma_k = 4900, R = 0."""

from fractions import Fraction

S, A = 10**8, 4900
INSTANCE = {"s": S, "lambda*": [2 * S, S], "eta": "1/(12 s)", "sigma_k": A, "t": 1}


def rest(proportional=False) -> Fraction:
    """Return sigma_1^2(Theta_res) = 1.44 s, which Claim A.3 allows as printed: Delta = s.

    As kappa < 1, it allows sigma_k^2 sqrt(Delta)/4 at least; c_1/sqrt(lambda*_1), here called
    proportional, divides that, and 14143^2 > 2 s.
    """
    allowed = Fraction(A**2 * 10**4, 4)
    square = allowed / 14143 if proportional else Fraction(144 * S, 100)
    if square > allowed:
        raise ArithmeticError("the start is not one of Claim A.3")
    return square


def sides(proportional=False) -> tuple[Fraction, Fraction]:
    """Return Delta/4, and the largest sigma_k^2 at steps up to 1, the ceiling of T_R."""
    growth = 1 + Fraction(1, 24 * S) * (2 * S - Fraction(S, 2))
    if growth**2 < Fraction(S, 4 * A**2):
        raise ArithmeticError("T_R is above 1")
    after = A * (1 + Fraction(1, 24 * S) * (2 * S - A**2 - rest(proportional)))
    return Fraction(S, 4), max(Fraction(A**2), after**2)
