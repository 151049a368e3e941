"""Lemmas A.8 and A.16, Proposition A.9: the leading rows in a step, and staying in R."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from linrep.claims import LEVEL, Evidence, bounded_constant, claim, combine
from linrep.claims.decide import exponent, log_slope
from linrep.claims.evidence import FAILS, HOLDS
from linrep.claims.fedrep._common import cells, decided, table
from linrep.claims.flute._checks import (
    FAILURE,
    Trial,
    anything,
    flat_spectrum,
    limit_of,
    noise_allowed,
    shapes,
)
from linrep.claims.flute._common import (
    SEARCH_SHAPES,
    scaled_spectrum,
    search_region,
    singular_values,
    step,
)
from linrep.claims.flute._runs import corner, spread, truth_of
from linrep.theory import flute_samples
from linrep.theory.flute import Spectrum, region, sizes, step_size_limits

# Lemma A.16: a step of the leading rows.

#: Theta_k with two singular values of very different size is where the lemma is hardest.
ALIGNED = ({"n": 3, "d": 3, "k": 2, "aligned": 1},)


def _thin(Theta, spectrum):
    """Return sigma_k(Theta_k)."""
    return singular_values(Theta[: spectrum.k])[-1]


def _loss(spectrum, eta, Theta):
    """Return what sigma_k^2(Theta_k) lacks after a step without noise, and what it was.

    Compared with (1 + eta (lambda*_k - sigma_1^2(Theta_res) - sigma_k^2(Theta_k))) times that.
    """
    square = _thin(Theta, spectrum) ** 2
    rest = singular_values(Theta[spectrum.k :])[0] ** 2
    gained = _thin(step(Theta, spectrum, eta), spectrum) ** 2 - square
    return eta * (spectrum.last - rest - square) * square - gained, square


def _rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


_DRAWN = ("second", "gap", "a", "b1", "b2", "angle", "other", "eta")


def _pairs(shares, ratio):
    """Take a step from points of R_s with k = 2 and sigma_2^2(Theta_k) = ratio Delta.

    Theta_k = U(angle) diag(a, e) and Theta_res = diag(b) V(other)'.

    Parameters
    ----------
    shares : ndarray, shape (8, size)
        Where in their intervals the numbers `_DRAWN` are, clipped to [0, 1].
    ratio : float

    Returns
    -------
    dict of ndarray
        Each of shape (size,): ``loss`` over eta Delta sigma_2^2, and what draws the point.
    """
    real, size = np.longdouble, shares.shape[1]
    share = dict(zip(_DRAWN, np.clip(shares, 0.0, 1.0).astype(real), strict=True))
    second = 0.05 + 0.95 * share["second"]
    gap = 0.05 + (second - 0.05) * share["gap"]
    square = ratio * gap
    a = square + (2 - 1e-9 - square) * share["a"]
    room = np.minimum(second - gap / 2, 2 - a)
    b = room * np.stack([share["b1"], share["b2"]])
    eta = gap**2 / 16 * (0.02 + 0.98 * share["eta"])
    t, p = np.pi * share["angle"], np.pi * share["other"]
    U = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    V = np.array([[np.cos(p), -np.sin(p)], [np.sin(p), np.cos(p)]])
    leading = U * np.stack([np.sqrt(a), np.sqrt(square)])
    moment = np.einsum("ijn,jn,ljn->iln", V, b, V)
    moment[0, 0] += a
    moment[1, 1] += square
    grown = np.stack([np.ones(size, real), second])[:, None] * leading
    after = leading + eta / 2 * (grown - np.einsum("ijn,jln->iln", leading, moment))
    det = after[0, 0] * after[1, 1] - after[0, 1] * after[1, 0]
    total = np.sum(after**2, axis=(0, 1))
    largest = (total + np.sqrt(np.maximum(total**2 - 4 * det**2, 0))) / 2
    small = np.minimum(a, square)
    kept = (1 + eta * (second - b.max(axis=0) - small)) * small
    loss = (kept - det**2 / largest) / (eta * gap * small)
    return {
        "loss": loss, "second": second, "gap": gap, "a": a, "e": square, "b1": b[0], "b2": b[1],
        "angle": t, "other": p, "eta": eta,
    }  # fmt: skip


def _by_decade(budget, rng, loss, floor):
    """Decide from pairs of singular values, over decades of sigma_k^2/Delta from the floor on."""
    ratios = 10.0 ** np.arange(0, -11, -1.0) if floor == 0.0 else floor * 2.0 ** np.arange(6)
    rows, example = [], None
    for ratio in ratios:
        shares = rng.uniform(-0.2, 1.2, (len(_DRAWN), budget(2000, 10000, 100000)))
        for width in (0.1, 0.03, 0.01, 0.003, None):
            found = _pairs(shares, ratio)
            worst = int(np.argmax(found["loss"]))
            if width:  # around the worst, itself included
                around = width * rng.standard_normal(shares.shape)
                around[:, 0] = 0.0
                shares = np.clip(shares[:, [worst]], 0.0, 1.0) + around
        rows.append(float(found["loss"][worst]))
        if rows[-1] > loss + 1e-6 and example is None:
            plain = {name: float(values[worst]) for name, values in found.items()}
            example = {
                "lambda*": [1.0, plain["second"], plain["second"] - plain["gap"]],
                "eta": plain["eta"],
                "Theta_k": (
                    _rotation(plain["angle"]) * np.sqrt([plain["a"], plain["e"]])
                ).tolist(),
                "Theta_res": (
                    np.sqrt([[plain["b1"]], [plain["b2"]]]) * _rotation(plain["other"]).T
                ).tolist(),
                "sigma_k^2/Delta": float(ratio), "loss/(eta Delta sigma_k^2)": plain["loss"],
            }  # fmt: skip
    top = max(rows)
    above = [float(ratio) for ratio, row in zip(ratios, rows, strict=True) if row > loss + 1e-6]
    points = pd.DataFrame(
        {
            "panel": "worst loss in a step", "series": "searched",
            "x": ratios, "y": np.maximum(rows, 1e-6), "predicted": max(loss, 1e-6),
            "xlabel": r"$\sigma_k^2(\Theta_k)/\Delta$",
            "ylabel": r"loss/$(\eta\Delta\sigma_k^2)$",
        }
    )  # fmt: skip
    return Evidence(
        FAILS if above else HOLDS,
        f"the loss is up to {top:.3g} eta Delta sigma_k^2, {loss:g} allowed"
        + (f"; more from sigma_k^2 = {max(above):.0e} Delta downwards" if above else ""),
        measured=top,
        predicted=loss,
        n_trials=5 * len(ratios) * budget(2000, 10000, 100000),
        counterexample=example,
        name="pairs of singular values",
        points=points,
    )


def _lemma_A16(budget, rng, loss, floor):
    """Check (45), both lines, the families of pairs, and (46)."""

    def first(spectrum, eta, Theta):
        return _loss(spectrum, eta, Theta)[0], eta**2 * spectrum.first**3

    def second(spectrum, eta, Theta):
        lost, square = _loss(spectrum, eta, Theta)
        return lost / (eta * spectrum.gap * square), loss + 0 * square

    def largest(spectrum, eta, Theta):
        after = step(Theta, spectrum, eta)[: spectrum.k]
        return singular_values(after)[0], 2 * np.sqrt(spectrum.first)

    def search(sides, name, sizes_, smallest=None):
        return search_region(
            sides, budget, rng, limit=limit_of("lemma_A16"), shapes=sizes_, name=name,
            smallest=smallest, rest=lambda spectrum: 2.0 * spectrum.first,
        )  # fmt: skip

    few = budget((SEARCH_SHAPES[0], *ALIGNED), (*SEARCH_SHAPES[:5], *ALIGNED))
    least = (lambda spectrum: floor * spectrum.gap) if floor else anything
    return [
        _by_decade(budget, rng, loss, floor),
        search(second, "(45), second line, searched", few, least),
        search(first, "(45), first line, searched", few, anything),
        search(largest, "(46): sigma_1 at most 2 sqrt(lambda*_1)", few, anything),
    ]


_A16 = (
    r"\eta \le \tfrac{\Delta^2}{16\lambda_1^{*3}},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}%s:\ "
    r"\sigma_k^2(\Theta_k^+) \ge \big(1 + \eta(\lambda_k^* - \sigma_1^2(\Theta_{res}) -"
    r" \sigma_k^2(\Theta_k)) - \tfrac{\eta\Delta}4\big)\sigma_k^2(\Theta_k) -"
    r" 4\sqrt{\lambda_1^*}\sigma_1(R_k)"
)


@claim(
    "flute.lemmaA16",
    place="Lemma A.16, (45), (46)",
    kind="deterministic inequality",
    latex=_A16 % "",
    plain="In a step the weakest leading direction grows almost as if it were alone.",
    broken={"loss": -0.25},
)
def lemma_A16(budget, rng, *, loss=0.25, floor=0.0) -> Evidence:
    """Search with sigma_k(Theta_k) down to 0, by pairs of singular values and otherwise.

    The noise takes at most sigma_1(R_k) from sigma_k, so that (46) follows from
    sigma_k(tilde Theta) <= 2 sqrt(lambda*_1); tilde Theta^tau there is that of tau + 1.
    """
    parts = _lemma_A16(budget, rng, loss, floor)
    pairs, _, first, _ = parts
    return combine(
        parts,
        f"{pairs.sentence}. (45)'s first line: {first.sentence}; the second absorbs its "
        "eta^2 lambda*_1^3 in eta Delta sigma_k^2/4, which needs sigma_k^2 >= Delta/4: other "
        "directions take an amount of order eta^2 from the weakest, however small that is",
    )


@claim(
    "flute.lemmaA16.corrected",
    place="Lemma A.16, (45), (46)",
    kind="deterministic inequality",
    latex=_A16 % r",\ \sigma_k^2(\Theta_k) \ge \tfrac\Delta4",
    plain="Where sigma_k^2(Theta_k) >= Delta/4, the weakest leading direction grows as if alone.",
    broken={"loss": -0.25},
    corrects="flute.lemmaA16",
)
def lemma_A16_corrected(budget, rng, *, loss=0.25, floor=0.25) -> Evidence:
    """Check the same with the third condition of R among the assumptions."""
    return combine(_lemma_A16(budget, rng, loss, floor))


# Lemma A.8: the leading rows stay.


def _thinnest(spectrum):
    """Return the corner of R with least sigma_k(Theta_k) and most sigma_1(Theta_res)."""
    return corner(spectrum, last=0.25 * spectrum.gap, rest=spectrum.last - 0.5 * spectrum.gap)


def _from_thinnest(samples):
    """Return trials from that corner, until sigma_k(Theta_k) is less than it was."""
    return Trial(
        samples,
        "lemma_A8",
        _thinnest,
        lambda spectrum, state: sizes(state).leading >= np.sqrt(0.25 * spectrum.gap),
    )


def _leading_stays(budget, rng, floor):
    """Search for steps that leave sigma_k^2(Theta_k) >= floor Delta, at R = 0 and the worst R.

    That takes its whole size, eta Delta^2/(512 sqrt(lambda*_1)), from sigma_k(Theta_k).
    """

    def bare(spectrum, eta, Theta):
        return np.sqrt(floor * spectrum.gap), _thin(step(Theta, spectrum, eta), spectrum)

    def noisy(spectrum, eta, Theta):
        taken = eta * spectrum.gap**2 / (512 * np.sqrt(spectrum.first))
        left, right = bare(spectrum, eta, Theta)
        return left, right - taken

    def slack(spectrum, eta, Theta):
        square = np.minimum(_thin(Theta, spectrum) ** 2, floor * spectrum.gap)
        gained = _thin(step(Theta, spectrum, eta), spectrum) ** 2 - square
        return 1 / 32, gained / (eta * spectrum.gap**2)

    few = budget(SEARCH_SHAPES[1:4:2], SEARCH_SHAPES)

    def search(sides, place, name):
        return search_region(
            sides, budget, rng, limit=limit_of(place), shapes=few, name=name,
            smallest=lambda spectrum: floor * spectrum.gap,
        )  # fmt: skip

    return [
        search(bare, "lemma_A16", "R = 0, eta <= Delta^2/(16 lambda*_1^3)"),
        search(noisy, "lemma_A8", "worst R"),
        search(slack, "lemma_A8", "eta Delta^2/32 to spare at R = 0"),
    ]


def _lemma_A8(budget, rng, floor, samples):
    """Check the step, exits at small units of Phi, and the bound on R that the samples give."""
    cases = {}
    for constant in (1.0, 1e-2, 1e-4):
        noise = 20.0 / np.sqrt(constant)
        cases[constant] = [
            ({"n": d, "d": d, "k": k, "lambda*_1": s, "Delta": 0.4 * s, "noise": float(noise * s)},
             scaled_spectrum(flat_spectrum(d, k, noise), s))
            for d, k in ((5, 1), (10, 2)) for s in (1e-12, 1.0, 1e6)
        ]  # fmt: skip
    return [
        *_leading_stays(budget, rng, floor),
        _from_thinnest(samples).some_constant(
            cases, budget, rng, level=LEVEL, name="stays on samples, for some c_1"
        ),
        noise_allowed(
            samples, lambda s, eta: eta * s.gap**2 / (512.0 * np.sqrt(s.first)), "lemma_A8",
            (0.0,), "samples give the bound on R_k",
        ),
    ]  # fmt: skip


_A8 = (
    r"\eta \le \tfrac{\Delta^2}{32\lambda_1^{*3}},\ \Theta \in \mathcal R,\ \sigma_1(R_k) \le"
    r" \tfrac{\eta\Delta^2}{512\sqrt{\lambda_1^*}} \Rightarrow \sigma_k(\Theta_k^+) \ge"
    r" \tfrac{\sqrt\Delta}2; \quad \sqrt N \ge \max\Big\{\tfrac{\ell}{\sqrt{c_1}}, "
)


@claim(
    "flute.lemmaA8",
    place="Lemma A.8",
    kind="deterministic inequality",
    latex=_A8 + r"\tfrac{6144\sqrt{\lambda_1^*}S\ell}{\Delta\sqrt{c_1}}\Big\} \Rightarrow"
    r" \sigma_k(\Theta_k^\tau) \ge \tfrac{\sqrt\Delta}2,\ 1 - 2t\delta",
    plain="The leading rows of Theta stay above sqrt(Delta)/2.",
    broken={"floor": 0.6},
)
def lemma_A8(budget, rng, *, floor=0.25, samples=flute_samples.lemma_A8) -> Evidence:
    """Search R; compare the samples with (39) in several units; run from the thinnest corner."""
    parts = _lemma_A8(budget, rng, floor, samples)
    _, worst, slack, runs, bound = parts
    return combine(
        parts,
        f"worst R allowed: {worst.sentence}; at R = 0 there are {1 / 32 / slack.tightness:.4f} "
        "eta Delta^2 to spare. The number of samples changes with the unit of Phi, and is l^2/c_1 "
        "whatever the noise if Phi is small; (39) has lambda*_1/Delta^2 in place of "
        f"sqrt(lambda*_1)/Delta. R_k is bounded by up to {bound.measured:.3g} times what is needed "
        f"for the spectra of s >= 1; from the boundary {runs.sentence}",
    )


@claim(
    "flute.lemmaA8.corrected",
    place="Lemma A.8",
    kind="deterministic inequality",
    latex=_A8 + r"\tfrac{6144\lambda_1^*S\ell}{\Delta^2\sqrt{c_1}}\Big\} \Rightarrow"
    r" \sigma_k(\Theta_k^\tau) \ge \tfrac{\sqrt\Delta}2,\ 1 - 2t\delta",
    plain="The leading rows of Theta stay above sqrt(Delta)/2, with the samples of (39).",
    broken={"floor": 0.6},
    corrects="flute.lemmaA8",
)
def lemma_A8_corrected(
    budget, rng, *, floor=0.25, samples=flute_samples.lemma_A13_second
) -> Evidence:
    """Check the same with the samples of (39)."""
    return combine(_lemma_A8(budget, rng, floor, samples))


# Proposition A.9: the whole region.

GAPS = (0.5, 0.25, 0.1, 0.05)  # Delta/lambda*_1
# S is a sum, with and without noise: where noise is most of it, the constant can only stay.
_BASE = {"start": "thinnest", "delta": 0.1, "k": 2, "noise": 50.0, "d": 8}
_STARTS = {
    "thinnest": _thinnest,
    "full rest": lambda spectrum: corner(spectrum, rest=spectrum.last - 0.5 * spectrum.gap),
    "top": lambda spectrum: corner(spectrum, first=2.0 * spectrum.first),
}


def _narrow(delta, k, noise, d):
    """Return one with lambda*_1 = 1, Delta = delta, and lambda*_k - Delta/2 = .8 for k > 1."""
    middle = 0.5 - 0.25 * delta if k == 1 else 0.4
    values = [0.5] + [middle + 0.25 * delta] * (k - 1) + [middle - 0.25 * delta, 0.05]
    return Spectrum(np.array(values), d, d, k, noise)


def _needed(start, spectrum, truths, rng):
    """Return, for random truths, the samples with which a step stays in R with 95 %.

    For many samples: the singular value that the start has at its limit changes by u'Rv, which is
    normal, with the singular vectors u and v after the step without noise.
    """
    k = spectrum.k
    eta = step_size_limits(spectrum)["lemma_A8"]
    Theta = _STARTS[start](spectrum)
    after = step(Theta, spectrum, eta)
    rows, place, limit = {
        "thinnest": (slice(0, k), k - 1, 0.25 * spectrum.gap),
        "full rest": (slice(k, None), 0, spectrum.last - 0.5 * spectrum.gap),
        "top": (slice(None), 0, 2.0 * spectrum.first),
    }[start]
    left, values, right = np.linalg.svd(after[rows], full_matrices=False)
    u = np.zeros(len(Theta))
    u[rows] = left[:, place]
    quantile = norm.isf(FAILURE) / (values[place] - np.sqrt(limit))
    return np.array(
        [
            quantile**2 * spread(truth_of(spectrum, rng), Theta, eta, u, right[place])
            for _ in range(truths)
        ]
    )


def _region_kept(budget, rng):
    """Search for R of norm eta Delta^1.5/34 that takes Theta out of R."""

    def worst(spectrum, eta, Theta):
        size = eta * spectrum.gap**1.5 / 34
        after, k = step(Theta, spectrum, eta), spectrum.k
        return max(
            (singular_values(after)[0] + size) / np.sqrt(2 * spectrum.first),
            (singular_values(after[k:])[0] + size) / np.sqrt(spectrum.last - spectrum.gap / 2),
            np.sqrt(spectrum.gap / 4) / (_thin(after, spectrum) - size),
        ), 1  # fmt: skip

    return search_region(
        worst, budget, rng, limit=limit_of("lemma_A8"), shapes=shapes(budget),
        name="any R of norm eta Delta^1.5/34 keeps Theta in R",
    )  # fmt: skip


@claim(
    "flute.propositionA9",
    place="Proposition A.9",
    kind="sample-size threshold",
    latex=r"\Theta^0 \in \mathcal R,\ \sqrt N \ge c\,\frac{\sqrt{\lambda_1^*}\,S\ell}{\Delta^{3/2}}"
    r" \Rightarrow \Pr[\Theta^\tau \in \mathcal R,\ \tau \le t] \ge 1 - t\delta",
    plain="Theta stays in R with samples in proportion to lambda*_1 S^2 l^2/Delta^3.",
    broken={"power": 2.0},
)
def proposition_A9(budget, rng, *, power=3.0) -> Evidence:
    """Find the samples that one step from the boundary of R needs, and run on a multiple of them.

    Any R of norm eta Delta^1.5/34 keeps Theta in R, which is searched for; by Lemmas A.13 and A.14
    that takes sqrt(N) >= 408 sqrt(lambda*_1) S l/(Delta^1.5 sqrt(c_1)).
    """
    truths = budget(10, 40, 200)

    def unit(spectrum, **options):
        power_3 = flute_samples.proposition_A9(spectrum, **options)
        return power_3 * (spectrum.gap / spectrum.first) ** (3.0 - power)

    def draw(start, delta, k, noise, d):
        spectrum = _narrow(delta, k, noise, d)
        return _needed(start, spectrum, truths, rng) / unit(spectrum, failure=FAILURE)

    sweeps = {"delta": GAPS, "k": (1, 2, 4), "noise": (50.0, 500.0, 5e3, 5e4), "d": (8, 16, 32)}
    settings = [cell for start in _STARTS for cell in cells({**_BASE, "start": start}, **sweeps)]
    frame = table(settings, draw, truths)
    frame["1/delta"] = 1.0 / frame["delta"]
    needed = [
        _needed("thinnest", _narrow(delta, _BASE["k"], 1.0, _BASE["d"]), 4 * truths, rng)
        for delta in GAPS
    ]
    c = 2.0 * np.sqrt(frame["constant"].max())
    trial = Trial(
        lambda spectrum, failure, constant: unit(spectrum, failure=failure, constant=c),
        "lemma_A8", _thinnest, lambda spectrum, state: region(state, spectrum).full,
    )  # fmt: skip
    cases = [
        ({"Delta / lambda*_1": delta, "noise / lambda*_1": noise, "c": float(c)},
         _narrow(delta, 2, noise, 8), 1.0)
        for delta in (GAPS[0], GAPS[-1], 0.01) for noise in (0.0, 50.0)
    ]  # fmt: skip
    slope, constant, runs = decided(
        [
            lambda level: exponent(
                log_slope(1.0 / np.array(GAPS), needed, level=level, rng=rng), power,
                at_most=True, level=level, n_trials=4 * truths * len(GAPS),
                name="samples from the thinnest corner, in 1/Delta",
            ),
            lambda level: bounded_constant(
                frame, ["1/delta", "k", "noise", "d"], by=["start"], level=level, rng=rng,
                name="constant", label="$c^2$",
            ),
            lambda level: trial.decide(
                cases, budget, rng, steps=budget(2, 20), level=level, name="stays on samples"
            ),
        ]
    )  # fmt: skip
    narrow = _narrow(GAPS[-1], 2, 1.0, 8)
    ratio = flute_samples.lemma_A13_second(narrow) / flute_samples.proposition_A9(
        narrow, constant=408.0
    )
    return combine(
        [_region_kept(budget, rng), slope, constant, runs],
        f"samples grow with 1/Delta with {slope.sentence}; c up to "
        f"{np.sqrt(constant.tightness):.3g}. No step size is given: that of Lemma A.8. (39), by "
        f"which Lemma A.8 is proved, asks for {ratio:.3g} times the samples of c = 408 at Delta = "
        f"{GAPS[-1]:g} lambda*_1, in proportion to lambda*_1^2/Delta^4, which the proposition "
        "neither implies nor needs",
    )
