"""Runs of FLUTE and FedRep on the same problems, for the claims on FLUTE's synthetic figures.

Sizes, models, step sizes and runs are those of the figures, ``linrep.papers.flute.settings``, but
for 800 epochs, and for 0.3 as the noise's variance or its standard deviation. Two errors within
0.5 % are a tie, as are two numbers of epochs within 5 %. Speeds are epochs to a share of the error
that a run explains, which is that of no model at all less its last one: so that a method which is
good from the first epoch on, or which gets little done, is not taken for a fast one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from linrep.claims.tables import draw_seeds
from linrep.papers.flute import settings
from linrep.papers.flute.settings import NOISE, TIE

FIGURE = settings.Figure1()
D, EPOCHS = FIGURE.d, 800
#: Readings of FedRep's step size.
STEPS = {
    "own": "FedRep's own step",
    "same": "FLUTE's step, summed",
}
NOISES = (NOISE, 0.3)
RANKS = FIGURE.k
#: Numbers M of clients and N of samples.
SIZES = tuple(product(FIGURE.n, FIGURE.m))
EPOCH_TIE = 0.05
#: Shares of the explained error by which speeds are compared.
EXPLAINED = (0.9, 0.99)
#: Epochs recorded: all up to 40 or so, then every 40th part more.
RECORD = np.unique(np.geomspace(1, EPOCHS, 200).round().astype(int))
MODELS = {"Figure 1": "normal", "Figure 3": "decaying"}


class Races:
    """Runs of FLUTE and of variants of FedRep on the same problems, one per seed."""

    def __init__(self, name, k, runs):
        self.name, self.k, self.runs = name, k, runs
        self.methods = [method for method in runs[0] if method != "FLUTE"]

    def last(self, method, what="truth_error"):
        """Return the last error (or other metric) of each run."""
        return np.array([self._last(run[method], what) for run in self.runs])

    def near(self, method, share):
        """Return the epochs to a share of the error that each run explains, at least 1."""
        found = []
        for run in self.runs:
            errors, nothing = run[method]["truth_error"], run["FLUTE"]["zero"][0]
            place = np.flatnonzero(errors <= errors[-1] + (1.0 - share) * (nothing - errors[-1]))[0]
            found.append(max(1.0, float(run[method].recorded[place])))
        return np.array(found)

    def early(self, method, epochs=100):
        """Return the mean error over the first epochs of each run."""
        t = self.runs[0][method].recorded
        first = t <= epochs
        return np.array(
            [
                np.trapezoid(run[method]["truth_error"][first], t[first]) / np.ptp(t[first])
                for run in self.runs
            ]
        )

    def ahead(self, method):
        """Return the first epoch at which FLUTE's error is below another's by more than a tie."""
        found = []
        for run in self.runs:
            ours, other = run["FLUTE"], run[method]
            below = ours["truth_error"][1:] < (1.0 - TIE) * other["truth_error"][1:]
            places = np.flatnonzero(below)
            found.append(float(ours.recorded[1 + places[0]]) if places.size else np.inf)
        return np.array(found)

    def setting(self, method):
        """Return what a counterexample says."""
        return {"sizes": self.name, "method": method}

    def curves(self, panel):
        """Return the medians of the errors over seeds, for pictures."""
        tables = []
        for method in ("FLUTE", *self.methods):
            errors = np.array([run[method]["truth_error"] for run in self.runs])[:, 1::3]
            x = self.runs[0][method].recorded[1::3]
            table = {"x": x, "y": np.median(errors, axis=0), "series": method}
            tables.append(pd.DataFrame(table))
        words = {"xlabel": "epoch", "ylabel": "mean error"}
        return pd.concat(tables).assign(panel=f"{panel}, {self.name}", **words)

    @staticmethod
    def _last(trace, what):
        if what == "normalized":
            return trace["truth_error"][-1] / trace["best"][-1]
        return trace[what][-1]


def list_variants(starts, heads=("exact",), steps=tuple(STEPS)):
    """Return FedRep's variants with each of these starts, solvers of the heads and step sizes."""
    return tuple(product(starts, heads, steps))


def race(rng, count, models, n, m, k, *, others, epochs=EPOCHS, noise=NOISE):
    """Run FLUTE and others with so many seeds, drawn from rng, or those of a list.

    Others are variants of FedRep. Streams of seeds in a list are free of M.
    """
    given = not isinstance(count, int)
    runs = [
        _run(
            models,
            n,
            m,
            k,
            np.random.default_rng([seed, m, k] if given else [seed, n, m, k]),
            others,
            epochs,
            noise,
        )
        for seed in (count if given else draw_seeds(rng, count))
    ]
    name = f"M = {n}, N = {m}, k = {k}"
    return Races(name if noise == NOISE else f"{name}, noise {noise:g}", k, runs)


def _run(models, n, m, k, rng, others, epochs, noise):
    """Return the traces of FLUTE and of FedRep's variants on one problem."""
    truth = draw_truth(models, n, noise, rng)
    data = truth.draw(m, rng=rng)
    random = settings.random_start(n, D, k, rng)
    recorded = RECORD[: np.searchsorted(RECORD, epochs, side="right")]
    traces = {"FLUTE": settings.flute(data, k, random, epochs, recorded)}
    if not others:
        least = np.mean(np.linalg.norm(truth.best(k).Phi - truth.Phi, axis=0))
        traces["FLUTE"].metrics["best"] = np.array([least])
    traces["FLUTE"].metrics["zero"] = np.array([np.mean(np.linalg.norm(truth.Phi, axis=0))])
    for variant in others:
        traces[named(*variant)] = settings.fedrep(data, k, random, epochs, recorded, *variant)
    return traces


def named(start, head, step):
    """Return how a variant of FedRep is called."""
    return f"FedRep{'(RI)' if start == 'random' else ''}, {head}, {step} step"


def draw_truth(models, n, noise, rng):
    return settings.draw_truth(MODELS[models], n, D, noise, rng)
