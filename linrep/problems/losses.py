"""Clients' losses on samples of their own: least squares, logistic, softmax."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp, softmax

from linrep._lib import memory
from linrep._lib import validation as check
from linrep.kernels.linalg import RANK_TOLERANCE
from linrep.problems.clients import ClientData
from linrep.problems.objectives import Objectives
from linrep.problems.random import generator

Values = NDArray[np.float64]


class SampleObjectives(Objectives):
    r"""Mean losses of linear models on clients' samples, ragged or not, with a ridge.

    .. math:: f_i(\theta) = \frac1{m_i} \sum_j \ell(\langle x_{ij}, \theta\rangle, y_{ij})
        + \frac\rho2 \|\theta\|^2

    Parameters
    ----------
    data : ClientData
    ridge : float, default 0
        rho.
    truth, clusters : optional
        See :class:`Objectives`; the models of the data's truth by default.
    """

    #: The largest second derivative of the loss in its first argument.
    curvature = 1.0

    def __init__(
        self,
        data: ClientData,
        *,
        ridge: float = 0.0,
        truth: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ):
        check.instance("data", data, ClientData)
        self.data, self.n, self.d = data, data.n, self._dimension(data)
        self.ridge = check.real("ridge", ridge, minimum=0.0)
        self._client = np.repeat(np.arange(self.n), data.m)
        if truth is None and data.truth is not None and self.d == data.d:
            truth = data.truth.theta
        self._know(truth, clusters)

    def values(self, theta: Values) -> Values:
        """Return f_i at each client's model, shape (n,)."""
        theta = check.table("theta", theta, (self.n, self.d))
        return self._values(theta, self._scores(theta))

    def _values(self, theta, scores):
        losses = self._losses(scores, self.data.y)
        mean = np.add.reduceat(losses, self.data.offsets[:-1]) / self.data.m
        return mean + 0.5 * self.ridge * np.einsum("ij,ij->i", theta, theta)

    def gradients(self, theta: Values) -> Values:
        """Return the gradient of f_i at each client's model, shape (n, d)."""
        theta = check.table("theta", theta, (self.n, self.d))
        return self._gradients(theta, self._scores(theta))

    def _gradients(self, theta, scores):
        slopes = self._slopes(scores, self.data.y) / self.data.m[self._client, None]
        rows = slopes[:, :, None] * self.data.X[:, None, :]
        sums = np.add.reduceat(rows.reshape(len(rows), -1), self.data.offsets[:-1], axis=0)
        return sums + self.ridge * theta

    def values_and_gradients(self, theta: Values) -> tuple[Values, Values]:
        """Return both, each sample's scores computed once."""
        theta = check.table("theta", theta, (self.n, self.d))
        scores = self._scores(theta)
        return self._values(theta, scores), self._gradients(theta, scores)

    def evaluate(self, i: int, model: Values) -> tuple[float, Values]:
        """Return the value and the gradient of one client's function."""
        X, y = self.data.client(i)
        model = check.table("model", model, (self.d,))
        scores = X @ model.reshape(-1, self.data.d).T
        value = np.mean(self._losses(scores, y)) + 0.5 * self.ridge * model @ model
        gradient = (self._slopes(scores, y).T @ X / len(y)).ravel() + self.ridge * model
        return float(value), gradient

    @cached_property
    def smoothness(self) -> Values:
        """The loss's curvature times the largest eigenvalue of X_i'X_i/m_i, plus the ridge."""
        blocks = (self.data.client(i)[0] for i in range(self.n))
        return np.array(
            [self.curvature * np.linalg.norm(X, 2) ** 2 / len(X) + self.ridge for X in blocks]
        )

    def resample(self, size: int, rng: np.random.Generator) -> SampleObjectives:
        """Return the losses on some samples of every client, drawn with replacement.

        Their gradients are unbiased for those here: mini-batches.

        Parameters
        ----------
        size : int
            Samples of each client.
        rng : numpy.random.Generator
        """
        check.integer("size", size, minimum=1)
        memory.require("the samples", 2 * self.n * size * self.data.d, n=self.n, size=size)
        rng, m = generator(rng), self.data.m[:, None]
        rows = (self.data.offsets[:-1, None] + (rng.random((self.n, size)) * m).astype(int)).ravel()
        offsets = np.arange(self.n + 1) * size
        return self._like(
            ClientData._keeping(X=self.data.X[rows], y=self.data.y[rows], offsets=offsets)
        )

    def _like(self, data):
        return type(self)(data, ridge=self.ridge)

    def _dimension(self, data):
        return data.d

    def _scores(self, theta):
        """Return every sample's scores (N, d // data.d)."""
        models = theta.reshape(self.n, -1, self.data.d)[self._client]
        return np.einsum("scj,sj->sc", models, self.data.X)

    def _losses(self, scores: Values, y: Values) -> Any:
        """Return every sample's loss (N,)."""
        raise NotImplementedError

    def _slopes(self, scores: Values, y: Values) -> Any:
        """Return its derivative in the scores, shape of scores."""
        raise NotImplementedError

    def __repr__(self):
        ridge = f", ridge={self.ridge:g}" if self.ridge else ""
        return f"{type(self).__name__}(n={self.n}, d={self.d}, {self.data._shown_m()}{ridge})"


class LeastSquaresObjectives(SampleObjectives):
    r"""Half mean squared errors, :math:`\frac1{2m_i} \|X_i \theta - y_i\|^2`, with a ridge.

    Parameters
    ----------
    data, ridge, truth, clusters
        See :class:`SampleObjectives`.
    """

    @cached_property
    def minimizers(self) -> Values:
        """The least-squares models, of minimum norm where not unique, shape (n, d)."""
        models = np.empty((self.n, self.d))
        for i in range(self.n):
            X, y = self.data.client(i)
            if self.ridge == 0.0:
                models[i] = np.linalg.lstsq(X, y, RANK_TOLERANCE)[0]
            elif len(y) < self.d and self.d**2 > memory.DENSE:
                # (X'X/m + ridge I)^-1 X' = X' (XX'/m + ridge I)^-1
                system = X @ X.T / len(y) + self.ridge * np.eye(len(y))
                models[i] = X.T @ np.linalg.solve(system, y / len(y))
            else:
                system = X.T @ X / len(y) + self.ridge * np.eye(self.d)
                models[i] = np.linalg.solve(system, X.T @ y / len(y))
        return models

    def _losses(self, scores, y):
        return 0.5 * (scores[:, 0] - y) ** 2

    def _slopes(self, scores, y):
        return scores - y[:, None]


def as_objectives(problem) -> Objectives:
    """Return clients' functions: those given, or the least squares of ClientData."""
    if isinstance(problem, ClientData):
        return LeastSquaresObjectives(problem)
    return check.instance("problem", problem, Objectives, ClientData)


class LogisticObjectives(SampleObjectives):
    r"""Logistic losses :math:`\log(1 + e^{-y \langle x, \theta\rangle})` of labels -1 and 1.

    Parameters
    ----------
    data : ClientData
        Its covariates hold a column of ones where there is to be an intercept.
    **known
        ``ridge``, ``truth`` and ``clusters``, see :class:`SampleObjectives`.

    Raises
    ------
    ValueError
        If a label is not -1 or 1.

    Notes
    -----
    Without a ridge a client whose samples a hyperplane separates has no minimizer.
    """

    curvature = 0.25

    def __init__(self, data: ClientData, **known: Any):
        super().__init__(data, **known)
        if not np.isin(data.y, (-1.0, 1.0)).all():
            raise ValueError("labels must be -1 or 1")

    def _losses(self, scores, y):
        return np.logaddexp(0.0, -y * scores[:, 0])

    def _slopes(self, scores, y):
        return (-y * expit(-y * scores[:, 0]))[:, None]


class SoftmaxObjectives(SampleObjectives):
    """Cross-entropies of several classes; a model holds a row per class, one after the other.

    Parameters
    ----------
    data : ClientData
        Labels are 0 … classes - 1.
    classes : int
        At least 2; models have dimension classes times that of the covariates.
    **known
        ``ridge``, ``truth`` and ``clusters``, see :class:`SampleObjectives`.

    Raises
    ------
    ValueError
        If a label is not one of these.
    """

    curvature = 0.5

    def __init__(self, data: ClientData, classes: int, **known: Any):
        self.classes = check.integer("classes", classes, minimum=2, maximum=check.WHOLE)
        check.instance("data", data, ClientData)
        super().__init__(data, **known)
        whole = data.y == np.floor(data.y)
        if not (whole & (data.y >= 0.0) & (data.y < classes)).all():
            raise ValueError(f"labels must be whole numbers from 0 to {classes - 1}")

    def _dimension(self, data):
        return self.classes * data.d

    def _like(self, data):
        return type(self)(data, self.classes, ridge=self.ridge)

    def _losses(self, scores, y):
        return logsumexp(scores, axis=1) - scores[np.arange(len(y)), y.astype(int)]

    def _slopes(self, scores, y):
        slopes = softmax(scores, axis=1)
        slopes[np.arange(len(y)), y.astype(int)] -= 1.0
        return slopes
