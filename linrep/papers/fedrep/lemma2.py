"""Lemma 2: how near clients' Gram matrices are to their means."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.stats import chi2

from linrep.claims import Cases, Exponent, everywhere, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import UPPER
from linrep.claims.tables import cells
from linrep.papers.fedrep._common import (
    ASSUMPTIONS,
    GAUSSIAN,
    batch_of,
    by_name,
    derived,
    instance,
    moments,
    sensing,
)
from linrep.papers.fedrep._concentration import (
    CLIENTS,
    RANKS,
    SHARP,
    constants,
    delta,
    in_m,
    other_settings,
    sampled_sides,
)


def _smallest_eigenvalues(rn, m, k, replicates, rng):
    """Draw the least eigenvalue of all G^i, Gaussian x, by Bartlett's triangular factor."""
    T = np.sqrt(rng.chisquare(m - np.arange(k), (replicates, rn, k)))[..., None] * np.eye(k)
    below = np.tril_indices(k, -1)
    T[..., below[0], below[1]] = rng.standard_normal((replicates, rn, len(below[0])))
    if k == 1:
        return (T[..., 0, 0] ** 2).min(axis=1) / m
    return (np.linalg.svd(T, compute_uv=False)[..., -1] ** 2).min(axis=1) / m


@statement(
    "fedrep.lemma2",
    place="Lemma 2",
    latex=r"\|G^{-1}\|_2 \le \frac{1}{1 - \delta_k}, \quad \delta_k = c\,k^{3/2}"
    r"\sqrt{\log(rn)/m}, \quad \text{w.p. } 1 - e^{-111 k^3 \log(rn)}",
    plain="No client's Gram matrix has an eigenvalue below 1 - delta_k.",
    hypotheses=ASSUMPTIONS[:1],
    stronger={"k_power": -1, "m_power": 1},
    negative_control={"m_power": 1.0},
)
def lemma2(budget, rng, *, k_power=1.5, m_power=0.5):
    """Follow the constant that 1 - min sigma_min(G^i) needs; delta_k < 1 is all it may use."""
    runs = budget(400, 800, 2000)

    def draw(rn, m, k):
        smallest = _smallest_eigenvalues(rn, int(m), k, runs, rng)
        return (1.0 - smallest) / delta(k, rn, m, k_power, m_power)

    settings = []
    for m in budget((50, 1e6), (50, 1600, 1e6)):
        for k in budget((1, 4), (1, 2, 8)):
            settings += cells({"m": m, "k": k}, rn=CLIENTS)
    for m in budget((8, 1e6), (8, 50, 1600, 1e6)):
        for rn in budget((2, 50), (2, 500)):
            settings += cells({"m": m, "rn": rn}, k=RANKS)
    for k in budget((1,), (1, 8)):  # no more samples than the heads need
        settings += cells({"m": k, "k": k}, rn=CLIENTS) + cells({"m": k + 1, "k": k}, rn=CLIENTS)
    huge = [1e4, 1e9, 1e14]
    large = []
    for rn in budget((2, 50), (2, 500)):
        for k in budget((1, 4), (1, 8)):
            large += cells({"k": k, "rn": rn}, m=huge)
    repeats = budget(150, 500, 1500)

    def sampled(rn, m, k, design):
        smallest, *_ = sampled_sides(design, rn, m, k, 0.5, "equal", rng)
        return (1.0 - smallest) / delta(k, rn, m, k_power, m_power)

    yield from constants(
        2,
        {
            "gaussian x": (settings, draw, runs, ["rn", "k"], ["m"]),
            "gaussian x, large m": (large, draw, runs, ["m"], ["rn", "k"]),
            "other x": (other_settings(), sampled, repeats, ["rn", "k"], ["m", "design"]),
        },
        rng,
    )
    gaps = [1.0 - _smallest_eigenvalues(50, int(m), 4, runs, rng) for m in huge]
    of = "1 - sigma_min"
    yield Exponent(huge, gaps, equals=-m_power, margin=SHARP, along="m", of=of, name=f"{of} in m")
    gaps = [1.0 - _smallest_eigenvalues(50, 10**10, k, runs, rng) for k in RANKS]
    yield Exponent(RANKS, gaps, at_most=k_power, along="k", of=of, name=f"{of} in k")
    yield from in_m(lambda smallest: 1.0 - smallest, 0, m_power, rng, budget(60, 250, 1000))


@statement(
    "fedrep.lemma2.eq31",
    place="(31), (32), in the proof of Lemma 2",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge k(12\sqrt k\sqrt{\log rn} - 1)^2"
    r"\ge 121 k^3 \log(rn), \quad rn\,e^{-121 k^3\log(rn)} \le e^{-110 k^3\log(rn)}",
    plain="(31) and (32), which give the exponent in the proof of Lemma 2, are true with the "
    "minus sign that is missing in print.",
    negative_control={"coefficient": 11.0},
)
def lemma2_eq31(
    budget,
    rng,
    *,
    coefficient=12.0,
    rank_power: float | None = 0.5,
    least=0.0,
    end=121.0,
    left=110.0,
):
    """Evaluate lhs and rhs of each step, k = 1...16 and rn = 2...30000.

    `rank_power` is that of k in the middle term, None without one; `least` bounds k^2 log(rn) in
    (31) from below.
    """
    steps = by_name(_exponents(coefficient, rank_power, least, end, left))
    if rank_power is not None:
        yield Cases(steps["first"], name="first inequality", strength=PROVED)
        yield Cases(steps["second"], name="second inequality")
        yield _second_in_intervals(2, 50, coefficient, rank_power)
    # What is below holds by the derivation wherever k^2 log(rn) is at least 1.
    yield Cases(steps["both"], name="(31) from end to end", strength=PROVED if least >= 1.0 else "")
    yield Cases(steps["(32)"], name="(32)", strength=PROVED)


def _exponents(coefficient, rank_power, least, end, left):
    for k, rn in product((1, 2, 3, 4, 8, 16), (2, 3, 5, 50, 500, 30_000)):
        where, root = {"k": k, "rn": rn}, np.sqrt(np.log(rn))
        exact = k * (coefficient * k * root - 1.0) ** 2
        last = end * k**3 * root**2
        yield "(32)", left * k**3 * root**2, last - root**2, where
        if (k * root) ** 2 < least:
            continue
        yield "both", last, exact, where
        if rank_power is not None:
            middle = k * (coefficient * k**rank_power * root - 1.0) ** 2
            yield "first", middle, exact, where
            yield "second", last, middle, where


def _second_in_intervals(k, rn, coefficient, rank_power):
    """Compare lhs and rhs of (31)'s second inequality at one place, in interval arithmetic."""
    from flint import arb

    logarithm, k_power = arb(rn).log(), arb(k) ** arb(rank_power)

    def middle():
        return k * (arb(coefficient) * k_power * logarithm.sqrt() - 1) ** 2

    return everywhere(
        lambda: 121 * k**3 * logarithm,
        middle,
        {},
        name=f"second inequality, k = {k}, rn = {rn}",
        setting={"k": k, "rn": rn},
    )


lemma2_eq31.corrected(
    "fedrep.lemma2.eq31.corrected",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge 121 k^3\log(rn) \ge 110 k^3\log(rn) +"
    r"\log(rn) \quad \text{if } k^2\log(rn) \ge 1",
    plain="Without its middle term (31) is true, and so is (32), except for k = 1, rn = 2.",
    constants={"rank_power": None, "least": 1.0},
    stronger={"coefficient": -1, "end": 1, "left": 1, "least": -1},
    negative_control={"coefficient": 11.0},
)


@statement(
    "fedrep.lemma2.blocks",
    place="(23)-(28) and the first display of the proof of Lemma 2",
    latex=r"z^\top G z = \sum_i (z^i)^\top\hat B^\top\Pi^i\hat B z^i, \qquad \sigma_{\min}(G) \ge"
    r"\min_i \sigma_{\min}(\hat B^\top\Pi^i\hat B), \qquad \hat B^\top\Pi^i\hat B = \sum_j v_i^j"
    r"(v_i^j)^\top",
    plain="The joint Gram matrix of all clients is as well conditioned as the worst client's.",
    stronger={"scale": 0},
    negative_control={"scale": 1.1},
)
def lemma2_blocks(budget, rng, *, scale=1.0):
    """Compare G of (19), built of the sensing matrices, with the clients' blocks."""
    yield from derived(_blocks(budget, rng, scale))


def _blocks(budget, rng, scale):
    for n, m, d, k in ((1, 2, 3, 1), (3, 5, 6, 2), (4, 2, 7, 3), (4, 8, 4, 4)):
        for _ in range(budget(3, 20)):
            truth, B = instance(n, d, k, rng)
            X, _ = batch_of(truth, m, rng)
            A = sensing(X).reshape(n * m, n, d) @ B  # A_ij b_p, a vector over clients
            images = A.transpose(2, 1, 0).reshape(k * n, n * m)
            G, blocks = images @ images.T / m, B.T @ moments(X) @ B
            z = rng.standard_normal((k, n))
            own = np.einsum("pi,ipq,qi->", z, blocks, z)
            where, size = {"n": n, "m": m, "d": d, "k": k}, np.linalg.norm(blocks, 2, axis=(1, 2))
            form = scale * (z.ravel() @ G @ z.ravel())
            yield "quadratic form", relative(form, own), where
            pair = [np.linalg.svd(each, compute_uv=False)[..., -1].min() for each in (G, blocks)]
            error = relative(pair[0], pair[1], size.max())
            yield "least singular value, an equality", error, where
            v = X @ B / np.sqrt(m)
            yield "(28)", relative(np.einsum("ijp,ijq->ipq", v, v), blocks, size.max()), where


@statement(
    "fedrep.lemma2.probability",
    place="Lemma 2",
    latex=r"\exists c\ \forall m, k, rn \ge 2: \quad \delta_k < 1 \implies P\Big[\|G^{-1}\|_2 > "
    r"\frac{1}{1 - \delta_k}\Big] \le e^{-111 k^3\log(rn)} \qquad (x \sim N(0, I))",
    plain="For normal covariates, one absolute constant is enough for Lemma 2 with its printed "
    "probability.",
    hypotheses=[GAUSSIAN],
    stronger={"k_power": -1, "constant": -1, "exponent": 1},
    negative_control={"k_power": 1.0},
)
def lemma2_probability(budget, rng, *, k_power=1.5, constant=33.0, exponent=111.0):
    """Bound the probability at c = 33 by Davidson and Szarek, and by the law itself at k = 1.

    As a control delta_k has another power of k: then a power of k, however large, is exceeded.
    """
    cases, laws = [], []
    grid = product((1, 2, 3, 8, 50, 1000), (2, 3, 10, 1000, 10**6), (1.0, 4.0, 1e4))
    for k, rn, more in grid:
        L = np.log(rn)
        m = np.ceil(more * constant**2 * k ** (2.0 * k_power) * L) + 1.0  # delta_k is below 1
        loss = constant * k**k_power * np.sqrt(L / m)
        # A squared singular value is at least 1 - 2 a, for a = (sqrt(k) + t)/sqrt(m).
        t = max(loss * np.sqrt(m) / 2.0 - np.sqrt(k), 0.0)
        where = {"k": k, "rn": rn, "m": m, "c": constant}
        cases.append((L - t**2 / 2.0, -exponent * k**3 * L, where))
        if k == 1:  # then m G^i is chi-squared of m degrees
            exact = np.log(rn) + chi2.logcdf(m * (1.0 - loss), m)
            laws.append((float(exact), float(L - t**2 / 2.0), where))
    quantity = "log probability of a violation"
    yield Cases(
        cases, name="normal x, c = 33", quantity=quantity, strength=PROVED, measured_is=UPPER
    )
    yield Cases(
        laws,
        name="the bound at k = 1, against the law",
        quantity=quantity,
        strength=PROVED,
        measured_is=UPPER,
        predicted_is=UPPER,
    )
