r"""FedRep's rounds on stored data with steps that are found on the way.

The server scales the gradient G by the curvature that the clients' heads give it in each direction
of the representation, and takes a step along

.. math:: P = G H^{-1}, \qquad H = \frac1n \sum_i \lambda_i w_i w_i^\top

with :math:`\lambda_i` the largest eigenvalue of client i's X'X/m. A step of length 1 cannot raise
the loss, and often falls far short. With all clients the first length is found by an exact line
search at fixed heads, the others are those of Barzilai and Borwein (1988), the shorter of their
two, at least 1. A step after which the loss is above the largest of the last eight (Grippo,
Lampariello and Lucidi, 1986) is undone, and a quarter of it taken. With some of the clients, whose
losses cannot be compared from round to round, lengths are one over the mean curvature along P that
the rounds so far have met, and halved whenever as many participants as there are clients have not
a lower loss together than when each took part the last time. Where heads are stepped instead of
solved for, the line search finds the length in every round.

With all clients and exact heads, BT after a round is what the clients are sent next, which may turn
out to be a step too far; the state to report is the last one that was accepted, with the heads that
fit it, or the one of the lowest loss. Metrics of a truth are of that state, the loss is of what the
clients were sent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.fedrep import fixed_gradients, record_round, run_rounds
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy, copy_rows, dot, finite, orthonormalize, rescale
from linrep.kernels.rounds import EXACT, LOSS, back_project

Values = NDArray[np.float64]

STEP = 4  # column of the metrics, after those of rounds
# Places in the numbers that a run remembers.
LENGTH, SLOPE, ACCEPTED, CURVATURE, SHARE, SEEN, CHANGE, LOWEST = range(8)
_REMEMBERED = 8  # losses
_DAMPING = 1e-10  # of H, a share of its trace
_ROUNDING = 1e-12  # by which a loss may exceed others without being above them
_SHORTER = 0.25
_ITERATIONS = 10  # of the power method
_SETTLED = 1e-2  # relative change of an eigenvalue that ends it


class Memory(NamedTuple):
    """What a run knows of the rounds before."""

    numbers: Values  # (8,)
    losses: Values  # (8,), the last ones that were accepted, in turn
    BT: Values  # (k, d): where the last step that was accepted began
    GT: Values  # (k, d): the gradient there
    PT: Values  # (k, d): its direction
    W: Values  # (n, k): the heads there
    known: Values  # (n,): 1 for clients that have fitted a head
    last: Values  # (n,): their losses then
    largest: Values  # (n,): largest eigenvalues of X'X/m
    lowestT: Values  # (k, d): the representation of the lowest loss, of all clients, so far
    heads: Values  # (n, k): and the heads there


class Remembered(NamedTuple):
    """Stored data as in linrep.kernels.fedrep.Samples, with what a run knows of them."""

    X: Values
    y: Values
    offsets: NDArray[np.int64]
    memory: Memory


def memory(n: int, k: int, d: int) -> Memory:
    """Return what a run knows at its start, but for the eigenvalues."""
    frame = (k, d)
    return Memory(
        numbers=np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, np.inf]),
        losses=np.full(_REMEMBERED, -np.inf),
        BT=np.zeros(frame),
        GT=np.zeros(frame),
        PT=np.zeros(frame),
        W=np.zeros((n, k)),
        known=np.zeros(n),
        last=np.zeros(n),
        largest=np.zeros(n),
        lowestT=np.zeros(frame),
        heads=np.zeros((n, k)),
    )


@kernel
def largest_curvatures(X, offsets, largest, residual, g):
    """Write the largest eigenvalue of each client's X'X/m, by the power method."""
    for i in range(offsets.shape[0] - 1):
        Xi = X[offsets[i] : offsets[i + 1]]
        m = Xi.shape[0]
        longest, size = 0, -1.0
        for j in range(m):
            square = 0.0
            for column in range(Xi.shape[1]):
                square += Xi[j, column] * Xi[j, column]
            if square > size:
                longest, size = j, square
        for column in range(g.shape[0]):
            g[column] = Xi[longest, column]
        before = 0.0
        for _ in range(_ITERATIONS):
            rescale(g)
            length = dot(g, g)
            if not length > 0.0:
                break
            square = 0.0
            for j in range(m):
                along = 0.0
                for column in range(g.shape[0]):
                    along += Xi[j, column] * g[column]
                residual[j] = along
                square += along * along
            value = square / length / m
            settled = abs(value - before) <= _SETTLED * value
            before = value
            if settled:
                break
            back_project(Xi, residual, g)
        largest[i] = before


@kernel
def head_curvature(W, memory, H):
    """Write H, and its damping; what is not known of clients stands for a multiple of I.

    That multiple, of the trace, is above all curvatures that the known ones make likely.
    """
    n, k = W.shape
    for a in range(k):
        for b in range(k):
            H[a, b] = 0.0
    count = 0.0
    for i in range(n):
        if memory.known[i] > 0.0:
            count += 1.0
            for a in range(k):
                for b in range(a + 1):
                    H[a, b] += memory.largest[i] * W[i, a] * W[i, b]
    trace = 0.0
    for a in range(k):
        for b in range(a + 1):
            H[a, b] /= max(count, 1.0)
            H[b, a] = H[a, b]
        trace += H[a, a]
    damping = (_DAMPING + (1.0 - count / n) / k) * trace
    for a in range(k):
        H[a, a] += damping


@kernel
def subtract(factor, x, y):
    """Subtract a multiple of x from y."""
    for index in range(x.shape[0]):
        y[index] -= factor * x[index]


@kernel
def scale(factor, x):
    """Multiply a vector by a number."""
    for index in range(x.shape[0]):
        x[index] *= factor


@kernel
def divide(GT, H, PT):
    """Write H^{-1} GT into PT; the Cholesky factor of H replaces it. PT is 0 where H is."""
    k, d = GT.shape
    for a in range(k):
        for b in range(a + 1):
            entry = H[a, b]
            for c in range(b):
                entry -= H[a, c] * H[b, c]
            if a > b:
                H[a, b] = entry / H[b, b]
            else:
                if not entry > 0.0:
                    for row in range(k):
                        for column in range(d):
                            PT[row, column] = 0.0
                    return
                H[a, a] = np.sqrt(entry)
    for a in range(k):
        copy(GT[a], PT[a])
        for b in range(a):
            subtract(H[a, b], PT[b], PT[a])
        scale(1.0 / H[a, a], PT[a])
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            subtract(H[b, a], PT[b], PT[a])
        scale(1.0 / H[a, a], PT[a])


@kernel
def inner(FT, ET):
    """Return the inner product of two matrices."""
    total = 0.0
    for a in range(FT.shape[0]):
        total += dot(FT[a], ET[a])
    return total


@kernel
def curvature_along(X, offsets, clients, W, PT, work):
    """Return the mean over clients of |X_i P w_i|^2 / m_i, the loss's curvature along P."""
    k, d = PT.shape
    total = 0.0
    for place in range(clients.shape[0]):
        i = clients[place]
        for column in range(d):
            work.g[column] = 0.0
        for a in range(k):
            for column in range(d):
                work.g[column] += W[i, a] * PT[a, column]
        square = 0.0
        for j in range(offsets[i], offsets[i + 1]):
            along = dot(X[j], work.g)
            square += along * along
        total += square / (offsets[i + 1] - offsets[i])
    return total / clients.shape[0]


@kernel
def back_to_old_frame(BT, GT, memory, work, transportedT):
    """Write the gradient in the coordinates of the last accepted step, before its QR.

    There the representation is B + s = Q R, and its gradient G R^{-T}; R is upper triangular.
    """
    k, d = BT.shape
    length = memory.numbers[LENGTH]
    R = work.C
    for b in range(k):
        for column in range(d):
            work.candidateT[b, column] = memory.BT[b, column] - length * memory.PT[b, column]
        for a in range(b + 1):
            R[a, b] = dot(BT[a], work.candidateT[b])
    for a in range(k - 1, -1, -1):
        copy(GT[a], transportedT[a])
        for b in range(a + 1, k):
            subtract(R[a, b], transportedT[b], transportedT[a])
        scale(1.0 / R[a, a], transportedT[a])


@kernel
def short_length(BT, memory, H, work):
    """Return the shorter length of Barzilai and Borwein, in the norm of H; at least 1.

    Where the curvature along the last step was negative, twice that step's length. The norm is that
    of the heads now, in their frame: the check of the loss is what makes a step safe.
    """
    numbers = memory.numbers
    differenceT = work.ET
    back_to_old_frame(BT, work.gradientT, memory, work, differenceT)
    for a in range(BT.shape[0]):
        for column in range(BT.shape[1]):
            differenceT[a, column] -= memory.GT[a, column]
    gained = -numbers[LENGTH] * inner(memory.PT, differenceT)
    if gained == 0.0:  # nothing moves any more
        return numbers[LENGTH]
    if not gained > 0.0:
        return 2.0 * numbers[LENGTH]
    divide(differenceT, H, work.candidateT)
    square = inner(differenceT, work.candidateT)
    if not square > 0.0:
        return 2.0 * numbers[LENGTH]
    return max(1.0, gained / square)


@kernel
def compare_with_last(clients, memory, losses):
    """Halve the share of the length that is taken where the participants' losses do not fall."""
    numbers = memory.numbers
    for place in range(clients.shape[0]):
        i = clients[place]
        if memory.known[i] > 0.0:
            numbers[SEEN] += 1.0
            numbers[CHANGE] += losses[place] - memory.last[i]
    if numbers[SEEN] >= memory.known.shape[0]:
        if not numbers[CHANGE] < 0.0:
            numbers[SHARE] *= 0.5
        numbers[SEEN] = numbers[CHANGE] = 0.0


@kernel
def choose_step(X, offsets, clients, BT, W, loss, exact, memory, work):
    """Find direction and length of the next step: from here, or a shorter one from before.

    The gradient here is in work.gradientT; `exact` says that heads were solved for.
    """
    numbers, everyone = memory.numbers, clients.shape[0] == W.shape[0]
    accepted = int(numbers[ACCEPTED])
    if everyone and loss < numbers[LOWEST]:
        numbers[LOWEST] = loss
        copy_rows(BT, memory.lowestT)
        copy_rows(W, memory.heads)
    if everyone and exact and accepted > 0:
        highest = memory.losses[0]
        for place in range(_REMEMBERED):
            highest = max(highest, memory.losses[place])
        if not loss <= highest + _ROUNDING * abs(highest):
            shorter = _SHORTER * numbers[LENGTH]
            numbers[LENGTH] = max(1.0, shorter) if numbers[LENGTH] > 1.0 else shorter
            return
    if not everyone:
        compare_with_last(clients, memory, work.losses)
    for place in range(clients.shape[0]):
        memory.known[clients[place]] = 1.0
        memory.last[clients[place]] = work.losses[place]
    H = work.D
    length = 1.0
    if everyone:
        memory.losses[accepted % _REMEMBERED] = loss
        if exact and accepted > 0:
            head_curvature(W, memory, H)
            length = short_length(BT, memory, H, work)
    head_curvature(W, memory, H)
    divide(work.gradientT, H, memory.PT)
    copy_rows(work.gradientT, memory.GT)
    copy_rows(BT, memory.BT)
    copy_rows(W, memory.W)
    numbers[SLOPE] = inner(memory.PT, memory.GT)
    if numbers[SLOPE] > 0.0 and not (everyone and exact and accepted > 0):
        met = curvature_along(X, offsets, clients, W, memory.PT, work) / numbers[SLOPE]
        share = 1.0
        if not everyone:
            share = max(1.0 / (accepted + 1.0), 0.5 * clients.shape[0] / W.shape[0])
        numbers[CURVATURE] += share * (met - numbers[CURVATURE])
        length = 1.0 / numbers[CURVATURE] if numbers[CURVATURE] > 0.0 else 1.0
        length = max(1.0, length) if everyone else numbers[SHARE] * length
    numbers[LENGTH] = length
    numbers[ACCEPTED] = accepted + 1.0


@kernel
def finish_adaptive(source, clients, BT, W, loss, settings, truth, row, work):
    """Take the server's step and record the round; return how the run stands."""
    X, offsets, memory = source.X, source.offsets, source.memory
    moved, exact = finite(loss), settings.local_steps == EXACT
    row[LOSS] = loss
    if moved:
        choose_step(X, offsets, clients, BT, W, loss, exact, memory, work)
        row[STEP] = memory.numbers[LENGTH]
        for a in range(BT.shape[0]):
            for column in range(BT.shape[1]):
                entry = memory.BT[a, column] - row[STEP] * memory.PT[a, column]
                work.candidateT[a, column] = entry
                moved = moved and finite(entry)
        rounding = BT.shape[1] * np.finfo(np.float64).eps
        moved = moved and orthonormalize(work.candidateT) > rounding
    if moved:
        copy_rows(BT, work.gradientT)  # the one before the step
        copy_rows(work.candidateT, BT)
    result_BT, result_W = BT, W
    if exact and clients.shape[0] == W.shape[0]:
        result_BT, result_W = memory.BT, memory.W
    return record_round(moved, BT, W, result_BT, result_W, clients, settings, truth, row, work)


@kernel
def run_adaptive(samples, memory, schedule, BT, W, settings, truth, metrics, work):
    """Run one round per row of schedule on stored data; metrics have a fifth column, `STEP`."""
    source = Remembered(samples.X, samples.y, samples.offsets, memory)
    run = schedule, BT, W, settings, truth, metrics, work
    return run_rounds(fixed_gradients, finish_adaptive, True, source, run)
