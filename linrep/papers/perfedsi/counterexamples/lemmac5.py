"""Lemma C.5 near its region's edge: V = 1.001 gamma V*, U = U*/(1.001 gamma) + e W, W'U* = 0.

d = 16, k = r = sigma = 1, and Z'Z = M/c_z; norms are at most c sqrt(sigma_1) = 10, too.
"""

from fractions import Fraction


def sides(
    edge: Fraction = Fraction(1001, 10000), gamma: Fraction = Fraction(1, 10), scale: int = 1
) -> tuple[Fraction, Fraction]:
    """Return gamma L and |grad L|^2, where V*'V is the edge and U*'U is 1/edge; scale is c_z."""
    error, V = Fraction(1, 1000), edge
    across = [error * (-1) ** i / 4 for i in range(16)]
    U = [1 / (4 * edge) + x for x in across]
    residual = [x * V for x in across]  # of U V' - M*
    assert max(sum(u * u for u in U), V * V) <= gamma**-2
    loss = sum(x * x for x in residual) / (2 * scale)
    in_U = sum((x * V / scale) ** 2 for x in residual)
    in_V = (sum(x * u for x, u in zip(residual, U, strict=True)) / scale) ** 2
    return gamma * loss, in_U + in_V
