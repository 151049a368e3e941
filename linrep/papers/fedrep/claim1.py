"""Claim 1 and Definition 4: restricted isometry, a property that the measurements lack."""

from fractions import Fraction

import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp

from linrep.claims import Exponent, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.papers.fedrep import model
from linrep.papers.fedrep.counterexamples.claim1_proof import left_open
from linrep.problems import SharedRepresentation
from linrep.theory.fedrep import one_row_ratios

RATIO = "|A(M)|^2/(m |M|_F^2)"


def covariates(design, n, m, d, rng):
    """Return covariates (n, m, d) of a design."""
    truth = SharedRepresentation(np.eye(d, 1), np.ones((n, 1)), design=design)
    return model.batch_of(truth, m, rng)[0]


def measure(X, M):
    """Return the entries <e_i x_i^j', M> of A(M), one by one (Definition 4 and Claim 1)."""
    return np.array([[x @ M[i] for x in block] for i, block in enumerate(X)])


def smallest_ratios(budget, rng, largest_m):
    """Yield |A(M)|^2/(m |M|_F^2) at the M of one row for which it is smallest, and its instance."""
    for design in model.DESIGNS:
        for d in budget((2, 4, 20), (2, 3, 4, 10, 20, 100)):
            top = largest_m(d)
            for m in sorted({1, max(1, top // 2), top - 1, top} - {0}):
                X = covariates(design, 3, m, d, rng)
                M = np.zeros((3, d))
                M[0] = np.linalg.svd(X[0])[2][-1]  # orthogonal to every x_1^j, if there is room
                ratio = np.sum(measure(X, M) ** 2) / (m * np.sum(M**2))
                yield float(ratio), {"design": design, "d": d, "m": m}


def samples_for_half(X):
    """Return the smallest number of leading rows of X that have 1-RIP with parameter 1/2."""
    low, high = 1, len(X)
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        smallest, largest = one_row_ratios(X[:middle])
        isometric = max(largest - 1.0, 1.0 - smallest) <= 0.5
        low, high = (low, middle) if isometric else (middle, high)
    return high


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
    sizes, runs = budget((8, 16, 32), (8, 16, 32, 64)), budget(20, 40, 100)
    designs = ("gaussian",) * runs + ("rademacher",) * runs
    needed = [
        [d / samples_for_half(covariates(design, 1, 48 * d, d, rng)[0]) for design in designs]
        for d in sizes
    ]
    yield Exponent(
        sizes, needed, at_most=0.0, along="d", of="d over the samples that RIP takes",
        name="d over the m of RIP, growth with d",
    )  # fmt: skip


def excess_of_atom(d):
    """Return the largest log E exp(v'x) - |v|^2/2 of dependent covariates, |v| up to 2 sqrt(d).

    They are 0 with probability p = 2/(d + 2), else on a sphere, whose radius sqrt(d + 2) makes the
    covariance I. All moments of v'x are at most the normal ones: E (v'x)^{2j} is that of
    N(0, |v|^2) times (1 - p)^{1 - j} prod_{i < j} d/(d + 2i), and d/(d + 2i) <= 1 - p.
    """
    p, j, worst = 2.0 / (d + 2.0), np.arange(2000), -np.inf
    # E (u_1)^{2j} = Gamma(j + 1/2) Gamma(d/2) / (Gamma(1/2) Gamma(j + d/2)) on the unit sphere.
    moments = gammaln(j + 0.5) + gammaln(d / 2) - gammaln(0.5) - gammaln(j + d / 2)
    for v in np.linspace(0.01, 2.0 * np.sqrt(d), 60):
        terms = 2 * j * np.log(v * np.sqrt(d + 2.0)) - gammaln(2 * j + 1) + moments
        worst = max(worst, np.logaddexp(np.log(p), np.log1p(-p) + logsumexp(terms)) - v**2 / 2)
    return float(worst)


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
    """Check the two steps: the probability for several laws, and what the ratio excludes."""

    def excluded():
        # A ratio of at least share d/m contradicts delta if share d/m > 1 + delta.
        for d in (4, 20, 100):
            for m in range(1, int(most * d) + 1):
                length = left_open(d, m, Fraction(share).limit_denominator(100))
                at = {"d": d, "m": m, "delta_1": float(1 - length / 2)}
                yield "excluded parameters", at_most(length, Fraction(0)), at

    yield from measured(excluded(), quantity="length of what is left of [0, 1)").values()
    sizes = np.geomspace(200, 6000, 8).round()

    def grows(name, numbers, **options):
        return Exponent(  # of exact numbers: one at each size
            sizes, numbers[:, None], equals=1.0, deterministic=True, along="d",
            of="-log P[|x|^2 < d/2]", name=name, **options,
        )  # fmt: skip

    yield grows("normal coordinates", -stats.chi2.logcdf(share * sizes, sizes))
    if not dependent:
        return
    law = "0 with probability 2/(d + 2), else uniform on a sphere of squared radius d + 2"
    at, name = {"x": law, "d": 20, "P[|x|^2 < d/2]": 1.0 / 11.0}, "dependent coordinates"
    yield grows(name, np.log((sizes + 2.0) / 2.0), setting=at)
    excess = max(0.0, *(excess_of_atom(size) for size in (2, 5, 20, 100)))
    yield Identity(
        [(excess, {})], 1e-9, name=f"{name}, Assumption 1", quantity="log E exp(v'x) - |v|^2/2"
    )


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
