"""Section 4.1: heads by gradient steps."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd

from linrep.claims import Cases, Condition, Fact, Missing, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.claims.tables import curve
from linrep.papers.fedrep.counterexamples import heads_gd as heads_gd_counterexample
from linrep.papers.fedrep.model import DESIGNS, instance

EPSILONS = (1e-2, 1e-4, 1e-6, 1e-8)
LONGEST = "step 1/lambda_max, distance"
ANY = "any steps and momentum, loss"
METHODS = (LONGEST, ANY)


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
    """Count updates on batches of m = k/2 to 20 k samples, with whatever steps and momentum.

    The number allowed is factor cond(G^i)^power log(1/epsilon).
    """
    counts = count_updates(budget, rng)
    share = counts[ANY] / np.ceil(factor * counts["condition"] ** power * counts["log"])
    worst = counts.assign(share=share).loc[share.groupby([counts["k"], counts["m"]]).idxmax()]
    names = {"log": "log(1/epsilon)", "eigenvalues": "eigenvalues of G", "error": "first error"}
    rows = worst[["m", "k", "epsilon", *names]].rename(columns=names).to_dict("records")
    cases = [(share, 1.0, at) for share, at in zip(worst["share"], rows, strict=True)]
    yield Cases(cases, name="batches", quantity="updates needed over those allowed")
    # One update leaves so much of the loss at best, in fractions; two can leave nothing.
    left, epsilon = heads_gd_counterexample.sides()
    allowed = math.ceil(factor * 100.0**power * math.log(1 / epsilon))
    at = {"eigenvalues of G": [1.0, 0.01], "first error": [1.0, 100.0], "updates": allowed}
    case = at_most(left if allowed == 1 else Fraction(0), epsilon)
    found = [("two directions, in fractions", case, at)]
    yield from measured(found, quantity="share of the loss that is left").values()
    yield from picture(counts)


def picture(counts):
    """Yield updates of batches with k = 32, regressed on log(1/epsilon), and their medians."""
    logs = counts["log"] - np.log(1.0 / np.array(EPSILONS)).mean()
    square = np.sum((np.log(EPSILONS) - np.mean(np.log(EPSILONS))) ** 2)
    slopes = counts[list(METHODS)].mul(logs, axis=0).groupby(counts["batch"]).sum() / square
    table = counts.groupby("batch")[["k", "ratio", "condition"]].first().join(slopes)
    table = table.query("k == 32 and ratio >= 1")
    for ratio, median in table.groupby("ratio")[LONGEST].median().items():
        yield Fact(f"updates per log(1/epsilon), k = 32, m = {ratio:g} k", float(median))
    points = table.melt("condition", METHODS, "series", "y").query("y > 1e-6")
    points = points.sort_values("condition").rename(columns={"condition": "x"})
    yield curve(
        **points, predicted=points["x"], panel="k = 32", xlabel="condition number of $G^i$",
        ylabel=r"updates per $\log(1/\epsilon)$",
    )  # fmt: skip


def count_updates(budget, rng):
    """Return a row per batch and epsilon: updates needed under each reading."""

    def rounded(values):  # so that what is counted can be repeated from what is printed
        return np.array([float(f"{value:.4g}") for value in values])

    rows: list = []
    for k, ratio in product((2, 8, 32), (0.5, 1.2, 2.0, 4.0, 20.0)):
        m, clients = max(1, round(ratio * k)), budget(3, 20, 200)
        design = DESIGNS[rng.integers(len(DESIGNS))]
        truth, B = instance(max(clients, k), 2 * k, k, rng, distance=0.5, design=design)
        X = truth.draw(m, rng=rng, clients=np.arange(clients)).X.reshape(clients, m, 2 * k)
        for x, theta in zip(X, truth.theta, strict=False):
            left, values, _ = np.linalg.svd(x @ B, full_matrices=False)
            kept = values > 1e-6 * values[0]
            spectrum = rounded(values[kept] ** 2 / m)
            error = rounded((left.T @ (x @ theta))[kept] / values[kept])
            batch = {
                "k": k, "m": m, "ratio": ratio, "condition": spectrum.max() / spectrum.min(),
                "eigenvalues": spectrum.tolist(), "error": error.tolist(),
                "batch": len(rows) // len(EPSILONS),
            }  # fmt: skip
            for epsilon in EPSILONS:
                log = np.log(1.0 / epsilon)
                found = {
                    LONGEST: first(spectrum, error, log),
                    ANY: krylov(spectrum, error, epsilon),
                }
                rows.append(batch | found | {"epsilon": epsilon, "log": log})
    return pd.DataFrame(rows)


def first(spectrum, error, log):
    """Return the updates of step 1/lambda_max after which the error is exp(-log) times as long."""
    with np.errstate(divide="ignore"):
        logs, sizes = 2.0 * np.log(1.0 - spectrum / spectrum.max()), np.log(error**2)
    limit = np.log(np.sum(error**2)) - 2.0 * log

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


def krylov(spectrum, error, epsilon):
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
    depths, found = np.array([1e3, 1e4, 1e5, 1e6]), []  # log(1/epsilon)
    batches = count_updates(budget, rng).groupby("batch")
    for row in batches[["m", "k", "condition", "eigenvalues", "error"]].first().to_dict("records"):
        spectrum, error = np.array(row["eigenvalues"]), np.array(row["error"])
        needed = [first(spectrum, error, at) for at in depths]
        *_, before, last = np.diff(np.log10(needed))
        found.append((float(last), float(abs(last - before)), row))
    slope, bend, where = max(found, key=lambda each: each[0] + each[1])
    allowed = power + 0.02
    if slope - bend <= allowed < slope + bend:
        yield Missing("the exponent still changes with epsilon", "smaller epsilon")
    else:
        yield Condition(
            slope + bend <= allowed, slope, power, n_trials=len(found), setting=where,
            quantity="exponent of updates in log(1/epsilon)", strength=PROVED,
        )  # fmt: skip


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
    """Search spectra for more updates than that."""

    def sides(logs, error, depth):
        if not np.any(error):
            return None
        spectrum = np.exp(np.clip(logs, -9.0, 9.0))
        epsilon = 10.0 ** -min(1.0 + abs(depth), 12.0)
        condition = spectrum.max() / spectrum.min()
        s = np.ceil(factor * condition**power * np.log(1.0 / epsilon))
        with np.errstate(divide="ignore"):
            shrunk = error * np.exp(s * np.log(1.0 - spectrum / spectrum.max()))
        return np.linalg.norm(shrunk), epsilon * np.linalg.norm(error)

    arrays = {"logs": ("k",), "error": ("k",), "depth": ()}
    # The whole error is in the direction that shrinks least.
    known = [({"k": 2}, np.array([-9.0, 9.0, 1.0, 0.0, 9.0]))]
    yield search_instances(
        sides, [{"k": k} for k in (1, 2, 3, 6)], arrays, budget, rng, known=known, name="spectra",
        strength=PROVED,
    )  # fmt: skip
