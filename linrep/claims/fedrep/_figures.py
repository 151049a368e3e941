"""What the claims on Figures 1, 3, 4 and 7 and on starts share (Section 5.1, Appendix A.1).

Each comparison is paired over seeds: methods meet the same truth, data, participants and start.
Ties are fixed beforehand. Settings that the paper leaves open are named with each claim. Two
conventions are in use:

- *text*: heads sqrt(k) times a Q factor, noise of variance 1e-3, gradients averaged, QR after each
  step, the theorem's step size 1/(4 sigma_max^2) or multiples of it, head steps of 1/lambda_max;
- *published*, the authors' notebook: heads a Q factor, noise of standard deviation 1e-3, gradients
  summed, no QR, step sizes of its own for each method and n, for head steps too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Missing, Paired
from linrep.problems import ClientData

#: Rounds and errors whose ratio is within 1 -+ this are ties.
TIE = 0.05
#: Where the claim is that two are the same, they may differ by this much.
SAME = 0.1
ROUNDS = "median ratio of rounds"
CONVENTIONS: dict[str, dict[str, Any]] = {
    "text": {"heads": "scaled_qr", "noise": 1e-3**0.5},
    "published": {"heads": "qr", "noise": 1e-3},
}
#: Head steps per round; None is the exact head.
METHODS = {"FedRep": None, "10GD-GD": 10, "GD-GD": 1}
#: Of the notebook, by n; it has none for n = 20, where those of n = 10 are used.
PUBLISHED_STEPS = {
    10: {"FedRep": 0.4, "10GD-GD": 0.01, "GD-GD": 0.12},
    20: {"FedRep": 0.4, "10GD-GD": 0.01, "GD-GD": 0.12},
    100: {"FedRep": 4.0, "10GD-GD": 0.4, "GD-GD": 0.75},
    1000: {"FedRep": 60.0, "10GD-GD": 0.25, "GD-GD": 1.0},
}


def global_model(data, seed, start=None):
    """Return B and the model B w after 500 rounds of FedSGD at step size 0.1.

    Clients have equally many samples, so that the mean of their gradients does not depend on how
    the samples are divided among clients: here two share them.
    """
    B, W = lr.random_start(data.n, data.d, 2, seed) if start is None else start
    halves = ClientData(data.X, data.y, np.array([0, len(data.y) // 2, len(data.y)]))
    heads = np.tile(W.mean(axis=0), (2, 1))
    trace = lr.fedsgd(halves, k=2, step_size=0.1, rounds=500, start=(B, heads))
    return trace.state["B"], trace.state["B"] @ trace.state["w"]


def notebook(n, method):
    """Return the settings of the published notebook."""
    step_size = PUBLISHED_STEPS[n][method]
    return {
        "step_size": step_size,
        "head_step_size": None if METHODS[method] is None else step_size,
        "normalization": "published",
        "orthonormal": False,
    }


def draw_problem(n, d, k, m, seed, **options):
    """Return a truth and samples of it."""
    rng = np.random.default_rng([seed, n, m])
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=rng, **options)
    return truth, truth.draw(m, rng=rng)


def until(trace):
    """Return the rounds a run took to its tolerance, infinity for never."""
    return float(trace.rounds) if trace.stop_reason == "converged" else np.inf


def risk(theta, truth):
    """Return half the mean squared error on noise-free test data."""
    return 0.5 * float(np.mean(np.sum((theta - truth.theta) ** 2, axis=1)))


def before(early, late, *, name, setting):
    """Return the comparison of rounds of two runs; pairs of which neither ends drop out."""
    early, late = np.asarray(early, dtype=float), np.asarray(late, dtype=float)
    known = (np.isfinite(early) | np.isfinite(late)) & ~np.isnan(early + late)
    if not known.any():
        return Missing("neither gets there in any run", "more rounds", name=name, setting=setting)
    return Paired(early[known], late[known], tie=TIE, quantity=ROUNDS, name=name, setting=setting)


def round_table(found, reading):
    """Return medians and quartiles of rounds by n and method, for pictures."""
    rows = []
    for (n, method), column in found.items():
        low, middle, high = np.quantile(column.dropna(), [0.25, 0.5, 0.75], method="nearest")
        if np.isfinite(middle) and middle > 0:
            rows.append({"x": n, "y": middle, "low": low, "high": high, "series": method})
    return pd.DataFrame(rows).assign(panel=reading, xlabel="n", ylabel="rounds to the goal")
