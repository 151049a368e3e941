"""Lemmas 3 and 4: how near least-squares heads are to their means."""

import math
from dataclasses import replace
from itertools import product

import numpy as np

from linrep.claims import Cases, Exponent, Missing, Readings, Together, everywhere, statement
from linrep.claims.evidence import PROVED, UPPER
from linrep.claims.tables import cells
from linrep.papers.fedrep import model
from linrep.papers.fedrep.concentration import (
    CLIENTS,
    RANKS,
    SHARP,
    constants,
    delta,
    sampled_sides,
)

MANY = [10**3, 10**7, 10**11]  # samples


def norms(W, distance, angles="equal"):
    """Return ||Phi w_i*||^2 of all clients."""
    return np.sum((W @ model.tilt(W.shape[1], distance, angles)[1].T) ** 2, axis=1)


def constants_of_heads(budget, rng, lemma, draw, constant, smallest, powers):
    """Follow the constant of Lemma 3 or 4: Gaussian x by its law, other designs in full."""

    def one(rn, m, k, closeness, angles):
        W = model.sphere_heads(rn, k, rng)
        left = draw(norms(W, 1.0 / closeness, angles), int(m), k)
        return constant(left * (closeness / np.linalg.norm(W, 2))) / delta(k, rn, m, *powers)

    def sampled(rn, m, k, design):
        return constant(sampled_sides(design, rn, m, k, rng)[lemma - 2]) / delta(k, rn, m, *powers)

    settings, far = [], {"closeness": 2.0}
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
    settings = [each | {"angles": name} for name in ("equal", "single") for each in settings]
    runs = budget(200, 600, 3000)
    gaussian = settings, one, runs, ["rn", "k", "closeness"], ["m", "angles"]
    yield from constants(lemma, gaussian, sampled, budget(100, 200, 400))
    each = [{"rn": 500, "m": 1e6, "k": k, "closeness": 2.0, "angles": "equal"} for k in RANKS]
    left = [[one(**at) * delta(at["k"], 500, 1e6, *powers) for _ in range(runs)] for at in each]
    yield Exponent(RANKS, left, at_most=powers[0], along="k", name="left side over ||W*|| in k")


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
    for along, power, sizes in (("m", -m_power, MANY), ("dist", distance_power, [1e-8, 1e-4, 1.0])):
        pairs = [(x, 0.5) if along == "m" else (100, x) for x in sizes]
        samples = [[draw(norms(W, far), m, 4) for _ in range(runs)] for m, far in pairs]
        name = f"left side in {along}"
        yield Exponent(sizes, samples, equals=power, margin=SHARP, along=along, name=name)


CONSTANTS = (1.0, 10.0, 100.0, 1000.0)
LOGARITHM = "log probability of a violation"
PROVED_POWER = 2.0  # of k in the least m, for which there is a derivation


def chernoff(df, x):
    """Return Chernoff's upper bound of log P[chi^2 > x]."""
    ratio = np.maximum(x / df, 1.0)
    return df / 2 * (1.0 - ratio + np.log(ratio))


def serves(power, factor):
    """Return that one c serves for all m >= k^power log(rn), Gaussian x, None where none does.

    ||W*||^2 >= rn, so that |u|^2 <= c m and |z|^2 <= c k^2 log(rn) of all rows suffice, u and z
    standard normal in R^m and R^k.
    """
    sizes = product(2.0 ** np.arange(31), (2.0, 3.0, 50.0, 1e4, 1e9), (1.0, 10.0, 1e4))
    k, rn, more = np.array(list(sizes)).T
    m, allowed = more * np.ceil(k**power * np.log(rn)), -factor * k**2 * np.log(rn)
    for c in CONSTANTS:
        large = np.logaddexp(chernoff(m, c * m), chernoff(k, c * k**2 * np.log(rn)))
        above = np.log(rn) + large
        worst = np.argmax(above / -allowed)
        if above[worst] <= allowed[worst]:
            at = {"c": c, "bound": "Chernoff's from above, k up to 2^30, rn up to 1e9"}
            return Cases(
                [(above[worst], allowed[worst], at)], quantity=LOGARITHM, name=f"c = {c:g}",
                strength=PROVED if power == PROVED_POWER else "", measured_is=UPPER,
            )  # fmt: skip
    return None


def violated(c, power, factor):
    """Compare a lower bound of the probability with what is allowed, at rn = k, heads sqrt(k) e_i.

    A row of (GD - C)w* has norm sqrt(k) dist |u| |z|/m and violates the bound alone where |u| |z| >
    t = c k^(3/2) sqrt(m log k): so it does where the first entries of u and z exceed sqrt(t). A
    normal g has P[|g| > s] of at least sqrt(2/pi) s/(1 + s^2) exp(-s^2/2). None where k up to 2^60
    do not tell.
    """
    from flint import arb

    for k in (2**size for size in range(1, 61)):
        m = 1 if power is None else math.ceil(k**power * math.log(k))
        t = c * arb(k) ** arb(1.5) * (m * arb(k).log()).sqrt()
        least = (2 / arb.pi()).log() + (t / (1 + t) ** 2).log() - t
        allowed = -arb(factor) * k**2 * arb(k).log()
        if least > allowed / 2:
            return everywhere(
                lambda least=least: least, lambda allowed=allowed: allowed, {}, name=f"c = {c:g}",
                quantity=f"{LOGARITHM}, less that allowed",
                setting={"c": c, "k": k, "m": m, "rn": k},
            )  # fmt: skip
    return None


def probability(power, factor):
    """Return that one c serves, or that none of several does."""
    found = [each for c in CONSTANTS if (each := violated(c, power, factor)) is not None]
    if len(found) == len(CONSTANTS):
        return Together(found, name=f"c = {', '.join(f'{c:g}' for c in CONSTANTS)}")
    enough = None if power is None else serves(power, factor)
    return enough or Missing("neither bound of the probability decides", "sharper bounds")


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
    W, runs = model.sphere_heads(50, 4, rng), budget(100, 400, 2000)
    samples = [[draw(norms(W, 0.5), m, 4) for _ in range(runs)] for m in MANY]
    yield Exponent(
        MANY, samples, equals=-m_power, margin=SHARP, along="m", of="||F||_F",
        name="||F||_F in m",
    )  # fmt: skip
