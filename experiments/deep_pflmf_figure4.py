"""pFL^MF, Figure 4: steps of U and ranks, on very unlike clients.

Open in the paper, and what is taken here: rounds (200), momentum (none), epochs of v (one, K
batches for the average client), steps of v (p η / K along U'∇f_i, with steps η of U and
participation p: n times those of Theorem 1). The step size is chosen from the paper's set for each
number of steps, rank and replicate, by a quarter of the training samples in shorter runs. With
steps of 0.1 for U and for v, runs with many steps of U diverge.

The small scale is of the file mnist_10k.npz in the folder of data, with fewer rounds.
"""

from functools import partial

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import Scales, choose_lr, curve, scaled, train
from linrep.figures.summaries import beside, mean_of_last

LRS = (1e-1, 1e-2, 1e-3, 1e-4)  # Section 5
SETTINGS = {"participation": 0.1, "batch_size": 256, "momentum": 0.0}
ALPHA = 0.1
STEPS, RANKS = (1, 10, 20), (1, 10, 20)  # Setup 6


SCALES = {
    "digits": {"data": "digits", "n": 10, "rounds": 12, "every": 4, "tried": 1, "rank": (1, 5)},
    "small": {
        "data": "mnist_10k", "n": 200, "rounds": 100, "every": 10, "tried": 3, "rank": RANKS,
    },
    "paper": {"data": "mnist", "n": 200, "rounds": 200, "every": 10, "tried": 4, "rank": RANKS},
}  # fmt: skip


def cells(sizes):
    return scaled(SCALES, sizes, steps=STEPS)


def method(lr, rank, steps, K):
    """Return the method, with K steps of v."""
    return deep.PFLMF(rank=rank, steps_U=steps, lr_v=SETTINGS["participation"] * lr / K)


def replicate(cell, rng, scale, rounds):
    seed, rounds = int(rng.integers(2**32)), cell["rounds"]
    label = f"rank {cell['rank']}, {cell['steps']} steps of U, {cell['data']}"
    images = deep.load(cell["data"], rng=seed)
    data = deep.partitions.dirichlet(images, cell["n"], ALPHA, rng=seed)
    settings = {"model": "mlp", "rng": seed, **SETTINGS}
    K = data.batches(SETTINGS["batch_size"])
    make = partial(method, rank=cell["rank"], steps=cell["steps"], K=K)
    tried = max(2, rounds // 5)
    lr = choose_lr(data, make, LRS[: cell["tried"]], label, rounds=tried, **settings)
    trace = train(
        data, make(lr), label, lr=lr, rounds=rounds, record=range(0, rounds, cell["every"]),
        **settings,
    )  # fmt: skip
    return curve(trace).assign(lr=lr)


def draw(rows, sizes):
    from matplotlib.figure import Figure

    ranks, scales = sorted(rows["rank"].unique()), list(rows.groupby("scale", sort=False))
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.4 + 2.2 * len(scales)))
    axes = figure.subplots(len(scales), len(ranks), sharey=True, squeeze=False)
    for line, (_, of_scale) in zip(axes, scales, strict=True):
        shown = of_scale[of_scale["round"] % of_scale["every"] == 0]
        shown = shown.assign(label="$K_U$ = " + shown["steps"].astype(str))
        for ax, rank in zip(line, ranks, strict=True):
            own = shown[shown["rank"] == rank]
            plotting.curves(ax, own, x="round", y="accuracy", by="label")
            ax.set(title=f"r = {rank}, {own['data'].iloc[0]}", xlabel="round")
        line[0].set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def summary(rows, sizes):
    """Return mean accuracies of the last ten rounds with 95 % intervals, and the steps chosen."""
    means = mean_of_last(rows, by=["data", "rank", "steps", "lr"])
    return beside(means, {}, by=["data", "rank", "steps"], listed=["lr"])


def caption(rows, replicates, sizes):
    first = rows.iloc[0]
    return f"""
        pFL^MF on {", ".join(rows["data"].unique())} divided by Dir({ALPHA:g}) among {first["n"]}
        clients, 75 % of each client's samples for training, 10 % of the clients in a round, batches
        of 256, SGD without
        momentum, two hidden layers of 200 units; one epoch of v, which has K batches for the
        average client, and K_U steps of U; steps of v, along U'∇f_i, are shorter by the factor
        0.1 / K, n times those of Theorem 1.
        The step size is chosen for each rank, K_U and replicate among
        {", ".join(f"{lr:g}" for lr in LRS[: first["tried"]])} by a quarter of each client's
        training samples, held out in runs of {first["rounds"] // 5} rounds, by accuracy or,
        where none is surely above that of always answering one class, by loss; {first["rounds"]}
        rounds, which are open in the paper. Accuracy of every client's model on its own test
        samples, mean over clients; mean and 95 % interval of up to {replicates} draws of partition,
        weights, participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.pflmf_figure4",
    title="pFL^MF, Figure 4: steps of U and ranks",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    sizes=Scales(),
    paired=(
        "rank",
        "steps",
    ),
    packages=("torch", "sklearn"),
    data=("mnist_10k", "mnist"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
