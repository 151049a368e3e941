"""Drawing covariates and participants: the kernels in which the random numbers are the work."""

import numpy as np

from linrep.kernels.jit import kernel

GAUSSIAN, RADEMACHER, UNIFORM, SPHERE, STUDENT_T = range(5)


@kernel(counted=True)
def draw_covariates(rng, design, degrees_of_freedom, X):
    """Fill X (m, d) with rows of mean 0 and covariance I of the given design."""
    m, d = X.shape
    for sample in range(m):
        x = X[sample]
        if design == GAUSSIAN:
            for column in range(d):
                x[column] = rng.standard_normal()
        elif design == RADEMACHER:
            for column in range(d):
                x[column] = 1.0 if rng.random() < 0.5 else -1.0
        elif design == UNIFORM:
            for column in range(d):
                x[column] = np.sqrt(3.0) * (2.0 * rng.random() - 1.0)
        elif design == SPHERE:
            length = 0.0
            while length == 0.0:
                for column in range(d):
                    x[column] = rng.standard_normal()
                    length += x[column] * x[column]
            scale = np.sqrt(d / length)
            for column in range(d):
                x[column] *= scale
        else:
            scale = np.sqrt((degrees_of_freedom - 2.0) / degrees_of_freedom)
            for column in range(d):
                x[column] = rng.standard_t(degrees_of_freedom)
            for column in range(d):
                x[column] *= scale


@kernel(counted=True)
def draw_labels(rng, X, theta, noise, y):
    """Fill y (m,) with X theta plus normal noise of the given standard deviation.

    The normals are drawn even without noise, so that covariates do not depend on its size.
    """
    for sample in range(X.shape[0]):
        label = 0.0
        for column in range(X.shape[1]):
            label += X[sample, column] * theta[column]
        y[sample] = label + noise * rng.standard_normal()


@kernel(counted=True)
def draw_clients(rng, design, degrees_of_freedom, noise, theta, offsets, X, y):
    """Draw the samples of every client, one client after the other.

    Client i owns rows offsets[i]:offsets[i + 1] of X and y, and row i of theta (n, d).
    """
    for i in range(theta.shape[0]):
        rows = slice(offsets[i], offsets[i + 1])
        draw_covariates(rng, design, degrees_of_freedom, X[rows])
        draw_labels(rng, X[rows], theta[i], noise, y[rows])


@kernel(counted=True)
def draw_participants(rng, order, schedule):
    """Fill each row of schedule with distinct entries of order, uniformly; order is shuffled."""
    n = order.shape[0]
    rounds, participants = schedule.shape
    for row in range(rounds):
        for place in range(participants):
            other = place + rng.integers(0, n - place) if participants < n else place
            order[place], order[other] = order[other], order[place]
            schedule[row, place] = order[place]
