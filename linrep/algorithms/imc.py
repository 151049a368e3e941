"""Inductive matrix completion: the centralized solvers that PerFedSI stands beside.

All fit entries of A M Z' with M of low rank. They work in orthonormal bases of the columns of A and
Z, in which the literature states them, and return M's factors in the given ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, svds

from linrep import _validation as check
from linrep.algorithms.perfedsi import completion_error
from linrep.algorithms.trace import Trace
from linrep.problems.completion import Observations

Values = NDArray[np.float64]
_CHUNK = 1 << 22  # numbers of a Jacobian formed at once
_RIDGE = 1e-14  # of the largest diagonal entry: entries may leave directions free


def gauss_newton(
    observations: Observations, k: int, *, iterations: int = 100, tolerance: float = 1e-14,
    start="spectral",
) -> Trace:  # fmt: skip
    r"""Fit by Gauss-Newton steps: least squares of the entries linearized in both factors.

    Parameters
    ----------
    observations : Observations
    k : int
        Rank.
    iterations : int, default 100
        At most so many.
    tolerance : float, default 1e-14
        Stop as ``converged`` when the residual on the entries, relative to them, is at most this,
        or does not fall any more.
    start : "spectral" or pair (U, V)
        The leading part of the entries' matrix, the others taken as zero and divided by their
        share, between the two bases; or factors (a, k), (p, k).

    Returns
    -------
    Trace
        State ``U`` (a, k), or (d, k) without side information on items, and ``V`` (p, k): the
        entries are fitted by A U V' Z'. Metrics: ``residual`` on the entries, relative to them,
        and ``error`` of the whole matrix, relative to it, where the truth is known.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or side information has dependent columns.

    Notes
    -----
    GNIMC of Zilber and Nadler, *Inductive Matrix Completion: No Bad Local Minima and a Fast
    Algorithm*, ICML 2022, its variant alpha = -1 with orthonormalized factors: the step of least
    norm. It is found from the normal equations, of size k(a + p), by adding the projection on the
    k^2 directions that change no product.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SideInformationCompletion.random(n=300, d=40, p=6, k=2, rng=0)
    >>> seen = truth.observe(entries=600, rng=1)
    >>> bool(lr.algorithms.imc.gauss_newton(seen, 2)["error"][-1] < 1e-10)
    True
    """
    core = Core(observations, k)

    def steps(U, V):
        while True:
            U, V = np.linalg.qr(U)[0], V @ np.linalg.qr(U)[1].T
            frame, mixing = np.linalg.qr(V)
            # A B' with A, B of orthonormal columns changes by dU V' + U dV' = S frame' + U dV'.
            S, dV = core.least_squares_both(U, frame, core.values - core.predict(U, V))
            U, V = U + np.linalg.solve(mixing, S.T).T, V + dV
            yield U, V

    return _run("Gauss-Newton", core, steps, iterations, tolerance, start)


def alternating(
    observations: Observations, k: int, *, iterations: int = 1000, tolerance: float = 1e-14,
    start="spectral",
) -> Trace:  # fmt: skip
    """Fit by least squares in one factor and then in the other, orthonormalized in between.

    Parameters and return value as for :func:`gauss_newton`.

    Notes
    -----
    Jain and Dhillon, *Provable Inductive Matrix Completion*, 2013.
    """
    core = Core(observations, k)

    def steps(U, V):
        while True:
            U = core.least_squares_left(np.linalg.qr(V)[0])
            U = np.linalg.qr(U)[0]
            V = core.least_squares_right(U)
            yield U, V

    return _run("alternating minimization", core, steps, iterations, tolerance, start)


def balanced_gradient(
    observations: Observations, k: int, *, iterations: int = 10_000, tolerance: float = 1e-14,
    step_size: float = 0.5, balance: float = 0.5, start="spectral",
) -> Trace:  # fmt: skip
    r"""Fit by gradient steps in both factors, on the squared residual and a balancing term.

    .. math::
        \frac1{2q} \|P_\Omega(U V^\top) - y\|^2 + \frac{\lambda}{4} \|U^\top U - V^\top V\|_F^2

    Parameters
    ----------
    step_size : float, default 0.5
        In units of one over the largest singular value of the start.
    balance : float, default 0.5
        lambda.

    Others, and the return value, as for :func:`gauss_newton`; q is the share of entries seen.

    Notes
    -----
    Zhang, Du and Gu, *Fast and Sample Efficient Inductive Matrix Completion via Multi-Phase
    Procrustes Flow*, ICML 2018, its last phase.
    """
    core = Core(observations, k)
    step_size = check.real("step_size", step_size, above=0.0)
    balance = check.real("balance", balance, minimum=0.0)

    def steps(U, V):
        eta = step_size / np.linalg.norm(U, 2) ** 2
        while True:
            left, right = core.gradients(U, V)
            excess = balance * (U.T @ U - V.T @ V)
            U, V = U - eta * (left + U @ excess), V - eta * (right - V @ excess)
            yield U, V

    return _run("balanced gradient descent", core, steps, iterations, tolerance, start)


def nuclear_norm(
    observations: Observations, *, levels: int = 12, iterations: int = 3000,
    smallest: float = 1e-10, tolerance: float = 1e-12,
) -> Trace:  # fmt: skip
    r"""Minimize the squared residual plus a multiple of the core's nuclear norm; the rank is free.

    .. math:: \tfrac12 \|P_\Omega(Q_A M Q_Z^\top) - y\|^2 + \lambda \|M\|_*

    Parameters
    ----------
    observations : Observations
    levels, iterations : int, default 12 and 3000
        Values of lambda, spaced geometrically from the least that gives M = 0, each solved from
        the last one's solution; steps in all.
    smallest : float, default 1e-10
        The last lambda, relative to the first.
    tolerance : float, default 1e-12
        A level ends when a step changes M by at most this, relative to M.

    Returns
    -------
    Trace
        As for :func:`gauss_newton`; the state has the factors of M, their rank that of M.

    Notes
    -----
    Maxide of Xu, Jin and Zhou, *Speedup Matrix Completion with Side Information*, NIPS 2013, by
    accelerated proximal gradient steps, restarted where momentum points uphill.
    """
    core = Core(observations, None)
    levels = check.integer("levels", levels, minimum=1)
    smallest = check.real("smallest", smallest, above=0.0)
    first = np.linalg.norm(core.adjoint(core.values), 2)
    curvature = core.curvature()
    per_level = max(1, iterations // levels)

    def steps(M):
        for level in first * np.geomspace(1.0, smallest, levels + 1)[1:]:
            ahead, weight = M, 1.0
            for _ in range(per_level):
                gradient = core.adjoint(core.predict_core(ahead) - core.values)
                left, size, right = np.linalg.svd(ahead - gradient / curvature, full_matrices=False)
                new = left * np.maximum(size - level / curvature, 0.0) @ right
                if np.vdot(ahead - new, new - M) > 0.0:
                    weight = 1.0
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
                ahead = new + (weight - 1.0) / following * (new - M)
                change, M, weight = np.linalg.norm(new - M), new, following
                yield M
                if change <= tolerance * np.linalg.norm(M):
                    break

    began = time.perf_counter()
    M = np.zeros((core.left_size, core.right_size))
    rows = [core.measure(*core.factors(M))]
    for M in steps(M):  # noqa: B020 - the last one is the solution
        rows.append(core.measure(*core.factors(M)))
    return _trace("nuclear norm", core, *core.factors(M), rows, "rounds", began)


def least_squares(observations: Observations) -> Trace:
    """Fit the core by unconstrained least squares, of least norm; the rank is free.

    Return value as for :func:`gauss_newton`, with a single row besides the start's.
    """
    began = time.perf_counter()
    core = Core(observations, None)
    M = np.zeros((core.left_size, core.right_size))
    rows = [core.measure(*core.factors(M))]
    M = core.least_squares_core()
    rows.append(core.measure(*core.factors(M)))
    return _trace("least squares", core, *core.factors(M), rows, "rounds", began)


class Core:
    """Entries between orthonormal bases of both sides, and the linear algebra of fitting them.

    Parameters
    ----------
    observations : Observations
    k : int or None
        Rank, where it is given.
    """

    def __init__(self, observations: Observations, k: int | None):
        if not isinstance(observations, Observations):
            raise TypeError(f"observations must be Observations, got {type(observations).__name__}")
        self.observations = observations
        self.left, self.left_mixing = _basis("A", observations.A)
        self.right, self.right_mixing = _basis("Z", observations.Z)
        self.left_size = observations.d if self.left is None else self.left.shape[1]
        self.right_size = observations.n if self.right is None else self.right.shape[1]
        largest = min(self.left_size, self.right_size)
        self.k = None if k is None else check.integer("k", k, minimum=1, maximum=largest)
        self.values = observations.values
        self.share = len(observations) / (observations.d * observations.n)
        self.size = float(np.linalg.norm(self.values))

    def rows(self, U: Values) -> Values:
        """Return U's rows as the entries' items see them, shape (N, columns)."""
        return (U if self.left is None else self.left @ U)[self.observations.items]

    def columns(self, V: Values) -> Values:
        """Return V's rows as the entries' clients see them, shape (N, columns)."""
        return (V if self.right is None else self.right @ V)[self.observations.clients]

    def predict(self, U: Values, V: Values) -> Values:
        """Return the entries of U V'."""
        return np.einsum("ec,ec->e", self.rows(U), self.columns(V))

    def predict_core(self, M: Values) -> Values:
        """Return the entries of a whole core."""
        return np.einsum("ec,ec->e", self.rows(M), self.columns(np.eye(self.right_size)))

    def _sparse(self, values):
        seen = self.observations
        return csr_array((values, (seen.items, seen.clients)), shape=(seen.d, seen.n))

    def adjoint(self, values: Values) -> Values:
        """Return the core whose inner product with any M is that of values with M's entries."""
        S = self._sparse(values)
        S = S.toarray() if self.right is None else S @ self.right
        return S if self.left is None else self.left.T @ S

    def curvature(self) -> float:
        """Return the largest squared norm of a core's entries, for cores of norm 1."""
        shape = self.left_size, self.right_size
        entries = LinearOperator(
            (len(self.values), shape[0] * shape[1]),
            matvec=lambda M: self.predict_core(M.reshape(shape)),
            rmatvec=lambda values: self.adjoint(values.ravel()).ravel(),
            dtype=np.float64,
        )
        if min(entries.shape) == 1:
            return float(np.linalg.norm(entries @ np.ones(1)) ** 2)
        start = np.ones(min(entries.shape))
        largest = svds(entries, k=1, v0=start, return_singular_vectors=False)[0]
        return 1.001 * float(largest) ** 2  # found to less than that

    def gradients(self, U: Values, V: Values) -> tuple[Values, Values]:
        """Return those of half the squared residual over the share of entries seen."""
        S = self._sparse((self.predict(U, V) - self.values) / self.share)
        on_right = S @ (V if self.right is None else self.right @ V)
        on_left = S.T @ (U if self.left is None else self.left @ U)
        return (
            on_right if self.left is None else self.left.T @ on_right,
            on_left if self.right is None else self.right.T @ on_left,
        )

    def spectral(self) -> tuple[Values, Values]:
        """Return factors of the leading part of the zero-filled entries over their share."""
        left, size, right = np.linalg.svd(
            self.adjoint(self.values) / self.share, full_matrices=False
        )
        root = np.sqrt(size[: self.k])
        return left[:, : self.k] * root, right[: self.k].T * root

    def _on_left(self, vectors):
        """Return what makes entries of the core S times an entry's vector: see _products."""
        return self.left, self.observations.items, self.left_size, vectors

    def _on_right(self, vectors):
        return self.right, self.observations.clients, self.right_size, vectors

    def _solve(self, sides, values, free=None):
        """Return the least-squares solution, orthogonal to the columns of free."""
        width = sum(size * vectors.shape[1] for _, _, size, vectors in sides)
        step = max(1, _CHUNK // width)
        normal, right = np.zeros((width, width)), np.zeros(width)
        for first in range(0, len(values), step):
            part = slice(first, first + step)
            J = np.hstack(
                [
                    _products(basis, places[part], size, vectors[part])
                    for basis, places, size, vectors in sides
                ]
            )
            normal += J.T @ J
            right += J.T @ values[part]
        scale = np.max(np.diagonal(normal))
        if free is not None:
            normal += scale * (free @ free.T)
        normal[np.diag_indices_from(normal)] += _RIDGE * scale
        return cho_solve(cho_factor(normal, lower=True, overwrite_a=True), right)

    def least_squares_both(self, U: Values, frame: Values, values: Values):
        """Return S (a, k) and dV (p, k) of least norm for which S frame' + U dV' fits values."""
        a, p, k = self.left_size, self.right_size, U.shape[1]
        # (U K, -frame K') for every K changes nothing.
        free = np.zeros((k, k, (a + p) * k))
        for i in range(k):
            for j in range(k):
                free[i, j, j : a * k : k] = U[:, i] / np.sqrt(2.0)
                free[i, j, a * k + i :: k] = -frame[:, j] / np.sqrt(2.0)
        sides = [self._on_left(self.columns(frame)), self._on_right(self.rows(U))]
        found = self._solve(sides, values, free.reshape(k * k, -1).T)
        return found[: a * k].reshape(a, k), found[a * k :].reshape(p, k)

    def least_squares_left(self, frame: Values) -> Values:
        """Return the U (a, k) for which U frame' fits the entries best."""
        sides = [self._on_left(self.columns(frame))]
        return self._solve(sides, self.values).reshape(self.left_size, -1)

    def least_squares_right(self, frame: Values) -> Values:
        """Return the V (p, k) for which frame V' fits the entries best."""
        sides = [self._on_right(self.rows(frame))]
        return self._solve(sides, self.values).reshape(self.right_size, -1)

    def least_squares_core(self) -> Values:
        """Return the core (a, p) of least norm that fits the entries best."""
        J = np.einsum(
            "ea,ep->eap", self.rows(np.eye(self.left_size)), self.columns(np.eye(self.right_size))
        ).reshape(len(self.values), -1)
        found = np.linalg.lstsq(J, self.values, rcond=None)[0]
        return found.reshape(self.left_size, self.right_size)

    def factors(self, M: Values) -> tuple[Values, Values]:
        """Return balanced factors of a core, their rank that of M, at least 1."""
        left, size, right = np.linalg.svd(M, full_matrices=False)
        rank = max(1, int(np.sum(size > 1e-15 * max(size[0], 1e-300))))
        root = np.sqrt(size[:rank])
        return left[:, :rank] * root, right[:rank].T * root

    def given(self, U: Values, V: Values) -> tuple[Values, Values]:
        """Return the factors in the coordinates of A and Z themselves."""
        if self.left is not None:
            U = solve_triangular(self.left_mixing, U)
        if self.right is not None:
            V = solve_triangular(self.right_mixing, V)
        return U, V

    def inner(self, U: Values, V: Values) -> tuple[Values, Values]:
        """Return factors given in the coordinates of A and Z in those of the bases."""
        if self.left is not None:
            U = self.left_mixing @ U
        if self.right is not None:
            V = self.right_mixing @ V
        return U, V

    def measure(self, U: Values, V: Values) -> dict[str, float]:
        """Return a row of metrics."""
        residual = float(np.linalg.norm(self.predict(U, V) - self.values))
        row = {"residual": residual / self.size if self.size > 0.0 else np.nan}
        truth = self.observations.truth
        if truth is not None:
            whole = U if self.left is None else self.left @ U
            nothing = np.zeros((truth.d, 1)), np.zeros((self.right_size, 1))
            size = completion_error(truth, *nothing, self.right)
            error = completion_error(truth, whole, V, self.right)
            row["error"] = error / size if size > 0.0 else np.nan
        return row


def _basis(name, table):
    """Return an orthonormal basis of a table's columns and its triangular factor, None for none."""
    if table is None:
        return None, None
    Q, R = np.linalg.qr(table)
    size = np.abs(np.diagonal(R))
    if len(Q) < table.shape[1] or size.min() <= 1e-12 * size.max():
        raise ValueError(f"{name} must have independent columns")
    return Q, R


def _products(basis, places, size, vectors):
    """Return the products of each entry's row of a basis with its vector, shape (N, size * k)."""
    if basis is not None:
        return np.einsum("ea,ek->eak", basis[places], vectors).reshape(len(places), -1)
    J = np.zeros((len(places), size, vectors.shape[1]))
    J[np.arange(len(places)), places] = vectors
    return J.reshape(len(places), -1)


def _run(name, core, steps, iterations, tolerance, start) -> Trace:
    """Take steps until the residual is small enough or stalls."""
    began = time.perf_counter()
    iterations = check.integer("iterations", iterations, minimum=0)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    U, V = _start(core, start)
    rows, reason = [core.measure(U, V)], "rounds"
    walk: Iterator[tuple[Values, Values]] = steps(U, V)
    for _ in range(iterations):
        new = next(walk)
        if not all(np.isfinite(factor).all() for factor in new):
            reason = "diverged"
            break
        U, V = new
        rows.append(core.measure(U, V))
        small = rows[-1]["residual"] <= tolerance
        if small or (rows[-1]["residual"] < 1e-10 and rows[-1]["residual"] >= rows[-2]["residual"]):
            reason = "converged"
            break
    return _trace(name, core, U, V, rows, reason, began)


def _start(core, start):
    """Return factors in the bases."""
    if isinstance(start, str):
        check.choice("start", start, ("spectral",))
        return core.spectral()
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise ValueError(f"start must be 'spectral' or a pair (U, V), got {start!r}")
    return core.inner(
        check.array("U", start[0], (core.left_size, core.k)),
        check.array("V", start[1], (core.right_size, core.k)),
    )


def _trace(name, core, U, V, rows, reason, began):
    U, V = core.given(U, V)
    return Trace(
        algorithm=name,
        metrics={metric: np.array([row[metric] for row in rows]) for metric in rows[0]},
        state={"U": U, "V": V},
        settings={"problem": repr(core.observations), "k": core.k},
        stop_reason=reason,
        wall_time=time.perf_counter() - began,
    )
