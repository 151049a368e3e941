"""Steps by the curvature at hand, where no value of one function can be compared between rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms.descent import joined, parted
from linrep.algorithms.resumable import Resumable

Values = NDArray[np.float64]
Gradient = Callable[[Values], Values]

SHARE = 1.5  # of 1/L that a step is: the limit of stability is 2
EVERY = 10  # rounds between two estimates
GROWTH = 1.1  # of a factor's norm, up or down, from which on there is another estimate
WINDOW = 10  # rounds of drawn participants whose largest curvature counts
_DIFFERENCE = 1e-6  # relative length of the difference of two points
_ACCURACY = 1e-6  # relative length of what a product adds below which it is rounding
FIRST, ROUGH = 12, 4  # products at most of the first estimate, and of one that is to begin with
_LATER, _DRAWN = 4, 3  # and of those after it


def largest_eigenvalue(
    gradient: Gradient, x: Values, vector: Values, most: int, weights: Values | float = 1.0
) -> tuple[float, Values, int]:
    r"""Return the largest curvature of a function, by Lanczos iteration.

    The eigenvalue of largest absolute value of :math:`D^{1/2} H D^{1/2}`, H the Hessian at `x` and
    D the diagonal matrix of `weights`: a gradient step that is :math:`d_i a` long in coordinate i
    is stable for :math:`a < 2/\lambda`. Products with H are differences of gradients. What is
    found after fewer products than dimensions is at most that eigenvalue.

    Parameters
    ----------
    gradient : callable
        ``gradient(x) -> ndarray`` of the shape of `x`.
    x : ndarray, shape (p,)
    vector : ndarray, shape (p,)
        To begin with; not zero.
    most : int
        Products with H, at most.
    weights : float or ndarray, shape (p,), default 1
        Nonnegative.

    Returns
    -------
    eigenvalue : float
        0 where the gradient does not change.
    vector : ndarray, shape (p,)
        Of unit length, to begin with the next time.
    gradients : int
        How many gradients this took.
    """
    roots = np.sqrt(weights)
    here = gradient(x)
    length = _DIFFERENCE * (float(np.linalg.norm(x)) or 1.0)
    basis = [vector / np.linalg.norm(vector)]
    products: list[Values] = []
    for _ in range(most):
        along = roots * basis[-1]
        size = float(np.linalg.norm(along))
        if size == 0.0:
            break
        product = roots * (gradient(x + length / size * along) - here) * (size / length)
        if not np.isfinite(product).all():
            break
        products.append(product)
        remainder = product
        for _ in range(2):  # a second time: little may be left of it
            remainder = remainder - sum((each @ remainder) * each for each in basis)
        remaining = float(np.linalg.norm(remainder))
        if remaining <= _ACCURACY * float(np.linalg.norm(product)):
            break
        basis.append(remainder / remaining)
    taken = 1 + len(products)
    if not products:
        return 0.0, basis[0], taken
    Q = np.array(basis[: len(products)])
    T = Q @ np.array(products).T
    values, vectors = np.linalg.eigh(0.5 * (T + T.T))
    largest = int(np.argmax(np.abs(values)))
    return float(abs(values[largest])), vectors[:, largest] @ Q, taken


class Smoothness(Resumable):
    """Steps of 1.5/L, L the largest curvature, estimated again as a run goes on.

    Where everyone takes part, L is estimated every ten rounds, and whenever a factor has grown or
    shrunk by a tenth. Where participants are drawn, L is that of their functions, estimated in
    every round, and the largest of the last ten rounds counts.

    Parameters
    ----------
    size : int
        Coordinates.
    drawn : bool
        Whether participants are drawn.
    first : int, default 12
        Products of the first estimate, at most.
    order : ndarray of int, shape (size,), optional
        Entries of the first vector that are coordinates': those of one number have the same entry,
        so that the estimate does not depend on the order of clients with copies of the factors.
    """

    kept = ("_vector", "_estimates", "_norms", "_age", "gradients")

    def __init__(
        self,
        size: int,
        *,
        drawn: bool,
        first: int = FIRST,
        order: NDArray[np.int64] | None = None,
    ):
        self._drawn, self._first = drawn, first
        # Any vector that is not orthogonal to the eigenvector; the run's streams are for the run.
        vector = np.random.default_rng(size).standard_normal(size)
        self._vector = vector if order is None else vector[order]
        self._estimates: tuple[float, ...] = ()
        self._norms: tuple[float, ...] = ()
        self._age = 0
        self.gradients = 0  # asked for in all

    def step(
        self,
        gradient: Callable[..., Iterable[Values]],
        factors: Sequence[Values],
        weights: Sequence[Values | float] | None = None,
    ) -> float:
        """Return the step at factors.

        Parameters
        ----------
        gradient : callable
            ``gradient(*factors)``: in each, of the function of this round's participants.
        factors : sequence of ndarray
        weights : sequence of float or ndarray, optional
            As for :func:`largest_eigenvalue`, of each factor's entries.
        """
        norms = tuple(float(np.linalg.norm(each)) for each in factors)
        if self._is_due(norms):
            later = _DRAWN if self._drawn else _LATER
            most = later if self._estimates else self._first
            along: Values | float = 1.0
            if weights is not None:
                shapes = [each.shape for each in factors]
                along = joined(map(np.broadcast_to, weights, shapes))

            @np.errstate(over="ignore", invalid="ignore")
            def at(x):
                return joined(gradient(*parted(x, factors)))

            estimate, vector, taken = largest_eigenvalue(
                at, joined(factors), self._vector, most, along
            )
            # What was not asked now may count the next time.
            self._vector = vector if not self._drawn else vector + 0.1 * _unit(self._vector)
            self._estimates = (*self._estimates, estimate)[-(WINDOW if self._drawn else 1) :]
            self._norms, self._age = norms, 0
            self.gradients += taken
        self._age += 1
        largest = max(self._estimates)
        return SHARE / largest if largest > 0.0 else SHARE

    def _is_due(self, norms):
        if self._drawn or not self._estimates or self._age >= EVERY:
            return True
        pairs = zip(norms, self._norms, strict=True)
        return any(not before <= now * GROWTH <= before * GROWTH**2 for now, before in pairs)


def _unit(vector):
    return vector / np.linalg.norm(vector)
