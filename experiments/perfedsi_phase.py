"""PerFedSI's problem: phase diagrams of federated averaging and of the centralized solvers.

How many entries, N, does each method need, in units of the matrix's degrees of freedom, and what
does side information of p columns spare? The paper tries no sample size but that of Figure 3, and
no solver but its own. Entries are drawn uniformly; rows of Z have norm 1 as there. One row is
without side information, p = n = 60: its matrix is one of p = 8, of which Z is kept back.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

import linrep as lr
from linrep.algorithms import imc
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.counts import counted
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import crossings
from linrep.stats import proportion_interval
from linrep.sweeps import Grid
from linrep.theory.perfedsi import determines_truth

STEP_SIZE, LOCAL_STEPS, PARTICIPANTS = 1.0, 5, 4
SUCCESS = 1e-3
DETERMINED, FEDERATED = "entries determine it", "federated averaging"
GRADIENT, NUCLEAR, CORE = "balanced gradient", "nuclear norm", "least squares"
METHODS = (
    DETERMINED, FEDERATED, "Gauss-Newton", "alternating", GRADIENT, NUCLEAR, CORE
)  # fmt: skip
SOLVERS = {
    "Gauss-Newton": (imc.gauss_newton, {"iterations": 50}),
    "alternating": (imc.alternating, {"iterations": 150, "tolerance": 1e-7}),
    GRADIENT: (imc.balanced_gradient, {"iterations": 1000, "tolerance": 1e-5}),
    NUCLEAR: (imc.nuclear_norm, {"iterations": 1000, "levels": 6, "smallest": 1e-5}),
    CORE: (imc.least_squares, {}),
}
SLOW = (GRADIENT, NUCLEAR)  # run only where the entries determine the matrix
SHORT = ("determined", "federated", "G.-Newton", "alternating", "gradient", "nuclear", "least sq.")


@dataclass(frozen=True)
class Phase(Sizes):
    """What is varied: side information, entries, and the condition number at one of both."""

    p: tuple[int, ...] = size(
        (4, 8, 16, 60), "Columns of the side information; n stands for none.", quick=(4, 16, 60)
    )
    rho: tuple[float, ...] = size(
        (0.8, 1.2, 1.6, 2.0, 2.5, 3.2, 4.0), "Entries over degrees of freedom.",
        quick=(1.0, 2.0, 4.0), least=2, above=0.0,
    )  # fmt: skip
    condition: tuple[float, ...] = size(
        (1.0, 10.0, 100.0), "Condition numbers.", quick=(1.0, 100.0), minimum=1.0
    )
    condition_p: int = size(16, "Columns of the side information where these are varied.")
    condition_rho: float = size(4.0, "Entries over degrees of freedom there.", above=0.0)
    batches: int = size(3, "Times the replicates that are run there.", quick=1)
    n: int = size(60, "Clients, and as many items.")
    k: int = size(2, "Rank.")
    hidden: int = size(8, "Columns of the side information that is kept back where there is none.")
    rounds: int = size(200_000, "Rounds of federated averaging.")

    def check(self):
        for name in ("p", "condition_p", "hidden"):
            values = np.atleast_1d(getattr(self, name))
            if values.max() > self.n:
                raise ValueError(f"{name} must be at most n = {self.n}, got {values.max()}")
            if values.min() < self.k:
                raise ValueError(f"k must be at most {name} = {values.min()}, got {self.k}")
        for p, rho, name in (
            (max(self.p), max(self.rho), "rho"),
            (self.condition_p, self.condition_rho, "condition_rho"),
        ):
            if entries_of(self, p, rho) > self.n**2:
                raise ValueError(
                    f"{name} must leave at most n d = {self.n**2} entries, got {rho:g} at p = {p}"
                )


def cells(sizes):
    maps = Grid.product(
        {"part": "map", "condition": 1.0, "p": sizes.p, "rho": sizes.rho, "batch": 0}
    )
    # Few cells, which can have several batches of replicates each.
    return maps + Grid.product(
        {"part": "condition", "condition": sizes.condition, "p": sizes.condition_p,
         "rho": sizes.condition_rho, "batch": range(sizes.batches)}
    )  # fmt: skip


def entries_of(sizes, p, rho):
    """Return the number of entries at an oversampling."""
    return max(1, round(rho * sizes.k * (sizes.n + p - sizes.k)))


def replicate(cell, rng, **sizes):
    figure, p = Phase(**sizes), cell["p"]
    n, k = figure.n, figure.k
    truth = lr.SideInformationCompletion.random(
        n=n, d=n, p=figure.hidden if p == n else p, k=k, side="unit",
        singular_values=np.geomspace(1.0, 1.0 / cell["condition"], k), rng=rng,
    )  # fmt: skip
    seen = truth.observe(entries=entries_of(figure, p, cell["rho"]), rng=rng)
    if p == n:
        seen = seen.without_side_information()
    errors = {DETERMINED: 0.0 if determines_truth(seen) else 1.0}
    trace = lr.perfedsi(
        seen, step_size=STEP_SIZE, rounds=figure.rounds, local_steps=LOCAL_STEPS,
        participants=PARTICIPANTS, record=figure.rounds, rng=rng,
    )  # fmt: skip
    errors[FEDERATED] = np.inf if trace.stop_reason == "diverged" else trace["error"][-1]
    for name, (solver, settings) in SOLVERS.items():
        if name in SLOW and errors[DETERMINED]:
            errors[name] = np.inf
            continue
        rank = {} if name in (NUCLEAR, CORE) else {"k": k}
        with np.errstate(all="ignore"):  # it may diverge
            trace = solver(seen, **rank, **settings)
            if name == GRADIENT and trace.stop_reason == "diverged":
                trace = solver(seen, **rank, **settings, step_size=0.1)
        errors[name] = trace["error"][-1]
    return pd.DataFrame({"method": list(errors), "error": list(errors.values())}).assign(
        least=seen.per_item.min(), entries=len(seen), success=lambda t: t["error"] < SUCCESS
    )


def covered(sizes):
    """Return the number of entries with which half of the draws see every item k times.

    The counts of different items are taken as independent.
    """
    n, k = sizes.n, sizes.k
    N = np.arange(k * n, n**2)
    share = hypergeom.sf(k - 1, n**2, n, N) ** n
    return N[np.argmax(share >= 0.5)]


def draw(rows, sizes):
    from matplotlib.figure import Figure

    n, k = sizes.n, sizes.k
    every, often = covered(sizes), "once" if k == 1 else f"{k} times"
    p = np.geomspace(1.0, 2.0 * n, 200)
    entries = {
        "as many entries as degrees of freedom, ρ = 1": k * (n + p - k),
        f"half of the draws see every item {often}": np.full_like(p, every),
        "as many entries as unknowns in the core, d p": n * p,
    }
    lines = {label: np.column_stack([N / (k * (n + p - k)), p]) for label, N in entries.items()}
    without_core = dict(list(lines.items())[:-1])
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 4.2))
    axes = figure.subplots(2, 4)
    maps = rows[rows["part"] == "map"]
    for place, (ax, method) in enumerate(zip(axes.flat, METHODS, strict=False)):
        own = maps[maps["method"] == method].astype({"success": float})
        mesh = plotting.heat_map(
            ax, own, x="rho", y="p", value="success", details=False,
            boundary=lines if method == CORE else without_core,
        )  # fmt: skip
        ax.set_title(method)
        ax.set_xticks(ax.get_xticks()[::2], ax.get_xticklabels()[::2])
        ax.set_yticklabels([f"{p}" if p < n else "none" for p in sorted(own["p"].unique())])
        ax.set_xlabel("oversampling, $\\rho$")
        if place % 4 == 0:
            ax.set_ylabel("side information, $p$")
    draw_conditions(axes.flat[-1], rows, sizes)
    figure.colorbar(mesh, ax=axes[:, -1], label="share of successes", shrink=0.8)
    handles, labels = axes.flat[METHODS.index(CORE)].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def draw_conditions(ax, rows, sizes):
    """Draw the shares of successes against the condition number, a line per method."""
    own = rows[rows["part"] == "condition"]
    own = own.assign(
        method=pd.Categorical(own["method"], METHODS), success=own["success"].astype(float)
    )
    plotting.heat_map(ax, own, x="condition", y="method", value="success", details=False)
    ax.invert_yaxis()
    ax.set_yticklabels(SHORT, fontsize=6.5)
    ax.set(
        xlabel="condition number", title=f"p = {sizes.condition_p}, ρ = {sizes.condition_rho:g}",
    )  # fmt: skip


def summary(rows, sizes):
    """Return the oversampling at which half of the runs succeed, and shares by condition."""
    maps = rows[rows["part"] == "map"]
    table = crossings(maps, "success", "rho", ["method", "p"])
    lines = [
        (
            line.method,
            f"rho of half the successes, p = {line.p}",
            line.estimate,
            line.low,
            line.high,
        )
        for line in table.itertuples()
    ]
    for (method, p), own in maps[maps["rho"] == maps["rho"].max()].groupby(
        ["method", "p"], sort=False
    ):
        lines.append((method, f"successes at the largest rho, p = {p}", *share(own)))
    for (method, condition), own in rows[rows["part"] == "condition"].groupby(
        ["method", "condition"], sort=False
    ):
        lines.append((method, f"successes, condition = {condition:g}", *share(own)))
    table = pd.DataFrame(lines, columns=["method", "what", "value", "low", "high"])
    return table.set_index(["method", "what"])


def share(rows):
    """Return how many draws succeed, and the interval of their share."""
    _, *ends = proportion_interval(rows["success"].sum(), len(rows))
    return counted(rows["success"]), *ends


def caption(rows, replicates, sizes):
    spread = {1: "value 1", 2: "values 1 and 1/κ"}.get(sizes.k, "values from 1 to 1/κ")
    count = len(rows[rows["part"] == "condition"].groupby("batch")) * replicates
    return f"""
        Share of draws with a relative error below {SUCCESS:g}: d = n = {sizes.n}, rank k =
        {sizes.k}, U* and V* by QR, condition number 1, N entries drawn uniformly, oversampling ρ =
        N/(k(d + p − k)), unit rows of Z with p columns; none: p = n, where Z of p = {sizes.hidden}
        is kept back. {replicates} draws a cell, the same for all methods.
        "{DETERMINED.capitalize()}": the differential at the truth has full rank. Federated
        averaging: η = {STEP_SIZE:g}, {LOCAL_STEPS} local steps, {PARTICIPANTS} participants a
        round, {sizes.rounds:,} rounds, random start N(0, 0.3²). The others start at the spectral
        one and take at most (few, for the figure's time) {SOLVERS["Gauss-Newton"][1]["iterations"]}
        Gauss-Newton, {SOLVERS["alternating"][1]["iterations"]} alternating and
        {SOLVERS[GRADIENT][1]["iterations"]} balanced gradient steps of relative length 0.5 (0.1
        where that diverges); nuclear norm: {SOLVERS[NUCLEAR][1]["iterations"]} steps over
        {SOLVERS[NUCLEAR][1]["levels"]} levels down to 10⁻⁵ of the first; least squares on the core
        of least norm. Balanced gradient and nuclear norm are run where the entries determine the
        matrix, and count as failures elsewhere. Bottom right: singular {spread} of M*,
        {count} draws each.
    """


EXPERIMENT = Experiment(
    id="perfedsi.phase",
    title="Phase diagrams of completion with side information",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Phase(),
    replicates=6,
    quick_replicates=2,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
