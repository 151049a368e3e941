"""Section 4.2: what the statistic that clients send tells of their samples."""

from fractions import Fraction

import numpy as np

from linrep.claims import Condition, statement
from linrep.claims.laws import at_most, law, measured
from linrep.claims.measurements import relative
from linrep.claims.tables import curve
from linrep.papers.fedrep.counterexamples import privacy as leak
from linrep.papers.fedrep.model import Drawn, instance, samples_of
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
    d, k, trials = 20, 2, budget(20, 200, 2000)
    signs, example = sign_errors(d, k, trials, rng)
    if fewest == 1:
        at = {"x": leak.X, "y": leak.Y, "Z": leak.statistic()}
        at["x found, up to a factor"] = [float(entry) for entry in leak.found()]
        private = at_most(Fraction(tolerance).limit_denominator(), leak.error())
        found = [("m = 1, in whole numbers", private, at)]
        yield from measured(found, quantity="least error that is private").values()
    if fewest <= 2:
        yield Condition(
            signs > tolerance, signs, n_trials=trials, setting=example,
            name="m = 2, sign covariates", quantity="largest error of samples found, up to signs",
        )  # fmt: skip
    rows, trials = [], budget(5, 50, 500)
    for m in (2, 5, d - 1, d, 2 * d):
        own, other, blind = membership(m, d, k, trials, rng)
        rows += [(m, own, "samples of the client"), (m, other, "other samples")]
        rows += [(m, blind, "samples, range guessed")]
        if m >= fewest:
            yield Condition(
                own > tolerance or other <= tolerance, own, other, n_trials=trials,
                setting={"m": m, "d": d, "share of own": own, "of others": other},
                name=f"m = {m}, d = {d}", quantity="share of a sample outside the range of Z_i",
            )  # fmt: skip
    x, shares, series = zip(*rows, strict=True)
    yield curve(
        x=x, y=np.maximum(shares, 1e-9), series=series, panel=f"d = {d}", xlabel="m",
        ylabel="share outside the range of $Z_i$",
    )  # fmt: skip


def statistic(design, m, d, k, rng):
    """Return samples (m, d), labels and Z_i of a client."""
    truth, _ = instance(k, d, k, rng)
    x = samples_of(design, m, d, rng)
    y = x @ truth.theta[0]
    return x, y, (x * y[:, None] ** 2).T @ x / m


def sign_errors(d, k, trials, rng):
    """Return the largest error of two sign vectors read from the first row of Z, and one pair.

    That row is y_1^2 s + y_2^2 t with s, t the samples times their first entries: the sum of the
    squares, up to sign, where s and t agree, else their difference.
    """
    worst, example = 0.0, {}
    for _ in range(trials):
        x, y, Z = statistic("rademacher", 2, d, k, rng)
        x, y = (x[::-1], y[::-1]) if abs(y[0]) < abs(y[1]) else (x, y)
        if y[0] ** 2 - y[1] ** 2 < 1e-6 * y[0] ** 2:
            continue
        row = Z[0]
        agree = np.abs(row) > (1.0 - 1e-9) * row[0]
        found = np.stack([np.sign(row), np.where(agree, 1.0, -1.0) * np.sign(row)])
        worst = max(worst, relative(found, x * x[:, :1]))
        example = {"x": x.tolist(), "y": y.tolist(), "found": found.tolist()}
    return worst, example


def membership(m, d, k, trials, rng):
    """Return median shares outside the range of Z, of data and of others, and of a blind guess."""
    shares = []
    for _ in range(trials):
        x, _, Z = statistic("gaussian", m, d, k, rng)
        values, vectors = np.linalg.eigh(Z)
        kept = vectors[:, values > 1e-10 * values[-1]]
        other = samples_of("gaussian", 1, d, rng)[0]
        guess = random_frame(d, min(m, d), rng)
        shares.append([outside(x[0], kept), outside(other, kept), outside(x[0], guess)])
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
            x, y, Z = statistic("gaussian", m, d, 2, rng)
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
