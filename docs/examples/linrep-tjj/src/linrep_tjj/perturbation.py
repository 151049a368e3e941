"""From an error of the moment matrix to one of the representation."""

from typing import NamedTuple

import numpy as np

from linrep.claims import proved, search_instances, statement


class Moments(NamedTuple):
    """A symmetric matrix, and an error of it."""

    M: np.ndarray
    E: np.ndarray


def draw(reader, shape):
    """Return an instance of dimension d: each matrix is a matrix of numbers and its transpose."""
    M, E = (reader.numbers(shape["d"], shape["d"]) for _ in range(2))
    return Moments(M + M.T, E + E.T)


def nearest(shape, over=0.01):
    """Return the numbers of an instance with left over right = 1/(1 + 2 over), see proofs.md."""
    d, k = shape["d"], shape["k"]
    M, E = np.diag((np.arange(d) < k) / 2.0), np.zeros((d, d))
    E[k - 1, k - 1], E[-1, -1] = -0.25 - over / 2.0, 0.25 + over / 2.0
    return np.concatenate([M.ravel(), E.ravel()])


@statement(
    "tjj.perturbation",
    place="Derived here",
    latex=r"\|(I - BB^\top)\hat B\| \le \frac{2\|\hat M - M\|}{\lambda_k(M) - \lambda_{k+1}(M)}",
    plain="The leading eigenvectors of two symmetric matrices differ by at most twice the "
    "matrices' difference over the gap of one of them.",
    negative_control={"factor": 1.5},
    stronger={"factor": -1},
)
def perturbation(budget, rng, *, factor=2.0):
    """Search for two matrices that violate it, near those known to come closest, too."""

    def sides(at, shape):
        k = shape["k"]
        values, vectors = np.linalg.eigh(at.M)
        gap = values[-k] - values[-k - 1]
        if gap < 1e-6:
            return None
        other = np.linalg.eigh(at.M + at.E)[1][:, -k:]
        sine = np.linalg.norm(vectors[:, :-k].T @ other, 2)
        return sine * gap, factor * np.linalg.norm(at.E, 2)

    for shape in ({"d": 2, "k": 1}, {"d": 4, "k": 2}):
        found = search_instances(
            lambda at, shape=shape: sides(at, shape), [shape], draw, budget, rng,
            known=[(shape, nearest(shape))],
            name=f"d = {shape['d']}, k = {shape['k']}",
        )  # fmt: skip
        yield proved(found)
