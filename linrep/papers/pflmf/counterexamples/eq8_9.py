"""A round of Algorithm 1 and one of Appendix A.1: x^2/2 and (x - 1)^2/2 at u = v_1 = v_2 = 1.

Client 1 takes part; p = 1/2, K = 1, eta = 1/10. Slopes f_i'(u v_i) are 1 and 0.
"""

from fractions import Fraction


def moves(full: bool = False, tied: bool = False) -> dict[str, tuple[Fraction, Fraction]]:
    """Return by how much U and v_1 move in Algorithm 1 and in Appendix A.1.

    Algorithm 1 has the participants' mean, or all clients' if `full`, and one step size, or
    eta_v = p eta/K if `tied`.
    """
    p, eta = Fraction(1, 2), Fraction(1, 10)
    slopes = Fraction(1), Fraction(0)
    everyone = (slopes[0] + slopes[1]) / 2
    return {
        "U": (eta * (everyone if full else slopes[0]), eta * everyone),
        "v_1": ((p if tied else 1) * eta * slopes[0] / 2, p * eta * slopes[0] / 2),
    }


def sides() -> tuple[Fraction, Fraction]:
    """Return the distance of both new U, and 0."""
    one, other = moves()["U"]
    return abs(one - other), Fraction(0)
