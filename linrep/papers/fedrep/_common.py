"""What the checks of FedRep's claims share: hypotheses, instances, one round written out."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from linrep.claims import Cases, Hypothesis, Identity, Readings
from linrep.claims.deviations import identities
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.kernels.designs import draw_covariates
from linrep.problems import SharedRepresentation
from linrep.problems.regression import DESIGNS as CODES
from linrep.problems.subspace import frame_at_distance, random_frame

DESIGNS = ("gaussian", "rademacher", "uniform", "sphere")
#: Designs whose batches are drawn in full; the Gaussian ones are drawn by their law as well.
OTHERS = DESIGNS[1:]


def _diverse(problem, participants):
    """Tell whether every set of participants has heads that span R^k."""
    n, k = problem.W.shape
    if participants < k:
        return False
    if participants == n:
        return np.linalg.matrix_rank(problem.W) == k
    return all(
        np.linalg.matrix_rank(problem.W[list(chosen)]) == k
        for chosen in combinations(range(n), participants)
    )


_PRINTED = "samples are i.i.d., of mean 0 and covariance I_d, and I_d-sub-gaussian"
SUB_GAUSSIAN = Hypothesis(
    "Assumption 1",
    "x has mean 0, covariance I and E exp(v'x) <= exp(|v|^2/2)",
    lambda problem, participants: problem.design in DESIGNS,
    printed=_PRINTED,
)
#: Of claims whose checks draw samples, and have no derivation for the others.
FOUR_DESIGNS = Hypothesis(
    "Assumption 1",
    "x is normal, of random signs, uniform in each entry, or uniform on a sphere",
    lambda problem, participants: problem.design in DESIGNS,
    printed=_PRINTED,
    change="narrower",
)
#: Of claims whose checks draw normal samples alone.
GAUSSIAN = Hypothesis(
    "Assumption 1",
    "x is normal, N(0, I)",
    lambda problem, participants: problem.design == "gaussian",
    printed=_PRINTED,
    change="narrower",
)
#: As the paper has it itself, where it speaks of such samples.
NORMAL = Hypothesis(
    "normal samples",
    "x is N(0, I)",
    lambda problem, participants: problem.design == "gaussian",
    printed="x ~ N(0, I_d) independently",
)
DIVERSE = Hypothesis(
    "Assumption 2",
    "any rn clients have heads that span R^k (sigma_min > 0)",
    _diverse,
    printed="the least singular value of any rn rows of W*/sqrt(rn) is positive",
)
NORMALIZED = Hypothesis(
    "Assumption 3",
    "heads have norm sqrt(k)",
    lambda problem, participants: np.allclose(
        np.linalg.norm(problem.W, axis=1), np.sqrt(problem.W.shape[1])
    ),
    printed="the w_i* have norm sqrt(k), and B* has orthonormal columns",
)
ASSUMPTIONS = (FOUR_DESIGNS, DIVERSE, NORMALIZED)
GAUSSIAN_ASSUMPTIONS = (GAUSSIAN, DIVERSE, NORMALIZED)


def instance(n, d, k, rng, *, distance=None, condition=None, angles="equal", **options):
    """Return a truth, with heads of norm sqrt(k), and a frame B at a distance from it.

    B is uniform where no distance is given.
    """
    if condition is not None:
        options["condition"] = condition
    truth = SharedRepresentation.random(n=n, d=d, k=k, rng=rng, **options)
    if distance is None:
        return truth, random_frame(d, k, rng)
    return truth, frame_at_distance(truth.B, distance, angles=angles, rng=rng)


def exact_heads(X: Array, y: Array, B: Array) -> Array:
    """Return the least-squares heads (n, k) on B of clients with data X (n, m, d), y (n, m)."""
    Z = X @ B
    return np.stack(
        [np.linalg.lstsq(z, target, rcond=None)[0] for z, target in zip(Z, y, strict=True)]
    )


def batch_of(truth, m, rng, clients=None):
    """Return covariates (clients, m, d) and labels (clients, m) of one batch."""
    data = truth.draw(m, rng=rng, clients=clients)
    return data.X.reshape(-1, m, truth.d), data.y.reshape(-1, m)


def sensing(X):
    """Return the operator A as a matrix: row (i, j) is A_ij = e_i x_ij', flattened."""
    rn, m, d = X.shape
    A = np.zeros((rn, m, rn, d))
    for i in range(rn):
        A[i, :, i] = X[i]
    return A.reshape(rn * m, rn * d)


def moments(X):
    """Return Pi^i = X_i'X_i/m."""
    return np.einsum("imd,ime->ide", X, X) / X.shape[1]


def head_errors(truth, B, X):
    """Return F of Lemma 1."""
    Pi, D = moments(X), B.T @ truth.B
    G, C = B.T @ Pi @ B, B.T @ Pi @ truth.B
    return np.linalg.solve(G, (G @ D - C) @ truth.W[:, :, None])[:, :, 0]


def covariates(design, size, d, rng):
    """Draw samples of a design, shape (size, d)."""
    X = np.empty((size, d))
    draw_covariates(rng, CODES[design], 5.0, X)
    return X


def by_name(rows):
    """Return rows that begin with a name by that name, without it."""
    groups: dict[str, list] = {}
    for name, *row in rows:
        groups.setdefault(name, []).append(tuple(row))
    return groups


def derived(rows, tolerance=1e-12):
    """Return what a derivation proves, display by display: first identities, then inequalities.

    A row is a name with a deviation and its instance, or with lhs, rhs and their instance.
    """
    groups = by_name(rows)
    exact = [name for name, found in groups.items() if len(found[0]) == 2]
    found = [Identity(groups.pop(name), tolerance, name=name, strength=PROVED) for name in exact]
    return found + [Cases(cases, name=name, strength=PROVED) for name, cases in groups.items()]


def read_as(parts, **words):
    """Return the readings of a sentence; one alone as it is, of a corrected statement."""
    return parts[0] if len(parts) == 1 else Readings(parts, **words)


def misprinted(deviations, place, tolerance=1e-12, *, name):
    """Return a display as it is printed, and first in the form that the paper has at a place."""
    right = next(iter(deviations))
    return Readings(
        identities(deviations, tolerance), name=name, phrase=name, printed_elsewhere={right: place}
    )


def read_heads(reader, shape):
    """Return the heads of norm sqrt(k) that numbers stand for, None where one is nearly 0."""
    W = reader.numbers(shape["n"], shape["k"])
    norms = np.linalg.norm(W, axis=1, keepdims=True)
    return None if norms.min() < 1e-6 else W * np.sqrt(shape["k"]) / norms
