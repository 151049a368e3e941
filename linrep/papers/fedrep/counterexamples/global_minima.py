"""Section 4.2: heads (1, 1) and (1, -1), B* two columns of I, Q = [[1, 1], [0, 1]]."""

from fractions import Fraction

Matrix = list[list[Fraction]]


def times(one: Matrix, other: Matrix) -> Matrix:
    """Return the product of two matrices."""
    columns = list(zip(*other, strict=True))
    return [[sum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in one]


def transposed(matrix: Matrix) -> Matrix:
    """Return it with rows and columns exchanged."""
    return [list(column) for column in zip(*matrix, strict=True)]


def inverse(Q: Matrix) -> Matrix:
    """Return the inverse of a 2 x 2 matrix."""
    (a, b), (c, d) = Q
    scale = 1 / Fraction(a * d - b * c)
    return [[d * scale, -b * scale], [-c * scale, a * scale]]


def loss(models: Matrix, theta: Matrix) -> Fraction:
    """Return (7) of noise-free labels: the mean over clients of |b w_i - theta_i|^2/2."""
    gaps = [
        a - b
        for row, other in zip(models, theta, strict=True)
        for a, b in zip(row, other, strict=True)
    ]
    return sum(gap**2 for gap in gaps) / Fraction(2 * len(theta))


def losses(W: Matrix, B: Matrix, Q: Matrix) -> dict[str, Fraction]:
    """Return the loss of (Q^-1 W*, B* Q') with heads in rows, if n = k, and in columns."""
    theta, frame = times(W, transposed(B)), times(B, transposed(Q))
    found = {}
    if len(W) == len(Q):  # else Q^-1 W* has no shape
        found["heads in rows, n = k"] = loss(times(times(inverse(Q), W), transposed(frame)), theta)
    columns = times(inverse(Q), transposed(W))
    found["heads in columns"] = loss(transposed(times(frame, columns)), theta)
    return found


def sides() -> tuple[Fraction, Fraction]:
    """Return the smaller loss of both readings, and the smallest there is: 0."""
    one, zero = Fraction(1), Fraction(0)
    W, B = [[one, one], [one, -one]], [[one, zero], [zero, one], [zero, zero]]
    return min(losses(W, B, [[one, one], [zero, one]]).values()), zero
