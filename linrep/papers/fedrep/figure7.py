"""Figure 7: what FedRep gains over GD-GD, by number of clients."""

from __future__ import annotations

import numpy as np

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Growth, statement
from linrep.claims.multiverse import lengths
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.settings import CONVENTIONS, PUBLISHED_ROUNDS, Figure7, draw_problem
from linrep.papers.fedrep.trajectories import at_best, padded, speeds, ways

FIGURE = Figure7()
AT = lengths(PUBLISHED_ROUNDS, FIGURE.rounds)
WAYS = ways("value", AT)
#: Multiples of the theorem's step size, and further problems on which each method's is chosen.
STEPS = {"the theorem's": (1.0,), "each method's best": (0.25, 1.0, 4.0, 16.0)}
TUNING = 10
MEASURES = ("function value", "distance")
NOISE = {"variance 1e-3": 1e-3**0.5, "none": 0.0}


@statement(
    "fedrep.figure7",
    place="Figure 7; Appendix A.1",
    latex=r"n < n' \implies \frac{\text{rounds}_{\text{GD-GD}}(n)}{\text{rounds}_{\text{FedRep}}"
    r"(n)} < \frac{\text{rounds}_{\text{GD-GD}}(n')}{\text{rounds}_{\text{FedRep}}(n')}",
    plain="d = 10, k = 2, r = 1: what FedRep gains over GD-GD grows with n.",
    negative_control={"factor": 1e-3},
)
def figure7(budget, rng, *, factor=1.0):
    """Follow GD-GD's values over FedRep's, and rounds, along n.

    The figure shows function values; of distances "the results are very similar". The control has
    the gain multiplied by a factor from each n to the next.
    """
    over = {
        "noise": tuple(NOISE)[: budget(1, 2)],
        "m": budget((10,), FIGURE.m),
        "n": budget((10, 100), FIGURE.n),
        "step": tuple(STEPS)[: budget(1, 2)],
        "of": MEASURES,
        "gain": WAYS,
    }
    seeds = draw_seeds(rng, TUNING + budget(40, 50, 100))
    gains = np.array(
        [[[_gains(n, m, seeds, NOISE[noise], over["step"]) for n in over["n"]] for m in over["m"]]
         for noise in over["noise"]]
    )  # fmt: skip
    gains *= factor ** np.arange(len(over["n"]))[:, None, None, None, None]
    yield Growth(
        gains,
        over=over,
        along="n",
        sizes="m",
        name="gain along n",
        phrase="the relative improvement of FedRep over GD-GD increases with n",
    )


def _gains(n, m, seeds, noise, steps):
    """Return GD-GD's numbers over FedRep's: steps, measures, ways, runs."""
    every = STEPS[steps[-1]]
    runs = np.array([_trajectories(n, m, seed, noise, every) for seed in seeds])
    gains = []
    for step in steps:
        shape = (len(WAYS), len(FIGURE.methods), len(STEPS[step]))
        at = [every.index(multiple) for multiple in STEPS[step]]
        found = np.array(
            [[speeds(np.concatenate(values[:, at]), AT) for values in run] for run in runs]
        ).reshape(len(runs), len(MEASURES), *shape)
        fedrep, other = np.moveaxis(at_best(np.moveaxis(found, 0, -1), TUNING), 2, 0)
        gains.append(other / fedrep)
    return np.array(gains)


def _trajectories(n, m, seed, noise, multiples):
    """Return values on one problem: measures, methods, multiples of the theorem's step, rounds."""
    heads = CONVENTIONS["text"]["heads"]
    truth, data = draw_problem(FIGURE, seed, n=n, m=m, heads=heads, noise=noise)
    B, W = lr.projected_gradient_start(data, FIGURE.k)
    residual = data.y - np.sum(data.X * np.repeat(W @ B.T, m, axis=0), axis=1)
    first = 0.5 * np.mean(residual**2)  # a run has a value from its first heads on
    values = []
    for method in FIGURE.methods:
        options = {**FIGURE.options(method), "rounds": AT[-1], "start": (B, W), "rng": seed}
        for multiple in multiples:
            step_size = multiple * theorem_step_size(truth, n)
            trace = lr.fedrep(data, step_size=step_size, **options)
            loss = padded(np.array([first, *trace["loss"][1:]]), AT[-1], rounding=1e-24)
            values.append([loss, padded(trace["distance"], AT[-1], 1.0)])
    shape = (len(FIGURE.methods), len(multiples), len(MEASURES), AT[-1] + 1)
    return np.moveaxis(np.reshape(values, shape), 2, 0)
