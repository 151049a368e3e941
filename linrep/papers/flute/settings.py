"""FLUTE's synthetic figures: sizes, models, noise, step sizes, and the runs that are compared.

What the paper leaves open is taken from Figure 3: step size 0.03, start of entries N(0, 1/(10 d)^2)
and noise N(0, 0.3), 0.3 the variance. Its models have singular values 2 d/(i + 1), those of
Figure 1 are independent N(0, I). FedRep's step size is not given, and is read in two ways:

- *own*: 1/(4L), L the curvature of its loss in B at the start, and head steps of 1/lambda_max;
- *same*: FLUTE's, for the sum of the clients' gradients, and for head steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import linrep as lr
from linrep._lib import validation as check
from linrep.algorithms import gaussian_start
from linrep.figures.sizes import Sizes, size
from linrep.problems import ClientData
from linrep.simulation.families.regression import MODELS
from linrep.trace import Trace

STEP_SIZE = 0.03
NOISE = 0.3**0.5
#: Readings of N(0, 0.3), as standard deviations.
NOISES = {"variance 0.3": NOISE, "deviation 0.3": 0.3}
#: Two errors within this share of another are a tie.
TIE = 0.005
#: Head steps of FedRep per epoch; None is the exact head.
HEADS = {"exact": None, "10 steps": 10, "1 step": 1}
STEPS = ("own", "same")
STARTS = ("moments", "random")
#: gamma_1 over gamma_2 in Figure 4.
RATIOS = (2.0, 1.0, 2.0 / 3.0)
#: Both weights for a ratio: only ratios are given, so that one weight is held at the theorem's.
HELD: Mapping[str, Callable[[float], tuple[float, float]]] = {
    "gamma_1 = 1/4": lambda ratio: (0.25, 0.25 / ratio),
    "gamma_2 = 1/8": lambda ratio: (0.125 * ratio, 0.125),
}


def draw_truth(models: str, n: int, d: int, noise: float, rng: Any) -> lr.LowRankRegression:
    """Draw models: independent normal ones, or those of decaying singular values.

    Parameters
    ----------
    models : {"normal", "decaying"}
    n, d : int
    noise : float
        Standard deviation.
    rng : Generator
    """
    values = MODELS[check.choice("models", models, MODELS)](n, d)
    return lr.LowRankRegression.random(n=n, d=d, singular_values=values, noise=noise, rng=rng)


def random_start(n: int, d: int, k: int, rng: Any) -> Any:
    """Draw FLUTE's start."""
    return gaussian_start(n, d, k, 1.0 / (10 * d), rng)


def flute(data: ClientData, k: int, start: Any, epochs: int, record: Any) -> Trace:
    """Run FLUTE.

    Parameters
    ----------
    data : ClientData
    k : int
    start
        As of :func:`random_start`.
    epochs : int
    record : list of int
        Epochs at which metrics are kept.
    """
    return lr.flute(data, k=k, step_size=STEP_SIZE, rounds=epochs, start=start, record=record)


def fedrep(
    data: ClientData,
    k: int,
    random: Any,
    epochs: int,
    record: Any,
    start: str,
    head: str,
    step: str | float,
) -> Trace:
    """Run a variant of FedRep.

    Parameters
    ----------
    data : ClientData
    k : int
    random
        FLUTE's start, for the variants that share it.
    epochs : int
    record : list of int
        Epochs at which metrics are kept.
    start, head : str
        Of `STARTS` and `HEADS`.
    step : str or float
        Of `STEPS`, or how many times its own.
    """
    begin = random if start == "random" else "moments"
    options: dict[str, Any] = {}
    if step not in STEPS:
        own = lr.fedrep(data, k=k, rounds=0, start=begin).settings["step_size"]
        options = {"step_size": step * own}
    elif step == "same":
        options = {"step_size": STEP_SIZE, "normalization": "published"}
        if HEADS[head] is not None:
            options["head_step_size"] = STEP_SIZE
    return lr.fedrep(
        data,
        k=k,
        rounds=epochs,
        start=begin,
        local_steps=HEADS[head],
        record=record,
        **options,
    )


def kept(trace: Trace, metric: str, record: Any) -> Any:
    """Return a metric at epochs of a record: infinite where the run has diverged."""
    found = np.full(len(record), np.inf)
    found[np.isin(record, trace.recorded)] = trace[metric][np.isin(trace.recorded, record)]
    return found


@dataclass(frozen=True)
class Figure1(Sizes):
    """Figures 1 and 3: FLUTE and FedRep on models that share no representation of rank k."""

    n: tuple[int, ...] = size((15, 30), "Clients, M: rows of panels.", quick=15, most=3)
    m: tuple[int, ...] = size((12, 20), "Samples per client, N: rows of panels.", quick=12, most=3)
    k: tuple[int, ...] = size(
        (2, 4, 6, 8), "Ranks that are fitted: a column each.", quick=(2, 6), most=6
    )
    d: int = size(10, "Dimension.")
    epochs: int = size(500, "Epochs.")

    def check(self) -> None:
        """Refuse ranks beyond the sizes."""
        _ranks(self, max(self.k))


@dataclass(frozen=True)
class Figure4(Sizes):
    """Figure 4: weights of FLUTE's regularizer."""

    m: tuple[int, ...] = size(
        (8, 9, 10, 11), "Samples per client, N: a column each.", quick=(8, 11), most=6
    )
    n: int = size(10, "Clients, M.")
    d: int = size(10, "Dimension.")
    k: int = size(6, "Rank that is fitted.")
    epochs: int = size(1200, "Epochs.")

    def check(self) -> None:
        """Refuse ranks beyond the sizes."""
        _ranks(self, self.k)

    def weighted(self, data: ClientData, held: str, ratio: float, seed: int, record: Any) -> Trace:
        """Run FLUTE with weights of a ratio.

        Parameters
        ----------
        data : ClientData
        held : str
            Which weight is held, of `HELD`.
        ratio : float
        seed : int
        record : int or list of int
            Epochs at which metrics are kept.
        """
        gamma1, gamma2 = HELD[held](ratio)
        return lr.flute(
            data,
            k=self.k,
            step_size=STEP_SIZE,
            rounds=self.epochs,
            gamma1=gamma1,
            gamma2=gamma2,
            record=record,
            rng=seed,
        )


def _ranks(sizes, k):
    for name in ("d", "n"):
        least = min(np.atleast_1d(getattr(sizes, name)))
        if k > least:
            raise ValueError(f"k must be at most {name} = {least}, got {k}")
