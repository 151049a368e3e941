"""Figure 1: errors of FedRep, local training and one global model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import HOLDS, Evidence, claim, combine, expectation, ordering
from linrep.claims._parts import decided, draw_seeds, medians
from linrep.claims.fedrep._figures import (
    CONVENTIONS,
    SAME,
    Decision,
    draw_problem,
    one_model,
    risk,
)
from linrep.theory.expectations import least_squares_error
from linrep.theory.fedrep import best_single_model


@claim(
    "fedrep.figure1",
    place="Figure 1",
    kind="comparison",
    latex=r"\mathrm{error}_{\text{FedRep}} < \mathrm{error}_{\text{local}},\ "
    r"\mathrm{error}_{\text{one model}} \quad \text{for every } m",
    plain="(d, k) = (20, 2), n = 100, with m = 5, 10, 20, r = 1, T = 500: local training suffers "
    "at small m, one global model at any m, FedRep has the smallest error.",
    broken={"best": "one model"},
)
def figure1(budget, rng, *, best="FedRep") -> Evidence:
    """Compare test errors, in both readings of the noise and both scalings of the heads."""
    samples = budget((5, 20), (5, 10, 20))
    readings = budget(
        [("scaled_qr", 1e-3**0.5)],
        [(heads, noise) for heads in ("scaled_qr", "unit_rows") for noise in (1e-3**0.5, 1e-3)],
    )
    parts: list[Decision] = []
    rows = []
    for heads, noise in readings:
        for m in samples:
            setting = {"heads": heads, "noise": noise, "m": m}
            where = f"m = {m}, {heads} heads, noise {noise:.2g}"
            seeds = draw_seeds(rng, budget(20, 30, 100))
            errors = pd.DataFrame([_figure1_errors(m, heads, noise, seed) for seed in seeds])
            parts += [
                partial(
                    ordering, errors[best], errors[other], name=f"{best} below {other}, {where}",
                    setting=setting,
                )
                for other in ("FedRep", "local", "one model") if other != best
            ]  # fmt: skip
            parts.append(
                partial(
                    ordering, errors["one model"], errors["floor"], tie=SAME, same=True,
                    name=f"one model no better than the best one, {where}", setting=setting,
                )
            )  # fmt: skip
            if m < 17:  # further up the mean is infinite, or its samples too far from normal
                ratio = errors["local"] / errors["local, expected"]
                parts.append(
                    partial(expectation, ratio, 1.0, name=f"local in closed form, {where}")
                )
            long = errors[["FedRep", "local", "one model"]].melt(var_name="series", value_name="y")
            panel = f"{heads} heads, noise {noise:.2g}"
            rows.append(long.assign(panel=panel, x=m, xlabel="m", ylabel="error"))
    found = combine(decided(parts))
    few = {m: _few_samples(m, rng) for m in budget((2,), (2, 3, 4))}
    note = "; ".join(f"{share:.2g} at m = {m}" for m, share in few.items())
    if found.verdict == HOLDS:
        found = replace(
            found,
            sentence=f"FedRep has the smallest error at m = {', '.join(map(str, samples))}; over "
            f"that of local training, its error near m = k = 2 has the median {note}",
        )
    return replace(found, points=medians(rows))


def _figure1_errors(m, heads, noise, seed):
    """Return half mean squared test errors of the methods on one problem, and what is expected."""
    truth, data = draw_problem(100, 20, 2, m, seed, heads=heads, noise=noise)
    theta = _fedrep_model(data, seed)
    norms = np.linalg.norm(truth.theta, axis=1)
    return {
        "FedRep": risk(theta, truth),
        "local": lr.local_only(data)["population_risk"][-1],
        "local, expected": 0.5 * np.mean(least_squares_error(20, m, signal=norms, noise=noise)),
        "one model": risk(one_model(data, seed)[1], truth),
        "floor": best_single_model(truth.theta)[1],
    }


def _few_samples(m, rng):
    """Return FedRep's error over that of local training, the median of 20 seeds."""
    ratios = []
    for seed in draw_seeds(rng, 20):
        truth, data = draw_problem(100, 20, 2, m, seed, **CONVENTIONS["text"])
        local = lr.local_only(data)["population_risk"][-1]
        ratios.append(risk(_fedrep_model(data, seed), truth) / local)
    return float(np.median(ratios))


def _fedrep_model(data, seed):
    """Return the clients' models after 500 rounds, with heads fitted once more."""
    trace = lr.fedrep(data, rounds=500, start="projected_gradient", rng=seed)
    B = trace.state["B"]
    return lr.fit_heads(data, B) @ B.T
