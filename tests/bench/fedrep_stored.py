"""FedRep on the same samples in every round."""

import numpy as np

import linrep as lr
from tests.bench.support import Bench, compiled_rounds

TITLE = "FedRep: a round on the same samples"
SIZES = [
    {"n": 10, "m": 10, "d": 10, "k": 2, "rounds": 1000},
    {"n": 200, "m": 30, "d": 100, "k": 5, "rounds": 100},
]


def bench(n, m, d, k, rounds):
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.1, rng=0)
    drawn = truth.draw(m, rng=1)
    data = lr.ClientData(drawn.X, drawn.y, drawn.offsets)  # no truth: nothing is measured
    start = lr.subspace.random_frame(d, k, 2)
    step_size = 0.25 / truth.sigma_max() ** 2
    X, y = data.X.reshape(n, m, d), data.y.reshape(n, m, 1)

    def linrep():
        trace = lr.fedrep(data, k=k, start=start, step_size=step_size, rounds=rounds, record=rounds)
        return trace.state["B"], trace.state["W"]

    def numpy():
        B = start
        for _ in range(rounds):
            B, W = numpy_round(X, y, B, step_size)
        return B, W

    def jax(jax):
        samples = [jax.numpy.asarray(each) for each in (X, y)]
        return compiled_rounds(
            jax,
            lambda B, _: jax_round(jax, *samples, B, step_size),
            (start, np.zeros((n, k))),
            rounds,
        )

    size = f"n = {n}, m = {m}, d = {d}, k = {k}"
    return Bench(size, rounds, {"linrep": linrep}, numpy, jax)


def numpy_round(X, y, B, step_size):
    """Return B and W after a round of all clients on X (n, m, d) and y (n, m, 1)."""
    Z = X @ B
    ZT = Z.swapaxes(1, 2)
    W = np.linalg.solve(ZT @ Z, ZT @ y)
    gradients = ((Z @ W - y).swapaxes(1, 2) @ X)[:, 0]
    Q, R = np.linalg.qr(B - step_size / y.size * (gradients.T @ W[..., 0]))
    return Q * np.sign(np.diagonal(R)), W[..., 0]


def jax_round(jax, X, y, B, step_size):
    """Return the same in JAX."""
    from jax.scipy.linalg import cho_factor, cho_solve

    def client(X, y):
        Z = X @ B
        w = cho_solve(cho_factor(Z.T @ Z), Z.T @ y)
        return w, X.T @ (Z @ w - y)

    W, gradients = jax.vmap(client)(X, y[..., 0])
    Q, R = jax.numpy.linalg.qr(B - step_size / y.size * (gradients.T @ W))
    return Q * jax.numpy.sign(jax.numpy.diagonal(R)), W
