"""Gauss-Newton steps with damping, where the plain step leads uphill or a ridge is given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms._conjugate_gradients import solve
from linrep.algorithms._imc_core import Core
from linrep.algorithms._imc_sides import Side, fit_both

Values = NDArray[np.float64]
_FIRST = 1e-3  # damping after none, relative to the Jacobian's mean squared column
_LEAST = 1e-6  # below which there is none
_TRIALS = 30  # tenfold dampings, after which nothing leads downhill
_TOLERANCE = 1e-2  # of a damped step, relative
_MOST = 500  # iterations for it


def plain_step(core: Core, U: Values, V: Values) -> tuple[Values, Values]:
    """Return the factors after the step of least norm; U becomes orthonormal before it."""
    U, mixing = np.linalg.qr(U)
    V = V @ mixing.T
    frame, mixing = np.linalg.qr(V)
    # U V' changes by dU V' + U dV', which is S frame' + U dV' with S = dU mixing'.
    S, dV = fit_both(core.left, core.right, U, frame, core.values - core.predict(U, V))
    return U + np.linalg.solve(mixing, S.T).T, V + dV


def damped_steps(core: Core, U: Values, V: Values, ridge: float) -> Iterator[tuple[Values, Values]]:
    """Yield factors after steps that lower the objective; end where none does.

    Levenberg and Marquardt: where a step does not lower it, a multiple of the squared step is added
    to the linearized problem, ten times as much from trial to trial; a tenth after a success.
    Without ridge and damping a step is the plain one. With a ridge the residuals' own second
    derivatives are no smaller than it, however good the fit (those of the nuclear norm's minimizer
    have the ridge as their largest singular value), and are taken along: without them steps would
    only creep.
    """
    before, damping = core.objective(U, V, ridge), 0.0
    while True:
        if ridge == 0.0:
            U, V = _balanced(U, V)
        found = None
        for _ in range(_TRIALS):
            new, scale = _trial(core, U, V, ridge, damping)
            after = np.inf
            if new is not None and all(np.isfinite(factor).all() for factor in new):
                with np.errstate(over="ignore", invalid="ignore"):  # too far: damped
                    after = core.objective(new[0], new[1], ridge)
            if after < before:
                found = new
                break
            damping = max(10.0 * damping, _FIRST * scale)
        if found is None:
            return
        damping = damping / 10.0 if damping > 10.0 * _LEAST * scale else 0.0
        (U, V), before = found, after
        yield U, V


def _trial(core, U, V, ridge, damping):
    """Return the factors after a step, None where there is none, and the scale of dampings."""
    on_right, on_left = core.right.seen(V), core.left.seen(U)
    in_U, in_V = _squares(core.left, on_right), _squares(core.right, on_left)
    diagonal = np.concatenate([in_U.ravel(), in_V.ravel()])
    scale = max(float(diagonal.mean()), np.finfo(np.float64).tiny)
    if ridge == damping == 0.0:
        try:
            return plain_step(core, U, V), scale
        except np.linalg.LinAlgError:
            return None, scale
    added = ridge + damping

    def apart(x):
        return x[: U.size].reshape(U.shape), x[U.size :].reshape(V.shape)

    def together(in_U, in_V):
        return np.concatenate([in_U.ravel(), in_V.ravel()])

    def apply(x):
        dU, dV = apart(x)
        changes = np.einsum("ek,ek->e", core.left.seen(dU), on_right)
        changes += np.einsum("ek,ek->e", on_left, core.right.seen(dV))
        product = together(*core.pull(changes, U, V)) + added * x
        if ridge > 0.0:
            product += together(*core.pull(residuals, dU, dV))
        return product

    residuals = core.residuals(U, V)
    slope = together(*core.pull(residuals, U, V)) + ridge * together(U, V)
    dU, dV = apart(solve(apply, -slope, diagonal + added, tolerance=_TOLERANCE, most=_MOST))
    return (U + dU, V + dV), scale


def _squares(side: Side, vectors: Values) -> Values:
    """Return the squared norms (size, k) of the Jacobian's columns for a side's factor."""
    sums = np.stack(
        [np.bincount(side.places, column, minlength=side.count) for column in vectors.T**2], axis=1
    )
    if side.basis is not None:
        sums = np.square(side.basis).T @ sums
    return np.asarray(sums, dtype=np.float64)


def _balanced(U, V):
    """Return factors of the same product, whose columns' lengths are the same on both sides."""
    (Q, R), (P, T) = np.linalg.qr(U), np.linalg.qr(V)
    left, size, right = np.linalg.svd(R @ T.T)
    root = np.sqrt(size)
    return Q @ left * root, P @ right.T * root
