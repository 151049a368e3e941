"""FedRep on fresh Gaussian batches through sufficient statistics, at a cost free of m and d.

Nothing of size m or d is drawn. The representation is known by C = B' B* (k, k) and
Phi = F' B* (p, k), F being an orthonormal basis of what B* adds to span(B) and p = min(k, d - k):
B* = B C + F Phi, and the singular values of Phi are the sines of the principal angles. Heads are
stored transposed, (k, n): the loops over clients are the inner ones. docs/gram.md derives it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.gram_clients import (
    BLOCK,
    add_others,
    draw_bartlett,
    draw_gradients,
    fit_and_step,
    solve_heads,
)
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import (
    copy_rows,
    dot,
    finite,
    gram,
    largest_eigenvalue,
    orthonormalize,
    reject,
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
)

Values = NDArray[np.float64]


class State(NamedTuple):
    """Coordinates of the representation, and the heads."""

    C: Values  # (k, k)
    Phi: Values  # (p, k)
    WT: Values  # (k, n)


class Truth(NamedTuple):
    """True heads and their second moment."""

    WT: Values  # (k, n)
    moment: Values  # W'W / n, (k, k)


class ServerWorkspace(NamedTuple):
    """Sums of a round, and scratch of the server's step; extra = min(k, d - k - p)."""

    UT: Values  # (k, k + p): sum of the gradients in coordinates of B and F
    S: Values  # (k, k): row covariance of the gradients' other coordinates
    R: Values  # (extra, k): Bartlett factor of these
    QT: Values  # (k, k + p + extra): the new representation in coordinates
    ET: Values  # (k, k + p + extra): what B* adds to it
    CT: Values  # (k, k): the new C
    C: Values  # C and Phi of before the round, put back if it fails
    Phi: Values
    G: Values  # (k, k)
    scratch: Values  # (BLOCK,)


def heads_workspace(k: int, clients: int) -> Values:
    """Return room for the heads of so many clients, in blocks."""
    return np.empty((-(-clients // BLOCK), k, BLOCK))


def server_workspace(k: int, d: int) -> ServerWorkspace:
    """Return the arrays of a round's sums, and the scratch of the server's step."""
    p = min(k, d - k)
    extra = min(k, d - k - p)
    size = k + p + extra
    return ServerWorkspace(
        UT=np.empty((k, k + p)),
        S=np.empty((k, k)),
        R=np.empty((extra, k)),
        QT=np.empty((k, size)),
        ET=np.empty((k, size)),
        CT=np.empty((k, k)),
        C=np.empty((k, k)),
        Phi=np.empty((p, k)),
        G=np.empty((k, k)),
        scratch=np.empty(BLOCK),
    )


@kernel
def add_products(x, X, first, last, count, out):
    """Add to out the inner products of x with the rows of X from first to last, exclusive."""
    fours = last - (last - first) % 4
    for b in range(first, fours, 4):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(count):
            s0 += x[i] * X[b, i]
            s1 += x[i] * X[b + 1, i]
            s2 += x[i] * X[b + 2, i]
            s3 += x[i] * X[b + 3, i]
        out[b] += s0
        out[b + 1] += s1
        out[b + 2] += s2
        out[b + 3] += s3
    for b in range(fours, last):
        out[b] += dot(x[:count], X[b])


@kernel
def add_block(count, first, w, g, length, scaled, UT, S):
    """Add a block's gradients, and the covariance of their other coordinates, to the sums."""
    for c in range(w.shape[0]):
        add_products(w[c], g, first, g.shape[0], count, UT[c])
        for i in range(count):
            scaled[i] = length[i] * length[i] * w[c, i]
        add_products(scaled, w, 0, c + 1, count, S[c])


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

    Gram-Schmidt, a row done again where most of it cancelled; one that the earlier ones explain
    adds no vector to the basis.
    """
    found = 0
    for row in range(ET.shape[0]):
        for other in range(Phi.shape[0]):
            Phi[other, row] = 0.0
        length = np.sqrt(dot(ET[row], ET[row]))
        after = length
        for _ in range(2):
            before = after
            for other in range(found):
                overlap = dot(ET[other], ET[row])
                Phi[other, row] += overlap
                for column in range(ET.shape[1]):
                    ET[row, column] -= overlap * ET[other, column]
            after = np.sqrt(dot(ET[row], ET[row]))
            if after > 0.7 * before:
                break
        if found < Phi.shape[0] and after > 1e-15 * length:
            Phi[found, row] = after
            for column in range(ET.shape[1]):
                ET[found, column] = ET[row, column] / after
            found += 1


@kernel(counted=True)
def move(rng, others, factor, C, Phi, work):
    """Step the representation by -factor times the summed gradient, and orthonormalize it.

    In coordinates of B, F and a basis of what the gradients' other coordinates span (others of
    them). C and Phi are replaced; the return value tells whether the result is finite and of full
    rank, and they are kept where it is not.
    """
    UT, S, R, QT, ET, CT = work.UT, work.S, work.R, work.QT, work.ET, work.CT
    k, p, extra = C.shape[0], Phi.shape[0], R.shape[0]
    if extra > 0:
        factor_semidefinite(S)
        draw_bartlett(rng, others, R)
    for a in range(k):
        for index in range(k + p):
            QT[a, index] = -factor * UT[a, index]
        for row in range(extra):
            total = 0.0
            for inner in range(a + 1):
                total += R[row, inner] * S[a, inner]
            QT[a, k + p + row] = factor * total
    # What B* adds to span(B) after the step: no difference of numbers that are nearly the same.
    for b in range(k):
        for a in range(k):
            CT[0, a] = -C[a, b]
        for index in range(k + p + extra):
            ET[b, index] = CT[0, 0] * QT[0, index]
        add_others(CT[0], QT, 0, k + p + extra, ET[b])
        for index in range(p):
            ET[b, k + index] += Phi[index, b]
        if not finite(dot(ET[b], ET[b])):
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
    for b in range(k):
        reject(QT, k, ET[b], np.sqrt(dot(ET[b], ET[b])))
    triangularize(ET, Phi)
    return True


@kernel
def deviation(C, truthT, WT, first, last, scratch):
    """Return the sum of |w_i - C w_i*|^2 over the clients from first to last, exclusive."""
    k = C.shape[0]
    total = 0.0
    for a in range(k):
        for start in range(first, last, BLOCK):
            count = min(BLOCK, last - start)
            c, star, w = C[a, 0], truthT[0][start:], WT[a][start:]
            for i in range(count):
                scratch[i] = c * star[i] - w[i]
            add_others(C[a], truthT, start, count, scratch)
            total += dot(scratch[:count], scratch)
    return total


@kernel
def measure(Phi, moment, excess, G, row):
    """Write distance, head error and population risk into a row of metrics.

    excess is the mean of |w_i - C w_i*|^2.
    """
    p, k = Phi.shape
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
    row[HEAD_ERROR] = np.sqrt(excess)
    row[POPULATION_RISK] = 0.5 * (excess + unreachable)


@kernel
def exchange(clients, heads, WT):
    """Give clients other heads, and take theirs; done again, it puts these back."""
    for start in range(0, clients.size, BLOCK):
        block = heads[start // BLOCK]
        for a in range(WT.shape[0]):
            for i in range(min(BLOCK, clients.size - start)):
                client = clients[start + i]
                WT[a, client], block[a, i] = block[a, i], WT[a, client]


@kernel(counted=True)
def play(rng, batch, settings, truth, clients, state, sums, heads, work):
    """Let clients fit their heads and add up their gradients; return their losses' sum times 2m.

    Of the sums, UT becomes that of the gradients in coordinates of B and F, and S the row
    covariance of their other coordinates. The clients have their new heads afterwards, and heads
    (blocks, k, BLOCK) their old ones, in their order: see exchange.
    """
    C, Phi, WT = state
    UT, S = sums
    star, lack, g = work.star, work.lack, work.g
    square, length, share = work.square, work.length, work.share
    m, noise, split = batch
    k, p = C.shape[0], Phi.shape[0]
    simple = settings.local_steps == EXACT and m > k
    UT[:] = 0.0
    S[:] = 0.0
    loss = 0.0
    for start in range(0, clients.size, BLOCK):
        count = min(BLOCK, clients.size - start)
        w = heads[start // BLOCK]
        for a in range(k):
            for i in range(count):
                star[a, i] = truth.WT[a, clients[start + i]]
        for i in range(count):
            square[i] = noise * noise
        for index in range(p):
            for i in range(count):
                lack[k + index, i] = Phi[index, 0] * star[0, i]
            add_others(Phi[index], star, 0, count, lack[k + index])
            for i in range(count):
                square[i] += lack[k + index, i] * lack[k + index, i]
        if simple:
            solve_heads(rng, m, count, C, square, length, star, w, g)
        else:
            for i in range(count):
                for a in range(k):
                    w[a, i] = WT[a, clients[start + i]]
                fit_and_step(rng, batch, settings, i, C, w, work)
        if split:
            for a in range(k):
                for i in range(count):
                    lack[a, i] = C[a, 0] * star[0, i] - w[a, i]
                add_others(C[a], star, 0, count, lack[a])
                for i in range(count):
                    square[i] += lack[a, i] * lack[a, i]
        if split or simple:
            taken = 0 if split else k  # by the heads
            draw_gradients(
                rng, float(m - taken), taken, noise, count, lack, square, length, share, g
            )
        for i in range(count):
            loss += length[i] * length[i]
        # With exact heads and m > k the residual is orthogonal to X B.
        add_block(count, k if simple and not split else 0, w, g, length, share, UT, S)
    exchange(clients, heads, WT)
    return loss


@kernel(counted=True)
def run_gram(rng, others, batch, settings, truth, schedule, state, metrics, heads, works):
    """Run one round per row of schedule; see linrep.kernels.fedrep.run_fresh.

    Same law of the metrics as with a Gaussian design; others is d - k - p. The state is changed in
    place; works are a client's workspace and the server's.
    """
    work, server = works
    C, Phi, WT = state
    rounds, participants = schedule.shape
    m, n = batch.m, WT.shape[1]
    factor = (
        settings.step_size / (m * participants) if settings.averaged else settings.step_size / m
    )
    for t in range(rounds):
        copy_rows(C, server.C)
        copy_rows(Phi, server.Phi)
        loss = play(
            rng, batch, settings, truth, schedule[t], state, (server.UT, server.S), heads, work
        )
        row = metrics[t + 1]
        row[LOSS] = loss / (2.0 * m * participants)
        good = finite(loss) and move(rng, others, factor, C, Phi, server)
        if good:
            excess = deviation(C, truth.WT, WT, 0, n, server.scratch) / n
            measure(Phi, truth.moment, excess, server.G, row)
            good = finite(row[POPULATION_RISK])
        if not good:
            copy_rows(server.C, C)
            copy_rows(server.Phi, Phi)
            exchange(schedule[t], heads, WT)
            return t, DIVERGED
        if row[DISTANCE] <= settings.tolerance:
            return t + 1, CONVERGED
    return rounds, COMPLETED
