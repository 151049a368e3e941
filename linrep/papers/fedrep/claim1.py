"""Claim 1 and Definition 4: restricted isometry, a property that the measurements lack."""

from fractions import Fraction
from math import prod

import numpy as np
from scipy import stats

from linrep.claims import Cases, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.papers.fedrep import model
from linrep.papers.fedrep.counterexamples.claim1_proof import left_open

RATIO = "|A(M)|^2/(m |M|_F^2)"


def smallest_ratios(budget, rng, largest_m):
    """Yield |A(M)|^2/(m |M|_F^2) at the M of one row for which it is smallest, and its instance."""
    for design in model.DESIGNS:
        for d in budget((2, 4, 20), (2, 3, 4, 10, 20, 100)):
            top = largest_m(d)
            for m in sorted({1, max(1, top // 2), top - 1, top} - {0}):
                X = model.covariates(design, (3, m, d), rng)
                M = np.zeros((3, d))
                M[0] = np.linalg.svd(X[0])[2][-1]  # orthogonal to every x_1^j, if there is room
                ratio = np.sum((model.sensing(X) @ M.ravel()) ** 2) / (m * np.sum(M**2))
                yield float(ratio), {"design": design, "d": d, "m": m}


@statement(
    "fedrep.claim1",
    place="Definition 4, Claim 1",
    latex=r"m \le d/2 \;\Rightarrow\; \Pr\big[\tfrac1{\sqrt m}\mathcal A \text{ violates 1-RIP"
    r" for every } \delta_1 \in [0, 1)\big] \ge 1 - e^{-cd}; \quad \text{RIP needs } m = \Omega(d)",
    plain="With m <= d/2 samples per client the measurements are not a restricted isometry.",
    hypotheses=[model.FOUR_DESIGNS],
    negative_control={"share": 1.5},
)
def claim1(budget, rng, *, share=0.5):
    """Find the matrix of one row that is measured least, for m up to a share of d."""
    ratios = smallest_ratios(budget, rng, lambda d: max(1, int(share * d)))
    yield Identity(ratios, 1e-12, name="M of one row that is measured least", quantity=RATIO)


@statement(
    "fedrep.claim1.proof",
    place="Claim 1, (88)-(89)",
    latex=r"M = e_1 (x_1^1)^\top:\quad \Pr\Big[\frac{\|\mathcal A(M)\|^2}{m\|M\|_F^2} \ge"
    r" \frac{d}{2m}\Big] \ge \Pr[\|x_1^1\|^2 \ge d/2] \ge 1 - e^{-cd},"
    r"\text{ which no } \delta_1 < 1 \text{ allows for } m \le d/2",
    plain="The first sample as a row is measured d/(2m) times too large, against any RIP.",
    hypotheses=[model.FOUR_DESIGNS],
    negative_control={"share": 0.4},
    holds_with={"most": 0.25, "dependent": False},
)
def claim1_proof(budget, rng, *, share=0.5, most=0.5, dependent=True):
    """Compare what the ratio excludes, and the probability for normal and dependent coordinates.

    The latter are 0 with probability p = 2/(d + 2), else uniform on a sphere, whose squared radius
    d + 2 makes the covariance I; Assumption 1 follows from their moments.
    """

    def excluded():
        # A ratio of at least share d/m contradicts delta if share d/m > 1 + delta.
        for d in (4, 20, 100):
            for m in range(1, int(most * d) + 1):
                length = left_open(d, m, Fraction(share).limit_denominator(100))
                at = {"d": d, "m": m, "delta_1": float(1 - length / 2)}
                yield "excluded parameters", at_most(length, Fraction(0)), at

    def probability():
        for c, d in ((Fraction(1), 64), (Fraction(1, 1000), 64_000)):
            at = {"c": float(c), "d": d, "P[|x|^2 < d/2]": 2.0 / (d + 2.0)}
            # e^(-c d) is below 2^(-c d).
            yield "dependent coordinates", at_most(Fraction(2, d + 2), Fraction(1, 2**64)), at

    yield from measured(excluded(), quantity="length of what is left of [0, 1)").values()
    normal = [(stats.chi2.logcdf(d / 2, d), -0.09 * d, {"d": d}) for d in (1, 4, 20, 100, 6000)]
    yield Cases(normal, name="normal coordinates, c = 0.09", quantity="log P[|x|^2 < d/2]")
    if dependent:
        yield from measured(probability(), quantity="P[|x|^2 < d/2]").values()
        even = (
            ("dependent coordinates, Assumption 1", at_most(moment(d, j), 1), {"d": d, "j": j})
            for d in (1, 2, 5, 20, 100)
            for j in range(1, 60)
        )
        yield from measured(even, quantity="E (v'x)^(2j) over that of N(0, |v|^2)").values()


def moment(d, j):
    """Return E (v'x)^(2j) of dependent coordinates over that of normal ones."""
    return Fraction(d + 2, d) ** (j - 1) * prod(Fraction(d, d + 2 * i) for i in range(1, j))


@statement(
    "fedrep.claim1.proof.corrected",
    place="Claim 1, (88)-(89)",
    latex=r"m < d \;\Rightarrow\; \exists v \ne 0: X_1 v = 0, \quad"
    r" \mathcal A(e_1 v^\top) = 0 \text{ surely: no } \delta_1 < 1 \text{ will do}",
    plain="With fewer samples than dimensions some matrix of one row is not measured at all.",
    negative_control={"spare": 0},
    corrects="fedrep.claim1.proof",
)
def claim1_corrected(budget, rng, *, spare=1):
    """Find that row, for m up to d less a spare number; any covariates will do."""
    ratios = smallest_ratios(budget, rng, lambda d: d - spare)
    yield Identity(ratios, 1e-12, quantity=RATIO, strength=PROVED)
