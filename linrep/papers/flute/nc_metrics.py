"""Appendix C.2: the metrics Global NC2 and Averaged Local NC2."""

import numpy as np

from linrep.claims import Fact, Frequency, statement
from linrep.papers.flute.appendix_b import normalized, target

#: Classes, those of a client, and the width of the last layer, in the paper's experiments.
SETTINGS = ((10, 2, 64), (10, 5, 64), (100, 5, 128), (100, 10, 128), (100, 20, 128), (100, 40, 128))


def _metrics(m, own, k, clients, rng):
    """Return both metrics for random heads, own ones stronger or weaker by a random factor."""
    found = []
    spread = rng.uniform(0.0, 1.0)
    for _ in range(clients):
        mask = np.zeros(m)
        mask[rng.permutation(m)[:own]] = 1.0
        H = rng.standard_normal((k, m)) * np.where(mask > 0.0, 10.0**spread, 1.0)
        if rng.random() < 0.5:  # own heads nearer to sum 0
            mean = H[:, mask > 0.0].mean(axis=1, keepdims=True)
            H[:, mask > 0.0] -= rng.random() * mean
        gram = normalized(H)
        found.append([np.linalg.norm(gram - target(mask, classes)) for classes in (m, own)])
    return np.mean(found, axis=0)


@statement(
    "flute.C2.nc_metrics",
    place="Appendix C.2",
    latex=r"\text{Global NC2 and Averaged Local NC2 are positively correlated}",
    plain="Of two sets of heads, the one with the smaller Global NC2 usually has the smaller "
    "Local NC2.",
    negative_control={"sign": -1.0},
)
def nc_metrics(budget, rng, *, sign=1.0):
    """Count random pairs of sets of heads whose order by one metric is not that by the other.

    Heads are normal, those of own classes longer by a factor up to 10 and moved towards sum 0; the
    paper's are those that its methods learn.
    """
    for m, own, k in SETTINGS[: budget(3, 6)]:
        trials = budget(160, 400)
        pairs = [[_metrics(m, own, k, 4, rng) for _ in range(2)] for _ in range(trials)]
        differences = np.array([one - other for one, other in pairs])
        against = int(np.sum(sign * differences[:, 0] * differences[:, 1] < 0.0))
        yield Frequency(
            against, trials, 0.5, name=f"m = {m}, m' = {own}, k = {k}",
            quantity="share of pairs in opposite order",
        )  # fmt: skip
    m, own, _ = SETTINGS[0]
    both, at = target((np.arange(m) < own).astype(float), m), {"m": m, "m'": own}
    apart = np.linalg.norm(target((np.arange(m) < own).astype(float), own) - both)
    yield Fact("Global NC2 where Local NC2 is 0", float(apart), setting=at)
    yield Fact("least Global NC2", float(1.0 - np.linalg.norm(both)), setting=at)
