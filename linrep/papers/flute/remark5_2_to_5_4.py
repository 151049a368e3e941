"""Remarks 5.2 to 5.4: what Theorem 5.1 is said to mean for M, Delta and N."""

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Constant, Exponent, Fact, Identity, Readings, Together, Trend, statement
from linrep.claims.slopes import log_slope
from linrep.papers.flute.model import ASSUMPTIONS, DRAWN, Spectrum, step_size_limits
from linrep.papers.flute.runs import floor, truth_of
from linrep.problems.subspace import random_frame
from linrep.theory import flute_samples

CONVENTIONS = (("singular values fixed", False), ("norms fixed", True))


def kept(truth, k, m, rng) -> float:
    """Return N epsilon^2, epsilon being the error that FLUTE keeps."""
    return m * floor(truth, k, m, rng) ** 2


def over_claim(budget, rng, noise, per_client, speedup) -> pd.DataFrame:
    """Return a row per draw: N epsilon^2, also over max(d, M)/M^speedup.

    From M = d to large M, to large d, and both; M goes through d. Lines have one variable each;
    the sizes that a line holds fixed say which it is.
    """
    rows, given = [], {"noise": noise, "per_client": per_client}
    lines = [(*sizes, line) for size in (8, 16, 32, 64, 128)
             for line, sizes in (("M", (size, 8)), ("d", (8, size)))]  # fmt: skip
    for n, d, line in [*lines, *((size, size, "M = d") for size in (8, 24, 72))]:
        both = line == "M = d"
        for _ in range(budget(2_800 // n if both else 15, 14_000 // n if both else 60)):
            truth, size = truth_of((1.0, 0.3), n, d, rng, **given), n if line != "d" else d
            found = kept(truth, 1, 10**6, rng)
            row = {"kept": found, "constant": found * n**speedup / max(d, n)}
            rows.append({"M": 0, "d": 0, "M = d": 0, line: size, "n": n, **row})
    return pd.DataFrame(rows)


@statement(
    "flute.remark5.2",
    place="Remark 5.2",
    latex=r"N = \tilde O\Big(\frac{\max(d, M)}{M\epsilon^2}\Big):\ \text{speedup } M"
    r" \text{ over } \frac d{\epsilon^2} \text{ for } d > M,\ \text{independent of } M"
    r" \text{ for } d < M",
    plain="Each client needs M times fewer samples than alone, until M reaches d.",
    hypotheses=DRAWN,
    negative_control={"speedup": 2.0},
    stronger={"speedup": 1},
)
def remark_5_2(budget, rng, *, speedup=1.0):
    """Follow N epsilon^2 over max(d, M)/M where it may grow: in M, in d and in both, from M = d.

    What is held as M grows is open: Phi's singular values, as the bound has them, or the models'
    norms, with which the singular values grow like sqrt(M).
    """
    readings, few, large = [], (4, 8, 16), (16, 32, 64, 128)
    for name, per_client in CONVENTIONS:
        parts = []
        for noise in (0.0, 1.0):
            rows = over_claim(budget, rng, noise, per_client, speedup)
            given = {"noise": noise, "per_client": per_client}
            setting = f"{name}, noise {noise:g}"
            parts.append(Constant(
                rows, ("M", "d", "M = d"), quantile=0.5, name=setting,
                label=r"$N\epsilon^2M/\max(d, M)$",
            ))  # fmt: skip
            below = []
            for n in few:
                runs = range(budget(8, 40))
                truths = [truth_of((1.0, 0.3), n, 64, rng, **given) for _ in runs]
                below.append([kept(truth, 1, 10**6, rng) for truth in truths])
            above = [group["kept"] for _, group in rows[rows["M"] > 8].groupby("M")]
            powers = [log_slope(few, below).value, log_slope(large, above).value]
            text = f"powers of M in N epsilon^2 for M < d and M > d, {setting}"
            yield Fact(text, " and ".join(f"{power:.2f}" for power in powers))
        readings.append(Together(parts, name=name))
    yield Readings(readings, name="samples", phrase="a linear speedup in terms of M")
    for name, per_client in CONVENTIONS:
        asked = []
        for n in few:  # without noise, at the largest step size, d = 64
            scale = np.sqrt(n) if per_client else 1.0
            spectrum = Spectrum(scale * np.array([1.0, 0.3]), n, 64, 1)
            eta = step_size_limits(spectrum)["theorem_5_1"]
            asked.append(flute_samples.theorem_5_1(spectrum, 0.01, step_size=eta))
        slope = np.polyfit(np.log(few), np.log(asked), 1)[0]
        yield Fact(f"power of M in N of Theorem 5.1, M < d, {name}", slope)


def power_asked(power):
    """Yield how far the power of lambda*_1/Delta in N of Theorem 5.1 is from one.

    At the largest step size; the ratio is that of the first k singular values, 1, and Delta.
    """
    ratios, asked = np.array([2.0, 4.0, 8.0, 16.0]), []
    for ratio in ratios:
        spectrum = Spectrum(np.array([1.0, 1.0, 1.0 - 1.0 / ratio]), 20, 10, 2, 1.0)
        eta = step_size_limits(spectrum)["theorem_5_1"]
        size = flute_samples.theorem_5_1(spectrum, 0.01, step_size=eta)
        asked.append(size / spectrum.noise_scale_of_section5**2)
    for bend in np.diff(np.log(asked)) / np.diff(np.log(ratios)):
        yield abs(bend / power - 1.0), {"exponent": bend, "claimed": power}


def as_kappa(rng, power):
    """Yield how far that power of lambda*_1/Delta is from kappa^5, for Phi of rank k."""
    for _ in range(20):
        k, n, d = 3, 12, 8
        W = rng.standard_normal((n, k)) @ np.diag(10.0 ** rng.uniform(-1.0, 1.0, k))
        spectrum = Spectrum.of(lr.LowRankRegression(random_frame(d, k, rng) @ W.T), k)
        sigma = np.linalg.eigvalsh(W.T @ W)
        ratio, kappa = spectrum.first / spectrum.gap, sigma[-1] / sigma[0]
        off = abs(ratio**power / kappa ** (0.5 * power) - 1.0)
        yield off, {"kappa": kappa, "ratio": ratio}


@statement(
    "flute.remark5.3",
    place="Remark 5.3",
    latex=r"N = O\Big(\frac{\max(d, M)}{M\epsilon^2}\Big(\frac{\lambda^*_1}\Delta\Big)^{10}\Big);"
    r"\quad \lambda^*_{k+1} = 0,\ B^{*\top}B^* = I \Rightarrow"
    r" \Big(\frac{\lambda^*_1}\Delta\Big)^{10} = \kappa^5,\ \kappa ="
    r" \frac{\sigma_1(W^{*\top}W^*)}{\sigma_k(W^{*\top}W^*)}",
    plain="By Theorem 5.1 the samples needed grow like (lambda*_1/Delta)^10, which is kappa^5 "
    "where Phi has rank k.",
    hypotheses=ASSUMPTIONS,
    negative_control={"power": 8.0},
    stronger={"power": 0},
)
def remark_5_3(budget, rng, *, power=10.0):
    """Compare the powers in N of Theorem 5.1, at the largest step size, with the remark's.

    For k > r, Delta = 0 and nothing is claimed.
    """
    yield Identity(power_asked(power), 1e-9, name="power of lambda_1/Delta in Theorem 5.1")
    yield Identity(as_kappa(rng, power), 1e-9, name="(lambda*_1/Delta)^10 = kappa^5")


@statement(
    "flute.remark5.4",
    place="Remark 5.4",
    latex=r"\tfrac1M\sum_i\|Bw_i - B^*w_i^*\| \text{ small} \Rightarrow N \text{ large for every"
    r" client, not only } MN",
    plain="Each client needs many samples, not only all clients together.",
    hypotheses=DRAWN,
    negative_control={"power": 1.0},
    stronger={"power": 0},
)
def remark_5_4(budget, rng, *, power=0.5):
    """Share MN samples among more and more clients; power is that of 1/N in the error, N >> d."""
    values, k, d, total = (1.0, 0.9, 0.3), 2, 6, budget(1600, 6400)
    sizes = np.array([2, 4, 8, 20, 50, 100, 200, 400])
    of = "error (7), relative"

    def errors(shapes, runs):
        """Return the errors (7) over the mean length of the optimum's models."""
        found = []
        for n, m in shapes:
            truths = [truth_of(values, n, d, rng, noise=0.5, per_client=True) for _ in range(runs)]
            lengths = [np.linalg.norm(truth.best(k).Phi, axis=0).mean() for truth in truths]
            # Few samples settle slowly if at all.
            short = {"share": 0.5, "rounds": 2000, "tolerance": 1e-7}
            kept = [floor(truth, k, int(m), rng, **short) for truth in truths]
            found.append(np.array(kept) / lengths)
        return found

    fixed = errors([(int(total // m), m) for m in sizes], budget(6, 16))
    # Four times the samples: of few clients the errors are larger like sqrt(1 + d/M).
    large = np.array([100, 200, 400])
    settled = errors([(int(4 * total // m), m) for m in large], budget(24, 60))
    yield Trend(-np.transpose(fixed), name="error falls with N at fixed MN")
    yield Exponent(
        large, settled, equals=-power, margin=0.15, along="N", of=of,
        name=f"error in N >= {large[0]} at fixed MN",
    )  # fmt: skip
