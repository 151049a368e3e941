"""Models of which no two are further apart than a given distance, by alternating directions."""

import numpy as np

from linrep.kernels.jit import kernel


@kernel
def project_differences(target, delta, Y, D, theta, means, tolerance, steps):
    """Bring models theta (n, d) towards those nearest to X of which no two are delta apart or more.

    Over differences D of two models with multipliers Y, both (n, n, d) and zero on the diagonal.
    With the penalty 1/(2n) models solve 2 theta = target + means, target being X + mean of X, and
    means those of D - Y over the other models. D, Y, theta and means are changed in place. Returns
    what is left of the change of D and of its distance from theta's differences: at most tolerance
    unless all the steps were taken.
    """
    n, d = target.shape
    left = np.inf
    for _ in range(steps):
        for i in range(n):
            for column in range(d):
                theta[i, column] = 0.5 * (target[i, column] + means[i, column])
                means[i, column] = 0.0
        left = 0.0
        for i in range(n):
            for j in range(i):
                square = 0.0
                for column in range(d):
                    step = theta[i, column] - theta[j, column] + Y[i, j, column]
                    square += step * step
                length = np.sqrt(square)
                shrink = delta / length if length > delta else 1.0
                for column in range(d):
                    difference = theta[i, column] - theta[j, column]
                    raised = difference + Y[i, j, column]
                    clipped = raised * shrink
                    left = max(left, abs(difference - clipped), abs(clipped - D[i, j, column]))
                    D[i, j, column], Y[i, j, column] = clipped, raised - clipped
                    D[j, i, column], Y[j, i, column] = -clipped, clipped - raised
                    share = (2.0 * clipped - raised) / n
                    means[i, column] += share
                    means[j, column] -= share
        if left <= tolerance:
            break
    return left
