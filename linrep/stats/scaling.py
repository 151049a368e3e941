"""Power laws: exponents with intervals, and how well a predicted one fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.stats._arguments import fraction, positive, quantile

Labels: TypeAlias = ArrayLike  # which need not be numbers

# Logarithms that agree to this are the same: far above rounding, far below the steps of a sweep.
_COLLINEAR = 1e-8


@dataclass(frozen=True)
class ScalingExponents:
    """A fitted power law, ``y = constant * x1**exponents["x1"] * x2**exponents["x2"] * ...``.

    Attributes
    ----------
    exponents : dict of str to float
        By variable.
    low, high : dict of str to float
        Ends of their confidence intervals, each at the given level.
    constant : float
        The factor in front.
    residual : float
        Residual standard deviation of log y.
    confidence : float
        Level of the intervals.
    """

    exponents: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    constant: float
    residual: float
    confidence: float

    def __str__(self):
        powers = (
            f"{name}^{power:.4g} [{self.low[name]:.4g}, {self.high[name]:.4g}]"
            for name, power in self.exponents.items()
        )
        factors = " * ".join((f"{self.constant:.4g}", *powers))
        return f"{factors}, residual {self.residual:.2g} in log y"


def scaling_exponents(
    y: ArrayLike,
    x: ArrayLike | Mapping[str, ArrayLike],
    *,
    confidence: float = 0.95,
    robust: bool = False,
) -> ScalingExponents:
    """Fit a power law by least squares of log y on the logarithms of x and a constant.

    Parameters
    ----------
    y : array_like, shape (N,)
        Positive; at least two more than there are exponents.
    x : mapping of str to array_like, shape (N,), or array_like, shape (N,)
        The variables by name, positive. A single array goes by the name "x".
    confidence : float, default 0.95
        Level of each interval, in (0, 1).
    robust : bool
        Allow errors of log y whose variance differs between points.

    Returns
    -------
    ScalingExponents

    Raises
    ------
    ValueError
        If values are not positive, points too few, a variable is constant, or one is a product of
        powers of others, so that their exponents are not identified.

    Notes
    -----
    Intervals are Student's with N - 1 - (number of exponents) degrees of freedom: exact for
    independent normal errors of log y with equal variance. With `robust` the standard errors are
    HC3 (MacKinnon and White, J. Econometrics 29, 1985): each residual is divided by one minus the
    leverage of its point, which equals the jackknife but for a factor (N - 1)/N and its centring.
    """
    y = positive("y", y, (None,))
    confidence = fraction("confidence", confidence)
    if isinstance(x, Mapping):
        columns = {name: (f"x[{name!r}]", column) for name, column in x.items()}
    else:
        columns = {"x": ("x", x)}
    if not columns:
        raise ValueError("x must hold at least one variable, got none")
    logs = np.column_stack([np.log(positive(*column, y.shape)) for column in columns.values()])
    free = y.size - logs.shape[1] - 1
    if free < 1:
        raise ValueError(
            f"y must hold at least {logs.shape[1] + 2} points to fit a constant and the exponents "
            f"of {_listed(columns)}, got {y.size}"
        )
    centre = logs.mean(axis=0)
    _require_distinct(list(columns), logs - centre)
    design = np.column_stack([np.ones(y.size), logs - centre])
    inverse = np.linalg.pinv(design)
    fit = inverse @ np.log(y)
    residuals = np.log(y) - design @ fit
    residual = np.sqrt(residuals @ residuals / free)
    errors = np.full(y.size, residual)
    if robust:
        room = 1.0 - np.sum(design * inverse.T, axis=1)
        if room.min() <= _COLLINEAR:
            raise ValueError(
                f"robust needs several points behind each exponent; the one at index "
                f"{room.argmin()} determines an exponent by itself"
            )
        errors = residuals / room
    half = quantile(0.5 + confidence / 2.0, free) * np.sqrt(inverse**2 @ errors**2)[1:]
    powers = fit[1:]
    return ScalingExponents(
        exponents=dict(zip(columns, powers.tolist(), strict=True)),
        low=dict(zip(columns, (powers - half).tolist(), strict=True)),
        high=dict(zip(columns, (powers + half).tolist(), strict=True)),
        constant=float(np.exp(fit[0] - powers @ centre)),
        residual=float(residual),
        confidence=confidence,
    )


def _require_distinct(names, centred):
    """Raise unless the columns of centred logarithms are linearly independent, naming culprits."""
    constant = np.abs(centred).max(axis=0) <= _COLLINEAR
    if constant.any():
        alike = _listed(np.array(names)[constant])
        raise ValueError(
            f"{alike} must vary, or its exponent cannot be distinguished from the constant"
        )
    _, sizes, directions = np.linalg.svd(
        centred / np.linalg.norm(centred, axis=0), full_matrices=False
    )
    null = np.abs(directions[sizes <= _COLLINEAR])
    if null.size:
        # A variable takes part in a dependence if it has a share in a null direction.
        alike = _listed(np.array(names)[null.max(axis=0) > np.sqrt(_COLLINEAR)])
        raise ValueError(
            f"the exponents of {alike} are not identified: their logarithms are linearly dependent"
        )


def _listed(names) -> str:
    """Return names as in a sentence."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last


@dataclass(frozen=True)
class Collapse:
    """How well measured values are a constant times predicted ones.

    Attributes
    ----------
    constant : float
        Geometric mean of measured / predicted.
    spread : float
        Largest over smallest ratio, of points or, where groups were given, of their constants.
    slope : float
        Of log measured on log predicted: 1 if the prediction scales as what was measured.
    low, high : float
        Confidence interval of `slope`.
    confidence : float
        Its level.
    constants : dict
        Geometric mean of the ratio by group; empty where no groups were given.
    """

    constant: float
    spread: float
    slope: float
    low: float
    high: float
    confidence: float
    constants: dict[Any, float]

    def __str__(self):
        slope = f"{self.slope:.4g} [{self.low:.4g}, {self.high:.4g}]"
        among = f" among {len(self.constants)} groups" if self.constants else ""
        return f"{self.constant:.4g} * predicted, spread {self.spread:.3g}{among}, slope {slope}"


def collapse(
    y: ArrayLike,
    predicted: ArrayLike,
    groups: Labels | None = None,
    *,
    confidence: float = 0.95,
) -> Collapse:
    """Measure how well values are a constant times their prediction.

    Parameters
    ----------
    y, predicted : array_like, shape (N,)
        Measured and predicted values, positive; three points or more.
    groups : array_like, shape (N,), optional
        Labels of points that belong together. The spread is then that between the groups'
        constants, free of the noise within groups.
    confidence : float, default 0.95
        Level of the interval of the slope, in (0, 1).

    Returns
    -------
    Collapse

    Raises
    ------
    ValueError
        If values are not positive, points too few, or predictions all equal.

    Notes
    -----
    The slope and its interval are those of `scaling_exponents`, over all points.
    """
    y = positive("y", y, (None,))
    predicted = positive("predicted", predicted, y.shape)
    law = scaling_exponents(y, {"predicted": predicted}, confidence=confidence)
    logs = np.log(y) - np.log(predicted)
    constants = {}
    if groups is not None:
        labels = check.read_array("groups", groups)
        if labels.shape != y.shape:
            raise ValueError(f"groups must have shape {y.shape}, got {labels.shape}")
        if any(label != label for label in labels.tolist()):
            raise ValueError("groups must have no missing labels, got NaN")
        for label in dict.fromkeys(labels.tolist()):
            constants[label] = float(np.exp(logs[labels == label].mean()))
    compared = np.log(list(constants.values())) if constants else logs
    return Collapse(
        constant=float(np.exp(logs.mean())),
        spread=float(np.exp(np.ptp(compared))),
        slope=law.exponents["predicted"],
        low=law.low["predicted"],
        high=law.high["predicted"],
        confidence=law.confidence,
        constants=constants,
    )
