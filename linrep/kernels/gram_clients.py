"""Heads and gradients of clients on simulated Gaussian batches, drawn by their law, block by block.

What linrep.kernels.gram plays a round with; the coordinates are those described there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import dot
from linrep.kernels.rounds import EXACT, exact_head, step_head

BLOCK = 128  # clients whose numbers are drawn together; part of how a stream is used

Values = NDArray[np.float64]


class Batch(NamedTuple):
    """What is simulated of each client's samples."""

    m: int
    noise: float
    split: bool  # the head sees one batch and the gradient another, drawn after it


class ClientWorkspace(NamedTuple):
    """Scratch arrays of a block of clients; p = min(k, d - k)."""

    star: Values  # (k, BLOCK): true heads
    lack: Values  # (k + p, BLOCK): what B w lacks of the truth, in coordinates of B and F
    g: Values  # (k + p, BLOCK): normal numbers, then coordinates of X' r
    square: Values  # (BLOCK,): s^2
    length: Values  # (BLOCK,): of the residual
    share: Values  # (BLOCK,)
    Z: Values  # (k, k + 1)
    T: Values  # (k + 1, k + 1)
    y: Values  # (k + 1,)
    residual: Values  # (k + 1,)
    G: Values  # (k, k)
    v: Values  # (3 k,)


def client_workspace(k: int, d: int) -> ClientWorkspace:
    """Return the scratch arrays that `play` uses."""
    p = min(k, d - k)
    return ClientWorkspace(
        star=np.empty((k, BLOCK)),
        lack=np.empty((k + p, BLOCK)),
        g=np.empty((k + p, BLOCK)),
        square=np.empty(BLOCK),
        length=np.empty(BLOCK),
        share=np.empty(BLOCK),
        Z=np.empty((k, k + 1)),
        T=np.empty((k + 1, k + 1)),
        y=np.empty(k + 1),
        residual=np.empty(k + 1),
        G=np.empty((k, k)),
        v=np.empty(3 * k),
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
def add_others(coefficients, X, first, count, out):
    """Add to out a combination of the rows of X but for row 0, from a column on; four at a time."""
    size = coefficients.shape[0]
    fours = size - (size - 1) % 4
    for b in range(1, fours, 4):
        c0, c1, c2, c3 = (
            coefficients[b], coefficients[b + 1], coefficients[b + 2], coefficients[b + 3],
        )  # fmt: skip
        x0, x1, x2, x3 = X[b][first:], X[b + 1][first:], X[b + 2][first:], X[b + 3][first:]
        for i in range(count):
            out[i] += (c0 * x0[i] + c1 * x1[i]) + (c2 * x2[i] + c3 * x3[i])
    for b in range(fours, size):
        c, x0 = coefficients[b], X[b][first:]
        for i in range(count):
            out[i] += c * x0[i]


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
            w[a, i] = spread[i] * g[a, i] + C[a, 0] * star[0, i]
        add_others(C[a], star, 0, count, w[a])


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
def fit_and_step(rng, batch, settings, i, C, w, work):
    """Fit or step the head of client i of a block and draw its gradient, for any m.

    Z = X B and the standard normal vector u enter through the triangular factor of [Z, u], with
    k + 1 columns and at most m rows. With split only the head is found: w holds the old one before.
    """
    m, local_steps = batch.m, settings.local_steps
    star, lack, g, length = work.star, work.lack, work.g, work.length
    Z, T, y, residual, v = work.Z, work.T, work.y, work.residual, work.v
    k, p = C.shape[0], lack.shape[0] - C.shape[0]
    rows = min(m, k + 1)
    draw_bartlett(rng, float(m), T[:rows])
    s = np.sqrt(work.square[i])
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
        exact_head(Z, rows, y[:rows], head, work.G, v[k : 2 * k])
    else:
        step_head(Z, rows, y[:rows], head, local_steps, settings.head_step_size, work.G, v[k:])
    for a in range(k):
        w[a, i] = head[a]
    if batch.split:
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
    shrink = product / (s * (s + batch.noise)) if s > 0.0 else 0.0  # see draw_gradients
    share = along / s if s > 0.0 else 0.0
    for index in range(k, k + p):
        g[index, i] = length[i] * (g[index, i] - shrink * lack[index, i]) + share * lack[index, i]
