"""Figure 1: errors of FedRep, local training and one global model."""

from __future__ import annotations

import numpy as np

import linrep as lr
from linrep.claims import Comparison, statement
from linrep.claims.multiverse import Multiverse, lengths
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.settings import (
    DATA,
    FEDSGD_STEP,
    LEFT,
    PUBLISHED_ROUNDS,
    Figure1,
    draw_problem,
    risk,
)

FIGURE = Figure1()
AT = lengths(PUBLISHED_ROUNDS, FIGURE.rounds)
METHODS = ("FedRep", "local", "global model")
ABOUT = {
    "error": "what it has to explain less of, or be above, to be poor",
    "small": "below both other methods, or how much it explains of the models",
    "data": "heads and noise as in Appendix A.1, or as in the authors' notebook",
    "rounds": "of training; the paper names no number",
}


@statement(
    "fedrep.figure1",
    place="Figure 1",
    latex=r"\mathrm{error}_{\text{FedRep}} < \mathrm{error}_{\text{local}},\ "
    r"\mathrm{error}_{\text{global model}} \quad \text{for every } m",
    plain="(d, k) = (20, 2), n = 100, r = 1: local training suffers at small m, one global model "
    "even at large m, and FedRep has a small error at every m.",
    negative_control={"best": "global model"},
)
def figure1(budget, rng, *, best="FedRep"):
    """Compare test errors over the zero model's; the paper names no m, and no number of rounds.

    What FedSGD "cannot" is asked of the best single model, below which no step or round gets it.
    FedRep has the theorem's step: longer runs make up for short ones.
    """
    at = AT[: budget(3, len(AT))]
    samples = budget((10, 30), (2, 5, 10, 30))
    data = dict(list(DATA.items())[: budget(1, 4)])
    seeds = draw_seeds(rng, budget(60, 60, 100))
    errors = np.array(
        [[_errors(m, options, at, seeds) for m in samples] for options in data.values()]
    )

    def poor(values, than, chosen, **options):
        """Return whether errors are above what is called poor, at some m."""
        at = np.isin(samples, chosen)
        limits = [np.full_like(values[:, at], left) for left in LEFT.values()]
        words, others = than
        over = {"error": [*(f"explains less than {share}" for share in LEFT), words]}
        return Comparison(
            np.stack([*limits, others[:, at]]),
            np.stack([values[:, at]] * 4),
            over={**over, "data": data, "m": chosen},
            about={name: ABOUT[name] for name in ("error", "data")},
            **options,
        )

    alone = errors[:, :, 1, 0]
    most = np.broadcast_to(alone[:, -1:], alone.shape)
    yield Multiverse.along(
        "small m",
        {
            f"up to {last}": poor(
                alone,
                ("above its own at the largest m", most),
                [m for m in samples if m <= last],
                sizes="m",
                within=True,
                name="local training",
                phrase="Local only training suffers in small-training data regimes",
            )
            for last in budget((10,), (5, 10))
        },
        about={"small m": "which m are a small-training data regime, of 2, 5, 10, 30"},
    )
    yield Multiverse.along(
        "large m",
        {
            f"from {first}": poor(
                errors[:, :, 3, 0],
                ("above FedRep's", errors[:, :, 0, -1]),
                [m for m in samples if m >= first],
                each="m",
                name="global model",
                phrase="cannot overcome client heterogeneity even when the number of training "
                "samples is large",
            )
            for first in budget((30,), (10, 30))
        },
        about={"large m": "which m are a large number of training samples"},
    )
    own = METHODS.index(best)
    yield Multiverse.along(
        "m",
        {
            f"from {first}": _small(errors, own, samples, first, data, at)
            for first in budget((10,), (2, 5, 10))
        },
        about={"m": "where the figure's axis, whose numbers the text has not, may begin"},
    )


def _small(errors, own, samples, first, data, rounds):
    """Return whether a method's errors are small from some m on, against each other method."""
    at = [place for place, m in enumerate(samples) if m >= first]
    others = [place for place in range(3) if place != own]
    rivals = errors[:, at][:, :, others]
    larger = np.stack([rivals, *(np.full_like(rivals, left) for left in LEFT.values())])
    smaller = np.broadcast_to(errors[:, at, own : own + 1], larger.shape)
    cases = [f"{samples[m]}, {METHODS[other]}" for m in at for other in others]
    shape = (len(larger), len(data), len(cases), *larger.shape[-2:])
    return Comparison(
        smaller.reshape(shape),
        larger.reshape(shape),
        over={
            "small": ("below both others", *(f"explains {share}" for share in LEFT)),
            "data": data,
            "m, against": cases,
            "rounds": rounds,
        },
        each="m, against",
        about={name: ABOUT[name] for name in ("small", "data", "rounds")},
        name=METHODS[own],
        phrase="FedRep … achieve small error in all cases",
    )


def _errors(m, options, at, seeds):
    """Return errors over the zero model's: methods and the best single model, lengths, runs."""
    found = []
    for seed in seeds:
        truth, data = draw_problem(FIGURE, seed, m=m, **options)
        run = {"k": FIGURE.k, "rounds": at[-1], "record": at, "rng": seed}
        fedrep = lr.fedrep(data, start="projected_gradient", **run)["population_risk"][1:]
        single = lr.fedsgd(data, start="random", step_size=FEDSGD_STEP, **run)["population_risk"]
        alone = np.full(len(at), lr.local_only(data)["population_risk"][-1])
        zero = 0.5 * np.mean(np.sum(truth.theta**2, axis=1))
        best = np.full(len(at), risk(truth.theta.mean(axis=0), truth))
        found.append(np.array([fedrep, alone, single[1:], best]) / zero)
    return np.stack(found, axis=-1)
