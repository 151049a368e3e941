"""Which estimator, when: all of them on the same samples, as one thing at a time is changed.

Around one setting (n = 200 clients of m = 20 samples in dimension d = 40, rank k = 3, heads of norm
sqrt(k) with kappa = 1, noise 0.5) each of n, m, d, k, kappa and the noise takes other values. Every
estimator sees the same samples, once, and none knows the truth, but that nuclear norm's penalty is
the noise level times the size of its gradient, sigma (sqrt(n) + sqrt(d)) / (n sqrt(m)), as theory
has it (Negahban and Wainwright, 2011, up to the constant), and FedRep's step its theorem's.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms import personalized
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import along
from linrep.stats import mean_interval
from linrep.sweeps import Grid
from linrep.theory import bounds

BASE = {"n": 200, "m": 20, "d": 40, "k": 3, "condition": 1.0, "noise": 0.5}
#: How each axis is labelled.
AXES = {
    "m": "samples per client, $m$", "n": "clients, $n$", "d": "dimension, $d$",
    "k": "rank, $k$", "condition": r"condition number of the heads, $\kappa$",
    "noise": r"noise, $\sigma$",
}  # fmt: skip
ROUNDS = 300
HIGHEST = 20.0  # risk that is drawn
#: Estimators by what they do, with the colour of their kind.
KINDS = {
    "spectral": ("C1", ("method of moments", "truncated", "cross moments")),
    "minimize the loss": ("C0", ("LF", "AltMin", "AltGDmin", "FedRep", "FLUTE")),
    "split samples": ("C2", ("AltMinGD",)),
    "learn a start": ("C4", ("ANIL", "MAML")),
    "convex": ("C3", ("nuclear norm",)),
    "alone": ("0.5", ("ridge alone",)),
}
#: One of each kind, for the table; the rows have all.
LISTED = ("cross moments", "FedRep", "AltMinGD", "nuclear norm")
BOUNDS = {"Cramér-Rao given the covariates": "-", "Cramér-Rao": ":", "B known": "--"}


@dataclass(frozen=True)
class Estimators(Sizes):
    """The values of each axis; the others are as in the setting around which they are taken."""

    m: tuple[int, ...] = size(
        (2, 3, 4, 6, 9, 13, 20, 40, 80), "Samples per client.", quick=(3, 6, 20), minimum=2
    )
    n: tuple[int, ...] = size((25, 50, 100, 200, 400, 800), "Clients.", quick=(50, 200),
                              minimum=BASE["k"])  # fmt: skip
    d: tuple[int, ...] = size((10, 20, 40, 80, 160), "Dimensions.", quick=(20, 40),
                              minimum=BASE["k"])  # fmt: skip
    k: tuple[int, ...] = size(
        (1, 2, 3, 5, 8, 12),
        "Ranks.",
        quick=(3, 5),
        maximum=BASE["d"],
        because={"maximum": "of the dimension, at which it is varied"},
    )
    condition: tuple[float, ...] = size(
        (1.0, 2.0, 4.0, 8.0, 16.0), "Condition numbers of the heads.", quick=(1.0, 4.0), minimum=1.0
    )
    noise: tuple[float, ...] = size(
        (0.03, 0.1, 0.25, 0.5, 1.0, 2.0),
        "Standard deviations of the noise.",
        quick=(0.1, 0.5),
        above=0.0,
    )


def cells(sizes):
    return Grid.around(BASE, {name: getattr(sizes, name) for name in AXES})


def _penalty(n, m, d, noise):
    return noise * (np.sqrt(n) + np.sqrt(d)) / (n * np.sqrt(m))


def truncated(data, *, k):
    """Return AltGDmin's start with least-squares heads on it."""
    B = lr.truncated_start(data, k)
    return lr.Trace("truncated", {"loss": np.array([np.nan])}, {"B": B, "W": lr.fit_heads(data, B)})


def estimators(cell):
    """Return what each estimator is called with, besides the samples and a seed."""
    k, penalty = cell["k"], _penalty(cell["n"], cell["m"], cell["d"], cell["noise"])
    rounds = {"k": k, "rounds": ROUNDS}
    return {
        "method of moments": (lr.method_of_moments, {"k": k}),
        "truncated": (truncated, {"k": k}),
        "cross moments": (lr.cross_moments, {"k": k}),
        "LF": (lr.linear_factorization, {"k": k}),
        "AltMin": (lr.alternating_least_squares, {"k": k}),
        "AltGDmin": (lr.altgdmin, rounds),
        "FedRep": (lr.fedrep, rounds),
        "FLUTE": (lr.flute, rounds),
        "AltMinGD": (lr.altmin_gd, rounds),
        "ANIL": (lr.anil, rounds),
        "MAML": (lr.maml, rounds),
        "nuclear norm": (
            personalized.nuclear_norm, {"penalty": penalty, "rounds": ROUNDS, "tolerance": 1e-6}
        ),
        "ridge alone": (lr.ridge, {}),
    }  # fmt: skip


def replicate(cell, rng, **_):
    truth_rng, run_rng = lr.streams(rng, "truth", "run")
    condition = None if cell["k"] == 1 else cell["condition"]
    truth = lr.SharedRepresentation.random(
        n=cell["n"], d=cell["d"], k=cell["k"], condition=condition, noise=cell["noise"],
        rng=truth_rng,
    )  # fmt: skip
    found = lr.compare(
        truth, estimators(cell), m=cell["m"], metric="population_risk", trials=1, progress=False,
        rng=run_rng,
    )  # fmt: skip
    rows = found.rows[["method", "samples", "population_risk", "distance", "stop_reason"]]
    limits = {
        "Cramér-Rao given the covariates": bounds.cramer_rao(truth, cell["m"], given_design=True),
        "Cramér-Rao": bounds.cramer_rao(truth, cell["m"]),
        "B known": bounds.known_representation(truth, cell["m"]),
    }
    lines = [
        (name, 0.5 * limit.mean, np.sqrt(limit.squared_chordal / truth.k))
        for name, limit in limits.items()
    ]
    below = pd.DataFrame(lines, columns=["method", "population_risk", "distance"])
    below = below.assign(samples=cell["n"] * cell["m"], stop_reason="bound")
    found = pd.concat([rows, below], ignore_index=True)
    return found.astype({"distance": np.float32})  # half the room


def means(rows, axis):
    """Return the geometric means over replicates: a row per value of the axis, columns by method.

    NaN where a bound is infinite, or a replicate has no value.
    """
    rows = along(rows, axis, BASE)
    risks = rows["population_risk"]
    values = risks.where(np.isfinite(risks) & (risks > 0.0))
    return values.map(np.log).groupby([rows[axis], rows["method"]]).agg(
        lambda part: np.exp(part.mean(skipna=False))
    ).unstack()  # fmt: skip


def times(rows, axis, method, other):
    """Return how many times another's value a method has: mean, low, high, by value of the axis.

    Geometric means of the ratios, replicate by replicate, with 95 % intervals.
    """
    table = along(rows, axis, BASE).pivot_table(
        index=[axis, "replicate"], columns="method", values="population_risk", dropna=False
    )
    logs = np.log(table[method] / table[other])
    found = {value: np.exp(mean_interval(part.to_numpy())) for value, part in logs.groupby(axis)}
    return pd.DataFrame(found, index=["times", "low", "high"]).T


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 5.4))
    panels = figure.subplots(2, 3, sharey=True).ravel()
    for axes, (axis, label) in zip(panels, AXES.items(), strict=True):
        shown = along(rows, axis, BASE)
        for color, names in KINDS.values():
            for place, name in enumerate(names):
                part = shown[shown["method"] == name].groupby(axis)["population_risk"]
                values = np.array(
                    [[key, *mean_interval(each, geometric=True)] for key, each in part]
                )
                x, mean, low, high = values.T
                axes.plot(
                    x, mean, color=color, marker="osv^D"[place], markersize=3.0, linewidth=0.9,
                    markerfacecolor="none" if place else color, label=name,
                )  # fmt: skip
                axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0.0)
        limits = means(rows, axis)
        for name, dashes in BOUNDS.items():
            axes.plot(limits.index, limits[name], color="k", linestyle=dashes, linewidth=1.1,
                      label=name)  # fmt: skip
        axes.axvline(BASE[axis], color="0.85", linewidth=0.8, zorder=0)
        axes.set(xscale="log", yscale="log", xlabel=label)
        plotting.plain_log_ticks(axes.xaxis)
        if axis in "mn":
            each = BASE["n" if axis == "m" else "m"]
            top = axes.secondary_xaxis(
                "top", functions=(lambda x, each=each: x * each, lambda x, each=each: x / each)
            )
            top.set_xlabel("samples in total, $nm$")
            plotting.plain_log_ticks(top.xaxis)
    panels[0].set_ylim(top=HIGHEST)  # shared
    for axes in panels[::3]:
        axes.set_ylabel("population risk")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5)
    return figure


def summary(rows, sizes):
    """Return the geometric means of some population risks, a row per value of each axis."""
    return pd.concat(
        {axis: means(rows, axis)[list(LISTED)] for axis in AXES}, names=["axis", "value"]
    )


def caption(rows, replicates, sizes):
    base = ", ".join(f"{'κ' if name == 'condition' else name} = {value:g}"
                     for name, value in BASE.items())  # fmt: skip
    counts = rows.loc[rows["stop_reason"] == "diverged", "method"].value_counts()
    wild = "".join(f" {count} runs of {name} diverged." for name, count in counts.items())
    return f"""
        Population risk (half the mean squared distance to the clients' models) of estimators on
        the same samples, seen once, geometric means over {replicates} draws with 95 % intervals;
        one parameter is changed at a time, from {base} (grey lines); covariates N(0, I), heads of
        norm √k. Iterative methods take at most {ROUNDS} rounds (LF and AltMin stop by themselves),
        the nuclear norm's penalty is σ(√n + √d)/(n√m). Orange: spectral estimators with
        least-squares heads on what they find. Blue: methods that minimize the training loss over
        models of rank k, mostly on top of each other. Green: heads and representation from
        different halves of the samples; pink: ANIL and MAML, inner and outer steps on these halves,
        least-squares heads on what they find. Black: the Cramér-Rao bound, which binds unbiased
        estimators, solid for those that are so given the covariates, and the exact risk where B* is
        known; each is drawn where it is finite. Risks above {HIGHEST:g} are beyond the
        panels.{wild}
    """


EXPERIMENT = Experiment(
    id="literature.estimators",
    title="Which estimator, when: error against samples, sizes, conditioning and noise",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Estimators(),
    replicates=20,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
