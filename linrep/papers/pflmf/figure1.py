"""Figure 1: four solutions of the planar problem, their forms, their order, and how to reach them.

The paper does not say how the points were drawn: here from a normal distribution around the mean
(shift, shift).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from linrep.algorithms import personalized
from linrep.claims import Cases, Fact, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import relative
from linrep.papers.pflmf.settings import Figure1, constrained, diameter
from linrep.problems.personal import Planar, planar

Array = NDArray[np.float64]
FIGURE = Figure1()
SHIFTS = (0.0, 1.0, 3.0)
_TOLERANCE = 1e-4
_ROUNDING = 1e-9


def on_a_line(A: Array, angle: float, through: Array) -> Array:
    """Return the points' projections on a line of some direction through a point."""
    u = np.array([np.cos(angle), np.sin(angle)])
    return through + np.outer((A - through) @ u, u)


def best_line(A: Array, through: Array) -> Array:
    """Return projections on the best line through a point, its angle found by search."""

    def value(angle):
        return np.sum((A - on_a_line(A, angle, through)) ** 2)

    angles = np.linspace(0.0, np.pi, 181)
    near = angles[np.argmin([value(angle) for angle in angles])]
    width = angles[1]
    found = minimize_scalar(
        value, bounds=(near - width, near + width), method="bounded", options={"xatol": 1e-10}
    )
    return on_a_line(A, found.x, through)


def pairwise(A: Array, delta: float) -> float:
    """Return the least mean square with all distances at most delta, by quadratic programming."""
    n, (first, second) = len(A), np.triu_indices(len(A), 1)

    def slack(x):
        theta = x.reshape(n, 2)
        return delta**2 - np.sum((theta[first] - theta[second]) ** 2, axis=1)

    def slack_slope(x):
        difference = x.reshape(n, 2)[first] - x.reshape(n, 2)[second]
        slopes = np.zeros((len(first), n, 2))
        slopes[np.arange(len(first)), first] = -2.0 * difference
        slopes[np.arange(len(first)), second] = 2.0 * difference
        return slopes.reshape(len(first), 2 * n)

    start = A.mean(axis=0) + (A - A.mean(axis=0)) * min(1.0, 0.9 * delta / diameter(A))
    found = minimize(
        lambda x: (
            np.mean(np.sum((x.reshape(n, 2) - A) ** 2, axis=1)),
            2.0 * (x.reshape(n, 2) - A).ravel() / n,
        ),
        start.ravel(),
        jac=True,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
        constraints={"type": "ineq", "fun": slack, "jac": slack_slope},
    )
    return float(found.fun)


def _pictures(budget, rng):
    """Yield planar examples: points, and what tells them apart; two points, and many, too."""
    for shift in SHIFTS:
        for n in (2, 3, 5, FIGURE.n, 40):
            for spread in (1.0, 1e-3):
                for seed in rng.integers(2**32, size=budget(2, 5, 20)):
                    picture = planar(n, shift=shift, spread=spread, rng=int(seed))
                    yield picture, {"n": n, "shift": shift, "spread": spread, "seed": int(seed)}


def _rank_one(picture: Planar, centred: bool) -> dict[str, float]:
    """Return how far closed form, search and gradient descent are apart, in value and models.

    Deviations of models are multiplied by the relative gap of the singular values, which rounding
    is divided by; those of values are relative to the mean's.
    """
    A = picture.local
    through = A.mean(axis=0) if centred else np.zeros(2)
    searched = best_line(A, through)
    values = [picture.problem.value(theta) for theta in (picture.line, searched)]
    s = np.linalg.svd(A, compute_uv=False)
    scale = picture.problem.value(picture.average)
    apart = {
        "value": abs(values[1] - values[0]) / scale,
        "models": relative(searched, picture.line) * (1.0 - s[1] / s[0]),
    }
    theta = FIGURE.line(picture, record=200, rng=0)
    apart["descent, value"] = abs(picture.problem.value(theta) - values[1]) / scale
    return apart


def _path(picture: Planar, shares) -> list[float]:
    """Return the objective along the models constrained to shares of the points' diameter."""
    return [picture.problem.value(constrained(picture, share)) for share in shares]


@statement(
    "pflmf.figure1",
    place="Figure 1",
    latex=r"\theta_i^\star = a_i, \quad \theta^\star = \tfrac1n \sum_i a_i, \quad \theta_i^\star("
    r"\delta): \|\theta_i - \theta_j\| \le \delta, \quad \theta_i^{fac} \in \mathrm{span}(u)",
    plain="The clients' own optima are the points, FedAvg's is their mean, and rank 1 puts them "
    "on a line.",
    negative_control={"centred": True},
)
def figure1(budget, rng, *, centred=False):
    """Compare the solutions with searches that know nothing of them.

    The line of rank 1 goes through the origin; `centred` has it go through the mean instead. The
    factorized problem is solved by pFL^MF from random factors.
    """
    found: dict[str, list] = {"own optima": [], "FedAvg": [], "rank 1": []}
    order, path, ends, constrained, descent = [], [], [], [0.0], []
    shares = np.array([0.0, 0.1, 0.3, 0.6, 0.9, 1.0, 1.5])
    for picture, case in _pictures(budget, rng):
        A, problem = picture.local, picture.problem
        own, one = personalized.local(problem), personalized.average(problem)
        scale = problem.value(picture.average)
        for name, trace, closed in (
            ("own optima", own, A),
            ("FedAvg", one, np.tile(A.mean(axis=0), (len(A), 1))),
        ):
            off = relative(trace.state["theta"], closed, floor=diameter(A))
            found[name].append((off, case))
        apart = _rank_one(picture, centred)
        descent.append(apart.pop("descent, value"))
        found["rank 1"] += [(off, {**case, "of": of}) for of, off in apart.items()]
        low_rank = problem.value(picture.line)
        order.append((problem.value(A) + _ROUNDING * scale, low_rank, case))
        order.append((low_rank + _ROUNDING * scale, scale, case))
        if len(A) > budget(5, 12):
            continue
        values = _path(picture, shares)
        steps = zip(values[1:], values[:-1], shares[1:], strict=True)
        path += [(b, a + _ROUNDING * scale, {**case, "delta/diameter": x}) for b, a, x in steps]
        ends += [(abs(values[0] / scale - 1.0), {**case, "delta/diameter": 0.0})]
        ends += [(v / scale, {**case, "delta/diameter": 1.0}) for v in values[-2:]]
        if len(A) <= 5:
            for share, value in zip(shares[1:5], values[1:5], strict=True):
                best = pairwise(A, share * diameter(A))
                constrained.append(abs(value - best) / scale)
    for name, cases in found.items():
        yield Identity(cases, _TOLERANCE, name=name, strength=PROVED)
    yield Cases(
        order,
        quantity="objective",
        name="own optima, rank 1, FedAvg: order of the objectives",
        strength=PROVED,
    )
    yield Cases(path, quantity="objective", name="the objective falls with delta", strength=PROVED)
    yield Identity(ends, _TOLERANCE, name="delta = 0 and the diameter", strength=PROVED)
    yield Fact("largest relative distance of pFL^MF's objective from the best line's", max(descent))
    yield Fact("largest relative distance of two solvers' objectives at delta", max(constrained))
