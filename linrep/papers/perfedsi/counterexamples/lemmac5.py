"""Lemma C.5 at its region's edge: V = gamma V*, U = U*/gamma + e W with W orthogonal to U*.

d = 16, k = r = sigma = 1, and Z'Z = M/c_z.
"""

from fractions import Fraction


def sides(
    edge: Fraction = Fraction(1, 10), gamma: Fraction = Fraction(1, 10), scale: int = 1
) -> tuple[Fraction, Fraction]:
    """Return gamma L and |grad L|^2, where V*'V is the edge and U*'U is 1/edge; scale is c_z."""
    error, V = Fraction(1, 1000), edge
    across = [error * (-1) ** i / 4 for i in range(16)]
    U = [1 / (4 * edge) + x for x in across]
    residual = [x * V for x in across]  # of U V' - M*
    loss = sum(x * x for x in residual) / (2 * scale)
    in_U = sum((x * V / scale) ** 2 for x in residual)
    in_V = (sum(x * u for x, u in zip(residual, U, strict=True)) / scale) ** 2
    return gamma * loss, in_U + in_V
