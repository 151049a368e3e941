"""FLUTE on the same samples in every round."""

import numpy as np

import linrep as lr
from tests.bench.support import Bench, compiled_rounds

TITLE = "FLUTE: a round on the same samples"
SIZES = [
    {"n": 15, "m": 12, "d": 10, "k": 4, "rounds": 1000},
    {"n": 200, "m": 100, "d": 500, "k": 10, "rounds": 10},
]


def bench(n, m, d, k, rounds):
    values = 2.0 * d / (np.arange(min(n, d)) + 2.0)
    truth = lr.LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.5, rng=0)
    drawn = truth.draw(m, rng=1)
    data = lr.ClientData(drawn.X, drawn.y, drawn.offsets)  # no truth: nothing is measured
    rng = np.random.default_rng(2)
    start = 0.1 * rng.standard_normal((d, k)), 0.1 * rng.standard_normal((n, k))
    step_size = 0.05 / values[0]
    X, y = data.X.reshape(n, m, d), data.y.reshape(n, m)

    def linrep():
        trace = lr.flute(data, k=k, start=start, step_size=step_size, rounds=rounds, record=rounds)
        return trace.state["B"], trace.state["W"]

    def step(B, W, g):
        """Return both factors after a step along the gradients g (n, d) and the regularizer's."""
        balance = 0.5 * step_size * (B.T @ B - W.T @ W)
        return B - step_size * (g.T @ W) - B @ balance, W - step_size * (g @ B) + W @ balance

    def numpy():
        B, W = start
        for _ in range(rounds):
            residual = np.matmul(X, (W @ B.T)[..., None])[..., 0] - y
            B, W = step(B, W, np.matmul(residual[:, None, :], X)[:, 0] / m)
        return B, W

    def jax(jax):
        def one(B, W):
            residual = jax.numpy.einsum("nmd,nd->nm", samples, W @ B.T) - labels
            return step(B, W, jax.numpy.einsum("nm,nmd->nd", residual, samples) / m)

        samples, labels = (jax.numpy.asarray(each) for each in (X, y))
        return compiled_rounds(jax, one, start, rounds)

    size = f"n = {n}, m = {m}, d = {d}, k = {k}"
    return Bench(size, rounds, {"linrep": linrep}, numpy, jax)
