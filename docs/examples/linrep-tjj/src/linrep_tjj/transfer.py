"""A new task: least squares on a representation that is known, learned, or not used."""

import math
from fractions import Fraction

import numpy as np

import linrep as lr
from linrep.claims import Cases, Mean, Rate, proved, statement
from linrep.claims.laws import Open, Region, at_most, lines
from linrep_tjj.theorem3 import tasks


def errors(B, theta, n, noise, runs, rng):
    """Return squared errors of a task's model that is fitted in the span of B, in so many runs."""
    X = rng.standard_normal((runs, n, len(theta)))
    y = X @ theta + noise * rng.standard_normal((runs, n))
    features = X @ B
    heads = np.linalg.solve(features.mT @ features, features.mT @ y[..., None])[..., 0]
    return np.sum((heads @ B.T - theta) ** 2, axis=1)


@statement(
    "tjj.transfer",
    place="Derived here",
    latex=r"\mathbb{E}\|\hat B\hat w - Bw\|^2 = \delta^2 + "
    r"(\sigma^2 + \delta^2)\frac{k}{n - k - 1}, \qquad \delta = \|(I - \hat B\hat B^\top) Bw\|",
    plain="On a given representation the mean squared error of a new task of n samples is what the "
    "representation misses, and k/(n - k - 1) of that and the noise.",
    negative_control={"spare": 0.0},
    stronger={"spare": 0},
)
def transfer(budget, rng, *, spare=1.0):
    """Compare means with the formula, for the true representation and for tilted ones."""
    noise, d = 0.7, 6
    for k, n, sine in ((1, 10, 0.0), (3, 14, 0.0), (2, 12, 0.6), (3, 30, 0.3)):
        frame = np.linalg.qr(rng.standard_normal((d, d)))[0]
        theta = np.sqrt(1.0 - sine**2) * frame[:, 0] + sine * frame[:, k]
        found = errors(frame[:, :k], theta, n, noise, budget(5000, 100_000), rng)
        mean = sine**2 + (noise**2 + sine**2) * k / (n - k - spare)
        yield Mean(found, equals=mean, name=f"k = {k}, n = {n}, delta = {sine}")


@statement(
    "tjj.transfer.rate",
    place="Derived here",
    latex=r"\mathbb{E}\|\hat B\hat w - Bw\|^2 = a\,\frac{k}{n - k - 1} + b",
    plain="On a representation learned from other tasks by the method of moments, the error of a "
    "new task falls as k/(n - k - 1) to what the representation misses.",
    negative_control={"power": 0.5},
    stronger={"power": 1},
)
def learned(budget, rng, *, power=1.0):
    """Fit both terms; the representation is learned anew every 100 runs."""
    k, sizes = 2, np.array([12, 24, 48, 96, 192])
    truth = tasks(40, 5, k, 0.5, rng)
    theta, found = truth.B @ np.ones(k) / np.sqrt(k), [[] for _ in sizes]
    for _ in range(budget(100, 1200)):
        B = lr.method_of_moments(truth.draw(500, rng=rng), k=k).state["B"]
        for each, n in zip(found, sizes, strict=True):
            each.append(errors(B, theta, n, 0.5, 100, rng).mean())
    terms = {"(k/(n-k-1))^power": lambda n: (k / (n - k - 1.0)) ** power, "1": lambda n: 1.0}
    yield Rate(sizes, found, terms, along="n", of="squared error")


@statement(
    "tjj.transfer.helps",
    place="Derived here",
    latex=r"\delta^2 + (\sigma^2 + \delta^2)\frac{k}{n - k - 1} \le \sigma^2\frac{d}{n - d - 1}",
    plain="With a representation, however inexact, a new task has a smaller mean error than by "
    "least squares of its own.",
    expected="fails",
    negative_control={"limit": 2},
    holds_with={"limit": 1},
    stronger={"limit": 1},
)
def helps(budget, rng, *, limit=math.inf):
    """Compare both mean errors in fractions, for noise 1 and delta^2 (n-d-1) <= limit (d-k)."""
    cases = []
    for d in range(2, 8):
        for k in range(1, d):
            for n in (d + 2, d + 5, 3 * d, 10 * d):
                threshold = Fraction(d - k, n - d - 1)
                for part in (0, Fraction(1, 2), 1, Fraction(3, 2), 4):
                    if part <= limit:
                        missed = part * threshold
                        shared = missed + (1 + missed) * Fraction(k, n - k - 1)
                        alone, at = Fraction(d, n - d - 1), {"d": d, "k": k, "n": n}
                        cases.append((shared, alone, {**at, "missed": missed}))
    yield proved(Cases(cases, shown=("d", "k", "n", "missed")))


helps.corrected(
    "tjj.transfer.helps.corrected",
    latex=r"\delta^2 (n - d - 1) \le \sigma^2 (d - k) \implies "
    r"\delta^2 + (\sigma^2 + \delta^2)\frac{k}{n - k - 1} \le \sigma^2\frac{d}{n - d - 1}",
    plain="With a representation a new task has a smaller mean error than by least squares of its "
    "own if the squared part that is missed, times n - d - 1, is at most the noise times d - k.",
    constants={"limit": 1},
    negative_control={"limit": 2},
)


@lines(
    "tjj.transfer.helps.corrected",
    Region(
        k=(Open(0), None), d=lambda k: (k, None), n=lambda d: (Open(d + 1), None), noise=(0, None),
        missed=lambda noise, d, k, n, *, limit=1: (0, limit * noise * (d - k) / (n - d - 1)),
    ),
)  # fmt: skip
def threshold(missed, noise, d, k, n):
    """Both mean errors, times their denominators."""
    shared = missed * (n - k - 1) + (noise + missed) * k
    return {"the threshold is enough": at_most(shared * (n - d - 1), noise * d * (n - k - 1))}
