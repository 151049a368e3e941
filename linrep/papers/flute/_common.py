r"""What the checks of FLUTE's claims share: spectra, points of the regions, a step written out.

Lengths are in units of lambda*_1 where a search runs: multiplying Phi by s multiplies Theta by
sqrt(s) and divides the step size by s (:class:`Scaled`), so that nothing is lost.

Searches hand out real numbers, of which :func:`read_point` makes a spectrum, a step size and a
lifted iterate. Its reader clips to intervals, so that boundaries are met often:

>>> shape = {"n": 3, "d": 2, "k": 1}
>>> point = read_point(Reader(np.zeros(9)), shape, limit=lambda s: 0.4 / s.first)
>>> round(point.step_size, 3), point.Theta.shape
(0.204, (6, 1))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep.claims import Budget, Search, instances
from linrep.claims.violations import GUARD
from linrep.theory.flute import Spectrum

Array = NDArray[Any]
Shape = Mapping[str, int]
Of = Callable[[Spectrum], float]

#: Singular values of Phi, by name; "decay" is lambda_i = 2d/(i + 1) for d = 4.
SINGULAR_VALUES: dict[str, tuple[float, ...]] = {
    "even": (1.0, 0.9, 0.7, 0.1),
    "gap": (1.0, 0.9, 0.3, 0.1),
    "flat": (1.0, 0.9, 0.85, 0.8),
    **{f"third {third:g}": (4.0, 3.0, third, 0.2, 0.1) for third in (0.3, 1.0, 2.0, 2.8)},
    "decay": (4.0, 8.0 / 3.0, 2.0, 1.6),
}
#: n - r and d - r, of shapes with r singular values.
SHAPES: dict[str, tuple[int, int]] = {"d < n": (2, 0), "d = n": (0, 0), "d > n": (0, 2)}
SCALES = 10.0 ** np.arange(7.0)  # s = 1 ... 1e6

LEAST_STEP = 0.02  # of the limit
LEAST_GAP = 0.05  # of lambda*_1


def spectra(
    ranks=(1, 2, 3), shapes=tuple(SHAPES), names=tuple(SINGULAR_VALUES), noise: float = 0.0
) -> Iterator[tuple[dict[str, object], Spectrum]]:
    """Yield (setting, spectrum) over spectra, shapes and ranks below the number of values."""
    for name, shape, k in product(names, shapes, ranks):
        values = SINGULAR_VALUES[name]
        if k < len(values):
            n, d = (len(values) + extra for extra in SHAPES[shape])
            setting = {"singular values": list(values), "n": n, "d": d, "k": k}
            yield setting, Spectrum(np.array(values), n, d, k, noise)


# The scale covariance.


class Scaled(NamedTuple):
    """An instance with Phi in another unit."""

    spectrum: Spectrum
    Theta: Array
    step_size: float


def scaled(spectrum: Spectrum, Theta: Array, step_size: float, s: float) -> Scaled:
    """Return s Phi and s noise, sqrt(s) Theta, eta/s: the map (13) commutes with this."""
    return Scaled(scaled_spectrum(spectrum, s), np.sqrt(s) * Theta, step_size / s)


def scaled_spectrum(spectrum: Spectrum, s: float) -> Spectrum:
    """Return the spectrum of s Phi, with s times the noise."""
    return replace(spectrum, singular_values=s * spectrum.singular_values, noise=s * spectrum.noise)


# From real numbers to points of the regions.


class Reader(instances.Reader):
    """Reads numbers with the ends of intervals met often: by clipping."""

    def share(self) -> float:
        """Return the next number, in [0, 1]: -1 and less give 0, 1 and more give 1."""
        return min(1.0, max(0.0, 0.5 * (1.0 + self.number())))

    def between(self, low: float, high: float, logarithmic: bool = False) -> float:
        """Return a number of [low, high], ends included."""
        u = self.share()
        if u in (0.0, 1.0):
            return high if u else low
        return low * (high / low) ** u if logarithmic else low + u * (high - low)

    def frame(self, d: int, k: int) -> Array:
        """Return orthonormal columns (d, k), the first axes for x = 0."""
        if d == k == 1:
            return np.ones((1, 1))
        if d == k == 2:
            angle = np.pi * self.number()
            return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return orthonormal(self.numbers(d, k))


def searched(sides, shapes, read, budget, rng, **options) -> Search:
    """Look for a violation of sides(instance), read(reader, shape) being an instance."""
    return instances.search_instances(sides, shapes, read, budget, rng, reader=Reader, **options)


def drawn(read, shape: Shape, rng, scale=1.0):
    """Return an instance of normal numbers."""
    counting = Reader()
    read(counting, shape)
    return read(Reader(scale * rng.standard_normal(counting.count)), shape)


def orthonormal(X: Array) -> Array:
    """Return orthonormal columns that span those of [I; 0] + X, equal to [I; 0] for X = 0."""
    Q, R = np.linalg.qr(np.eye(*X.shape) + X)
    return Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)


def read_spectrum(reader: Reader, shape: Shape, least_gap: float = LEAST_GAP) -> Spectrum:
    """Return a spectrum with lambda*_1 = 1, Delta >= least_gap and any other eigenvalues.

    Reads the shares of the eigenvalue above that the next ones have.
    """
    n, d, k = shape["n"], shape["d"], shape["k"]
    count = min(n, d)
    values = np.empty(count)
    values[0] = 0.5
    for i in range(1, count):
        top = values[i - 1] - (0.5 * least_gap if i == k else 0.0)
        bottom = 0.5 * least_gap if i < k else 0.0
        values[i] = bottom + reader.share() * (top - bottom)
    return Spectrum(values, n, d, k)


def with_singular_values(
    leading: ArrayLike, rest: ArrayLike, left: Array, lower_left: Array, right: Array
) -> Array:
    """Return Theta with Theta_k = left diag(leading) and Theta_res = lower_left diag(rest) right'.

    All of them up to a rotation of the columns, which nothing depends on; `leading` and `rest` are
    singular values, the matrices have orthonormal columns.
    """
    return np.vstack([left * np.asarray(leading), (lower_left * np.asarray(rest)) @ right.T])


def within(Theta: Array, k: int, largest: float) -> Array:
    """Return Theta with Theta_res shrunk, where need be, so that sigma_1^2(Theta) <= largest.

    Needs sigma_1^2(Theta_k) < largest.
    """
    leading, rest = Theta[:k], Theta[k:]
    room = np.linalg.cholesky(largest * np.eye(k) - leading.T @ leading)
    used = np.linalg.norm(np.linalg.solve(room, rest.T), 2)
    return np.vstack([leading, rest / max(1.0, used * (1.0 + 1e-15))])


def extreme_points(spectrum: Spectrum, count: int, rng) -> Array:
    """Draw points of R, singular values mostly at their limits, shape (count, rows, k)."""
    k, rows = spectrum.k, 2 * spectrum.size

    def values(low, high):
        share = np.clip(rng.uniform(-1.0, 2.0, k), 0.0, 1.0)
        return low + share * (high - low)

    points = []
    for _ in range(count):
        left, right = (orthonormal(rng.standard_normal((k, k))) for _ in range(2))
        others = orthonormal(rng.choice((0.0, 1.0)) * rng.standard_normal((rows - k, k)))
        a = values(0.5 * np.sqrt(spectrum.gap), np.sqrt(2.0 * spectrum.first) * (1.0 - 1e-9))
        b = values(0.0, np.sqrt(spectrum.last - 0.5 * spectrum.gap))
        Theta = with_singular_values(a, b, left, others, right)
        points.append(within(Theta, k, 2.0 * spectrum.first))
    return np.array(points)


class Point(NamedTuple):
    """A spectrum, a step size and a lifted iterate."""

    spectrum: Spectrum
    step_size: float
    Theta: Array


def read_point(
    reader: Reader,
    shape: Shape,
    *,
    limit: Of,
    smallest: Of | None = None,
    largest: Of | None = None,
    rest: Of | None = None,
) -> Point:
    """Return a point of R, boundaries included, with lambda*_1 = 1.

    The step size is from `LEAST_STEP` times limit(spectrum) to that. The least sigma_k^2(Theta_k)
    is `smallest`, Delta/4 by default, shares of it being logarithmic if it is not that; the most
    sigma_1^2(Theta) `largest`, 2 lambda*_1; the most sigma_1^2(Theta_res) `rest`, lambda*_k -
    Delta/2. With "aligned" in its shape Theta_res is along the axes after the k-th.
    """
    n, d, k = shape["n"], shape["d"], shape["k"]
    spectrum = read_spectrum(reader, shape)
    eta = limit(spectrum) * reader.between(LEAST_STEP, 1.0)
    top = np.sqrt(2.0 * spectrum.first if largest is None else largest(spectrum))
    beyond = spectrum.last - 0.5 * spectrum.gap if rest is None else rest(spectrum)
    beyond = min(np.sqrt(beyond), top)
    low = np.sqrt(0.25 * spectrum.gap if smallest is None else smallest(spectrum))
    # A little below the top, so that there is room for Theta_res, even if next to none.
    a = [reader.between(low, top * (1.0 - 1e-9), smallest is not None) for _ in range(k)]
    b = [reader.between(0.0, beyond) for _ in range(k)]
    rows = 2 * max(n, d) - k
    left, right = reader.frame(k, k), reader.frame(k, k)
    lower_left = np.eye(rows, k) if shape.get("aligned") else reader.frame(rows, k)
    Theta = with_singular_values(a, b, left, lower_left, right)
    return Point(spectrum, float(eta), within(Theta, k, top**2))


#: Sizes to search at, smallest first.
SEARCH_SHAPES: tuple[dict[str, int], ...] = (
    {"n": 2, "d": 2, "k": 1},
    {"n": 3, "d": 2, "k": 1},
    {"n": 3, "d": 2, "k": 2},
    {"n": 3, "d": 3, "k": 2},
    {"n": 3, "d": 4, "k": 2},
    {"n": 4, "d": 4, "k": 3},
    {"n": 5, "d": 5, "k": 4},
)


# The map.


def step(Theta: Array, spectrum: Spectrum, step_size: float, R: Any = 0.0) -> Array:
    """Return the next iterates by (13), written out; in the precision of Theta (..., rows, k)."""
    values = spectrum.eigenvalues.astype(Theta.dtype)
    growth = values[:, None] * Theta - Theta @ (np.swapaxes(Theta, -1, -2) @ Theta)
    return Theta + Theta.dtype.type(step_size) / 2 * growth + R


# Extended precision.


def singular_values(A: Array) -> Array:
    """Return the singular values, largest first; of long doubles by Jacobi rotations."""
    if A.dtype != np.longdouble:
        return np.linalg.svd(A, compute_uv=False)
    A = (A if A.shape[0] >= A.shape[1] else A.T).copy()
    tiny = np.finfo(np.longdouble).eps
    for _ in range(60):
        rotated = False
        for i in range(A.shape[1]):
            for j in range(i + 1, A.shape[1]):
                x, y, z = A[:, i] @ A[:, i], A[:, j] @ A[:, j], A[:, i] @ A[:, j]
                if abs(z) <= tiny * np.sqrt(x * y):
                    continue
                rotated = True
                half = (y - x) / (2 * z)
                t = (1 if half >= 0 else -1) / (abs(half) + np.sqrt(1 + half * half))
                c = 1 / np.sqrt(1 + t * t)
                A[:, i], A[:, j] = c * A[:, i] - c * t * A[:, j], c * t * A[:, i] + c * A[:, j]
        if not rotated:
            break
    return np.sort(np.sqrt(np.sum(A * A, axis=0)))[::-1]


def confirmed(lhs_rhs):
    """Make sides(instance) of lhs_rhs(instance, dtype): violations in long doubles, too.

    So rounding of the usual numbers is not taken for a violation.
    """

    def both(instance):
        found = lhs_rhs(instance, np.float64)
        if found is None or found[0] - found[1] <= GUARD * (abs(found[0]) + abs(found[1])):
            return found
        found = lhs_rhs(instance, np.longdouble)
        return None if found is None else (float(found[0]), float(found[1]))

    return both


def searched_region(
    lhs_rhs: Callable[[Spectrum, float, Array], tuple[Any, Any] | None],
    budget: Budget,
    rng: np.random.Generator,
    *,
    limit: Of,
    shapes: Sequence[Shape] = SEARCH_SHAPES,
    name: str = "",
    **region,
) -> Search:
    """Look for a violation of lhs <= rhs in R, or the region that :func:`read_point` is given.

    ``lhs_rhs(spectrum, step_size, Theta)`` gives both, or None. It is also called with long
    doubles, which repeat every violation: rounding is not taken for one.
    """

    def typed(point, dtype):
        return lhs_rhs(point.spectrum, point.step_size, point.Theta.astype(dtype))

    read: Callable[..., Point] = partial(read_point, limit=limit, **region)
    found = searched(confirmed(typed), shapes, read, budget, rng, name=name)
    return replace(
        found, instance=_in_terms_of_R(found.instance), worst=_in_terms_of_R(found.worst)
    )


def _in_terms_of_R(instance):
    """Return an instance with its point as the lemmas name it; none as it is."""
    if not instance:
        return instance
    parts = {name: each for name, each in instance.items() if not name.startswith("spectrum.")}
    spectrum = Spectrum(
        **{each.name: instance[f"spectrum.{each.name}"] for each in fields(Spectrum)}
    )
    named = {"eigenvalues": spectrum.eigenvalues.tolist(), "eta": parts.pop("step_size")}
    return parts | named
