"""Figure 1: errors of FedRep, local training and one global model."""

from __future__ import annotations

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Curve, Fact, Mean, Paired, statement
from linrep.claims.tables import draw_seeds, medians
from linrep.papers.fedrep._figures import SAME, draw_problem, global_model
from linrep.papers.fedrep.settings import CONVENTIONS, Figure1, risk
from linrep.theory.expectations import least_squares_error
from linrep.theory.fedrep import best_single_model

FIGURE = Figure1()


@statement(
    "fedrep.figure1",
    place="Figure 1",
    latex=r"\mathrm{error}_{\text{FedRep}} < \mathrm{error}_{\text{local}},\ "
    r"\mathrm{error}_{\text{global model}} \quad \text{for every } m",
    plain="(d, k) = (20, 2), n = 100, with m = 5, 10, 20, r = 1, T = 500: local training suffers "
    "at small m, one global model at any m, FedRep has the smallest error.",
    negative_control={"best": "global model"},
)
def figure1(budget, rng, *, best="FedRep"):
    """Compare test errors, in both readings of the noise and both scalings of the heads."""
    samples = budget((5, 20), (5, 10, 20))
    readings = budget(
        [("scaled_qr", 1e-3**0.5)],
        [(heads, noise) for heads in ("scaled_qr", "unit_rows") for noise in (1e-3**0.5, 1e-3)],
    )
    rows = []
    for heads, noise in readings:
        for m in samples:
            setting = {"heads": heads, "noise": noise, "m": m}
            where = f"m = {m}, {heads}, noise {noise:.2g}"
            seeds = draw_seeds(rng, budget(40, 120, 200))
            errors = pd.DataFrame([_figure1_errors(m, heads, noise, seed) for seed in seeds])
            for other in ("FedRep", "local", "global model"):
                if other != best:
                    yield Paired(
                        errors[best],
                        errors[other],
                        quantity="median ratio of errors",
                        name=f"{best} below {other}, {where}",
                        setting=setting,
                    )
            yield Paired(
                errors["global model"],
                errors["floor"],
                tie=SAME,
                same=True,
                setting=setting,
                quantity="median ratio of errors",
                name=f"global as best single model, {where}",
            )
            if m < 17:  # further up the mean is infinite, or its samples too far from normal
                yield Mean(
                    errors["local"] / errors["local, expected"],
                    equals=1.0,
                    setting=setting,
                    quantity="local error over its mean",
                    name=f"local in closed form, {where}",
                )
            long = errors[["FedRep", "local", "global model"]].melt(
                var_name="series", value_name="y"
            )
            panel = f"{heads} heads, noise {noise:.2g}"
            rows.append(long.assign(panel=panel, x=m, xlabel="m", ylabel="error"))
    for m in budget((2,), (2, 3, 4)):
        ratio = _few_samples(m, rng)
        yield Fact("FedRep's error over local training's", ratio, setting={"m": m})
    yield Curve(medians(rows))


def _figure1_errors(m, heads, noise, seed):
    """Return half mean squared test errors of the methods on one problem, and what is expected."""
    truth, data = draw_problem(FIGURE, seed, m=m, heads=heads, noise=noise)
    theta = FIGURE.fedrep(data, seed)
    norms = np.linalg.norm(truth.theta, axis=1)
    return {
        "FedRep": risk(theta, truth),
        "local": lr.local_only(data)["population_risk"][-1],
        "local, expected": 0.5
        * np.mean(least_squares_error(FIGURE.d, m, signal=norms, noise=noise)),
        "global model": risk(global_model(data, FIGURE, seed)[1], truth),
        "floor": best_single_model(truth.theta)[1],
    }


def _few_samples(m, rng):
    """Return FedRep's error over that of local training, the median of 20 seeds."""
    ratios = []
    for seed in draw_seeds(rng, 20):
        truth, data = draw_problem(FIGURE, seed, m=m, **CONVENTIONS["text"])
        local = lr.local_only(data)["population_risk"][-1]
        ratios.append(risk(FIGURE.fedrep(data, seed), truth) / local)
    return float(np.median(ratios))
