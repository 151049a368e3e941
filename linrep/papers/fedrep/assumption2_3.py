"""Assumptions 2 and 3, and the heads of Appendix A.1."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Curve, Fact, Identity, proved, search_instances, statement
from linrep.claims.deviations import identities, relative
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep._common import DIVERSE, NORMALIZED, instance, read_heads
from linrep.papers.fedrep.counterexamples import a1_w
from linrep.problems import SharedRepresentation
from linrep.problems.subspace import distance


class _Spectrum(NamedTuple):
    """Extreme eigenvalues of W*'W*/n, and k."""

    least: float
    largest: float
    k: int


def _spectrum(reader, shape):
    W = read_heads(reader, shape)
    if W is None:
        return None
    values = np.linalg.eigvalsh(W.T @ W) / shape["n"]
    return _Spectrum(values[0], values[-1], shape["k"])


@statement(
    "fedrep.assumption2_3",
    place="Assumptions 2 and 3, Appendix B.1, (69)",
    latex=r"\bar\sigma_{\min,*} = \min_{|\mathcal I| = rn}\sigma_{\min}(W_{\mathcal I}^*/\sqrt{rn})"
    r" > 0,\ \|w_i^*\|_2 = \sqrt k \ \Rightarrow\ \|W_{\mathcal I}^*/\sqrt{rn}\|_F = \sqrt k,\quad"
    r"1 \le \bar\sigma_{\max,*}^2",
    plain="With normalized heads sigma_max^2 is at least 1.",
    stronger={"lower": 1},
    negative_control={"lower": 1.1},
    hypotheses=(DIVERSE, NORMALIZED),
)
def assumption2_3(budget, rng, *, lower=1.0):
    """Search heads, enumerate subsets, and compute the figures' extremes over subsets."""
    shapes = [{"n": n, "k": k} for n, k in ((1, 1), (1, 2), (2, 2), (3, 2), (5, 3))]
    searches = {
        "1 <= sigma_max^2": lambda of: (lower, of.largest),
        "sigma_max^2 <= k": lambda of: (lower * of.largest, of.k),
        "sigma_min^2 <= 1": lambda of: (lower * max(of.least, 0.0), 1.0),
    }
    for name, sides in searches.items():
        yield search_instances(sides, shapes, _spectrum, budget, rng, name=name, strength=PROVED)
    norms, extremes, frames = [], [], []
    for n, k in budget(((5, 1), (9, 2)), ((5, 1), (9, 2), (14, 2), (14, 3), (12, 5))):
        truth, _ = instance(n, max(2 * k, 2), k, rng)
        series = []
        for rn in range(1, n + 1):
            chosen = np.array(list(combinations(range(n), rn)))
            W = truth.W[chosen] / np.sqrt(rn)
            where = {"n": n, "k": k, "rn": rn}
            size = np.linalg.norm(W, axis=(1, 2))
            norms.append((relative(size, np.sqrt(k)), where))
            values = np.linalg.eigvalsh(W.transpose(0, 2, 1) @ W)
            low, high = max(values[:, 0].min(), 0.0), values[:, -1].max()
            outside = max(lower - high, lower * high - k, lower * low - 1.0, 0.0)
            if rn < k:
                outside = max(outside, low)  # heads of fewer than k clients span less than R^k
            extremes.append((outside, where))
            series += [(rn, low, r"$\bar\sigma_{\min}^2$"), (rn, high, r"$\bar\sigma_{\max}^2$")]
        frame = pd.DataFrame(series, columns=["x", "y", "series"])
        if k > 1:  # for k = 1 all are 1
            frames.append(frame.assign(panel=f"n = {n}, k = {k}", xlabel="rn", ylabel="extremes"))
    points = pd.concat(frames)
    yield Identity(norms, 1e-12, name="Frobenius norm sqrt(k)", strength=PROVED)
    yield Identity(extremes, 1e-12, name="subsets", strength=PROVED)
    yield Curve(points[points["y"] > 1e-12])
    yield Curve(_extremes_of_figure_3(rng))
    for figure, n in (("Figures 1 and 4", 100), ("Figure 7", 10), ("Figure 7", 300)):
        W = instance(n, 4, 2, rng)[0].W
        least = extreme_subset(W, n, -1.0, rng)
        at = {} if n == 100 else {"n": n}
        yield Fact(f"sigma_min^2 in {figure}, heads uniform", least, setting=at)


def _extremes_of_figure_3(rng):
    """Return the extremes over subsets of a tenth of the clients, heads uniform, k = 2."""
    rows = []
    for n in (10, 20, 100, 1000):
        W = instance(n, 4, 2, rng)[0].W
        rows += [
            (n, extreme_subset(W, n // 10, -1.0, rng), r"$\bar\sigma_{\min}^2$"),
            (n, extreme_subset(W, n // 10, 1.0, rng), r"$\bar\sigma_{\max}^2$"),
        ]
    points = pd.DataFrame(rows, columns=["x", "y", "series"])
    # For n = 10 it is 0: one head does not span R^2.
    return points[points["y"] > 1e-12].assign(
        panel="Figure 3, rn = n/10", xlabel="n", ylabel="extremes"
    )


def extreme_subset(W, rn, sign, rng):
    """Return the extreme of the extreme eigenvalues of W_I'W_I/rn over subsets I of rn rows.

    The smallest for sign -1, the largest for sign 1: exact where at most 5000 subsets exist, else
    as far as a search reaches. Extremes over I and over unit vectors u can be taken in either
    order: the rn rows with extreme (w_i'u)^2, the u that is extreme for them, and so on from 40
    starts.
    """
    n, k = W.shape
    if comb(n, rn) <= 5000:
        rows = W[np.array(list(combinations(range(n), rn)))]
        values = np.linalg.eigvalsh(rows.transpose(0, 2, 1) @ rows / rn)
        return float(values.max() if sign > 0.0 else max(values.min(), 0.0))
    if sign < 0.0 and rn < k:
        return 0.0
    found = []
    for u in rng.standard_normal((40, k)):
        value, before = -np.inf, None
        while before is None or value > before:
            before = value
            rows = W[np.argsort(-sign * (W @ u) ** 2, kind="stable")[:rn]]
            values, vectors = np.linalg.eigh(rows.T @ rows / rn)
            value, u = (values[-1], vectors[:, -1]) if sign > 0.0 else (-values[0], vectors[:, 0])
        found.append(before)
    return float(max(sign * max(found), 0.0))


@statement(
    "fedrep.assumption2.kappa",
    own=True,
    place="Section 4.2, below (12): k, kappa and r as constants; below Assumption 2",
    latex=r"w_i^* \text{ uniform on a circle},\ n \to \infty: \quad \kappa^2 = \frac{1 + s}{1 - s},"
    r"\ s = \frac{\sin \pi r}{\pi r}, \qquad \kappa^4 \approx \frac{1.48}{r^4}\ (r \to 0)",
    plain="However many clients there are, kappa over all sets of rn of them grows like 1/r: for "
    "uniform heads and k = 2 kappa^2 is (1 + s)/(1 - s), s = sin(pi r)/(pi r).",
    negative_control={"factor": 1.1},
    stronger={"factor": 0},
    hypotheses=(NORMALIZED,),
)
def kappa_of_r(budget, rng, *, factor=1.0):
    """Compare extremes over subsets of many heads with those of an arc, and the limit of r = 0.

    The rn heads that are nearest to a line are an arc of angle pi r and the opposite one.
    """
    n, found = budget(4000, 40_000), []
    angles = np.pi * (np.arange(n) + 0.5) / n  # heads and their negatives count the same
    W = np.sqrt(2.0) * np.column_stack([np.cos(angles), np.sin(angles)])
    for r in (0.02, 0.1, 0.3, 0.5, 0.9, 1.0):
        rn = round(r * n)
        low, high = (extreme_subset(W, rn, sign, rng) for sign in (-1.0, 1.0))
        share = factor * np.sinc(r)
        error = max(relative(low, 1.0 - share, 1e-3), relative(high, 1.0 + share))
        found.append((error, {"r": r, "n": n}))
        yield Fact("kappa", float(np.sqrt(high / max(low, 1e-300))), setting={"r": r, "k": 2})
    yield Identity(found, 1e-3, name="extremes over sets of rn clients")
    small = 1e-3
    limit = ((1.0 + np.sinc(small)) / (1.0 - np.sinc(small))) ** 2 * small**4
    yield Fact("kappa^4 r^4 as r goes to 0", float(limit))


@statement(
    "fedrep.A1_W",
    place="Appendix A.1, Section 5.1, Assumption 3",
    latex=r"W^* = \sqrt k\,\mathrm{QR}(N(0, 1)^{n \times k}), \qquad \|w_i^*\|_2 = \sqrt k",
    plain="The heads that Appendix A.1 draws for the synthetic experiments have norm sqrt(k), as "
    "Assumption 3 says.",
    negative_control={"power": 0.0},
    holds_with={"scale": "n", "rows": "mean"},
)
def heads_of_appendix(budget, rng, *, power=1.0, scale="k", rows="each"):
    """Compare row norms of A.1's heads with Assumption 3, for n = k and n > k."""
    parts: dict[str, list] = {"n = k": [], "n > k": []}
    for n, k in ((1, 1), (3, 3), (6, 6), (2, 1), (5, 4), (10, 2), (100, 2), (1000, 5)):
        for _ in range(budget(3, 20, 200)):
            truth = SharedRepresentation.random(n=n, d=k, k=k, heads="scaled_qr", rng=rng)
            W = truth.W / np.sqrt(k) * np.sqrt({"k": k, "n": n}[scale]) ** power
            norms = np.sum(W**2, axis=1)
            found = norms if rows == "each" else norms.mean()
            where = {
                "n": n,
                "k": k,
                "mean squared row norm": float(norms.mean()),
                "Assumption 3": k,
            }
            parts["n = k" if n == k else "n > k"].append((relative(found, k), where))
    yield from (proved(item, but=["n > k"]) for item in identities(parts, 1e-10))
    exact = [
        (Fraction(k), a1_w.mean(n, k, {"k": k, "n": n}[scale] ** int(power)), {"n": n, "k": k})
        for n, k in ((2, 1), (10, 2), (100, 2))
    ]
    yield Cases(exact, name="n > k: mean squared row norm is k at least", quantity="k")
    for heads in ("sphere", "scaled_qr", "unit_rows", "qr"):
        truth = SharedRepresentation.random(n=100, d=2, k=2, heads=heads, rng=rng)
        step_size = 0.25 / truth.sigma_max() ** 2
        yield Fact(f"1/(4 sigma_max^2) at n = 100, k = 2, heads {heads!r}", step_size)


@statement(
    "fedrep.A1_W.corrected",
    place="Appendix A.1, Section 5.1, Assumption 3",
    latex=r"W^* = \sqrt n\,\mathrm{QR}(N(0, 1)^{n \times k}) \Rightarrow W^{*\top}W^* = nI,\ "
    r"\tfrac1n\textstyle\sum_i\|w_i^*\|_2^2 = k; \qquad"
    r"(W^*, \eta) \to (cW^*, \eta/c^2)\text{ leaves }\hat B^t",
    plain="Multiplied by sqrt(n), A.1's heads have squared norm k on average; without noise that "
    "factor only rescales the step size.",
    stronger={"power": 0},
    negative_control={"power": 1.0},
    corrects="fedrep.A1_W",
)
def heads_of_appendix_corrected(budget, rng, *, power=2.0):
    """Check the moments of rescaled heads, and FedRep's spans with step sizes over c^power."""
    moments, spans, longest = [], [], 0.0
    for n, k in ((3, 3), (6, 1), (10, 2), (100, 2), (300, 5)):
        for _ in range(budget(2, 10, 100)):
            truth = SharedRepresentation.random(n=n, d=3 * k, k=k, heads="scaled_qr", rng=rng)
            W = truth.W * np.sqrt(n / k)
            longest = max(longest, float(np.sum(W**2, axis=1).max() / k))
            moments.append((relative(W.T @ W / n, np.eye(k)), {"n": n, "k": k}))
            c, m = np.sqrt(n / k) ** rng.choice([-1.0, 1.0, 2.0]), k + int(rng.integers(3, 9))
            eta, seed = 0.25 / truth.sigma_max() ** 2, int(rng.integers(2**31))
            where = {"n": n, "k": k, "m": m, "c": float(c), "eta": eta}
            runs = [
                lr.fedrep(problem, m=m, rounds=10, start=0.5, step_size=step, rng=seed)
                for problem, step in ((truth, eta), (truth.with_heads(c * truth.W), eta / c**power))
            ]
            if c != 1.0:
                spans.append((distance(*(run.state["B"] for run in runs)), where))
    yield Identity(moments, 1e-10, name="W*'W* = n I, mean squared row norm k", strength=PROVED)
    yield Identity(spans, 1e-10, name="step size eta/c^2 for heads c W*", strength=PROVED)
    yield Fact("largest squared row norm of sqrt(n) Q, over k", longest)
