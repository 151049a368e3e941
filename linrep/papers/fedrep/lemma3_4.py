"""Lemmas 3 and 4: how near least-squares heads are to their means."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import norm

from linrep.claims import (
    Cases,
    Exponent,
    Missing,
    Readings,
    Together,
    everywhere,
    statement,
)
from linrep.claims.evidence import LOWER, PROVED, UPPER
from linrep.claims.tables import cells
from linrep.papers.fedrep import model
from linrep.papers.fedrep.concentration import (
    CLIENTS,
    RANKS,
    SHARP,
    constants,
    delta,
    in_m,
    sampled_sides,
)


def norms(W, distance, angles="equal"):
    """Return ||Phi w_i*||^2 of all clients."""
    return np.sum((W @ model.tilt(W.shape[1], distance, angles)[1].T) ** 2, axis=1)


def head_settings(budget, smallest):
    """Return settings for Lemmas 3 and 4: for rn, k and distances at any m; for m at its end."""
    settings, large, far = [], [], {"closeness": 2.0}
    clients, ranks = budget((50,), (2, 500)), budget((2,), (1, 2, 8))
    for m in budget((9, 1e6), (9, 50, 1600, 1e6)):
        for k in ranks:
            settings += cells({"m": m, "k": k} | far, rn=CLIENTS)
        for rn in clients:
            settings += cells({"m": m, "rn": rn} | far, k=RANKS)
    for k, more in product(ranks, (0, 1)):  # as few samples as possible
        settings += cells({"m": smallest(k) + more, "k": k} | far, rn=CLIENTS)
    for rn in clients:
        settings += cells({"k": 2, "rn": rn, "m": 1e6}, closeness=[1.0, 10.0, 100.0, 1e4])
        for k in budget((2, 8), (1, 2, 8)):
            large += cells({"k": k, "rn": rn} | far, m=[1e5, 1e8, 1e11])
    return tuple(
        [one | {"angles": angles} for angles in ("equal", "single") for one in chosen]
        for chosen in (settings, large)
    )


def constants_of_heads(budget, rng, lemma, draw, constant, smallest, powers):
    """Follow the constant of Lemma 3 or 4: Gaussian x by its law, other designs in full."""

    def one(rn, m, k, closeness, angles):
        W = model.sphere_heads(rn, k, rng)
        left = draw(norms(W, 1.0 / closeness, angles), int(m), k)
        return constant(left * (closeness / np.linalg.norm(W, 2))) / delta(k, rn, m, *powers)

    def sampled(rn, m, k, design):
        left = sampled_sides(design, rn, m, k, 0.5, "equal", rng)[lemma - 2]
        return constant(left) / delta(k, rn, m, *powers)

    settings, large = head_settings(budget, smallest)
    runs, every = budget(200, 600, 3000), ["rn", "k", "closeness"]
    tables = {
        "gaussian x": (settings, one, runs, every, ["m", "angles"]),
        "gaussian x, large m": (large, one, runs, ["m"], [*every, "angles"]),
    }
    return constants(lemma, tables, sampled, budget(100, 200, 400))


@statement(
    "fedrep.lemma3",
    place="Lemma 3",
    latex=r"\|(GD - C) w^*\|_2 \le \delta_k \|W^*\|_2\,\mathrm{dist}(\hat B, \hat B^*), \quad"
    r"\delta_k = c\,k^{3/2}\sqrt{\log(rn)/m}, \quad \text{w.p. } 1 - e^{-111 k^2\log(rn)}",
    plain="What clients observe of B* outside span(B) is nearly uncorrelated with what they "
    "observe inside it.",
    hypotheses=model.ASSUMPTIONS,
    stronger={"k_power": -1, "m_power": 1, "distance_power": 0},
    negative_control={"m_power": 1.0},
)
def lemma3(budget, rng, *, k_power=1.5, m_power=0.5, distance_power=1.0):
    """Follow the constant over rn, m, k, both kinds of angles, distances 0.01 to 1, four designs.

    For Gaussian x the rows of (GD - C)w* have the law of ‖Phi w_i*‖ ‖u‖ z/m with u and z standard
    normal in R^m and R^k.
    """

    def draw(squares, m, k):
        scale = rng.chisquare(m, len(squares)) * rng.chisquare(k, len(squares))
        return np.sqrt(np.sum(squares * scale)) / m

    yield from constants_of_heads(
        budget, rng, 3, draw, lambda left: left, lambda k: 1, (k_power, m_power)
    )
    runs, W = budget(100, 400, 2000), model.sphere_heads(50, 4, rng)
    sizes, distances = [10**3, 10**7, 10**11], [1e-8, 1e-4, 1.0]
    in_sizes = [[draw(norms(W, 0.5), m, 4) for _ in range(runs)] for m in sizes]
    near = [[draw(norms(W, s), 100, 4) for _ in range(runs)] for s in distances]
    in_ranks = [
        [draw(norms(V, 0.5), 1000, k) / np.linalg.norm(V, 2) for _ in range(runs)]
        for k in RANKS
        for V in [model.sphere_heads(500, k, rng)]
    ]
    for x, samples, along, claimed in (
        (sizes, in_sizes, "m", {"equals": -m_power, "margin": SHARP}),
        (distances, near, "dist", {"equals": distance_power, "margin": SHARP}),
        (RANKS, in_ranks, "k", {"at_most": k_power}),
    ):
        of = "left side over ||W*||" if along == "k" else "left side"
        yield Exponent(x, samples, along=along, of=of, name=f"{of} in {along}", **claimed)
    yield from in_m(lambda left: left, 1, m_power, rng, budget(60, 250, 1000))


CONSTANTS = (1.0, 10.0, 100.0, 1000.0)
LOGARITHM = "log probability of a violation"
PROVED_POWER = 2.0  # of k in the least m, for which there is a derivation


def least_samples(k, rn, power):
    """Return the smallest m of order k^power log(rn), 1 where no power is given."""
    return np.ones(np.shape(k)) if power is None else np.ceil(k**power * np.log(rn))


def rarest(df, x):
    """Return a lower bound of log P[chi^2 > x], for x > 0 and one or more degrees of freedom."""
    tail = (df / 2 - 1) * np.log(x / 2) - x / 2 - gammaln(df / 2)
    return np.where(df < 2, np.log(2.0) + norm.logsf(np.sqrt(x)), tail)


def chernoff(df, x):
    """Return Chernoff's upper bound of log P[chi^2 > x]."""
    ratio = np.maximum(x / df, 1.0)
    return df / 2 * (1.0 - ratio + np.log(ratio))


def log_probabilities(c, power, factor):
    """Bound how often Lemma 3 is violated at c from above and from below, for Gaussian x.

    A row of (GD - C)w* has norm ||Phi w_i*|| |u| |z|/m, u and z standard normal in R^m and R^k.
    Above: ||W*||^2 >= rn, so that |u|^2 <= c m and |z|^2 <= c k^2 log(rn) of all rows suffice.
    Below: heads sqrt(k) e_i, rn = k, of which one row alone violates it where |u| |z| exceeds
    c k^(3/2) sqrt(m log k).
    """
    k = 2 ** np.arange(31, dtype=float)[:, None, None]
    rn, more = np.array([[2.0], [3.0], [50.0], [1e4], [1e9]]), np.array([1.0, 10.0, 1e4])
    m = more * least_samples(k, rn, power)
    above = np.log(rn) + np.logaddexp(chernoff(m, c * m), chernoff(k, c * k**2 * np.log(rn)))
    allowed = np.broadcast_to(-factor * k**2 * np.log(rn), above.shape)
    k = k[1:, 0, 0]
    m = least_samples(k, k, power)
    size = c * k**1.5 * np.sqrt(m * np.log(k))
    below = {"k": k, "m": m, "log probability": rarest(m, size) + rarest(k, size)}
    below = pd.DataFrame(below | {"allowed": -factor * k**2 * np.log(k)})
    return above.ravel(), allowed.ravel(), below[below["log probability"] > below["allowed"]]


def probability(power, factor):
    """Compare both bounds for each c: one c has to serve, or none does."""
    refuted = []
    for c in CONSTANTS:
        above, allowed, below = log_probabilities(c, power, factor)
        worst = np.argmax(above / -allowed)
        if above[worst] <= allowed[worst]:
            at = {"c": c, "bound": "Chernoff's from above, k up to 2^30, rn up to 1e9"}
            return Cases(
                [(above[worst], allowed[worst], at)], quantity=LOGARITHM, name=f"c = {c:g}",
                strength=PROVED if power == PROVED_POWER else "", measured_is=UPPER,
            )  # fmt: skip
        if len(below):
            refuted.append((c, below.iloc[0]))
    if len(refuted) < len(CONSTANTS):
        return Missing("neither bound of the probability decides", "sharper bounds")
    if power is None:
        name = f"c = {', '.join(f'{c:g}' for c in CONSTANTS)}"
        return Together([enclosed(int(c), factor) for c in CONSTANTS], name=name)
    c, row = refuted[-1]
    k, m, least, allowed = map(float, row)
    at = {"c": c, "k": k, "m": m, "rn": k}
    return Cases([(least, allowed, at)], quantity=LOGARITHM, name="every c", measured_is=LOWER)


def enclosed(c, factor):
    """Compare, at m = 1 and rn = k, a lower bound of the probability with what is allowed.

    |u||z| > t where |u| > sqrt(t) and |z_1| > sqrt(t), and a normal g has P[|g| > s] of at least
    sqrt(2/pi) s/(1 + s^2) exp(-s^2/2). k log(k) is to be above (c/factor)^2.
    """
    from flint import arb

    k = 2
    while k * math.log(k) < 2.0 * (c / factor) ** 2:
        k *= 2
    t = c * arb(k) ** arb(1.5) * arb(k).log().sqrt()
    return everywhere(
        lambda: (2 / arb.pi()).log() + (t / (1 + t) ** 2).log() - t,
        lambda: -arb(factor) * k**2 * arb(k).log(),
        {}, name=f"c = {c}", quantity=f"{LOGARITHM}, less that allowed",
        setting={"c": c, "k": k, "m": 1, "rn": k},
    )  # fmt: skip


@statement(
    "fedrep.lemma3.probability",
    place="Lemma 3, without the m of (38)",
    latex=r"\exists c\ \forall m, k, rn: \quad P\big[\|(GD - C) w^*\|_2 > \delta_k \|W^*\|_2\,"
    r"\mathrm{dist}\big] \le e^{-111 k^2\log(rn)}",
    plain="One absolute constant is enough for Lemma 3 with its printed probability, for every m.",
    hypotheses=model.GAUSSIAN_ASSUMPTIONS,
    negative_control={"m_power": 0.5},
)
def lemma3_probability(budget, rng, *, m_power=2.0, factor=111.0, every=True):
    """Bound from both sides how often it is violated, for m = k^m_power log(rn) and more.

    With `every` also for all m, as the lemma is stated; the m of (38) is printed in its proof.
    """
    enough = probability(m_power, factor)
    if not every:
        yield enough
        return
    name = "m at least k^2 log(rn)"
    yield Readings(
        [replace(probability(None, factor), name="every m"), replace(enough, name=name)],
        name="samples",
        printed_elsewhere={name: "the proof of Lemma 3, (38)"},
    )


lemma3_probability.corrected(
    "fedrep.lemma3.probability.corrected",
    place="Lemma 3, with the m of (38)",
    latex=r"\exists c\ \forall k, rn,\ m \ge k^2\log(rn): \quad P\big[\|(GD - C) w^*\|_2 >"
    r"\delta_k \|W^*\|_2\,\mathrm{dist}\big] \le e^{-111 k^2\log(rn)} \quad (x \sim N(0, I))",
    plain="With at least k^2 log(rn) samples, as in (38), one absolute constant is enough for "
    "Lemma 3 with its printed probability.",
    constants={"every": False},
    stronger={"m_power": -1, "factor": 1},
    negative_control={"m_power": 0.5},
)


@statement(
    "fedrep.lemma4",
    place="Lemma 4 (40)",
    latex=r"\|F\|_F \le \frac{\delta_k}{1 - \delta_k} \|W^*\|_2\,\mathrm{dist}(\hat B, \hat B^*),"
    r"\quad \delta_k = c\,k^{3/2}\sqrt{\log(rn)/m}, \quad \text{w.p. } 1 - e^{-110 k^2\log(n)}",
    plain="Least-squares heads are close to B'B* w_i*, the closer the smaller the distance.",
    hypotheses=model.ASSUMPTIONS,
    stronger={"k_power": -1, "m_power": 1},
    negative_control={"m_power": 1.0},
)
def lemma4(budget, rng, *, k_power=1.5, m_power=0.5):
    """Follow the constant over rn, m from k on, k, distances, four designs."""

    def draw(squares, m, k):
        return np.linalg.norm(model.gaussian_head_errors(squares, m, k, rng))

    yield from constants_of_heads(
        budget, rng, 4, draw, lambda left: left / (1.0 + left), lambda k: k, (k_power, m_power)
    )
    W, sizes, runs = model.sphere_heads(50, 4, rng), [10**3, 10**7, 10**11], budget(100, 400, 2000)
    samples = [[draw(norms(W, 0.5), m, 4) for _ in range(runs)] for m in sizes]
    yield Exponent(
        sizes, samples, equals=-m_power, margin=SHARP, along="m", of="||F||_F",
        name="||F||_F in m",
    )  # fmt: skip
    yield from in_m(lambda left: left, 2, m_power, rng, budget(60, 250, 1000))
