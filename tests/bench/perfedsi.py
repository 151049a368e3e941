"""PerFedSI, all clients of which step through entries of their own."""

import numpy as np

import linrep as lr
from linrep import kernels
from tests.bench.support import Bench, compiled_rounds

TITLE = "PerFedSI: a round through the entries of all clients"
SIZES = [
    {"n": 20, "d": 16, "p": 4, "k": 2, "entries": 5, "rounds": 200},
    {"n": 1000, "d": 1000, "p": 16, "k": 5, "entries": 20, "rounds": 10},
]
STEP_SIZE = 0.05


def bench(n, d, p, k, entries, rounds):
    rng = np.random.default_rng(0)
    truth = lr.SideInformationCompletion.random(n=n, d=d, p=p, k=k, side="unit", rng=1)
    items = np.array([rng.choice(d, entries, replace=False) for _ in range(n)])
    values = np.einsum("nek,nk->ne", truth.U[items], truth.heads)
    start = 0.3 * rng.standard_normal((d, k)), 0.3 * rng.standard_normal((p, k))
    Z, squares = truth.Z, np.sum(truth.Z**2, axis=1, keepdims=True)

    def linrep():
        U, V = (each.copy() for each in start)
        seen, work = (
            (items.ravel(), values.ravel(), np.arange(n + 1) * entries),
            kernels.Workspace(),
        )
        for _ in range(rounds):
            kernels.perfedsi_epoch(*seen, Z, U, V, step_size=STEP_SIZE, out=(U, V), work=work)
        return U, V

    # A client meets an item once, and changes its V along its z alone. So all clients take their
    # first steps together, then their second: on V'z, and on what their V gain along z.
    def numpy():
        U, V = start
        for _ in range(rounds):
            new_U, v, along = U.copy(), Z @ V, np.zeros((n, k))
            for item, value in zip(items.T, values.T, strict=True):
                u = U[item]
                error = STEP_SIZE * (np.sum(u * v, axis=1) - value)[:, None]
                np.subtract.at(new_U, item, error * v / n)
                v, along = v - squares * error * u, along - error * u
            U, V = new_U, V + Z.T @ along / n
        return U, V

    def jax(jax):
        def one(U, V):
            def step(state, entry):
                new_U, v, along = state
                item, value = entry
                u = U[item]
                error = STEP_SIZE * ((u * v).sum(1) - value)[:, None]
                new_U = new_U.at[item].add(-error * v / n)
                return (new_U, v - squares * error * u, along - error * u), None

            begun = U, Z @ V, jax.numpy.zeros((n, k))
            (new_U, _, along), _ = jax.lax.scan(step, begun, (items.T, values.T))
            return new_U, V + Z.T @ along / n

        return compiled_rounds(jax, one, start, rounds)

    size = f"n = {n:,}, d = {d:,}, p = {p}, k = {k}, {entries} entries each"
    return Bench(size, rounds, {"linrep": linrep}, numpy, jax)
