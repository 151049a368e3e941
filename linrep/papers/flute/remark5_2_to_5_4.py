"""Remarks 5.2 to 5.4: what Theorem 5.1 is said to mean for M, Delta and N."""

from __future__ import annotations

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Constant, Exponent, Fact, Identity, Readings, Together, Trend, statement
from linrep.claims.slopes import log_slope
from linrep.claims.tables import curve
from linrep.papers.flute._data import compressed, floor, step_size, truth_of
from linrep.papers.flute._hypotheses import DRAWN
from linrep.problems.subspace import random_frame
from linrep.theory import flute, flute_samples


def _drawn(values, k, sizes, shape, runs, rng, **options):
    """Return for each size the squared errors that FLUTE keeps, times N, over truths and samples.

    shape(size) is (n, d, m).
    """
    samples = []
    for size in sizes:
        n, d, m = shape(size)
        truths = [truth_of(values, n, d, rng, **options) for _ in range(runs)]
        samples.append([m * floor(truth, k, m, rng) ** 2 for truth in truths])
    return samples


def _asked(n, d, per_client):
    """Return N of Theorem 5.1, without noise, at the largest step size."""
    scale = np.sqrt(n) if per_client else 1.0
    spectrum = flute.Spectrum(scale * np.array([1.0, 0.3]), n, d, 1)
    eta = flute.step_size_limits(spectrum)["theorem_5_1"]
    return flute_samples.theorem_5_1(spectrum, 0.01, step_size=eta)


_CONVENTIONS = (("singular values fixed", False), ("norms fixed", True))


def _sizes():
    """Return (M, d, line): from M = d to large M, to large d, and both; M goes through d."""
    for size in (8, 16, 32, 64, 128):
        yield size, 8, "M"
        yield 8, size, "d"
    yield from ((size, size, "M = d") for size in (8, 24, 72))


def _over_claim(budget, rng, noise, per_client, speedup) -> pd.DataFrame:
    """Return a row per draw: N epsilon^2 over max(d, M)/M^speedup."""
    values, k, m, rows = (1.0, 0.3), 1, 10**6, []
    for n, d, line in _sizes():
        both = line == "M = d"
        for _ in range(budget(2_800 // n if both else 15, 14_000 // n if both else 60)):
            truth = truth_of(values, n, d, rng, noise=noise, per_client=per_client)
            kept = m * floor(truth, k, m, rng) ** 2
            # Lines have one variable each; the sizes that a line holds fixed say which it is.
            rows.append(
                {
                    "M": n if line == "M" else 0,
                    "d": d if line == "d" else 0,
                    "M = d": n if line == "M = d" else 0,
                    "kept": kept,
                    "constant": kept * n**speedup / max(d, n),
                    "n": n,
                }
            )
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
    few, d = (4, 8, 16), 64
    readings = []
    for name, per_client in _CONVENTIONS:
        parts = []
        for noise in (0.0, 1.0):
            rows = _over_claim(budget, rng, noise, per_client, speedup)
            setting = f"{name}, noise {noise:g}"
            parts.append(
                Constant(
                    rows,
                    ("M", "d", "M = d"),
                    quantile=0.5,
                    name=setting,
                    label=r"$N\epsilon^2M/\max(d, M)$",
                )
            )
            above = [group["kept"] for _, group in rows[rows["M"] > 8].groupby("M")]
            below = _drawn(
                (1.0, 0.3),
                1,
                few,
                lambda n: (n, d, 10**6),
                budget(8, 40),
                rng,
                per_client=per_client,
                noise=noise,
            )
            powers = log_slope(few, below), log_slope((16, 32, 64, 128), above)
            yield Fact(
                f"powers of M in N epsilon^2 for M < d and M > d, {setting}",
                f"{powers[0].value:.2f} and {powers[1].value:.2f}",
            )
        readings.append(Together(parts, name=name))
    yield Readings(readings, name="samples", phrase="a linear speedup in terms of M")
    for name, per_client in _CONVENTIONS:
        asked = [_asked(n, d, per_client) for n in few]
        slope = np.polyfit(np.log(few), np.log(asked), 1)[0]
        yield Fact(f"power of M in N of Theorem 5.1, M < d, {name}", slope)


def _power_asked(power):
    """Compare the power of lambda*_1/Delta in N of Theorem 5.1, at the largest step size."""
    ratios, asked = np.array([2.0, 4.0, 8.0, 16.0]), []
    for ratio in ratios:  # lambda*_1/Delta, the first k singular values being 1
        spectrum = flute.Spectrum(np.array([1.0, 1.0, 1.0 - 1.0 / ratio]), 20, 10, 2, 1.0)
        eta = flute.step_size_limits(spectrum)["theorem_5_1"]
        size = flute_samples.theorem_5_1(spectrum, 0.01, step_size=eta)
        asked.append(size / spectrum.noise_scale_of_section5**2)
    bends = np.diff(np.log(asked)) / np.diff(np.log(ratios))
    return Identity(
        [(abs(bend / power - 1.0), {"exponent": bend, "claimed": power}) for bend in bends],
        1e-9,
        name="power of lambda_1/Delta in Theorem 5.1",
    )


def _as_kappa(rng, power):
    """Compare that power of lambda*_1/Delta with kappa, for Phi of rank k."""
    identities = []
    for _ in range(20):
        k, n, d = 3, 12, 8
        W = rng.standard_normal((n, k)) @ np.diag(10.0 ** rng.uniform(-1.0, 1.0, k))
        spectrum = flute.Spectrum.of(lr.LowRankRegression(random_frame(d, k, rng) @ W.T), k)
        sigma = np.linalg.eigvalsh(W.T @ W)
        ratio, kappa = spectrum.first / spectrum.gap, sigma[-1] / sigma[0]
        deviation = ratio**power / kappa ** (0.5 * power) - 1.0
        identities.append((abs(deviation), {"kappa": kappa, "ratio": ratio}))
    return Identity(identities, 1e-9, name="(lambda*_1/Delta)^10 = kappa^5")


@statement(
    "flute.remark5.3",
    place="Remark 5.3",
    latex=r"N = O\Big(\frac{\max(d, M)}{M\epsilon^2}\Big(\frac{\lambda^*_1}\Delta\Big)^{10}\Big);"
    r"\quad \lambda^*_{k+1} = 0,\ B^{*\top}B^* = I \Rightarrow"
    r" \Big(\frac{\lambda^*_1}\Delta\Big)^{10} = \kappa^5,\ \kappa ="
    r" \frac{\sigma_1(W^{*\top}W^*)}{\sigma_k(W^{*\top}W^*)}",
    plain="The samples needed grow at most like (lambda*_1/Delta)^10, which is kappa^5 where Phi "
    "has rank k.",
    hypotheses=DRAWN,
    negative_control={"power": 8.0},
    stronger={"power": 0},
)
def remark_5_3(budget, rng, *, power=10.0):
    """Check the algebra, and measure how N epsilon^2 grows with lambda_1/Delta and with kappa.

    The error kept does not depend on eta: its power is to be compared with 6, that of fixed eta;
    10 is that of eta like Delta^2. For k > r, Delta = 0 and nothing is claimed.
    """
    runs = budget(12, 40)
    yield _power_asked(power)
    yield _as_kappa(rng, power)
    x = np.array([4.0, 8.0, 16.0, 32.0])
    for noise in (0.0, 1.0):
        samples = [
            _drawn(
                (1.0, 1.0, 1.0 - 1.0 / ratio),
                2,
                (0,),
                lambda _: (6, 6, 10**7),
                runs,
                rng,
                noise=noise,
            )[0]
            for ratio in x
        ]
        yield Exponent(
            x,
            samples,
            at_most=6.0,
            along=r"$\lambda^*_1/\Delta$",
            of=r"$N\epsilon^2$",
            name=f"samples in 1/Delta, noise {noise:g}",
        )
    kappas = np.array([4.0, 16.0, 64.0, 256.0])
    samples = [
        _drawn((1.0, kappa**-0.5), 2, (0,), lambda _: (20, 10, 10**7), runs, rng, noise=1.0)[0]
        for kappa in kappas
    ]
    yield Exponent(
        kappas,
        samples,
        at_most=5.0,
        along=r"$\kappa$",
        of=r"$N\epsilon^2$",
        name="samples in kappa, k = r",
    )


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
    runs = budget(6, 16)
    values, k, d, total = (1.0, 0.9, 0.3), 2, 6, budget(1600, 6400)
    sizes = np.array([2, 4, 8, 20, 50, 100, 200, 400])

    def errors(shapes, noise, runs=runs):
        """Return the errors (7) over the mean length of the optimum's models."""
        found = []
        for n, m in shapes:
            truths = [
                truth_of(values, n, d, rng, noise=noise, per_client=True) for _ in range(runs)
            ]
            lengths = [np.linalg.norm(truth.best(k).Phi, axis=0).mean() for truth in truths]
            # Few samples settle slowly if at all.
            kept = [
                floor(truth, k, int(m), rng, share=0.5, rounds=2000, tolerance=1e-7)
                for truth in truths
            ]
            found.append(np.array(kept) / lengths)
        return found

    fixed = errors([(int(total // m), m) for m in sizes], 0.5)
    clients = np.array([50, 100, 200, 400])
    more = errors([(n, 20) for n in clients], 0.5, budget(24, 24))
    # Four times the samples: of few clients the errors are larger like sqrt(1 + d/M).
    large = np.array([100, 200, 400])
    settled = errors([(int(4 * total // m), m) for m in large], 0.5, budget(24, 60))
    yield Trend(-np.transpose(fixed), name="error falls with N at fixed MN")
    yield Exponent(
        large,
        settled,
        equals=-power,
        margin=0.15,
        along="N",
        of="error (7), relative",
        name=f"error in N >= {large[0]} at fixed MN",
    )
    yield Exponent(
        clients,
        more,
        equals=0.0,
        along="M",
        of="error (7), relative",
        name="error in M at fixed N",
    )
    yield curve(
        panel=f"MN = {total}",
        series="",
        x=sizes,
        y=np.median(fixed, axis=1),
        xlabel="N",
        ylabel="error (7), relative",
    )
    few = k + 2  # samples, too few for any phi_i
    alone = [[_small(values, k, few, d, n, rng) for _ in range(runs)] for n in clients]
    slope = log_slope(clients, alone)
    yield Fact(f"power of M in the distance to U_k at N = {few} < d", slope.value)


def _small(values, k, m, d, n, rng) -> float:
    """Return the distance to U_k after a run from a random start on few samples."""
    truth = truth_of(values, n, d, rng, noise=0.5, per_client=True)
    trace = lr.flute(
        compressed(truth, m, rng),
        k=k,
        step_size=0.5 * step_size(truth),
        rounds=2500,
        record=[2500],
        tolerance=1e-7,
        rng=rng,
    )
    return float(trace["distance"][-1])
