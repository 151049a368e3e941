"""Affine maps of covariates and labels: standardized, whitened, with an intercept; and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.warning import warn
from linrep.problems.weights import unweighted

Values = NDArray[np.float64]

Data = TypeVar("Data", bound="Samples")

_ROUNDING = 16 * np.finfo(np.float64).eps  # a column that varies by less is constant


class Samples(Protocol):
    """What is prepared: :class:`linrep.ClientData`."""

    @property
    def X(self) -> Values:
        """Covariates, shape (N, d)."""

    @property
    def y(self) -> Values:
        """Labels, shape (N,)."""

    @property
    def d(self) -> int:
        """Number of covariates."""

    @property
    def n(self) -> int:
        """Number of clients."""

    @property
    def preparation(self) -> Preparation | None:
        """The map from the raw data to these."""

    @property
    def weights(self) -> Values | None:
        """What each sample counts."""


@dataclass(frozen=True, eq=False, repr=False)
class Preparation:
    r"""An affine map of covariates and labels, as a method is given them, and its way back.

    .. math:: x \mapsto \big((x - c)\, M + s,\ 1\big), \qquad y \mapsto (y - a) / b

    where the 1 is there with an intercept. :meth:`ClientData.standardized` and the like make one;
    equal are those that map alike.

    Attributes
    ----------
    center : ndarray, shape (d,)
        c, in the units of the raw covariates.
    matrix : ndarray, shape (d,) or (d, r)
        M, its diagonal alone where it has no other entries.
    shift : ndarray, shape (r,)
        s.
    intercept : bool
        Whether a column of ones follows.
    label_center, label_scale : float
        a and b, in the units of the raw labels.
    constant : tuple of int
        Raw covariates that did not vary among the samples this was made from; those were not
        scaled.
    dropped : int
        Directions that whitening left out, as the samples do not vary along them.
    """

    center: Values
    matrix: Values
    shift: Values
    intercept: bool = False
    label_center: float = 0.0
    label_scale: float = 1.0
    constant: tuple[int, ...] = ()
    dropped: int = 0

    @property
    def d(self) -> int:
        """Number of raw covariates."""
        return self.center.size

    @property
    def d_prepared(self) -> int:
        """Number of covariates after the map, that of the intercept included."""
        return self.shift.size + self.intercept

    def apply(self, data: Data) -> Data:
        """Map other data as those were that this was made from.

        Parameters
        ----------
        data : ClientData
            Raw, such as test data.

        Returns
        -------
        ClientData
            Without a truth, which would be of the raw covariates.

        Raises
        ------
        ValueError
            If the data are prepared already, are weighted or have another number of covariates.
        """
        if not hasattr(data, "preparation"):
            raise TypeError(f"data must be ClientData, got {type(data).__name__}")
        if data.preparation is not None:
            raise ValueError("data must be raw, they have a preparation already")
        return self._step(data)

    def covariates(self, X: ArrayLike) -> Values:
        """Return covariates after the map.

        Parameters
        ----------
        X : array_like, shape (N, d)

        Returns
        -------
        ndarray, shape (N, d_prepared)
        """
        X = check.array("X", X, (None, self.d))
        mapped = _times(X - self.center, self.matrix)
        mapped += self.shift
        return np.column_stack([mapped, np.ones(len(X))]) if self.intercept else mapped

    def labels(self, y: ArrayLike) -> Values:
        """Return labels or predictions of prepared data in the units of the raw labels.

        Parameters
        ----------
        y : array_like
            Of any shape.
        """
        return check.array("y", y, None) * self.label_scale + self.label_center

    def models(self, theta: ArrayLike) -> tuple[Values, Values]:
        r"""Return models of prepared data as coefficients and intercepts for raw ones.

        Parameters
        ----------
        theta : array_like, shape (n, d_prepared)
            A model per row, as :attr:`linrep.Trace.models`.

        Returns
        -------
        coefficients : ndarray, shape (n, d)
            Of the least norm after the map, where it leaves out directions.
        intercepts : ndarray, shape (n,)
            So that :math:`\langle x, \text{coefficients}_i \rangle + \text{intercept}_i` are the
            raw predictions of client i.
        """
        theta = check.array("theta", theta, (None, self.d_prepared))
        slopes, first = (theta[:, :-1], theta[:, -1]) if self.intercept else (theta, 0.0)
        M = self.matrix
        coefficients = self.label_scale * (slopes * M if M.ndim == 1 else slopes @ M.T)
        mapped = self.label_scale * (slopes @ self.shift + first)
        return coefficients, self.label_center + mapped - coefficients @ self.center

    def then(self, following: Preparation) -> Preparation:
        """Return the map that is this one and then another.

        Parameters
        ----------
        following : Preparation
            Of what this one maps to, but for the column of ones, which stays the last.

        Raises
        ------
        ValueError
            If the sizes do not fit, or both add an intercept.
        """
        if following.d != self.shift.size:
            raise ValueError(
                f"following must be for {self.shift.size} covariates, it is for {following.d}"
            )
        if self.intercept and following.intercept:
            raise ValueError("the data have an intercept already")
        if self.matrix.ndim == 1:  # a centre in raw units loses no digits to large means
            center = self.center + (following.center - self.shift) / self.matrix
            shift, matrix = following.shift, _scaled(self.matrix, following.matrix)
            constant = tuple(sorted({*self.constant, *following.constant}))
        else:
            center, constant = self.center, self.constant
            shift = _times(self.shift - following.center, following.matrix) + following.shift
            matrix = _times(self.matrix, following.matrix)
        return Preparation(
            center=center,
            matrix=matrix,
            shift=shift,
            intercept=self.intercept or following.intercept,
            label_center=self.label_center + self.label_scale * following.label_center,
            label_scale=self.label_scale * following.label_scale,
            constant=constant,
            dropped=self.dropped + following.dropped,
        )

    def _step(self, data: Data) -> Data:
        """Return data after this map, which comes after that of theirs."""
        unweighted(data, "prepared")
        before = data.preparation
        total = self if before is None else before.then(self)
        X, here = data.X, self
        if before is not None and before.intercept:
            X, here = X[:, :-1], replace(self, intercept=True)
        if X.shape[1] != self.d:
            raise ValueError(f"data must have {self.d} covariates, they have {X.shape[1]}")
        y = (data.y - self.label_center) / self.label_scale
        mapped = here.covariates(X)
        return cast(Any, data)._replaced(X=mapped, y=y, truth=None, preparation=total)

    def __eq__(self, other):
        if not isinstance(other, Preparation):
            return NotImplemented
        mine, theirs = (
            (each.intercept, each.label_center, each.label_scale) for each in (self, other)
        )
        return mine == theirs and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("center", "matrix", "shift")
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        parts = [f"{self.d} covariates to {self.d_prepared}"]
        if self.intercept:
            parts.append("an intercept")
        if (self.label_center, self.label_scale) != (0.0, 1.0):
            parts.append(f"labels (y - {self.label_center:.6g}) / {self.label_scale:.6g}")
        if self.constant:
            parts.append(f"{len(self.constant)} constant and not scaled")
        if self.dropped:
            parts.append(f"{self.dropped} directions without variance dropped")
        return f"Preparation({', '.join(parts)})"


def standardizing(data: Samples, *, center: bool, scale: bool, labels: bool) -> Preparation:
    """Return the step that :meth:`ClientData.standardized` takes.

    Parameters
    ----------
    data : ClientData
    center, scale, labels : bool
    """
    mean, spread, flat = _moments(_features(data))
    if scale and flat.any():
        warn(
            f"{np.count_nonzero(flat)} of {flat.size} covariates are constant and not scaled",
            UserWarning,
            "covariates are constant and not scaled",
        )
    a, b = _label_moments(data.y, center, scale) if labels else (0.0, 1.0)
    return Preparation(
        center=mean if center else np.zeros_like(mean),
        matrix=1.0 / spread if scale else np.ones_like(mean),
        shift=np.zeros_like(mean),
        label_center=a,
        label_scale=b,
        constant=tuple(np.flatnonzero(flat).tolist()) if scale else (),
    )


def whitening(data: Samples, *, labels: bool, tolerance: float) -> Preparation:
    """Return the step that :meth:`ClientData.whitened` takes.

    Parameters
    ----------
    data : ClientData
    labels : bool
    tolerance : float
    """
    tolerance = check.real("tolerance", tolerance, above=0.0, below=1.0)
    X = _features(data)
    N, d = X.shape
    memory.require("the whitening", 2 * d * min(N, d) + 2 * X.size, n=data.n, d=d)
    mean, spread, flat = _moments(X)
    if flat.all():
        raise ValueError("whitened needs covariates that vary, all of them are constant")
    Z = np.where(flat, 0.0, (X - mean) / spread)
    factor = np.linalg.qr(Z, mode="r") if d < N else Z  # of the same covariance
    s, directions = np.linalg.svd(factor, full_matrices=False)[1:]
    kept = s > tolerance * s[0]
    a, b = _label_moments(data.y, True, True) if labels else (0.0, 1.0)
    rank = int(kept.sum())
    return Preparation(
        center=mean,
        matrix=directions[kept].T / spread[:, None] * (np.sqrt(N) / s[kept]),
        shift=np.zeros(rank),
        label_center=a,
        label_scale=b,
        dropped=d - rank,
    )


def intercept(data: Samples) -> Preparation:
    """Return the step that :meth:`ClientData.with_intercept` takes.

    Parameters
    ----------
    data : ClientData
    """
    d = _features(data).shape[1]
    return Preparation(np.zeros(d), np.ones(d), np.zeros(d), intercept=True)


def prepared(data: Data, step: Preparation) -> Data:
    """Return data after one more step.

    Parameters
    ----------
    data : ClientData
    step : Preparation
        Of the data as they are.
    """
    return step._step(data)


def _features(data):
    """Return covariates without the column of ones that a preparation has put there."""
    unweighted(data, "prepared")
    has = data.preparation is not None and data.preparation.intercept
    if has and data.d == 1:
        raise ValueError("data must have a covariate besides the intercept")
    return data.X[:, :-1] if has else data.X


def _moments(X):
    """Return means, standard deviations with 1 where there is none, and where there is none."""
    low, high = X.min(axis=0), X.max(axis=0)
    flat = high - low <= _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    size = np.where(flat, 1.0, np.maximum(np.abs(low), np.abs(high)))
    relative = X / size  # the squares of which neither overflow nor vanish
    mean = np.where(flat, 0.5 * low + 0.5 * high, size * relative.mean(axis=0))
    return mean, np.where(flat, 1.0, size * relative.std(axis=0)), flat


def _label_moments(y, center, scale):
    """Return what labels are centred and scaled by."""
    mean, spread, flat = _moments(y[:, None])
    if scale and flat.all():
        warn("the labels are constant and not scaled")
    return (float(mean[0]) if center else 0.0), (float(spread[0]) if scale else 1.0)


def _times(X, M):
    """Return X M, of a diagonal M given as a vector, too."""
    return X * M if M.ndim == 1 else X @ M


def _scaled(first, M):
    """Return diag(first) M, a vector where M is one."""
    return first * M if M.ndim == 1 else first[:, None] * M


checked(globals())
