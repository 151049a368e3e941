"""Lemmas A.6, A.7 and A.15: how large Theta and its rest become in a step."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from linrep.claims import Cases, Fact, Identity, proved, statement
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import LOWER
from linrep.papers.flute import _checks
from linrep.papers.flute._common import (
    SEARCH_SHAPES,
    drawn,
    read_point,
    searched_region,
    singular_values,
    step,
)
from linrep.papers.flute._hypotheses import DRAWN
from linrep.papers.flute._runs import corner
from linrep.papers.flute.counterexamples import lemmaa6 as signs
from linrep.theory import flute_samples
from linrep.theory.flute import region

# Lemma A.6: the largest singular value.


def _with_noise(spectrum, **options):
    """Return (12 sqrt(2) S l/lambda*_1)^2/c_1, which bounds R by sqrt(2)/2 eta lambda*_1^1.5."""
    size = 8.0 * np.sqrt(2.0) * spectrum.first**1.5 / spectrum.gap
    return flute_samples.lemma_A13(spectrum, size, **options)


def _from_top(samples):
    """Return trials from sigma_1^2(Theta) = 2 lambda*_1."""
    return _checks.Trial(
        samples,
        "lemma_A6",
        lambda spectrum: corner(spectrum, first=2.0 * spectrum.first, last=2.0 * spectrum.first),
        lambda spectrum, state: singular_values(state)[..., 0] <= np.sqrt(2.0 * spectrum.first),
    )


def _signs(constant):
    """Compare the least probability of leaving in one step with 2 delta, exactly, for any c_1."""
    N = signs.samples(constant)
    where = {"n": 2, "d": 1, "k": 1, "c_1": float(constant), "N": N, "sigma": N, "delta": 0.01}
    return Cases(
        [(*signs.sides(constant), where)],
        name=f"one step on signs, c_1 = {float(constant):g}",
        quantity="probability of leaving",
        measured_is=LOWER,
    )


def _noisy(noises):
    """Yield settings and problems with noises over lambda*_1."""
    for d in (5, 20):
        for noise in noises:
            yield (
                {"d": d, "n": d, "k": 1, "noise / lambda*_1": noise},
                _checks.flat_spectrum(d, 1, noise),
            )


_A6 = (
    r"\eta \le \tfrac{2}{5\lambda_1^*},\ \Theta \in \mathcal R_s:\ \sigma_1(\Theta^+) \le \sigma_1"
    r"\big(1 + \tfrac\eta2\lambda_1^* - \tfrac\eta2\sigma_1^2\big) + \sigma_1(R) \le"
    r" \sqrt{2\lambda_1^*}\big(1 - \tfrac\eta2\lambda_1^*\big) + \sigma_1(R); \quad"
)
_STAYS = (
    r" \Rightarrow \Pr[\sigma_1(\Theta^\tau) \le \sqrt{2\lambda_1^*},\ \tau \le t] \ge 1-2t\delta"
)


@statement(
    "flute.lemmaA6",
    place="Lemma A.6",
    hypotheses=DRAWN,
    latex=_A6 + r"\sqrt N \ge \tfrac{12\sqrt2}{\sqrt{c_1}}\sqrt{dk + k\log\tfrac1\delta}" + _STAYS,
    plain="Theta stays below sqrt(2 lambda*_1), with enough samples whatever the noise.",
    negative_control={"drop": 1.0},
    stronger={"drop": 1, "limit": 1, "asked": -1},
)
def lemma_A6(budget, rng, *, drop=0.5, limit=1.0, asked=1.0, samples=flute_samples.lemma_A6):
    """Search R_s up to the step size's limit; start runs on samples at the boundary."""

    def lhs_rhs(spectrum, eta, Theta):
        before, after = (singular_values(A)[0] for A in (Theta, step(Theta, spectrum, eta)))
        first = before * (1 + eta * (spectrum.first - before**2) / 2)
        return after, min(first, np.sqrt(2 * spectrum.first) * (1 - drop * eta * spectrum.first))

    yield searched_region(
        lhs_rhs,
        budget,
        rng,
        limit=_checks.limit_of("lemma_A6", limit),
        shapes=_checks.shapes(budget),
        smallest=_checks.anything,
        name="without noise",
    )
    # The first bound is monotone up to (2 + q)/(3 q), with lambda*_1 = 1 and q = eta.
    shares = [Fraction(limit) * Fraction(2 * i, 5 * 50) for i in range(1, 51)]
    yield Cases(
        [(2.0, float((2 + q) / (3 * q)), {"eta lambda*_1": float(q)}) for q in shares],
        name="monotone on [0, sqrt(2 lambda*_1)]",
        quantity="sigma_1^2(Theta)/lambda*_1",
    )
    # Each c_1 is outgrown by some noise; a smaller one asks for more samples.
    noises = {1.0: _checks.NOISES, 1e-2: (0.0, 500.0), 1e-4: (0.0, 5000.0)}
    yield _from_top(samples).exits_by_constant(
        {constant: list(_noisy(given)) for constant, given in noises.items()},
        budget,
        rng,
        name="stays on samples, for some c_1",
    )
    if samples is flute_samples.lemma_A6:
        for constant in (Fraction(1), Fraction(1, 4)):
            yield _signs(constant)
    yield _checks.noise_bounds(
        _checks.fewer(samples, asked),
        lambda s, eta: np.sqrt(0.5) * eta * s.first**1.5,
        "lemma_A6",
        _checks.NOISES,
        "samples give the bound on R",
    )


lemma_A6.corrected(
    "flute.lemmaA6.corrected",
    latex=_A6 + r"\sqrt N \ge \tfrac{12\sqrt2\,S\ell}{\lambda_1^*\sqrt{c_1}}" + _STAYS,
    plain="Theta stays below sqrt(2 lambda*_1), with samples in proportion to S^2/lambda*_1^2.",
    constants={"samples": _with_noise},
    negative_control={"drop": 1.0},
)


# Lemma A.7: the rest stays.


def _from_full_rest(samples):
    """Return trials from sigma_1^2(Theta_res) = lambda*_k - Delta/2 and sigma_k(Theta_k) = 0."""
    return _checks.Trial(
        samples,
        "lemma_A7",
        lambda spectrum: corner(spectrum, last=0.0, rest=spectrum.last - 0.5 * spectrum.gap),
        lambda spectrum, state: region(state, spectrum).rest >= 0.0,
    )


@statement(
    "flute.lemmaA7",
    place="Lemma A.7, (20), (21)",
    hypotheses=DRAWN,
    latex=r"\eta \le \tfrac{1}{6\lambda_1^*},\ \Theta \in \mathcal R_s:\ \sigma_1(\Theta_{res}^+)"
    r" \le \sqrt{\lambda_k^* - \tfrac\Delta2}\,\big(1 - \tfrac{\eta\Delta}4\big) + \sigma_1(R);"
    r"\quad \sqrt N \ge \max\Big\{\tfrac{\ell}{\sqrt{c_1}}, \tfrac{48\sqrt{\lambda_1^*}S\ell}"
    r"{\Delta\sqrt{c_1(\lambda_k^* - \Delta/2)}}\Big\} \Rightarrow \text{stays},\ 1 - 2t\delta",
    plain="The remainder of Theta stays below sqrt(lambda*_k - Delta/2).",
    negative_control={"drop": 0.5},
    stronger={"drop": 1, "limit": 1, "asked": -1},
)
def lemma_A7(budget, rng, *, drop=0.25, limit=1.0, asked=1.0):
    """Search R_s; check the side inequality and the constant 48; run on samples from the boundary.

    The proof also uses sigma_1(Theta) <= sqrt(2 lambda*_1) at every step, hence Lemma A.6.
    """

    def lhs_rhs(spectrum, eta, Theta):
        after = singular_values(step(Theta, spectrum, eta)[spectrum.k :])[0]
        full = np.sqrt(spectrum.last - spectrum.gap / 2)
        return after, full * (1 - drop * eta * spectrum.gap)

    yield searched_region(
        lhs_rhs,
        budget,
        rng,
        limit=_checks.limit_of("lemma_A7", limit),
        shapes=_checks.shapes(budget),
        smallest=_checks.anything,
        name="(20), without noise",
    )
    # lambda*_1 = 1, lambda*_k = a, lambda*_k+1 = b: the bound is monotone up to (2 + q b)/(3 q).
    grid = [(Fraction(i, 20), Fraction(j, 20)) for i in range(1, 21) for j in range(i)]
    eta, monotone = Fraction(1, 6), []
    for a, b in grid:
        where = {"lambda*_k": float(a), "lambda*_k+1": float(b)}
        largest = 2 / (3 * a + b)
        monotone.append((float(eta), float(largest), where))
        for q in (eta, eta / 50, largest):
            top = float((2 + q * b) / (3 * q))
            monotone.append((float((a + b) / 2), top, {**where, "eta": float(q)}))
    yield Cases(monotone, name="1/(6 lambda*_1) <= 2/(3 lambda*_k + lambda*_k+1), monotone")
    yield _checks.noise_bounds(
        _checks.fewer(flute_samples.lemma_A7, asked),
        lambda s, eta: 0.25 * eta * s.gap * np.sqrt(s.last - 0.5 * s.gap),
        "lemma_A7",
        _checks.NOISES,
        "(21): 48 gives the bound on R",
    )
    cases = [
        (
            {"n": n, "d": d, "k": k, "noise / lambda*_1": noise, "Delta / lambda*_1": ratio},
            _checks.flat_spectrum(d, k, noise, n=n, ratio=ratio),
            1.0,
        )
        for n, d, k, ratio in ((5, 5, 1, 0.4), (5, 5, 1, 0.05), (10, 5, 2, 0.4), (5, 20, 2, 0.9))
        for noise in (0.0, 50.0)
    ]
    yield _from_full_rest(flute_samples.lemma_A7).exits(
        cases, budget, rng, steps=budget(5, 20), name="stays on samples, c_1 = 1"
    )
    shares = [
        flute_samples.lemma_A7(spectrum) / needed(spectrum)
        for _, spectrum in _checks.cases_in_units(_checks.NOISES)
        for needed in (_with_noise, flute_samples.lemma_A6)
    ]
    yield Fact("least samples over those of Lemma A.6, printed or corrected", float(min(shares)))


# Lemma A.15: a step of the rest.


def _everything(spectrum):
    return 2.0 * spectrum.first


def _thirds(spectrum, eta, Theta):
    """Return the three summands of Theta_res^+ in (41), and what (42) to (44) bound them by."""
    leading, rest = Theta[: spectrum.k], Theta[spectrum.k :]
    values = spectrum.eigenvalues[spectrum.k :, None].astype(Theta.dtype)
    size, thin = singular_values(rest)[0], singular_values(leading)[-1]
    return [
        (rest / 2 - eta / 2 * rest @ (rest.T @ rest), size / 2 - eta / 2 * size**3),
        ((1 / 4 + eta / 2 * values) * rest, (1 / 4 + eta / 2 * spectrum.next) * size),
        (rest / 4 - eta / 2 * rest @ (leading.T @ leading), (1 / 4 - eta / 2 * thin**2) * size),
    ]


def _largest_step(index):
    """Return the last of some eta with which the bound on a summand holds at its hardest point.

    For (42), Theta_res = diag(sqrt(2), 1/sqrt(3 eta)), where its left side is largest; for (44),
    Theta_k = sqrt(2); lambda*_1 = 1.
    """
    k = 2 if index == 0 else 1
    spectrum = _checks.flat_spectrum(4, k, 0.0)
    for q in np.linspace(1 / 6, 1, 501):
        Theta = np.zeros((8, k))
        if index == 0:
            Theta[[2, 3], [0, 1]] = np.sqrt([2.0, min(2.0, 1 / (3 * q))])
        else:
            Theta[:2, 0] = np.sqrt(2.0), 1e-6
        summand, bound = _thirds(spectrum, q, Theta)[index]
        if singular_values(summand)[0] > bound * (1 + 1e-9):
            break
        passed = q
    return float(passed)


def _splits(budget, rng):
    """Yield how far the sum of (41) is from the step: as read, with Lambda, with Theta^(tau-1)."""
    read = partial(read_point, rest=_everything, limit=_checks.limit_of("lemma_A15"))
    for shape in SEARCH_SHAPES:
        for _ in range(budget(10, 50)):
            spectrum, eta, before = drawn(read, shape, rng)
            Theta, k = step(before, spectrum, eta), spectrum.k
            rest, scale = Theta[k:], np.linalg.norm(Theta)
            total = sum(part for part, _ in _thirds(spectrum, eta, Theta))
            halved = total - eta / 4 * spectrum.eigenvalues[k:, None] * rest
            late = total - eta / 2 * rest @ rest.T @ (before[k:] - rest)
            after = step(Theta, spectrum, eta)[k:]
            yield shape, [np.linalg.norm(A - after) / scale for A in (total, halved, late)]


@statement(
    "flute.lemmaA15",
    place="Lemma A.15, (41)-(44)",
    latex=r"\eta \le \tfrac1{6\lambda_1^*},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}:\quad"
    r" \sigma_1(\Theta_{res}^+) \le \big(1 + \tfrac\eta2(\lambda_{k+1}^* -"
    r" \sigma_1^2(\Theta_{res}) - \sigma_k^2(\Theta_k))\big)\sigma_1(\Theta_{res}) +"
    r" \sigma_1(R_{res})",
    plain="In a step the remainder of Theta grows at most as if all its directions were the worst "
    "one.",
    negative_control={"leading": 1.5},
    stronger={"leading": 1, "limit": 1},
)
def lemma_A15(budget, rng, *, leading=1.0, limit=1.0):
    """Search for violations of the lemma and of its three summands.

    R only adds its norm.
    """

    def whole(spectrum, eta, Theta):
        after = singular_values(step(Theta, spectrum, eta)[spectrum.k :])[0]
        size = singular_values(Theta[spectrum.k :])[0]
        thin = singular_values(Theta[: spectrum.k])[-1]
        return after, (1 + eta / 2 * (spectrum.next - size**2 - leading * thin**2)) * size

    def part(index):
        def lhs_rhs(spectrum, eta, Theta):
            summand, bound = _thirds(spectrum, eta, Theta)[index]
            return singular_values(summand)[0], bound

        return lhs_rhs

    def search(lhs_rhs, name, sizes):
        return searched_region(
            lhs_rhs,
            budget,
            rng,
            limit=_checks.limit_of("lemma_A15", limit),
            shapes=sizes,
            name=name,
            smallest=_checks.anything,
            rest=_everything,
        )

    splits = list(_splits(budget, rng))
    yield proved(search(whole, "the lemma", _checks.shapes(budget)))
    exact = [(found[0], shape) for shape, found in splits]
    yield Identity(exact, 1e-12, name="(41) with Theta^tau", strength=PROVED)
    for i in range(3):
        sizes = budget(SEARCH_SHAPES[1:3], SEARCH_SHAPES[:4])
        yield proved(search(part(i), f"({42 + i})", sizes))
    _, halved, late = np.array([numbers for _, numbers in splits]).max(axis=0)
    for index in (0, 2):
        name = f"largest eta lambda*_1 with which ({42 + index}) holds"
        yield Fact(name, _largest_step(index), value_is=LOWER)
    yield Fact("relative error of (41) with Theta^(tau-1), as printed", float(late))
    yield Fact("relative error of (41) with Lambda_res, as (43) has it", float(halved))
