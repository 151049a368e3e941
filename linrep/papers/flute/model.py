r"""FLUTE's model: what statements assume, spectra and points of the regions, and the map (13).

Lengths are in units of lambda*_1 where a search runs: multiplying Phi by s multiplies Theta by
sqrt(s) and divides the step size by s (:func:`scaled`), so that nothing is lost.

Searches hand out real numbers, of which :func:`read_point` makes a spectrum, a step size and a
lifted iterate. Its reader clips to intervals, so that boundaries are met often:

>>> shape = {"n": 3, "d": 2, "k": 1}
>>> point = read_point(Reader(np.zeros(9)), shape, limit=lambda s: 0.4 / s.first)
>>> round(point.step_size, 3), point.Theta.shape
(0.204, (6, 1))
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.claims import Cases, Hypothesis, Search, search
from linrep.claims.search import GUARD
from linrep.theory import flute_samples
from linrep.theory.flute import Spectrum, step_size_limits

Array = NDArray[Any]
Shape = Mapping[str, int]
Of = Callable[[Spectrum], float]

# What statements assume, as predicates on a problem and the number of participants.


def _has_gap(problem, _):
    """Tell whether a rank k below that of Phi has lambda_k > lambda_{k+1}."""
    values = problem.singular_values
    positive = values[values > 1e-12 * values[0]]
    return bool(positive[0] > (1.0 + 1e-12) * positive[-1])


def _is_normal(problem, _):
    return problem.design == "gaussian"


def _is_about_runs(problem, participants):
    return True


_SUB_GAUSSIAN = "a sub-Gaussian distribution with mean 0 and covariance I"
_NORMAL = "x is normal with mean 0 and covariance I, the noise of the labels is normal"
GAP = Hypothesis(
    "Delta > 0", "lambda_k > lambda_{k+1} > 0 for the rank k that is learned, so for some k",
    _has_gap, printed="Delta > 0 throughout the analysis", change="narrower",
)  # fmt: skip
UP_TO_THE_RANK = Hypothesis(
    "Delta > 0, k up to the rank", "lambda_k > lambda_{k+1} >= 0",
    lambda problem, _: bool(problem.singular_values[0] > 0.0), printed="Delta > 0",
)  # fmt: skip
SUB_GAUSSIAN = Hypothesis(
    "sub-Gaussian x", "x has mean 0, covariance I and E exp(v'x) <= exp(|v|^2/2)",
    lambda problem, _: problem.design in ("gaussian", "rademacher", "uniform", "sphere"),
    printed=_SUB_GAUSSIAN, change="narrower",
)  # fmt: skip
GAUSSIAN = Hypothesis("Gaussian x", _NORMAL, _is_normal, printed=_SUB_GAUSSIAN, change="narrower")
SYNTHETIC = Hypothesis("synthetic data", _NORMAL, _is_normal)
SMALL_START = Hypothesis(
    "small start",
    "alpha <= sqrt(lambda_1)/(10 max(d, M)) and delta = 1/5; a smaller delta takes a smaller alpha",
    _is_about_runs, change="corrected",
    printed="alpha <= 1/(10 d) in Theorem 5.1, sufficiently small in Proposition A.2 and A.2.4",
)  # fmt: skip
SMALL_ERROR = Hypothesis(
    "small error", "epsilon <= lambda_1/sqrt(M), so that N is at least of order k max(d, M)",
    _is_about_runs, printed="any epsilon > 0", change="corrected",
)  # fmt: skip
FULL = Hypothesis(
    "full participation", "all clients take part in every round",
    lambda problem, participants: participants == problem.n,
)  # fmt: skip
#: What statements on samples assume, those on the population map, and those on runs on samples;
#: what their checks draw where that is normal; and the data of the figures.
SAMPLED = (SUB_GAUSSIAN, FULL)
POPULATION = (GAP, FULL)
ASSUMPTIONS = (GAP, SUB_GAUSSIAN, FULL)
DRAWN = (GAP, GAUSSIAN, FULL)
FIGURES = (SYNTHETIC, FULL)

# Spectra, in several units of Phi.

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
NOISES = (0.0, 0.5, 5.0, 50.0)  # over lambda*_1


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


def flat_spectrum(d, k, noise, *, n=None, ratio=0.4):
    """Return one with lambda*_1 = lambda*_k = 1 and Delta = ratio, all others equal."""
    n = d if n is None else n
    values = np.concatenate([np.full(k, 0.5), np.full(min(n, d) - k, 0.5 * (1.0 - ratio))])
    return Spectrum(values, n, d, k, noise)


class Point(NamedTuple):
    """A spectrum, a step size and a lifted iterate."""

    spectrum: Spectrum
    step_size: float
    Theta: Array


def scaled(spectrum: Spectrum, Theta: Array, step_size: float, s: float) -> Point:
    """Return s Phi and s noise, eta/s, sqrt(s) Theta: the map (13) commutes with this."""
    return Point(scaled_spectrum(spectrum, s), step_size / s, np.sqrt(s) * Theta)


def scaled_spectrum(spectrum: Spectrum, s: float) -> Spectrum:
    """Return the spectrum of s Phi, with s times the noise."""
    return replace(spectrum, singular_values=s * spectrum.singular_values, noise=s * spectrum.noise)


def cases_in_units(noises=(0.0,)):
    """Yield (setting, spectrum) over spectra, noises relative to lambda*_1, and units."""
    for (setting, spectrum), noise, s in product(spectra(), noises, SCALES):
        given = scaled_spectrum(replace(spectrum, noise=noise * spectrum.first), s)
        yield {**setting, "noise / lambda*_1": noise, "s": float(s)}, given


def limit_of(place: str, times=1.0):
    """Return the step size that a statement allows, times a factor, as of the spectrum."""
    return lambda spectrum: float(times) * step_size_limits(spectrum)[place]


# What Lemmas A.13 and A.14 bound R by, for the samples that other statements ask for.


def fewer(samples, asked=1.0):
    """Return a share of the samples that a statement asks for, as a function of what they are."""
    return lambda *given, **options: float(asked) * samples(*given, **options)


def noise_bounds(samples, allowed, place, name, *, noises=NOISES, rounds=None):
    """Return what Lemmas A.13 and A.14 bound R by with a number of samples, over what is allowed.

    ``samples(spectrum)`` is that number with c_1 = 1, which cancels, ``allowed(spectrum, eta)`` the
    bound that it is to make. With rounds both take eta and t.
    """
    found = []
    for setting, spectrum in cases_in_units(noises):
        eta = step_size_limits(spectrum)[place]
        for t in [None] if rounds is None else rounds:
            m = max(1.0, float(samples(spectrum, *(() if t is None else (eta, t)))))
            if np.isfinite(m):
                bound = np.sqrt(2.0) * flute_samples.discrepancy_bound(spectrum, m, step_size=eta)
                share = bound / allowed(spectrum, eta, *(() if t is None else (t,)))
                where = setting if t is None else {**setting, "t": t}
                found.append((float(share), 1.0 + 1e-9, where))
    return Cases(found, name=name, quantity="bound on R over the one needed")


# From real numbers to points of the regions.


class Reader(search.Reader):
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
        return rotation(np.pi * self.number()) if d == k == 2 else orthonormal(self.numbers(d, k))


def rotation(angle):
    """Return the rotation of the plane by an angle."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def orthonormal(X: Array) -> Array:
    """Return orthonormal columns that span those of [I; 0] + X, equal to [I; 0] for X = 0."""
    Q, R = np.linalg.qr(np.eye(*X.shape) + X)
    return Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)


def read_spectrum(reader: Reader, shape: Shape, least_gap: float = 0.05) -> Spectrum:
    """Return a spectrum with lambda*_1 = 1, Delta >= least_gap and any other eigenvalues.

    Reads the shares of the eigenvalue above that the next ones have.
    """
    n, d, k = shape["n"], shape["d"], shape["k"]
    values = np.full(min(n, d), 0.5)
    for i in range(1, len(values)):
        top = values[i - 1] - (0.5 * least_gap if i == k else 0.0)
        bottom = 0.5 * least_gap if i < k else 0.0
        values[i] = bottom + reader.share() * (top - bottom)
    return Spectrum(values, n, d, k)


def with_singular_values(leading, rest, left: Array, lower_left: Array, right: Array) -> Array:
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


def thinnest(spectrum: Spectrum) -> Array:
    """Return the corner of R with least sigma_k(Theta_k) and most sigma_1(Theta_res).

    Theta_k is diagonal, and column k continued in row k + 1; the squares of the other entries are
    their eigenvalues, where the population map is at rest.
    """
    k = spectrum.k
    squares = np.append(spectrum.eigenvalues[: k - 1], 0.25 * spectrum.gap)
    Theta = np.zeros((2 * spectrum.size, k))
    Theta[np.arange(k), np.arange(k)] = np.sqrt(squares)
    Theta[k, k - 1] = np.sqrt(spectrum.last - 0.5 * spectrum.gap)
    return Theta


def anything(spectrum: Spectrum) -> float:
    """Return next to no least sigma_k^2(Theta_k)."""
    return 1e-10 * spectrum.gap


def everything(spectrum: Spectrum) -> float:
    """Return the most that sigma_1^2(Theta_res) can be beside sigma_1^2(Theta)."""
    return 2.0 * spectrum.first


def read_point(
    reader: Reader,
    shape: Shape,
    *,
    limit: Of,
    smallest: Of | None = None,
    largest: Of = everything,
    rest: Of | None = None,
) -> Point:
    """Return a point of R, boundaries included, with lambda*_1 = 1.

    The step size is from .02 times limit(spectrum) to that. The least sigma_k^2(Theta_k) is
    `smallest`, Delta/4 by default, shares of it being logarithmic if it is not that; the most
    sigma_1^2(Theta) `largest`, 2 lambda*_1; the most sigma_1^2(Theta_res) `rest`, lambda*_k -
    Delta/2. With "aligned" in its shape Theta_res is along the axes after the k-th.
    """
    n, d, k = shape["n"], shape["d"], shape["k"]
    spectrum = read_spectrum(reader, shape)
    eta = limit(spectrum) * reader.between(0.02, 1.0)
    top = np.sqrt(largest(spectrum))
    beyond = spectrum.last - 0.5 * spectrum.gap if rest is None else rest(spectrum)
    low = np.sqrt(0.25 * spectrum.gap if smallest is None else smallest(spectrum))
    # A little below the top, so that there is room for Theta_res, even if next to none.
    a = [reader.between(low, top * (1.0 - 1e-9), smallest is not None) for _ in range(k)]
    b = [reader.between(0.0, min(np.sqrt(beyond), top)) for _ in range(k)]
    rows = 2 * max(n, d) - k
    left, right = reader.frame(k, k), reader.frame(k, k)
    lower_left = np.eye(rows, k) if shape.get("aligned") else reader.frame(rows, k)
    Theta = with_singular_values(a, b, left, lower_left, right)
    return Point(spectrum, float(eta), within(Theta, k, top**2))


# The map, also in extended precision.


def step(Theta: Array, spectrum: Spectrum, step_size: float, R: Any = 0.0) -> Array:
    """Return the next iterates by (13), written out; in the precision of Theta (..., rows, k)."""
    values = spectrum.eigenvalues.astype(Theta.dtype)
    growth = values[:, None] * Theta - Theta @ (np.swapaxes(Theta, -1, -2) @ Theta)
    return Theta + Theta.dtype.type(step_size) / 2 * growth + R


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


def norm_of(A: Array) -> Any:
    """Return sigma_1(A)."""
    return singular_values(A)[0]


def thin(Theta: Array, spectrum: Spectrum) -> Any:
    """Return sigma_k(Theta_k)."""
    return singular_values(Theta[: spectrum.k])[-1]


def rest_of(Theta: Array, spectrum: Spectrum) -> Any:
    """Return sigma_1(Theta_res)."""
    return singular_values(Theta[spectrum.k :])[0]


# Searches.

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


def drawn(read, shape: Shape, rng, scale=1.0):
    """Return an instance of normal numbers."""
    counting = Reader()
    read(counting, shape)
    return read(Reader(scale * rng.standard_normal(counting.count)), shape)


def searched(sides, shapes, read, budget, rng, **options) -> Search:
    """Look for a violation of sides(instance), read(reader, shape) being an instance."""
    return search.search_instances(sides, shapes, read, budget, rng, reader=Reader, **options)


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
    lhs_rhs, budget, rng, name, step_of, times=1.0, *, shapes=None, **region
) -> Search:
    """Look for a violation of lhs <= rhs in R, or the region that :func:`read_point` is given.

    ``lhs_rhs(spectrum, step_size, Theta)`` gives both, or None. It is also called with long
    doubles, which repeat every violation: rounding is not taken for one. Step sizes go up to that
    of a statement, `step_of`, or so many times that.
    """

    def typed(point, dtype):
        return lhs_rhs(point.spectrum, point.step_size, point.Theta.astype(dtype))

    read = partial(read_point, limit=limit_of(step_of, times), **region)
    shapes = budget(SEARCH_SHAPES[1:4], SEARCH_SHAPES) if shapes is None else shapes
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
    return parts | {"eigenvalues": spectrum.eigenvalues.tolist(), "eta": parts.pop("step_size")}
