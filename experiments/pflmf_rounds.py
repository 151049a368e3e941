"""pFL^MF: rounds until a relative gap against the clients n, local steps K and participation p.

Around one setting (n = 20, K = 1, p = 1) one of these takes other values at a time. Functions are
quadratic, f_i(x) = |x - a_i|^2/2, with centres of rank 2 that are alike in kind for every n: the
singular values of A/sqrt(n) are 1. Runs start from a random frame U and V = 0 with step size 1/4.
Two rules for the heads' step: Theorem 1's, eta_v = p eta/K, with all clients' gradients in U, and
Algorithm 1's, eta_v = eta, with the participants'. The theorem bounds squared gradients by a number
in which neither n nor K nor p occurs; counted here are the rounds until F is within a thousandth of
its first gap.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import along, exponents
from linrep.problems.subspace import random_frame
from linrep.stats import mean_interval
from linrep.sweeps import Grid

BASE = {"n": 20, "K": 1, "p": 1.0}
AXES = {"n": "clients, $n$", "K": "local steps, $K$", "p": "participation, $p$"}
#: How each rule steps the heads, and whose gradients U moves with.
RULES = {
    "Theorem 1": {"head_step_size": "theorem", "aggregate": "full"},
    "Algorithm 1": {"head_step_size": None, "aggregate": "participants"},
}
D, RANK, STEP, GOAL, MOST = 6, 2, 0.25, 1e-3, 2_000_000


@dataclass(frozen=True)
class Rounds(Sizes):
    """The values of each axis."""

    n: tuple[int, ...] = size((10, 20, 40, 80, 160), "Clients.", quick=(10, 20))
    K: tuple[int, ...] = size((1, 2, 5, 10, 20), "Local steps.", quick=(1, 5))
    p: tuple[float, ...] = size(
        (1.0, 0.5, 0.2, 0.1, 0.05), "Participation.", quick=(1.0, 0.5), above=0.0, maximum=1.0
    )

    def check(self):
        if min(self.n) < D:
            raise ValueError(f"n must be at least d = {D}, got {min(self.n)}")


def cells(sizes):
    return Grid.around(BASE, {name: getattr(sizes, name) for name in AXES})


def replicate(cell, rng, **_):
    n = cell["n"]
    truth_rng, start_rng, run_rng = lr.streams(rng, "truth", "start", "run")
    A = np.sqrt(n) * random_frame(n, RANK, truth_rng) @ random_frame(D, RANK, truth_rng).T
    problem = lr.QuadraticObjectives(A)
    start = random_frame(D, RANK, start_rng), np.zeros((n, RANK))
    times = np.unique(np.round(np.geomspace(1, MOST, 1500)).astype(int))
    rows, seed = [], int(run_rng.integers(2**63))  # a longer run begins like the shorter one
    for rule, how in RULES.items():
        gap, done = np.inf, 0
        trace = None
        while gap > GOAL and done < MOST:  # ten times as many rounds, until it is enough
            rounds = min(MOST, max(1000, 10 * done))
            trace = lr.pflmf(
                problem, k=RANK, step_size=STEP, local_steps=cell["K"], participation=cell["p"],
                start=start, rounds=rounds, record=times[times <= rounds], stationarity=False,
                rng=seed, **how,
            )  # fmt: skip
            done, gap = rounds, trace["gap"][-1] / trace["gap"][0]
        reached = np.flatnonzero(trace["gap"] <= GOAL * trace["gap"][0])
        count = trace.recorded[reached[0]] if len(reached) else np.inf
        rows.append({"rule": rule, "rounds": float(count), "stop_reason": trace.stop_reason})
    return pd.DataFrame(rows)


def table(rows, axis, rule):
    """Return the geometric mean of the rounds along an axis, with its interval."""
    own = along(rows, axis, BASE)
    own = own[(own["rule"] == rule) & np.isfinite(own["rounds"])]
    lines = [
        (value, *mean_interval(part.to_numpy(), geometric=True))
        for value, part in own.groupby(axis)["rounds"]
    ]
    return pd.DataFrame(lines, columns=[axis, "rounds", "low", "high"])


def fit(found, axis):
    """Return the fitted exponent of the rounds, None for too few points."""
    return exponents(found["rounds"], {axis: found[axis]}, robust=True)


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.7))
    for axes, (axis, label) in zip(figure.subplots(1, 3, sharey=True), AXES.items(), strict=True):
        for place, rule in enumerate(RULES):
            found = table(rows, axis, rule)
            plotting.scaling(
                axes, found[axis], found["rounds"], fit(found, axis), found["low"], found["high"],
                label=rule, place=place,
            )  # fmt: skip
        axes.set(xlabel=label)
        plotting.plain_log_ticks(axes.xaxis)
        axes.legend(fontsize=6)
    plotting.plain_log_ticks(figure.axes[0].yaxis)
    figure.axes[0].set_ylabel(f"rounds to a gap of {GOAL:g} of the first")
    return figure


def summary(rows, sizes):
    """Return the mean rounds of each rule, and their exponents with 95 % intervals."""
    lines = []
    for axis in AXES:
        for rule in RULES:
            found = table(rows, axis, rule)
            for row in found.itertuples():
                where = f"{rule}, {axis} = {getattr(row, axis):g}"
                lines.append((f"rounds, {where}", row.rounds, row.low, row.high))
            law = fit(found, axis)
            if law is not None:
                ends = law.exponents[axis], law.low[axis], law.high[axis]
                lines.append((f"exponent in {axis}, {rule}", *ends))
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    base = ", ".join(f"{name} = {value:g}" for name, value in BASE.items())
    missed = int(np.isinf(rows["rounds"]).sum())
    fitted = any(fit(table(rows, axis, rule), axis) for axis in AXES for rule in RULES)
    late = f" {missed} runs are not there after {MOST:,} rounds." if missed else ""
    return f"""
        pFL^MF on quadratic functions in d = {D} with centres of rank {RANK} (singular values of
        A/√n: 1), η = {STEP:g}, from a random frame U and V = 0; one parameter changed at a time
        from {base}. Rounds until the gap of F is {GOAL:g} of the first, to 1 %, geometric means
        over {replicates} draws with 95 % intervals{", and fitted power laws" * fitted}. Theorem 1:
        heads' step pη/K, U with all clients' gradients; Algorithm 1: heads' step η, U with the
        participants'.{late}
    """


EXPERIMENT = Experiment(
    id="pflmf.rounds",
    title="Rounds to a given gap against clients, local steps and participation",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("exponent*",),
    sizes=Rounds(),
    replicates=10,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
