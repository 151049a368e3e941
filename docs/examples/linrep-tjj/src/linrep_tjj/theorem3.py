"""Theorem 3: how far the method of moments is from the representation.

The theorem is quoted in ``contents.toml`` in the form in which Collins et al. (FedRep, 2021,
Theorem 2) restate it, without the square root. What is checked here is our own: the rate 1/N of the
squared distance, and constants that are enough.
"""

from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Exponent, Frequency, statement


def tasks(n, d, k, noise, rng):
    """Return n tasks of norm 1, evenly over k directions: the heads' second moment is I/k."""
    B = np.linalg.qr(rng.standard_normal((d, k)))[0]
    return lr.SharedRepresentation(B, np.eye(k)[np.arange(n) % k], noise)


def squared_sines(truth, B):
    """Return the sum of the squared sines of the principal angles."""
    return truth.k - np.linalg.norm(truth.B.T @ np.linalg.qr(B)[0]) ** 2


@statement(
    "tjj.theorem3.rate",
    place="Derived here, after Theorem 3",
    latex=r"\mathbb{E}\,\mathrm{dist}_F^2(\hat B, B) = \Theta(1/N)",
    plain="The squared distance of the method of moments falls as 1/N, as the number N of samples "
    "of all tasks together grows.",
    negative_control={"exponent": -0.5},
    stronger={"exponent": -1},
)
def rate(budget, rng, *, exponent=-1.0):
    """Fit the exponent over draws of the same tasks, from N = 2000, where the distance is small."""
    truth, sizes = tasks(20, 6, 2, 0.5, rng), 100 * 2 ** np.arange(5)
    errors = [
        [
            squared_sines(truth, lr.method_of_moments(truth.draw(m, rng=rng), k=2).state["B"])
            for _ in range(budget(200, 800))
        ]
        for m in sizes
    ]
    yield Exponent(
        20 * sizes, errors, equals=exponent, along="N", of="squared distance", statistic="mean"
    )


@statement(
    "tjj.theorem3.probability",
    place="Derived here, after Theorem 3",
    latex=r"N \ge 100\,\frac{dk}{\nu} \implies "
    r"\mathrm{dist}(\hat B, B) \le 5\sqrt{\frac{dk}{\nu N}}\ \text{ with probability } 0.95",
    plain="With N >= 100 dk/nu samples the method of moments is within 5 root(dk/(nu N)) of the "
    "representation with probability 0.95: constants of our own, for evenly spread tasks.",
    negative_control={"C": 2.0},
    stronger={"C": -1, "c": -1},
)
def probability(budget, rng, *, C=5.0, c=100.0):
    """Count the draws that are farther away, from the smallest N that is allowed."""
    runs, n = budget(250, 500), 6
    for d, k, multiple in product((5, 15), (1, 3), (1, 4)):
        hardness = d * k**2  # dk/nu: the least eigenvalue of the second moment, nu, is 1/k
        m = int(np.ceil(multiple * c * hardness / n))
        truth, bound = tasks(n, d, k, 0.5, rng), C * np.sqrt(hardness / (n * m))
        found = [lr.method_of_moments(truth.draw(m, rng=rng), k=k) for _ in range(runs)]
        far = sum(each["distance"][0] > bound for each in found)
        yield Frequency(far, runs, at_most=0.05, name=f"d = {d}, k = {k}, N = {n * m}")
