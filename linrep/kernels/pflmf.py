"""pFL^MF's rounds on quadratic functions, and what its rounds on any functions have in common.

Conventions: UT is U transposed, (k, d); V is (n, k). What is computed are descents, the negative
gradients, without the 1/n: client i's is -grad f_i(U v_i), its head's -U' grad f_i(U v_i). A round
at (U, V) is

    v_i <- v_i + head_step_size * (head's descent / n - noise), local_steps times, participants only
    U <- U + step_size * (scale * sum_i descent_i v_i' - noise), descents at the old v_i

with the sum over participants, or over everyone and scale = 1/n. Noise is handed in. Nothing here
allocates.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy_rows, dot, finite, subtract_product
from linrep.kernels.rounds import COMPLETED, DIVERGED, project

IDENTITY, SHARED, DIAGONAL, OWN = range(4)  # matrices of the quadratic functions
SUM_U, SUM_V, REACH_U, REACH_V = range(4)  # totals
# Clients whose descents stay in cache: as rows where they are long, as columns where they are not,
# so that the innermost loop has something to run through.
_LONG = 32
_LONGER = 96  # from where on descents need not be written down, where all clients have one H
_NUMBERS_IN_CACHE = 4096


Values = NDArray[np.float64]


class Quadratic(NamedTuple):
    """Functions (x - a_i)' H_i (x - a_i) / 2; what a kind does not need is empty."""

    kind: int
    A: Values  # (n, d)
    H: Values  # (n, d, d), or one (1, d, d)
    weights: Values  # (n, d): diagonals


class Settings(NamedTuple):
    """What rounds are run with."""

    step_size: float
    head_step_size: float
    head_step: float  # head_step_size / n, what multiplies a head's descent
    everyone: bool  # the sum of descents in U is over all clients
    measured: bool  # totals are kept


class Noise(NamedTuple):
    """Of the rounds of one call; one round of anything where there is none."""

    present: bool
    U: Values  # (rounds, k, d)
    V: Values  # (rounds, local_steps, n, k)


class State(NamedTuple):
    """The factors."""

    UT: Values  # (k, d)
    V: Values  # (n, k)


class Workspace(NamedTuple):
    """Scratch arrays of a run; heads, their descents and moves are transposed."""

    order: NDArray[np.int64]  # (n + 1,): participants, then the others
    descents: Values  # (2, k, d): in U, of participants and of others
    old_UT: Values  # (k, d): U as it was
    HUT: Values  # (k, d)
    minus: Values  # (k, d): the negative of HUT
    old_heads: Values  # (k, n): heads as they were
    heads: Values  # (k, n)
    head_descents: Values  # (k, n)
    moves: Values  # (k, n)
    G: Values  # (k, k): U'HU
    square: Values  # (k, k): V'V of some clients
    R: Values  # descents of a chunk of clients, as rows where they are long
    rows: Values  # (chunk, k): their heads
    Z: Values  # (k, m): projected samples
    residual: Values  # (m,): of a client
    row: Values  # (d,)
    sums: Values  # (2,): squares of heads' descents, and of heads
    spread: Values  # (local_steps + 1,): squared distance of V from the start, per local step


def workspace(n: int, k: int, d: int, m: int, local_steps: int) -> Workspace:
    """Return the scratch arrays of a run; m is the largest batch of samples, 0 without any."""
    chunk = min(n, max(4, _NUMBERS_IN_CACHE // max(d, _LONG)))
    size = max(m, 1)
    return Workspace(
        order=np.empty(n + 1, dtype=np.int64),
        descents=np.empty((2, k, d)),
        old_UT=np.empty((k, d)),
        HUT=np.empty((k, d)),
        minus=np.empty((k, d)),
        old_heads=np.empty((k, n)),
        heads=np.empty((k, n)),
        head_descents=np.empty((k, n)),
        moves=np.empty((k, n)),
        G=np.empty((k, k)),
        square=np.empty((k, k)),
        R=np.empty((chunk, d) if d > _LONG else (d, chunk)),
        rows=np.empty((chunk, k)),
        Z=np.empty((k, size)),
        residual=np.empty(size),
        row=np.empty(d),
        sums=np.empty(2),
        spread=np.empty(local_steps + 1),
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
def add_targets(functions, clients, heads, HUT, Z, sumT, spare):
    """Write targets times HU to Z and add the heads times targets to sumT: each is read once."""
    k, d = HUT.shape
    count = clients.shape[0]
    for j in range(0, count - 3, 4):
        x0, x1 = functions.A[clients[j]], functions.A[clients[j + 1]]
        x2, x3 = functions.A[clients[j + 2]], functions.A[clients[j + 3]]
        for a in range(0, k, 2):
            b = min(a + 1, k - 1)  # where there are no two, the last one again, for nothing
            ua, ub, ta, tb = HUT[a], HUT[b], sumT[a], sumT[b] if b > a else spare
            v0, v1, v2, v3 = heads[a, j], heads[a, j + 1], heads[a, j + 2], heads[a, j + 3]
            w0, w1, w2, w3 = heads[b, j], heads[b, j + 1], heads[b, j + 2], heads[b, j + 3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            r0, r1, r2, r3 = 0.0, 0.0, 0.0, 0.0
            for column in range(d):
                y0, y1, y2, y3 = x0[column], x1[column], x2[column], x3[column]
                p, q = ua[column], ub[column]
                s0 += y0 * p
                s1 += y1 * p
                s2 += y2 * p
                s3 += y3 * p
                r0 += y0 * q
                r1 += y1 * q
                r2 += y2 * q
                r3 += y3 * q
                ta[column] += v0 * y0 + v1 * y1 + v2 * y2 + v3 * y3
                tb[column] += w0 * y0 + w1 * y1 + w2 * y2 + w3 * y3
            Z[b, j], Z[b, j + 1], Z[b, j + 2], Z[b, j + 3] = r0, r1, r2, r3
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = s0, s1, s2, s3
    for j in range(count - count % 4, count):
        x = functions.A[clients[j]]
        for a in range(k):
            Z[a, j] = dot(x, HUT[a])
            for column in range(d):
                sumT[a, column] += heads[a, j] * x[column]


@kernel
def common_descents(functions, clients, heads, UT, Z, sumT, work):
    """Do what quadratic_descents does for one H of all clients, without anyone's descent.

    With A the targets as rows, Z' = A HU - V (U'HU), and sumT' = A'V - U (V'V) but for the factor
    H, which sumT lacks.
    """
    add_targets(functions, clients, heads, work.HUT, Z, sumT, work.row)
    subtract_product(work.G, heads, Z)
    square = work.square
    for a in range(heads.shape[0]):
        for b in range(heads.shape[0]):
            square[a, b] = dot(heads[a], heads[b])
    subtract_product(square, UT, sumT)


@kernel
def long_descents(functions, clients, heads, UT, R, Z, work):
    """Write a chunk of clients' descents into R, as rows, and their heads' into Z (k, clients).

    With SHARED those in R lack the factor H.
    """
    rows, row = work.rows[: clients.shape[0]], work.row
    for j in range(clients.shape[0]):
        for a in range(heads.shape[0]):
            rows[j, a] = heads[a, j]
        for column in range(R.shape[1]):
            R[j, column] = functions.A[clients[j], column]
    subtract_product(rows, UT, R)
    for j in range(clients.shape[0]):
        i = clients[j]
        if functions.kind == DIAGONAL:
            for column in range(R.shape[1]):
                R[j, column] *= functions.weights[i, column]
        elif functions.kind == OWN:
            for column in range(R.shape[1]):
                row[column] = dot(functions.H[i, column], R[j])
            for column in range(R.shape[1]):
                R[j, column] = row[column]
    project(R, work.HUT, Z)


@kernel
def short_descents(functions, clients, heads, UT, R, Z, work):
    """Write a chunk of clients' descents into R, as columns, and their heads' into Z (k, clients).

    With SHARED those in R lack the factor H.
    """
    row = work.row
    for column in range(R.shape[0]):
        for j in range(clients.shape[0]):
            R[column, j] = functions.A[clients[j], column]
    subtract_product(UT.T, heads, R)
    if functions.kind == DIAGONAL:
        for column in range(R.shape[0]):
            for j in range(clients.shape[0]):
                R[column, j] *= functions.weights[clients[j], column]
    elif functions.kind == OWN:
        for j in range(clients.shape[0]):
            for column in range(R.shape[0]):
                row[column] = R[column, j]
            for column in range(R.shape[0]):
                R[column, j] = dot(functions.H[clients[j], column], row)
    for a in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[a, j] = 0.0
    subtract_product(work.minus, R, Z)


@kernel
def quadratic_descents(functions, clients, UT, heads, Z, scratch, summed, sumT, work):
    """Write the clients' heads' descents into Z; if summed, add their own, times heads, to sumT.

    heads, Z and scratch are (k, clients). With SHARED what is added lacks the factor H.
    """
    k, d = UT.shape
    if d >= _LONGER and functions.kind <= SHARED:
        common_descents(functions, clients, heads, UT, Z, sumT, work)
        return
    chunk = work.rows.shape[0]
    for first in range(0, clients.shape[0], chunk):
        last = min(first + chunk, clients.shape[0])
        size, some = last - first, clients[first:last]
        these, Zs = heads[:, first:last], Z[:, first:last]
        if d > _LONG:
            R = work.R[:size]
            long_descents(functions, some, these, UT, R, Zs, work)
            if summed:
                negative = scratch[:, first:last]
                for a in range(k):
                    for j in range(size):
                        negative[a, j] = -these[a, j]
                subtract_product(negative, R, sumT)
        else:
            columns = work.R[:, :size]
            short_descents(functions, some, these, UT, columns, Zs, work)
            if summed:
                for a in range(k):
                    for column in range(d):
                        sumT[a, column] += dot(these[a], columns[column])


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
def move_quadratic_heads(functions, clients, settings, noise, t, start_V, UT, work):
    """Take participants' local steps, from the descents of their heads."""
    sums, spread = work.sums, work.spread
    count, local_steps = clients.shape[0], spread.shape[0] - 1
    heads, Z, move = work.heads[:, :count], work.head_descents[:, :count], work.moves[:, :count]
    for step in range(local_steps):
        if settings.measured:
            sums[0] += square_of(Z)
        for a in range(heads.shape[0]):
            for j in range(count):
                along = settings.head_step * Z[a, j]
                if noise.present:
                    along -= settings.head_step_size * noise.V[t, step, clients[j], a]
                move[a, j] = along
                heads[a, j] += along
        if settings.measured:
            spread[step + 1] += distances_from(heads, clients, start_V)
        if step + 1 < local_steps:
            if functions.kind <= SHARED:
                subtract_product(work.G, move, Z)
            else:
                quadratic_descents(
                    functions, clients, UT, heads, Z, move, False, work.descents[0], work
                )
    sums[1] += square_of(heads)


@kernel
def finish_round(scale, settings, noise, t, participants, start, state, totals, rest, work):
    """Move U and add to the totals; False, and (U, V) put back, if the result is not finite.

    rest is the part in spread[0] of clients that do not move; it counts after every local step.
    """
    UT, V = state
    descents, sums, spread = work.descents, work.sums, work.spread
    (k, d), n = UT.shape, V.shape[0]
    local_steps = spread.shape[0] - 1
    size = 0.0
    for a in range(k):
        for column in range(d):
            own, whole = descents[0, a, column], descents[0, a, column] + descents[1, a, column]
            if settings.measured:
                size += whole * whole
            UT[a, column] += settings.step_size * scale * (whole if settings.everyone else own)
            if noise.present:
                UT[a, column] -= settings.step_size * noise.U[t, a, column]
    if not finite(square_of(UT) + sums[1]):
        copy_rows(work.old_UT, UT)
        for place in range(participants.shape[0]):
            for a in range(k):
                V[participants[place], a] = work.old_heads[a, place]
        return False
    if settings.measured:
        totals[SUM_U] += size / (n * n)
        totals[SUM_V] += sums[0] / (n * n * local_steps)
        totals[REACH_U] = max(totals[REACH_U], np.sqrt(square_of_difference(UT, start.UT)))
        for step in range(local_steps + 1):
            distance = np.sqrt(spread[step] + (rest if step > 0 else 0.0))
            totals[REACH_V] = max(totals[REACH_V], distance)
    return True


@kernel
def run_quadratic(functions, masks, scales, settings, noise, start, state, totals, work):
    """Run a round per row of masks on quadratic functions; return rounds done and the status.

    Parameters
    ----------
    functions : Quadratic
    masks : ndarray of bool, shape (rounds, n)
        Participants.
    scales : ndarray, shape (rounds,)
        What the sum of descents in U is multiplied by.
    settings : Settings
    noise : Noise
    start, state : State
        Where distances are measured from, and where the run is; the latter is changed in place.
    totals : ndarray, shape (4,)
        Added to: the sum over rounds of the squared gradient in U, and of the mean over local
        steps of that in V; raised to: the largest distances of U and of V_k from the start.
    work : Workspace
    """
    UT, V = state
    order, descents, heads, row = work.order, work.descents, work.heads, work.row
    n, d = functions.A.shape
    k, local_steps = UT.shape[0], work.spread.shape[0] - 1
    for t in range(masks.shape[0]):
        count = order_clients(masks[t], order)
        stop = n if settings.everyone or settings.measured else count
        copy_rows(UT, work.old_UT)
        descents[:] = 0.0
        work.sums[:] = 0.0
        work.spread[:] = 0.0
        for a in range(k):
            for column in range(d):
                shared = functions.kind == SHARED
                entry = dot(UT[a], functions.H[0, column]) if shared else UT[a, column]
                work.HUT[a, column] = entry
                work.minus[a, column] = -entry
            for b in range(k):
                work.G[a, b] = dot(work.HUT[a], UT[b])
            for j in range(stop):
                heads[a, j] = V[order[j], a]
                work.old_heads[a, j] = heads[a, j]
        for part in range(2):
            own = slice(0, count) if part == 0 else slice(count, stop)
            quadratic_descents(
                functions,
                order[own],
                UT,
                heads[:, own],
                work.head_descents[:, own],
                work.moves[:, own],
                True,
                descents[part],
                work,
            )
        participants, others, rest = order[:count], order[count:stop], 0.0
        if settings.measured:
            rest = distances_from(heads[:, count:stop], others, start.V)
            work.spread[0] = rest + distances_from(heads[:, :count], participants, start.V)
            work.sums[0] += local_steps * square_of(work.head_descents[:, count:stop])
        move_quadratic_heads(functions, participants, settings, noise, t, start.V, UT, work)
        for a in range(k):
            for j in range(count):
                V[participants[j], a] = heads[a, j]
        if functions.kind == SHARED:
            for part in range(2):
                for a in range(k):
                    for column in range(d):
                        row[column] = dot(descents[part, a], functions.H[0, column])
                    for column in range(d):
                        descents[part, a, column] = row[column]
        if not finish_round(
            scales[t], settings, noise, t, participants, start, state, totals, rest, work
        ):
            return t, DIVERGED
    return masks.shape[0], COMPLETED
