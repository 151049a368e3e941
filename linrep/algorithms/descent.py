"""Steps that are found on the way: from the values of a function, or from its curvature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms.resumable import Resumable

Values = NDArray[np.float64]

MEMORY = 10  # values of which a new one must not exceed the largest
DECREASE = 1e-4  # share of the decrease that the gradient promises which has to come
LARGEST_GROWTH = 1e5  # of a spectral step from one round to the next
LENGTHENED, SHORTENED = 1.25, 0.5  # by how much other rounds' steps are
_TRIALS = 100  # points that a round tries at most
_ROUNDING = 64.0 * np.finfo(np.float64).eps  # of a value, relative to it

SHARE = 1.5  # of 1/L that a step is: the limit of stability is 2
EVERY = 10  # rounds between two estimates
GROWTH = 1.1  # of a factor's norm, up or down, from which on there is another estimate
WINDOW = 10  # rounds of drawn participants whose largest curvature counts
_DIFFERENCE = 1e-6  # relative length of the difference of two points
_ACCURACY = 1e-6  # relative length of what a product adds below which it is rounding
FIRST, ROUGH = 12, 4  # products at most of the first estimate, and of one that is to begin with
_LATER, _DRAWN = 4, 3  # and of those after it


class Descent(Resumable):
    r"""Proximal gradient descent with the spectral step of Barzilai and Borwein.

    .. math:: x_{t+1} = \mathrm{prox}_{a_t}(x_t - a_t g_t), \qquad
              a_{t+1} = \frac{s^\top y}{y^\top y}, \quad
              s = x_{t+1} - x_t, \quad y = g_{t+1} - g_t

    With a proximal map it is their other step, :math:`s^\top s / s^\top y`: what of y leads out of
    a set that is projected on does not count. Where :math:`s^\top y \le 0`, the function is not
    convex on the way, and :math:`a_{t+1}` is twice :math:`a_t`. A point whose value exceeds the
    largest of the last ten (less a ten thousandth of what the gradient promises) is not taken: the
    step is cut by quadratic interpolation, to between a tenth and a half. The first step, where
    none is given, is doubled as long as the value falls.

    What is known of it are the point `x`, with the `value`, the `gradient` and the `note` there;
    the `step` taken in the last round, 0 where no step led down, NaN before the first; and the
    `trials`, points evaluated after the start.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(*factors) -> (value, gradients, note)``: the value, of which the proximal map's
        penalty is a part, the gradients of the rest in each factor, and whatever else is to be
        known.
    *factors : ndarray
        Start; their entries one after another are a point x (p,).
    proximal : callable, optional
        ``proximal(factor, step) -> factor``: the proximal map of the penalty, or the projection,
        where there is one factor; by default there is neither.
    first : float, optional
        Step of the first round, if it is good enough; by default it is searched for, from one on
        that moves `x` by its length.

    Notes
    -----
    Barzilai and Borwein, *Two-point step size gradient methods*, IMA J. Numer. Anal. 8, 1988;
    safeguarded as in Raydan, *The Barzilai and Borwein gradient method for the large scale
    unconstrained minimization problem*, SIAM J. Optim. 7, 1997, and with a proximal map as in
    Wright, Nowak and Figueiredo, *Sparse reconstruction by separable approximation*, IEEE Trans.
    Signal Process. 57, 2009.
    """

    kept = ("x", "value", "gradient", "note", "step", "trials", "_next", "_values")

    def __init__(
        self,
        evaluate: Callable[..., tuple[float, Sequence[Values], Any]],
        *factors: Values,
        proximal: Callable[[Values, float], Values] | None = None,
        first: float | None = None,
    ):
        self._at, self._proximal, self._like = evaluate, proximal, factors
        self.x = joined(factors)
        self.value, self.gradient, self.note = self._evaluate(self.x)
        self.step, self.trials = np.nan, 0
        self._next = first
        self._values: tuple[float, ...] = (self.value,)

    @property
    def factors(self) -> list[Values]:
        """Where it is."""
        return parted(self.x, self._like)

    @property
    def gradients(self) -> list[Values]:
        """In each factor, there."""
        return parted(self.gradient, self._like)

    @property
    def asked(self) -> int:
        """How many points were evaluated for the rounds so far, the start among them."""
        return self.trials + 1 if self.trials else 0

    def move(self) -> None:
        """Take a step."""
        taken = self._first() if self._next is None else self._search(self._next)
        if taken is None:  # rounding is all that is left
            self.step = 0.0
            return
        step, x, value, gradient, note = taken
        s, y = x - self.x, gradient - self.gradient
        with np.errstate(over="ignore", invalid="ignore"):
            along, square = float(s @ y), float(y @ y)
        following = 2.0 * step
        if along > 0.0 and square > 0.0:
            following = along / square if self._proximal is None else float(s @ s) / along
        self._next = min(following, LARGEST_GROWTH * step)
        self.x, self.value, self.gradient, self.note = x, value, gradient, note
        self.step = step
        self._values = (*self._values, value)[-MEMORY:]

    @np.errstate(over="ignore", invalid="ignore")  # such a point is not taken
    def _evaluate(self, x):
        value, gradients, note = self._at(*parted(x, self._like))
        return value, joined(gradients), note

    def _try(self, step):
        """Return the point of a step, and what it evaluates to."""
        self.trials += 1
        x = self.x - step * self.gradient
        if self._proximal is not None:
            x = np.ravel(self._proximal(parted(x, self._like)[0], step))
        return x, *self._evaluate(x)

    def _search(self, step):
        """Return the first step that is good enough, with its point; None if there is none."""
        highest = max(self._values)
        slack = _ROUNDING * abs(highest)
        with np.errstate(all="ignore"):  # what overflows is not taken
            for _ in range(_TRIALS):
                x, value, gradient, note = self._try(step)
                square = float(np.sum((x - self.x) ** 2))
                if square == 0.0:
                    return None
                if value <= highest - DECREASE * square / step + slack:
                    return step, x, value, gradient, note
                # Of the parabola with the value and slope of here, and this value.
                lack = value - self.value + square / step
                lowest = 0.5 * square / (step * lack) if np.isfinite(lack) and lack > 0 else 0.1
                step *= min(max(lowest, 0.1), 0.5)
        return None

    def _first(self):
        """Return the step that begins: doubled until the value falls no more."""
        with np.errstate(over="ignore"):
            size = float(np.linalg.norm(self.gradient))
        step = (float(np.linalg.norm(self.x)) or 1.0) / size if size > 0.0 else 1.0
        longest = self._search(step)
        if longest is None or longest[0] < step:
            return longest
        with np.errstate(all="ignore"):
            for _ in range(_TRIALS):
                step *= 2.0
                x, value, gradient, note = self._try(step)
                if not value < longest[2]:
                    break
                longest = step, x, value, gradient, note
        return longest


def joined(factors: Iterable[Values]) -> Values:
    """Return the entries of factors one after another."""
    return np.concatenate([np.ravel(each) for each in factors])


def parted(x: Values, like: Sequence[Values]) -> list[Values]:
    """Return factors of the shapes of others, with these entries one after another."""
    ends = np.cumsum([each.size for each in like])[:-1]
    return [part.reshape(each.shape) for part, each in zip(np.split(x, ends), like, strict=True)]


class Backtracking(Resumable):
    """Rounds of any kind, with a step that is lengthened while the value falls.

    A round after which the value has risen is taken back, and played with half the step; the next
    round after one that was good at once tries a step longer by a quarter. What is known of them is
    as of :class:`Descent`.

    Parameters
    ----------
    play : callable
        ``play(step) -> value``: plays a round with this step and returns the value after it, not
        finite where the round failed.
    save, restore : callable
        ``restore(save())`` takes a round back.
    value : float
        At the start.
    first : float
        Step to try first.
    """

    kept = ("value", "step", "trials", "_next")

    def __init__(
        self,
        play: Callable[[float], float],
        save: Callable[[], Any],
        restore: Callable[[Any], None],
        *,
        value: float,
        first: float,
    ):
        self._play, self._save, self._restore = play, save, restore
        self.value, self._next = value, first
        self.step, self.trials = np.nan, 0

    def move(self) -> None:
        """Play a round."""
        before, step = self._save(), self._next
        slack = _ROUNDING * abs(self.value)
        for trial in range(_TRIALS):
            value = self._play(step)
            self.trials += 1
            if value <= self.value + slack:
                self.value, self.step = value, step
                self._next = step if trial else LENGTHENED * step
                return
            self._restore(before)
            step *= SHORTENED
        self.step = 0.0


def largest_eigenvalue(
    gradient: Callable[[Values], Values],
    x: Values,
    vector: Values,
    most: int,
    weights: Values | float = 1.0,
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

    The first estimate takes at most `first` products. Of the first vector, entries that are of one
    number in `order` are the same, so that the estimate does not depend on the order of clients
    with copies of the factors.
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
        """Return the step at factors, for the function of this round's participants.

        ``gradient(*factors)`` is in each factor; weights are those of its entries, as for
        :func:`largest_eigenvalue`.
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
