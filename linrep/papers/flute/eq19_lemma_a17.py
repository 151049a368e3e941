"""Appendix A.2.1: one step towards the region, (19), and Lemma A.17 on the rest."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from linrep.algorithms import flute
from linrep.claims import Cases, Fact, Frequency, Identity, proved, statement
from linrep.papers.flute import _common, _entering
from linrep.papers.flute._hypotheses import DRAWN, POPULATION
from linrep.papers.flute.counterexamples import eq19_display as printed
from linrep.theory.flute import Spectrum, sizes, step_size_limits
from linrep.theory.flute_lift import lower
from linrep.theory.flute_samples import discrepancy_bound, lemma_A13, lemma_A17

ROUNDING = 1e-9

# (19): sigma_k(Theta_k) after a step without noise.


class _Block(_common.Point):
    """A point whose Theta is Theta_k alone."""

    @property
    def leading(self):
        return np.linalg.svd(self.Theta, compute_uv=False)[-1]

    @property
    def unit(self):
        """Return eta Delta."""
        return self.step_size * self.spectrum.gap


def _read_block(reader, shape, whole=1.0, step=1.0):
    """Return a Theta_k with sigma_1^2 <= whole * lambda*_1 = whole and sigma_k^2 <= Delta/4."""
    k, spectrum = shape["k"], _common.read_spectrum(reader, shape)
    eta = step * step_size_limits(spectrum)["lemma_A5_proof"] * reader.between(0.1, 1.0)
    least = 0.5 * np.sqrt(spectrum.gap) * reader.between(1e-5, 1.0, logarithmic=True)
    others = [reader.between(least, np.sqrt(whole)) for _ in range(k - 1)]
    left, right = reader.frame(k, k), reader.frame(k, k)
    return _Block(spectrum, eta, (left * np.array([*others, least])) @ right.T)


def _moved(block):
    """Return Theta_k + (eta/2) Lambda_k Theta_k - (eta/2) Theta_k Theta_k' Theta_k."""
    k = block.spectrum.k
    only = np.vstack([block.Theta, np.zeros((2 * block.spectrum.size - k, k))])
    return _common.step(only, block.spectrum, block.step_size)[:k]


def _rest_term(block):
    """Return the most that (eta/2) sigma_1(Theta_k Theta_res' Theta_res) can be.

    For sigma_1^2(Theta_res) at its limit Delta sigma_k/(8 sqrt(lambda*_1)).
    """
    square = block.spectrum.gap * block.leading / (8.0 * math.sqrt(block.spectrum.first))
    return 0.5 * block.step_size * np.linalg.norm(block.Theta, 2) * square


def _search_19(budget, rng, whole, loss, step):
    """Search for violations of (19); compared is what it loses, in eta Delta sigma_k."""

    def sides(block):
        after = np.linalg.svd(_moved(block), compute_uv=False)[-1] - _rest_term(block)
        lost = 1.0 + 0.5 * block.step_size * block.spectrum.last - after / block.leading
        return lost / block.unit, loss

    return _common.searched(
        sides,
        _common.SEARCH_SHAPES[:: budget(2, 1)],
        partial(_read_block, whole=whole, step=step),
        budget,
        rng,
        name=f"sigma_1^2(Theta) <= {whole:g} lambda*_1",
    )


_EQ19 = (
    r"\sigma_k\big(\Theta_k+\tfrac\eta2\tilde\Lambda_k\Theta_k-\tfrac\eta2\Theta_k\Theta_k^\top"
    r"\Theta_k\big)-\tfrac\eta2\sigma_1(\Theta_k\Theta_{res}^\top\Theta_{res}) \ge"
    r" \big(1+\tfrac{\eta\lambda^*_k}2-\tfrac{71}{288}\eta\Delta\big)\sigma_k(\Theta_k)"
)


@statement(
    "flute.eq19",
    place="Lemma A.5, (19)",
    latex=r"\eta \le \tfrac{\Delta^2}{18\lambda_1^{*3}},\; \sigma_k^2(\Theta_k) \le \tfrac\Delta4,"
    r"\; \sigma_1^2(\Theta_{res}) \le \tfrac{\Delta\sigma_k}{8\sqrt{\lambda^*_1}},"
    r"\; \sigma_1^2(\Theta) \le 2\lambda^*_1 \;\Rightarrow\; " + _EQ19,
    plain="A step without noise multiplies sigma_k by at least 1 + eta lambda*_k/2 - 71 eta "
    "Delta/288.",
    hypotheses=POPULATION,
    negative_control={"loss": 50.0 / 288.0},
    stronger={"loss": -1, "step": 1},
)
def eq19(budget, rng, *, loss=71.0 / 288.0, step=1.0):
    """Search with sigma_1^2(Theta) <= lambda*_1, as in Claim A.3, and 2 lambda*_1, as in R_s."""
    for whole in (2.0, 1.0):
        found = proved(_search_19(budget, rng, whole, loss, step))
        yield found
        yield Fact(f"largest loss for {found.name}", loss * found.tightest, "eta Delta")


def _decomposition(budget, rng):
    """Search for violations of the first line, Lemma D.4 of Jiang et al. as it is quoted.

    What is compared is small next to rounding for small sigma_k: hits are confirmed.
    """

    def lhs_rhs(block, dtype):
        k, eta = block.spectrum.k, dtype(block.step_size)
        Theta, values = block.Theta.astype(dtype), block.spectrum.eigenvalues.astype(dtype)
        least = _common.singular_values(Theta)[-1]
        mixed = _common.singular_values(values[:k, None] * (Theta.T @ Theta))[0]
        bound = (1 - eta**2 / 2 * mixed) * (1 + eta / 2 * values[k - 1])
        bound *= 1 - eta / 2 * least**2
        only = np.vstack([Theta, np.zeros((len(values) - k, k), dtype)])
        after = (
            _common.singular_values(_common.step(only, block.spectrum, block.step_size)[:k])[-1]
            / least
        )
        base, unit = 1 + eta / 2 * values[k - 1], eta * dtype(block.spectrum.gap)
        return 1 + (bound - base) / unit, 1 + (after - base) / unit

    return _common.searched(
        _common.confirmed(lhs_rhs),
        _common.SEARCH_SHAPES[:: budget(3, 2)],
        _read_block,
        budget,
        rng,
        name="first line",
    )


def _implication(budget, rng, middle, tail, loss):
    """Search for (eta, Delta, lambda*) where the last line of the display is less than (19)."""

    def read(reader, shape):
        last = reader.between(1e-4, 1.0, logarithmic=True)
        gap = last * reader.between(1e-4, 1.0, logarithmic=True)
        return gap**2 / 18.0 * reader.between(1e-6, 1.0, logarithmic=True), gap, last

    def sides(numbers):
        eta, gap, last = numbers
        # Expanded, as what is compared is small: what each side loses, in eta Delta.
        p, q = 0.5 * eta, 0.5 * eta * last  # eta^2 lambda_1^2/2 = p eta
        lost = p * (1.0 + q) * (1.0 - middle * eta * gap) / gap + middle * (1.0 + q) + tail
        return lost, loss

    return _common.searched(
        sides, [{"variables": 3}], read, budget, rng, name="last line implies (19)"
    )


def _exact_implication(middle, tail, loss):
    """Compare the display's last line with (19) in fractions, lambda*_1 = lambda*_k = Delta."""
    cases = [
        (
            *printed.sides(eta, middle, tail, loss),
            {"lambda*_1 = lambda*_k = Delta": 1, "eta": str(eta)},
        )
        for eta in (Fraction(1, 18), Fraction(1, 1800))
    ]
    return Cases(cases, name="last line implies (19), exactly", quantity="(19), and the last line")


def _kept_small(budget, rng):
    """Search for a step from sigma_1^2(Theta) <= lambda*_1 that leaves that range."""

    def sides(point):
        after = sizes(_common.step(point.Theta, point.spectrum, point.step_size)).whole
        return after, math.sqrt(point.spectrum.first)

    return _common.searched(
        sides,
        _common.SEARCH_SHAPES[:: budget(3, 2)],
        partial(
            _common.read_point,
            limit=lambda s: step_size_limits(s)["lemma_A5"],
            smallest=lambda s: 1e-6 * s.gap,
            largest=lambda s: s.first,
        ),
        budget,
        rng,
        name="sigma_1^2(Theta) <= lambda*_1 is kept",
    )


@statement(
    "flute.eq19.display",
    place="Lemma A.5, display before (19)",
    latex=r"\big(1-\tfrac{\eta^2\lambda_1^{*2}}2\big)\big(1+\tfrac{\eta\lambda^*_k}2\big)"
    r"\big(1-\tfrac{\eta\Delta}4\big)-\tfrac{\eta\Delta}8 \ge"
    r" 1+\tfrac{\eta\lambda^*_k}2-\tfrac{71}{288}\eta\Delta",
    plain="The display before (19), line by line, implies (19).",
    hypotheses=POPULATION,
    negative_control={"middle": 0.5},
)
def eq19_display(budget, rng, *, middle=0.25, tail=0.125, loss=Fraction(71, 288)):
    """Search for violations of each step of the display, with what its hypotheses give."""

    def mixed(block):
        leading = block.spectrum.eigenvalues[: block.spectrum.k, None]
        return np.linalg.norm(leading * (block.Theta.T @ block.Theta), 2), block.spectrum.first**2

    def factor(block):
        return 0.5 * block.leading**2, middle * block.spectrum.gap

    def rest(block):
        return _rest_term(block), tail * block.unit * block.leading

    yield _exact_implication(middle, tail, loss)
    yield _kept_small(budget, rng)
    yield _decomposition(budget, rng)
    for name, sides in (
        ("sigma_1(Lambda_k Theta_k' Theta_k) <= lambda*_1^2", mixed),
        ("factor 1 - eta sigma_k^2/2", factor),
        ("term of Theta_res", rest),
    ):
        yield _common.searched(
            sides, _common.SEARCH_SHAPES[:: budget(3, 2)], _read_block, budget, rng, name=name
        )
    yield _implication(budget, rng, float(middle), float(tail), float(loss))


eq19_display.corrected(
    "flute.eq19.display.corrected",
    latex=r"\ge \big(1-\tfrac{\eta^2\lambda_1^{*2}}2\big)\big(1+\tfrac{\eta\lambda^*_k}2\big)"
    r"\big(1-\tfrac{\eta\Delta}8\big)\sigma_k-\tfrac{\eta\Delta}{16}\sigma_k \ge"
    r" \big(1+\tfrac{\eta\lambda^*_k}2-\tfrac{71}{288}\eta\Delta\big)\sigma_k",
    plain="With 1/8 and 1/16 in place of 1/4 and 1/8 the display before (19) holds and implies "
    "(19).",
    constants={"middle": 0.125, "tail": 0.0625},
    negative_control={"tail": 0.05},
    stronger={"middle": -1, "tail": -1, "loss": -1},
)


# Lemma A.17.


def _search_rest(budget, rng, share):
    """Search for a step without noise that adds more than share * eta Delta to the rest's growth.

    A step is enough: none leaves sigma_1^2(Theta) <= 2 lambda*_1, which is Lemma A.6's.
    """

    def sides(point):
        before = sizes(point.Theta).rest
        if before < 1e-3:
            return None
        after = sizes(_common.step(point.Theta, point.spectrum, point.step_size)).rest
        growth = (after / before - 1.0) / point.step_size
        # Both are made positive, which they are not for small eigenvalues.
        return growth + 2.0, 2.0 + 0.5 * point.spectrum.next + share * point.spectrum.gap

    return _common.searched(
        sides,
        _common.SEARCH_SHAPES[1 : budget(4, None) : budget(2, 1)],
        partial(
            _common.read_point,
            limit=lambda s: step_size_limits(s)["lemma_A17"],
            smallest=lambda s: 1e-12 * s.gap,
            rest=lambda s: 2.0 * s.first,
        ),
        budget,
        rng,
        name="R = 0, without the eighth of Delta",
    )


def _starts_for_noise(budget, rng, spectrum):
    """Yield random Theta of three sizes, and one where only row k + 1 has anything in the rest."""
    for unit in _entering.gaussian_lifts(spectrum, budget(1, 8), rng):
        unit *= math.sqrt(2.0 * spectrum.first) / sizes(unit).whole
        for alpha in (1e-6, 1e-2, 1.0):
            yield alpha * unit
        alone = 1e-6 * unit
        alone[spectrum.k + 1 :] = 0.0
        yield alone


def _noisy_cases(budget, rng, share, pairs, longest=3000):
    """Yield cases of the bound with R as large as (47) lets it be, along Theta_res."""
    for setting, spectrum in pairs:
        eta, k = step_size_limits(spectrum)["lemma_A17"], spectrum.k
        rate = np.log1p(eta * (0.5 * spectrum.next + share * spectrum.gap))
        for Theta in _starts_for_noise(budget, rng, spectrum):
            start = _entering.Start(spectrum, eta, Theta, 1.0)
            U, values, VT = np.linalg.svd(Theta[k:], full_matrices=False)
            # The top singular direction itself, and row k + 1 with it, which grows most.
            along = np.outer(U[:, 0], VT[0])
            upward = np.zeros_like(along)
            upward[0] = math.copysign(1.0, U[0, 0]) * VT[0]
            for direction in (along, upward):
                R = np.vstack([np.zeros((k, k)), direction])
                R *= 0.125 * eta * spectrum.gap * values[0]
                found = _entering.course(start, np.geomspace(1, longest, 40).round(), R)
                excess = np.log(found.rest / values[0]) - found.t * rate
                worst = int(np.argmax(excess))
                where = {**setting, **start.plain(), "R": R.tolist(), "t": int(found.t[worst])}
                yield float(np.exp(excess[worst])), 1.0 + ROUNDING, where


def _constant_96():
    """Compare the bound on R at (47), from (38), with eta Delta sigma_1(Theta_res)/8."""
    cases = []
    for setting, spectrum in _common.spectra(noise=0.3):
        for rest in (1e-6, 1e-3):
            for c in (0.01, 1.0):
                eta = step_size_limits(spectrum)["lemma_A17"]
                m = lemma_A17(spectrum, rest, constant=c)
                bound = math.sqrt(2.0) * discrepancy_bound(spectrum, m, step_size=eta, constant=c)
                from_38 = lemma_A13(spectrum, 2.0 * rest, constant=c)
                off = abs(bound / (0.125 * eta * spectrum.gap * rest) - 1.0)
                cases.append((float(max(off, abs(from_38 / m - 1.0))), setting))
    return Identity(cases, 1e-12, name="96 from (38)'s 192")


def _same_samples():
    """Compare N of (47) for s Phi, s noise and sqrt(s) Theta with that for s = 1."""
    cases = []
    for setting, spectrum in _common.spectra(shapes=("d < n",), noise=0.3):
        usual = lemma_A17(spectrum, 1e-3)
        for s in _common.SCALES[1:]:
            found = lemma_A17(_common.scaled_spectrum(spectrum, s), 1e-3 * math.sqrt(s))
            cases.append((abs(math.log(found / usual)), {**setting, "s": float(s)}))
    return Identity(
        cases, 1e-9, name="(47) in every unit of Phi", quantity="shift of the logarithm of N"
    )


def _runs(spectrum, alpha, samples, trials, rng, share):
    """Return how many runs on data violate the bound while the others grow, of how many."""
    eta, bad = step_size_limits(spectrum)["lemma_A17"], 0
    rate = np.log1p(eta * (0.5 * spectrum.next + share * spectrum.gap))
    truth = _entering.diagonal_truth(spectrum)
    steps = int(2.0 * np.log(1.0 / alpha) / (eta * spectrum.last))
    for unit in _entering.gaussian_lifts(spectrum, trials, rng):
        rest = float(sizes(alpha * unit).rest)
        data = _entering.compressed(truth, samples(rest, steps), rng)
        trace = flute(
            data,
            k=spectrum.k,
            step_size=eta,
            rounds=steps,
            start=lower(truth, alpha * unit),
            record=max(1, steps // 8),
            spectrum=True,
        )
        bound = np.log(rest) + trace.recorded * rate
        bad += bool(np.any(np.log(trace["sigma_res"]) > bound + ROUNDING))
    return bad, trials


@statement(
    "flute.lemmaA17",
    place="Lemma A.17, (47)",
    latex=r"\eta \le \tfrac1{6\lambda^*_1},\; \sigma_1(\Theta^0) \le \sqrt{2\lambda^*_1},\;"
    r" N \text{ as (47)} \;\Rightarrow\; \sigma_1(\Theta_{res}^\tau) \le"
    r" \big(1+\tfrac{\eta\lambda^*_{k+1}}2+\tfrac{\eta\Delta}8\big)^\tau\sigma_1(\Theta_{res}^0)",
    plain="In each step the norm of the remainder grows at most by the factor 1 + eta "
    "lambda*_{k+1}/2 + eta Delta/8.",
    hypotheses=DRAWN,
    negative_control={"share": 0.1},
    stronger={"share": -1},
)
def lemmaA17(budget, rng, *, share=0.125):
    """Search steps without noise, iterate with the largest noise, and run on data at (47).

    Without noise the eighth of Delta is not needed. For k = n = d, where eigenvalue k + 1 is
    negative, noise may exceed the bound.
    """
    spectrum = Spectrum(np.array([1.0, 0.9, 0.3, 0.1]), 6, 4, 2, 1.0)
    alpha = 1e-3

    def at_47(rest, steps):
        # t delta = 1/4: 1 - c t delta is neither certain nor void at c = 1.
        return lemma_A17(spectrum, rest, failure=0.25 / steps)

    bad, trials = _runs(spectrum, alpha, at_47, budget(45, 200), rng, share)
    usual = _common.spectra(shapes=("d < n",), names=("gap", "flat"), ranks=budget((2,), (1, 2, 3)))
    yield _search_rest(budget, rng, min(share, share - 0.125))
    yield Cases(
        _noisy_cases(budget, rng, share, usual),
        name="largest noise, along Theta_res",
        quantity="sigma_1(Theta_res) over its bound",
    )
    yield _constant_96()
    yield _same_samples()
    yield Frequency(
        bad,
        trials,
        0.25,
        name="data, N as (47)",
        setting={"singular values": spectrum.singular_values.tolist(), "k": 2, "alpha": alpha},
    )
    square = Spectrum(np.array([1.0, 0.9]), 2, 2, 2)
    worst = max(case[0] for case in _noisy_cases(budget, rng, share, [({}, square)], 20))
    yield Fact("largest sigma_1(Theta_res) over its bound at k = n = d, 20 steps", worst)
    bad, trials = _runs(spectrum, 1e-8, lambda rest, steps: 1e4, budget(10, 100), rng, share)
    yield Fact("share of runs that violate it with N = 10^4, alpha = 10^-8", bad / trials)
