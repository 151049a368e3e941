"""PerFedSI: rounds of local steps on single entries of a matrix, and least squares by groups.

All that a client changes of V is z a' for some a: it walks on v = V' z (k numbers), and its step
on one entry costs O(k) whatever the sizes. docs/perfedsi.md derives it.
"""

import numpy as np

from linrep.kernels._jit import kernel
from linrep.kernels.linalg import dot, finite
from linrep.kernels.rounds import COMPLETED, DIVERGED
from linrep.kernels.samplers import standard_normal, uniform

_DEPENDENT = 1e-12  # share of a vector left over that counts as nothing


def workspace(k, d, participants, local_steps):
    """Return the scratch arrays that run_entrywise uses."""
    touched = participants * local_steps
    return (
        np.full(d, -1, dtype=np.int64),  # where in rows an item is, -1 if the client left it alone
        np.empty(touched, dtype=np.int64),  # items that were touched, client after client
        np.empty((touched, k)),  # their rows of U, at last by how much they changed
        np.empty((participants, k)),  # what each client adds to V along its side information
        np.empty((3, k)),  # a client's V*' z, V' z, and the latter as it was
    )


@kernel
def read_head(V, Z, client, identity, v):
    """Write V' z of a client into v and return |z|^2; with identity z is a basis vector."""
    k = V.shape[1]
    if identity:
        for c in range(k):
            v[c] = V[client, c]
        return 1.0
    for c in range(k):
        v[c] = 0.0
    for row in range(V.shape[0]):
        z = Z[client, row]
        for c in range(k):
            v[c] += z * V[row, c]
    return dot(Z[client], Z[client])


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
def local_steps_of(rng, items, values, first, last, star, starU, noise, count, U, v, step_size,
                   square, place, touched, rows, found):  # fmt: skip
    """Let a client take its steps on random entries; return how many rows it touched, and the loss.

    Entries are its own, from first to last, or, where there are none, fresh ones of the truth.
    Rows of U are copied when first touched; touched and rows are filled from found on.
    """
    k, d = v.shape[0], U.shape[0]
    begin, loss = found, 0.0
    for _ in range(count):
        if last > first:
            entry = first + int(uniform(rng) * (last - first))
            item, value = items[entry], values[entry]
        else:
            item = int(uniform(rng) * d)
            value = dot(starU[item], star)
            if noise > 0.0:
                value += noise * standard_normal(rng)
        if place[item] < 0:
            place[item] = found
            touched[found] = item
            for c in range(k):
                rows[found, c] = U[item, c]
            found += 1
        residual = step_on_entry(rows[place[item]], v, value, step_size, square)
        loss += residual * residual
    for index in range(begin, found):
        place[touched[index]] = -1
    return found, loss


@kernel
def _run_entrywise(rng, schedule, items, values, offsets, fresh, starU, starV, noise, count,
                   step_size, Z, identity, privacy, U, V, loss, work):  # fmt: skip
    """See run_entrywise."""
    place, touched, rows, along, heads = work
    participants, k = schedule.shape[1], U.shape[1]
    star, v, start = heads[0], heads[1], heads[2]
    for t in range(schedule.shape[0]):
        found, total = 0, 0.0
        for j in range(participants):
            client = schedule[t, j]
            square = read_head(V, Z, client, identity, v)
            for c in range(k):
                start[c] = v[c]
            first, last = (0, 0) if fresh else (offsets[client], offsets[client + 1])
            if fresh:
                for c in range(k):
                    star[c] = starV[client, c]
            begin = found
            if fresh or last > first:
                found, part = local_steps_of(
                    rng, items, values, first, last, star, starU, noise, count, U, v, step_size,
                    square, place, touched, rows, found,
                )  # fmt: skip
                total += part
            for index in range(begin, found):
                for c in range(k):
                    rows[index, c] -= U[touched[index], c]
            for c in range(k):
                along[j, c] = (v[c] - start[c]) / square if square > 0.0 else 0.0
        loss[t] = total / (2.0 * participants * count)
        if not finite(loss[t]):
            return t, DIVERGED
        for index in range(found):
            for c in range(k):
                U[touched[index], c] += rows[index, c] / participants
        for j in range(participants):
            client = schedule[t, j]
            if identity:
                for c in range(k):
                    V[client, c] += along[j, c] / participants
            else:
                for row in range(V.shape[0]):
                    share = Z[client, row] / participants
                    for c in range(k):
                        V[row, c] += share * along[j, c]
        if privacy > 0.0:
            # The mean of independent noise on every participant's V.
            spread = privacy / np.sqrt(participants)
            for row in range(V.shape[0]):
                for c in range(k):
                    V[row, c] += spread * standard_normal(rng)
    return schedule.shape[0], COMPLETED


@kernel(counted=True)
def run_entrywise(rng, schedule, items, values, offsets, fresh, starU, starV, noise, count,
                  step_size, Z, identity, privacy, U, V, loss, work):  # fmt: skip
    """Run a round of federated averaging per row of schedule; return rounds done and the status.

    Parameters
    ----------
    rng : Generator
        Of the entries.
    schedule : ndarray of int, shape (rounds, participants)
        Clients, in which one may be more than once.
    items, values, offsets : ndarray
        Observed entries, those of client i from offsets[i] to offsets[i + 1].
    fresh : bool
        Draw entries of starU starV' instead, with noise; starV (n, k) holds V*' z_i as rows.
    count : int
        Local steps.
    step_size : float
    Z : ndarray, shape (n, p)
        Not read with identity, which is no side information: V has n rows then.
    privacy : float
        Standard deviation of the noise each participant adds to its V.
    U, V : ndarray, shape (d, k), (p, k)
        Changed in place.
    loss : ndarray, shape (rounds,)
        Becomes the mean half squared error of the entries, each before its step.
    work
        See workspace.
    """
    return _run_entrywise(
        rng, schedule, items, values, offsets, fresh, starU, starV, noise, count, step_size, Z,
        identity, privacy, U, V, loss, work,
    )  # fmt: skip


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
