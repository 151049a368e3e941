"""pFL^MF's rounds: block-coordinate gradient steps on the factors of the matrix of models.

Conventions: UT is U transposed, (k, d); V is (n, k). What is computed are descents, the negative
gradients, without the 1/n: client i's is -grad f_i(U v_i), its head's -U' grad f_i(U v_i). A round
at (U, V) is

    v_i <- v_i + head_step_size * (head's descent / n - noise), local_steps times, participants only
    U <- U + step_size * (scale * sum_i descent_i v_i' - noise), descents at the old v_i

with the sum over participants, or over everyone and scale = 1/n. Noise is handed in. Nothing here
allocates.
"""

import numpy as np

from linrep.kernels._jit import kernel
from linrep.kernels.linalg import copy_rows, dot, finite, gram, subtract_product
from linrep.kernels.rounds import COMPLETED, DIVERGED, back_project, project

IDENTITY, SHARED, DIAGONAL, OWN = range(4)  # matrices of the quadratic functions
LEAST_SQUARES, LOGISTIC = range(2)  # losses on samples
SUM_U, SUM_V, REACH_U, REACH_V = range(4)  # totals
# Clients whose descents stay in cache: as rows where they are long, as columns where they are not,
# so that the innermost loop has something to run through.
_LONG = 32
_CHUNK_OF_LONG, _CHUNK_OF_SHORT = 32, 128


def workspace(n, k, d, m, local_steps):
    """Return the scratch arrays of `run_quadratic` and `run_samples`; m is the largest batch."""
    chunk = _CHUNK_OF_LONG if d > _LONG else _CHUNK_OF_SHORT
    chunk = min(chunk, n)
    size = max(chunk, m)
    return (
        np.empty(n + 1, dtype=np.int64),  # participants, then the others
        np.empty((2, k, d)),  # descents in U, of participants and of others
        np.empty((3, k, d)),  # U as it was, HU, and its negative
        np.empty((k, n)),  # participants' heads as they were, transposed
        np.empty((k, k)),  # U'HU
        np.empty((chunk, d) if d > _LONG else (d, chunk)),  # descents of a chunk of clients
        np.empty((chunk, k)),  # their heads
        np.empty((3, k, size)),  # heads, their descents and their moves, transposed
        np.empty(size + d),  # a client's residual, and d numbers
        np.empty(2),  # squares of heads' descents, and of heads
        np.empty(local_steps + 1),  # squared distance of V from the start, per local step
    )


@kernel
def order_clients(mask, order):
    """Write participants into order, then the others; return how many participants there are.

    order has room for one more: every client is written where the next one of its kind belongs.
    """
    n, count = mask.shape[0], 0
    for i in range(n):
        order[count] = i
        count += 1 if mask[i] else 0
    place = count
    for i in range(n):
        order[place] = i
        place += 0 if mask[i] else 1
    return count


@kernel
def square_of_difference(X, Y):
    """Return the squared Frobenius distance of two matrices."""
    total = 0.0
    for row in range(X.shape[0]):
        for column in range(X.shape[1]):
            difference = X[row, column] - Y[row, column]
            total += difference * difference
    return total


@kernel
def square_of(X):
    """Return the squared Frobenius norm of a matrix."""
    total = 0.0
    for row in range(X.shape[0]):
        total += dot(X[row], X[row])
    return total


@kernel
def long_descents(kind, A, H, weights, clients, heads, UT, HUT, R, rows, row, Z):
    """Write a chunk of clients' descents into R, as rows, and their heads' into Z (k, clients).

    With SHARED those in R lack the factor H.
    """
    for j in range(clients.shape[0]):
        for a in range(heads.shape[0]):
            rows[j, a] = heads[a, j]
        for column in range(R.shape[1]):
            R[j, column] = A[clients[j], column]
    subtract_product(rows, UT, R)
    for j in range(clients.shape[0]):
        i = clients[j]
        if kind == DIAGONAL:
            for column in range(R.shape[1]):
                R[j, column] *= weights[i, column]
        elif kind == OWN:
            for column in range(R.shape[1]):
                row[column] = dot(H[i, column], R[j])
            for column in range(R.shape[1]):
                R[j, column] = row[column]
    project(R, HUT, Z)


@kernel
def short_descents(kind, A, H, weights, clients, heads, UT, minus, R, row, Z):
    """Do the same with descents as columns of R; minus is -HU transposed."""
    for column in range(R.shape[0]):
        for j in range(clients.shape[0]):
            R[column, j] = A[clients[j], column]
    subtract_product(UT.T, heads, R)
    if kind == DIAGONAL:
        for column in range(R.shape[0]):
            for j in range(clients.shape[0]):
                R[column, j] *= weights[clients[j], column]
    elif kind == OWN:
        for j in range(clients.shape[0]):
            for column in range(R.shape[0]):
                row[column] = R[column, j]
            for column in range(R.shape[0]):
                R[column, j] = dot(H[clients[j], column], row)
    for a in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[a, j] = 0.0
    subtract_product(minus, R, Z)


@kernel
def add_distances(heads, clients, start_V):
    """Return the sum of squared distances of a chunk's heads from the start."""
    total = 0.0
    for a in range(heads.shape[0]):
        for j in range(clients.shape[0]):
            difference = heads[a, j] - start_V[clients[j], a]
            total += difference * difference
    return total


@kernel
def quadratic_chunk(
    kind, A, H, weights, clients, moving, measured, head_step, head_step_size, noisy, noise,
    start_V, UT, HUT, minus, G, V, sumT, R, rows, heads, Z, move, row, old, sums, spread,
):  # fmt: skip
    """Add a chunk of clients' descents to sumT and move their heads, if moving.

    Into sums go the squares of the heads' descents, over all local steps, and of the heads at last.
    heads, Z, move and old, which keeps the heads, are (k, clients).
    """
    count, k, d = clients.shape[0], UT.shape[0], UT.shape[1]
    local_steps = spread.shape[0] - 1
    long = d > _LONG
    for a in range(k):
        for j in range(count):
            heads[a, j] = V[clients[j], a]
    if long:
        long_descents(kind, A, H, weights, clients, heads, UT, HUT, R[:count], rows, row, Z)
        for a in range(k):
            for j in range(count):
                move[a, j] = -heads[a, j]
        subtract_product(move, R[:count], sumT)
    else:
        short_descents(kind, A, H, weights, clients, heads, UT, minus, R[:, :count], row, Z)
        for a in range(k):
            for column in range(d):
                sumT[a, column] += dot(heads[a], R[column, :count])
    if measured:
        spread[0] += add_distances(heads, clients, start_V)
    if not moving:
        if measured:
            sums[0] += local_steps * square_of(Z)
        return
    copy_rows(heads, old)
    for step in range(local_steps):
        if measured:
            sums[0] += square_of(Z)
        for a in range(k):
            for j in range(count):
                along = head_step * Z[a, j]
                if noisy:
                    along -= head_step_size * noise[step, clients[j], a]
                move[a, j] = along
                heads[a, j] += along
        if measured:
            spread[step + 1] += add_distances(heads, clients, start_V)
        if step + 1 < local_steps:
            if kind <= SHARED:
                subtract_product(G, move, Z)
            elif long:
                long_descents(kind, A, H, weights, clients, heads, UT, HUT, R[:count], rows, row, Z)
            else:
                short_descents(kind, A, H, weights, clients, heads, UT, minus, R[:, :count], row, Z)
    sums[1] += square_of(heads)
    for a in range(k):
        for j in range(count):
            V[clients[j], a] = heads[a, j]


@kernel
def slopes(loss, Z, y, v, residual):
    """Write the descents of a client's mean loss in its samples' scores into residual."""
    m = y.shape[0]
    for j in range(m):
        residual[j] = 0.0
    for a in range(v.shape[0]):
        for j in range(m):
            residual[j] += v[a] * Z[a, j]
    if loss == LOGISTIC:
        for j in range(m):
            residual[j] = y[j] / ((1.0 + np.exp(y[j] * residual[j])) * m)
    else:
        for j in range(m):
            residual[j] = (y[j] - residual[j]) / m


@kernel
def head_descent(Z, residual, ridge, C, v, h):
    """Write the head's descent into h, ridge included; return its square. C is U'U."""
    m, square = residual.shape[0], 0.0
    for a in range(v.shape[0]):
        h[a] = dot(Z[a][:m], residual)
        if ridge > 0.0:
            h[a] -= ridge * dot(C[a], v)
        square += h[a] * h[a]
    return square


@kernel
def sample_client(
    loss, X, y, ridge, i, moving, measured, head_step, head_step_size, noisy, noise, start_V, UT,
    C, v, sumT, Z, h, residual, g, old, sums, spread,
):  # fmt: skip
    """Do for one client with samples what quadratic_chunk does."""
    k, d = UT.shape
    m = y.shape[0]
    local_steps = spread.shape[0] - 1
    residual = residual[:m]
    project(X, UT, Z)
    slopes(loss, Z, y, v, residual)
    back_project(X, residual, g)
    if ridge > 0.0:
        for a in range(k):
            for column in range(d):
                g[column] -= ridge * v[a] * UT[a, column]
    for a in range(k):
        for column in range(d):
            sumT[a, column] += v[a] * g[column]
    if not (moving or measured):
        return
    for a in range(k):
        spread[0] += (v[a] - start_V[i, a]) ** 2
    if not moving:
        sums[0] += local_steps * head_descent(Z, residual, ridge, C, v, h)
        return
    for a in range(k):
        old[a] = v[a]
    for step in range(local_steps):
        if step > 0:
            slopes(loss, Z, y, v, residual)
        sums[0] += head_descent(Z, residual, ridge, C, v, h)
        for a in range(k):
            v[a] += head_step * h[a]
            if noisy:
                v[a] -= head_step_size * noise[step, i, a]
            spread[step + 1] += (v[a] - start_V[i, a]) ** 2
    sums[1] += dot(v, v)


@kernel
def finish_round(
    n, scale, everyone, measured, step_size, noisy, noise, participants, start_UT, UT, V, descents,
    old_UT, old_heads, totals, sums, spread, rest,
):  # fmt: skip
    """Move U and add to the totals; False, and (U, V) put back, if the result is not finite.

    rest is how many of the spread's clients do not move: their part in spread[0] counts in all.
    """
    k, d = UT.shape
    local_steps = spread.shape[0] - 1
    size = 0.0
    for a in range(k):
        for column in range(d):
            own, whole = descents[0, a, column], descents[0, a, column] + descents[1, a, column]
            if measured:
                size += whole * whole
            UT[a, column] += step_size * scale * (whole if everyone else own)
            if noisy:
                UT[a, column] -= step_size * noise[a, column]
    if not finite(square_of(UT) + sums[1]):
        copy_rows(old_UT, UT)
        for place in range(participants.shape[0]):
            for a in range(k):
                V[participants[place], a] = old_heads[a, place]
        return False
    if measured:
        totals[SUM_U] += size / (n * n)
        totals[SUM_V] += sums[0] / (n * n * local_steps)
        totals[REACH_U] = max(totals[REACH_U], np.sqrt(square_of_difference(UT, start_UT)))
        for step in range(local_steps + 1):
            distance = np.sqrt(spread[step] + (rest if step > 0 else 0.0))
            totals[REACH_V] = max(totals[REACH_V], distance)
    return True


@kernel
def _run_quadratic(
    kind, A, H, weights, masks, scales, everyone, measured, step_size, head_step_size, noisy,
    noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
):  # fmt: skip
    """See run_quadratic."""
    order, descents, copies, old_heads, G, R, rows, both, row, sums, spread = work
    old_UT, HUT, minus = copies[0], copies[1], copies[2]
    n, d = A.shape
    k = UT.shape[0]
    chunk, local_steps = rows.shape[0], spread.shape[0] - 1
    for t in range(masks.shape[0]):
        count = order_clients(masks[t], order)
        copy_rows(UT, old_UT)
        descents[:] = 0.0
        sums[:] = 0.0
        spread[:] = 0.0
        for a in range(k):
            for column in range(d):
                HUT[a, column] = dot(UT[a], H[0, column]) if kind == SHARED else UT[a, column]
                minus[a, column] = -HUT[a, column]
            for b in range(k if local_steps > 1 else 0):
                G[a, b] = dot(HUT[a], UT[b])
        moving, first = 0.0, 0
        stop = n if everyone or measured else count
        while first < stop:
            part = 0 if first < count else 1
            if part == 1 and first == count:
                moving = spread[0]
            last = min(first + chunk, count if part == 0 else stop)
            size = last - first
            quadratic_chunk(
                kind, A, H, weights, order[first:last], part == 0, measured, head_step_size / n,
                head_step_size, noisy, noise_V[t if noisy else 0], start_V, UT, HUT, minus, G, V,
                descents[part], R, rows[:size], both[0][:, :size], both[1][:, :size],
                both[2][:, :size], row[:d], old_heads[:, first:last], sums, spread,
            )  # fmt: skip
            first = last
        rest = spread[0] - moving if count < stop else 0.0
        if kind == SHARED:
            for part in range(2):
                for a in range(k):
                    for column in range(d):
                        row[column] = dot(descents[part, a], H[0, column])
                    for column in range(d):
                        descents[part, a, column] = row[column]
        if not finish_round(
            n, scales[t], everyone, measured, step_size, noisy, noise_U[t if noisy else 0],
            order[:count], start_UT, UT, V, descents, old_UT, old_heads, totals, sums, spread, rest,
        ):  # fmt: skip
            return t, DIVERGED
    return masks.shape[0], COMPLETED


@kernel(counted=True)
def run_quadratic(
    kind, A, H, weights, masks, scales, everyone, measured, step_size, head_step_size, noisy,
    noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
):  # fmt: skip
    """Run a round per row of masks on quadratic functions; return rounds done and the status.

    Parameters
    ----------
    kind, A, H, weights
        Centres (n, d), and as the kind has it matrices H (n, d, d), one (1, d, d), or weights
        (n, d); what is not needed has a shape of the same length.
    masks : ndarray of bool, shape (rounds, n)
        Participants.
    scales : ndarray, shape (rounds,)
        What the sum of descents in U is multiplied by.
    everyone, measured, noisy : bool
        The sum is over all clients; totals are kept; there is noise.
    noise_U, noise_V : ndarray, shape (rounds, k, d), (rounds, local_steps, n, k)
        One round of anything without noise.
    start_UT, start_V : ndarray
        Where distances are measured from.
    UT, V : ndarray, shape (k, d), (n, k)
        Changed in place.
    totals : ndarray, shape (4,)
        Added to: the sum over rounds of the squared gradient in U, and of the mean over local
        steps of that in V; raised to: the largest distances of U and of V_k from the start.
    work
        See workspace.
    """
    return _run_quadratic(
        kind, A, H, weights, masks, scales, everyone, measured, step_size, head_step_size, noisy,
        noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
    )  # fmt: skip


@kernel
def _run_samples(
    loss, X, y, offsets, ridge, masks, scales, everyone, measured, step_size, head_step_size, noisy,
    noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
):  # fmt: skip
    """See run_samples."""
    order, descents, copies, old_heads, C, _, rows, both, row, sums, spread = work
    n, d = V.shape[0], UT.shape[1]
    largest = row.shape[0] - d
    for t in range(masks.shape[0]):
        count = order_clients(masks[t], order)
        copy_rows(UT, copies[0])
        descents[:] = 0.0
        sums[:] = 0.0
        spread[:] = 0.0
        if ridge > 0.0:
            gram(UT, C)
        rest = 0.0
        for place in range(n if everyone or measured else count):
            i = order[place]
            part = 0 if place < count else 1
            before = spread[0]
            own = slice(offsets[i], offsets[i + 1])
            sample_client(
                loss, X[own], y[own], ridge, i, part == 0, measured, head_step_size / n,
                head_step_size, noisy, noise_V[t if noisy else 0], start_V, UT, C, V[i],
                descents[part], both[0], rows[0], row[:largest], row[largest:],
                old_heads[:, place], sums, spread,
            )  # fmt: skip
            if part == 1:
                rest += spread[0] - before
        if not finish_round(
            n, scales[t], everyone, measured, step_size, noisy, noise_U[t if noisy else 0],
            order[:count], start_UT, UT, V, descents, copies[0], old_heads, totals, sums, spread,
            rest,
        ):  # fmt: skip
            return t, DIVERGED
    return masks.shape[0], COMPLETED


@kernel(counted=True)
def run_samples(
    loss, X, y, offsets, ridge, masks, scales, everyone, measured, step_size, head_step_size, noisy,
    noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
):  # fmt: skip
    """Do the same on least-squares or logistic losses of samples, with a ridge.

    Client i owns rows offsets[i]:offsets[i + 1] of X and y. All else as in run_quadratic.
    """
    return _run_samples(
        loss, X, y, offsets, ridge, masks, scales, everyone, measured, step_size, head_step_size,
        noisy, noise_U, noise_V, start_UT, start_V, UT, V, totals, work,
    )  # fmt: skip
