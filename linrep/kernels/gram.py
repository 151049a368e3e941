"""FedRep on fresh Gaussian batches through sufficient statistics, at a cost free of m and d.

Nothing of size m or d is drawn. The representation is known by C = B' B* (k, k) and
Phi = F' B* (p, k), F being an orthonormal basis of what B* adds to span(B) and p = min(k, d - k):
B* = B C + F Phi, and the singular values of Phi are the sines of the principal angles. Heads are
stored transposed, (k, n): the loops over clients are the inner ones. docs/gram.md derives it.
"""

import numpy as np

from linrep.kernels._jit import kernel
from linrep.kernels.linalg import (
    copy_rows,
    dot,
    finite,
    gram,
    largest_eigenvalue,
    orthonormalize,
    remove_span,
)
from linrep.kernels.rounds import (
    COMPLETED,
    CONVERGED,
    DISTANCE,
    DIVERGED,
    EXACT,
    HEAD_ERROR,
    LOSS,
    POPULATION_RISK,
    exact_head,
    step_head,
)

BLOCK = 128  # clients whose numbers are drawn together; part of how a stream is used


def workspace(k, d, participants):
    """Return the scratch arrays that run_gram uses."""
    p = min(k, d - k)
    extra = min(k, d - k - p)
    size = k + p + extra
    return (
        np.empty((k, BLOCK)),  # star: true heads of a block
        np.empty((k, BLOCK)),  # w: its heads
        np.empty((k + p, BLOCK)),  # lack: what B w lacks of the truth, in coordinates of B and F
        np.empty((k + p, BLOCK)),  # g: normal numbers, then coordinates of X' r
        np.empty((3, BLOCK)),  # square: s^2; length: of the residual; share: scratch
        np.empty((k, k + 1)),  # Z
        np.empty((k + 1, k + 1)),  # T
        np.empty((2, k + 1)),  # y, residual
        np.empty((k, k)),  # G
        np.empty(3 * k),  # v
        np.empty((k + p, k)),  # U: sum of the gradients in coordinates of B and F
        np.empty((k, k)),  # S: row covariance of the gradients' other coordinates
        np.empty((extra, k)),  # R: Bartlett factor of these
        np.empty((k, size)),  # QT: the new representation in coordinates
        np.empty((k, size)),  # ET: what B* adds to it
        np.empty((k, k)),  # the new C
        np.empty((k, k)),  # C, Phi and heads of before, put back if the round fails
        np.empty((p, k)),
        np.empty((k, participants)),
    )


@kernel
def draw_bartlett(rng, degrees_of_freedom, T):
    """Fill T with the first rows of R in the QR factorization of a standard normal matrix.

    The matrix has as many rows as degrees of freedom; T is upper trapezoidal and has at most as
    many rows as it has columns.
    """
    for row in range(T.shape[0]):
        for column in range(row):
            T[row, column] = 0.0
        T[row, row] = np.sqrt(rng.chisquare(degrees_of_freedom - row))
        for column in range(row + 1, T.shape[1]):
            T[row, column] = rng.standard_normal()


@kernel
def solve_heads(rng, m, count, C, square, spread, star, w, g):
    """Draw the exact heads of a block of clients, m > k: B' B* w* plus a multivariate-t error."""
    k = C.shape[0]
    for i in range(count):
        for a in range(k):
            g[a, i] = rng.standard_normal()
        spread[i] = rng.chisquare(m - k + 1.0)
    for i in range(count):
        spread[i] = np.sqrt(square[i] / spread[i])
    for a in range(k):
        for i in range(count):
            w[a, i] = spread[i] * g[a, i]
        for b in range(k):
            c = C[a, b]
            for i in range(count):
                w[a, i] += c * star[b, i]


@kernel
def draw_gradients(rng, degrees_of_freedom, first, noise, count, lack, square, length, share, g):
    """Draw the coordinates of X' r of a block of clients into g, from the first one on.

    The residual r is -s u without its projection on X B, in length the square root of a chi-square
    with the given degrees of freedom; s^2, in square, is |lack|^2 + noise^2. X is correlated with u
    in the direction of lack alone. length is s times that of u afterwards.
    """
    size = lack.shape[0]
    for i in range(count):
        length[i] = rng.chisquare(degrees_of_freedom)
        for index in range(first, size):
            g[index, i] = rng.standard_normal()
    for i in range(count):
        share[i] = 0.0
    for index in range(first, size):
        for i in range(count):
            share[i] += lack[index, i] * g[index, i]
    for i in range(count):
        s = np.sqrt(square[i])
        along, length[i] = length[i], s * np.sqrt(length[i])
        # |lack|^2 is s^2 - noise^2, so that (1 - noise / s) / |lack|^2 is 1 / (s (s + noise)).
        shrink = share[i] / (s * (s + noise)) if s > 0.0 else 0.0
        share[i] = along + length[i] * shrink
    for index in range(first, size):
        for i in range(count):
            g[index, i] = length[i] * g[index, i] - share[i] * lack[index, i]


@kernel
def fit_and_step(rng, m, local_steps, head_step_size, split, noise, i, C, lack, square, star, w, g,
                 length, Z, T, vectors, G, v):  # fmt: skip
    """Do for client i of a block what solve_heads and draw_gradients do, for any head and any m.

    Z = X B and the standard normal vector u enter through the triangular factor of [Z, u], with
    k + 1 columns and at most m rows. With split only the head is found: w holds the old one before.
    """
    k, p = C.shape[0], lack.shape[0] - C.shape[0]
    rows = min(m, k + 1)
    draw_bartlett(rng, float(m), T[:rows])
    y, residual = vectors[0], vectors[1]
    s = np.sqrt(square[i])
    # Heads see Z' Z / m: scaled so that it is the mean over the rows there are.
    scale = np.sqrt(rows / m)
    for row in range(rows):
        y[row] = s * T[row, k]
        for a in range(k):
            Z[a, row] = scale * T[row, a]
            w0 = 0.0
            for b in range(k):
                w0 += C[a, b] * star[b, i]
            y[row] += T[row, a] * w0
        y[row] *= scale
    head = v[:k]
    for a in range(k):
        head[a] = w[a, i]
    if local_steps == EXACT:
        exact_head(Z, rows, y[:rows], head, G, v[k : 2 * k])
    else:
        step_head(Z, rows, y[:rows], head, local_steps, head_step_size, G, v[k:])
    for a in range(k):
        w[a, i] = head[a]
    if split:
        return
    if local_steps == EXACT and m <= k:
        for row in range(rows):
            residual[row] = 0.0  # interpolated
    else:
        for row in range(rows):
            residual[row] = -y[row]
            for a in range(k):
                residual[row] += Z[a, row] * head[a]
            residual[row] /= scale
    for a in range(k):
        g[a, i] = 0.0
        for row in range(rows):
            g[a, i] += T[row, a] * residual[row]
    along, product = 0.0, 0.0
    for row in range(rows):
        along += T[row, k] * residual[row]
    length[i] = np.sqrt(dot(residual[:rows], residual[:rows]))
    for index in range(k, k + p):
        g[index, i] = rng.standard_normal()
        product += lack[index, i] * g[index, i]
    shrink = product / (s * (s + noise)) if s > 0.0 else 0.0  # see draw_gradients
    share = along / s if s > 0.0 else 0.0
    for index in range(k, k + p):
        g[index, i] = length[i] * (g[index, i] - shrink * lack[index, i]) + share * lack[index, i]


@kernel
def add_block(count, first, w, g, length, U, S):
    """Add a block's gradients, and the covariance of their other coordinates, to the sums.

    w holds the heads times length afterwards.
    """
    k = w.shape[0]
    for c in range(k):
        wc = w[c][:count]
        for index in range(first, g.shape[0]):
            U[index, c] += dot(g[index][:count], wc)
        for i in range(count):
            wc[i] *= length[i]
        for a in range(c + 1):
            S[c, a] += dot(w[a][:count], wc)


@kernel
def factor_semidefinite(S):
    """Replace the lower triangle of S by its Cholesky factor, with 0 where a pivot vanishes."""
    k = S.shape[0]
    for column in range(k):
        pivot = S[column, column]
        floor = 4.0 * k * np.finfo(np.float64).eps * pivot
        for inner in range(column):
            pivot -= S[column, inner] * S[column, inner]
        root = np.sqrt(pivot) if pivot > floor else 0.0
        S[column, column] = root
        for row in range(column + 1, k):
            entry = S[row, column]
            for inner in range(column):
                entry -= S[row, inner] * S[column, inner]
            S[row, column] = entry / root if root > 0.0 else 0.0


@kernel
def triangularize(ET, Phi):
    """Write into Phi (p, k) the coordinates of the rows of ET in an orthonormal basis of them.

    Gram-Schmidt, twice; a row that the earlier ones explain adds no vector to the basis.
    """
    found = 0
    for row in range(ET.shape[0]):
        for other in range(Phi.shape[0]):
            Phi[other, row] = 0.0
        before = np.sqrt(dot(ET[row], ET[row]))
        for _ in range(2):
            for other in range(found):
                overlap = dot(ET[other], ET[row])
                Phi[other, row] += overlap
                for column in range(ET.shape[1]):
                    ET[row, column] -= overlap * ET[other, column]
        after = np.sqrt(dot(ET[row], ET[row]))
        if found < Phi.shape[0] and after > 1e-15 * before:
            Phi[found, row] = after
            for column in range(ET.shape[1]):
                ET[found, column] = ET[row, column] / after
            found += 1


@kernel
def move(rng, others, factor, U, S, R, C, Phi, QT, ET, CT):
    """Step the representation by -factor times the summed gradient, and orthonormalize it.

    In coordinates of B, F and a basis of what the gradients' other coordinates span (others of
    them). C and Phi are replaced; the return value tells whether the result is finite and of full
    rank, and they are kept where it is not.
    """
    k, p, extra = C.shape[0], Phi.shape[0], R.shape[0]
    if extra > 0:
        factor_semidefinite(S)
        draw_bartlett(rng, others, R)
    for a in range(k):
        for index in range(k + p):
            QT[a, index] = -factor * U[index, a]
        for row in range(extra):
            total = 0.0
            for inner in range(a + 1):
                total += R[row, inner] * S[a, inner]
            QT[a, k + p + row] = factor * total
    # What B* adds to span(B) after the step: no difference of numbers that are nearly the same.
    for b in range(k):
        for index in range(k + p + extra):
            total = Phi[index - k, b] if k <= index < k + p else 0.0
            for a in range(k):
                total -= QT[a, index] * C[a, b]
            ET[b, index] = total
            if not finite(total):
                return False
    for a in range(k):
        QT[a, a] += 1.0
    if not orthonormalize(QT) > QT.shape[1] * np.finfo(np.float64).eps:
        return False
    for a in range(k):
        for b in range(k):
            total = 0.0
            for index in range(k):
                total += QT[a, index] * C[index, b]
            for index in range(p):
                total += QT[a, k + index] * Phi[index, b]
            CT[a, b] = total
    copy_rows(CT, C)
    remove_span(QT, ET)
    remove_span(QT, ET)
    triangularize(ET, Phi)
    return True


@kernel
def measure(C, Phi, truthT, moment, WT, G, scratch, row):
    """Write distance, head error and population risk into a row of metrics."""
    k, n = WT.shape
    p = Phi.shape[0]
    row[DISTANCE] = 0.0
    if p > 0:
        gram(Phi, G[:p, :p])
        row[DISTANCE] = min(1.0, np.sqrt(largest_eigenvalue(G[:p, :p])))
    unreachable = 0.0
    for a in range(k):
        for b in range(k):
            share = 0.0
            for index in range(p):
                share += Phi[index, a] * Phi[index, b]
            unreachable += share * moment[a, b]
    excess = 0.0
    for a in range(k):
        for start in range(0, n, BLOCK):
            count = min(BLOCK, n - start)
            for i in range(count):
                scratch[i] = WT[a, start + i]
            for b in range(k):
                c = C[a, b]
                for i in range(count):
                    scratch[i] -= c * truthT[b, start + i]
            excess += dot(scratch[:count], scratch[:count])
    row[HEAD_ERROR] = np.sqrt(excess / n)
    row[POPULATION_RISK] = 0.5 * (excess / n + unreachable)


@kernel
def _run_gram(
    rng,
    m,
    others,
    noise,
    split,
    truthT,
    moment,
    schedule,
    C,
    Phi,
    WT,
    step_size,
    averaged,
    local_steps,
    head_step_size,
    tolerance,
    metrics,
    work,
):
    """See run_gram."""
    star, w, lack, g, squares, Z, T, vectors, G, v, U, S, R, QT, ET, CT, C0, Phi0, previous = work
    square, length, share = squares[0], squares[1], squares[2]
    k, p = C.shape[0], Phi.shape[0]
    rounds, participants = schedule.shape
    simple = local_steps == EXACT and m > k
    for t in range(rounds):
        U[:] = 0.0
        S[:] = 0.0
        loss = 0.0
        for start in range(0, participants, BLOCK):
            count = min(BLOCK, participants - start)
            for a in range(k):
                for i in range(count):
                    star[a, i] = truthT[a, schedule[t, start + i]]
                    w[a, i] = WT[a, schedule[t, start + i]]
                for i in range(count):
                    previous[a, start + i] = w[a, i]
            for i in range(count):
                square[i] = noise * noise
            for index in range(p):
                for i in range(count):
                    lack[k + index, i] = 0.0
                for b in range(k):
                    c = Phi[index, b]
                    for i in range(count):
                        lack[k + index, i] += c * star[b, i]
                for i in range(count):
                    square[i] += lack[k + index, i] * lack[k + index, i]
            if simple:
                solve_heads(rng, m, count, C, square, length, star, w, g)
            else:
                for i in range(count):
                    fit_and_step(
                        rng, m, local_steps, head_step_size, split, noise, i, C, lack, square,
                        star, w, g, length, Z, T, vectors, G, v,
                    )  # fmt: skip
            if split:
                for a in range(k):
                    for i in range(count):
                        lack[a, i] = -w[a, i]
                    for b in range(k):
                        c = C[a, b]
                        for i in range(count):
                            lack[a, i] += c * star[b, i]
                    for i in range(count):
                        square[i] += lack[a, i] * lack[a, i]
                draw_gradients(rng, float(m), 0, noise, count, lack, square, length, share, g)
            elif simple:
                draw_gradients(rng, float(m - k), k, noise, count, lack, square, length, share, g)
            for i in range(count):
                loss += length[i] * length[i]
            for a in range(k):
                for i in range(count):
                    WT[a, schedule[t, start + i]] = w[a, i]
            # With exact heads and m > k the residual is orthogonal to X B.
            add_block(count, k if simple and not split else 0, w, g, length, U, S)
        row = metrics[t + 1]
        row[LOSS] = loss / (2.0 * m * participants)
        factor = step_size / m
        if averaged:
            factor /= participants
        copy_rows(C, C0)
        copy_rows(Phi, Phi0)
        good = finite(loss) and move(rng, others, factor, U, S, R, C, Phi, QT, ET, CT)
        if good:
            measure(C, Phi, truthT, moment, WT, G, share, row)
            good = finite(row[POPULATION_RISK])
        if not good:
            copy_rows(C0, C)
            copy_rows(Phi0, Phi)
            for place in range(participants):
                for a in range(k):
                    WT[a, schedule[t, place]] = previous[a, place]
            return t, DIVERGED
        if row[DISTANCE] <= tolerance:
            return t + 1, CONVERGED
    return rounds, COMPLETED


@kernel(counted=True)
def run_gram(*arguments):
    """Run one round per row of schedule; see linrep.kernels.fedrep.run_fresh.

    Same law of the metrics as with a Gaussian design. The arguments are those of _run_gram, others
    being d - k - p. C, Phi and WT, the heads, are changed in place.
    """
    return _run_gram(*arguments)
