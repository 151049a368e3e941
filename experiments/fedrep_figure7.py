"""FedRep, Figure 7: function values of FedRep and GD-GD, a row per m and a column per n.

Open in the paper, and what is taken here: d = 10 and k = 2 (as in Figure 3); m = 5, 10; n = 10,
30, 100, 300; 300 rounds; step sizes from the theorem for both methods and 1/lambda_max for the
head steps. Heads, noise and start are those of Appendix A.1.
"""

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.counts import counted
from linrep.figures.experiment import Experiment
from linrep.figures.summaries import recorded
from linrep.papers.fedrep.settings import CONVENTIONS, Figure7
from linrep.sweeps import Grid

SHOWN = 100


def cells(sizes):
    return Grid.product({"m": sizes.m, "n": sizes.n})


def replicate(cell, rng, **sizes):
    figure = Figure7(**sizes)
    truth = lr.SharedRepresentation.random(
        n=cell["n"], d=figure.d, k=figure.k, **CONVENTIONS["text"], rng=rng
    )
    seed = int(rng.integers(2**63))
    runs = []
    for method in figure.methods:
        trace = lr.fedrep(
            truth,
            m=cell["m"],
            rounds=figure.rounds,
            batches="fixed",
            start="projected_gradient",
            rng=seed,
            **figure.options(method),
        )
        runs.append((trace, {"method": method}))
    rows = recorded(runs, "loss", "distance")
    return rows[rows["round"] > 0]


def draw(rows, sizes):
    rows = rows[rows["round"] <= SHOWN].sort_values(["m", "n"], kind="stable")
    return plotting.grid_of_curves(
        rows, row="m", col="n", labels=("round", "training loss"), log="y", sharey="row",
        height=1.6, x="round", y="loss", by="method", order=sizes.methods, geometric=True,
    )  # fmt: skip


def summary(rows, sizes):
    """Rounds until the loss is within 10 % and 100 % of the lower final loss, paired."""
    keys = ["m", "n", "replicate"]
    final = rows[rows["round"] == sizes.rounds].groupby(keys)["loss"].min().rename("final")
    rows = rows.join(final, on=keys)
    tables = []
    for share in (0.1, 1.0):
        near = rows[rows["loss"] <= (1 + share) * rows["final"]]
        first = near.groupby([*keys, "method"])["round"].min().unstack("method")
        first = first.reindex(columns=list(sizes.methods)).fillna(np.inf)  # not within the budget
        first["lead"] = first["GD-GD"] - first["FedRep"]
        first["ratio"] = first["GD-GD"] / first["FedRep"]
        table = first.groupby(["m", "n"]).median().add_prefix("median, ")
        table["FedRep first"] = (first["lead"] > 0).groupby(["m", "n"]).agg(counted)
        tables.append(table.assign(within=f"{share:.0%}").set_index("within", append=True))
    return pd.concat(tables)


def caption(rows, replicates, sizes):
    chaotic = """ A few runs are chaotic at m = 5, n = 10 and 30: on a processor that adds in
        another order their first digits are others."""
    return f"""
        Function values (1/n) Σ_i (1/2m)‖y_i − X_i B w_i‖² after the heads' update of each round, d
        = {sizes.d}, k = {sizes.k}, r = 1, heads √k·QR, noise variance 10⁻³, the same samples every
        round, start by 10 rounds of projected gradient descent, step size 1/(4σ²_max), head steps
        of GD-GD 1/λ_max; the first {min(SHOWN, sizes.rounds)} of {sizes.rounds} rounds. Geometric
        mean over {replicates} replicates with 95 % Student interval of the
        logarithms.{chaotic * sizes.standard}
    """


EXPERIMENT = Experiment(
    id="fedrep.figure7",
    title="Function values of FedRep and GD-GD for different n and m, full participation",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("median, lead",),
    kept=None,
    sizes=Figure7(),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
