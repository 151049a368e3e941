"""A figure of networks: two methods on the digits, a few rounds."""

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import outcome, train
from linrep.figures.summaries import beside
from linrep.sweeps import Grid

ROUNDS = 2
METHODS = {"FedRep": deep.FedRep(), "Local": deep.Local()}


def replicate(cell, rng):
    seed = int(rng.integers(2**32))
    data = deep.partitions.shards(deep.load("digits"), n=8, classes_per_client=2, rng=seed)
    method = METHODS[cell["method"]]
    trace = train(data, method, cell["method"], model="mlp", rounds=ROUNDS, last=2, rng=seed)
    return outcome(trace, last=2).assign(seed=str(seed))


def draw(rows):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.0, 2.0))
    ax = figure.subplots()
    plotting.dots(ax, summary(rows).reset_index(), order=list(METHODS))
    return figure


def summary(rows):
    return beside(rows, {}, by=["method"])


EXPERIMENT = Experiment(
    id="mine.networks",
    title="Mine",
    cells=lambda quick: Grid.product({"method": list(METHODS)}),
    replicate=replicate,
    draw=draw,
    caption=lambda rows, replicates: f"Up to {replicates} draws.",
    summary=summary,
    replicates=3,
    paired=("method",),
    packages=("torch", "sklearn"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
