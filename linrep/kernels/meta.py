"""Outer gradients of ANIL and MAML on clients' linear regressions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.kernels.flute import stored_gradient
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import dot
from linrep.kernels.rounds import back_project

Values = NDArray[np.float64]


class MetaWorkspace(NamedTuple):
    """Sums over participants, and scratch."""

    sumT: Values  # (k, d): of the gradients in B
    head_sum: Values  # (k,): of those in w
    own: Values  # (k,): a client's head
    u: Values  # (k,)
    inner: Values  # (d,): gradient in the model before the inner step
    outer: Values  # (d,): and after it
    theta: Values  # (d,)
    h: Values  # (d,)
    residual: Values  # (m,)


def workspace(k: int, d: int, m: int) -> MetaWorkspace:
    """Return room for a round on at most m samples of a client."""
    return MetaWorkspace(
        sumT=np.empty((k, d)),
        head_sum=np.empty(k),
        own=np.empty(k),
        u=np.empty(k),
        inner=np.empty(d),
        outer=np.empty(d),
        theta=np.empty(d),
        h=np.empty(d),
        residual=np.empty(m),
    )


@kernel
def meta_gradients(X, y, offsets, participants, BT, w, step, whole, exact, work):
    """Sum up in work the participants' outer gradients in BT (k, d) and w; return the mean loss.

    The first half of a client's samples, rounded up, is for the inner step of size step, in w
    alone or, with whole, in B and w; the other half for the outer loss. Exact gradients are
    through the inner step, others at the point that it leads to.
    """
    k, d = BT.shape
    own, u, inner, outer, theta, h = work.own, work.u, work.inner, work.outer, work.theta, work.h
    residual = work.residual
    work.sumT[:] = 0.0
    work.head_sum[:] = 0.0
    loss = 0.0
    for i in participants:
        first, last = offsets[i], offsets[i + 1]
        middle = last - (last - first) // 2
        X1, m1 = X[first:middle], middle - first
        _model(BT, w, theta)
        stored_gradient(X1, y[first:middle], theta, residual, inner)
        same = 0.0
        for a in range(k):
            own[a] = w[a] - step * dot(BT[a], inner)
            same += w[a] * own[a]
        _model(BT, own, theta)
        if whole:
            for column in range(d):
                theta[column] -= step * same * inner[column]
        loss += stored_gradient(X[middle:last], y[middle:last], theta, residual, outer)
        across = dot(inner, outer) if whole else 0.0
        for a in range(k):
            u[a] = dot(BT[a], outer)
            if whole:
                u[a] -= step * w[a] * across
        for a in range(k):
            work.head_sum[a] += u[a]
            for column in range(d):
                work.sumT[a, column] += own[a] * outer[column]
        if not exact:
            continue
        _model(BT, u, theta)
        if whole:
            for column in range(d):
                theta[column] += same * outer[column]
        for j in range(m1):
            residual[j] = dot(X1[j], theta) / m1
        back_project(X1, residual, h)
        for a in range(k):
            work.head_sum[a] -= step * (dot(BT[a], h) + across * own[a])
            for column in range(d):
                work.sumT[a, column] -= step * (u[a] * inner[column] + w[a] * h[column])
    return loss / participants.shape[0]


@kernel
def _model(BT, w, theta):
    """Write B w into theta."""
    for column in range(theta.shape[0]):
        theta[column] = 0.0
    for a in range(BT.shape[0]):
        for column in range(theta.shape[0]):
            theta[column] += w[a] * BT[a, column]
