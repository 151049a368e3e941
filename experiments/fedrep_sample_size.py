"""FedRep, Theorem 1: the smallest sufficient number of samples per client against d/(rn).

Theorem 1 asks for m >= c (kappa^4 k^3 log(rn) + kappa^4 k^2 d/(rn)) / E0^2: for many clients a
number that hardly depends on d, for few one that grows like d/(rn). A run counts as a success if
after 30 rounds the distance is at most what the theorem promises for it,
dist_0 (1 - eta E0 sigma_min^2 / 2)^15, at the largest step size that the theorem allows. Fresh
batches, no noise, r = 1, k = 2, heads of norm sqrt(k) with kappa = 1 (so that sigma_min = sigma_max
= 1), a start with all angles at distance 0.5: nothing but d, n and m changes. The smallest
sufficient m is where a logistic curve through the successes crosses one half.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

import linrep as lr
from linrep import sweeps
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, listed, size
from linrep.figures.summaries import crossings, exponents
from linrep.problems.subspace import frame_at_distance
from linrep.stats import proportion_interval
from linrep.sweeps import Grid
from linrep.theory import finite

START = 0.5
STEP = 0.25  # the theorem's, as sigma_max = 1
MOST = 10**6
FIT_FROM = 10.0  # d/(rn) from which on the second term of the bound is meant to rule


@dataclass(frozen=True)
class SampleSize(Sizes):
    """What is varied: d, n and m."""

    d: tuple[int, ...] = size((40, 160, 640), "Dimensions.", quick=(60, 240))
    n: tuple[int, ...] = size((4, 6, 10, 20, 40, 160), "Clients.", quick=(4, 6))
    m: tuple[int, ...] = size(
        (*range(2, 13), 15, 19, 24, 30, 37, 46, 58, 72, 90, 113, 140),
        "Samples per client that are tried, of those near the smallest sufficient one.",
        least=2,
    )
    k: int = size(2, "Rank of the representation.")
    rounds: int = size(30, "Rounds after which a run counts.")

    def check(self):
        for name in ("d", "n"):
            if self.k > min(getattr(self, name)):
                raise ValueError(
                    f"k must be at most {name} = {min(getattr(self, name))}, got {self.k}"
                )
        ranges = [self.near(d, n) for d in self.d for n in self.n]
        if all(sum(low <= m <= high for m in self.m) < 2 for low, high in ranges):
            low, high = ranges[0]
            raise ValueError(
                f"m must have at least 2 values near the smallest sufficient one, from {low:g} to "
                f"{high:g} for d = {self.d[0]} and n = {self.n[0]}, got {listed(self.m)}"
            )

    def near(self, d, n):
        """Return from which m to which runs are made: to either side others are all alike."""
        return 0.05 * self.k * d / n, 3 * self.k + 0.4 * self.k * d / n


def cells(sizes):
    k, near = sizes.k, "the smallest sufficient m of a first look"
    return Grid.product(
        {"d": sizes.d, "n": sizes.n, "m": sizes.m},
        constraints={
            f"m <= {3 * k} + {0.4 * k} * d / n": f"far above {near}",
            f"m >= {0.05 * k} * d / n": f"far below {near}",
            "d * n <= 40_000": "takes long, and d/(rn) occurs with smaller d",
        },
    )


def replicate(cell, rng, **sizes):
    figure = SampleSize(**sizes)
    truth = lr.SharedRepresentation.random(
        n=cell["n"], d=cell["d"], k=figure.k, condition=1.0, rng=rng
    )
    start = frame_at_distance(truth.B, START, rng=rng)
    trace = lr.fedrep(truth, m=cell["m"], rounds=figure.rounds, start=start, rng=rng)
    sigma_min = np.linalg.svd(truth.W, compute_uv=False)[-1] / np.sqrt(truth.n)
    factor = 1.0 - trace.step_size * (1.0 - START**2) * sigma_min**2 / 2.0
    promised = START * factor ** (figure.rounds / 2)
    return {
        "distance": trace["distance"][-1],
        "promised": promised,
        "success": bool(trace.rounds == figure.rounds and trace["distance"][-1] <= promised),
    }


def thresholds(rows):
    """Return the smallest sufficient m of each d and n, with its interval."""
    table = sweeps.thresholds(rows, "success", "m", ["d", "n"]).rename(columns={"estimate": "m"})
    table.insert(2, "ratio", table["d"] / table["n"])
    return table


def two_terms(table):
    """Return a and b of m = a + b d/(rn), by least squares on logarithms over all points.

    NaN for fewer than two points.
    """
    seen = table.dropna()
    if len(seen) < 2:
        return np.full(2, np.nan)

    def excess(parameters):
        a, b = np.exp(parameters)
        return np.log(a + b * seen["ratio"]) - np.log(seen["m"])

    return np.exp(least_squares(excess, np.zeros(2)).x)


def fit(table):
    """Return the exponent of m in d/(rn) where that is large, and those of d and n apart.

    None where there are too few points for a fit.
    """
    large = table[(table["ratio"] >= FIT_FROM) & table["m"].notna()]
    together = exponents(large["m"], {"d/(rn)": large["ratio"]}, robust=True)
    apart = exponents(large["m"], {"d": large["d"], "rn": large["n"]}, robust=True)
    return together, apart


def predicted(d, n, sizes):
    """Return the m with which the mean square of runs reaches the goal, without anything fitted.

    Interpolated between whole numbers on logarithmic axes; NaN if there is none up to `MOST`.
    """
    goal = START * (1.0 - STEP * (1.0 - START**2) / 2.0) ** (sizes.rounds / 2)
    truth = lr.SharedRepresentation.random(n=n, d=d, k=sizes.k, condition=1.0, store=False, rng=0)

    def excess(m):
        curve = finite.fedrep(truth, m=m, step_size=STEP, rounds=sizes.rounds, start=START)
        return np.log(curve.distance[-1] / goal)

    few, many = sizes.k + 2, MOST
    if excess(few) <= 0.0:
        return float(few)
    if excess(many) > 0.0:
        return np.nan
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if excess(middle) <= 0.0 else (middle, many)
    above, below = excess(few), excess(many)
    return float(few * (many / few) ** (above / (above - below)))


def draw(rows, sizes):
    from matplotlib.figure import Figure

    table = thresholds(rows)
    together, _ = fit(table)
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 3.0))
    left, right = figure.subplots(1, 2)
    middle = sorted(rows["d"].unique())[len(rows["d"].unique()) // 2]
    shown = rows[rows["d"] == middle]
    for place, (n, group) in enumerate(shown.groupby("n")):
        counts = group.groupby("m")["success"].agg(["sum", "count"])
        share, low, high = proportion_interval(counts["sum"], counts["count"])
        left.errorbar(
            counts.index, share, [share - low, high - share], color=f"C{place}", capsize=1.5,
            marker="os^DvPX"[place % 7], linewidth=0.9, elinewidth=0.6, label=f"{n}",
        )  # fmt: skip
    left.set(
        xscale="log",
        xlabel="samples per client and round, $m$",
        ylabel="share of successes",
        title=f"d = {middle}",
    )
    left.legend(title="clients, $n$", title_fontsize=7.5)
    plotting.plain_log_ticks(left.xaxis)
    for place, (d, group) in enumerate(table.groupby("d")):
        plotting.scaling(
            right, group["ratio"], group["m"], low=group["low"], high=group["high"],
            label=f"d = {d}", place=place,
        )  # fmt: skip
    ratio = np.geomspace(FIT_FROM, max(FIT_FROM, table["ratio"].max()), 50)
    if together is not None:
        exponent, low, high = (
            part["d/(rn)"] for part in (together.exponents, together.low, together.high)
        )
        right.plot(
            ratio, together.constant * ratio**exponent, color="0.2", linewidth=1, linestyle="--",
            label=f"exponent {exponent:.2f} [{low:.2f}, {high:.2f}]",
        )  # fmt: skip
    if len(np.unique(ratio)) > 1 and table["m"].notna().any():
        right.plot(
            ratio,
            table["m"].max() * ratio / ratio.max() / 2,
            color="0.2",
            linewidth=0.7,
            linestyle=":",
            label="slope 1",
        )
    right.axhline(sizes.k + 1, color="0.7", linewidth=0.8)
    right.text(
        ratio.max(), sizes.k + 1.06, "$k + 1$", ha="right", va="bottom", fontsize=7, color="0.3"
    )
    a, b = two_terms(table)
    ratio = np.geomspace(table["ratio"].min(), table["ratio"].max(), 100)
    if np.isfinite(a + b):
        right.plot(
            ratio,
            a + b * ratio,
            color="0.6",
            linewidth=1,
            zorder=1,
            label=f"{a:.1f} + {b:.2f} $d/(rn)$",
        )
    for place, (d, group) in enumerate(table.groupby("d")):
        own = [predicted(int(d), int(n), sizes) for n in group["n"]]
        label = None if place else "mean square, not fitted"
        right.plot(group["ratio"], own, color="C3", linewidth=1.2, zorder=1, label=label)
    right.set(xscale="log", yscale="log", xlabel="$d/(rn)$", ylabel="smallest sufficient $m$")
    plotting.plain_log_ticks(right.yaxis)
    right.xaxis.set_major_formatter("{x:g}")
    plotting.plain_log_ticks(right.xaxis)
    right.legend()
    return figure


def summary(rows, sizes):
    """Return the smallest sufficient m, and what was fitted to it, with 95 % intervals."""
    table = thresholds(rows)
    lines = [
        (f"m, d = {line.d}, n = {line.n}", line.estimate, line.low, line.high)
        for line in crossings(rows, "success", "m", ["d", "n"]).itertuples()
    ]

    def note(label, found):
        if found is None:
            return
        for name, value in found.exponents.items():
            lines.append((label.format(name), value, found.low[name], found.high[name]))

    together, apart = fit(table)
    note(f"exponent of {{}} from {FIT_FROM:g} on", together)
    note("exponent of {} alone", apart)
    for less, name in ((1, "m - 1"), (sizes.k, "m - k")):
        note(f"exponent of {name} in {{}}", fit(table.assign(m=table["m"] - less))[0])
    for d, n in zip(table["d"], table["n"], strict=True):
        own = predicted(int(d), int(n), sizes)
        lines.append((f"m of the mean square, d = {d}, n = {n}", own, np.nan, np.nan))
    for name, value in zip(("a", "b of a + b d/(rn)"), two_terms(table), strict=True):
        lines.append((name, value, np.nan, np.nan))
    # From one d to the next at the same n; the ends are those that the intervals of m leave.
    for n, group in table.sort_values("d").groupby("n"):
        for one, two in pairwise(group.itertuples()):
            step = np.log(two.d / one.d)
            with np.errstate(divide="ignore", invalid="ignore"):  # where an end is not known
                ends = np.divide((two.m, two.low, two.high), (one.m, one.high, one.low))
                found = np.log(ends) / step
            label = f"local exponent, n = {n}, d = {one.d} to {two.d}"
            lines.append((label, *found))
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    table = thresholds(rows)
    fitted = np.isfinite(two_terms(table)).all()
    law = f""", and the power law fitted where d/(rn) ≥ {FIT_FROM:g}, with the 95 % interval of its
        exponent (least squares, HC3, the intervals of m not counted in)"""
    terms = "; grey: a constant plus a multiple of d/(rn), fitted to all points"
    sharp = """; red: with which the mean square, at the same d and n, reaches the same distance in
        as many rounds"""
    return f"""
        FedRep with exact heads and fresh batches, k = {sizes.k}, r = 1, heads of norm √k with κ =
        1, no noise, η = 1/4, start with all angles at distance {START}. Success: after
        {sizes.rounds} rounds the distance is at most dist₀(1 − ηE₀σ²_min/2)^{sizes.rounds / 2:g},
        the bound of Theorem 1. Left: share of successes among {replicates} replicates with exact 95
        % intervals. Right: m at which a logistic curve in log m crosses one half, with its
        profile-likelihood interval (the gap between two neighbouring m where none and then all
        replicates succeed){law * (fit(table)[0] is not None)}{terms * bool(fitted)}{sharp}.
    """


EXPERIMENT = Experiment(
    id="fedrep.sample_size",
    title="Smallest sufficient number of samples per client against d/(rn)",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("*exponent*",),
    sizes=SampleSize(),
    replicates=40,
    quick_replicates=8,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
