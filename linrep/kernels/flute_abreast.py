"""FLUTE's rounds of many clients in few dimensions, side by side: the client is the last index.

The loops over dimensions, which are short, then enclose those over clients, which are long and
whose steps do not depend on one another. A round is that of linrep.kernels.flute, all clients take
part in it, and their gradients are of second moments.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.flute import accept, mix, move_representation
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import copy_rows, dot, finite, gram, subtract_product
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED

_LANES = 8  # clients are filled up to a multiple of this, by some whose arrays are 0

Values = NDArray[np.float64]


class Moments(NamedTuple):
    """Where gradients come from, as in linrep.kernels.flute.gram_gradient."""

    S: Values  # (d, d, clients)
    centres: Values  # (d, clients)
    rest: float  # the mean of what the centres leave


class Workspace(NamedTuple):
    """Scratch arrays of `run`."""

    C: Values  # B'B, (k, k)
    D: Values  # W'W, (k, k)
    mixing: Values  # (k, k)
    descent: Values  # -data_step B', (k, d)
    lack: Values  # what the models lack of the centres, (d, clients)
    downhill: Values  # the negative gradients at the models, (d, clients)
    gradientT: Values  # (k, d)
    WT: Values  # (k, clients)
    nextT: Values  # (k, clients)


def moments(S: Values, centres: Values, rests: Values) -> Moments:
    """Return what `run` reads of second moments (n, d, d), centres (n, d) and rests (n,)."""
    filled = -len(centres) % _LANES
    return Moments(
        np.pad(S.transpose(1, 2, 0), [(0, 0), (0, 0), (0, filled)]),
        np.pad(centres.T, [(0, 0), (0, filled)]),
        float(np.mean(rests)),
    )


def workspace(k: int, of: Moments) -> Workspace:
    """Return scratch arrays."""
    d, clients = of.centres.shape
    square = (k, k)
    return Workspace(
        C=np.empty(square),
        D=np.empty(square),
        mixing=np.empty(square),
        descent=np.empty((k, d)),
        lack=np.empty((d, clients)),
        downhill=np.empty((d, clients)),
        gradientT=np.empty((k, d)),
        WT=np.empty((k, clients)),
        nextT=np.empty((k, clients)),
    )


@kernel
def multiply_moments(S, lack, out):
    """Write S times what is lacking, of every client, into out; two columns of S at a time."""
    d, clients = lack.shape
    odd = d % 2
    for row in range(d):
        target = out[row]
        for i in range(clients):
            target[i] = S[row, 0, i] * lack[0, i] if odd else 0.0
        for column in range(odd, d, 2):
            s0, s1, x0, x1 = S[row, column], S[row, column + 1], lack[column], lack[column + 1]
            for i in range(clients):
                target[i] += s0[i] * x0[i] + s1[i] * x1[i]


@kernel
def inner_products(ET, FT, G):
    """Write the inner products of rows of ET with rows of FT into G, in blocks of 2 x 2."""
    (rows, size), columns = ET.shape, FT.shape[0]
    for a in range(0, rows, 2):
        for b in range(0, columns, 2):
            below, right = min(a + 1, rows - 1), min(b + 1, columns - 1)
            x0, x1, y0, y1 = ET[a], ET[below], FT[b], FT[right]
            s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
            for i in range(size):
                s00 += x0[i] * y0[i]
                s01 += x0[i] * y1[i]
                s10 += x1[i] * y0[i]
                s11 += x1[i] * y1[i]
            G[below, right], G[below, b], G[a, right], G[a, b] = s11, s10, s01, s00


@kernel
def play_round(source, n, BT, steps, work):
    """Run a round of n clients; return the loss it started from and how the run stands."""
    C, D, mixing, lack, downhill = work.C, work.D, work.mixing, work.lack, work.downhill
    gradientT, WT, nextT = work.gradientT, work.WT, work.nextT
    k, d = BT.shape
    gram(BT, C)
    gram(WT, D)
    copy_rows(source.centres, lack)
    subtract_product(BT.T, WT, lack)
    multiply_moments(source.S, lack, downhill)
    twice = 0.0
    for column in range(d):
        twice += dot(lack[column], downhill[column])
    loss = source.rest + 0.5 * twice / n
    inner_products(WT, downhill, gradientT)
    for a in range(k):
        for column in range(d):
            gradientT[a, column] *= -steps.weight
            work.descent[a, column] = -steps.data_step * BT[a, column]
    copy_rows(WT, nextT)
    subtract_product(work.descent, downhill, nextT)
    mix(steps.second, D, steps.first, C, mixing)
    subtract_product(mixing, WT, nextT)
    mix(steps.first, D, steps.second, C, mixing)
    size = 0.0
    for a in range(k):
        size += dot(nextT[a], nextT[a])
    if not (finite(loss) and finite(size) and move_representation(BT, gradientT, mixing)):
        return loss, DIVERGED
    change, size = accept(nextT, WT)
    for a in range(k):
        change += dot(gradientT[a], gradientT[a])
        size += dot(BT[a], BT[a])
    settled = change <= steps.tolerance * steps.tolerance * size
    return loss, CONVERGED if settled else COMPLETED


@kernel
def run(source, BT, W, steps, losses, work):
    """Run a round for each of losses; otherwise as linrep.kernels.flute.run, W (n, k) included."""
    (n, k), WT = W.shape, work.WT
    for a in range(k):
        for i in range(WT.shape[1]):
            WT[a, i] = W[i, a] if i < n else 0.0
    t, status = 0, COMPLETED
    while t < losses.shape[0] and status == COMPLETED:
        losses[t], status = play_round(source, n, BT, steps, work)
        if status != DIVERGED:
            t += 1
    for i in range(n):
        for a in range(k):
            W[i, a] = WT[a, i]
    return t, status
