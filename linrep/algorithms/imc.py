"""Inductive matrix completion: the centralized solvers that PerFedSI stands beside.

All fit entries of A M Z' with M of low rank. They work in orthonormal bases of the columns of A and
Z, in which the literature states them, and return M's factors in the given ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache, cached_property
from threading import current_thread, main_thread

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator, svds
from threadpoolctl import ThreadpoolController

from linrep import _validation as check
from linrep._clock import Stopwatch
from linrep.algorithms._imc_sides import Side, fit_both
from linrep.algorithms._setup import read_pair
from linrep.problems.completion import Observations
from linrep.trace import MOST_ROUNDS, Trace, columns

Values = NDArray[np.float64]

_SMALL = 1000  # unknowns of a linear system
_MOST_LEVELS = 10**6


def gauss_newton(
    observations: Observations, k: int, *, iterations: int = 100, tolerance: float = 1e-14,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
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
    norm. It is found from the normal equations, of size k(a + p), or kp where nothing is known of
    the items, whose rows are eliminated then.

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
            U, mixing = np.linalg.qr(U)
            V = V @ mixing.T
            frame, mixing = np.linalg.qr(V)
            # U V' changes by dU V' + U dV', which is S frame' + U dV' with S = dU mixing'.
            S, dV = fit_both(core.left, core.right, U, frame, core.values - core.predict(U, V))
            U, V = U + np.linalg.solve(mixing, S.T).T, V + dV
            yield U, V

    return _run("Gauss-Newton", core, steps, iterations, tolerance, start)


def alternating(
    observations: Observations, k: int, *, iterations: int = 1000, tolerance: float = 1e-14,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    """Fit by least squares in one factor and then in the other, orthonormalized in between.

    Parameters
    ----------
    observations, k, tolerance, start
        As in :func:`gauss_newton`, and so is what is returned and raised.
    iterations : int, default 1000
        At most so many.

    Notes
    -----
    Jain and Dhillon, *Provable Inductive Matrix Completion*, 2013.
    """
    core = Core(observations, k)

    def steps(U, V):
        while True:
            U = core.left.fit(core.right.seen(np.linalg.qr(V)[0]), core.values)
            U = np.linalg.qr(U)[0]
            V = core.right.fit(core.left.seen(U), core.values)
            yield U, V

    return _run("alternating minimization", core, steps, iterations, tolerance, start)


def balanced_gradient(
    observations: Observations, k: int, *, iterations: int = 10_000, tolerance: float = 1e-14,
    step_size: float = 0.5, balance: float = 0.5,
    start: str | tuple[ArrayLike, ArrayLike] = "spectral",
) -> Trace:  # fmt: skip
    r"""Fit by gradient steps in both factors, on the squared residual and a balancing term.

    .. math::
        \frac1{2q} \|P_\Omega(U V^\top) - y\|^2 + \frac{\lambda}{4} \|U^\top U - V^\top V\|_F^2

    with q the share of entries seen.

    Parameters
    ----------
    observations, k, tolerance, start
        As in :func:`gauss_newton`, and so is what is returned and raised.
    iterations : int, default 10000
        At most so many.
    step_size : float, default 0.5
        In units of one over the squared spectral norm of the start's U; positive.
    balance : float, default 0.5
        lambda, at least 0.

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
    levels = check.count("levels", levels, most=_MOST_LEVELS)
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    smallest = check.real("smallest", smallest, above=0.0)
    first = np.linalg.norm(_dense(core.adjoint(core.values)), 2)
    curvature = core.curvature()
    per_level = max(1, iterations // levels)

    def steps(M):
        for level in first * np.geomspace(1.0, smallest, levels + 1)[1:]:
            ahead, weight = M, 1.0
            for _ in range(per_level):
                gradient = _dense(core.adjoint(core.predict_core(ahead) - core.values))
                left, size, right = np.linalg.svd(ahead - gradient / curvature, full_matrices=False)
                size = np.maximum(size - level / curvature, 0.0)
                new = left * size @ right
                if np.vdot(ahead - new, new - M) > 0.0:
                    weight = 1.0
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
                ahead = new + (weight - 1.0) / following * (new - M)
                change, M, weight = np.linalg.norm(new - M), new, following
                yield left * np.sqrt(size), right.T * np.sqrt(size)
                if change <= tolerance * np.linalg.norm(M):
                    break

    watch = Stopwatch()
    U, V = _factors(np.zeros(core.shape))
    rows = [core.measure(U, V)]
    for U, V in steps(np.zeros(core.shape)):
        rows.append(core.measure(U, V))
    U, V = _factors(U @ V.T)
    return _trace("nuclear norm", core, U, V, rows, "rounds", watch)


def least_squares(observations: Observations) -> Trace:
    """Fit the core by unconstrained least squares, of least norm; the rank is free.

    Parameters
    ----------
    observations : Observations

    Returns
    -------
    Trace
        As of :func:`gauss_newton`, with a single row besides the start's.
    """
    watch = Stopwatch()
    core = Core(observations, None)
    rows = [core.measure(*_factors(np.zeros(core.shape)))]
    U, V = _factors(core.least_squares())
    rows.append(core.measure(U, V))
    return _trace("least squares", core, U, V, rows, "rounds", watch)


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
        self.observations = seen = observations
        self.left = Side("A", seen.A, seen.items, seen.d)
        self.right = Side("Z", seen.Z, seen.clients, seen.n)
        self.shape = self.left.size, self.right.size
        self.k = None if k is None else check.integer("k", k, minimum=1, maximum=min(self.shape))
        self.values = seen.values
        self.share = len(seen) / (seen.d * seen.n)
        self.size = float(np.linalg.norm(self.values))
        if self.size == 0.0:
            raise ValueError("observations must not be 0 everywhere")

    def predict(self, U: Values, V: Values) -> Values:
        """Return the entries of U V'.

        Parameters
        ----------
        U, V : ndarray, shape (a, k), (p, k)
            Factors of a core between the bases.
        """
        return np.einsum("ec,ec->e", self.left.seen(U), self.right.seen(V))

    def predict_core(self, M: Values) -> Values:
        """Return the entries of a whole core.

        Parameters
        ----------
        M : ndarray, shape (a, p)
        """
        return self.right.along(self.left.seen(M))

    @cached_property
    def _pattern(self):
        """Return where entries are: a sparse matrix, and for each entry its place in its data."""
        seen = self.observations
        pattern = csr_array(
            (np.ones(len(seen)), (seen.items, seen.clients)), shape=(seen.d, seen.n)
        )
        pattern.sum_duplicates()
        pattern.data[:] = np.arange(pattern.nnz)
        return pattern, pattern[seen.items, seen.clients].astype(np.int64)

    def _sparse(self, values):
        pattern, places = self._pattern
        matrix = pattern.copy()
        matrix.data = np.bincount(places, weights=values, minlength=pattern.nnz)
        return matrix

    def adjoint(self, values: Values) -> Values | csr_array:
        """Return the core whose inner product with any M is that of values with M's entries.

        It is sparse where nothing is known of either side.

        Parameters
        ----------
        values : ndarray, shape (entries,)

        Returns
        -------
        ndarray or sparse array, shape (a, p)
        """
        S = self._sparse(values)
        return self.left.fold(S if self.right.basis is None else S @ self.right.basis)

    def curvature(self) -> float:
        """Return the largest squared norm of a core's entries, for cores of norm 1."""
        if self.left.basis is None and self.right.basis is None:
            return 1.0  # entries of the core itself, none of them twice
        entries = LinearOperator(
            (len(self.values), self.shape[0] * self.shape[1]),
            matvec=lambda M: self.predict_core(M.reshape(self.shape)),
            rmatvec=lambda values: _dense(self.adjoint(values.ravel())).ravel(),
            dtype=np.float64,
        )
        if min(entries.shape) == 1:
            return float(np.linalg.norm(entries @ np.ones(entries.shape[1])) ** 2)
        start = np.ones(min(entries.shape))
        largest = svds(entries, k=1, v0=start, return_singular_vectors=False)[0]
        return 1.001 * float(largest) ** 2  # found to less than that

    def gradients(self, U: Values, V: Values) -> tuple[Values, Values]:
        """Return those of half the squared residual over the share of entries seen.

        Parameters
        ----------
        U, V
            As in :meth:`predict`.

        Returns
        -------
        in_U, in_V : ndarray, shape (a, k), (p, k)
        """
        S = self._sparse((self.predict(U, V) - self.values) / self.share)
        return (
            self.left.fold(S @ self.right.whole(V)),
            self.right.fold(S.T @ self.left.whole(U)),
        )

    def spectral(self) -> tuple[Values, Values]:
        """Return factors of the leading part of the zero-filled entries over their share."""
        M = self.adjoint(self.values / self.share)
        if issparse(M) and self.k < min(self.shape):
            left, size, right = svds(M, k=self.k, v0=np.ones(min(self.shape)))
            left, size, right = left[:, ::-1], size[::-1], right[::-1]
        else:
            left, size, right = np.linalg.svd(_dense(M), full_matrices=False)
        root = np.sqrt(size[: self.k])
        return left[:, : self.k] * root, right[: self.k].T * root

    def least_squares(self) -> Values:
        """Return the core (a, p) of least norm that fits the entries best."""
        if self.left.basis is None:
            return self.left.fit(self.right.rows, self.values)
        if self.right.basis is None:
            return self.right.fit(self.left.rows, self.values).T
        J = self.right.products(self.left.rows)
        found = np.linalg.lstsq(J, self.values, rcond=None)[0]
        return found.reshape(self.shape[::-1]).T

    def measure(self, U: Values, V: Values) -> dict[str, float]:
        """Return a row of metrics.

        Parameters
        ----------
        U, V
            As in :meth:`predict`.

        Returns
        -------
        dict of str to float
            ``residual``, and ``error`` where the truth is known; see :func:`gauss_newton`.
        """
        row = {"residual": float(np.linalg.norm(self.predict(U, V) - self.values)) / self.size}
        truth = self.observations.truth
        if truth is not None:
            row["error"] = truth.deviation(self.left.whole(U), self.right.whole(V)) / truth.norm
        return row


def _dense(M):
    return M.toarray() if issparse(M) else M


def _factors(M):
    """Return balanced factors of a core, their rank that of M, at least 1."""
    left, size, right = np.linalg.svd(M, full_matrices=False)
    rank = max(1, int(np.sum(size > 1e-15 * max(size[0], 1e-300))))
    root = np.sqrt(size[:rank])
    return left[:, :rank] * root, right[:rank].T * root


def _run(name, core, steps, iterations, tolerance, start) -> Trace:
    """Take steps until the residual is small enough or stalls."""
    watch = Stopwatch()
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    U, V = _start(core, start)
    rows, reason = [core.measure(U, V)], "rounds"
    walk: Iterator[tuple[Values, Values]] = steps(U, V)
    with _threads_for(core):
        for _ in range(iterations):
            try:
                new = next(walk)
            except np.linalg.LinAlgError:  # a factor lost rank
                reason = "singular"
                break
            if not all(np.isfinite(factor).all() for factor in new):
                reason = "diverged"
                break
            U, V = new
            rows.append(core.measure(U, V))
            before, residual = (row["residual"] for row in rows[-2:])
            if residual <= tolerance or (residual < 1e-10 and residual >= before):
                reason = "converged"
                break
    return _trace(name, core, U, V, rows, reason, watch)


def _threads_for(core):
    """Let one thread do the linear algebra of small systems: sharing them takes twice as long."""
    # The limit is the process's: threads that leave in another order would not restore it.
    if current_thread() is main_thread() and sum(core.shape) * core.k < _SMALL:
        return _libraries().limit(limits=1)
    return nullcontext()


@cache
def _libraries():
    return ThreadpoolController()  # it looks through all that is loaded


def _start(core, start):
    """Return factors in the bases."""
    if isinstance(start, str):
        check.choice("start", start, ("spectral",))
        return core.spectral()
    if isinstance(start, Trace):
        raise ValueError("start must be 'spectral' or a pair (U, V), got a Trace")
    (a, p), k = core.shape, core.k
    U, V = read_pair(start, "'spectral'", U=(a, k), V=(p, k))
    return core.left.inner(U), core.right.inner(V)


def _trace(name, core, U, V, rows, reason, watch):
    U, V = core.left.given(U), core.right.given(V)
    return Trace(
        algorithm=name,
        metrics=columns(rows),
        state={"U": U, "V": V},
        settings={"problem": repr(core.observations), "k": core.k},
        stop_reason=reason,
        wall_time=watch.seconds(),
    )
