"""Section 4.1: heads by gradient steps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linrep.claims import Cases, Condition, Curve, Fact, Missing, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.fedrep._common import DESIGNS, instance
from linrep.papers.fedrep.counterexamples import heads_gd as heads_gd_counterexample


@statement(
    "fedrep.heads_gd",
    place="Section 4.1, below (8)",
    latex=r"\hat f_i^t\text{ strongly convex in }w_i \Rightarrow \epsilon\text{-close after at most"
    r" }\log(1/\epsilon)\text{ gradient updates}",
    plain="A head is within epsilon of its minimizer after log(1/epsilon) gradient updates.",
    negative_control={"factor": 0.1},
    holds_with={"power": 1.0},
)
def heads_gd(budget, rng, *, factor=1.0, power=0.0):
    """Count updates on batches of m = k/2 to 20 k samples, under ever more generous readings.

    The number allowed is factor cond(G^i)^power log(1/epsilon).
    """
    counts = _count_updates(budget, rng)
    last = _METHODS[-1]  # the most generous reading: where it fails, all do
    yield _worst_batches(counts, last, power, factor, name="batches")
    yield _two_directions(power, factor)
    slopes = _slopes(counts)
    large = slopes[(slopes["ratio"] >= 1.0) & (slopes["k"] == 32)]
    for name in _METHODS:
        median = float(large.loc[large["ratio"] == 2.0, name].median())
        yield Fact(f"updates per log(1/epsilon) at m = 2 k = 64: {name}", median)
    points = pd.concat(
        pd.DataFrame(
            {
                "panel": "k = 32",
                "series": name,
                "x": large["condition"],
                "y": large[name],
                "xlabel": "condition number of $G^i$",
                "ylabel": r"updates per $\log(1/\epsilon)$",
            }
        )
        for name in _METHODS
    )
    yield Curve(points[points["y"] > 1e-6].sort_values("x"))


_EPSILONS = (1e-2, 1e-4, 1e-6, 1e-8)
_METHODS = (
    "step 1/lambda_max, distance",
    "best constant step, distance",
    "best constant step, loss",
    "any steps and momentum, loss",
)


def _worst_batches(counts, method, power, factor=1.0, name="", strength=""):
    """Return, for each k and m, the batch and epsilon with most updates over those allowed."""
    share = counts[method] / np.ceil(factor * counts["condition"] ** power * counts["log"])
    cases = []
    for place in share.groupby([counts["k"], counts["m"]]).idxmax():
        row = counts.loc[place]
        where = {
            "m": int(row["m"]),
            "k": int(row["k"]),
            "epsilon": float(row["epsilon"]),
            "log(1/epsilon)": float(row["log"]),
            "eigenvalues of G": row["eigenvalues"],
            "first error": row["error"],
        }
        cases.append((float(share[place]), 1.0, where))
    return Cases(cases, name=name, quantity="updates needed over those allowed", strength=strength)


def _two_directions(power, factor):
    """Return what one update leaves of the loss at best, in fractions; two can leave nothing."""
    left, epsilon = heads_gd_counterexample.sides()
    allowed = math.ceil(factor * 100.0**power * math.log(1 / epsilon))
    where = {"eigenvalues of G": [1.0, 0.01], "first error": [1.0, 100.0], "updates": allowed}
    case: Any = (left if allowed == 1 else Fraction(0), epsilon, where)
    return Cases(
        [case], name="two directions, in fractions", quantity="share of the loss that is left"
    )


def _slopes(counts):
    """Return a row per batch: updates regressed on log(1/epsilon), for each reading."""
    logs = counts["log"] - np.log(1.0 / np.array(_EPSILONS)).mean()
    square = np.sum((np.log(_EPSILONS) - np.mean(np.log(_EPSILONS))) ** 2)
    weighted = counts[list(_METHODS)].mul(logs, axis=0).groupby(counts["batch"]).sum() / square
    return counts.groupby("batch")[["k", "ratio", "condition"]].first().join(weighted)


def _count_updates(budget, rng):
    """Return a row per batch and epsilon: updates needed under each reading."""
    rows: list = []
    for k in (2, 8, 32):
        for ratio in (0.5, 1.2, 2.0, 4.0, 20.0):
            m = max(1, round(ratio * k))
            clients = budget(3, 20, 200)
            design = DESIGNS[rng.integers(len(DESIGNS))]
            truth, B = instance(max(clients, k), 2 * k, k, rng, distance=0.5, design=design)
            X = truth.draw(m, rng=rng, clients=np.arange(clients)).X.reshape(clients, m, 2 * k)
            for x, theta in zip(X, truth.theta, strict=False):
                left, values, _ = np.linalg.svd(x @ B, full_matrices=False)
                kept = values > 1e-6 * values[0]
                spectrum = _rounded(values[kept] ** 2 / m)
                error = _rounded((left.T @ (x @ theta))[kept] / values[kept])
                condition = spectrum.max() / spectrum.min()
                shared = {
                    "k": k,
                    "m": m,
                    "ratio": ratio,
                    "condition": condition,
                    "eigenvalues": spectrum.tolist(),
                    "error": error.tolist(),
                    "batch": len(rows) // len(_EPSILONS),
                }
                for epsilon in _EPSILONS:
                    found = dict(zip(_METHODS, _updates(spectrum, error, epsilon), strict=True))
                    rows.append(shared | found | {"epsilon": epsilon, "log": np.log(1.0 / epsilon)})
    return pd.DataFrame(rows)


def _rounded(values):
    """Round to four digits, so that what is counted can be repeated from what is printed."""
    return np.array([float(f"{value:.4g}") for value in values])


def _updates(spectrum, error, epsilon):
    """Return the updates that each of `_METHODS` needs from an error in G's eigenvectors."""
    longest = 1.0 / spectrum.max()
    best = 2.0 / (spectrum.max() + spectrum.min())
    weights = error**2
    log = np.log(epsilon)
    yield _first(spectrum, weights, longest, 2.0 * log)
    yield _first(spectrum, weights, best, 2.0 * log)
    yield _first(spectrum, weights * spectrum, best, log)
    yield _krylov(spectrum, error, epsilon)


def _first(spectrum, weights, step, log_share):
    """Return the first s at which sum of weights (1 - step lambda)^(2s) is a share of that at 0."""
    with np.errstate(divide="ignore"):
        logs, sizes = 2.0 * np.log(np.abs(1.0 - step * spectrum)), np.log(weights)
    limit = log_share + np.log(weights.sum())

    def reached(s):
        return np.logaddexp.reduce(sizes + s * logs) <= limit

    high = 1
    while not reached(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _krylov(spectrum, error, epsilon):
    """Return the updates after which some gradient method has lowered the loss so far, no fewer.

    w_s - w_0 is in the span of the gradients so far, whatever the steps and the momentum; the loss
    is |Lambda^(1/2) error|^2/2, and this its smallest value over that span.
    """
    rest = np.sqrt(spectrum) * error
    target = epsilon * (rest @ rest)
    basis: list[np.ndarray] = []
    new = rest
    for s in range(1, len(spectrum)):
        new = spectrum * new
        for _ in range(2):
            for old in basis:
                new = new - old * (old @ new)
        new = new / np.linalg.norm(new)
        basis.append(new)
        rest = rest - new * (new @ rest)
        if rest @ rest <= target:
            return s
    return len(spectrum)


@statement(
    "fedrep.heads_gd.order",
    own=True,
    place="Section 4.1, below (8)",
    latex=r"\epsilon\text{-close after }O(\log(1/\epsilon))\text{ gradient updates},\quad"
    r"\text{step }1/\lambda_{\max}(G^i),\ \epsilon \to 0",
    plain="On each batch a head is within epsilon of its minimizer after O(log(1/epsilon)) "
    "gradient updates, with a factor that depends on the batch.",
    stronger={"power": -1},
    negative_control={"power": 0.5},
)
def heads_gd_order(budget, rng, *, power=1.0):
    """Follow the updates on batches of m = k/2 to 20 k samples down to epsilon = exp(-1e6)."""
    depths = np.array([1e3, 1e4, 1e5, 1e6])  # log(1/epsilon)
    counts = _count_updates(budget, rng)
    batches = counts.groupby("batch")[["m", "k", "condition", "eigenvalues", "error"]].first()
    slopes, factors = [], []
    for row in batches.to_dict("records"):
        spectrum, error = np.array(row["eigenvalues"]), np.array(row["error"])
        updates = [_first(spectrum, error**2, 1.0 / spectrum.max(), -2.0 * at) for at in depths]
        factors.append(updates[-1] / depths[-1])
        *_, before, last = np.diff(np.log10(updates))
        slopes.append((float(last), float(abs(last - before)), row))
    slope, bend, where = max(slopes, key=lambda found: found[0] + found[1])
    margin = 0.02
    if slope - bend <= power + margin < slope + bend:
        yield Missing("the exponent still changes with epsilon", "smaller epsilon")
    else:
        yield Condition(
            slope + bend <= power + margin,
            slope,
            power,
            n_trials=len(slopes),
            setting=where,
            quantity="exponent of updates in log(1/epsilon)",
            strength=PROVED,
        )
    yield Fact("smallest updates over log(1/epsilon) of a batch", float(min(factors)))
    yield Fact("largest updates over log(1/epsilon) of a batch", float(max(factors)))


class _Descent(NamedTuple):
    """Eigenvalues of G^i, the first error along its eigenvectors, and epsilon."""

    spectrum: Array
    error: Array
    epsilon: float


def _descent(reader, shape):
    spectrum = np.exp(np.clip(reader.numbers(shape["k"]), -9.0, 9.0))
    error = reader.numbers(shape["k"])
    return _Descent(spectrum, error, 10.0 ** -min(1.0 + abs(reader.number()), 12.0))


@statement(
    "fedrep.heads_gd.corrected",
    place="Section 4.1, below (8)",
    latex=r"\|w^s - \hat w\|_2 \le \epsilon\|w^0 - \hat w\|_2\text{ for }s \ge"
    r"\kappa(G^i)\log(1/\epsilon),\quad\text{step }1/\lambda_{\max}(G^i)",
    plain="A head is within epsilon of its minimizer after cond(G^i) log(1/epsilon) gradient "
    "updates, whether or not its loss is strongly convex.",
    stronger={"power": -1, "factor": -1},
    negative_control={"power": 0.5},
    corrects="fedrep.heads_gd",
)
def heads_gd_corrected(budget, rng, *, power=1.0, factor=1.0):
    """Search spectra for more updates than that, and count them on batches."""

    def sides(at):
        if not np.any(at.error):
            return None
        condition = at.spectrum.max() / at.spectrum.min()
        s = np.ceil(factor * condition**power * np.log(1.0 / at.epsilon))
        with np.errstate(divide="ignore"):
            shrunk = at.error * np.exp(s * np.log(1.0 - at.spectrum / at.spectrum.max()))
        return np.linalg.norm(shrunk), at.epsilon * np.linalg.norm(at.error)

    shapes = [{"k": k} for k in (1, 2, 3, 6)]
    # The whole error is in the direction that shrinks least.
    known = [({"k": 2}, np.array([-9.0, 9.0, 1.0, 0.0, 9.0]))]
    yield search_instances(
        sides, shapes, _descent, budget, rng, known=known, name="spectra", strength=PROVED
    )
    counts = _count_updates(budget, rng)
    yield _worst_batches(counts, _METHODS[0], power, factor, name="batches", strength=PROVED)
    table = _slopes(counts)
    yield Curve(
        pd.DataFrame(
            {
                "panel": "",
                "series": [f"m = {ratio:g} k" for ratio in table["ratio"]],
                "x": table["condition"],
                "y": table[_METHODS[0]],
                "predicted": table["condition"],
                "xlabel": "condition number of $G^i$",
                "ylabel": r"updates per $\log(1/\epsilon)$",
            }
        )
        .query("y > 1e-6")
        .sort_values("x")
    )
    yield Fact("largest condition number of a batch", float(counts["condition"].max()))
