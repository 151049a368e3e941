"""Assumptions 2 and 3, and the heads of Appendix A.1."""

from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.linalg import eigh, eigvalsh, norm

import linrep as lr
from linrep.claims import Fact, Identity, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, law, measured
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model
from linrep.papers.fedrep.counterexamples import a1_w
from linrep.problems import SharedRepresentation
from linrep.problems.subspace import distance


@statement(
    "fedrep.assumption2_3",
    place="Assumptions 2 and 3, Appendix B.1, (69)",
    latex=r"\bar\sigma_{\min,*} = \min_{|\mathcal I| = rn}\sigma_{\min}(W_{\mathcal I}^*/\sqrt{rn})"
    r" > 0,\ \|w_i^*\|_2 = \sqrt k \ \Rightarrow\ \|W_{\mathcal I}^*/\sqrt{rn}\|_F = \sqrt k,\quad"
    r"1 \le \bar\sigma_{\max,*}^2",
    plain="With normalized heads sigma_max^2 is at least 1.",
    stronger={"lower": 1},
    negative_control={"lower": 1.1},
    hypotheses=(model.DIVERSE, model.NORMALIZED),
)
def assumption2_3(budget, rng, *, lower=1.0):
    """Search heads, and enumerate subsets."""

    def spectrum(reader, shape):
        W = model.read_heads(reader, shape)
        if W is None:
            return None
        values = eigvalsh(W.T @ W) / shape["n"]
        return {"least": values[0], "largest": values[-1], "k": shape["k"]}

    shapes = [{"n": n, "k": k} for n, k in ((1, 1), (1, 2), (2, 2), (3, 2), (5, 3))]
    for name, sides in {
        "1 <= sigma_max^2": lambda least, largest, k: (lower, largest),
        "sigma_max^2 <= k": lambda least, largest, k: (lower * largest, k),
        "sigma_min^2 <= 1": lambda least, largest, k: (lower * max(least, 0.0), 1.0),
    }.items():
        yield search_instances(
            lambda at, sides=sides: sides(**at), shapes, spectrum, budget, rng, name=name,
            strength=PROVED,
        )  # fmt: skip
    yield from model.displays(subsets(budget, rng, lower)).values()


def subsets(budget, rng, lower):
    """Yield how far all sets of rn clients are from each side."""
    for n, k in budget(((5, 1), (9, 2)), ((5, 1), (9, 2), (14, 2), (14, 3), (12, 5))):
        truth, _ = model.instance(n, max(2 * k, 2), k, rng)
        for rn in range(1, n + 1):
            W = truth.W[np.array(list(combinations(range(n), rn)))] / np.sqrt(rn)
            at = {"n": n, "k": k, "rn": rn}
            values = eigvalsh(W.transpose(0, 2, 1) @ W)
            low, high = max(values[:, 0].min(), 0.0), values[:, -1].max()
            # Heads of fewer than k clients span less than R^k.
            outside = [lower - high, lower * high - k, lower * low - 1.0, low * (rn < k), 0.0]
            yield "Frobenius norm sqrt(k)", relative(norm(W, axis=(1, 2)), np.sqrt(k)), at
            yield "subsets", max(outside), at


def extreme_subset(W, rn, sign, rng):
    """Return the extreme of the extreme eigenvalues of W_I'W_I/rn over subsets I of rn rows.

    The smallest for sign -1, the largest for sign 1, as far as a search reaches. Extremes over I
    and over unit vectors u can be taken in either order: the rn rows with extreme (w_i'u)^2, the u
    that is extreme for them, and so on from 40 starts.
    """
    found = []
    for u in rng.standard_normal((40, W.shape[1])):
        value, before = -np.inf, None
        while before is None or value > before:
            before = value
            rows = W[np.argsort(-sign * (W @ u) ** 2, kind="stable")[:rn]]
            values, vectors = eigh(rows.T @ rows / rn)
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
    hypotheses=(model.NORMALIZED,),
)
def kappa_of_r(budget, rng, *, factor=1.0):
    """Compare extremes over subsets of many heads with those of an arc, and the limit of r = 0.

    The rn heads that are nearest to a line are an arc of angle pi r and the opposite one.
    """
    n, found = budget(4000, 40_000), []
    angles = np.pi * (np.arange(n) + 0.5) / n  # heads and their negatives count the same
    W = np.sqrt(2.0) * np.column_stack([np.cos(angles), np.sin(angles)])
    for r in (0.02, 0.1, 0.3, 0.5, 0.9, 1.0):
        low, high = (extreme_subset(W, round(r * n), sign, rng) for sign in (-1.0, 1.0))
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

    def drawn():
        for n, k in ((1, 1), (3, 3), (6, 6), (2, 1), (5, 4), (10, 2), (100, 2), (1000, 5)):
            for _ in range(budget(3, 20, 200)):
                truth = SharedRepresentation.random(n=n, d=k, k=k, heads="scaled_qr", rng=rng)
                W = truth.W / np.sqrt(k) * np.sqrt({"k": k, "n": n}[scale]) ** power
                norms = np.sum(W**2, axis=1)
                mean = float(norms.mean())
                at = {"n": n, "k": k, "mean squared row norm": mean, "Assumption 3": k}
                error = relative(norms if rows == "each" else mean, k)
                yield "n = k" if n == k else "n > k", error, at

    def exact():
        for n, k in ((2, 1), (10, 2), (100, 2)):
            mean = a1_w.mean(n, k, {"k": k, "n": n}[scale] ** int(power))
            name = "n > k: mean squared row norm is k at least"
            yield name, at_most(Fraction(k), mean), {"n": n, "k": k}

    yield from model.displays(drawn(), 1e-10, but=["n > k"]).values()
    yield from measured(exact(), quantity="k").values()
    for heads in ("sphere", "scaled_qr", "unit_rows", "qr"):
        truth = SharedRepresentation.random(n=100, d=2, k=2, heads=heads, rng=rng)
        step_size = 0.25 / truth.sigma_max() ** 2
        yield Fact(f"1/(4 sigma_max^2) at n = 100, k = 2, heads {heads!r}", step_size)


@law(
    "fedrep.A1_W.corrected",
    "Appendix A.1, Section 5.1, Assumption 3",
    r"W^* = \sqrt n\,\mathrm{QR}(N(0, 1)^{n \times k}) \Rightarrow W^{*\top}W^* = nI,\ "
    r"\tfrac1n\textstyle\sum_i\|w_i^*\|_2^2 = k; \qquad"
    r"(W^*, \eta) \to (cW^*, \eta/c^2)\text{ leaves }\hat B^t",
    over=model.Drawn(1e-10),
    wrong={"power": 1.0},
    stronger={"power": 0},
    corrects="fedrep.A1_W",
)
def heads_of_appendix_corrected(budget, rng, *, power=2.0):
    """Multiplied by sqrt(n), A.1's heads have squared norm k on average; without noise that factor
    only rescales the step size.
    """
    for n, k in ((3, 3), (6, 1), (10, 2), (100, 2), (300, 5)):
        for _ in range(budget(2, 10, 100)):
            truth = SharedRepresentation.random(n=n, d=3 * k, k=k, heads="scaled_qr", rng=rng)
            W = truth.W * np.sqrt(n / k)
            error = relative(W.T @ W / n, np.eye(k))
            yield "W*'W* = n I, mean squared row norm k", error, {"n": n, "k": k}
            c, m = np.sqrt(n / k) ** rng.choice([-1.0, 1.0, 2.0]), k + int(rng.integers(3, 9))
            eta, seed = 0.25 / truth.sigma_max() ** 2, int(rng.integers(2**31))
            at = {"n": n, "k": k, "m": m, "c": float(c), "eta": eta}
            spans = [
                lr.fedrep(each, m=m, rounds=10, start=0.5, step_size=step, rng=seed).state["B"]
                for each, step in ((truth, eta), (truth.with_heads(c * truth.W), eta / c**power))
            ]
            if c != 1.0:
                yield "step size eta/c^2 for heads c W*", distance(*spans), at
