"""FedRep on fresh Gaussian batches against the curve of its mean square: over ten decades beside
the bound (11), and the difference at forty-two settings.

The curve is that of the runs' own n, d and participants for exact heads on one batch, and the limit
as d and n grow together for heads that are stepped or another batch for the gradient.

Nothing is fitted. The measure is the root mean square of the sines of the principal angles, whose
bias is of order 1/n; the largest of several equal sines is biased by order 1/sqrt(n). Batches are
simulated through their sufficient statistics where covariates are Gaussian and the start is a
distance. Differences are in units of the standard deviation of a single run: the formula of
linrep.theory.finite.fluctuation where there is one (a start near the truth, no noise), the measured
one elsewhere.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.problems import ImplicitRepresentation
from linrep.stats import mean_interval
from linrep.sweeps import Grid
from linrep.theory import fedrep as theory
from linrep.theory import finite

CURVE = {"part": "curve", "n": 100, "d": 20, "k": 2, "m": 10, "start": 0.5, "step": 0.25}
LIMIT = 4.0  # standard deviations of a single run


def setting(common, **changed):
    return (
        common
        | {"label": ", ".join(f"{key} = {value}" for key, value in changed.items())}
        | changed
    )


def settings(n):
    """Return the settings at which runs are compared with the curve.

    Near the truth, with heads of equal norm, the standard deviation of a run is known; from afar,
    with normal heads and the step in units of their largest curvature, it is measured.
    """

    def of(share):
        return max(round(share * n), 1)

    near = {"part": "known", "n": n, "d": n, "k": 2, "m": 10, "start": 0.01, "step": 0.5}
    far = {**near, "part": "measured", "start": 0.7}
    outside = {**far, "part": "outside"}
    return [
        *(setting(near, n=of(x), d=of(x)) for x in (0.02, 0.05, 0.1, 0.3, 3, 50)),
        *(setting(near, d=of(x)) for x in (0.1, 0.5, 2, 4)),
        *(setting(near, k=k, m=k + 8) for k in (1, 4, 8)),
        *(setting(near, step=step) for step in (0.25, 1.0)),
        *(setting(near, m=m) for m in (4, 5, 40)),
        *(setting(far, n=of(x), d=of(x)) for x in (0.05, 0.3, 20)),
        *(setting(far, d=of(x)) for x in (0.1, 4)),
        *(setting(far, k=k, m=k + 8) for k in (1, 8)),
        *(setting(far, noise=noise) for noise in (0.3, 1.0)),
        *(setting(far, participation=r) for r in (0.5, 0.1)),
        setting(far, batches="split"),
        setting(far, batches="split", noise=0.5),
        *(setting(far, local_steps=tau) for tau in (1, 5)),
        *(setting(far, start=start) for start in (0.3, 0.95)),
        *(setting(far, start="truncated", n=of(0.4), d=of(x)) for x in (0.04, 0.2)),
        *(setting(outside, n=of(0.02), d=of(0.01), participation=r) for r in (0.1, 0.5)),
        *(setting(outside, n=of(0.2), d=d, design="rademacher") for d in (4, of(0.05), of(0.2))),
    ]


@dataclass(frozen=True)
class LearningCurves(Sizes):
    """How far runs are followed."""

    n: int = size(1000, "Clients and dimensions where neither is varied.", minimum=400)
    rounds: int = size(20, "Rounds after which runs are compared with the curve.", quick=10)
    curve: int = size(110, "Rounds of the curves.", quick=30)


def cells(sizes):
    return Grid.of([CURVE, *settings(sizes.n)])


def heads(cell, rng):
    """Return heads of equal norm in all directions alike, or normal ones."""
    n, k = cell["n"], cell["k"]
    if cell["part"] in ("measured", "outside"):
        return rng.standard_normal((n, k))
    return np.sqrt(k) * np.eye(k)[np.arange(n) % k]


def step_size(cell, W):
    return cell["step"] / np.linalg.eigvalsh(W.T @ W / len(W))[-1]


def truth_of(cell, rng):
    W, noise = heads(cell, rng), cell.get("noise", 0.0)
    if cell.get("design") or isinstance(cell["start"], str):
        basis = lr.subspace.random_frame(cell["d"], cell["k"], rng=rng)
        return lr.SharedRepresentation(basis, W, noise, design=cell.get("design", "gaussian"))
    return ImplicitRepresentation(W, cell["d"], noise)


def run(cell, truth, rounds, seed):
    """Return a run and its root mean square sine after so many rounds."""
    same = cell.get("batches", "same") == "same"
    if cell.get("design"):
        batches = "fresh" if same else "split"
    else:
        batches = "gram" if same else "gram_split"
    trace = lr.fedrep(
        truth,
        m=cell["m"],
        rounds=rounds,
        batches=batches,
        start=cell["start"],
        step_size=step_size(cell, truth.W),
        participation=cell.get("participation", 1.0),
        local_steps=cell.get("local_steps"),
        rng=seed,
    )
    if "Phi" in trace.state:
        return trace, np.linalg.norm(trace.state["Phi"]) / np.sqrt(truth.k)
    sines = np.sin(lr.subspace.principal_angles(trace.state["B"], truth.B))
    return trace, np.sqrt(np.mean(sines**2))


def expected(truth, trace, rng):
    """Return the root mean square sine of the curve at a run's end, its covariates being normal."""
    gaussian = ImplicitRepresentation(truth.W, truth.d, truth.noise)
    with warnings.catch_warnings():  # far starts of few participants are a part of their own
        warnings.filterwarnings("ignore", "from a distance", UserWarning)
        curve = finite.of_run(gaussian, trace.settings, particles=10 * truth.n, rng=rng)
    return np.sqrt(curve.squared_chordal[-1] / truth.k)


def replicate(cell, rng, **sizes):
    chosen = LearningCurves(**sizes)
    truth = truth_of(cell, rng)
    seed = int(rng.integers(2**63))
    if cell["part"] == "curve":
        found = [run(cell, truth, t, seed)[1] for t in range(1, chosen.curve + 1)]
        return pd.DataFrame({"round": range(1, chosen.curve + 1), "sine": found, "curve": np.nan})
    trace, found = run(cell, truth, chosen.rounds, seed)
    own = expected(truth, trace, rng)
    return pd.DataFrame({"round": [chosen.rounds], "sine": [found], "curve": [own]})


def fluctuation(cell, rounds):
    """Return the standard deviation of a single run's logarithm, near the truth."""
    truth = ImplicitRepresentation(heads(cell, None), cell["d"])
    return finite.fluctuation(truth, m=cell["m"], step_size=step_size(cell, truth.W), rounds=rounds)


def deviations(rows, sizes):
    """Return for each setting the mean of log(sine/curve), and a single run's deviation."""
    lines = []
    for cell in settings(sizes.n):
        own = rows[rows["label"] == cell["label"]]
        own = own[own["part"] == cell["part"]]
        logs = np.log(own["sine"] / own["curve"])
        measured = float(logs.std(ddof=1))
        known = measured
        if cell["part"] == "known":
            known = fluctuation(cell, int(own["round"].iloc[0]))
        mean, low, high = map(float, mean_interval(logs))
        lines.append((cell["part"], cell["label"], mean, low, high, known))
    names = ["part", "setting", "difference", "low", "high", "sd"]
    return pd.DataFrame(lines, columns=names)


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 5.6))
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.1))
    _draw_curves(left, rows[rows["part"] == "curve"], sizes.curve)
    _draw_deviations(right, deviations(rows, sizes))
    return figure


def _draw_curves(ax, rows, rounds):
    n, d, k, m = (CURVE[name] for name in ("n", "d", "k", "m"))
    for _, own in rows.groupby("replicate"):
        ax.plot(own["round"], own["sine"], color="0.75", linewidth=0.6)
    ax.plot([], [], color="0.75", linewidth=0.6, label="runs")
    truth = ImplicitRepresentation(heads(CURVE, None), d)
    step = step_size(CURVE, truth.W)
    found = finite.fedrep(truth, m=m, step_size=step, start=CURVE["start"], rounds=rounds)
    curve, t = np.sqrt(found.squared_chordal / k), np.arange(rounds + 1)
    spread = 2.0 * fluctuation(CURVE, 1) * np.sqrt(t)
    ax.fill_between(t, curve * np.exp(np.negative(spread)), curve * np.exp(spread), alpha=0.25,
                    linewidth=0, label="± 2 standard deviations")  # fmt: skip
    ax.plot(t, curve, linewidth=1.2, label="mean square")
    factor = theory.contraction(truth, step_size=step, initial_distance=CURVE["start"])
    ax.plot(t, CURVE["start"] * factor**t, color="C1", linestyle="--", label="bound (11)")
    ax.set(xlabel="round", ylabel="root mean square sine", yscale="log",
           title=f"$n={n}$, $d={d}$, $k={k}$, $m={m}$")  # fmt: skip
    ax.legend(loc="lower left")


def _draw_deviations(ax, table):
    colors = {"known": "C0", "measured": "C2", "outside": "C3"}
    names = {
        "known": "near $B^*$, standard deviation by formula",
        "measured": "from afar, standard deviation measured",
        "outside": "few participants from afar, signs",
    }
    table = table.iloc[::-1].reset_index(drop=True)
    for part, own in table[::-1].groupby("part", sort=False):
        centre, ends = own["difference"] / own["sd"], own[["low", "high"]].div(own["sd"], axis=0)
        error = np.abs(ends.to_numpy().T - centre.to_numpy())
        ax.errorbar(centre, own.index, xerr=error, fmt="o", markersize=3, linewidth=1,
                    color=colors[part], label=names[part])  # fmt: skip
    ax.axvspan(-LIMIT, LIMIT, color="0.93", zorder=0)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_yticks(table.index, table["setting"], fontsize=6)
    ax.set(xlabel="log(run/curve) over a run's standard deviation", ylim=(-0.7, len(table) - 0.3))
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, 1.14), fontsize=6.5)


def summary(rows, sizes):
    """Mean log ratio of runs and curve, its interval, and the deviation of a single run."""
    table = deviations(rows, sizes)
    return table.set_index(["part", "setting"])


def caption(rows, replicates, sizes):
    return f"""
        FedRep with exact heads, or 1 and 5 head steps, on fresh Gaussian
        batches, {replicates} replicates. Left: heads of norm √k in all directions alike, η = 1/4;
        no parameter is fitted. The curve is that of the mean square at the runs' own n, d and
        participants, the limit of many for two batches and for head steps. Right: mean and 95 %
        interval of log(run/curve) after {sizes.rounds} rounds, over the standard deviation of a
        single run; shaded ±{LIMIT:g}. Blue: n = d = {sizes.n}, k = 2, m = 10, heads as on the left,
        η = 1/2, start at distance 0.01, but for what a line says. Green: normal heads, η =
        1/(2λ_max), start at distance 0.7. Red: few participants, and covariates that are signs.
    """


EXPERIMENT = Experiment(
    id="fedrep.learning_curves",
    title="Runs of FedRep on the curve of their mean square, and the bound (11) beside them",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("difference", "low", "high"),
    sizes=LearningCurves(),
    replicates=24,
    quick_replicates=8,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
