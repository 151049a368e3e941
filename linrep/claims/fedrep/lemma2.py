"""Lemma 2: how near clients' Gram matrices are to their means."""

from __future__ import annotations

import numpy as np

from linrep.claims import Cases, Exponent, statement
from linrep.claims.fedrep._common import ASSUMPTIONS
from linrep.claims.fedrep._concentration import (
    CLIENTS,
    RANKS,
    constants,
    delta,
    in_m,
    other_settings,
    sampled_sides,
)
from linrep.claims.tables import cells


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
    negative_control={"m_power": 1.0},
)
def lemma2(budget, rng, *, k_power=1.5, m_power=0.5):
    """Follow the constant that 1 - min sigma_min(G^i) needs; delta_k < 1 is all it may use."""
    runs = budget(120, 400, 1000)

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
    huge = [1e4, 1e7, 1e10]
    large = []
    for rn in budget((2, 50), (2, 500)):
        for k in budget((1, 4), (1, 8)):
            large += cells({"k": k, "rn": rn}, m=huge)
    repeats = budget(20, 500, 1500)

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
    yield Exponent(
        huge, gaps, equals=-m_power, rng=rng, along="m", of="1 - sigma_min",
        name="1 - sigma_min in m",
    )  # fmt: skip
    gaps = [1.0 - _smallest_eigenvalues(50, 10**10, k, runs, rng) for k in RANKS]
    yield Exponent(
        RANKS, gaps, at_most=k_power, rng=rng, along="k", of="1 - sigma_min",
        name="1 - sigma_min in k",
    )  # fmt: skip
    yield from in_m(lambda smallest: 1.0 - smallest, 0, m_power, rng, budget(60, 250, 1000))


@statement(
    "fedrep.lemma2.eq31",
    place="(31), (32), in the proof of Lemma 2",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge k(12\sqrt k\sqrt{\log rn} - 1)^2"
    r"\ge 121 k^3 \log(rn), \quad rn\,e^{-121 k^3\log(rn)} \le e^{-110 k^3\log(rn)}",
    plain="The exponents in the proof of Lemma 2; a minus sign is missing in print.",
    negative_control={"coefficient": 11.0},
)
def lemma2_eq31(budget, rng, *, coefficient=12.0, rank_power: float | None = 0.5, least=0.0):
    """Evaluate lhs and rhs of each step, k = 1...16 and rn = 2...30000.

    `rank_power` is that of k in the middle term, None without one; `least` bounds k^2 log(rn) in
    (31) from below.
    """
    steps: dict[str, list] = {"first": [], "second": [], "both": [], "(32)": []}
    for k in (1, 2, 3, 4, 8, 16):
        for rn in (2, 3, 5, 50, 500, 30_000):
            where, root = {"k": k, "rn": rn}, np.sqrt(np.log(rn))
            exact = k * (coefficient * k * root - 1.0) ** 2
            last = 121.0 * k**3 * root**2
            steps["(32)"].append((110.0 * k**3 * root**2, last - root**2, where))
            if (k * root) ** 2 < least:
                continue
            steps["both"].append((last, exact, where))
            if rank_power is not None:
                middle = k * (coefficient * k**rank_power * root - 1.0) ** 2
                steps["first"].append((middle, exact, where))
                steps["second"].append((last, middle, where))
    if rank_power is not None:
        yield Cases(steps["first"], name="first inequality")
        yield Cases(steps["second"], name="second inequality")
    yield Cases(steps["both"], name="(31) from end to end")
    yield Cases(steps["(32)"], name="(32)")


lemma2_eq31.corrected(
    "fedrep.lemma2.eq31.corrected",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge 121 k^3\log(rn) \ge 110 k^3\log(rn) +"
    r"\log(rn) \quad \text{if } k^2\log(rn) \ge 1",
    plain="Without the middle term the exponents are right, but for k = 1, rn = 2.",
    constants={"rank_power": None, "least": 1.0},
    negative_control={"coefficient": 11.0},
)
