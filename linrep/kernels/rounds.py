"""One client's round, in one pass while its data are in cache, and what a server does with it.

Conventions: X is (m, d) with a client's samples as rows; BT is the representation transposed, (k,
d), so that its columns lie contiguously; Z = (X B)^T is (k, m). Nothing here allocates, except
the singular value decomposition that takes over from badly conditioned normal equations.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.jit import kernel
from linrep.kernels.lapack import minimum_norm_solution
from linrep.kernels.linalg import (
    copy_rows,
    dot,
    finite,
    gram_norm,
    largest_eigenvalue,
    orthonormalize,
    outside_gram,
    solve_normal_equations,
)
from linrep.kernels.wide import WIDE, project_by_fives

EXACT = 0  # local_steps of a head that is solved for instead of stepped
DISTANCE, LOSS, HEAD_ERROR, POPULATION_RISK = range(4)  # columns of recorded metrics
COMPLETED, CONVERGED, DIVERGED = range(3)  # how a trajectory ended

_LONG_ROWS = 96  # from how many entries on

Values = NDArray[np.float64]


class Settings(NamedTuple):
    """What rounds of FedRep are run with."""

    step_size: float
    averaged: bool  # the step is along the mean of the clients' gradients, not along their sum
    local_steps: int  # on a head, or EXACT
    head_step_size: float  # 0 for the inverse of each client's smoothness
    orthonormal: bool  # QR after the step
    tolerance: float  # distance at which the run ends, negative for never


class Truth(NamedTuple):
    """What metrics are measured against."""

    BT: Values  # (k, d); (0, d) where nothing is known
    W: Values  # (n, k)
    moment: Values  # W'W / n, (k, k)


class Workspace(NamedTuple):
    """Scratch arrays of the rounds on samples."""

    Z: Values  # (k, m): projected samples of a client
    G: Values  # (k, k)
    v: Values  # (2 k,)
    residual: Values  # (m,)
    g: Values  # (d,)
    gradientT: Values  # (k, d)
    candidateT: Values  # (k, d)
    ET: Values  # (k, d)
    C: Values  # (k, k)
    D: Values  # (k, k)
    heads: Values  # (participants, k): of before the round, put back if it fails
    losses: Values  # (participants,)


def workspace(k: int, d: int, m: int, participants: int) -> Workspace:
    """Return scratch arrays for batches of at most m samples."""
    square = (k, k)
    return Workspace(
        Z=np.empty((k, m)),
        G=np.empty(square),
        v=np.empty(2 * k),
        residual=np.empty(m),
        g=np.empty(d),
        gradientT=np.empty((k, d)),
        candidateT=np.empty((k, d)),
        ET=np.empty((k, d)),
        C=np.empty(square),
        D=np.empty(square),
        heads=np.empty((participants, k)),
        losses=np.empty(participants),
    )


def truth_of(B: Values, W: Values) -> Truth:
    """Return what metrics are measured against, of a representation (d, k) and heads (n, k)."""
    return Truth(np.ascontiguousarray(B.T), W, W.T @ W / len(W))


def no_truth(d: int, k: int) -> Truth:
    """Return what stands for a truth that is not known: the loss is the only metric then."""
    return Truth(np.empty((0, d)), np.empty((0, k)), np.empty((0, 0)))


@kernel
def project(X, BT, Z):
    """Write (X B)^T into the first m columns of Z.

    By blocks of samples and directions, whose sums and what they are made from fit into sixteen
    vector registers, or 32 where there are. Twelve sums at a time hide the latency of multiply-adds
    and read little; short rows are better off with eight, as each sum ends with adding up a
    register.
    """
    if X.shape[1] >= _LONG_ROWS and BT.shape[0] >= 4:
        _project_long_rows(X, BT, Z)
    else:
        _project_short_rows(X, BT, Z)


@kernel
def _project_short_rows(X, BT, Z):
    """Write (X B)^T into Z by four samples and two directions, or the last three if k is odd."""
    m, d = X.shape
    k = BT.shape[0]
    whole = m - m % 4
    for j in range(0, whole, 4):
        x0, x1, x2, x3 = X[j], X[j + 1], X[j + 2], X[j + 3]
        a = 0
        while k - a == 2 or k - a > 3:
            b0, b1 = BT[a], BT[a + 1]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for column in range(d):
                b = b0[column]
                s0 += x0[column] * b
                s1 += x1[column] * b
                s2 += x2[column] * b
                s3 += x3[column] * b
                b = b1[column]
                t0 += x0[column] * b
                t1 += x1[column] * b
                t2 += x2[column] * b
                t3 += x3[column] * b
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = s0, s1, s2, s3
            a += 1
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = t0, t1, t2, t3
            a += 1
        if k - a == 3:
            b0, b1, b2 = BT[a], BT[a + 1], BT[a + 2]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            u0, u1, u2, u3 = 0.0, 0.0, 0.0, 0.0
            for column in range(d):
                b = b0[column]
                s0 += x0[column] * b
                s1 += x1[column] * b
                s2 += x2[column] * b
                s3 += x3[column] * b
                b = b1[column]
                t0 += x0[column] * b
                t1 += x1[column] * b
                t2 += x2[column] * b
                t3 += x3[column] * b
                b = b2[column]
                u0 += x0[column] * b
                u1 += x1[column] * b
                u2 += x2[column] * b
                u3 += x3[column] * b
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = s0, s1, s2, s3
            a += 1
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = t0, t1, t2, t3
            a += 1
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = u0, u1, u2, u3
        elif a < k:
            b0 = BT[a]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for column in range(d):
                b = b0[column]
                s0 += x0[column] * b
                s1 += x1[column] * b
                s2 += x2[column] * b
                s3 += x3[column] * b
            Z[a, j], Z[a, j + 1], Z[a, j + 2], Z[a, j + 3] = s0, s1, s2, s3
    for j in range(whole, m):
        for a in range(k):
            Z[a, j] = dot(X[j], BT[a])


@kernel
def _project_long_rows(X, BT, Z):
    """Write (X B)^T into Z by three samples and four directions, or more with more registers."""
    m, d = X.shape
    k = BT.shape[0]
    first = project_by_fives(X, BT, Z) if WIDE else 0
    whole = m - (m - first) % 3
    for j in range(first, whole, 3):
        x0, x1, x2 = X[j], X[j + 1], X[j + 2]
        for a in range(0, k - 3, 4):
            b0, b1, b2, b3 = BT[a], BT[a + 1], BT[a + 2], BT[a + 3]
            s0, s1, s2 = 0.0, 0.0, 0.0
            t0, t1, t2 = 0.0, 0.0, 0.0
            u0, u1, u2 = 0.0, 0.0, 0.0
            v0, v1, v2 = 0.0, 0.0, 0.0
            for column in range(d):
                b = b0[column]
                s0 += x0[column] * b
                s1 += x1[column] * b
                s2 += x2[column] * b
                b = b1[column]
                t0 += x0[column] * b
                t1 += x1[column] * b
                t2 += x2[column] * b
                b = b2[column]
                u0 += x0[column] * b
                u1 += x1[column] * b
                u2 += x2[column] * b
                b = b3[column]
                v0 += x0[column] * b
                v1 += x1[column] * b
                v2 += x2[column] * b
            Z[a, j], Z[a, j + 1], Z[a, j + 2] = s0, s1, s2
            Z[a + 1, j], Z[a + 1, j + 1], Z[a + 1, j + 2] = t0, t1, t2
            Z[a + 2, j], Z[a + 2, j + 1], Z[a + 2, j + 2] = u0, u1, u2
            Z[a + 3, j], Z[a + 3, j + 1], Z[a + 3, j + 2] = v0, v1, v2
        for a in range(k - k % 4, k):
            b0 = BT[a]
            s0, s1, s2 = 0.0, 0.0, 0.0
            for column in range(d):
                b = b0[column]
                s0 += x0[column] * b
                s1 += x1[column] * b
                s2 += x2[column] * b
            Z[a, j], Z[a, j + 1], Z[a, j + 2] = s0, s1, s2
    for j in range(whole, m):
        for a in range(k):
            Z[a, j] = dot(X[j], BT[a])


@kernel
def back_project(X, residual, g):
    """Write X^T residual into g, four samples at a time."""
    m, d = X.shape
    whole = m - m % 4
    for column in range(d):
        g[column] = 0.0
    for j in range(0, whole, 4):
        r0, r1, r2, r3 = residual[j], residual[j + 1], residual[j + 2], residual[j + 3]
        for column in range(d):
            g[column] += (
                r0 * X[j, column]
                + r1 * X[j + 1, column]
                + r2 * X[j + 2, column]
                + r3 * X[j + 3, column]
            )
    for j in range(whole, m):
        r0 = residual[j]
        for column in range(d):
            g[column] += r0 * X[j, column]


@kernel
def exact_head(Z, m, y, w, G, v):
    """Write the least-squares head into w, of minimum norm where it is not unique.

    Normal equations of the smaller side (k or m); singular value decomposition where they are too
    badly conditioned. Equals ``numpy.linalg.lstsq(Z[:, :m].T, y, RANK_TOLERANCE)``.
    """
    k = Z.shape[0]
    if m >= k:
        for a in range(k):
            za = Z[a][:m]
            for b in range(a + 1):
                G[a, b] = dot(za, Z[b][:m])
            v[a] = dot(za, y)
    else:
        for i in range(m):
            for j in range(i + 1):
                entry = 0.0
                for a in range(k):
                    entry += Z[a, i] * Z[a, j]
                G[i, j] = entry
            v[i] = y[i]
    if solve_normal_equations(G, v, min(m, k)):
        for a in range(k):
            w[a] = v[a] if m >= k else dot(Z[a][:m], v[:m])
        return
    minimum_norm_solution(Z, m, y, w)


@kernel
def scaled_gram(Z, m, G):
    """Write Z Z^T / m, of the first m columns, into G."""
    for a in range(Z.shape[0]):
        for b in range(a + 1):
            G[a, b] = dot(Z[a][:m], Z[b][:m]) / m
            G[b, a] = G[a, b]


@kernel
def step_head(Z, m, y, w, local_steps, step_size, G, v):
    """Move w by gradient steps on (1/2m)||y - Z^T w||^2; step_size <= 0 means 1/smoothness."""
    k = Z.shape[0]
    target, move = v[:k], v[k : 2 * k]
    if step_size <= 0.0:
        scaled_gram(Z, m, G)
        smoothness = gram_norm(G)
        step_size = 1.0 / smoothness if smoothness > 0.0 else 0.0
    scaled_gram(Z, m, G)
    for a in range(k):
        target[a] = dot(Z[a][:m], y) / m
    for _ in range(local_steps):
        for a in range(k):
            move[a] = dot(G[a], w) - target[a]
        for a in range(k):
            w[a] -= step_size * move[a]


@kernel
def move_head(Z, m, y, w, local_steps, head_step_size, G, v):
    """Solve for a client's head, or step it, from its projected samples."""
    if local_steps == EXACT:
        exact_head(Z, m, y, w, G, v)
    else:
        step_head(Z, m, y, w, local_steps, head_step_size, G, v)


@kernel
def fit_head(X, y, BT, w, local_steps, head_step_size, Z, G, v):
    """Project a client's samples, then solve for its head or step it; Z keeps the projection."""
    project(X, BT, Z)
    move_head(Z, X.shape[0], y, w, local_steps, head_step_size, G, v)


@kernel
def add_gradient(X, y, w, weight, Z, residual, g, gradientT):
    """Add weight times the client's gradient of (1/2m)||y - X B w||^2 in B; return that loss.

    Z holds (X B)^T already.
    """
    m = X.shape[0]
    k = w.shape[0]
    for j in range(m):
        residual[j] = -y[j]
    for a in range(k):
        for j in range(m):
            residual[j] += w[a] * Z[a, j]
    loss = dot(residual[:m], residual[:m]) / (2.0 * m)
    back_project(X, residual, g)
    for a in range(k):
        factor = weight * w[a] / m
        for column in range(g.shape[0]):
            gradientT[a, column] += factor * g[column]
    return loss


@kernel
def move_representation(BT, gradientT, step_size, orthonormal, candidateT):
    """Take the server's step, with its QR factorization if asked; gradientT then holds the old BT.

    False, and BT kept, if the result is not finite or not of full rank.
    """
    for a in range(BT.shape[0]):
        for column in range(BT.shape[1]):
            candidateT[a, column] = BT[a, column] - step_size * gradientT[a, column]
            if not finite(candidateT[a, column]):
                return False
    if not orthonormal:
        copy_rows(candidateT, gradientT)
    if not orthonormalize(candidateT) > BT.shape[1] * np.finfo(np.float64).eps:
        return False
    for a in range(BT.shape[0]):
        for column in range(BT.shape[1]):
            before = BT[a, column]
            BT[a, column] = candidateT[a, column] if orthonormal else gradientT[a, column]
            gradientT[a, column] = before
    return True


@kernel
def measure(BT, W, truth, orthonormal, work, row):
    """Write distance, head error and population risk of (B, W) into a row of metrics.

    The part of B* outside span(B) gives the distance and, weighted by the heads' second moment,
    what no head can repair of the risk.
    """
    n, k = W.shape
    QT, ET, C, D, G = work.candidateT, work.ET, work.C, work.D, work.G
    copy_rows(BT, QT)
    if not orthonormal:
        orthonormalize(QT)
    for a in range(k):
        for b in range(k):
            C[a, b] = dot(QT[a], BT[b])
            D[a, b] = dot(QT[a], truth.BT[b])
    copy_rows(truth.BT, ET)
    outside_gram(QT, ET, G)
    unreachable = 0.0
    for a in range(k):
        for b in range(k):
            unreachable += G[a, b] * truth.moment[a, b]
    excess = 0.0
    for i in range(n):
        for a in range(k):
            difference = 0.0
            if orthonormal:
                difference = W[i, a]
            else:
                for b in range(k):
                    difference += C[a, b] * W[i, b]
            for b in range(k):
                difference -= D[a, b] * truth.W[i, b]
            excess += difference * difference
    row[HEAD_ERROR] = np.sqrt(excess / n)
    row[POPULATION_RISK] = 0.5 * (excess / n + unreachable)
    row[DISTANCE] = min(1.0, np.sqrt(largest_eigenvalue(G)))
