"""pFL^MF's rounds on quadratic functions, and what its rounds on any functions have in common.

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
from linrep.kernels.linalg import copy_rows, dot, finite, subtract_product
from linrep.kernels.rounds import COMPLETED, DIVERGED, project

IDENTITY, SHARED, DIAGONAL, OWN = range(4)  # matrices of the quadratic functions
SUM_U, SUM_V, REACH_U, REACH_V = range(4)  # totals
# Clients whose descents stay in cache: as rows where they are long, as columns where they are not,
# so that the innermost loop has something to run through.
_LONG = 32
_NUMBERS_IN_CACHE = 4096


def workspace(n, k, d, m, local_steps):
    """Return the scratch arrays of a run; m is the largest batch of samples, 0 without any."""
    chunk = min(n, max(4, _NUMBERS_IN_CACHE // max(d, _LONG)))
    size = max(m, 1)
    return (
        np.empty(n + 1, dtype=np.int64),  # participants, then the others
        np.empty((2, k, d)),  # descents in U, of participants and of others
        np.empty((3, k, d)),  # U as it was, HU, and its negative
        np.empty((4, k, n)),  # heads as they were, heads, their descents and moves, transposed
        np.empty((k, k)),  # U'HU
        np.empty((chunk, d) if d > _LONG else (d, chunk)),  # descents of a chunk of clients
        np.empty((chunk, k)),  # their heads
        np.empty((k, size)),  # projected samples
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
def quadratic_descents(
    kind, A, H, weights, clients, heads, UT, HUT, minus, R, rows, row, Z, summed, sumT, scratch
):
    """Write the clients' heads' descents into Z; if summed, add their own, times heads, to sumT.

    heads, Z and scratch are (k, clients).
    """
    k, d = UT.shape
    chunk = rows.shape[0]
    for first in range(0, clients.shape[0], chunk):
        last = min(first + chunk, clients.shape[0])
        size, some = last - first, clients[first:last]
        these, Zs = heads[:, first:last], Z[:, first:last]
        if d > _LONG:
            long_descents(kind, A, H, weights, some, these, UT, HUT, R[:size], rows[:size], row, Zs)
            if summed:
                negative = scratch[:, first:last]
                for a in range(k):
                    for j in range(size):
                        negative[a, j] = -these[a, j]
                subtract_product(negative, R[:size], sumT)
        else:
            short_descents(kind, A, H, weights, some, these, UT, minus, R[:, :size], row, Zs)
            if summed:
                for a in range(k):
                    for column in range(d):
                        sumT[a, column] += dot(these[a], R[column, :size])


@kernel
def distances_from(heads, clients, start_V):
    """Return the sum of squared distances of clients' heads (k, clients) from the start."""
    total = 0.0
    for a in range(heads.shape[0]):
        for j in range(clients.shape[0]):
            difference = heads[a, j] - start_V[clients[j], a]
            total += difference * difference
    return total


@kernel
def move_quadratic_heads(
    kind, A, H, weights, clients, measured, head_step, head_step_size, noisy, noise, start_V, UT,
    HUT, minus, G, heads, Z, move, R, rows, row, sumT, sums, spread,
):  # fmt: skip
    """Take participants' local steps, from the descents Z of their heads."""
    local_steps = spread.shape[0] - 1
    for step in range(local_steps):
        if measured:
            sums[0] += square_of(Z)
        for a in range(heads.shape[0]):
            for j in range(clients.shape[0]):
                along = head_step * Z[a, j]
                if noisy:
                    along -= head_step_size * noise[step, clients[j], a]
                move[a, j] = along
                heads[a, j] += along
        if measured:
            spread[step + 1] += distances_from(heads, clients, start_V)
        if step + 1 < local_steps:
            if kind <= SHARED:
                subtract_product(G, move, Z)
            else:
                quadratic_descents(
                    kind, A, H, weights, clients, heads, UT, HUT, minus, R, rows, row, Z, False,
                    sumT, move,
                )  # fmt: skip
    sums[1] += square_of(heads)


@kernel
def finish_round(
    n, scale, everyone, measured, step_size, noisy, noise, participants, start_UT, UT, V, descents,
    old_UT, old_heads, totals, sums, spread, rest,
):  # fmt: skip
    """Move U and add to the totals; False, and (U, V) put back, if the result is not finite.

    rest is the part in spread[0] of clients that do not move; it counts after every local step.
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
    order, descents, copies, wide, G, R, rows, _, row, sums, spread = work
    old_UT, HUT, minus = copies[0], copies[1], copies[2]
    row = row[: A.shape[1]]
    n, d = A.shape
    k, local_steps = UT.shape[0], spread.shape[0] - 1
    for t in range(masks.shape[0]):
        count = order_clients(masks[t], order)
        stop = n if everyone or measured else count
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
            for j in range(stop):
                wide[1, a, j] = V[order[j], a]
                wide[0, a, j] = wide[1, a, j]
        for part in range(2):
            own = slice(0, count) if part == 0 else slice(count, stop)
            quadratic_descents(
                kind, A, H, weights, order[own], wide[1][:, own], UT, HUT, minus, R, rows, row,
                wide[2][:, own], True, descents[part], wide[3][:, own],
            )  # fmt: skip
        own, rest = slice(0, count), 0.0
        if measured:
            rest = distances_from(wide[1][:, count:stop], order[count:stop], start_V)
            spread[0] = rest + distances_from(wide[1][:, own], order[own], start_V)
            sums[0] += local_steps * square_of(wide[2][:, count:stop])
        move_quadratic_heads(
            kind, A, H, weights, order[own], measured, head_step_size / n, head_step_size, noisy,
            noise_V[t if noisy else 0], start_V, UT, HUT, minus, G, wide[1][:, own],
            wide[2][:, own], wide[3][:, own], R, rows, row, descents[0], sums, spread,
        )  # fmt: skip
        for a in range(k):
            for j in range(count):
                V[order[j], a] = wide[1, a, j]
        if kind == SHARED:
            for part in range(2):
                for a in range(k):
                    for column in range(d):
                        row[column] = dot(descents[part, a], H[0, column])
                    for column in range(d):
                        descents[part, a, column] = row[column]
        if not finish_round(
            n, scales[t], everyone, measured, step_size, noisy, noise_U[t if noisy else 0],
            order[:count], start_UT, UT, V, descents, old_UT, wide[0], totals, sums, spread, rest,
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
