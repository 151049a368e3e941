"""The mean of the moment matrix, whose leading eigenvectors estimate the representation."""

from itertools import product

import numpy as np

from linrep.claims import Identity, proved, statement

#: Gauss and Hermite's three nodes: exact for polynomials of degree 5 in a normal variable.
NODES, WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0


@statement(
    "tjj.moment",
    place="Derived here",
    latex=r"\mathbb{E}\,y^2 xx^\top = 2B\Gamma B^\top + (\mathrm{tr}\,\Gamma + \sigma^2) I",
    plain="The mean of y^2 x x' over tasks and normal covariates is twice the second moment of the "
    "models, plus a multiple of the identity.",
    negative_control={"factor": 1.0},
    stronger={"factor": 0},
)
def moment(budget, rng, *, factor=2.0):
    """Compare the formula with quadrature that is exact for the mean, at random tasks."""
    deviations = []
    for _ in range(budget(20, 200)):
        d, k, tasks = int(rng.integers(2, 6)), int(rng.integers(1, 3)), int(rng.integers(1, 5))
        B = np.linalg.qr(rng.standard_normal((d, k)))[0]
        W, noise = rng.standard_normal((tasks, k)), rng.uniform(0.0, 2.0)
        nodes = np.array(list(product(NODES, repeat=d + 1)))
        weights = np.prod(list(product(WEIGHTS, repeat=d + 1)), axis=1)
        x, labels = nodes[:, :d], nodes[:, :d] @ B @ W.T + noise * nodes[:, d:]
        mean = (x.T * (weights * np.mean(labels**2, axis=1))) @ x
        second = W.T @ W / tasks
        formula = factor * B @ second @ B.T + (np.trace(second) + noise**2) * np.eye(d)
        deviation = np.linalg.norm(mean - formula) / np.linalg.norm(formula)
        deviations.append((deviation, {"d": d, "k": k, "tasks": tasks, "noise": noise}))
    yield proved(Identity(deviations))
