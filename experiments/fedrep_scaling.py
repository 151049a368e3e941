"""FedRep, Theorem 1 at scale: the smallest sufficient m against d, rn, k and kappa, one batch for
head and gradient against two, and the contraction per round.

Batches are simulated through their sufficient statistics, so that d = 10^6 and n = 10^5 cost what
the clients' heads cost. The criterion is that of fedrep.sample_size: after 30 rounds the distance
is at most what the theorem promises. The values of m are multiples of k d/n, on the same grid for
every d and n. Heads of norm sqrt(k); kappa is prescribed exactly up to n = 1000 and within a few
percent of 1 beyond, as random heads have it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep import sweeps
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import crossings, exponents
from linrep.stats import mean_interval
from linrep.sweeps import Grid

START = 0.5
BATCHES = {"gram": "one batch", "gram_split": "two batches"}
PARTS = ("size", "rank", "condition")
BY = ["part", "batches", "d", "n", "k", "condition"]


def multiples(count):
    """Return values of m over k d/n on a logarithmic grid."""
    return tuple(np.geomspace(0.05, 1.0, count).round(4).tolist())


@dataclass(frozen=True)
class Scaling(Sizes):
    """What is varied: d and n at k = 2 and kappa = 1, then k and kappa at one d and n."""

    d: tuple[int, ...] = size((10**3, 10**4, 10**5, 10**6), "Dimensions.", quick=(10**4, 10**6))
    n: tuple[int, ...] = size((10, 100, 10**3, 10**4, 10**5), "Clients.", quick=(10, 100))
    k: tuple[int, ...] = size((1, 2, 3, 4, 6, 8), "Ranks.", quick=(1, 2, 4, 8))
    condition: tuple[float, ...] = size(
        (1.25, 1.5, 2.0, 3.0, 4.0), "Condition numbers kappa.", quick=(1.5, 2.0, 4.0), minimum=1.0
    )
    one_d: int = size(10**5, "Dimension where k and kappa are varied.")
    one_n: int = size(
        100,
        "Clients there.",
        maximum=1000,
        because={"maximum": "of more the heads' kappa is not prescribed exactly"},
    )
    multiple: tuple[float, ...] = size(
        multiples(16),
        "Values of m that are tried, over k d/n.",
        quick=multiples(7),
        least=2,
        above=0.0,
    )
    rounds: int = size(30, "Rounds after which a run counts.")

    def check(self):
        least = min(self.one_n, self.one_d)
        if max(self.k) > least:
            raise ValueError(f"k must be at most {least} = min(one_n, one_d), got {max(self.k)}")
        if min(*self.n, *self.d, least) < 2:
            raise ValueError("n and d must be at least 2, the rank where they are varied")


def cells(sizes):
    common = {"batches": list(BATCHES), "multiple": sizes.multiple}
    one = {"d": sizes.one_d, "n": sizes.one_n}
    rule = {"m": lambda cell: int(np.ceil(cell["k"] * cell["multiple"] * cell["d"] / cell["n"]))}
    both = Grid.product(
        {
            "part": "size",
            "d": sizes.d,
            "n": sizes.n,
            "k": 2,
            "condition": 1.0,
            **common,
        },
        derived=rule,
        constraints={"d >= 10 * n": "a constant number of samples would do, whatever d/(rn)"},
    )
    ranks = Grid.product(
        {"part": "rank", **one, "k": sizes.k, "condition": 1.0, **common},
        derived=rule,
    )  # fmt: skip
    conditions = Grid.product(
        {"part": "condition", **one, "k": 2, "condition": sizes.condition, **common},
        derived=rule,
    )  # fmt: skip
    return both + ranks + conditions


def replicate(cell, rng, **sizes):
    rounds = Scaling(**sizes).rounds
    n, k = cell["n"], cell["k"]
    truth = lr.SharedRepresentation.random(
        n=n, d=cell["d"], k=k, condition=cell["condition"] if n <= 1000 else None, store=False,
        rng=rng,
    )  # fmt: skip
    trace = lr.fedrep(
        truth, m=cell["m"], rounds=rounds, batches=cell["batches"], start=START, rng=rng
    )
    sigma_min = np.linalg.svd(truth.W, compute_uv=False)[-1] / np.sqrt(n)
    factor = 1.0 - trace.step_size * (1.0 - START**2) * sigma_min**2 / 2.0
    distance = trace["distance"][-1]
    return {
        "distance": distance,
        "promised": START * factor ** (rounds / 2),
        "success": bool(trace.rounds == rounds and distance <= START * factor ** (rounds / 2)),
        "contraction": float((distance / START) ** (1.0 / rounds)),
        "step_size": trace.step_size,
    }


def thresholds(rows):
    """Return the smallest sufficient m of each combination, with its interval."""
    table = sweeps.thresholds(rows, "success", "m", BY).rename(columns={"estimate": "m"})
    return table.assign(ratio=table["d"] / table["n"])


def fits(table):
    """Yield batches, variable, and the fit of the smallest sufficient m, where there is one."""
    for batches in BATCHES:
        mine = table[(table["batches"] == batches) & table["m"].notna()]
        varied = mine[mine["part"] == "size"]
        found = {"size": exponents(varied["m"], {"d": varied["d"], "rn": varied["n"]})}
        for part, name in (("rank", "k"), ("condition", "condition")):
            own = mine[mine["part"] == part]
            found[part] = exponents(own["m"], {name: own[name]})
        for part, fit in found.items():
            if fit is not None:
                yield batches, part, fit


def draw(rows, sizes):
    from matplotlib.figure import Figure

    table = thresholds(rows)
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 5.0))
    axes = dict(zip((*PARTS, "contraction"), figure.subplots(2, 2).flat, strict=True))
    labels = {"size": "$d/(rn)$", "rank": "$k$", "condition": "$\\kappa$"}
    columns = {"size": "ratio", "rank": "k", "condition": "condition"}
    found = {(batches, part): fit for batches, part, fit in fits(table)}
    for part in PARTS:
        ax, x = axes[part], columns[part]
        for place, (batches, name) in enumerate(BATCHES.items()):
            own = table[(table["part"] == part) & (table["batches"] == batches)]
            fit = found.get((batches, part))
            exponents = "" if fit is None else ", exponent of " + ", ".join(
                f"{'κ' if key == 'condition' else key}: {value:.2f}"
                for key, value in fit.exponents.items()
            )  # fmt: skip
            shift = 1.06 if place else 1.0
            plotting.scaling(
                ax, own[x] * shift, own["m"], low=own["low"], high=own["high"],
                label=f"{name}{exponents}", place=place,
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel=labels[part], ylabel="smallest sufficient $m$")
        ax.legend(fontsize=6.5, loc="upper right" if part == "condition" else "lower right")
    for part in PARTS:
        plotting.plain_log_ticks(axes[part].xaxis)
        plotting.plain_log_ticks(axes[part].yaxis)
    ax = axes["contraction"]
    varied = rows[rows["part"] == "size"]
    largest = varied[varied["d"] == varied["d"].max()]
    largest = largest[largest["n"] == largest["n"].max()]
    shown = largest.assign(batches=largest["batches"].map(BATCHES))
    plotting.curves(
        ax,
        shown,
        x="multiple",
        y="contraction",
        by="batches",
        order=list(BATCHES.values()),
        markers=True,
    )
    eta = largest["step_size"].median()
    ax.axhline(
        (largest["promised"] / START).median() ** (1 / sizes.rounds), color="0.3", linestyle=":"
    )
    ax.axhline(1.0 - eta, color="0.6", linewidth=0.8)
    ax.text(largest["multiple"].max(), 1.0 - eta, "$1-\\eta$", ha="right", va="bottom", fontsize=7)
    n, d = largest["n"].iloc[0], largest["d"].iloc[0]
    ax.set(xscale="log", xlabel="$m\\,rn/(kd)$", ylabel="contraction per round",
           title=f"$d = {power(d)}$, $n = {power(n)}$")  # fmt: skip
    plotting.plain_log_ticks(ax.xaxis)
    ax.legend()
    return figure


def summary(rows, sizes):
    """Return exponents and values of the smallest sufficient m, and the contraction, by batches."""
    table = thresholds(rows)
    lines = []
    for batches, part, found in fits(table):
        for name, value in found.exponents.items():
            label = f"exponent of {name} ({part})"
            lines.append((BATCHES[batches], label, value, found.low[name], found.high[name]))
    for line in crossings(rows[rows["part"] != "size"], "success", "m", BY).itertuples():
        label = f"m, k = {line.k}, kappa = {line.condition:g}"
        ends = (line.estimate, line.low, line.high)
        lines.append((BATCHES[line.batches], label, *ends))
    last = rows[(rows["part"] == "size") & (rows["multiple"] == rows["multiple"].max())]
    for (batches, d, n, m), group in last.groupby(["batches", "d", "n", "m"]):
        mean, low, high = map(float, mean_interval(group["contraction"]))
        lines.append((BATCHES[batches], f"contraction, d = {d}, n = {n}, m = {m}", mean, low, high))
    table = pd.DataFrame(lines, columns=["batches", "what", "value", "low", "high"])
    return table.set_index(["batches", "what"])


def power(number):
    """Return a number as text, powers of ten as such."""
    exponent = round(np.log10(number))
    return f"10^{{{exponent}}}" if number == 10**exponent and exponent > 0 else f"{number}"


def extent(numbers):
    """Return from where to where numbers go, powers of ten as such."""
    ends = dict.fromkeys((min(numbers), max(numbers)))
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    texts = (power(end) for end in ends)
    return " to ".join(
        f"10{text[4:-1].translate(raised) if text != '10^{1}' else ''}" if "^" in text else text
        for text in texts
    )


def caption(rows, replicates, sizes):
    laws = " exponents of power laws by least squares." * any(True for _ in fits(thresholds(rows)))
    return f"""
        FedRep with exact heads on fresh Gaussian batches, simulated through their sufficient
        statistics; heads of norm √k, r = 1, no noise, η = 1/(4σ²_max), start with all angles at
        distance {START}, {replicates} replicates. Success: after {sizes.rounds} rounds the distance
        is at most dist₀(1 − ηE₀σ²_min/2)^{sizes.rounds / 2:g}. Smallest sufficient m: where a
        logistic curve in log m crosses one half, with its interval, mostly a step of the
        grid{";" if laws else "."}{laws} Top left: k = 2, κ = 1, d = {extent(sizes.d)}, n =
        {extent(sizes.n)}, d ≥ 10 n; top right: κ = 1, and bottom left: k = 2, both d =
        {extent([sizes.one_d])}, n = {sizes.one_n}. Two batches: one for the head, one for the
        gradient, m samples each; their points are moved to the right by 6 %. Bottom right:
        (dist/dist₀)^(1/{sizes.rounds}), mean and interval; dotted the theorem's bound, grey the
        limit of infinite m.
    """


EXPERIMENT = Experiment(
    id="fedrep.scaling",
    title="Smallest sufficient m against d, rn, k and κ, up to d = 10⁶ and n = 10⁵",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("*exponent*",),
    kept=lambda rows: rows.drop(columns=["promised", "step_size", "distance"]),
    sizes=Scaling(),
    replicates=12,
    quick_replicates=6,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
