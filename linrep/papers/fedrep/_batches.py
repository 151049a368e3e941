"""One step of FedRep from all clients at once, without compiled code: what the lemmas speak of.

Gaussian batches are drawn by their law, derived in docs/gram.md, at a cost free of m and d; batches
of any design are drawn in full. The two share nothing but the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrep.claims.measurements import Array

_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Step:
    """Heads, and the gradient's mean over clients, in coordinates of which the first k are B's.

    Attributes
    ----------
    truth, heads : ndarray, shape (rn, k)
        W* and the least-squares heads.
    lack : ndarray, shape (rn, D)
        Rows q_i of Q, up to coordinates in which all are zero.
    pulls : ndarray, shape (rn, D)
        Rows of S, in the same coordinates.
    gradient, mean : ndarray, shape (d, k)
        S'W/(rn), and Q'W/(rn).
    """

    truth: Array
    heads: Array
    lack: Array
    pulls: Array
    gradient: Array
    mean: Array

    @property
    def error(self) -> Array:
        """(S - Q)'W/(rn), which Lemma 5 bounds."""
        return self.gradient - self.mean

    @property
    def head_errors(self) -> Array:
        """F = W*B*'B - W."""
        return -self.lack[:, : self.heads.shape[1]]

    @property
    def sigma_max(self) -> float:
        """Largest singular value of W*/sqrt(rn), all clients together."""
        return float(np.linalg.norm(self.truth, 2) / np.sqrt(len(self.truth)))

    def triangle(self, step_size: float) -> Array:
        """R'R of the QR factorization, the Gram matrix of B - step_size S'W/(rn)."""
        k = self.heads.shape[1]
        inner = self.gradient[:k]
        square = self.gradient.T @ self.gradient
        return np.eye(k) - step_size * (inner + inner.T) + step_size**2 * square


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
    if split:
        part, square = lack, np.einsum("ia,ia->i", lack, lack)
        lengths = rng.chisquare(m, rn)
    else:
        part, square = lack[:, k:], norms
        lengths = rng.chisquare(m - k, rn)
    # X'r = (length of u)^2 q, and normal in the directions orthogonal to q.
    z = rng.standard_normal(part.shape)
    spread = np.sqrt(square * lengths)
    along = np.einsum("ia,ia->i", z, part) / np.maximum(square, _TINY)
    pulls = np.zeros((rn, k + p))
    pulls[:, -part.shape[1] :] = (
        spread[:, None] * z + (lengths - spread * along)[:, None] * part
    ) / m
    gradient, mean = np.zeros((d, k)), np.zeros((d, k))
    gradient[: k + p], mean[: k + p] = pulls.T @ heads / rn, lack.T @ heads / rn
    if d > k + p:
        weighted = heads * (spread / (rn * m))[:, None]
        triangle = np.linalg.qr(weighted, mode="r")
        gradient[k + p :] = rng.standard_normal((d - k - p, len(triangle))) @ triangle
    return Step(W, heads, lack, pulls, gradient, mean)


def gaussian_head_errors(squares: Array, m: int, k: int, rng) -> Array:
    """Draw the errors of least-squares heads, m >= k, that lack signals of given squared norms."""
    t = rng.standard_normal((len(squares), k))
    return t * np.sqrt(squares / rng.chisquare(m - k + 1, len(squares)))[:, None]


def covariates(design: str, shape: tuple[int, ...], rng) -> Array:
    """Draw covariates of mean 0 and covariance I; the last axis is a sample's.

    All at once, which for many small batches is quicker than the kernel that _common has; it uses
    the stream in another way.
    """
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
