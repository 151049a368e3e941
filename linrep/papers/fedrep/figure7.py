"""Figure 7: what FedRep gains over GD-GD, by number of clients."""

from __future__ import annotations

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Curve, Fact, Trend, statement
from linrep.claims.tables import draw_seeds, medians
from linrep.papers.fedrep._figures import draw_problem, until
from linrep.papers.fedrep.settings import CONVENTIONS, Figure7

FIGURE = Figure7()


@statement(
    "fedrep.figure7",
    place="Figure 7; Appendix A.1",
    latex=r"n < n' \implies \frac{\text{rounds}_{\text{GD-GD}}(n)}{\text{rounds}_{\text{FedRep}}"
    r"(n)} < \frac{\text{rounds}_{\text{GD-GD}}(n')}{\text{rounds}_{\text{FedRep}}(n')}",
    plain="d = 10, k = 2, r = 1, m = 5, 10, n = 10, 30, 100, 300, no noise, each method's best "
    "step size: GD-GD's rounds over FedRep's grow with n.",
    negative_control={"trend": "decreases"},
)
def figure7(budget, rng, *, trend="increases"):
    """Compare ratios of rounds to distance 1e-6, and to 1e-6 of the zero model's loss, along n."""
    sizes = budget((10, 30, 100), FIGURE.n)
    sign = {"increases": 1.0, "decreases": -1.0}[trend]
    rows = []
    for m in budget((10,), FIGURE.m):
        ratios = {n: _gains(n, m, budget(40, 60, 200), budget(4, 10, 20), rng) for n in sizes}
        for measure in ("distance", "loss"):
            table = np.column_stack([ratio[measure] for ratio in ratios.values()])
            yield Trend(sign * table, name=f"{measure}, m = {m}: gain along n", setting={"m": m})
            for n, ratio in ratios.items():
                rows.append(
                    pd.DataFrame({"y": ratio[measure], "x": n, "series": f"m = {m}"}).assign(
                        panel=f"to 1e-6, {measure}", xlabel="n", ylabel="rounds, GD-GD over FedRep"
                    )
                )
        for n in (sizes[0], sizes[-1]):
            middle = ratios[n]["distance"].median()
            yield Fact("median of GD-GD's rounds over FedRep's", middle, setting={"n": n, "m": m})
    table = pd.concat(rows)
    yield Curve(medians([table[np.isfinite(table["y"])]]))


def _gains(n, m, count, tuning, rng):
    """Return GD-GD's rounds over FedRep's by measure, a row per seed; 1 if neither gets there."""
    trials = {
        (method, multiple): [_descend(n, m, seed, method, multiple) for seed in seeds]
        for seeds in [draw_seeds(rng, tuning)]
        for method in FIGURE.methods
        for multiple in (1.0, 2.0, 4.0, 6.0)
    }
    # First the one that arrives most often, then the fastest.
    middles = {
        key: (
            -np.mean([np.isfinite(run["distance"]) for run in runs]),
            np.median([run["distance"] for run in runs]),
        )
        for key, runs in trials.items()
    }
    best = {
        method: min(
            (value, multiple) for (own, multiple), value in middles.items() if own == method
        )[1]
        for method in FIGURE.methods
    }
    rows = []
    for seed in draw_seeds(rng, count):
        fedrep, other = (_descend(n, m, seed, method, best[method]) for method in FIGURE.methods)
        rows.append(
            {key: 1.0 if other[key] == own else other[key] / own for key, own in fedrep.items()}
        )
    return pd.DataFrame(rows)


def _descend(n, m, seed, method, multiple):
    """Return the rounds to distance 1e-6, and to 1e-6 of the zero model's loss, without noise."""
    truth, data = draw_problem(FIGURE, seed, n=n, m=m, heads=CONVENTIONS["text"]["heads"])
    trace = lr.fedrep(
        data,
        rounds=4000 if n < 100 else 1500,
        **FIGURE.options(method),
        start=lr.projected_gradient_start(data, FIGURE.k),
        tolerance=1e-6,
        rng=seed,
        step_size=multiple * theorem_step_size(truth, n),
    )
    zero = 0.5 * np.mean(np.sum(truth.theta**2, axis=1))
    low = np.flatnonzero(trace["loss"][1:] <= 1e-6 * zero)
    return {"distance": until(trace), "loss": 1.0 + low[0] if low.size else np.inf}
