"""Theorem 5.1, what its sentence covers besides: all later rounds, and sub-Gaussian samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linrep.algorithms import flute
from linrep.claims import Exponent, Fact, statement
from linrep.papers.flute._data import largest_start
from linrep.papers.flute._hypotheses import ASSUMPTIONS, SMALL_START
from linrep.problems import LowRankRegression
from linrep.theory.flute import Spectrum, step_size_limits

#: Of mean 0 and variance 1.
DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape),
    "three values": lambda rng, shape: np.sqrt(3.0) * rng.choice([-1, 0, 0, 0, 0, 1], shape),
}
VALUES = (1.0, 0.95, 0.1)
SIZES = (100, 400, 1600, 6400)


def _with_samples(data, truth, draw, rng):
    """Return data with samples and labels' noise of another distribution."""
    X = draw(rng, data.X.shape)
    clients = np.repeat(np.arange(truth.n), np.diff(data.offsets))
    clean = np.einsum("ij,ji->i", X, truth.Phi[:, clients])
    return replace(data, X=X, y=clean + truth.noise * draw(rng, clean.shape))


def _late_errors(truth, draw, m, runs, rng):
    """Return the largest mean error of clients from the theorem's round on, for so many runs.

    That round is for epsilon = 0.1/sqrt(m) and c' = 1600, the constant of Theorem 5.5's proof; runs
    are followed for three times as many.
    """
    found, kept = [], []
    spectrum = Spectrum.of(truth, 2)
    eta, gap = step_size_limits(spectrum)["theorem_5_1"], spectrum.gap
    small = 0.1 / np.sqrt(m) * np.sqrt(truth.n) * eta * gap**2 / (1600.0 * np.sqrt(2.0))
    first = int(np.ceil(np.log(small) / np.log1p(-eta * gap / 16.0)))
    for _ in range(runs):
        data = _with_samples(truth.draw(m, rng=rng), truth, draw, rng)
        record = [first, *(first * np.array([1.1, 1.5, 2.0, 3.0])).astype(int)]
        trace = flute(
            data,
            k=2,
            step_size=eta,
            rounds=record[-1],
            scale=largest_start(spectrum),
            record=record,
            rng=rng,
        )
        errors = trace["client_error"][1:]
        found.append(float(errors.max()))
        kept.append(float(errors.max() / errors[0]))
    return found, kept


@statement(
    "flute.theorem5.1.all_rounds",
    place="Theorem 5.1 and Section 3",
    hypotheses=(*ASSUMPTIONS, SMALL_START),
    latex=r"t \ge t_\epsilon \Rightarrow \tfrac1M\sum_i\|B^tw_i^t - B^*w_i^*\| \le \epsilon"
    r" \propto N^{-1/2},\quad x, \xi \text{ sub-Gaussian}",
    plain="From the round of Theorem 5.1 on, the error stays of order 1/sqrt(N), also for sub-"
    "Gaussian samples.",
    negative_control={"power": -0.75},
    stronger={"power": -1},
)
def all_rounds(budget, rng, *, power=-0.5):
    """Measure the largest error from the theorem's round on, along N, for several distributions."""
    growth = []
    truth = LowRankRegression.random(n=6, d=4, singular_values=VALUES, noise=0.5, rng=rng)
    for name in list(DRAWS)[:: budget(3, 1)]:
        pairs = [_late_errors(truth, DRAWS[name], m, budget(32, 80), rng) for m in SIZES]
        growth += [ratio for _, kept in pairs for ratio in kept]
        yield Exponent(
            SIZES,
            [errors for errors, _ in pairs],
            at_most=power,
            along="N",
            name=name,
            of="largest error of later rounds",
        )
    yield Fact("largest error of later rounds over that of the first", max(growth))
