"""PerFedSI: rounds of local steps on single entries of a matrix, and least squares by groups.

All that a client changes of V is z a' for some a: it walks on v = V' z (k numbers), and its step
on one entry costs O(k) whatever the sizes. docs/perfedsi.md derives it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import dot, finite
from linrep.kernels.rounds import COMPLETED, DIVERGED

_DEPENDENT = 1e-12  # share of a vector left over that counts as nothing

Values = NDArray[np.float64]
Integers = NDArray[np.int64]


class Entries(NamedTuple):
    """Observed entries, those of client i from offsets[i] to offsets[i + 1], or how they are drawn.

    If fresh, entries are those of U V', with noise, and what is observed is empty.
    """

    items: Integers
    values: Values
    offsets: Integers
    fresh: bool
    U: Values  # (d, k*)
    V: Values  # (n, k*): rows V*' z_i
    noise: float


class Settings(NamedTuple):
    """What rounds are run with."""

    local_steps: int
    step_size: float
    privacy: float  # standard deviation of the noise each participant adds to its V
    adaptive: bool = False  # a step for every entry by its curvature, in the place of step_size


class Side(NamedTuple):
    """Side information Z (n, p); with identity there is none: V has n rows, and Z is not read."""

    Z: Values
    identity: bool


class Workspace(NamedTuple):
    """Scratch arrays of `run_entrywise`; touched = participants times local steps."""

    place: Integers  # (d,): where in rows an item is, -1 if the client left it alone
    touched: Integers  # (touched,): items, client after client
    rows: Values  # (touched, k): their rows of U, at last by how much they changed
    along: Values  # (participants, k): what each client adds to V along its side information
    star: Values  # (k,): V*' z of a client
    v: Values  # (k,): its V' z
    start: Values  # (k,): that of before its steps
    steps: Values  # (2,): the sum of a round's step sizes, and their number


def workspace(k: int, d: int, participants: int, local_steps: int) -> Workspace:
    """Return the scratch arrays that run_entrywise uses."""
    touched = participants * local_steps
    return Workspace(
        place=np.full(d, -1, dtype=np.int64),
        touched=np.empty(touched, dtype=np.int64),
        rows=np.empty((touched, k)),
        along=np.empty((participants, k)),
        star=np.empty(k),
        v=np.empty(k),
        start=np.empty(k),
        steps=np.zeros(2),
    )


@kernel
def read_head(V, side, client, v):
    """Write V' z of a client into v and return |z|^2; with identity z is a basis vector."""
    k = V.shape[1]
    if side.identity:
        for c in range(k):
            v[c] = V[client, c]
        return 1.0
    z = side.Z[client]
    for c in range(k):
        v[c] = 0.0
    for row in range(V.shape[0]):
        for c in range(k):
            v[c] += z[row] * V[row, c]
    return dot(z, z)


@kernel
def step_on_entry(u, v, value, step_size, square):
    """Take a gradient step on half the squared error of one entry, in its row of U and in V' z."""
    residual = dot(u, v) - value
    along = step_size * residual
    across = along * square
    for c in range(u.shape[0]):
        uc, vc = u[c], v[c]
        u[c] = uc - along * vc
        v[c] = vc - across * uc
    return residual


@kernel
def curvature_step_size(u, v, value, square):
    """Return one over twice a bound on the curvature of an entry's loss, in its row of U and in V.

    The Hessian of half the squared error is (v, |z| u)(v, |z| u)' plus the residual times |z| off
    the diagonal. Factors of 0, which nothing moves, get a step of 0.
    """
    residual = dot(u, v) - value
    bound = dot(v, v) + square * dot(u, u) + np.sqrt(square) * abs(residual)
    return 0.5 / bound if bound > 0.0 else 0.0


@kernel
def take_local_steps(rng, entries, settings, client, square, U, found, work):
    """Let a client take its steps on random entries; return how many rows it touched, and the loss.

    Entries are its own or, if they are fresh, drawn from the truth. Rows of U are copied when first
    touched; touched and rows are filled from found on. work.v is changed in place.
    """
    place, touched, rows, star, v = work.place, work.touched, work.rows, work.star, work.v
    k, d = v.shape[0], U.shape[0]
    begin, loss = found, 0.0
    first, last = 0, 0
    if entries.fresh:
        for c in range(k):
            star[c] = entries.V[client, c]
    else:
        first, last = entries.offsets[client], entries.offsets[client + 1]
        if first == last:
            return found, loss
    for _ in range(settings.local_steps):
        if entries.fresh:
            item = int(rng.random() * d)
            value = dot(entries.U[item], star)
            if entries.noise > 0.0:
                value += entries.noise * rng.standard_normal()
        else:
            entry = first + int(rng.random() * (last - first))
            item, value = entries.items[entry], entries.values[entry]
        if place[item] < 0:
            place[item] = found
            touched[found] = item
            for c in range(k):
                rows[found, c] = U[item, c]
            found += 1
        row, step_size = rows[place[item]], settings.step_size
        if settings.adaptive:
            step_size = curvature_step_size(row, v, value, square)
            residual = step_on_entry(row, v, value, step_size, square)
        else:  # a call of its own, for which the compiler keeps the order of sums
            residual = step_on_entry(row, v, value, step_size, square)
        work.steps[0] += step_size
        work.steps[1] += 1.0
        loss += residual * residual
    for index in range(begin, found):
        place[touched[index]] = -1
    return found, loss


@kernel
def entrywise_round(rng, participants, entries, settings, side, U, V, work):
    """Run a round of federated averaging; return its loss, with (U, V) kept if it is not finite."""
    touched, rows, along, v, start = work.touched, work.rows, work.along, work.v, work.start
    count, k = participants.shape[0], U.shape[1]
    found, total = 0, 0.0
    work.steps[:] = 0.0
    for j in range(count):
        client = participants[j]
        square = read_head(V, side, client, v)
        for c in range(k):
            start[c] = v[c]
        begin = found
        found, part = take_local_steps(rng, entries, settings, client, square, U, found, work)
        total += part
        for index in range(begin, found):
            for c in range(k):
                rows[index, c] -= U[touched[index], c]
        for c in range(k):
            along[j, c] = (v[c] - start[c]) / square if square > 0.0 else 0.0
    loss = total / (2.0 * count * settings.local_steps)
    if not finite(loss):
        return loss
    for index in range(found):
        for c in range(k):
            U[touched[index], c] += rows[index, c] / count
    for j in range(count):
        client = participants[j]
        if side.identity:
            for c in range(k):
                V[client, c] += along[j, c] / count
        else:
            for row in range(V.shape[0]):
                share = side.Z[client, row] / count
                for c in range(k):
                    V[row, c] += share * along[j, c]
    if settings.privacy > 0.0:
        # The mean of independent noise on every participant's V.
        spread = settings.privacy / np.sqrt(count)
        for row in range(V.shape[0]):
            for c in range(k):
                V[row, c] += spread * rng.standard_normal()
    return loss


@kernel(counted=True)
def run_entrywise(rng, schedule, entries, settings, side, U, V, loss, work):
    """Run a round of federated averaging per row of schedule; return rounds done and the status.

    Parameters
    ----------
    rng : Generator
        Of the entries.
    schedule : ndarray of int, shape (rounds, participants)
        Clients, in which one may be more than once.
    entries : Entries
    settings : Settings
    side : Side
    U, V : ndarray, shape (d, k), (p, k)
        Changed in place.
    loss : ndarray, shape (rounds,)
        Becomes the mean half squared error of the entries, each before its step.
    work : Workspace
    """
    for t in range(schedule.shape[0]):
        loss[t] = entrywise_round(rng, schedule[t], entries, settings, side, U, V, work)
        if not finite(loss[t]):
            return t, DIVERGED
    return schedule.shape[0], COMPLETED


@kernel
def weigh_by_residual(on_items, on_clients, values, residuals):
    """Write what products of rows (N, k) are above values into residuals (N,); return their square.

    Both rows become their products with the residual.
    """
    k, total = on_items.shape[1], 0.0
    for entry in range(values.shape[0]):
        residual = -values[entry]
        for c in range(k):
            residual += on_items[entry, c] * on_clients[entry, c]
        for c in range(k):
            on_items[entry, c] *= residual
            on_clients[entry, c] *= residual
        residuals[entry] = residual
        total += residual * residual
    return total


@kernel
def eliminate(offsets, vectors, table, values, overlap):
    """Reduce each group's rows of table and values to what its vectors do not explain.

    The columns of vectors (N, k) become orthonormal within a group, 0 where they depend on those
    before; table is (N, p), values (N,), overlap (p,) scratch. Group i is offsets[i] to
    offsets[i + 1].
    """
    k, p = vectors.shape[1], table.shape[1]
    for group in range(offsets.shape[0] - 1):
        first, last = offsets[group], offsets[group + 1]
        for c in range(k):
            before = 0.0
            for row in range(first, last):
                before += vectors[row, c] * vectors[row, c]
            for _ in range(2):  # twice, which keeps orthogonality at rounding level
                for other in range(c):
                    total = 0.0
                    for row in range(first, last):
                        total += vectors[row, other] * vectors[row, c]
                    for row in range(first, last):
                        vectors[row, c] -= total * vectors[row, other]
            after = 0.0
            for row in range(first, last):
                after += vectors[row, c] * vectors[row, c]
            kept = after > _DEPENDENT * _DEPENDENT * before
            factor = 1.0 / np.sqrt(after) if kept else 0.0
            for row in range(first, last):
                vectors[row, c] *= factor
            total = 0.0
            for column in range(p):
                overlap[column] = 0.0
            for row in range(first, last):
                total += vectors[row, c] * values[row]
                for column in range(p):
                    overlap[column] += vectors[row, c] * table[row, column]
            for row in range(first, last):
                values[row] -= total * vectors[row, c]
                for column in range(p):
                    table[row, column] -= overlap[column] * vectors[row, c]
