"""Small dense linear algebra. Frames are stored transposed, one row per column of B."""

import numpy as np

from linrep.kernels.jit import kernel

# A Cholesky pivot below this share of its diagonal entry says that a column nearly depends on those
# before it: from there on the singular value decomposition takes over. Pivots of several columns
# can multiply up; the bound leaves room for that.
_SMALLEST_PIVOT = 1e-4
#: A direction along which a matrix is this much smaller than along its largest one is rounding:
#: least squares are then of minimum norm. The products of a representation and samples that do not
#: vary along it are of some 1e-16 to 1e-14; ``numpy.linalg.lstsq`` takes 2.2e-16 times the larger
#: side of the matrix.
RANK_TOLERANCE = 1e-13
_SWEEPS = 60
_EPSILON = 2.0**-53


@kernel
def dot(x, y):
    """Return the inner product of two vectors."""
    total = 0.0
    for index in range(x.shape[0]):
        total += x[index] * y[index]
    return total


@kernel
def copy(source, target):
    """Copy a vector into another; an assignment to target[:] would go through a temporary."""
    for index in range(source.shape[0]):
        target[index] = source[index]


@kernel
def copy_rows(source, target):
    """Copy a matrix into another."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


@kernel
def finite(x):
    """Tell whether a number is neither NaN nor infinite.

    Not np.isfinite: compiled to x - x == 0, it may be optimized away where sums may be reordered.
    """
    return abs(x) < np.inf


@kernel
def solve_normal_equations(G, b, size):
    """Solve the leading size x size system G v = b in place, G symmetric positive definite.

    v replaces b; the Cholesky factor, its diagonal inverted, the lower triangle of G. Returns
    False, with G and b spoilt, where G is too badly conditioned to be trusted (also when it is
    singular or not finite): a pivot is too small beside its own diagonal entry, as the column
    depends on those before it, or beside the largest one, as the column may be rounding alone.
    """
    smallest = 0.0
    for row in range(size):
        smallest = max(smallest, G[row, row])
    smallest *= RANK_TOLERANCE * RANK_TOLERANCE
    for row in range(size):
        for column in range(row):
            entry = G[row, column]
            for inner in range(column):
                entry -= G[row, inner] * G[column, inner]
            G[row, column] = entry * G[column, column]
        pivot = G[row, row]
        for inner in range(row):
            pivot -= G[row, inner] * G[row, inner]
        if not (pivot > _SMALLEST_PIVOT * G[row, row] and pivot > smallest):
            return False
        G[row, row] = 1.0 / np.sqrt(pivot)
    for row in range(size):
        entry = b[row]
        for inner in range(row):
            entry -= G[row, inner] * b[inner]
        b[row] = entry * G[row, row]
    for row in range(size - 1, -1, -1):
        entry = b[row]
        for inner in range(row + 1, size):
            entry -= G[inner, row] * b[inner]
        b[row] = entry * G[row, row]
    return True


@kernel
def tridiagonalize(G):
    """Reduce a symmetric matrix to tridiagonal form with the same eigenvalues (Householder).

    The diagonal is G's then, and what stands beside it is above G's diagonal.
    """
    size = G.shape[0]
    for j in range(size - 2):
        v = G[j, j + 1 :]
        below = dot(v[1:], v[1:])
        if not below > 0.0:
            continue
        length = np.sqrt(v[0] * v[0] + below)
        beside = -length if v[0] > 0.0 else length
        square = length * (length + abs(v[0]))  # half that of v, once it is the reflection's
        v[0] -= beside
        along = 0.0
        for row in range(j + 1, size):
            G[row, j] = dot(G[row, j + 1 :], v) / square
            along += v[row - j - 1] * G[row, j]
        along /= 2.0 * square
        for row in range(j + 1, size):
            G[row, j] -= along * v[row - j - 1]
        for row in range(j + 1, size):
            for column in range(j + 1, size):
                G[row, column] -= (
                    v[row - j - 1] * G[column, j] + G[row, j] * v[column - j - 1]
                )  # fmt: skip
        v[0] = beside


@kernel
def largest_eigenvalue(G):
    """Return the largest eigenvalue of a symmetric matrix, which is overwritten.

    Tridiagonal form, then the QL iteration with implicit shifts.
    """
    size = G.shape[0]
    scale = 0.0
    for row in range(size):
        for column in range(row + 1):
            scale = max(scale, abs(G[row, column]))
    if not (scale > 0.0 and finite(scale)):
        return scale
    for row in range(size):
        for column in range(size):
            G[row, column] /= scale  # squares of small entries would underflow
    tridiagonalize(G)
    for first in range(size):
        for _ in range(_SWEEPS):
            last = first
            while last < size - 1 and abs(G[last, last + 1]) > _EPSILON * (
                abs(G[last, last]) + abs(G[last + 1, last + 1])
            ):
                last += 1
            if last == first:
                break
            shift = (G[first + 1, first + 1] - G[first, first]) / (2.0 * G[first, first + 1])
            root = np.sqrt(shift * shift + 1.0)
            shift += root if shift > 0.0 else -root
            g = G[last, last] - G[first, first] + G[first, first + 1] / shift
            sine, cosine, correction = 1.0, 1.0, 0.0
            split = False
            for i in range(last - 1, first - 1, -1):
                f, b = sine * G[i, i + 1], cosine * G[i, i + 1]
                length = np.sqrt(f * f + g * g)
                if i + 1 < last:
                    G[i + 1, i + 2] = length
                if length == 0.0:
                    G[i + 1, i + 1] -= correction
                    split = True
                    break
                sine, cosine = f / length, g / length
                g = G[i + 1, i + 1] - correction
                length = (G[i, i] - g) * sine + 2.0 * cosine * b
                correction = sine * length
                G[i + 1, i + 1] = g + correction
                g = cosine * length - b
            if not split:
                G[first, first] -= correction
                G[first, first + 1] = g
    largest = G[0, 0]
    for row in range(1, size):
        largest = max(largest, G[row, row])
    return scale * largest


@kernel
def gram_norm(G):
    """Return the norm of a Gram matrix, its largest eigenvalue; the matrix is overwritten.

    Tridiagonal form, then Laguerre's method on the characteristic polynomial: from a bound above
    all roots it comes down to the largest one, cubically. For three columns and more it takes half
    to a third of the time of largest_eigenvalue, which goes through all eigenvalues.
    """
    size = G.shape[0]
    scale = 0.0
    for row in range(size):
        scale = max(scale, G[row, row])
    if not (scale > 0.0 and finite(scale)):
        return scale
    for row in range(size):
        for column in range(size):
            G[row, column] /= scale
    tridiagonalize(G)
    x, before = 0.0, 0.0
    for row in range(size):
        after = abs(G[row, row + 1]) if row + 1 < size else 0.0
        x = max(x, G[row, row] + before + after)  # Gershgorin's bound
        before = after
    x += 8.0 * _EPSILON * x
    for _ in range(_SWEEPS):
        # Above all roots the ratios q of leading principal minors of G - x I are negative.
        # With r = q'/q and s = q''/q, sums over the roots of 1/(x - root) and of its square.
        q = G[0, 0] - x
        above = q < 0.0
        if not above:
            break
        r, s = -1.0 / q, 0.0
        first, second = r, r * r
        for row in range(1, size):
            share = G[row - 1, row] * G[row - 1, row] / q
            q = G[row, row] - x - share
            r, s = (share * r - 1.0) / q, share * (s - 2.0 * r * r) / q
            first += r
            second += r * r - s
            above = above and q < 0.0
        if not above:  # at rounding level, where signs are lost
            break
        spread = max(0.0, (size - 1.0) * (size * second - first * first))
        step = size / (first + np.sqrt(spread))
        if not step > 2.0 * _EPSILON * x:
            break
        x -= step
    return scale * x


@kernel
def rescale(x):
    """Divide a vector by its largest entry in absolute value, if that is finite and not 0."""
    largest = 0.0
    for index in range(x.shape[0]):
        largest = max(largest, abs(x[index]))
    if largest > 0.0 and finite(largest):
        for index in range(x.shape[0]):
            x[index] /= largest


@kernel
def reject(QT, rows, x, length):
    """Subtract from x its projection on the first rows of QT, orthonormal; return what is left.

    length is that of x before. Done again where most of x cancelled, which keeps orthogonality at
    rounding level.
    """
    after = length
    for _ in range(2):
        before = after
        for row in range(rows):
            overlap = dot(QT[row], x)
            for column in range(x.shape[0]):
                x[column] -= overlap * QT[row, column]
        after = np.sqrt(dot(x, x))
        if after > 0.7 * before:
            break
    return after


@kernel
def orthonormalize(BT):
    """Replace the rows of BT by an orthonormal basis: the Q of QR with a positive diagonal of R.

    Gram-Schmidt, stable whatever the conditioning; see reject. Returns the smallest share of a row
    that the rows before it do not explain: 0 (or NaN) says that the rows are linearly dependent (or
    not finite), and BT is then useless.
    """
    smallest = 1.0
    for row in range(BT.shape[0]):
        before = np.sqrt(dot(BT[row], BT[row]))
        if not (before > 1e-140 and before < 1e140):
            rescale(BT[row])  # its square under- or overflowed, or may do so
            before = np.sqrt(dot(BT[row], BT[row]))
        if not (before > 0.0 and before < np.inf):
            return before if before != before else 0.0
        after = reject(BT, row, BT[row], before)
        smallest = min(smallest, after / before)
        if not after > 0.0:
            return 0.0
        for column in range(BT.shape[1]):
            BT[row, column] /= after
    return smallest


@kernel
def gram(ET, G):
    """Write the inner products of the rows of ET into the symmetric matrix G, in blocks of 2 x 2.

    Each number read takes part in two products, which is what long rows are limited by.
    """
    k, size = ET.shape
    for a in range(0, k - 1, 2):
        x0, x1 = ET[a], ET[a + 1]
        for b in range(0, a, 2):
            y0, y1 = ET[b], ET[b + 1]
            s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
            for column in range(size):
                s00 += x0[column] * y0[column]
                s01 += x0[column] * y1[column]
                s10 += x1[column] * y0[column]
                s11 += x1[column] * y1[column]
            G[a, b], G[a, b + 1], G[a + 1, b], G[a + 1, b + 1] = s00, s01, s10, s11
            G[b, a], G[b + 1, a], G[b, a + 1], G[b + 1, a + 1] = s00, s01, s10, s11
        s00, s01, s11 = 0.0, 0.0, 0.0
        for column in range(size):
            s00 += x0[column] * x0[column]
            s01 += x0[column] * x1[column]
            s11 += x1[column] * x1[column]
        G[a, a], G[a, a + 1], G[a + 1, a], G[a + 1, a + 1] = s00, s01, s01, s11
    if k % 2:
        for b in range(k):
            G[k - 1, b] = dot(ET[k - 1], ET[b])
            G[b, k - 1] = G[k - 1, b]


@kernel
def four_of(F, row, first, last):
    """Return four entries of a row of F from first on, zeros in place of those after the last."""
    return (
        F[row, first],
        F[row, first + 1] if first < last else 0.0,
        F[row, first + 2] if first + 1 < last else 0.0,
        F[row, first + 3] if first + 2 < last else 0.0,
    )


@kernel
def subtract_product(F, ET, outT):
    """Subtract the product F ET from outT, four rows of ET at a time and two of outT."""
    rows, size = outT.shape
    last = ET.shape[0] - 1
    for a in range(0, rows, 2):
        z0, z1 = outT[a], outT[min(a + 1, rows - 1)]
        for b in range(0, last + 1, 4):
            x0, x1 = ET[b], ET[min(b + 1, last)]  # where there are no four, the last one times zero
            x2, x3 = ET[min(b + 2, last)], ET[min(b + 3, last)]
            f0, f1, f2, f3 = four_of(F, a, b, last)
            if a + 1 == rows:
                for column in range(size):
                    e0, e1, e2, e3 = x0[column], x1[column], x2[column], x3[column]
                    z0[column] -= f0 * e0 + f1 * e1 + f2 * e2 + f3 * e3
                continue
            g0, g1, g2, g3 = four_of(F, a + 1, b, last)
            for column in range(size):
                e0, e1, e2, e3 = x0[column], x1[column], x2[column], x3[column]
                z0[column] -= f0 * e0 + f1 * e1 + f2 * e2 + f3 * e3
                z1[column] -= g0 * e0 + g1 * e1 + g2 * e2 + g3 * e3


@kernel
def remove_span(QT, ET):
    """Subtract from the rows of ET their projections on the orthonormal rows of QT."""
    for row in range(ET.shape[0]):
        for other in range(QT.shape[0]):
            overlap = dot(QT[other], ET[row])
            for column in range(ET.shape[1]):
                ET[row, column] -= overlap * QT[other, column]


@kernel
def outside_gram(QT, ET, G):
    """Reduce ET to its part outside the span of QT and write that part's Gram matrix into G.

    Where the part is tiny, a second pass removes what rounding left of QT in it.
    """
    for _ in range(2):
        remove_span(QT, ET)
        gram(ET, G)
        largest = 0.0
        for row in range(ET.shape[0]):
            largest = max(largest, G[row, row])
        if not largest < 1e-12:
            break


@kernel
def orthonormalize_if_needed(BT, G):
    """Orthonormalize BT unless its Gram matrix is the identity to 1e-14; see orthonormalize."""
    gram(BT, G)
    for row in range(BT.shape[0]):
        for column in range(row + 1):
            if not abs(G[row, column] - (row == column)) < 1e-14:
                return orthonormalize(BT)
    return 1.0


@kernel
def distance_between(BT1, BT2, G):
    """Return the sine of the largest angle between two spans, and how independent their rows are.

    Both arrays are overwritten. The sine comes from the part of one basis outside the other's span,
    never from a cosine, which keeps small angles accurate.
    """
    first, second = orthonormalize_if_needed(BT1, G), orthonormalize_if_needed(BT2, G)
    outside_gram(BT1, BT2, G)
    return min(1.0, np.sqrt(largest_eigenvalue(G))), first, second
