"""Theorem 5.1: how many samples per client and rounds FLUTE takes."""

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Constant, Frequency, statement
from linrep.claims.evidence import UPPER
from linrep.claims.tables import table
from linrep.papers.flute import runs
from linrep.papers.flute.counterexamples import theorem5_1 as small
from linrep.papers.flute.model import ASSUMPTIONS, DRAWN, SMALL_ERROR, SMALL_START, Spectrum
from linrep.papers.flute.runs import compressed, floor, largest_start, largest_step, truth_of
from linrep.theory import flute_samples

FAILURE = 0.2  # delta
USUAL = (1.0, 0.9, 0.3, 0.1), 2  # a spectrum and its rank
#: More of them: a small gap, one model that leads, next to flat ones.
OTHERS = (
    ((1.0, 0.9, 0.7, 0.5), 3),
    ((1.0, 0.2, 0.1), 1),
    ((1.0, 0.8, 0.2, 0.15), 2),
    ((1.0, 1.0, 0.4), 2),
)


def rounds_asked(spectrum, tolerance):
    """Return t of the theorem; c' is 400 of the proof, and 4 for lambda*_1^2 in lambda_1^2."""
    given = {"step_size": largest_step(spectrum), "constant": 1600.0}
    return flute_samples.theorem_5_1_rounds(spectrum, tolerance, **given)


def samples_asked(spectrum, tolerance, unit):
    """Return N of the theorem at c = 1."""
    given = {"step_size": largest_step(spectrum), "failure": FAILURE, "in_units": unit}
    return flute_samples.theorem_5_1(spectrum, tolerance, **given)


def population_runs(budget, rng, unit) -> Cases:
    """Run the population from the largest start allowed, in several units of Phi.

    For the rounds asked for, with more draws of the start, and once for longer.
    """
    shapes = budget(((10, 10),), ((10, 10), (40, 5), (5, 40)))
    scales = (1e-6, 1e-4, 1e-2, 1.0, 1e3, 1e6)
    settings = [(scale, *shape, *USUAL) for scale in scales for shape in shapes]
    several = budget(OTHERS[1:2], OTHERS), budget((1.0,), (1e-6, 1.0, 1e6))
    settings += [(scale, 10, 8, *other) for other in several[0] for scale in several[1]]
    cases = []
    for scale, n, d, values, k in settings:
        for longer in (1.0,) * budget(1, 3, 20) + (3.0,) * ((values, k) == USUAL):
            truth = truth_of(np.array(values) * scale, n, d, rng)
            spectrum = Spectrum.of(truth, k)
            alpha = largest_start(spectrum) if unit else 1.0 / (10.0 * d)
            tolerance = 0.01 * spectrum.first
            rounds = int(np.ceil(longer * rounds_asked(spectrum, tolerance)))
            trace = lr.flute(
                truth, k=k, batches="population", step_size=largest_step(spectrum), scale=alpha,
                rounds=rounds, record=[rounds], rng=rng,
            )  # fmt: skip
            kept = trace.stop_reason != "diverged"
            error = float(trace["client_error"][-1]) if kept else np.inf
            where = {
                "singular values": truth.singular_values[truth.singular_values > 0.0].tolist(),
                "k": k, "n": n, "d": d, "alpha": alpha, "rounds": rounds,
                "error": error if kept else "diverged", "epsilon": tolerance,
            }  # fmt: skip
            cases.append((error / tolerance, 1.0, where))
    quantity = "error over epsilon after the rounds asked for"
    return Cases(cases, quantity=quantity, name="largest alpha, N = oo")


def missed(rng, runs, values, k, n, d, tolerance, *, noise=0.0, unit=True, least=1):
    """Count runs on the samples that the theorem asks for at c = 1 that miss the error."""
    count = 0
    for _ in range(runs):
        truth = truth_of(values, n, d, rng, noise=noise)
        spectrum = Spectrum.of(truth, k)
        m = int(np.ceil(samples_asked(spectrum, tolerance, unit)))
        t = max(least, int(np.ceil(rounds_asked(spectrum, tolerance))))
        trace = lr.flute(
            compressed(truth, m, rng), k=k, step_size=largest_step(spectrum),
            scale=largest_start(spectrum), rounds=t, record=t, rng=rng,
        )  # fmt: skip
        count += not trace["client_error"][-1] <= tolerance
    return count


def largest_error(rng, size, d) -> Frequency:
    """Run FLUTE for an error of size lambda_1/sqrt(M) on the samples asked for at c = 1, M = 2."""
    values, tolerance = (1.0, 1e-3), size / np.sqrt(2.0)
    where = {"singular values": list(values), "k": 1, "n": 2, "d": d, "epsilon": tolerance}
    count = missed(rng, 60, values, 1, 2, d, tolerance, least=100)
    name = "on samples for the largest epsilon allowed, c = 1"
    return Frequency(count, 60, FAILURE, name=name, setting=where)


VARIABLES = ("m", "n", "d", "k", "relative")
# Each variable towards its extreme; relative is lambda*_1/Delta.
LINES: dict[str, tuple[float, ...]] = {
    "m": (1e4, 1e6, 1e8),
    "n": (16, 64, 256),
    "d": (16, 32, 64),
    "k": (1, 2, 4),
    "relative": (1.25, 5.0, 20.0),
}


def constants(budget, rng, clients, unit) -> pd.DataFrame:
    """Return a row per draw: N over what the theorem asks for the error kept, at c = 1."""
    centre = {"m": 1e5, "n": 16, "d": 16, "k": 2, "relative": 1.25}

    def draw(**setting):
        truth, spectrum = runs.relative_truth(setting, rng)
        m = int(setting["m"])
        asked = samples_asked(spectrum, floor(truth, spectrum.k, m, rng), unit)
        return m * (truth.n / 16.0) ** (clients - 1.0) / asked

    return table(runs.towards_extremes(centre, LINES), draw, budget(10, 300, 600))


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
            [(*small.sides(), small.INSTANCE)], quantity="probability claimed", predicted_is=UPPER,
            name="d = M = 2, k = 1, Phi = diag(1, 1/2)/10^6, N to infinity",
        )  # fmt: skip
    yield population_runs(budget, rng, unit)
    values, k = USUAL
    for noise in (0.0, 1.0):
        runs, where = budget(60, 100), {"singular values": list(values), "k": k, "n": 8, "d": 8}
        count = missed(rng, runs, values, k, 8, 8, 0.05, noise=noise, unit=unit)
        name = f"on samples from the start on, c = 1, noise {noise:g}"
        yield Frequency(count, runs, FAILURE, name=name, setting={**where, "noise": noise})
    if unit:
        yield largest_error(rng, 1.0, budget(100, 400))
    yield Constant(
        constants(budget, rng, clients, unit), VARIABLES, by=("noise",), quantile=1.0 - FAILURE,
        name="samples", label=r"N over the bound at c = 1",
    )  # fmt: skip


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
