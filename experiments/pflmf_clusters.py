"""pFL^MF, Examples 1 and 2, Setup (3): clients in clusters, which no method but the oracle is told.

Three problems: linear models of several clusters; classifiers of which half have their labels'
signs flipped; and classes that every group labels in an order of its own, as in Setup (3), which
has images and networks. How often the clusters can be read off the models, and how good the models
are, beside those of one's own samples, of all, of Euclidean closeness, and of known clusters.
"""

from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import expit, softmax

import linrep as lr
from linrep.algorithms import personalized
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.counts import counted
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.problems import personal
from linrep.stats import proportion_interval
from linrep.sweeps import Grid

NOISE, RIDGE = 0.3, 0.05
PENALTIES = (0.01, 0.1, 1.0, 10.0)
LOW_RANK, FROM_OWN = "low rank", "low rank from own models"
METHODS = (LOW_RANK, "one model", "close models", "own samples", "known clusters", FROM_OWN)
ROUNDS = {"clusters": 3000, "flips": 2000, "permuted": 1000}
FRESH = 1000
MOST_RANK = 6


@dataclass(frozen=True)
class Clusters(Sizes):
    """What is varied: samples per client."""

    m: tuple[int, ...] = size(
        (2, 3, 4, 6, 8, 12, 24), "Samples per client, of the linear models.", quick=(4, 12)
    )
    m_labels: tuple[int, ...] = size(
        (2, 4, 8, 16, 32), "Samples per client, of the classifiers.", quick=(4, 16)
    )
    n: int = size(24, "Clients.", minimum=2)
    d: int = size(8, "Dimension.", minimum=2)
    groups: int = size(3, "Clusters of the linear models, orders of the classes.", minimum=2)
    classes: int = size(4, "Classes.", minimum=2)

    def check(self):
        for name in ("n", "d"):
            if self.groups > getattr(self, name):
                raise ValueError(
                    f"groups must be at most {name} = {getattr(self, name)}, got {self.groups}"
                )
        if self.classes > 6:
            raise ValueError(f"classes must be at most 6, of 720 orders, got {self.classes}")
        if self.groups > factorial(self.classes):
            raise ValueError(
                f"groups must be at most {factorial(self.classes)}, the orders of "
                f"{self.classes} classes, got {self.groups}"
            )


def cells(sizes):
    return Grid.product({"part": "clusters", "m": sizes.m}) + Grid.product(
        {"part": ("flips", "permuted"), "m": sizes.m_labels}
    )


def titles(sizes):
    """Return the titles of the parts' panels."""
    groups = sizes.groups
    return {
        "clusters": f"{groups} clusters, rank {groups}",
        "flips": "labels flipped, rank 1",
        "permuted": f"labels permuted, rank {groups}",
    }


def permuted_labels(m, sizes, rng):
    """Draw softmax classifiers with one rule, whose classes every group orders in its own way."""
    n, d, classes = sizes.n, sizes.d, sizes.classes
    member = np.arange(n) % sizes.groups
    rule = 2.0 * rng.standard_normal((classes, d)) / np.sqrt(d)
    every = np.array(list(permutations(range(classes))))
    orders = every[rng.choice(len(every), sizes.groups, replace=False)]
    theta = rule[orders[member]]  # of client i, class c: the rule's class orders[i][c]
    X = rng.standard_normal((n, m, d))
    scores = np.einsum("icd,imd->imc", theta, X)
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=2)
    data = lr.ClientData.from_list(list(zip(X, y.astype(float), strict=True)))
    return lr.SoftmaxObjectives(
        data, classes, ridge=RIDGE, truth=theta.reshape(n, -1), clusters=member
    )


def make(part, m, sizes, rng):
    """Return a problem and the rank that its truth has."""
    n, d, groups = sizes.n, sizes.d, sizes.groups
    if part == "clusters":
        return personal.clustered(n=n, d=d, clusters=groups, m=m, noise=NOISE, rng=rng), groups
    if part == "flips":
        return personal.flipped_labels(n=n, d=d, m=m, ridge=RIDGE, rng=rng), 1
    return permuted_labels(m, sizes, rng), groups


def excess(part, problem, theta, sizes, rng):
    """Return the error beyond the truth's: of models relative to theirs, or of fresh labels."""
    truth = problem.truth
    if part == "clusters":
        return np.mean(np.sum((theta - truth) ** 2, axis=1)) / np.mean(np.sum(truth**2, axis=1))
    n, d = sizes.n, sizes.d
    X = rng.standard_normal((FRESH, d))
    if part == "flips":
        odds = expit(X @ truth.T)
        return np.mean(np.where(X @ theta.T > 0.0, 1.0 - odds, odds) - np.minimum(odds, 1.0 - odds))
    known, found = (
        np.einsum("icd,sd->isc", t.reshape(n, sizes.classes, d), X) for t in (truth, theta)
    )
    chances = softmax(known, axis=2)
    chosen = np.take_along_axis(chances, found.argmax(axis=2)[..., None], axis=2)[..., 0]
    return np.mean(chances.max(axis=2) - chosen)


def recovered(problem, theta):
    """Tell whether Ward's clusters of the models are the true ones."""
    if np.allclose(theta, theta[0]):
        return False
    count = len(np.unique(problem.clusters))
    found = fcluster(linkage(theta, "ward"), count, criterion="maxclust")
    pairs = np.stack([found, problem.clusters], axis=1)
    return len(np.unique(pairs, axis=0)) == len(np.unique(found)) == count


def replicate(cell, rng, **sizes):
    figure, part = Clusters(**sizes), cell["part"]
    problem, k = make(part, cell["m"], figure, rng)
    seed = int(rng.integers(2**32))
    how = {"tolerance": 1e-6}
    models = [
        ("own samples", np.nan, personalized.local(problem, **how).state["theta"]),
        ("one model", np.nan, personalized.average(problem, **how).state["theta"]),
        ("known clusters", np.nan, personalized.oracle_clusters(problem, **how).state["theta"]),
    ]
    for penalty in PENALTIES:
        trace = personalized.distance_regularized(problem, penalty=penalty, **how)
        models.append(("close models", penalty, trace.state["theta"]))
    step = 0.3 * figure.n / (problem.smoothness.max() * np.linalg.norm(models[0][2], 2))
    left, values, right = np.linalg.svd(models[0][2], full_matrices=False)
    roots = np.sqrt(values[:k])
    own = right[:k].T * roots, left[:, :k] * roots
    ranks = range(1, 1 + min(MOST_RANK, figure.n, figure.d)) if part == "clusters" else (k,)
    for method, start, rank in [*((LOW_RANK, "random", r) for r in ranks), (FROM_OWN, own, k)]:
        state = lr.pflmf(
            problem, k=rank, step_size=step, head_step_size=step, start=start, scale=0.3,
            rounds=ROUNDS[part], record=ROUNDS[part], stationarity=False, rng=seed,
        ).state  # fmt: skip
        models.append((method, rank, state["V"] @ state["U"].T))
    return pd.DataFrame(
        {"method": method, "setting": setting, "recovered": recovered(problem, theta),
         "excess": excess(part, problem, theta, figure, np.random.default_rng(seed)), "rank": k}
        for method, setting, theta in models
    )  # fmt: skip


def chosen(rows):
    """Return a row per method: the known rank, and the penalty that turns out to be best."""
    low_rank = rows[(rows["method"] == LOW_RANK) & (rows["setting"] == rows["rank"])]
    close = rows[rows["method"] == "close models"]
    best = close.loc[close.groupby(["part", "m", "replicate"])["excess"].idxmin()]
    others = rows[~rows["method"].isin([LOW_RANK, "close models"])]
    return pd.concat([others, best, low_rank])


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 5.0))
    axes = figure.subplots(2, 2)
    low_rank = rows[(rows["part"] == "clusters") & (rows["method"] == LOW_RANK)]
    ax = axes[0, 0]
    plotting.heat_map(ax, low_rank, x="m", y="setting", value="recovered", label="share recovered")
    ax.set(xlabel="samples per client m", ylabel="rank r of pFL$^{MF}$",
           title=f"{sizes.groups} clusters read off the models")  # fmt: skip
    best = chosen(rows)
    for ax, (part, title) in zip(axes.flat[1:], titles(sizes).items(), strict=True):
        own = best[best["part"] == part]
        plotting.curves(
            ax, own, x="m", y="excess", by="method", order=METHODS, quantiles=(0.1, 0.9),
            markers=True,
        )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="samples per client m", title=title)
        ax.set_xticks(sorted(own["m"].unique()), [str(m) for m in sorted(own["m"].unique())])
        ax.xaxis.set_minor_locator(NullLocator())
        plotting.plain_log_ticks(ax.yaxis)
        ax.set_ylabel(
            "squared error / models'" if part == "clusters" else "error rate beyond the truth's"
        )
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def summary(rows, sizes):
    """Return median errors, and shares of recovered clusters with intervals."""
    lines = []
    for (part, m, method), own in chosen(rows).groupby(["part", "m", "method"], sort=False):
        lines.append((part, m, method, "excess", own["excess"].median(), None, None))
    ranks = rows[rows["method"] == LOW_RANK].groupby(["part", "m", "setting"], sort=False)
    others = chosen(rows)
    others = others[others["method"].isin(["own samples", FROM_OWN])]
    others = others.groupby(["part", "m", "method"], sort=False)
    for (part, m, rank), own in ranks:
        name = f"{LOW_RANK} {rank:g}"
        lines.append((part, m, name, "recovered", *share(own)))
    for (part, m, method), own in others:
        lines.append((part, m, method, "recovered", *share(own)))
    names = ["part", "m", "method", "what"]
    return pd.DataFrame(lines, columns=[*names, "value", "low", "high"]).set_index(names)


def share(rows):
    """Return in how many draws the clusters are recovered, and the interval of their share."""
    _, *ends = proportion_interval(rows["recovered"].sum(), len(rows))
    return counted(rows["recovered"]), *ends


def caption(rows, replicates, sizes):
    return f"""
        n = {sizes.n} clients in clusters of equal size, covariates N(0, I) of dimension {sizes.d},
        {replicates} draws. Top: {sizes.groups} linear models with N(0, 1) entries, labels with
        noise N(0, {NOISE}²); left, share of draws in which Ward's clusters of the models of pFL^MF
        are the true ones; right, mean ‖θ_i − θ_i*‖² over mean ‖θ_i*‖². Bottom: error rate on fresh
        labels beyond that of the true models; left, logistic, labels of half of the clients
        flipped; right, {sizes.classes} classes, which every one of {sizes.groups} groups has in
        another random order, entries of the rule N(0, 4/{sizes.d}); both with ridge {RIDGE}. Median
        and middle 80 %. Low rank: pFL^MF with all clients, r as given, entries of the start N(0,
        0.09) or, where it says so, factors of the best approximation of the models of own samples,
        {", ".join(map(str, ROUNDS.values()))} rounds, η = η_v = 0.3 n/(l s), l the functions'
        largest smoothness, s the norm of the matrix of own models; close models: ‖θ_i − mean‖²
        penalized, the penalty of {", ".join(f"{p:g}" for p in PENALTIES)} that turns out best in
        each draw; own samples, one model (FedAvg) and known clusters have nothing to choose, and
        1000 rounds at most, as close models.
    """


EXPERIMENT = Experiment(
    id="pflmf.clusters",
    title="Clients in clusters: low rank beside closeness and known clusters",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Clusters(),
    replicates=12,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
