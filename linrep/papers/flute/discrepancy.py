"""Section 5.2: the gradient discrepancy at the optimum."""

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Cases, Identity, Mean, statement
from linrep.claims.evidence import ENUMERATED
from linrep.papers.flute.model import FULL, GAUSSIAN
from linrep.problems import LowRankRegression
from linrep.theory import flute_lift

#: Phi = [phi_1 phi_2] with B* = e_1 and W* = (2, 2): e_i = B* w_i - phi_i is orthogonal to B*.
MODELS = ((2, 1), (2, -1))


def mean_square(d, samples):
    """Return the mean of |sum_i (I - S_i) e_i w_i|^2 over all samples of signs, exactly."""
    errors = [[0, -model[1], *[0] * (d - 2)] for model in MODELS]
    total, count = Fraction(0), 0
    for signs in product((-1, 1), repeat=d * samples * len(MODELS)):
        found = [Fraction(0)] * d
        for i, e in enumerate(errors):
            for j in range(samples):
                start = (i * samples + j) * d
                x = signs[start : start + d]
                along = sum(a * b for a, b in zip(x, e, strict=True))
                for p in range(d):
                    found[p] += Fraction(2, samples) * (e[p] - along * x[p])
        total, count = total + sum(entry**2 for entry in found), count + 1
    return total / count


@statement(
    "flute.discrepancy",
    place="Section 5.2 and Remark 5.6",
    latex=r"B^*W^* \ne \Phi:\quad \sum_i\big(I - \tfrac{X_iX_i^\top}N\big)(B^*w_i^* - \phi_i)"
    r"w_i^{*\top} \ne 0 \text{ possible, less only with } N; \qquad B^*W^* = \Phi:\ = 0",
    plain="At the optimum, gradients still differ from those of the population, unless Phi is "
    "fitted exactly.",
    negative_control={"dof": 0},
    stronger={"dof": 0},
)
def discrepancy(budget, rng, *, dof=1):
    """Take its mean square over all samples of signs, exactly, and its value where Phi is fitted.

    For such x the mean square is (d - dof)/N times the sum over clients of the product of the
    squared norms of w_i and e_i, dof being 1.
    """
    means = []
    for d, samples in ((2, 1), (2, 2), (3, 1), (4, 1))[: budget(3, 4)]:
        claimed = Fraction(8 * (d - dof), samples)  # |w_i|^2 |e_i|^2 = 4 each
        where = {"Phi": MODELS, "d": d, "N": samples}
        means.append((abs(mean_square(d, samples) - claimed), Fraction(0), where))
    quantity = "off (d - 1)/N sum |w_i|^2 |e_i|^2 by"
    yield Cases(means, name="mean square, k < r", quantity=quantity, strength=ENUMERATED)
    fitted = []
    for _ in range(budget(20, 100)):
        d, n = (int(side) for side in rng.integers(2, 7, 2))
        r = int(rng.integers(1, min(d, n) + 1))
        values = np.linspace(2.0, 1.0, r)
        truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.0, rng=rng)
        best, data = truth.best(r), truth.draw(int(rng.integers(1, 6)), rng=rng)
        Q, _ = flute_lift.discrepancy(data, truth.Phi, best.B, best.W, 1.0)
        fitted.append((float(np.abs(Q).max()), {"d": d, "n": n, "k": r, "r": r}))
    yield Identity(fitted, 1e-11, name="0 at the optimum, k = r, no noise")


@statement(
    "flute.discrepancy.rate",
    place="Section 5.2, challenges of the analysis",
    latex=r"k = r,\ \sigma = 0:\quad \Big\|\sum_i\big(I - \tfrac{X_iX_i^\top}N\big)(B^tw_i^t -"
    r" \phi_i)w_i^{t\top}\Big\| \propto \|B^tW^t - \Phi\|",
    plain="Where Phi has rank k and labels have no noise, the gradient discrepancy decays at a "
    "rate comparable to that of the error.",
    hypotheses=(GAUSSIAN, FULL),
    negative_control={"power": 2.0},
    stronger={"power": 0},
)
def decay(budget, rng, *, power=1.0):
    """Follow both along runs on fixed samples; compared is the power of the error in each run."""
    powers = []
    for _ in range(budget(40, 60)):
        truth = LowRankRegression.random(n=8, d=6, singular_values=(1.0, 0.7), noise=0.0, rng=rng)
        data = truth.draw(60, rng=rng)

        def measure(B, W, data=data, truth=truth):
            Q, _ = flute_lift.discrepancy(data, truth.Phi, B, W, 1.0)
            off = np.linalg.norm(B @ W.T - truth.Phi)
            return {"Q": float(np.linalg.norm(Q)), "off": float(off)}

        trace = lr.flute(data, k=2, step_size=0.1, rounds=4000, record=20, measure=measure, rng=rng)
        between = (trace["off"] <= 1e-2) & (trace["off"] >= 1e-9)
        Q, off = (np.log(trace[name][between]) for name in ("Q", "off"))
        powers.append(float(np.polyfit(off, Q, 1)[0]))
    yield Mean(
        powers, at_least=float(power) - 0.05, at_most=float(power) + 0.05,
        quantity="power of the error in the discrepancy", name="k = r, no noise",
    )  # fmt: skip
