"""How often a mean is judged falsely at its limit, and how often it is judged at all, by law.

    python levels.py ROWS.csv

For samples of seven laws: the probabilities that ``Mean(samples, at_most=...)`` "holds", and that
it "fails", where the true mean is the limit, as multiples of the level of each; and the shares that
are decided where the limit is twice the true mean, and half of it. Beside them the same of
Student's interval, and for samples in [0, 1] of the interval with that range. Probabilities are
computed by importance sampling, of laws with two values exactly.
"""

import math
import sys

import numpy as np
import pandas as pd
from scipy import special, stats

from linrep.claims.confidence import Moments, of_bounded_mean, of_mean
from linrep.claims.evidence import LEVEL

SIZES = (8, 10, 30, 100)
LEVELS = (1e-2, 1e-3, LEVEL)
DRAWS = 3000  # of each proposal


def shifted(law):
    """Return the mean 1 and draws of laws that are moved to and fro, and narrower."""

    def propose(rng, size, n, tail):
        half = stats.t.isf(tail, n - 1) / math.sqrt(n)
        pairs = [(0.0, 1.0)]
        for sign in (-1.0, 1.0):
            pairs += [(sign * half * share, 1.0) for share in (0.5, 0.8)]
            pairs += [
                (sign * move, scale) for move, scale in ((1.0, 0.5), (0.8, 0.25), (0.5, 0.12))
            ]
        laws = [(move, scale) for move, scale in pairs if scale < 1.0 or abs(move) < 3.0]
        x = np.concatenate(
            [move + scale * law.rvs((size, n), random_state=rng) for move, scale in laws]
        )
        logs = np.array(
            [(law.logpdf((x - move) / scale) - math.log(scale)).sum(axis=1) for move, scale in laws]
        )
        return 1.0 + x, law.logpdf(x).sum(axis=1) - mixed(logs)

    return 1.0, propose


def exponential():
    """Return the mean and draws of laws of other means."""

    def propose(rng, size, n, _):
        scales = np.array([0.3, 0.45, 0.6, 0.75, 0.9, 1.0, 1.3, 1.7, 2.5])
        x = rng.exponential(scales[:, None, None], (len(scales), size, n)).reshape(-1, n)
        logs = np.array([-x.sum(axis=1) / scale - n * math.log(scale) for scale in scales])
        return x, -x.sum(axis=1) - mixed(logs)

    return 1.0, propose


def lognormal(sigma):
    """Return the mean and draws of laws whose logarithms have other means and deviations."""

    def propose(rng, size, n, _):
        pairs = [(0.0, 1.0), (-0.2, 0.9), (-0.3, 0.75), (-0.4, 0.5), (-0.1, 0.3), (0.3, 0.2),
                 (0.3, 1.0), (0.6, 1.1), (1.2, 1.2)]  # fmt: skip
        laws = [stats.norm(sigma * move, sigma * scale) for move, scale in pairs]
        z = np.concatenate([law.rvs((size, n), random_state=rng) for law in laws])
        logs = np.array([law.logpdf(z).sum(axis=1) for law in laws])
        return np.exp(z), stats.norm(0.0, sigma).logpdf(z).sum(axis=1) - mixed(logs)

    return math.exp(sigma**2 / 2.0), propose


def mixed(logs):
    """Return the logarithm of the density of all proposals together."""
    return special.logsumexp(logs, axis=0) - math.log(len(logs))


LAWS = {
    "normal": shifted(stats.norm()),
    "Student's t, 3 degrees": shifted(stats.t(3)),
    "exponential": exponential(),
    "lognormal, sigma = 1": lognormal(1.0),
    "lognormal, sigma = 2": lognormal(2.0),
}
CHANCES = {"two values": 0.5, "one in a thousand": 1e-3}


def student(moments, tail):
    """Return Student's interval; of samples that are all equal none, as they are undecided."""
    if not moments.deviation > 0.0:
        return -math.inf, math.inf
    half = stats.t.isf(tail, moments.size - 1) * moments.deviation / math.sqrt(moments.size)
    return moments.mean - half, moments.mean + half


def ours(moments, tail):
    """Return linrep's without a range."""
    return of_mean(moments, tail) if moments.deviation > 0.0 else (-math.inf, math.inf)


def decided(ends, weights, mean, tail):
    """Return false verdicts over their levels, and the shares that are decided."""
    low, high = np.array(ends).T
    return {
        "holds": float(weights @ (high <= mean)) / tail,
        "fails": float(weights @ (low > mean)) / tail,
        "at twice": float(weights @ (high <= 2.0 * mean)),
        "at half": float(weights @ (low > mean / 2.0)),
    }


def cells(law, n, level, rng):
    """Yield rows of a law, a number of samples and a level."""
    tail, ways = level / 2.0, {"Student's": student, "linrep's": ours}
    if law in CHANCES:
        mean = CHANCES[law]
        samples = [np.repeat([0.0, 1.0], [n - count, count]) for count in range(n + 1)]
        weights = stats.binom.pmf(range(n + 1), n, mean)
        bets = [of_bounded_mean(each, (0.0, 1.0), tail) for each in samples]
        yield {"interval": "with a range", **decided(bets, weights, mean, tail)}
    else:
        mean, propose = LAWS[law]
        samples, logs = propose(rng, DRAWS, n, tail)
        weights = np.exp(logs) / len(samples)
    moments = [Moments.of(each) for each in samples]
    for name, interval in ways.items():
        ends = [interval(each, tail) for each in moments]
        yield {"interval": name, **decided(ends, weights, mean, tail)}


def summary(rows):
    """Return the table of the page: at the limit the most over all numbers, and the power."""
    lines = [
        "| law | interval | false *holds* | false *fails* | *holds* at twice | *fails* at half |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for (law, interval), cells in rows.groupby(["law", "interval"], sort=False):
        largest = [f"{float(f'{cells[verdict].max():.2g}'):,g}" for verdict in ("holds", "fails")]
        power = cells[cells["level"] == LEVELS[0]].set_index("n")
        shares = [
            " ".join(f"{share:.0%}" for share in power.loc[list(SIZES), name])
            for name in ("at twice", "at half")
        ]
        lines.append(f"| {law} | {interval} | {' | '.join([*largest, *shares])} |")
    return "\n".join(lines)


def main(path):
    """Write the table."""
    rng = np.random.default_rng(0)
    rows = [
        {"law": law, "n": n, "level": level, **row}
        for law in [*LAWS, *CHANCES]
        for level in LEVELS
        for n in SIZES
        for row in cells(law, n, level, rng)
    ]
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.3g")
    print(summary(pd.read_csv(path)))


if __name__ == "__main__":
    main(sys.argv[1])
