"""What the claims on Figures 1, 3, 4 and 7 and on starts share (Section 5.1, Appendix A.1).

Each comparison is paired over seeds: methods meet the same truth, data, participants and start.
Sizes, conventions and step sizes are those of the figures, ``linrep.papers.fedrep.settings``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Missing, Paired
from linrep.papers.fedrep.settings import FEDSGD_STEP
from linrep.problems import ClientData

#: Where the claim is that two are the same, they may differ by this much.
SAME = 0.1
ROUNDS = "median ratio of rounds"


def global_model(data, figure, seed, start=None):
    """Return B and the model B w after FedSGD with the rounds of Figure 1 or 4.

    Clients have equally many samples, so that the mean of their gradients does not depend on how
    the samples are divided among clients: here two share them.
    """
    B, W = lr.random_start(data.n, data.d, figure.k, seed) if start is None else start
    halves = ClientData(data.X, data.y, np.array([0, len(data.y) // 2, len(data.y)]))
    heads = np.tile(W.mean(axis=0), (2, 1))
    trace = lr.fedsgd(
        halves, k=figure.k, step_size=FEDSGD_STEP, rounds=figure.rounds, start=(B, heads)
    )
    return trace.state["B"], trace.state["B"] @ trace.state["w"]


def draw_problem(figure, seed, *, n=None, m=None, **options):
    """Return a truth with a figure's sizes, or other n and m, and samples of it."""
    n, m = n or figure.n, m or figure.m
    rng = np.random.default_rng([seed, n, m])
    truth = lr.SharedRepresentation.random(n=n, d=figure.d, k=figure.k, rng=rng, **options)
    return truth, truth.draw(m, rng=rng)


def until(trace):
    """Return the rounds a run took to its tolerance, infinity for never."""
    return float(trace.rounds) if trace.stop_reason == "converged" else np.inf


def arrival(distances, goal):
    """Return the rounds until distances, one per round, are at most a goal, infinity for never.

    Between rounds the logarithm is taken as linear, so that neighbours in the same round differ.
    """
    near = np.flatnonzero(distances <= goal)
    if not near.size:
        return np.inf
    if near[0] == 0:
        return 0.0
    high, low = distances[near[0] - 1 : near[0] + 1]
    return near[0] - 1.0 + np.log(high / goal) / np.log(high / low)


def before(early, late, *, name, setting):
    """Return the comparison of rounds of two runs; pairs of which neither ends drop out."""
    early, late = np.asarray(early, dtype=float), np.asarray(late, dtype=float)
    known = (np.isfinite(early) | np.isfinite(late)) & ~np.isnan(early + late)
    if not known.any():
        return Missing("neither gets there in any run", "more rounds", name=name, setting=setting)
    # However small an advantage, it is one: only equal rounds tie.
    return Paired(early[known], late[known], tie=0.0, quantity=ROUNDS, name=name, setting=setting)


def round_table(found, reading):
    """Return medians and quartiles of rounds by n and method, for pictures."""
    rows = []
    for (n, method), column in found.items():
        low, middle, high = np.quantile(column.dropna(), [0.25, 0.5, 0.75], method="nearest")
        if np.isfinite(middle) and middle > 0:
            rows.append({"x": n, "y": middle, "low": low, "high": high, "series": method})
    return pd.DataFrame(rows).assign(panel=reading, xlabel="n", ylabel="rounds to the goal")
