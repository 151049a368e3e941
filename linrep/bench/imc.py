"""Timings of matrix completion with side information: solvers to a goal, local steps, and ratings.

Solvers take turns on the same entries, without access to the matrix. How many iterations each
needs is found beforehand, with the matrix known. Beside Gauss-Newton by normal equations stand two
in Python that solve the same linearized problems by LSQR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from linrep._lib.threads import one_thread
from linrep.algorithms import imc, perfedsi
from linrep.bench.timing import Record, has, make_records, take_turns
from linrep.problems import Observations, SideInformationCompletion
from linrep.problems.subspace import random_frame
from linrep.trace import columns

GOAL = 1e-8  # relative error of the whole matrix
D, N, A, P, K = 300, 350, 10, 15, 5
#: (condition number of the matrix, entries per degree of freedom)
SETTINGS = ((1.0, 2.0), (1.0, 4.0), (10.0, 2.0), (10.0, 4.0))
#: Items, clients, side information, rank, local steps, participants.
ROUNDS = ((16, 20, 4, 2, 5, 4), (1000, 1000, 16, 5, 20, 10), (10**6, 10**6, 16, 5, 20, 10))
_FEW, _MANY, _NEAR = 10, 1000, 1e-5  # iterations of LSQR far from a solution, near it, and where
_ENTRIES = 200_000  # in a timed call of local steps
_LOOP = 4_000  # the same for the NumPy loop


def measure() -> Iterator[list[Record]]:
    """Time solvers, rounds of PerFedSI, and sweeps over ratings where scikit-learn is installed.

    Yields
    ------
    list of Record
        Of one case. Records agree where their solver got to the goal.
    """
    for condition, oversampling in SETTINGS:
        yield compare(condition, oversampling)
    for size in ROUNDS:
        yield rounds(*size)
    if has("sklearn"):
        from linrep.bench import ratings

        yield ratings.sweep()


def compare(condition: float, oversampling: float, repetitions: int = 9, rng=0) -> list[Record]:
    """Time the solvers of :mod:`linrep.algorithms.imc`, and Gauss-Newton by LSQR, on one thread.

    The time is that of the iterations to the goal; that of nuclear norm, whose last level depends
    on all of them, is a whole run's.
    """
    seen = draw(condition, oversampling, rng)
    blind = replace(seen, truth=None)
    calls, notes, missed = {}, {}, {}
    with one_thread():
        for name, solve in SOLVERS.items():
            errors = solve(seen)["error"]
            reached = bool((errors <= GOAL).any())
            last = int(np.argmax(errors <= GOAL)) if reached else len(errors) - 1
            calls[name] = partial(solve, blind, iterations=last)
            notes[name] = f"{last} iterations"
            if not reached:
                missed[name] = f"ends at {errors[last]:.1e}: the goal is not reached"
        times = take_turns(calls, repetitions)
    records = make_records(
        f"Matrix completion {D} x {N} to a relative error of {GOAL:.0e}",
        f"condition {condition:g}, oversampling {oversampling:g}", times, notes=notes | missed,
    )  # fmt: skip
    return [replace(record, agree=record.contender not in missed) for record in records]


def rounds(
    d: int, n: int, p: int, k: int, local_steps: int, participants: int,
    repetitions: int = 7, entries: int = _ENTRIES,
) -> list[Record]:  # fmt: skip
    """Time PerFedSI's rounds on stored entries, and the same in a NumPy loop.

    The loop is left out where it would copy factors of a million rows or more.
    """
    truth = SideInformationCompletion.random(n=n, d=d, p=p, k=k, side="unit", rng=0)
    seen = replace(truth.observe(entries=min(5 * n, n * d), rng=1), truth=None)
    rng = np.random.default_rng(2)
    start = (0.3 * rng.standard_normal((d, k)), 0.3 * rng.standard_normal((p, k)))
    setting: dict[str, Any] = {
        "step_size": 0.05,
        "local_steps": local_steps,
        "participants": participants,
    }
    per_round = local_steps * participants
    many = max(1, entries // per_round)
    few = max(1, min(many, _LOOP // per_round))
    calls: dict[str, Callable[[], Any]] = {
        "linrep": partial(
            perfedsi, seen, k=k, start=start, rounds=many, record=many, rng=3, **setting
        )
    }
    if max(d, n) < 10**6:
        calls["NumPy loop"] = partial(_loop, seen, start, few, **setting)
    work = {"linrep": float(many * per_round), "NumPy loop": float(few * per_round)}
    return make_records(
        "PerFedSI: a local step on an entry, rounds included",
        f"n = {n:,}, d = {d:,}, p = {p}, k = {k}, {local_steps} steps of {participants}",
        take_turns(calls, repetitions), work,
    )  # fmt: skip


def draw(condition: float, oversampling: float, rng) -> Observations:
    """Return entries of a matrix with isometric side information on both sides."""
    rng = np.random.default_rng(rng)
    left, right = random_frame(D, A, rng), random_frame(N, P, rng)
    U, V = random_frame(A, K, rng), random_frame(P, K, rng)
    truth = SideInformationCompletion(left @ (U * np.geomspace(condition, 1.0, K)), V, right)
    seen = truth.observe(entries=round(oversampling * K * (A + P - K)), rng=rng)
    return Observations(seen.items, seen.clients, seen.values, right, left, truth=truth)


def _to_its_end(solve):
    """Return a solver whose iterations cannot be cut short."""
    return lambda seen, iterations=None: solve(seen)


def gauss_newton_by_lsqr(
    seen: Observations, k: int = K, *, iterations: int = 100, batched: bool = True
):
    """Fit by Gauss-Newton steps, each by LSQR on the Jacobian; return the metrics of its iterates.

    LSQR takes 10 iterations until the relative residual is 1e-5, then up to 1000, to a tolerance of
    the residual's square: the settings that GNIMC's authors publish. Not batched, the Jacobian is
    formed entry by entry, as a sparse matrix, as they do.
    """
    core = imc.Core(seen, k)
    left, right = core.left.rows, core.right.rows
    U, V = core.spectral()
    rows = [core.measure(U, V)]
    for _ in range(iterations):
        U, mixing = np.linalg.qr(U)
        V = V @ mixing.T
        frame, mixing = np.linalg.qr(V)
        on_left, on_right = right @ frame, left @ U
        if batched:
            sides = [
                left[:, :, None] * on_left[:, None, :],
                right[:, :, None] * on_right[:, None, :],
            ]
            J = np.hstack([side.reshape(len(left), -1) for side in sides])
        else:
            J = np.empty((len(left), U.size + V.size))
            for entry in range(len(left)):
                J[entry, : U.size] = np.outer(left[entry], on_left[entry]).ravel()
                J[entry, U.size :] = np.outer(right[entry], on_right[entry]).ravel()
            J = csr_array(J)
        misfit = seen.values - np.sum(on_right * (right @ V), axis=1)
        residual = rows[-1]["residual"]
        near = residual <= _NEAR
        tolerance = residual**2 if near else 1e-15
        step = lsqr(J, misfit, atol=tolerance, btol=tolerance, iter_lim=_MANY if near else _FEW)[0]
        S, dV = step[: U.size].reshape(U.shape), step[U.size :].reshape(V.shape)
        U, V = U + np.linalg.solve(mixing, S.T).T, V + dV
        rows.append(core.measure(U, V))
        if rows[-1]["residual"] <= 1e-14:
            break
    return columns(rows)


SOLVERS: dict[str, Callable[..., Any]] = {
    "Gauss-Newton": partial(imc.gauss_newton, k=K),
    "Gauss-Newton by LSQR, plain": partial(gauss_newton_by_lsqr, batched=False),
    "Gauss-Newton by LSQR, batched": gauss_newton_by_lsqr,
    "alternating minimization": partial(imc.alternating, k=K),
    "balanced gradient descent": partial(imc.balanced_gradient, k=K),
    "nuclear norm": _to_its_end(imc.nuclear_norm),
    "least squares": _to_its_end(imc.least_squares),
}


def _loop(seen, start, rounds, *, step_size, local_steps, participants):
    """Run rounds as they are written down, a NumPy call per operation."""
    rng = np.random.default_rng(3)
    U, V = start
    offsets = seen.offsets
    for _ in range(rounds):
        Us, Vs = [], []
        for client in rng.integers(0, seen.n, participants):
            Ui, Vi, z = U.copy(), V.copy(), seen.Z[client]
            first, last = offsets[client], offsets[client + 1]
            for _ in range(local_steps if last > first else 0):
                entry = rng.integers(first, last)
                u = Ui[seen.items[entry]].copy()
                v = z @ Vi
                residual = u @ v - seen.values[entry]
                Ui[seen.items[entry]] -= step_size * residual * v
                Vi -= step_size * residual * np.outer(z, u)
            Us.append(Ui)
            Vs.append(Vi)
        U, V = np.mean(Us, axis=0), np.mean(Vs, axis=0)
    return U, V
