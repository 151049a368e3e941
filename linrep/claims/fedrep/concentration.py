"""Lemmas 2 to 5: how near clients' Gram matrices, heads and gradients are to their means."""

from __future__ import annotations

import numpy as np

from linrep.claims import (
    LEVEL,
    Evidence,
    bounded_constant,
    claim,
    combine,
    expectation,
    exponent,
    inequality,
    log_slope,
)
from linrep.claims.fedrep._batches import (
    covariates,
    gaussian_head_errors,
    gaussian_step,
    least_squares,
    sampled_step,
    sphere_heads,
    tilt,
)
from linrep.claims.fedrep._common import (
    ASSUMPTIONS,
    DESIGNS,
    NORMALIZED,
    at_most,
    cells,
    instance,
    table,
)
from linrep.theory.expectations import least_squares_error
from linrep.theory.fedrep_limits import gradient_bias

#: Designs whose batches are drawn in full; the Gaussian ones are drawn by their law as well.
_OTHERS = DESIGNS[1:]
_CLIENTS = [2, 5, 50, 500]
_RANKS = [1, 2, 4, 8]


def _delta(k, rn, m, k_power, m_power):
    """Return delta_k at c = 1."""
    return k**k_power * np.sqrt(np.log(rn)) / m**m_power


def _smallest_eigenvalues(rn, m, k, replicates, rng):
    """Draw the least eigenvalue of all G^i, Gaussian x, by Bartlett's triangular factor."""
    T = np.sqrt(rng.chisquare(m - np.arange(k), (replicates, rn, k)))[..., None] * np.eye(k)
    below = np.tril_indices(k, -1)
    T[..., below[0], below[1]] = rng.standard_normal((replicates, rn, len(below[0])))
    if k == 1:
        return (T[..., 0, 0] ** 2).min(axis=1) / m
    return (np.linalg.svd(T, compute_uv=False)[..., -1] ** 2).min(axis=1) / m


def _sampled(design, rn, m, k, distance, angles, rng):
    """Draw batches; return min sigma_min(G^i), and ||(GD - C)w*||, ||F||_F over ||W*||_2 dist."""
    truth, B = instance(
        max(rn, k), 2 * k + 1, k, rng, distance=distance, angles=angles, design=design
    )
    truth = truth.with_heads(truth.W[:rn])
    X = covariates(design, (rn, m, truth.d), rng)
    Z = X @ B
    lacking = (X @ (truth.theta - truth.theta @ B @ B.T)[:, :, None])[..., 0]
    cross = np.einsum("ija,ij->ia", Z, lacking) / m
    errors = least_squares(Z, lacking)
    smallest = np.linalg.eigvalsh(np.swapaxes(Z, 1, 2) @ Z)[:, 0].min() / m
    scale = np.linalg.norm(truth.W, 2) * distance
    return max(smallest, 0.0), np.linalg.norm(cross) / scale, np.linalg.norm(errors) / scale


def _other_settings(*directions, large=(50, 800, 12_800), rn=20):
    """Return settings for batches that are drawn in full, of every design but the Gaussian."""
    settings = []
    for design in _OTHERS:
        if "m" in directions:
            settings += cells({"k": 1, "rn": rn, "design": design}, m=large)
        else:
            settings += cells({"m": 40, "k": 2, "design": design}, rn=[2, 10, 50])
            settings += cells({"m": 40, "rn": 5, "design": design}, k=[1, 2, 4])
    return settings


def _constants(lemma, tables, level, rng):
    """Decide for each table whether the constant of a lemma stays bounded."""
    return [
        bounded_constant(
            table(settings, draw, runs), directions, by=by, level=level, rng=rng, name=name,
            label=f"c that Lemma {lemma} needs",
        )
        for name, (settings, draw, runs, directions, by) in tables.items()
    ]  # fmt: skip


@claim(
    "fedrep.lemma2",
    place="Lemma 2",
    kind="probability bound",
    latex=r"\|G^{-1}\|_2 \le \frac{1}{1 - \delta_k}, \quad \delta_k = c\,k^{3/2}"
    r"\sqrt{\log(rn)/m}, \quad \text{w.p. } 1 - e^{-111 k^3 \log(rn)}",
    plain="No client's Gram matrix has an eigenvalue below 1 - delta_k.",
    hypotheses=ASSUMPTIONS[:1],
    broken={"m_power": 1.0},
)
def lemma2(budget, rng, *, k_power=1.5, m_power=0.5) -> Evidence:
    """Follow the constant that 1 - min sigma_min(G^i) needs; delta_k < 1 is all it may use."""
    level = LEVEL / 6
    runs = budget(120, 400, 1000)

    def draw(rn, m, k):
        smallest = _smallest_eigenvalues(rn, int(m), k, runs, rng)
        return (1.0 - smallest) / _delta(k, rn, m, k_power, m_power)

    settings = []
    for m in budget((50, 1e6), (50, 1600, 1e6)):
        for k in budget((1, 4), (1, 2, 8)):
            settings += cells({"m": m, "k": k}, rn=_CLIENTS)
    for m in budget((8, 1e6), (8, 50, 1600, 1e6)):
        for rn in budget((2, 50), (2, 500)):
            settings += cells({"m": m, "rn": rn}, k=_RANKS)
    for k in budget((1,), (1, 8)):  # no more samples than the heads need
        settings += cells({"m": k, "k": k}, rn=_CLIENTS) + cells({"m": k + 1, "k": k}, rn=_CLIENTS)
    huge = [1e4, 1e7, 1e10]
    large = []
    for rn in budget((2, 50), (2, 500)):
        for k in budget((1, 4), (1, 8)):
            large += cells({"k": k, "rn": rn}, m=huge)
    repeats = budget(20, 300, 1000)

    def sampled(rn, m, k, design):
        smallest, *_ = _sampled(design, rn, m, k, 0.5, "equal", rng)
        return (1.0 - smallest) / _delta(k, rn, m, k_power, m_power)

    parts = _constants(
        2,
        {
            "gaussian x": (settings, draw, runs, ["rn", "k"], ["m"]),
            "gaussian x, large m": (large, draw, runs, ["m"], ["rn", "k"]),
            "other x": (_other_settings("rn", "k"), sampled, repeats, ["rn", "k"], ["m", "design"]),
            "other x, large m": (
                _other_settings("m", large=(200, 6000, 180_000), rn=3),
                sampled,
                repeats,
                ["m"],
                ["rn", "k", "design"],
            ),
        },
        level,
        rng,
    )
    gaps = [1.0 - _smallest_eigenvalues(50, int(m), 4, runs, rng) for m in huge]
    parts.append(
        exponent(
            log_slope(huge, gaps, level=level, rng=rng), -m_power, level=level,
            n_trials=3 * runs, name="1 - sigma_min in m",
        )
    )  # fmt: skip
    gaps = [1.0 - _smallest_eigenvalues(50, 10**10, k, runs, rng) for k in _RANKS]
    parts.append(
        exponent(
            log_slope(_RANKS, gaps, level=level, rng=rng), k_power, at_most=True, level=level,
            n_trials=len(_RANKS) * runs, name="1 - sigma_min in k",
        )
    )  # fmt: skip
    whole = combine(parts)
    return combine(
        parts,
        f"{whole.sentence}; 1 - sigma_min grows like k^{parts[-1].measured:.2f}, not k^1.5; at "
        "rn = 1 delta_k is 0 and the probability promised as well",
    )


def _equation31(coefficient):
    """Yield the three steps of (31) and (32) on a grid, as exponents and in cases for at_most."""
    steps: dict[str, list] = {"first": [], "second": [], "both": [], "(32)": []}
    for k in (1, 2, 3, 4, 8, 16):
        for rn in (2, 3, 5, 50, 500, 30_000):
            where, root = {"k": k, "rn": rn}, np.sqrt(np.log(rn))
            exact = (coefficient * k**1.5 * root - np.sqrt(k)) ** 2
            middle = k * (coefficient * np.sqrt(k) * root - 1.0) ** 2
            last = 121.0 * k**3 * root**2
            steps["first"].append((middle, exact, where))
            steps["second"].append((last, middle, where))
            steps["both"].append((last, exact, where))
            steps["(32)"].append((110.0 * k**3 * root**2, last - root**2, where))
    return steps


@claim(
    "fedrep.lemma2.eq31",
    place="(31), (32), in the proof of Lemma 2",
    kind="deterministic inequality",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge k(12\sqrt k\sqrt{\log rn} - 1)^2"
    r"\ge 121 k^3 \log(rn), \quad rn\,e^{-121 k^3\log(rn)} \le e^{-110 k^3\log(rn)}",
    plain="The exponents in the proof of Lemma 2; a minus sign is missing in print.",
    broken={"coefficient": 11.0},
)
def lemma2_eq31(budget, rng, *, coefficient=12.0) -> Evidence:
    """Evaluate both sides of each step, k = 1...16 and rn = 2...30000."""
    steps = _equation31(coefficient)
    parts = [
        at_most(steps[name], name=f"{name} inequality") for name in ("first", "second", "(32)")
    ]
    return combine(
        parts,
        f"{combine(parts).sentence}: of k^3 the middle keeps k^2; from end to end it fails "
        f"{sum(left > right for left, right, _ in steps['both'])} times",
    )


@claim(
    "fedrep.lemma2.eq31.corrected",
    place="(31), (32), in the proof of Lemma 2",
    kind="deterministic inequality",
    latex=r"(12 k^{3/2}\sqrt{\log rn} - \sqrt k)^2 \ge 121 k^3\log(rn) \ge 110 k^3\log(rn) +"
    r"\log(rn) \quad \text{if } k^2\log(rn) \ge 1",
    plain="Without the middle term the exponents are right, but for k = 1, rn = 2.",
    broken={"coefficient": 11.0},
    corrects="fedrep.lemma2.eq31",
)
def lemma2_eq31_corrected(budget, rng, *, coefficient=12.0) -> Evidence:
    """Evaluate both sides wherever k^2 log(rn) is at least 1."""
    steps = _equation31(coefficient)
    admitted = [case for case in steps["both"] if case[2]["k"] ** 2 * np.log(case[2]["rn"]) >= 1.0]
    return combine([at_most(admitted, name="(31)"), at_most(steps["(32)"], name="(32)")])


def _norms(W, distance, angles):
    """Return ||Phi w_i*||^2 of all clients."""
    Phi = tilt(W.shape[1], distance, angles)[1]
    return np.sum((W @ Phi.T) ** 2, axis=1)


def _head_settings(budget, smallest):
    """Return settings for Lemmas 3 and 4: for rn, k and distances at any m; for m at its end."""
    settings, large = [], []
    for m in budget((9, 1e6), (9, 50, 1600, 1e6)):
        for k in budget((2,), (1, 2, 8)):
            settings += cells({"m": m, "k": k, "closeness": 2.0}, rn=_CLIENTS)
        for rn in budget((50,), (2, 500)):
            settings += cells({"m": m, "rn": rn, "closeness": 2.0}, k=_RANKS)
    for k in budget((2,), (1, 2, 8)):  # as few samples as possible
        for m in (smallest(k), smallest(k) + 1):
            settings += cells({"m": m, "k": k, "closeness": 2.0}, rn=_CLIENTS)
    for rn in budget((50,), (2, 500)):
        settings += cells({"k": 2, "rn": rn, "m": 1e6}, closeness=[1.0, 2.0, 10.0, 100.0])
        for k in budget((2, 8), (1, 2, 8)):
            large += cells({"k": k, "rn": rn, "closeness": 2.0}, m=[1e5, 1e8, 1e11])
    both = ({"angles": "equal"}, {"angles": "single"})
    return tuple(
        [one | angles for angles in both for one in chosen] for chosen in (settings, large)
    )


def _lemma_3_or_4(budget, rng, level, draw, column, constant, smallest, k_power, m_power, lemma):
    """Follow the constant of Lemma 3 or 4: Gaussian x by its law, other designs in full."""
    runs, repeats = budget(300, 800, 3000), budget(20, 300, 1000)

    def one(rn, m, k, closeness, angles):
        W = sphere_heads(rn, k, rng)
        left = draw(_norms(W, 1.0 / closeness, angles), int(m), k)
        left *= closeness / np.linalg.norm(W, 2)
        return constant(left) / _delta(k, rn, m, k_power, m_power)

    def sampled(rn, m, k, design):
        left = _sampled(design, rn, m, k, 0.5, "equal", rng)[column]
        return constant(left) / _delta(k, rn, m, k_power, m_power)

    settings, large = _head_settings(budget, smallest)
    every = ["rn", "k", "closeness"]
    return _constants(
        lemma,
        {
            "gaussian x": (settings, one, runs, every, ["m", "angles"]),
            "gaussian x, large m": (large, one, runs, ["m"], [*every, "angles"]),
            "other x": (_other_settings("rn", "k"), sampled, repeats, ["rn", "k"], ["m", "design"]),
            "other x, large m": (
                _other_settings("m"), sampled, repeats, ["m"], ["rn", "k", "design"]
            ),
        },
        level,
        rng,
    )  # fmt: skip


@claim(
    "fedrep.lemma3",
    place="Lemma 3",
    kind="probability bound",
    latex=r"\|(GD - C) w^*\|_2 \le \delta_k \|W^*\|_2\,\mathrm{dist}(\hat B, \hat B^*), \quad"
    r"\delta_k = c\,k^{3/2}\sqrt{\log(rn)/m}, \quad \text{w.p. } 1 - e^{-111 k^2\log(rn)}",
    plain="What clients see of B* outside span(B) hardly correlates with what they see in it.",
    hypotheses=ASSUMPTIONS,
    broken={"m_power": 1.0},
)
def lemma3(budget, rng, *, k_power=1.5, m_power=0.5, distance_power=1.0) -> Evidence:
    """Follow the constant over rn, m, k, both kinds of angles, distances 0.01 to 1, four designs.

    For Gaussian x the rows of (GD - C)w* have the law of ||Phi w_i*|| |u| z/m with u and z standard
    normal in R^m and R^k.
    """

    def draw(squares, m, k):
        scale = rng.chisquare(m, len(squares)) * rng.chisquare(k, len(squares))
        return np.sqrt(np.sum(squares * scale)) / m

    level = LEVEL / 7
    parts = _lemma_3_or_4(
        budget, rng, level, draw, 1, lambda left: left, lambda k: 1, k_power, m_power, 3
    )
    runs = budget(100, 400, 2000)
    W = sphere_heads(50, 4, rng)
    for name, x, samples, predicted, at_most_ in (
        (
            "left side in m", [100, 1000, 10000],
            [[draw(_norms(W, 0.5, "equal"), m, 4) for _ in range(runs)]
             for m in (100, 1000, 10000)], -m_power, False,
        ),
        (
            "left side in dist", [0.01, 0.1, 1.0],
            [[draw(_norms(W, s, "equal"), 100, 4) for _ in range(runs)]
             for s in (0.01, 0.1, 1.0)], distance_power, False,
        ),
        (
            "left side over ||W*|| in k", _RANKS,
            [[draw(_norms(V, 0.5, "equal"), 1000, k) / np.linalg.norm(V, 2) for _ in range(runs)]
             for k in _RANKS for V in [sphere_heads(500, k, rng)]], k_power, True,
        ),
    ):  # fmt: skip
        parts.append(
            exponent(
                log_slope(x, samples, level=level, rng=rng), predicted, at_most=at_most_,
                level=level, n_trials=len(x) * runs, name=name,
            )
        )  # fmt: skip
    return combine(
        parts,
        f"{combine(parts).sentence}; the left side grows like k^{parts[-1].measured:.2f}, "
        "not k^1.5",
    )


@claim(
    "fedrep.lemma4",
    place="Lemma 4 (40)",
    kind="probability bound",
    latex=r"\|F\|_F \le \frac{\delta_k}{1 - \delta_k} \|W^*\|_2\,\mathrm{dist}(\hat B, \hat B^*),"
    r"\quad \delta_k = c\,k^{3/2}\sqrt{\log(rn)/m}, \quad \text{w.p. } 1 - e^{-110 k^2\log(n)}",
    plain="Least-squares heads are near B'B* w_i*, the nearer the smaller the distance.",
    hypotheses=ASSUMPTIONS,
    broken={"m_power": 1.0},
)
def lemma4(budget, rng, *, k_power=1.5, m_power=0.5) -> Evidence:
    """Follow the constant over rn, m from k on, k, distances, designs; compare E ||f_i||^2."""

    def draw(squares, m, k):
        return np.linalg.norm(gaussian_head_errors(squares, m, k, rng))

    level = LEVEL / 8
    parts = _lemma_3_or_4(
        budget,
        rng,
        level,
        draw,
        2,
        lambda left: left / (1.0 + left),
        lambda k: k,
        k_power,
        m_power,
        4,
    )
    clients = budget(8000, 60_000, 200_000)
    for k, m in ((1, 11), (3, 18)):
        parts.append(
            expectation(
                _relative_errors(clients, m, k, rng),
                float(least_squares_error(k, m, noise=1.0)), level=level,
                name=f"mean of ||f_i||^2/||Phi w_i*||^2, k = {k}, m = {m}",
                setting={"k": k, "m": m},
            )
        )  # fmt: skip
    for extra in (0, 1):
        ratios = _relative_errors(clients, 3 + extra, 3, rng)
        law = _share_below(ratios, 3, 3 + extra)
        parts.append(
            expectation(
                law, 0.5, level=level, setting={"k": 3, "m": 3 + extra},
                name=f"law of ||f_i||^2 at m = k + {extra}, where it has no mean",
            )
        )  # fmt: skip
    return combine(parts)


def _relative_errors(clients, m, k, rng):
    """Draw Gaussian batches in full; return ||f_i||^2/||Phi w_i*||^2 of the clients."""
    truth, B = instance(clients, 2 * k, k, rng, distance=0.5)
    X = rng.standard_normal((clients, m, truth.d))
    outside = truth.theta - truth.theta @ B @ B.T
    errors = least_squares(X @ B, (X @ outside[:, :, None])[..., 0])
    return np.sum(errors**2, axis=1) / np.sum(outside**2, axis=1)


def _share_below(ratios, k, m):
    """Return the probabilities of less, by the F distribution with k and m - k + 1."""
    from scipy.stats import f

    return f.cdf(ratios * (m - k + 1) / k, k, m - k + 1)
