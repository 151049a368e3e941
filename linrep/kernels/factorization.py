"""The gradient of the mean squared loss in both factors of a matrix of models."""

from linrep.kernels.flute import stored_gradient
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import dot


@kernel
def gradient(X, y, offsets, BT, W, of_BT, of_W, model, residual, g):
    """Write the gradient in BT (k, d) and W (n, k) into of_BT and of_W; return the loss.

    The loss is the mean over clients of half the mean squared error at B w_i. model and g are
    scratch of d numbers, residual of as many as a client has samples.
    """
    n, k = W.shape
    d = BT.shape[1]
    total = 0.0
    of_BT[:] = 0.0
    for i in range(n):
        first, last = offsets[i], offsets[i + 1]
        model[:] = 0.0
        for a in range(k):
            factor = W[i, a]
            for column in range(d):
                model[column] += factor * BT[a, column]
        total += stored_gradient(X[first:last], y[first:last], model, residual, g)
        for a in range(k):
            of_W[i, a] = dot(BT[a], g) / n
            factor = W[i, a] / n
            for column in range(d):
                of_BT[a, column] += factor * g[column]
    return total / n
