"""Lemma 2: how near clients' Gram matrices are to their means."""

from itertools import product

import numpy as np

from linrep.claims import Exponent, everywhere, statement
from linrep.claims.evidence import PROVED, UPPER
from linrep.claims.laws import Region, Root, at_most, law, lines, measured
from linrep.claims.measurements import relative
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


def smallest_eigenvalues(rn, m, k, replicates, rng):
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
    hypotheses=model.ASSUMPTIONS[:1],
    stronger={"k_power": -1, "m_power": 1},
    negative_control={"m_power": 1.0},
)
def lemma2(budget, rng, *, k_power=1.5, m_power=0.5):
    """Follow the constant that 1 - min sigma_min(G^i) needs; delta_k < 1 is all it may use."""
    runs, huge = budget(400, 800, 2000), [1e4, 1e9, 1e14]

    def draw(rn, m, k):
        smallest = smallest_eigenvalues(rn, int(m), k, runs, rng)
        return (1.0 - smallest) / delta(k, rn, m, k_power, m_power)

    def sampled(rn, m, k, design):
        smallest, *_ = sampled_sides(design, rn, m, k, rng)
        return (1.0 - smallest) / delta(k, rn, m, k_power, m_power)

    settings = []
    for m, k in product(budget((50, 1e6), (50, 1600, 1e6)), budget((1, 4), (1, 2, 8))):
        settings += cells({"m": m, "k": k}, rn=CLIENTS)
    for m, rn in product(budget((8, 1e6), (8, 50, 1600, 1e6)), budget((2, 50), (2, 500))):
        settings += cells({"m": m, "rn": rn}, k=RANKS)
    for k, more in product(budget((1,), (1, 8)), (0, 1)):  # no more samples than the heads need
        settings += cells({"m": k + more, "k": k}, rn=CLIENTS)
    gaussian = settings, draw, runs, ["rn", "k"], ["m"]
    yield from constants(2, gaussian, sampled, budget(150, 500, 1500))
    gaps = [1.0 - smallest_eigenvalues(50, int(m), 4, runs, rng) for m in huge]
    of = "1 - sigma_min"
    yield Exponent(huge, gaps, equals=-m_power, margin=SHARP, along="m", of=of, name=f"{of} in m")


@lines("fedrep.lemma2.eq31.corrected", Region(
    square=lambda *, least=1: (least, None),  # k^2 log(rn)
    u=lambda square: Root(square),
    k=(1, None),
    L=(0, None),  # log(rn)
))  # fmt: skip
def exponents(u, square, k, L, *, coefficient=12, end=121, left=110):
    """Show (31) without its middle term, over k, and (32)."""
    return {
        "(31)": at_most(end * square, (coefficient * u - 1) ** 2),
        "(32)": at_most(left * k**3 * L, end * k**3 * L - L),
    }


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
    budget, rng, *, coefficient=12.0, rank_power: float | None = 0.5, least=0.0, end=121.0,
    left=110.0,
):  # fmt: skip
    """Enclose the second inequality of (31) at k = 2 and rn = 50, or prove (31) and (32).

    `rank_power` is that of k in the middle term, None without one; `least` bounds k^2 log(rn) in
    (31) from below.
    """
    from flint import arb

    if rank_power is None:
        yield exponents.measure(coefficient=coefficient, least=least, end=end, left=left)
        return
    k, L = 2, arb(50).log()
    middle = k * (arb(coefficient) * arb(k) ** arb(rank_power) * L.sqrt() - 1) ** 2
    yield everywhere(
        lambda: arb(end) * k**3 * L, lambda: middle, {}, name="second inequality of (31)",
        setting={"k": k, "rn": 50},
    )  # fmt: skip


lemma2_eq31.corrected(
    "fedrep.lemma2.eq31.corrected",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge 121 k^3\log(rn) \ge 110 k^3\log(rn) +"
    r"\log(rn) \quad \text{if } k^2\log(rn) \ge 1",
    plain="Without its middle term (31) is true, and so is (32), except for k = 1, rn = 2.",
    constants={"rank_power": None, "least": 1.0},
    stronger={"coefficient": -1, "end": 1, "left": 1, "least": -1},
    negative_control={"coefficient": 11.0},
)


@law(
    "fedrep.lemma2.blocks",
    "(23)-(28) and the first display of the proof of Lemma 2",
    r"z^\top G z = \sum_i (z^i)^\top\hat B^\top\Pi^i\hat B z^i, \qquad \sigma_{\min}(G) \ge"
    r"\min_i \sigma_{\min}(\hat B^\top\Pi^i\hat B), \qquad \hat B^\top\Pi^i\hat B = \sum_j v_i^j"
    r"(v_i^j)^\top",
    over=model.Drawn(),
    wrong={"scale": 1.1},
    stronger={"scale": 0},
)
def lemma2_blocks(budget, rng, *, scale=1.0):
    """The joint Gram matrix of all clients is as well conditioned as the worst client's."""
    for n, m, d, k in ((1, 2, 3, 1), (3, 5, 6, 2), (4, 2, 7, 3), (4, 8, 4, 4)):
        for _ in range(budget(3, 20)):
            truth, B = model.instance(n, d, k, rng)
            X, _ = model.batch_of(truth, m, rng)
            A = model.sensing(X).reshape(n * m, n, d) @ B  # A_ij b_p, a vector over clients
            images = A.transpose(2, 1, 0).reshape(k * n, n * m)
            G, each = images @ images.T / m, B.T @ model.moments(X) @ B
            z = rng.standard_normal((k, n))
            own = np.einsum("pi,ipq,qi->", z, each, z)
            at, size = {"n": n, "m": m, "d": d, "k": k}, np.linalg.norm(each, 2, axis=(1, 2))
            yield "quadratic form", relative(scale * (z.ravel() @ G @ z.ravel()), own), at
            joint, worst = (np.linalg.svd(M, compute_uv=False)[..., -1].min() for M in (G, each))
            yield "least singular value, an equality", relative(joint, worst, size.max()), at
            v = X @ B / np.sqrt(m)
            gram = np.einsum("ijp,ijq->ipq", v, v)
            yield "(28)", relative(gram, each, size.max()), at


@statement(
    "fedrep.lemma2.probability",
    place="Lemma 2",
    latex=r"\exists c\ \forall m, k, rn \ge 2: \quad \delta_k < 1 \implies P\Big[\|G^{-1}\|_2 > "
    r"\frac{1}{1 - \delta_k}\Big] \le e^{-111 k^3\log(rn)} \qquad (x \sim N(0, I))",
    plain="For normal covariates, one absolute constant is enough for Lemma 2 with its printed "
    "probability.",
    hypotheses=[model.GAUSSIAN],
    stronger={"k_power": -1, "constant": -1, "exponent": 1},
    negative_control={"k_power": 1.0},
)
def lemma2_probability(budget, rng, *, k_power=1.5, constant=33.0, exponent=111.0):
    """Bound the probability at c = 33 by Davidson and Szarek.

    As a control delta_k has another power of k: then a power of k, however large, is exceeded.
    """

    def bounds():
        grid = product((1, 2, 3, 8, 50, 1000), (2, 3, 10, 1000, 10**6), (1.0, 4.0, 1e4))
        for k, rn, more in grid:
            L = np.log(rn)
            m = np.ceil(more * constant**2 * k ** (2.0 * k_power) * L) + 1.0  # delta_k is below 1
            loss = constant * k**k_power * np.sqrt(L / m)
            # A squared singular value is at least 1 - 2 a, for a = (sqrt(k) + t)/sqrt(m).
            t = max(loss * np.sqrt(m) / 2.0 - np.sqrt(k), 0.0)
            at = {"k": k, "rn": rn, "m": m, "c": constant}
            yield "normal x, c = 33", at_most(float(L - t**2 / 2.0), -exponent * k**3 * L), at

    quantity = "log probability of a violation"
    found = measured(bounds(), quantity=quantity, strength=PROVED, measured_is=UPPER)
    yield from found.values()
