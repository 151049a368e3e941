"""Section 4.2: what the statistic that clients send tells of their samples."""

from fractions import Fraction

import numpy as np

from linrep.claims import Condition, statement
from linrep.claims.laws import at_most, law, measured
from linrep.claims.measurements import relative
from linrep.papers.fedrep.counterexamples import privacy as leak
from linrep.papers.fedrep.model import Drawn, instance
from linrep.problems.subspace import distance, random_frame


@statement(
    "fedrep.privacy",
    place="Section 4.2, remark on initialization",
    latex=r"\textstyle\sum_j (y_i^j)^2 x_i^j x_i^{j\top}\text{ does not compromise privacy}",
    plain="The statistic that a client sends for the moments start does not reveal its samples.",
    negative_control={"fewest": 19},
    holds_with={"fewest": 20},
)
def privacy(budget, rng, *, fewest=1, tolerance=1e-6):
    """Reconstruct the sample of a client with m = 1; set samples against others for larger m.

    Of the sizes up to 2 d, d = 20, those of `fewest` samples or more.
    """
    if fewest == 1:
        at = {"x": leak.X, "y": leak.Y, "Z": leak.statistic()}
        at["x found, up to a factor"] = [float(entry) for entry in leak.found()]
        private = at_most(Fraction(tolerance).limit_denominator(), leak.error())
        found = [("m = 1, in whole numbers", private, at)]
        yield from measured(found, quantity="least error that is private").values()
    d, trials = 20, budget(5, 50, 500)
    for m in (2, 5, d - 1, d, 2 * d):
        if m >= fewest:
            own, other = membership(m, d, trials, rng)
            yield Condition(
                own > tolerance or other <= tolerance, own, other, n_trials=trials,
                setting={"m": m, "d": d, "share of own": own, "of others": other},
                name=f"m = {m}, d = {d}", quantity="share of a sample outside the range of Z_i",
            )  # fmt: skip


def statistic(m, d, rng):
    """Return normal samples (m, d), labels and Z_i of a client, k = 2."""
    truth, _ = instance(2, d, 2, rng)
    x = rng.standard_normal((m, d))
    y = x @ truth.theta[0]
    return x, y, (x * y[:, None] ** 2).T @ x / m


def membership(m, d, trials, rng):
    """Return median shares outside the range of Z, of a sample of the data and of another one."""
    shares = []
    for _ in range(trials):
        x, _, Z = statistic(m, d, rng)
        values, vectors = np.linalg.eigh(Z)
        kept = vectors[:, values > 1e-10 * values[-1]]
        shares.append([outside(x[0], kept), outside(rng.standard_normal(d), kept)])
    return [float(value) for value in np.median(shares, axis=0)]


def outside(x, frame):
    """Return the share of a vector outside the span of a frame."""
    return float(np.linalg.norm(x - frame @ (frame.T @ x)) / np.linalg.norm(x))


@law(
    "fedrep.privacy.corrected",
    "Section 4.2, remark on initialization",
    r"m < d:\ \mathrm{range}(Z_i) = \mathrm{span}\{x_i^1, \dots, x_i^m\};\qquad"
    r"2 \le m \le d:\ Z_i\text{ determines no } x_i^j \in \mathbb R^d",
    over=Drawn(1e-10),
    wrong={"offset": -1},
    corrects="fedrep.privacy",
)
def privacy_corrected(budget, rng, *, offset=0):
    """The statistic reveals the span of m < d samples, but for 2 <= m <= d no single one of
    them.
    """
    for _ in range(budget(5, 40, 400)):
        for d, m in ((6, 2), (6, 5), (20, 3), (20, 19), (40, 12), (20, 20)):
            x, y, Z = statistic(m, d, rng)
            rows, at = x * y[:, None], {"d": d, "m": m}
            condition = np.linalg.cond(rows)
            if condition**2 > 1e10:
                continue  # a label near 0 hides its sample
            if m < d:
                vectors = np.linalg.eigh(Z)[1]
                basis = vectors[:, d - m - offset :]
                if offset:
                    basis = np.column_stack([basis, vectors[:, :-offset]])
                name = "m < d: range of Z_i is the span of the samples"
                yield name, distance(basis, x.T) / condition**2, at
            other = random_frame(m, m, rng) @ rows
            # As samples with labels 1 = <theta', x'>, of another client.
            theta = np.linalg.lstsq(other, np.ones(m), rcond=None)[0]
            error = relative((other * (other @ theta)[:, None] ** 2).T @ other / m, Z)
            yield "1 < m <= d: other noise-free data with the same Z_i", error / condition, at
