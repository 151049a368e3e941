"""Personalized models: a function for every client, and their models as rows of one matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from linrep._lib import display as show
from linrep._lib import validation as check

Values = NDArray[np.float64]
_ROUNDING = 1e-12  # of the largest eigenvalue: what is smaller in absolute value is zero


class Optimum(NamedTuple):
    """Best models of a given rank: ``theta`` (n, d), and the objective ``value`` there."""

    theta: Values
    value: float

    def __repr__(self):
        return show.line(self)


class FactorGradients(NamedTuple):
    """The objective at the models U v_i, and its gradients in U (d, k) and V (n, k)."""

    value: float
    in_U: Values
    in_V: Values

    def __repr__(self):
        return show.line(self)


class Objectives:
    r"""The mean of n functions, each of its client's model.

    .. math:: F(\theta) = \frac1n \sum_i f_i(\theta_i), \qquad \theta_i \in R^d

    Models are the rows of ``theta``, shape (n, d); pFL^MF, equation (5), has them as columns and
    asks that their rank be at most k. A kind of functions is a subclass with ``values`` and
    ``gradients``, and with what else is known of it.

    Attributes
    ----------
    n, d : int
        Clients, and the dimension of a model.
    truth : ndarray, shape (n, d), or None
        Models the data were drawn from, where known.
    clusters : ndarray of int, shape (n,), or None
        Which clients share a model, where known.
    """

    n: int
    d: int
    truth: Values | None = None
    clusters: NDArray[np.int64] | None = None

    def values(self, theta: Values) -> Values:
        """Return f_i at each client's model, shape (n,).

        Parameters
        ----------
        theta : ndarray, shape (n, d)
            A model per client.
        """
        raise NotImplementedError

    def gradients(self, theta: Values) -> Values:
        """Return the gradient of f_i at each client's model, shape (n, d).

        Parameters
        ----------
        theta : ndarray, shape (n, d)
            A model per client.
        """
        raise NotImplementedError

    def values_and_gradients(self, theta: Values) -> tuple[Values, Values]:
        """Return both.

        Parameters
        ----------
        theta : ndarray, shape (n, d)
            A model per client.
        """
        return self.values(theta), self.gradients(theta)

    def evaluate(self, i: int, model: Values) -> tuple[float, Values]:
        """Return the value and the gradient of one client's function.

        Parameters
        ----------
        i : int
            The client, from 0 to n - 1.
        model : ndarray, shape (d,)
        """
        i = check.integer("i", i, minimum=0, maximum=self.n - 1)
        theta = np.zeros((self.n, self.d))
        theta[i] = check.table("model", model, (self.d,))
        return float(self.values(theta)[i]), self.gradients(theta)[i]

    def value(self, theta: Values) -> float:
        """Return F.

        Parameters
        ----------
        theta : ndarray, shape (n, d)
            A model per client.
        """
        return float(np.mean(self.values(theta)))

    def factor_gradients(self, U: Values, V: Values) -> FactorGradients:
        r"""Return F(U V') and its gradients in the factors.

        .. math::
            \nabla_U = \frac1n \sum_i \nabla f_i(U v_i) v_i^\top, \qquad
            \nabla_{v_i} = \frac1n U^\top \nabla f_i(U v_i)

        Parameters
        ----------
        U, V : ndarray, shape (d, k), (n, k)
            Factors of the models, which are the rows of V U'.

        Notes
        -----
        pFL^MF, equation (7).
        """
        U, V = check.real_array("U", U), check.real_array("V", V)
        if U.ndim != 2 or len(U) != self.d:
            raise ValueError(f"U must have shape ({self.d}, any), got {U.shape}")
        V = check.table("V", V, (self.n, U.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # the value then says so
            values, gradients = self.values_and_gradients(V @ U.T)
            g = gradients / self.n
            return FactorGradients(float(np.mean(values)), g.T @ V, g @ U)

    @property
    def smoothness(self) -> Values:
        """Lipschitz constants of the clients' gradients, shape (n,); infinite where unknown."""
        return np.full(self.n, np.inf)

    @cached_property
    def minimizers(self) -> Values:
        """A minimizer of every f_i, shape (n, d): in closed form, or by L-BFGS from zero."""
        minimizers = np.empty((self.n, self.d))
        for i in range(self.n):
            minimizers[i] = minimize(
                lambda model, i=i: self.evaluate(i, model), np.zeros(self.d), jac=True,
                method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
            ).x  # fmt: skip
        return minimizers

    @cached_property
    def infimum(self) -> float:
        """F at the minimizers of the f_i: a lower bound at every rank, attained at full rank."""
        return self.value(self.minimizers)

    def best(self, k: int) -> Optimum | None:
        """Return the optimum of rank at most k, None where no closed form is known.

        Parameters
        ----------
        k : int
            At least 1.
        """
        k = check.integer("k", k, minimum=1)
        if k >= min(self.n, self.d):
            return Optimum(self.minimizers, self.infimum)
        return None

    def _know(self, truth, clusters):
        """Keep what is known of where the functions come from."""
        if truth is not None:
            truth = check.array("truth", truth, (self.n, self.d), copy=True)
        if clusters is not None:
            clusters = check.read_array("clusters", clusters)
            if clusters.shape != (self.n,) or clusters.dtype.kind not in "iu":
                raise ValueError(f"clusters must be {self.n} integers, one per client")
            clusters = clusters.astype(np.int64)
        self.truth, self.clusters = truth, clusters

    def __repr__(self):
        return f"{type(self).__name__}(n={self.n}, d={self.d})"


class QuadraticObjectives(Objectives):
    r"""Quadratic functions, each around its client's centre.

    .. math:: f_i(x) = \frac12 (x - a_i)^\top H_i (x - a_i)

    Parameters
    ----------
    A : array_like, shape (n, d)
        Centres; row i is client i's.
    H : array_like, shape (d, d) or (n, d, d), optional
        Symmetric matrices, one for all or one per client; by default the identity.
    weights : array_like, shape (n, d), optional
        Diagonals of the matrices instead.
    truth, clusters : optional
        See :class:`Objectives`.

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, a value is not finite, or a matrix is not symmetric.
    """

    def __init__(
        self,
        A: ArrayLike,
        H: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ):
        self.A = check.data("A", A, (None, None), copy=True)
        self.n, self.d = self.A.shape
        if H is not None and weights is not None:
            raise ValueError("H and weights must not both be given")
        self.H: Values | None = None
        self.weights: Values | None = None
        if weights is not None:
            self.weights = check.data("weights", weights, (self.n, self.d), copy=True)
        if H is not None:
            shape = (self.n, self.d, self.d) if np.ndim(H) == 3 else (self.d, self.d)
            self.H = check.data("H", H, shape, copy=True)
            if not np.allclose(self.H, self.H.swapaxes(-1, -2), rtol=1e-12, atol=1e-12):
                raise ValueError("H must be symmetric")
        self._know(truth, clusters)

    def values(self, theta: Values) -> Values:
        """Return f_i at each client's model, shape (n,)."""
        theta = check.table("theta", theta, self.A.shape)
        return 0.5 * np.einsum("ij,ij->i", theta - self.A, self.gradients(theta))

    def gradients(self, theta: Values) -> Values:
        """Return the gradient of f_i at each client's model, shape (n, d)."""
        difference = check.table("theta", theta, self.A.shape) - self.A
        if self.weights is not None:
            return self.weights * difference
        if self.H is None:
            return difference
        if self.H.ndim == 2:
            return difference @ self.H
        return np.matmul(self.H, difference[..., None])[..., 0]

    @cached_property
    def _extremes(self):
        """The least and the largest eigenvalue of every H_i, rounding taken as zero."""
        if self.weights is not None:
            values: Any = np.sort(self.weights, axis=1)
        else:
            values = np.ones(self.d) if self.H is None else np.linalg.eigvalsh(self.H)
        values = np.broadcast_to(values, (self.n, self.d))
        least, largest = values[:, 0], values[:, -1]
        return np.where(np.abs(least) <= _ROUNDING * np.abs(largest), 0.0, least), largest

    @property
    def smoothness(self) -> Values:
        """The largest eigenvalue, in absolute value, of every H_i, shape (n,)."""
        least, largest = self._extremes
        return np.asarray(np.maximum(np.abs(least), np.abs(largest)), dtype=np.float64)

    @property
    def minimizers(self) -> Values:
        """The centres; ValueError where a function is not bounded from below."""
        if self._extremes[0].min() < 0.0:
            raise ValueError("H must have no negative eigenvalue for there to be a minimizer")
        return self.A

    def best(self, k: int) -> Optimum | None:
        """Return the optimum of rank at most k, if the clients share H and it exists.

        The singular value decomposition of A H^(1/2) cut off at rank k, back from there.
        """
        k = check.integer("k", k, minimum=1)
        shared = self.weights is None and (self.H is None or self.H.ndim == 2)
        if self._extremes[0].min() < 0.0:
            return None
        if k >= min(self.n, self.d) or not shared:
            return super().best(k)
        centres = self.minimizers
        if self.H is not None:
            values, vectors = np.linalg.eigh(self.H)
            keep = values > _ROUNDING * values[-1]
            values, vectors = values[keep], vectors[:, keep]
            centres = centres @ (vectors * np.sqrt(values))
        left, s, right = np.linalg.svd(centres, full_matrices=False)
        theta = (left[:, :k] * s[:k]) @ right[:k]
        if self.H is not None:
            theta = theta @ (vectors / np.sqrt(values)).T
        return Optimum(theta, float(np.sum(s[k:] ** 2)) / (2.0 * self.n))


class CustomObjectives(Objectives):
    """Functions of your own.

    Parameters
    ----------
    value_and_grad : callable, or sequence of callables
        ``value_and_grad(i, model) -> (value, gradient)`` for client i, or one such callable of the
        model alone per client.
    n, d : int
        Clients, and the dimension of a model; n is the length of a sequence.
    smoothness : array_like, shape (n,), optional
        Lipschitz constants of the gradients.
    truth, clusters : optional
        See :class:`Objectives`.

    Raises
    ------
    ValueError, TypeError
        If a size does not fit, or a function returns something else.
    """

    def __init__(
        self,
        value_and_grad: Callable[..., Any] | Sequence[Callable[..., Any]],
        *,
        d: int,
        n: int | None = None,
        smoothness: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ):
        self.d = check.integer("d", d, minimum=1)
        if callable(value_and_grad):
            if n is None:
                raise ValueError("n must be given with a single function")
            self.n = check.integer("n", n, minimum=1)
            self._function = value_and_grad
        else:
            functions = list(value_and_grad) if isinstance(value_and_grad, Iterable) else []
            if not functions or not all(callable(each) for each in functions):
                raise TypeError("value_and_grad must be a function, or one function per client")
            if n not in (None, len(functions)):
                raise ValueError(f"n must be the number of functions {len(functions)}, got {n}")
            self.n = len(functions)
            self._function = lambda i, model: functions[i](model)
        self._smoothness = None
        if smoothness is not None:
            self._smoothness = check.array("smoothness", smoothness, (self.n,), copy=True)
        self._know(truth, clusters)

    def values(self, theta: Values) -> Values:
        """Return f_i at each client's model, shape (n,)."""
        return self.values_and_gradients(theta)[0]

    def gradients(self, theta: Values) -> Values:
        """Return the gradient of f_i at each client's model, shape (n, d)."""
        return self.values_and_gradients(theta)[1]

    def values_and_gradients(self, theta: Values) -> tuple[Values, Values]:
        """Return both, each client's function called once."""
        theta = check.table("theta", theta, (self.n, self.d))
        values, gradients = np.empty(self.n), np.empty((self.n, self.d))
        for i in range(self.n):
            values[i], gradients[i] = self.evaluate(i, theta[i])
        return values, gradients

    def evaluate(self, i: int, model: Values) -> tuple[float, Values]:
        """Return the value and the gradient of one client's function.

        Raises
        ------
        ValueError
            If the function returns a gradient of another shape.
        """
        value, gradient = self._function(i, model)
        gradient = check.real_array("gradient", gradient)
        if gradient.shape != (self.d,):
            raise ValueError(f"a gradient must have shape ({self.d},), got {gradient.shape}")
        return float(value), gradient

    @property
    def smoothness(self) -> Values:
        """Lipschitz constants of the clients' gradients, as they were given."""
        return super().smoothness if self._smoothness is None else self._smoothness
