"""Timings of a sweep over ratings: least squares in the factors of all items, then of all clients.

Beside it stand the same in NumPy, a client and an item at a time, and the sweep of the package
implicit, by Cholesky factorizations as well. Its objective is another one, of all entries with more
weight on those seen, but its work for each that is seen is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from linrep._lib.threads import one_thread
from linrep.bench.timing import Record, has, largest_difference, make_records, take_turns
from linrep.estimators.turns import Completion

RIDGE = 10.0
_SWEEPS = 10  # of implicit's in a call, which prepares its data as well


def sweep(
    n: int = 3000, d: int = 2000, entries: int = 270_000, rank: int = 10, repetitions: int = 9
) -> list[Record]:
    """Time a sweep of each on the same ratings, from the same factors.

    Records agree where NumPy's fit of both sides is that of linrep.
    """
    clients, items, values = draw(n, d, entries, rank)
    fit = Completion(
        (clients, items), (n, d), values, None, rank=rank, ridge=RIDGE, bias_ridge=5.0,
        features=(None, None), feature_ridge=1.0,
    )  # fmt: skip
    fit.run(2, 0.0)
    found = _in_numpy(fit)
    for one, other in ((fit.items, fit.clients), (fit.clients, fit.items)):
        one.fit(other, fit.offset, fit.unit, fit.ridge)
    difference = largest_difference([found, [fit.items.rows, fit.clients.rows]])
    calls: dict[str, Callable[[], Any]] = {
        "linrep": fit.sweep,
        "NumPy, row by row": partial(_in_numpy, fit),
    }
    work = dict.fromkeys(calls, 1.0)
    if has("implicit"):
        calls["implicit"] = _implicit(clients, items, values, rank)
        work["implicit"] = float(_SWEEPS)
    with one_thread():
        times = take_turns(calls, repetitions)
    return make_records(
        "Completion of ratings: a sweep", f"{len(values):,} ratings, {n} x {d}, rank {rank}", times,
        work, agree=difference <= 1e-8, difference=difference,
        notes={"implicit": "another objective"},
    )  # fmt: skip


def draw(n: int, d: int, entries: int, rank: int) -> tuple[Any, Any, Any]:
    """Return clients, items and ratings, of which some have many and most have few."""
    rng = np.random.default_rng(0)
    some = (rng.lognormal(0.0, spread, size) for spread, size in ((0.7, n), (1.0, d)))
    often, popular = (each / each.sum() for each in some)
    drawn = rng.choice(n, 2 * entries, p=often) * d + rng.choice(d, 2 * entries, p=popular)
    clients, items = np.divmod(rng.permutation(np.unique(drawn))[:entries], d)
    U, V = rng.standard_normal((n, rank)), rng.standard_normal((d, rank)) / np.sqrt(rank)
    values = np.einsum("ek,ek->e", U[clients], V[items]) + 0.5 * rng.standard_normal(len(items))
    return clients.astype(np.int32), items.astype(np.int32), values


def _in_numpy(fit):
    """Return the items' factors and biases, then the clients', as a sweep would fit them."""
    found = []
    given = fit.clients.rows
    for side in (fit.items, fit.clients):
        offsets, others, values, _ = side.entries
        rows, k = np.empty_like(side.rows), given.shape[1] - 1
        penalty = np.diag([fit.ridge] * k + [1.0])
        for row in range(len(rows)):
            mine = slice(offsets[row], offsets[row + 1])
            there = given[others[mine]]
            y = values[mine] - fit.offset - fit.unit * there[:, k]
            there[:, k] = fit.unit
            rows[row] = np.linalg.solve(there.T @ there + penalty, there.T @ y)
        found.append(rows)
        given = rows
    return found


def _implicit(clients, items, values, rank):
    """Return a call of sweeps of implicit's on the ratings' sizes, which must be positive."""
    from implicit.cpu.als import AlternatingLeastSquares

    table = csr_matrix((np.abs(values), (clients, items)))
    model = AlternatingLeastSquares(
        factors=rank, regularization=RIDGE, use_cg=False, iterations=_SWEEPS, num_threads=1,
        dtype=np.float64, random_state=0,
    )  # fmt: skip
    return partial(model.fit, table, show_progress=False)
