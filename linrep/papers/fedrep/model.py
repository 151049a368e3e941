"""What the checks of FedRep's claims share: hypotheses, instances, rounds, and runs."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from linrep import algorithms
from linrep.claims import Cases, Hypothesis, Identity, Readings
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.problems import SharedRepresentation
from linrep.problems.subspace import frame_at_distance, random_frame
from linrep.theory.fedrep import contraction, sample_size, step_size_limit

DESIGNS = ("gaussian", "rademacher", "uniform", "sphere")
#: Designs whose batches are drawn in full; the Gaussian ones are drawn by their law as well.
OTHERS = DESIGNS[1:]
#: Share of runs that may violate a statement whose own probability is too small to be tested.
RARE = 0.05

# Hypotheses.


def _diverse(problem, participants):
    """Tell whether every set of participants has heads that span R^k."""
    n, k = problem.W.shape
    sets = [range(n)] if participants == n else combinations(range(n), participants)
    return participants >= k and all(
        np.linalg.matrix_rank(problem.W[list(chosen)]) == k for chosen in sets
    )


def _among(designs):
    return lambda problem, participants: problem.design in designs


_PRINTED = "samples are i.i.d., of mean 0 and covariance I_d, and I_d-sub-gaussian"
SUB_GAUSSIAN = Hypothesis(
    "Assumption 1", "x has mean 0, covariance I and E exp(v'x) <= exp(|v|^2/2)", _among(DESIGNS),
    printed=_PRINTED,
)  # fmt: skip
#: Of claims whose checks draw samples, and have no derivation for the others.
FOUR_DESIGNS = Hypothesis(
    "Assumption 1", "x is normal, of random signs, uniform in each entry, or uniform on a sphere",
    _among(DESIGNS), printed=_PRINTED, change="narrower",
)  # fmt: skip
#: Of claims whose checks draw normal samples alone.
GAUSSIAN = Hypothesis(
    "Assumption 1", "x is normal, N(0, I)", _among(DESIGNS[:1]), printed=_PRINTED, change="narrower"
)
#: As the paper has it itself, where it speaks of such samples.
NORMAL = Hypothesis(
    "normal samples", "x is N(0, I)", _among(DESIGNS[:1]), printed="x ~ N(0, I_d) independently"
)
DIVERSE = Hypothesis(
    "Assumption 2", "any rn clients have heads that span R^k (sigma_min > 0)", _diverse,
    printed="the least singular value of any rn rows of W*/sqrt(rn) is positive",
)  # fmt: skip
NORMALIZED = Hypothesis(
    "Assumption 3",
    "heads have norm sqrt(k)",
    lambda problem, _: np.allclose(np.sum(problem.W**2, axis=1), problem.W.shape[1]),
    printed="the w_i* have norm sqrt(k), and B* has orthonormal columns",
)
ASSUMPTIONS = (FOUR_DESIGNS, DIVERSE, NORMALIZED)
GAUSSIAN_ASSUMPTIONS = (GAUSSIAN, DIVERSE, NORMALIZED)

# What displays come to.


def displays(rows, tolerance=1e-12, *, but=()):
    """Return measurements by name, derived ones but for some.

    A row is a name with a deviation and its instance, or with lhs, rhs and their instance.
    """
    groups: dict[str, list] = {}
    for name, *row in rows:
        groups.setdefault(name, []).append(tuple(row))
    return {
        name: Identity(found, tolerance, name=name, strength="" if name in but else PROVED)
        if len(found[0]) == 2
        else Cases(found, name=name, strength="" if name in but else PROVED)
        for name, found in groups.items()
    }


class Drawn:
    """Instances that a law draws itself: it takes budget and rng, and yields rows of displays."""

    def __init__(self, tolerance=1e-12):
        self.tolerance = tolerance

    def measure(self, relations, budget, rng, **options):
        """Return what the rows come to."""
        return displays(relations(budget=budget, rng=rng), self.tolerance)


def misprinted(right, printed, place, *, name):
    """Return the readings of a display: first the form that the paper has at a place."""
    return Readings([right, printed], name=name, phrase=name, printed_elsewhere={right.name: place})


def read_as(parts, **words):
    """Return the readings of a sentence; one alone as it is, of a corrected statement."""
    return parts[0] if len(parts) == 1 else Readings(parts, **words)


# Instances: truths, samples, and what the proofs make of them.


def instance(n, d, k, rng, *, distance=None, **options):
    """Return a truth, with heads of norm sqrt(k), and a frame B at a distance from it.

    B is uniform where no distance is given.
    """
    truth = SharedRepresentation.random(n=n, d=d, k=k, rng=rng, **options)
    if distance is None:
        return truth, random_frame(d, k, rng)
    return truth, frame_at_distance(truth.B, distance, rng=rng)


def read_heads(reader, shape):
    """Return the heads of norm sqrt(k) that numbers stand for, None where one is nearly 0."""
    W = reader.numbers(shape["n"], shape["k"])
    norms = np.linalg.norm(W, axis=1, keepdims=True)
    return None if norms.min() < 1e-6 else W * np.sqrt(shape["k"]) / norms


def batch_of(truth, m, rng, clients=None):
    """Return covariates (clients, m, d) and labels (clients, m) of one batch."""
    data = truth.draw(m, rng=rng, clients=clients)
    return data.X.reshape(-1, m, truth.d), data.y.reshape(-1, m)


def exact_heads(X: Array, y: Array, B: Array) -> Array:
    """Return the least-squares heads (n, k) on B of clients with data X (n, m, d), y (n, m)."""
    fits = zip(X @ B, y, strict=True)
    return np.stack([np.linalg.lstsq(z, target, rcond=None)[0] for z, target in fits])


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


def stepped(truth, B, W, X, eta):
    """Return Q, S and B-bar of a round with heads W and the gradient on X."""
    Q = W @ B.T - truth.theta
    S = np.einsum("ide,ie->id", moments(X), Q)
    return Q, S, B - eta / truth.n * S.T @ W


def head_errors(truth, B, X):
    """Return F of Lemma 1."""
    Pi, D = moments(X), B.T @ truth.B
    G, C = B.T @ Pi @ B, B.T @ Pi @ truth.B
    return np.linalg.solve(G, (G @ D - C) @ truth.W[:, :, None])[:, :, 0]


# One step from all clients at once. Gaussian batches are drawn by their law, derived in
# docs/gram.md, at a cost free of m and d; batches of any design are drawn in full. The two share
# nothing but the result.

_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Step:
    """Heads, and the gradient's mean over clients, in coordinates of which the first k are B's."""

    truth: Array  # W*, shape (rn, k)
    heads: Array  # least squares
    lack: Array  # rows q_i of Q, up to coordinates in which all are zero
    pulls: Array  # rows of S, in the same coordinates
    gradient: Array  # S'W/(rn), shape (d, k)
    mean: Array  # Q'W/(rn)

    @property
    def error(self) -> Array:
        """(S - Q)'W/(rn), which Lemma 5 bounds."""
        return self.gradient - self.mean

    @property
    def sigma_max(self) -> float:
        """Largest singular value of W*/sqrt(rn), all clients together."""
        return float(np.linalg.norm(self.truth, 2) / np.sqrt(len(self.truth)))

    def triangle(self, step_size: float) -> Array:
        """R'R of the QR factorization, the Gram matrix of B - step_size S'W/(rn)."""
        k = self.heads.shape[1]
        inner = self.gradient[:k]
        square = step_size**2 * self.gradient.T @ self.gradient
        return np.eye(k) - step_size * (inner + inner.T) + square


def sphere_heads(rn: int, k: int, rng) -> Array:
    """Draw heads, uniform on the sphere of radius sqrt(k)."""
    W = rng.standard_normal((rn, k))
    return W * np.sqrt(k / np.einsum("ia,ia->i", W, W))[:, None]


def tilt(k: int, distance: float, angles: str = "equal") -> tuple[Array, Array]:
    """Return C and Phi of a frame at a distance from B*: all angles equal, or one and zeros."""
    cosine = np.sqrt((1.0 - distance) * (1.0 + distance))
    if angles == "equal":
        return cosine * np.eye(k), distance * np.eye(k)
    C, Phi = np.eye(k), np.zeros((1, k))
    C[0, 0], Phi[0, 0] = cosine, distance
    return C, Phi


def gaussian_step(W: Array, C: Array, Phi: Array, m: int, d: int, rng, *, split: bool) -> Step:
    """Draw a step on Gaussian batches of m > k samples by its law, without noise.

    `split` takes the gradient on a second batch.
    """
    (rn, k), p = W.shape, len(Phi)
    start, outside = W @ C.T, W @ Phi.T
    norms = np.einsum("ia,ia->i", outside, outside)
    heads = start + gaussian_head_errors(norms, m, k, rng)
    lack = np.hstack([heads - start, -outside])
    part = lack if split else lack[:, k:]
    square = np.einsum("ia,ia->i", lack, lack) if split else norms
    lengths = rng.chisquare(m if split else m - k, rn)
    # X'r = (length of u)^2 q, and normal in the directions orthogonal to q.
    z = rng.standard_normal(part.shape)
    spread = np.sqrt(square * lengths)
    along = np.einsum("ia,ia->i", z, part) / np.maximum(square, _TINY)
    rest = (lengths - spread * along)[:, None] * part
    pulls = np.zeros((rn, k + p))
    pulls[:, -part.shape[1] :] = (spread[:, None] * z + rest) / m
    gradient, mean = np.zeros((d, k)), np.zeros((d, k))
    gradient[: k + p], mean[: k + p] = pulls.T @ heads / rn, lack.T @ heads / rn
    if d > k + p:
        triangle = np.linalg.qr(heads * (spread / (rn * m))[:, None], mode="r")
        gradient[k + p :] = rng.standard_normal((d - k - p, len(triangle))) @ triangle
    return Step(W, heads, lack, pulls, gradient, mean)


def gaussian_head_errors(squares: Array, m: int, k: int, rng) -> Array:
    """Draw the errors of least-squares heads, m >= k, that lack signals of given squared norms."""
    t = rng.standard_normal((len(squares), k))
    return t * np.sqrt(squares / rng.chisquare(m - k + 1, len(squares)))[:, None]


def covariates(design: str, shape: tuple[int, ...], rng) -> Array:
    """Draw covariates of mean 0 and covariance I; the last axis is a sample's."""
    if design == "gaussian":
        return rng.standard_normal(shape)
    if design == "rademacher":
        return 2.0 * rng.integers(0, 2, shape, dtype=np.int8) - 1.0
    if design == "uniform":
        return np.sqrt(3.0) * rng.uniform(-1.0, 1.0, shape)
    X = rng.standard_normal(shape)
    return X * np.sqrt(shape[-1] / np.einsum("...a,...a->...", X, X))[..., None]


def least_squares(Z: Array, y: Array) -> Array:
    """Return the heads (rn, k) of all clients, of least norm where they are not unique."""
    values, vectors = np.linalg.eigh(np.swapaxes(Z, 1, 2) @ Z)
    inverse = np.where(values > 1e-12 * values[:, -1:], 1.0 / np.maximum(values, _TINY), 0.0)

    def solve(target):
        right = np.einsum("ija,ij->ia", Z, target)
        return np.einsum("iab,ib->ia", vectors, inverse * np.einsum("iba,ib->ia", vectors, right))

    heads = solve(y)
    # A second time on the residual: it has to be orthogonal to Z up to rounding.
    return heads + solve(y - np.einsum("ija,ia->ij", Z, heads))


def sampled_step(truth, B: Array, m: int, rng, *, split: bool) -> Step:
    """Draw a step on batches of m samples of the truth's design, in full."""
    (rn, k), d = truth.W.shape, truth.d
    X = covariates(truth.design, (rn, m, d), rng)
    heads = least_squares(X @ B, (X @ truth.theta[:, :, None])[..., 0])
    lack = heads @ B.T - truth.theta
    if split:
        X = covariates(truth.design, (rn, m, d), rng)
    pulls = np.einsum("ijd,ij->id", X, (X @ lack[:, :, None])[..., 0]) / m
    basis = np.linalg.qr(B, mode="complete")[0]
    basis[:, :k] = B
    lack, pulls = lack @ basis, pulls @ basis
    return Step(truth.W, heads, lack, pulls, pulls.T @ heads / rn, lack.T @ heads / rn)


# Runs against what Theorem 1 promises.

ROUNDS = 30  # after which a run has to have come as near as the theorem promises


@dataclass(frozen=True)
class Problem:
    """A truth, where and how a run on it begins, and the theorem's numbers."""

    truth: Any
    participants: int  # in a round; singular values are extreme over all sets of so many
    step_size: float
    condition: float  # kappa
    factor: float  # by which (11) lets a round shrink the distance
    distance: float  # of the start
    start: Any  # as `linrep.fedrep` takes it

    def run(self, m, rng, *, rounds=ROUNDS, tolerance=None):
        """Return the distances of a run, and those that (11) promises, round by round.

        Normal covariates are simulated through their sufficient statistics, with the same law.
        """
        trace = algorithms.fedrep(
            self.truth, m=m, rounds=rounds, step_size=self.step_size, tolerance=tolerance, rng=rng,
            batches="gram" if self.truth.design == "gaussian" else "fresh", start=self.start,
            participation=self.participants / self.truth.n,
        )  # fmt: skip
        distances = np.full(rounds + 1, np.inf)
        distances[: trace.rounds + 1] = trace["distance"]
        if trace.stop_reason == "converged":
            distances[trace.rounds + 1 :] = 0.0
        return distances, self.distance * self.factor ** np.arange(rounds + 1)


def draw_problem(rng, *, d, n, k, condition=None, start=0.5, fraction=1.0, participation=1.0,
                 design="gaussian", angles="equal"):  # fmt: skip
    """Draw a problem; fraction is that of the largest step size which the theorem allows.

    `condition` is that of the heads of all clients.
    """
    stored = design != "gaussian" or angles != "equal"
    truth = SharedRepresentation.random(
        n=n, d=d, k=k, condition=condition, design=design, store=stored, rng=rng
    )
    rn = max(1, round(participation * n))
    size = rn if k > 1 else n  # with k = 1 all sets of clients have the same singular value
    largest, smallest = truth.sigma_max(size), truth.sigma_min(size)
    eta = fraction * float(step_size_limit(largest))
    return Problem(
        truth=truth, participants=rn, step_size=eta,
        condition=max(1.0, largest / smallest) if smallest > 0.0 else math.inf,
        factor=float(contraction(smallest, step_size=eta, initial_distance=start)),
        distance=start,
        start=frame_at_distance(truth.B, start, angles=angles, rng=rng) if stored else start,
    )  # fmt: skip


def samples_asked(problem, constant):
    """Return the samples per client that the theorem asks for, with its constant."""
    asked = sample_size(
        problem.truth.d, problem.truth.k, problem.participants, condition=problem.condition,
        initial_distance=problem.distance, constant=constant,
    )  # fmt: skip
    return math.ceil(asked)


def run(rng, m, *, rounds=ROUNDS, tolerance=None, **cell):
    """Draw a problem; return the distances of a run on it, and those that (11) promises."""
    return draw_problem(rng, **cell).run(m, rng, rounds=rounds, tolerance=tolerance)
