"""(18) after one step, k = 1: lambda* = 2s, s, eta = 1/(12 s), s = 10^8, sigma_k^2 = s/400."""

from fractions import Fraction

S, A = 10**8, 500
INSTANCE = {"s": S, "lambda*": [2 * S, S], "eta": "1/(12 s)", "sigma_k": A, "t": 1}


def rest(proportional=False) -> Fraction:
    """Return sigma_1^2(Theta_res) = 9s/16, which Claim A.3 allows as printed: Delta = s.

    As kappa < 1, it allows sigma_k^2 sqrt(Delta)/4 at least. With c_1/sqrt(lambda*_1), here called
    proportional, it allows sigma_k Delta/(8 sqrt(lambda*_1)) at most, and 14143^2 > 2 s.
    """
    if proportional:
        return Fraction(A * S, 8 * 14143)
    square = Fraction(9 * S, 16)
    if square > Fraction(A**2 * 10**4, 4):
        raise ArithmeticError("the start is not one of Claim A.3")
    return square


def sides(loss=Fraction(1, 4), proportional=False) -> tuple[Fraction, Fraction]:
    """Return the growth of sigma_k that (18) claims, and that of the step."""
    eta = Fraction(1, 12 * S)
    growth = 1 + eta / 2 * (2 * S - A**2 - rest(proportional))
    return 1 + eta * S - Fraction(loss) * eta * S, growth
