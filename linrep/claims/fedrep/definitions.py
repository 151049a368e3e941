"""Definitions 1 to 3 and Assumption 1."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.linalg import null_space, subspace_angles
from scipy.special import hyp0f1
from scipy.stats import t as student

from linrep.claims import (
    Cases,
    Condition,
    Fact,
    Identity,
    Mean,
    Readings,
    search,
    statement,
)
from linrep.claims._parts import relative
from linrep.claims.fedrep._common import DESIGNS, DIVERSE, NORMALIZED, covariates, entries, instance
from linrep.subspace import distance, frame_at_distance, orthonormalize, random_frame

ROOT3 = float(np.sqrt(3.0))


@statement(
    "fedrep.definition1",
    place="Definition 1 (10); (68)",
    kind="identity",
    latex=r"\mathrm{dist}(B_1, B_2) = \|\hat B_{1,\perp}^\top \hat B_2\|_2, \qquad"
    r"\sigma_{\min}^2(\hat B^{*\top} \hat B) \ge 1 - \mathrm{dist}^2",
    plain="dist is the sine of the largest principal angle; (68) holds with equality.",
    negative_control={"power": 2},
)
def definition1(budget, rng, *, power=1):
    """Compare the distance with angles, projectors and (10) itself, for equal and other ranks."""
    names = ("sine of the largest angle", "(10) as printed", "symmetry", "projectors",
             "invariance", "(68) is an equality", "rank-deficient, equal ranks: symmetry",
             "unequal ranks: 1 from the smaller", "unequal ranks: angle from the larger",
             "unequal ranks: projectors give the larger")  # fmt: skip
    parts: dict[str, list] = {name: [] for name in names}
    smallest_gap = 1.0
    for trial in range(budget(60, 200, 2000)):
        d = int(rng.integers(1, 41))
        k = int(rng.integers(1, d + 1))
        where = {"d": d, "k": k}
        one, other = random_frame(d, k, rng), random_frame(d, k, rng)
        if trial % 2 and d >= 2 * k:
            where["sine"] = 10.0 ** rng.uniform(-12.0, 0.0)
            other = frame_at_distance(one, where["sine"], rng=rng)
        found = distance(one, other) ** power
        sine = float(np.sin(subspace_angles(one, other)).max())
        parts[names[0]].append((relative(found, sine, 1.0), where))
        parts[names[1]].append((relative(found, _printed(one, other), 1.0), where))
        parts[names[2]].append((relative(found, distance(other, one) ** power, 1.0), where))
        gap = np.linalg.norm(one @ one.T - other @ other.T, 2)
        parts[names[3]].append((relative(found, gap, 1.0), where))
        change = rng.standard_normal((k, k))
        turned = distance(one @ change, other) ** power
        error = relative(turned, found, 1.0) / np.linalg.cond(change)
        parts[names[4]].append((error, where))
        smallest = np.linalg.svd(other.T @ one, compute_uv=False)[-1] ** 2
        parts[names[5]].append((relative(smallest, 1.0 - found**2, 1.0), where))
        if k == 1:
            continue
        # (10) asks for spans alone: bases of k columns that span fewer dimensions.
        rank, fewer = int(rng.integers(1, k)), int(rng.integers(1, k))
        thin, also = one @ rng.standard_normal((k, rank)), other @ rng.standard_normal((k, rank))
        wide = also @ rng.standard_normal((rank, k))
        gap = _printed(thin, wide) ** power - _printed(wide, thin) ** power
        values = np.linalg.svd(wide, compute_uv=False)
        scale = max(np.linalg.cond(thin), values[0] / values[rank - 1])
        parts[names[6]].append((abs(gap) / scale, {**where, "rank": rank}))
        fewer = min(fewer, k - 1)
        small = orthonormalize(other[:, :fewer])
        where = {"d": d, "k1": k, "k2": fewer}
        up, down = _printed(small, one) ** power, _printed(one, small) ** power
        parts[names[7]].append((abs(up - 1.0), where))
        angle = float(np.sin(subspace_angles(one, small)).max())
        parts[names[8]].append((relative(down, angle, 1.0), where))
        gap = np.linalg.norm(one @ one.T - small @ small.T, 2)
        parts[names[9]].append((abs(gap - max(up, down)), where))
        smallest_gap = min(smallest_gap, down)
    for name, cases in parts.items():
        yield Identity(cases, 1e-12, name=name)
    yield Fact("smallest dist of spans of unequal dimensions, from the larger", smallest_gap)


def _printed(B1, B2):
    """Return (10) for the spans of two matrices, whatever their ranks."""
    outside = null_space(B1.T, rcond=1e-10)
    left, values, _ = np.linalg.svd(B2, full_matrices=False)
    inside = left[:, values > 1e-10 * values[0]]
    return float(np.linalg.norm(outside.T @ inside, 2)) if outside.size else 0.0


@statement(
    "fedrep.assumption1",
    place="Assumption 1, Definition 2",
    kind="specification",
    latex=r"\mathbb E x = 0,\quad \mathbb E xx^\top = I_d,\quad"
    r"\mathbb E e^{v^\top x} \le e^{\|v\|_2^2/2}; \qquad"
    r"\mathbb E e^{y^\top A^\top x} \le e^{\|y\|_2^2\|A\|_2^2/2}",
    plain="Gaussian, sign, uniform and sphere covariates are sub-Gaussian with constant 1",
    negative_control={"proxy": 0.9},
)
def assumption1(budget, rng, *, proxy=1.0):
    """Search the closed forms of four designs, sample them, and reject others."""
    shapes = [{"d": 1}, {"d": 2}, {"d": 5}]
    for design in DESIGNS:

        def moments(shape, x, design=design):
            length = np.linalg.norm(x)
            return None if length > 3.0 else (_mgf(design, x), np.exp(proxy * length**2 / 2.0))

        def fourth(shape, x, design=design):
            length = np.linalg.norm(x)
            return None if length > 3.0 else (_fourth(design, x), 3.0 * length**4)

        def image(shape, x, design=design):
            d = shape["d"]
            A, y = x[: d * d].reshape(d, d), x[d * d :]
            size = np.linalg.norm(y) * np.linalg.norm(A, 2)
            return None if size > 3.0 else (_mgf(design, A @ y), np.exp(proxy * size**2 / 2.0))

        def size(shape):
            return shape["d"]

        yield search(moments, shapes, size, budget, rng, name=f"{design}: E exp(v'x)")
        yield search(fourth, shapes, size, budget, rng, name=f"{design}: E (v'x)^4 <= 3 |v|^4")
        if budget.name != "quick" or design == "gaussian":
            yield search(
                image, shapes[:2], lambda shape: shape["d"] * (shape["d"] + 1), budget, rng,
                name=f"{design}: Definition 2, sharp",
            )  # fmt: skip
        yield _orlicz(design, proxy, rng)
        yield from _sampled(design, budget(20_000, 400_000), rng)
    yield from _controls()


def _mgf(design, v):
    """Return E exp(v'x)."""
    if design == "gaussian":
        return float(np.exp(v @ v / 2.0))
    if design == "rademacher":
        return float(np.prod(np.cosh(v)))
    if design == "uniform":
        u = ROOT3 * np.asarray(v)
        safe = np.where(np.abs(u) < 1e-4, 1.0, u)
        return float(np.prod(np.where(np.abs(u) < 1e-4, 1.0 + u**2 / 6.0, np.sinh(safe) / safe)))
    d = len(v)
    return float(hyp0f1(d / 2.0, d * (v @ v) / 4.0))


def _fourth(design, v):
    """Return E (v'x)^4."""
    square = v @ v
    if design == "sphere":
        return 3.0 * len(v) / (len(v) + 2.0) * square**2
    kurtosis = {"gaussian": 3.0, "rademacher": 1.0, "uniform": 1.8}[design]
    return 3.0 * square**2 + (kurtosis - 3.0) * np.sum(v**4)


def _orlicz(design, proxy, rng):
    """Compare the sub-Gaussian norm of v'x, |v| = 1, with sqrt(8/3): Definition 2, O(.).

    E exp(3 (v'x)^2/8) is the mean of E exp(sqrt(3/4) g v'x) over a standard normal g; equal to 2
    for Gaussian x. The sharp reading bounds it: a mean of exp(3 g^2/8).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    allowed = 2.0 * (1.0 + 1e-9)
    cases = []
    for d in (1, 2, 5, 40):
        for v in (np.eye(d)[0], np.full(d, d**-0.5), random_frame(d, 1, rng)[:, 0]):
            values = [_mgf(design, np.sqrt(0.75 * proxy) * g * v) for g in nodes]
            cases.append((float(weights @ values), allowed, {"design": design, "v": v.tolist()}))
    return Cases(cases, name=f"{design}: Definition 2, O(.)", quantity="E exp(3 (v'x)^2/8)")


def _sampled(design, size, rng):
    """Yield samples against mean 0, covariance I and the closed form of E exp(v'x), |v| = 0.7."""
    d = 4
    v = 0.7 * random_frame(d, 1, rng)[:, 0]
    products = covariates(design, size, d, rng) @ v
    for name, samples, expected, quantity in (
        ("mean", products, 0.0, "E v'x"),
        ("covariance", products**2, float(v @ v), "E (v'x)^2"),
        ("sampled E exp(v'x)", np.exp(products), _mgf(design, v), "E exp(v'x)"),
    ):
        yield Mean(
            samples, equals=expected, name=f"{design}: {name}", setting={"design": design},
            quantity=quantity,
        )  # fmt: skip


def _controls():
    """Yield, for laws of mean 0 and variance 1 that violate the assumption, that they do."""
    grid = np.concatenate([-np.geomspace(0.01, 3.0, 60), np.geomspace(0.01, 3.0, 60)])
    bound = np.exp(grid**2 / 2.0)
    nu = 5.0
    scale = np.sqrt(nu / (nu - 2.0))
    # A finite piece of an infinite integral is a lower bound.
    tail = quad(lambda x: np.cosh(x) * 2.0 * scale * student.pdf(scale * x, nu), 0.0, 40.0)[0]
    found = {
        "Student-t": (tail, np.exp(0.5), 1.0),
        "scale mixture": _largest(
            np.mean([np.exp(s * grid**2 / 2.0) for s in (0.5, 1.5)], axis=0), bound, grid
        ),
        # 2 with probability 1/5, -1/2 with 4/5
        "skewed": _largest(0.2 * np.exp(2.0 * grid) + 0.8 * np.exp(-0.5 * grid), bound, grid),
    }
    for name, (left, right, v) in found.items():
        yield Condition(
            left > right * (1.0 + 1e-9), left, right, setting={"law": name, "v": v},
            name=f"{name} covariates violate it", quantity="E exp(v'x)",
        )  # fmt: skip


def _largest(left, right, grid):
    """Return left and right side, and the place where their ratio is largest."""
    place = np.argmax(left / right)
    return float(left[place]), float(right[place]), float(grid[place])


@statement(
    "fedrep.definition3",
    place="Definition 3, Section 4.2, (34)",
    kind="specification",
    latex=r"\max_i\|m_i\|_2 \le \frac{\mu\sqrt{d_2}}{\sqrt{d_1}}\|M\|_F; \qquad"
    r"\text{Assumption 3} \Rightarrow \mu(W^*) = 1, \qquad"
    r"\|w_i^*\|_2^2 \le \frac{k}{rn}\|W^*\|_2^2",
    plain="Normalized heads make W* and W* B*' row-wise incoherent with parameter 1",
    negative_control={"parameter": 0.9},
    hypotheses=(NORMALIZED,),
)
def definition3(budget, rng, *, parameter=1.0):
    """Compute the smallest parameters with and without equal row norms; search for (34)."""
    heads, products = [], []
    text: dict[str, list] = {"read as Assumption 3": [], "Assumption 2 as printed": []}
    alone = {"heads": 0.0, "models": 0.0}
    for n, d, k in ((2, 2, 1), (8, 5, 2), (12, 4, 2), (10, 30, 3), (9, 40, 8), (13, 3, 2)):
        where = {"n": n, "d": d, "k": k}
        for _ in range(budget(3, 20, 200)):
            truth, _ = instance(n, d, k, rng)
            heads.append((relative(_parameter(truth.W), k**-0.5), where))
            products.append((relative(_parameter(truth.theta), d**-0.5), where))
            excess = max(0.0, _parameter(truth.theta) - parameter)
            text["read as Assumption 3"].append((excess, where))
            # One client's head stretched: any rn heads that spanned R^k still do.
            uneven = truth.with_heads(truth.W * np.where(np.arange(n) == 0, 1e3, 1.0)[:, None])
            if not DIVERSE(uneven, max(k, 3 * n // 4)):
                continue
            value = _parameter(uneven.theta)
            text["Assumption 2 as printed"].append((max(0.0, value - parameter), where))
            alone["heads"] = max(alone["heads"], _parameter(uneven.W) / np.sqrt(n / k))
            alone["models"] = max(alone["models"], value / np.sqrt(n / d))

    def heads_of(shape, x):
        W = x.reshape(shape["n"], shape["k"])
        norms = np.linalg.norm(W, axis=1, keepdims=True)
        return None if norms.min() < 1e-6 else W * np.sqrt(shape["k"]) / norms

    def incoherence(shape, x):
        W = heads_of(shape, x)
        if W is None:
            return None
        right = parameter * np.sqrt(shape["k"] / shape["n"]) * np.linalg.norm(W)
        return np.linalg.norm(W, axis=1).max(), right

    def spectral(shape, x):
        W = heads_of(shape, x)
        return None if W is None else (shape["k"], shape["k"] / shape["n"] * _top(W) * parameter)

    shapes = [{"n": n, "k": k} for n, k in ((1, 1), (2, 2), (3, 2), (6, 3))]
    yield search(incoherence, shapes, entries, budget, rng, name="Assumption 3: W* has parameter 1")
    yield search(spectral, shapes, entries, budget, rng, name="(34)")
    yield Identity(heads, 1e-12, name="smallest parameter of W* is 1/sqrt(k)")
    yield Identity(products, 1e-12, name="smallest parameter of W* B*' is 1/sqrt(d)")
    yield Readings(
        [Identity(cases, 1e-12, name=reading) for reading, cases in text.items()],
        name="Section 4.2: W* B*' has parameter 1",
    )
    yield Fact("largest parameter of W*, one head stretched, over sqrt(n/k)", alone["heads"])
    yield Fact("largest parameter of W* B*', one head stretched, over sqrt(n/d)", alone["models"])


def _parameter(M):
    """Return the smallest parameter for which a matrix is row-wise incoherent."""
    d1, d2 = M.shape
    return float(np.linalg.norm(M, axis=1).max() * np.sqrt(d1 / d2) / np.linalg.norm(M))


def _top(W):
    """Return the squared spectral norm."""
    return float(np.linalg.norm(W, 2) ** 2)
