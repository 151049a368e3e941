"""(16) for f_1(x) = x and f_2(x) = -x at u = v_1 = v_2 = 1, without noise.

Assumption 1 holds for all U and V, with L = 1: the gradient in U is (v_1 - v_2)/2, that in V is
(u, -u)/2.
"""

from fractions import Fraction


def members(
    p: Fraction = Fraction(1, 10),
    K: int = 1,
    eta: Fraction = Fraction(1, 4),
    weight: Fraction | None = None,
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the members of the chain; the last two agree. `weight` is p, that of Delta_V.

    Delta_U = 0 and Delta_V = 1/2, as V's gradient stays; a participant's v moves by p eta/2 in
    all, by which F falls by half of that.
    """
    delta_V = Fraction(1, 2)
    decrease = 2 * p * (p * eta / 2) / 2
    first = eta * (1 - 2 * eta) * delta_V
    second = eta * (p if weight is None else weight) * (1 - eta * p / (2 * K)) * delta_V
    return first, second, 2 * decrease


def sides() -> tuple[Fraction, Fraction]:
    """Return the first and the last member."""
    first, _, last = members()
    return first, last
