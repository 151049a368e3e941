"""pFL^MF: T times the mean squared gradient, where U follows all clients or the participants.

Two clients have |x - a_i|^2/2, a = (2, 0) and (1, 1), and models of rank 1, so that both gradients
vanish at a minimum of F and clients' do not. Clients' gradients are exact and eta_v = p eta. U
follows the mean gradient of all, as in Theorem 1, or of the participants, as in Algorithm 1. A
rate of 1/T is a line that stays level. With the participants it rises; the dotted line has the
slope of the law [s_1^2 - (1 - pi) s_2^2]/(4 pi eta n) log T, a heuristic, through the last mean.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.sweeps import Grid
from linrep.theory import pflmf

A = np.array([[2.0, 0.0], [1.0, 1.0]])
START = np.array([[1.0], [0.5]]), np.ones((2, 1))
STEP = 0.024  # 1/(4 L), L on balls of radius 2 about the start
METHODS = {"all clients, Theorem 1": "full", "participants, Algorithm 1": "participants"}
LOOKS = dict(zip(METHODS, ("C0", "C1"), strict=True))


@dataclass(frozen=True)
class Runs(Sizes):
    """What is varied: participation."""

    p: tuple[float, ...] = size(
        (0.5, 0.1), "Participation: a panel each.", most=3, above=0.0, below=1.0
    )
    T: int = size(10_000_000, "Rounds.", quick=10_000, minimum=100)


def cells(sizes):
    return Grid.product({"p": sizes.p, "T": sizes.T})


def replicate(cell, rng, **_):
    p, seed = cell["p"], int(rng.integers(2**63))
    times = np.unique(np.round(np.geomspace(10, cell["T"], 60)).astype(int))
    found = []
    for method, aggregate in METHODS.items():
        run = lr.pflmf(
            lr.QuadraticObjectives(A), k=1, step_size=STEP, head_step_size="theorem",
            aggregate=aggregate, participation=p, start=START, rounds=cell["T"], record=times,
            rng=seed,
        )  # fmt: skip
        table = run.to_frame()[["average_U", "average_V", "reach_U"]].reset_index().iloc[1:]
        total = table["round"] * (table["average_U"] + p**2 * table["average_V"])
        found.append(
            table.assign(method=method, total=total)[["method", "round", "total", "reach_U"]]
        )
    return pd.concat(found, ignore_index=True)


def per_decade(p):
    """Return by how much the law grows when T does tenfold."""
    s = np.linalg.svd(A, compute_uv=False)
    pi = float(pflmf.any_client(len(A), p))
    return float(np.log(10.0) * (s[0] ** 2 - (1.0 - pi) * s[1] ** 2) / (4.0 * pi * STEP * len(A)))


def means(rows, p, method):
    """Return T times the mean squared gradient, on average over runs, by T."""
    return rows[(rows["p"] == p) & (rows["method"] == method)].groupby("round")["total"].mean()


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.6))
    axes = np.atleast_1d(figure.subplots(1, len(sizes.p)))
    for ax, p in zip(axes, sizes.p, strict=True):
        for method, color in LOOKS.items():
            own = rows[(rows["p"] == p) & (rows["method"] == method)].groupby("round")["total"]
            ax.plot(own.mean(), color=color, label=method)
            ax.fill_between(own.min().index, own.min(), own.max(), color=color, alpha=0.2)
        last = means(rows, p, list(METHODS)[1])
        times = last.index.to_numpy(dtype=float)
        law = last.iloc[-1] + per_decade(p) * np.log10(times / times[-1])
        near = law > 0.3 * last.iloc[-1]
        ax.plot(times[near], law[near], ":", color="k", label="slope of the law, log T")
        ax.set(xscale="log", yscale="log", xlabel="rounds T", title=f"p = {p:g}")
    axes[0].set_ylabel("T · mean of $Δ_U + p^2Δ_V$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def summary(rows, sizes):
    """Return T times the mean at powers of ten, its last growth over the law's, and the reach."""
    lines = []
    for p in sizes.p:
        for method in METHODS:
            own = means(rows, p, method)
            for power in range(2, 1 + int(np.log10(sizes.T))):
                near = own.index[np.abs(np.log10(own.index) - power).argmin()]
                lines.append((p, method, f"T = 10^{power}", own[near]))
        decade = own[own.index >= sizes.T / 10]
        growth = (decade.iloc[-1] - decade.iloc[0]) / np.log10(decade.index[-1] / decade.index[0])
        lines.append((p, method, "growth a decade, the last", growth))
        lines.append((p, method, "growth a decade, of the law", per_decade(p)))
        reach = rows[(rows["p"] == p) & (rows["method"] == method)]["reach_U"].max()
        lines.append((p, method, "distance of U from the start, largest", reach))
    names = ["p", "method", "what"]
    return pd.DataFrame(lines, columns=[*names, "value"]).set_index(names)


def caption(rows, replicates, sizes):
    return f"""
        T times the mean over T rounds of Δ_U + p²Δ_V, the squared gradients in U and V: f_i(x) = |x
        − a_i|²/2, a = (2, 0), (1, 1), rank 1, η = {STEP}, η_v = pη, exact gradients of clients.
        Lines: means of {replicates} runs, shaded: from the least to the largest; U follows the mean
        gradient of all clients or of the participants, where nobody takes part nothing moves.
        Dotted: the slope [s₁² − (1 − π)s₂²]/(4πηn) of a heuristic law in log T, π = 1 − (1 − p)²,
        through the last mean.
    """


EXPERIMENT = Experiment(
    id="pflmf.algorithm1",
    title="Squared gradients of Algorithm 1, whose U follows the participants",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    kept=None,
    sizes=Runs(),
    replicates=4,
    quick_replicates=2,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
