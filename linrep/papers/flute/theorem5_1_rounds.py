"""Theorem 5.1, what its sentence covers besides: all later rounds, and sub-Gaussian samples."""

from dataclasses import replace

import numpy as np

from linrep.algorithms import flute
from linrep.claims import Exponent, statement
from linrep.papers.flute.model import ASSUMPTIONS, SMALL_START, Spectrum
from linrep.papers.flute.runs import largest_start, largest_step, truth_of

#: Of mean 0 and variance 1.
DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape),
    "three values": lambda rng, shape: np.sqrt(3.0) * rng.choice([-1, 0, 0, 0, 0, 1], shape),
}
SIZES = (100, 400, 1600, 6400)


def late_error(truth, draw, m, rng):
    """Return the largest mean error of clients from the theorem's round on, on such samples.

    That round is for epsilon = 0.1/sqrt(m) and c' = 1600, the constant of Theorem 5.5's proof; runs
    are followed for three times as many.
    """
    spectrum = Spectrum.of(truth, 2)
    eta, gap = largest_step(spectrum), spectrum.gap
    small = 0.1 / np.sqrt(m) * np.sqrt(truth.n) * eta * gap**2 / (1600.0 * np.sqrt(2.0))
    first = int(np.ceil(np.log(small) / np.log1p(-eta * gap / 16.0)))
    data = truth.draw(m, rng=rng)
    X = draw(rng, data.X.shape)
    clients = np.repeat(np.arange(truth.n), np.diff(data.offsets))
    clean = np.einsum("ij,ji->i", X, truth.Phi[:, clients])
    data = replace(data, X=X, y=clean + truth.noise * draw(rng, clean.shape))
    record = [first, *(first * np.array([1.1, 1.5, 2.0, 3.0])).astype(int)]
    trace = flute(
        data, k=2, step_size=eta, rounds=record[-1], scale=largest_start(spectrum), record=record,
        rng=rng,
    )  # fmt: skip
    return float(trace["client_error"][1:].max())


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
    truth = truth_of((1.0, 0.95, 0.1), 6, 4, rng, noise=0.5)
    for name in list(DRAWS)[:: budget(3, 1)]:
        runs = budget(32, 80)
        errors = [[late_error(truth, DRAWS[name], m, rng) for _ in range(runs)] for m in SIZES]
        of = "largest error of later rounds"
        yield Exponent(SIZES, errors, at_most=power, along="N", name=name, of=of)
