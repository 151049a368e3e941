"""FedRep on new Gaussian samples, which are drawn, or simulated through their statistics."""

import numpy as np

import linrep as lr
from tests.bench.fedrep_stored import jax_round, numpy_round
from tests.bench.support import Bench

TITLE = "FedRep: a round on new Gaussian samples"
SIZES = [
    {"n": 50, "m": 10, "d": 20, "k": 2, "rounds": 20},
    {"n": 200, "m": 30, "d": 100, "k": 5, "rounds": 5},
    {"n": 200, "m": 30, "d": 500, "k": 5, "rounds": 5},
]


def bench(n, m, d, k, rounds):
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=0)
    start = lr.subspace.frame_at_distance(truth.B, 0.6, rng=1)
    step_size = 0.25 / truth.sigma_max() ** 2
    drawn = np.empty((n, m * (d + 1)))

    def linrep(batches):
        def call(seed=0):
            trace = lr.fedrep(
                truth, m=m, batches=batches, start=start, step_size=step_size, rounds=rounds,
                record=rounds, rng=seed,
            )  # fmt: skip
            return (trace.state["B"],)

        return call

    def numpy(seed=0):
        (rng,), B = lr.streams(seed, "data"), start
        for _ in range(rounds):
            # The last m of a client are its noise, which is multiplied by 0.
            X = rng.standard_normal(out=drawn)[:, : m * d].reshape(n, m, d)
            B, _ = numpy_round(X, X @ truth.theta[:, :, None], B, step_size)
        return (B,)

    def jax(jax):
        def one(B, key):
            X = jax.random.normal(key, (n, m, d))
            return jax_round(jax, X, X @ theta, B, step_size)[0], None

        theta, first = (jax.numpy.asarray(each) for each in (truth.theta[:, :, None], start))
        run = jax.jit(lambda key: jax.lax.scan(one, first, jax.random.split(key, rounds))[0])
        return lambda seed=0: (jax.block_until_ready(run(jax.random.key(seed))),)

    return Bench(
        f"n = {n}, m = {m}, d = {d}, k = {k}",
        rounds,
        {"linrep": linrep("fresh"), "linrep, simulated": linrep("gram")},
        numpy,
        jax,
        own_numbers=("linrep, simulated", "JAX"),
        law=lambda B: lr.subspace.distance(B, truth.B),
    )
