"""pFL^MF, Figure 3: accuracy and run time against the rank, on very unlike clients.

Open in the paper, and what is taken here: which ranks between 1 and 20, rounds (500), momentum
(none), steps of U (K, as many as the average client's epoch has batches), steps of v (p η / K along
U'∇f_i, with steps η of U and participation p: n times those of Theorem 1). The step size is chosen
from the paper's set for each rank and replicate, by a quarter of the training samples in shorter
runs, which are not in the run time.

The small scale is of the files mnist_10k.npz and cifar10_16.npz in the folder of data, with fewer
ranks and rounds.
"""

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import Scales, choose_lr, outcome, scaled, train
from linrep.figures.summaries import beside

LRS = (1e-1, 1e-2, 1e-3, 1e-4)  # Section 5
SETTINGS = {"participation": 0.1, "batch_size": 256, "momentum": 0.0}
ALPHA = 0.1
NETWORKS = {
    "mnist_10k": "mlp", "cifar10_16": "cnn4", "mnist": "mlp", "cifar10": "cnn4", "digits": "mlp",
}  # fmt: skip
SCALES = {
    "digits": {"data": "digits", "n": 10, "rounds": 30, "tried": 1, "rank": (1, 5, 20)},
    "small": {
        "data": ("mnist_10k", "cifar10_16"), "n": 100, "rounds": 100, "tried": 3,
        "rank": (1, 5, 10, 20),
    },
    "paper": {
        "data": ("mnist", "cifar10"), "n": 100, "rounds": 500, "tried": 4,
        "rank": (1, 2, 3, 5, 8, 10, 12, 15, 20),
    },
}  # fmt: skip


def cells(sizes):
    return scaled(SCALES, sizes)


def replicate(cell, rng, scale, rounds):
    seed, rounds = int(rng.integers(2**32)), cell["rounds"]
    tried, label = max(2, rounds // 5), f"rank {cell['rank']}, {cell['data']}"
    images = deep.load(cell["data"], rng=seed)
    data = deep.partitions.dirichlet(images, cell["n"], ALPHA, rng=seed)
    K = data.batches(SETTINGS["batch_size"])

    def make(lr):
        lr_v = SETTINGS["participation"] * lr / K
        return deep.PFLMF(rank=cell["rank"], steps_U=K, lr_v=lr_v)

    settings = {"model": NETWORKS[cell["data"]], "rng": seed, **SETTINGS}
    lr = choose_lr(data, make, LRS[: cell["tried"]], label, rounds=tried, **settings)
    trace = train(data, make(lr), label, lr=lr, rounds=rounds, **settings)
    return outcome(trace).assign(lr=lr, time=trace.wall_time)


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.6))
    axes = figure.subplots(1, 2)
    names = list(rows["data"].unique())
    for ax, value in zip(axes, ("accuracy", "time"), strict=True):
        plotting.curves(ax, rows, x="rank", y=value, by="data", order=names, markers=True)
        ax.set(xlabel="rank r", xticks=range(0, 21, 5))
    axes[0].set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    axes[1].set(ylabel="run time (s)", ylim=(0.0, None))
    axes[0].legend()
    return figure


def summary(rows, sizes):
    """Return mean accuracies with 95 % intervals, mean run times, and the step sizes chosen."""
    by = ["data", "rank"]
    times = rows.groupby(by)["time"].mean()
    return beside(rows, {}, by=by, listed=["lr"]).join(times, on=by)


def caption(rows, replicates, sizes):
    first = rows.iloc[0]
    return f"""
        pFL^MF on data ({", ".join(rows["data"].unique())}) divided by Dir({ALPHA:g}) among
        {first["n"]} clients, 75 % of each client's samples for training, 10 % of the clients in a
        round, batches of 256, SGD without momentum, {first["rounds"]} rounds (open in the paper).
        Two hidden layers of 200 units, for CIFAR-10 two convolutions and two linear layers; one
        epoch of v; K, the batches of the average client's epoch, is the number of steps of U and of
        v, these along U'∇f_i and shorter by the factor 0.1 / K, n times those of Theorem 1. The
        step size is chosen for each rank and replicate among
        {", ".join(f"{lr:g}" for lr in LRS[: first["tried"]])} by a quarter of each client's
        training samples, held out in runs of {first["rounds"] // 5} rounds, by accuracy or,
        where none is surely above that of always answering one class, by loss. Left, accuracy of
        every client's model on its own test samples, mean over clients and the last ten rounds;
        right, time of a run with its evaluations, which depends on the machine and on what else it
        does.
        Mean and 95 % interval of up to {replicates} draws of partition, weights, participants and
        batches.
    """


EXPERIMENT = Experiment(
    id="deep.pflmf_figure3",
    title="pFL^MF, Figure 3: accuracy and run time against the rank",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    sizes=Scales(),
    packages=("torch", "sklearn"),
    data=("mnist_10k", "cifar10_16", "mnist", "cifar10"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
