"""Timings of estimators of the literature: rounds, the factorization, and a comparison of eight.

Rounds take turns on the same samples, from the same start and with the same step. FedRep's are also
timed where clients have many samples, what is prepared for them included. Beside the factorization
stand two in NumPy, of the objective as its paper writes it: client by client, and with all clients
in one product. All three use the same L-BFGS, for as many iterations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from linrep import algorithms
from linrep._lib.threads import one_thread
from linrep.bench.timing import Record, largest_difference, make_records, take_turns
from linrep.kernels import rounds as kernel
from linrep.kernels.fedrep import Samples, run_fixed
from linrep.problems import ClientData, SharedRepresentation
from linrep.simulation.comparison import compare

D, K, N, M = 100, 5, 400, 25
STEP = 0.5
#: What a comparison is timed with.
EIGHT: dict[str, Any] = {
    "method_of_moments": {}, "cross_moments": {}, "linear_factorization": {},
    "alternating_least_squares": {}, "altgdmin": {}, "altmin_gd": {}, "fedrep": {}, "flute": {},
}  # fmt: skip
SIZES = (10, 15, 25, 40, 60, 100)


def measure() -> Iterator[list[Record]]:
    """Time rounds, those on long data, the factorization and a comparison.

    Yields
    ------
    list of Record
        Of one case. Those of rounds agree where AltGDmin ends where FedRep does, those of the
        factorization where all come to the same models.
    """
    data = SharedRepresentation.random(
        n=N, d=D, k=K, heads="gaussian", noise=0.5, rng=0
    ).draw(M, rng=1)  # fmt: skip
    with one_thread():
        yield rounds(data)
        yield long_samples()
        yield factorization(data)
    yield comparison()


def rounds(data: ClientData, k: int = K, count: int = 50, repetitions: int = 15) -> list[Record]:
    """Time rounds of FedRep, AltGDmin, AltMinGD and alternating least squares."""
    start = algorithms.truncated_start(data, k)
    settings: dict[str, Any] = {
        "k": k,
        "rounds": count,
        "start": start,
        "step_size": STEP,
        "record": count,
    }
    exact: dict[str, Any] = {"k": k, "rounds": 5, "start": start, "tolerance": 0.0, "record": 5}
    contenders: dict[str, Callable[[], Any]] = {
        "FedRep": partial(algorithms.fedrep, data, **settings),
        "AltGDmin": partial(algorithms.altgdmin, data, **settings),
        "AltMinGD": partial(algorithms.altmin_gd, data, **settings),
        "AltMin": partial(algorithms.alternating_least_squares, data, **exact),
    }
    ends = [[contenders[name]().state["B"]] for name in ("FedRep", "AltGDmin")]
    difference = largest_difference(ends)
    work = dict.fromkeys(contenders, float(count)) | {"AltMin": 5.0}
    return make_records(
        "Estimators: a round", _case(data, k), take_turns(contenders, repetitions), work,
        agree=difference <= 1e-12, difference=difference,
        notes={"AltMin": "solves for the representation"},
    )  # fmt: skip


def long_samples(
    n: int = 100, d: int = 20, k: int = 3, m: int = 1000, count: int = 100, repetitions: int = 9
) -> list[Record]:
    """Time FedRep on clients of many samples, with all that a run prepares, and rounds on these."""
    data = SharedRepresentation.random(n=n, d=d, k=k, noise=0.5, rng=0).draw(m, rng=1)
    start = algorithms.moments_start(data, k)
    contenders: dict[str, Callable[[], Any]] = {
        "linrep, the whole run": lambda: algorithms.fedrep(
            data, k=k, rounds=count, start=start, step_size=STEP, record=count
        ).state["B"],
        "its rounds on all samples": partial(_on_samples, data, start, count),
    }
    difference = largest_difference([[call()] for call in contenders.values()])
    return make_records(
        f"Estimators: {count} rounds of FedRep on long data", _case(data, k),
        take_turns(contenders, repetitions), agree=difference <= 1e-10, difference=difference,
    )  # fmt: skip


def _on_samples(data, start, count):
    """Return the representation after so many rounds of all clients on the samples themselves."""
    (d, k), n, BT = start.shape, data.n, start.T.copy()
    run_fixed(
        Samples(data.X, data.y, data.offsets), np.tile(np.arange(n), (count, 1)), BT,
        np.zeros((n, k)), kernel.Settings(STEP, True, kernel.EXACT, 0.0, True, -1.0),
        kernel.no_truth(d, k), np.empty((count + 1, 4)),
        kernel.workspace(k, d, int(data.m.max()), n),
    )  # fmt: skip
    return BT.T


def factorization(
    data: ClientData, k: int = K, iterations: int = 50, repetitions: int = 9
) -> list[Record]:
    """Time the linear factorization and the same in NumPy."""
    rng = np.random.default_rng(2)
    start = rng.standard_normal((data.d, k)) / 10, rng.standard_normal((data.n, k)) / 10
    contenders: dict[str, Callable[[], Any]] = {
        "linrep": partial(_ours, data, k, start, iterations),
        "NumPy, all clients at once": partial(_numpy, _at_once, data, k, start, iterations),
        "NumPy, client by client": partial(_numpy, _by_client, data, k, start, iterations),
    }
    difference = largest_difference([[call()] for call in contenders.values()])
    return make_records(
        f"Estimators: {iterations} iterations of LF", _case(data, k),
        take_turns(contenders, repetitions), agree=difference <= 1e-6, difference=difference,
    )  # fmt: skip


def comparison(
    n: int = N, d: int = D, k: int = K, sizes: tuple[int, ...] = SIZES, trials: int = 10
) -> list[Record]:
    """Time a comparison of eight estimators on two threads, once."""
    began = time.perf_counter()
    compare(
        partial(_truth, n, d, k), EIGHT, m=sizes, k=k, trials=trials, workers=2, progress=False,
        rng=0,
    )  # fmt: skip
    taken = {"two threads": np.array([time.perf_counter() - began])}
    case = f"n = {n}, d = {d}, k = {k}, {len(sizes)} sizes, {trials} trials"
    return make_records("Estimators: eight compared", case, taken)


def _truth(n, d, k, rng):
    return SharedRepresentation.random(n=n, d=d, k=k, heads="gaussian", noise=0.5, rng=rng)


def _case(data, k):
    return f"n = {data.n}, d = {data.d}, k = {k}, m = {data.m[0]}"


def _ours(data, k, start, iterations):
    """Return the models; the labels' scale, which starts are divided by, is undone before."""
    trace = algorithms.linear_factorization(
        data, k=k, start=start, rounds=iterations, tolerance=0.0
    )
    return trace.models


def _numpy(gradient, data, k, start, iterations):
    d, n = data.d, data.n
    size = np.sqrt(np.mean(data.y**2))  # the same scaling, for the same iterations
    X, y = data.X.reshape(n, -1, d), data.y.reshape(n, -1) / size

    def objective(entries):
        B, W = entries[: d * k].reshape(k, d).T, entries[d * k :].reshape(n, k)
        loss, of_B, of_W = gradient(X, y, B, W)
        gap = B.T @ B - W.T @ W / n
        of_B, of_W = of_B + B @ gap, of_W - W @ gap / n
        value = loss + 0.25 * np.sum(gap**2)
        return value, np.concatenate([of_B.T.ravel(), of_W.ravel()])

    first = np.concatenate([each.ravel() for each in (start[0].T, start[1])]) / np.sqrt(size)
    solution = minimize(
        objective, first, jac=True, method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 20 * iterations, "gtol": 0.0, "ftol": 0.0},
    ).x  # fmt: skip
    return size * solution[d * k :].reshape(n, k) @ solution[: d * k].reshape(k, d)


def _at_once(X, y, B, W):
    n, m, _ = X.shape
    residual = ((X @ B) @ W[..., None])[..., 0] - y
    back = (residual[:, None] @ X)[:, 0] / m
    return np.sum(residual**2) / (n * m), 2.0 / n * back.T @ W, 2.0 / n * back @ B


def _by_client(X, y, B, W):
    n, m, _ = X.shape
    loss, of_B, of_W = 0.0, np.zeros_like(B), np.empty_like(W)
    for i in range(n):
        residual = X[i] @ B @ W[i] - y[i]
        back = X[i].T @ residual / m
        loss += residual @ residual / (n * m)
        of_B += 2.0 / n * np.outer(back, W[i])
        of_W[i] = 2.0 / n * B.T @ back
    return loss, of_B, of_W
