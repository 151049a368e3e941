"""Theorem 5.1: how many samples per client and rounds FLUTE takes."""

from __future__ import annotations

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Constant, Exponent, Fact, Frequency, statement
from linrep.claims.quantities import UPPER
from linrep.claims.tables import table
from linrep.papers.flute import _data
from linrep.papers.flute._hypotheses import ASSUMPTIONS, DRAWN, SMALL_ERROR, SMALL_START
from linrep.papers.flute.counterexamples import theorem5_1 as small
from linrep.theory import flute_samples
from linrep.theory.flute import Spectrum

FAILURE = 0.2  # delta
_VALUES, _RANK = (1.0, 0.9, 0.3, 0.1), 2
#: More spectra, with their ranks: a small gap, one model that leads, next to flat ones.
_OTHERS = (
    ((1.0, 0.9, 0.7, 0.5), 3),
    ((1.0, 0.2, 0.1), 1),
    ((1.0, 0.8, 0.2, 0.15), 2),
    ((1.0, 1.0, 0.4), 2),
)
_SCALES = (1e-6, 1e-4, 1e-2, 1.0, 1e3, 1e6)
_SHAPES = ((10, 10), (40, 5), (5, 40))
_PROOF = 1600.0  # c' of the proof: 400, and 4 for lambda*_1^2 in place of lambda_1^2


def _population_run(truth, k, alpha, rng, longer=1.0):
    """Run FLUTE with N = oo for the rounds asked for; return the error over epsilon, and more."""
    spectrum = Spectrum.of(truth, k)
    eta, tolerance = _data.largest_step(spectrum), 0.01 * spectrum.first
    t = flute_samples.theorem_5_1_rounds(spectrum, tolerance, step_size=eta, constant=_PROOF)
    rounds = int(np.ceil(longer * t))
    trace = lr.flute(
        truth,
        k=k,
        batches="population",
        step_size=eta,
        scale=alpha,
        rounds=rounds,
        record=[rounds],
        rng=rng,
    )
    kept = trace.stop_reason != "diverged"
    error = float(trace["client_error"][-1]) if kept else np.inf
    return error / tolerance, {
        "singular values": truth.singular_values[truth.singular_values > 0.0].tolist(),
        "k": k,
        "n": truth.n,
        "d": truth.d,
        "alpha": alpha,
        "rounds": rounds,
        "error": error if kept else "diverged",
        "epsilon": tolerance,
    }


def _start(budget, rng, unit) -> Cases:
    """Run the population from the largest start allowed, in several units of Phi."""
    settings = [
        (scale, *shape, _VALUES, _RANK)
        for scale in _SCALES
        for shape in budget(_SHAPES[:1], _SHAPES)
    ]
    settings += [
        (scale, 10, 8, *other)
        for other in budget(_OTHERS[1:2], _OTHERS)
        for scale in budget((1.0,), (1e-6, 1.0, 1e6))
    ]
    cases = []
    for scale, n, d, values, k in settings:
        # More draws of the start, and once for longer.
        for longer in (1.0,) * budget(1, 3, 20) + (3.0,) * (values == _VALUES):
            truth = _data.truth_of(np.array(values) * scale, n, d, rng)
            alpha = _data.largest_start(Spectrum.of(truth, k)) if unit else 1.0 / (10.0 * d)
            used, where = _population_run(truth, k, alpha, rng, longer)
            cases.append((used, 1.0, where))
    return Cases(
        cases,
        quantity="error over epsilon after the rounds asked for",
        name="largest alpha, N = oo",
    )


def _on_samples(budget, rng, noise, unit) -> Frequency:
    """Run FLUTE on the samples that the theorem asks for at c = 1, from the start on."""
    n, d, runs, missed = 8, 8, budget(60, 100), 0
    for _ in range(runs):
        truth = _data.truth_of(_VALUES, n, d, rng, noise=noise)
        spectrum = Spectrum.of(truth, _RANK)
        eta, tolerance = _data.largest_step(spectrum), 0.05
        m = flute_samples.theorem_5_1(
            spectrum, tolerance, step_size=eta, failure=FAILURE, in_units=unit
        )
        t = flute_samples.theorem_5_1_rounds(spectrum, tolerance, step_size=eta, constant=_PROOF)
        trace = lr.flute(
            _data.compressed(truth, int(np.ceil(m)), rng),
            k=_RANK,
            step_size=eta,
            scale=_data.largest_start(spectrum),
            rounds=int(np.ceil(t)),
            record=int(np.ceil(t)),
            rng=rng,
        )
        missed += not trace["client_error"][-1] <= tolerance
    return Frequency(
        missed,
        runs,
        FAILURE,
        name=f"on samples from the start on, c = 1, noise {noise:g}",
        setting={"singular values": list(_VALUES), "k": _RANK, "n": n, "d": d, "noise": noise},
    )


def _largest_error(rng, size, d) -> Frequency:
    """Run FLUTE for an error of size lambda_1/sqrt(M) on the samples asked for at c = 1, M = 2."""
    runs, missed = 60, 0
    for _ in range(runs):
        truth = _data.truth_of((1.0, 1e-3), 2, d, rng)
        spectrum = Spectrum.of(truth, 1)
        eta, tolerance = _data.largest_step(spectrum), size / np.sqrt(2.0)
        m = flute_samples.theorem_5_1(
            spectrum, tolerance, step_size=eta, failure=FAILURE, in_units=True
        )
        t = flute_samples.theorem_5_1_rounds(spectrum, tolerance, step_size=eta, constant=_PROOF)
        trace = lr.flute(
            _data.compressed(truth, int(np.ceil(m)), rng),
            k=1,
            step_size=eta,
            scale=_data.largest_start(spectrum),
            rounds=max(100, int(np.ceil(t))),
            rng=rng,
        )
        missed += not trace["client_error"][-1] <= tolerance
    return Frequency(
        missed,
        runs,
        FAILURE,
        name="on samples for the largest epsilon allowed, c = 1",
        setting={"singular values": [1.0, 1e-3], "k": 1, "n": 2, "d": d, "epsilon": tolerance},
    )


_VARIABLES = ("m", "n", "d", "k", "relative")
# Each variable towards its extreme; relative is lambda*_1/Delta.
_LINES: dict[str, tuple[float, ...]] = {
    "m": (1e4, 1e6, 1e8),
    "n": (16, 64, 256),
    "d": (16, 32, 64),
    "k": (1, 2, 4),
    "relative": (1.25, 5.0, 20.0),
}


def _constants(budget, rng, clients, unit) -> pd.DataFrame:
    """Return a row per draw: N over what the theorem asks for the error kept, at c = 1."""
    centre = {"m": 1e5, "n": 16, "d": 16, "k": 2, "relative": 1.25}

    def draw(**setting):
        truth, spectrum = _data.relative_truth(setting, rng)
        m = int(setting["m"])
        asked = flute_samples.theorem_5_1(
            spectrum,
            _data.floor(truth, spectrum.k, m, rng),
            step_size=_data.largest_step(spectrum),
            failure=FAILURE,
            in_units=unit,
        )
        return m * (truth.n / 16.0) ** (clients - 1.0) / asked

    return table(_data.towards_extremes(centre, _LINES), draw, budget(10, 300, 600))


# Variable, its values, the power of the error in it that the theorem has, and whether it is exact;
# relative is 1/Delta, in which N and so the square of the error may go like the tenth power.
_ALONG: tuple[tuple[str, tuple[float, ...], float, bool], ...] = (
    ("N", (200, 400, 800, 1600, 3200), -0.5, True),
    ("M", (10, 20, 40, 80, 160), 0.0, False),
    ("1/Delta", (0.25, 0.5, 1.0, 2.0, 4.0), 5.0, False),
)


def _floor_along(variable, sizes, power, exact, noise, budget, rng) -> Exponent:
    """Return the power of a variable in the error that is kept, d = 10 and k = 3."""
    samples = []
    for size in sizes:
        m, n = int(size) if variable == "N" else 3200, int(size) if variable == "M" else 16
        third = 0.2 + (0.5 / size if variable == "1/Delta" else 1.8)
        truths = [
            _data.truth_of((4.0, 3.0, third, 0.2, 0.1), n, 10, rng, noise=noise)
            for _ in range(budget(24, 60))
        ]
        samples.append([_data.floor(truth, 3, m, rng) for truth in truths])
    claimed = {"equals": power} if exact else {"at_most": power}
    return Exponent(
        sizes,
        samples,
        along=variable,
        of="error (7) kept",
        name=f"error kept in {variable}, noise {noise:g}",
        **claimed,
    )


_STEP = r"\eta \le \frac{\Delta^2}{228\lambda_1^3},\ "
_ASKED = (
    r"%s)(\sqrt{k\lambda_1^2 + E} + \sqrt k\sigma)^2}{M\eta^2\Delta^6\varepsilon^2},\ t \ge"
    r" \frac{\log(\varepsilon\sqrt M\eta\Delta^2/c'\lambda_1^2\sqrt k)}{\log(1 - \eta\Delta/16)}"
    r" \Rightarrow \Pr\Big[\tfrac1M\sum_i\|B^t w_i^t - B^* w_i^*\| \le \varepsilon\Big] \ge"
)


@statement(
    "flute.theorem5.1",
    place="Theorem 5.1",
    latex=r"\gamma_1 = \tfrac14,\ \gamma_2 = \tfrac18,\ 0 < \alpha \le \tfrac1{10d},\ "
    + _STEP
    + r"\forall\varepsilon > 0\ \exists c, c' > 0:\ N \ge c\frac{\lambda_1^4 k(\bar d +"
    + _ASKED % r" \log\frac1\delta + \log\log\frac1\varepsilon"
    + r" 1 - \delta",
    plain="For any epsilon there are c and c' with which, from starts with alpha <= 1/(10 d), N of "
    "order max(d, M)/(M epsilon^2) is enough.",
    hypotheses=ASSUMPTIONS,
    negative_control={"clients": 2.5},
)
def theorem_5_1(budget, rng, *, clients=1.0, unit=False):
    """Check the start and the rounds at N = oo, and the samples by the error that is kept.

    The sentence has "for any epsilon > 0 ... there exists positive constants c and c'"; taken to be
    free of epsilon, N, M, d, k, Phi and sigma, else it would say nothing. It fails for all of them.
    In several units of Phi (unit: alpha in them, no log log(1/epsilon), which has none, and
    epsilon up to lambda_1/sqrt(M)); clients is the power of M.
    """
    if not unit:
        yield Cases(
            [(*small.sides(), small.INSTANCE)],
            name="d = M = 2, k = 1, Phi = diag(1, 1/2)/10^6, N to infinity",
            quantity="probability claimed",
            predicted_is=UPPER,
        )
    yield _start(budget, rng, unit)
    for noise in (0.0, 1.0):
        yield _on_samples(budget, rng, noise, unit)
    if unit:
        yield _largest_error(rng, 1.0, budget(100, 400))
    yield Constant(
        _constants(budget, rng, clients, unit),
        _VARIABLES,
        by=("noise",),
        quantile=1.0 - FAILURE,
        name="samples",
        label=r"N over the bound at c = 1",
    )
    for line in _ALONG:
        for noise in (0.0, 1.0):
            yield _floor_along(*line, noise, budget, rng)
    far, _ = _population_run(_data.truth_of(_VALUES, 10, 10, rng), _RANK, 1e-100, rng)
    yield Fact("error after the rounds asked for, alpha = 1e-100", far, "epsilon")


theorem_5_1.corrected(
    "flute.theorem5.1.corrected",
    latex=_STEP + r"\exists c\ \forall\rho \le \frac1{10\bar d}\ \exists c'\ \forall\varepsilon \le"
    r" \frac{\lambda_1}{\sqrt M}:\ \alpha = \rho\sqrt{\lambda_1},"
    r"\ N \ge c\frac{\lambda_1^4 k(\bar d +" + _ASKED % r" \log 5" + r" \tfrac45",
    plain="With c free of epsilon and the unit of Phi, c' of epsilon: from starts with alpha <= "
    "sqrt(lambda_1)/(10 max(d, M)), for epsilon up to lambda_1/sqrt(M), N of order max(d, M)/(M "
    "epsilon^2) is enough with probability 4/5.",
    hypotheses=(*DRAWN, SMALL_START, SMALL_ERROR),
    constants={"unit": True},
    negative_control={"clients": 2.5},
    stronger={"clients": 1},
)
