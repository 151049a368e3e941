"""Figure 7: what FedRep gains over GD-GD, by number of clients."""

from __future__ import annotations

import numpy as np

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Growth, statement
from linrep.claims.multiverse import AT_EVERY_STEP, FROM_END_TO_END, lengths
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.settings import CONVENTIONS, PUBLISHED_ROUNDS, Figure7, draw_problem
from linrep.papers.fedrep.trajectories import TUNING, best_steps, padded, speeds, ways

FIGURE = Figure7()
AT = lengths(PUBLISHED_ROUNDS, FIGURE.rounds)
WAYS = ways("value", AT)
STEPS = ("the theorem's", "each method's best")
MEASURES = ("function value", "distance")
#: As printed, as in the notebook, and as in the theory.
NOISE = {"variance 1e-3": 1e-3**0.5, "standard deviation 1e-3": 1e-3, "none": 0.0}


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

    The figure shows function values; of distances "the results are very similar". A round's value
    is with its heads, which are new, on the representation from before it. The control has the
    gain multiplied by a factor from each n to the next.
    """
    over = {
        "noise": tuple(NOISE)[: budget(1, 3)],
        "m": budget((10,), FIGURE.m),
        "n": budget((10, 100), FIGURE.n),
        "step": STEPS[: budget(1, 2)],
        "of": MEASURES,
        "gain": WAYS,
    }
    seeds = draw_seeds(rng, TUNING + budget(40, 50, 100))
    gains = np.array(
        [[[_gains(n, m, seeds, NOISE[noise], over["step"]) for n in over["n"]] for m in over["m"]]
         for noise in over["noise"]]
    )  # fmt: skip
    noise = {"none": "here we include an additive Gaussian noise"}
    steps = (FROM_END_TO_END, AT_EVERY_STEP)[: budget(1, 2)]
    medians = {f"{each}, median": "the average trajectories over 10 trials" for each in steps}
    gains *= factor ** np.arange(len(over["n"]))[:, None, None, None, None]
    yield Growth(
        gains,
        over=over,
        along="n",
        sizes="m",
        name="gain along n",
        phrase="the relative improvement of FedRep over GD-GD increases with n",
        excluded={"noise": budget({}, noise), "grows": medians},
        about={
            "noise": "Appendix A.1 has variance 1e-3, the notebook deviation 1e-3, the theory none",
            "m": "samples per client and round, in the figure's two panels",
            "step": "the theorem's for both, or each method's best of 1, 2, 4, 8 times that",
            "of": "the figure shows function values and says that distances are similar",
            "gain": "GD-GD's number over FedRep's: at a time, or rounds to a share of the way",
        },
    )


def _gains(n, m, seeds, noise, steps):
    """Return GD-GD's numbers over FedRep's: steps, measures, ways, runs."""

    def run(seed, multiples, rounds=AT[-1]):
        return _trajectories(n, m, seed, noise, multiples, rounds)

    gains = []
    for step in steps:
        multiples = dict.fromkeys(FIGURE.methods, 1.0)
        if step != STEPS[0]:
            multiples = best_steps(lambda *how: run(*how)[0], FIGURE.methods, seeds[:TUNING])
        values = np.array([run(seed, multiples) for seed in seeds[TUNING:]])
        fedrep, other = np.moveaxis(speeds(values, AT), -1, 0)
        gains.append(np.moveaxis(other / fedrep, 0, -1))
    return np.array(gains)


def _trajectories(n, m, seed, noise, multiples, rounds):
    """Return values on one problem: measures, methods, rounds."""
    heads = CONVENTIONS["text"]["heads"]
    truth, data = draw_problem(FIGURE, seed, n=n, m=m, heads=heads, noise=noise)
    B, W = lr.projected_gradient_start(data, FIGURE.k)
    residual = data.y - np.sum(data.X * np.repeat(W @ B.T, m, axis=0), axis=1)
    first = 0.5 * np.mean(residual**2)  # a run has a value from its first heads on
    values = []
    for method, multiple in multiples.items():
        options = {**FIGURE.options(method), "rounds": rounds, "start": (B, W), "rng": seed}
        trace = lr.fedrep(data, step_size=multiple * theorem_step_size(truth, n), **options)
        loss = padded(np.array([first, *trace["loss"][1:]]), rounds, rounding=1e-24)
        values.append([loss, padded(trace["distance"], rounds, 1.0)])
    return np.swapaxes(values, 0, 1)
