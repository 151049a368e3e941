"""Section 4.2: heads (1, 1) and (1, -1), Q = [[1, 1], [0, 1]]; B* is two columns of I.

In coordinates along B*, B* Q' is Q', so that models are rows of W Q for heads in the rows of W.
"""

from fractions import Fraction

Matrix = list[list[Fraction]]


def times(one: Matrix, other: Matrix) -> Matrix:
    """Return the product of two matrices."""
    columns = list(zip(*other, strict=True))
    return [[sum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in one]


def inverse(Q: Matrix) -> Matrix:
    """Return the inverse of a 2 x 2 matrix."""
    (a, b), (c, d) = Q
    scale = 1 / Fraction(a * d - b * c)
    return [[d * scale, -b * scale], [-c * scale, a * scale]]


def loss(heads: Matrix, W: Matrix, Q: Matrix) -> Fraction:
    """Return (7) of noise-free labels: the mean over clients of half a model's squared error."""
    pairs = zip(times(heads, Q), W, strict=True)
    gaps = [a - b for row, true in pairs for a, b in zip(row, true, strict=True)]
    return sum(gap**2 for gap in gaps) / Fraction(2 * len(W))


def printed(W: Matrix, Q: Matrix) -> dict[str, Matrix]:
    """Return the heads Q^-1 W*, read with heads in rows, if n = k, and in columns."""
    turned = [list(column) for column in zip(*inverse(Q), strict=True)]
    columns = {"heads in columns": times(W, turned)}
    return columns if len(W) != 2 else {"heads in rows, n = k": times(inverse(Q), W), **columns}


def sides() -> tuple[Fraction, Fraction]:
    """Return the smaller loss of both readings, and the smallest there is: 0."""
    one, zero = Fraction(1), Fraction(0)
    W, Q = [[one, one], [one, -one]], [[one, one], [zero, one]]
    return min(loss(heads, W, Q) for heads in printed(W, Q).values()), zero
