"""pFL^MF on quadratic functions of all clients."""

import numpy as np

import linrep as lr
from tests.bench.support import Bench, compiled_rounds

TITLE = "pFL^MF: a round with five local steps on quadratic functions"
SIZES = [
    {"n": 40, "d": 3, "k": 3, "rounds": 1000},
    {"n": 200, "d": 50, "k": 5, "rounds": 4000},
]
LOCAL_STEPS, STEP_SIZE = 5, 0.1


def bench(n, d, k, rounds):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    start = rng.standard_normal((d, k)) / np.sqrt(d), 0.1 * rng.standard_normal((n, k))
    problem, step = lr.QuadraticObjectives(A), STEP_SIZE / n

    def linrep():
        trace = lr.pflmf(
            problem, k=k, start=start, step_size=STEP_SIZE, local_steps=LOCAL_STEPS, rounds=rounds,
            record=rounds, stationarity=False,
        )  # fmt: skip
        return trace.state["U"], trace.state["V"]

    def one_round(A, U, V):
        R = V @ U.T - A
        new_U, Z, G = U - step * (R.T @ V), step * (R @ U), step * (U.T @ U)
        V = V - Z
        for _ in range(LOCAL_STEPS - 1):  # in which the heads' gradients follow a recursion
            Z = Z - Z @ G
            V = V - Z
        return new_U, V

    def numpy():
        U, V = start
        for _ in range(rounds):
            U, V = one_round(A, U, V)
        return U, V

    def jax(jax):
        targets = jax.numpy.asarray(A)
        return compiled_rounds(jax, lambda U, V: one_round(targets, U, V), start, rounds)

    return Bench(f"n = {n}, d = {d}, k = {k}", rounds, {"linrep": linrep}, numpy, jax)
