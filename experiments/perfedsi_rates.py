"""PerFedSI: what a round takes off the error near M*, along the step, tau, C, d, p, k and kappa.

One parameter is changed at a time. Each replicate draws a matrix with balanced factors and
isotropic side information, and runs many times from one start near it, with fresh items and no
noise. A replicate draws the same numbers at all settings, so that along the step, tau and C it is
the same problem. A typical run's factor per round is that of the mean logarithm of the error. It is
below that of the root mean square, to which a few runs that grow for a while contribute most.
Beside both stand the spectral radius of the second moments' map
(linrep.theory.asymptotics.perfedsi), its limit for small steps, and Theorem 3.3 with the constants
of the corrected Theorem C.4, at their most favourable: c = 1, and mu and c_z as they are at the
truth. The theorem allows steps of about 1e-5 only; its rate is shown at the step of the runs, and
the summary has it at its own. Where a draw does not contract, no mean is taken over draws.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import along, counted, exponents
from linrep.stats import mean_interval
from linrep.sweeps import Grid
from linrep.theory import perfedsi as theory
from linrep.theory.asymptotics import perfedsi as sharp

MIDDLE = {"step": 0.1, "tau": 5, "C": 2, "d": 8, "p": 5, "k": 2, "condition": 1.0}
AXES = {
    "step": "step, $\\eta$",
    "tau": "local steps, $\\tau$",
    "C": "participants, $C$",
    "d": "items, $d$",
    "p": "side information, $p$",
    "k": "rank, $k$",
    "condition": "condition number, $\\kappa$",
}
START = 1e-5
FOLDS = 3.0  # e-foldings of a run at the rate of small steps, before it is measured and while it is
TYPICAL, SQUARE = "typical run", "root mean square of runs"
EXACT, SMALL, AT_STEP = "exact, mean square", "small steps", "Theorem 3.3's rate at this step"
OWN, LIMIT, ALLOWED = "Theorem 3.3 at its step", "step limit, exact", "step limit, Theorem 3.3"
GAINS = (TYPICAL, SQUARE, EXACT, SMALL, AT_STEP, OWN)  # 1 minus the factor per round
COLUMNS = (*GAINS, LIMIT, ALLOWED)
MEASURED = {TYPICAL: ("low", "high"), SQUARE: ("square low", "square high")}
CONTRACTING = [TYPICAL, SQUARE, EXACT]  # positive where a draw contracts
ROUNDS = 20_000  # at most, of a run


@dataclass(frozen=True)
class Rates(Sizes):
    """The values of each axis."""

    step: tuple[float, ...] = size(
        (0.01, 0.02, 0.05, 0.1, 0.2),
        "Step sizes.",
        quick=(0.05, 0.1),
        above=0.0,
        maximum=1.0,
        because={"maximum": "runs diverge there"},
    )
    tau: tuple[int, ...] = size(
        (1, 2, 5, 10, 20),
        "Local steps.",
        quick=(1, 5),
        maximum=100,
        because={"maximum": "eta tau sigma_k/d, what small steps take off, is above 1 there"},
    )
    C: tuple[int, ...] = size(
        (1, 2, 4, 8, 16), "Participants, drawn with replacement: can be above n.", quick=(1, 2)
    )
    d: tuple[int, ...] = size(
        (4, 6, 8, 12, 16),
        "Items.",
        quick=(6, 8),
        minimum=3,
        because={"minimum": "above the rank, 2, at which it is varied"},
    )
    p: tuple[int, ...] = size(
        (3, 4, 5, 8, 12),
        "Columns of the side information.",
        quick=(4, 5),
        minimum=3,
        because={"minimum": "above the rank, 2, at which it is varied"},
    )
    k: tuple[int, ...] = size(
        (1, 2, 3, 4),
        "Ranks.",
        quick=(1, 2),
        maximum=4,
        because={"maximum": "below p = 5, at which it is varied"},
    )
    condition: tuple[float, ...] = size(
        (1.0, 1.5, 2.0, 3.0, 4.0), "Condition numbers of M*.", quick=(1.0, 2.0), minimum=1.0
    )
    n: int = size(16, "Clients.", quick=12, minimum=MIDDLE["p"])
    runs: int = size(100, "Runs of a replicate.", quick=20, minimum=2)

    def check(self):
        if max(self.p) > self.n:
            raise ValueError(f"p must be at most n = {self.n}, got {max(self.p)}")
        numbers = (max(max(self.d) + MIDDLE["p"], MIDDLE["d"] + max(self.p))) * MIDDLE["k"]
        if numbers > 100:
            raise ValueError(
                f"d and p must leave at most 100 numbers in U and V, whose second moments are "
                f"followed, got {numbers}"
            )
        longest = max(2.0 * FOLDS / small_steps(cell) for cell in cells(self))
        if longest > ROUNDS:
            raise ValueError(
                f"condition and step must leave runs of at most {ROUNDS} rounds, which grow like "
                f"condition/step, got {longest:.0f}"
            )


def cells(sizes):
    return Grid.around(MIDDLE, {name: getattr(sizes, name) for name in AXES})


def small_steps(cell):
    """Return what a round takes off for small steps, eta tau sigma_k/d."""
    return cell["step"] * cell["tau"] / (cell["condition"] * cell["d"])


def replicate(cell, rng, **sizes):
    figure = Rates(**sizes)
    truth = lr.SideInformationCompletion.random(
        n=figure.n, d=cell["d"], p=cell["p"], k=cell["k"], side="isometric",
        singular_values=np.geomspace(1.0, 1.0 / cell["condition"], cell["k"]), rng=rng,
    )  # fmt: skip
    own = {"step_size": cell["step"], "local_steps": cell["tau"]}
    small = small_steps(cell)
    mu = max(theory.scaling(truth.Z).mu_z, theory.incoherence(truth.U))
    setting = theory.Setting.of(truth, c=1.0, mu=mu)
    powers = {"c_power": 2.0, "condition_power": 1.0}
    allowed = theory.step_size_limit(setting, cell["tau"], c_power=7.0, condition_power=1.0)
    falls = [
        theory.decrease(setting, step_size=step, local_steps=cell["tau"], **powers)
        for step in (cell["step"], allowed)
    ]
    exact = sharp.mean_square_rate(truth, participants=cell["C"], **own)
    limit = sharp.step_limit(truth, local_steps=cell["tau"], participants=cell["C"])
    at_step, at_own = (-np.expm1(0.5 * np.log1p(-min(fall, 1.0 - 1e-12))) for fall in falls)
    values = (
        *measured(truth, cell, rng, small, figure.runs),
        1.0 - np.sqrt(exact), small, at_step, at_own, limit, allowed,
    )  # fmt: skip
    return dict(zip(COLUMNS, map(float, values), strict=True))


def measured(truth, cell, rng, small, runs):
    """Return 1 minus the factor per round of a typical run, and of the root mean square."""
    half = max(1, round(FOLDS / small))
    start = tuple(F + START * rng.standard_normal(F.shape) for F in (truth.U, truth.V))
    logs = []
    for seed in rng.integers(2**63, size=runs):
        trace = lr.perfedsi(
            truth, step_size=cell["step"], local_steps=cell["tau"], participants=cell["C"],
            rounds=2 * half, record=[half, 2 * half], start=start, rng=int(seed),
        )  # fmt: skip
        if trace.stop_reason == "diverged":
            return -np.inf, -np.inf
        logs.append(np.log(trace["error"][1:]))
    first, last = np.transpose(logs)
    typical = np.mean(last - first)
    square = 0.5 * np.log(np.mean(np.exp(2.0 * last)) / np.mean(np.exp(2.0 * first)))
    return -np.expm1(typical / half), -np.expm1(square / half)


def means(rows, axis):
    """Return the means of all columns along an axis, with the measured ones' intervals.

    Those that tell whether draws contract are NaN where one does not; "contract" counts the draws.
    """
    lines = []
    for value, own in along(rows, axis, MIDDLE).groupby(axis):
        contract = counted((own[CONTRACTING] > 0.0).all(axis=1))
        middles, ends = own[[*COLUMNS]].mean(), [np.nan] * 4
        if contract.count < contract.of:
            middles[CONTRACTING] = np.nan
        else:
            ends = [float(end) for name in MEASURED for end in mean_interval(own[name])[1:]]
        lines.append((value, *middles, *ends, contract))
    names = [axis, *COLUMNS, *(end for ends in MEASURED.values() for end in ends), "contract"]
    return pd.DataFrame(lines, columns=names)


LINES = {
    EXACT: {"color": "C3"},
    SMALL: {"color": "0.4", "linestyle": ":"},
    AT_STEP: {"color": "C1", "linestyle": "--"},
}
BELOW = {LIMIT: {"color": "C3"}, ALLOWED: {"color": "C1", "linestyle": "--"}}


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 8.0))
    grid = figure.subplots(4, 4, height_ratios=(3, 2, 3, 2))
    upper, lower = grid[::2].ravel(), grid[1::2].ravel()
    tables = [means(rows, axis) for axis in AXES]
    for top, below, table, label in zip(upper, lower, tables, AXES.values(), strict=False):
        x = table.iloc[:, 0]
        aside = (x.max() / x.min()) ** 0.02  # so that one marker does not hide the other
        for place, shift, (name, (low, high)) in zip(
            (0, 2), (1.0 / aside, aside), MEASURED.items(), strict=True
        ):
            plotting.scaling(
                top, shift * x, table[name], low=table[low].clip(lower=0.0), high=table[high],
                label=name, place=place,
            )  # fmt: skip
        for ax, lines in ((top, LINES), (below, BELOW)):
            for name, look in lines.items():
                ax.plot(x, table[name], label=name, **look)
            base = MIDDLE[x.name]
            ax.axvline(base, color="0.85", linewidth=0.8, zorder=0, label="base setting")
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(apart(x), [f"{value:g}" for value in apart(x)])
            ax.set_xticks([], minor=True)
        top.tick_params(labelbottom=False)
        below.set(xlabel=label)
    for axes in (upper[:7], lower[:7]):
        low, high = (pick(ax.get_ylim()[end] for ax in axes) for end, pick in ((0, min), (1, max)))
        for place, ax in enumerate(axes):
            ax.set_ylim(low, high)
            if place % 4:
                ax.tick_params(labelleft=False)
    for top, table in zip(upper, tables, strict=False):
        for x in table.iloc[:, 0][table[EXACT].isna()]:
            top.plot(x, top.get_ylim()[0], "o", color="k", mfc="none", clip_on=False)
    for row in (0, 1):
        upper[4 * row].set_ylabel("1 − factor per round")
        lower[4 * row].set_ylabel("step limit")
    for ax in (upper[7], lower[7]):
        ax.set_axis_off()
    figure.legend(*upper[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def apart(values):
    """Return the values, in order, without those too near to the one before to be labelled."""
    kept = []
    for value in sorted(values):
        if not kept or value >= kept[-1] * (max(values) / min(values)) ** 0.1:
            kept.append(value)
    return kept


def summary(rows, sizes):
    """Return all columns at each setting, and exponents of what a round takes off."""
    lines = []
    for axis in AXES:
        table = means(rows, axis)
        for _, row in table.iterrows():
            where = f"{axis} = {row[axis]:g}"
            lines.append((f"draws that contract, {where}", row["contract"], np.nan, np.nan))
            for name in COLUMNS:
                ends = row[[*MEASURED[name]]] if name in MEASURED else (np.nan, np.nan)
                lines.append((f"{name}, {where}", row[name], *ends))
            for name in (TYPICAL, SMALL):
                ratio = row[name] / row[EXACT]
                lines.append((f"{name} over exact, {where}", ratio, np.nan, np.nan))
        for name in (*GAINS, LIMIT):
            own = table[table[name].notna()]
            varies = np.ptp(own[name]) > 1e-9 * own[name].max() if len(own) > 1 else False
            law = exponents(own[name], {axis: own[axis]}, robust=True) if varies else None
            if law is not None:
                ends = law.exponents[axis], law.low[axis], law.high[axis]
                lines.append((f"exponent in {axis}, {name}", *ends))
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    names = {"step": "η", "tau": "τ", "condition": "κ"}
    middle = ", ".join(f"{names.get(name, name)} = {value:g}" for name, value in MIDDLE.items())
    fewer = [
        f"{each.contract.of - each.contract.count} of {each.contract.of} at "
        f"{names.get(axis, axis)} = {each[0]:g}"
        for axis in AXES
        for each in means(rows, axis).itertuples(index=False)
        if each.contract.count < each.contract.of
    ]
    open_marks = f"Open marks: draws that do not contract, {', '.join(fewer)}." if fewer else ""
    return f"""
        PerFedSI near M*, n = {sizes.n}, fresh items, no noise. Above: 1 minus the factor by which a
        round multiplies the error, of typical runs (mean logarithm) and of their root mean square
        ({sizes.runs} runs of each of {replicates} draws, over {FOLDS:g} e-foldings; 95 %
        intervals), drawn side by side; red: the spectral radius of the second moments' map; dotted:
        ητσ_k/d; dashed: the rate of Theorem 3.3, with the corrected constants and c = 1, at a step
        that it does not allow. Below: the exact step limit (red) and the theorem's (dashed). One
        parameter changed at a time from {middle} (grey lines). {open_marks}
    """


EXPERIMENT = Experiment(
    id="perfedsi.rates",
    title="What a round takes off the error near M*, along η, τ, C, d, p, k and κ",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("exponent*", f"{TYPICAL}*", f"{SQUARE}*", f"{EXACT}*", f"{SMALL}*"),
    sizes=Rates(),
    paired=tuple(AXES),
    replicates=4,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
