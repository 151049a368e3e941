"""Biases of items and clients, shrunk as crossed random effects, that entries are fitted less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms._conjugate_gradients import solve
from linrep.problems.completion import Observations

Values = NDArray[np.float64]
NAMES = ("offset", "item_bias", "client_bias")  # in a trace's state
_LEAST = 1e-10  # of the entries' variance that noise is taken to have
_TOLERANCE = 1e-12  # relative, of the linear system
_MOST = 10_000  # iterations for it


class Biases(NamedTuple):
    """What entries are without factors: offset + item + client.

    Attributes
    ----------
    offset : float
    item, client : ndarray, shape (d,), (n,)
        0 where nothing was seen.
    variances : tuple of float
        Of the items' biases, the clients', and the noise, as estimated.
    """

    offset: float
    item: Values
    client: Values
    variances: tuple[float, float, float]

    def predict(self, observations: Observations) -> Values:
        """Return what they make of entries."""
        return self.offset + self.item[observations.items] + self.client[observations.clients]

    def state(self) -> dict[str, Values]:
        """Return what a trace's state holds of them."""
        return dict(zip(NAMES, (np.array(self.offset), self.item, self.client), strict=True))


def fit_biases(observations: Observations, values: Values | None = None) -> Biases:
    """Predict random effects of items and clients, their variances estimated from moments.

    Of the entries' values, or of others in their place.

    Gao and Owen, *Efficient moment calculations for variance components in large unbalanced crossed
    random effects models*, 2017, equations (4) to (8); then the best linear unbiased prediction for
    these variances (Henderson's equations), which shrinks a bias the more the fewer its entries.
    """
    values = observations.values if values is None else values
    variances = estimate_variances(observations, values)
    items, clients = observations.items, observations.clients
    noise = least_noise(variances, values)
    # In units of their standard deviations over the noise's, both have a ridge of 1.
    item_unit, client_unit = (np.sqrt(variance / noise) for variance in variances[:2])
    d, n = observations.d, observations.n

    def pull(residuals):
        return np.concatenate(
            [[residuals.sum()],
             item_unit * np.bincount(items, residuals, minlength=d),
             client_unit * np.bincount(clients, residuals, minlength=n)]
        )  # fmt: skip

    def predict(x):
        return x[0] + item_unit * x[1 + items] + client_unit * x[1 + d + clients]

    penalty = np.concatenate([[0.0], np.ones(d + n)])
    diagonal = np.concatenate(
        [[len(values)],
         item_unit**2 * observations.per_item, client_unit**2 * observations.per_client]
    )  # fmt: skip
    mean = float(values.mean())
    x = solve(
        lambda x: pull(predict(x)) + penalty * x, pull(values - mean), diagonal + penalty,
        tolerance=_TOLERANCE, most=_MOST,
    )  # fmt: skip
    return Biases(mean + float(x[0]), item_unit * x[1 : 1 + d], client_unit * x[1 + d :], variances)


def least_noise(variances: tuple[float, float, float], values: Values) -> float:
    """Return the noise's variance, positive: a share of the values' own at least."""
    return max(variances[2], _LEAST * float(np.var(values)), np.finfo(np.float64).tiny)


def estimate_variances(observations: Observations, values: Values) -> tuple[float, float, float]:
    """Return moment estimates of the items', the clients' and the noise's variance, at least 0."""
    values = values - values.mean()
    N = len(values)
    rows, expected = [], []
    for places, counts in (
        (observations.items, observations.per_item),
        (observations.clients, observations.per_client),
    ):
        seen = np.maximum(counts, 1)
        means = np.bincount(places, values, minlength=len(counts)) / seen
        # Within an item its own bias is gone; the clients' differ from entry to entry.
        rows.append(float(np.sum((values - means[places]) ** 2)))
        expected.append(float(N - np.count_nonzero(counts)))
    within_items, within_clients = expected
    system = [
        [0.0, within_items, within_items],
        [within_clients, 0.0, within_clients],
        [
            N - float(np.sum((observations.per_item / N) * observations.per_item)),
            N - float(np.sum((observations.per_client / N) * observations.per_client)),
            N - 1.0,
        ],
    ]
    rows.append(float(values @ values))
    # Where every item has one entry, say, two of the three cannot be told apart.
    found = np.linalg.lstsq(np.array(system), np.array(rows), rcond=None)[0]
    item, client, noise = (max(float(each), 0.0) for each in found)
    return item, client, noise
