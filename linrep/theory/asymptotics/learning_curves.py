r"""Learning curves of FedRep and ANIL as d and n grow in proportion, m and k fixed.

With fresh Gaussian batches and :math:`\gamma = (d - k)/(rn)` fixed, the k×k matrices

.. math:: C = B^\top B^*, \qquad E = B^\top (I - B^* B^{*\top}) B = I - C C^\top

follow a deterministic recursion. The eigenvalues of E are the squared sines of the principal
angles. docs/learning-curves.md derives it; docs/gram.md is the law of a batch from which it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.random import RNGLike, generator
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import read_participants, require_gaussian
from linrep.theory._numbers import squared_cosine
from linrep.theory.asymptotics.starts import spectral_start
from linrep.theory.fedrep_limits import BATCHES

Values = NDArray[np.float64]
PARTICLES = 20_000


class Curve(NamedTuple):
    """Distances of rounds, and the state after the last.

    Attributes
    ----------
    distance : ndarray, shape (rounds + 1,)
        Principal-angle distances, the largest sines; the start's first.
    squared_chordal : ndarray, shape (rounds + 1,)
        Sums of the squared sines of all principal angles.
    C, E : ndarray, shape (k, k)
        B' B* and B' (I - B* B*') B, up to a rotation of B's columns.
    """

    distance: Values
    squared_chordal: Values
    C: Values
    E: Values


class Gradient(NamedTuple):
    """The mean of X' r w' / m over clients and data, r being the residual: B G + F Phi H.

    Attributes
    ----------
    inside, outside : ndarray, shape (k, k)
        G and H.
    power : ndarray, shape (k, k)
        Mean of w w' times the squared length of r, over m^2: times (d - k)/(rn), the Gram matrix
        of the fluctuation in the directions orthogonal to B and B*.
    """

    inside: Values
    outside: Values
    power: Values


def fedrep(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    rounds: int,
    start: float | str | tuple[ArrayLike, ArrayLike] = "moments",
    participation: float = 1.0,
    batches: str = "same",
    local_steps: int | None = None,
    head_step_size: float | None = None,
    particles: int = PARTICLES,
    rng: RNGLike = None,
) -> Curve:
    r"""Return the learning curve of FedRep on fresh batches in the limit of many dimensions.

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates. Its heads stand for their law; gamma is (d - k)/(rn), and nothing
        else depends on d and n.
    m : int
        Samples per client and batch. For exact heads at least k + 2 on one batch, k + 4 on two:
        with fewer, what a round adds to E has no mean.
    step_size : float
        Eta, positive.
    rounds : int
        At least 0.
    start : float, "moments", "truncated" or pair (C, E)
        A distance, all principal angles being equal; a spectral start on a batch of its own, by
        :func:`spectral_start`; or the state of another curve.
    participation : float, default 1
        Fraction r of clients in a round, at least 1/n. The limit is of many participants.
    batches : {"same", "split"}
        Whether the gradient is taken on the head's batch (``"fresh"`` and ``"gram"`` of
        :func:`linrep.fedrep`), or on another of the same size (``"split"`` and ``"gram_split"``).
    local_steps : int, optional
        Gradient steps on the head, from where the client left it, zero before the first round; by
        default heads are exact. Only on one batch and with all clients.
    head_step_size : float, optional
        Of these; by default one over the largest eigenvalue of the client's Hessian.
    particles : int, default 20000
        With `local_steps` there is no closed recursion, and the joint law of heads and true heads
        is followed by at least so many simulated clients: an error of order 1/sqrt(particles).
    rng : optional
        Anything `numpy.random.default_rng` takes: for spectral starts and particles.

    Returns
    -------
    Curve

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the limit is not known.

    Notes
    -----
    With exact heads on one batch, q_i = w_i' P w_i + sigma^2 and P = B*'(I - B B')B*,

    .. math:: \tilde E = (I - hCSC^\top)^\top E (I - hCSC^\top) + \frac{\eta^2\gamma(m-k)}{m^2}
              \Big[C\,\overline{q w w^\top}\,C^\top + \frac{\overline{q^2}}{m-k-1} I\Big],
              \quad h = \eta\Big(1 - \frac km\Big).

    A run with finitely many dimensions has fluctuations of order 1/sqrt(n) around the curve, and a
    bias of order 1/n of the squared chordal distance; :func:`linrep.theory.finite.fedrep` has it
    for exact heads on one batch, at any size. The largest of several equal sines is biased
    upwards by order 1/sqrt(n).
    """
    k, n = truth.k, truth.n
    require_gaussian(truth, "the limit")
    m = check.integer("m", m, minimum=1)
    eta = check.real("step_size", step_size, above=0.0)
    rounds = check.integer("rounds", rounds, minimum=0)
    share = check.real("participation", participation, above=0.0, maximum=1.0)
    check.choice("batches", batches, BATCHES)
    particles = check.integer("particles", particles, minimum=1)
    rng = generator(rng)
    gradient: Callable[[Values, Values], Gradient]
    if local_steps is not None:
        if batches != "same" or share != 1.0:
            raise ValueError("local_steps need batches='same' and participation=1")
        steps = check.integer("local_steps", local_steps, minimum=1)
        length = (
            None
            if head_step_size is None
            else check.real("head_step_size", head_step_size, above=0.0)
        )
        gradient = _SteppedHeads(truth, m, steps, length, particles, rng)
    elif head_step_size is not None:
        raise ValueError("head_step_size needs local_steps")
    else:
        least = k + (2 if batches == "same" else 4)
        if m < least:
            raise ValueError(f"m must be at least {least} for {batches!r} batches, got {m}")
        exact = same_gradient if batches == "same" else split_gradient
        gradient = partial(exact, truth.W, m=m, noise=truth.noise)

    C, E = first_state(truth, m, start, rng)
    gamma = (truth.d - k) / read_participants(share, n)
    identity = np.eye(k)
    states = [E]
    for _ in range(rounds):
        g = gradient(C, outside_gram(C, E))
        A, X = identity - eta * g.inside, -eta * g.outside
        C, E, _ = advance(C, E, A, X, eta**2 * gamma * g.power)
        states.append(E)
    return curve_of(states, C)


def anil(
    truth: SharedRepresentation,
    *,
    m: int,
    inner_step_size: float,
    step_size: float,
    rounds: int,
    start: float,
    first_order: bool = False,
    particles: int = PARTICLES,
    rng: RNGLike = None,
) -> Curve:
    """Return the learning curve of ANIL on two fresh batches, in the same limit.

    Parameters
    ----------
    truth, m, rounds, rng
        As for :func:`fedrep`.
    inner_step_size, step_size : float
        Alpha and beta of :func:`linrep.anil`, which is meant with ``batches="split"`` and all
        clients.
    start : float
        Distance of the start, all principal angles being equal: B is a frame divided by the root
        of alpha, and the shared head is zero.
    first_order : bool, default False
        As for :func:`linrep.anil`.
    particles : int, default 20000
        Simulated clients, at least, over whose inner steps the mean is taken.

    Returns
    -------
    Curve

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.
    """
    k, n = truth.k, truth.n
    require_gaussian(truth, "the limit")
    m = check.integer("m", m, minimum=1)
    alpha = check.real("inner_step_size", inner_step_size, above=0.0)
    beta = check.real("step_size", step_size, above=0.0)
    rounds = check.integer("rounds", rounds, minimum=0)
    particles = check.integer("particles", particles, minimum=1)
    rng = generator(rng)
    C, E = first_state(truth, m, start, rng)
    memory.require("the clients", 4 * particles * m * (k + 1), particles=particles, m=m)
    true_heads = _repeated(truth.W, particles)
    scale, head = np.eye(k) / np.sqrt(alpha), np.zeros(k)  # B = Q scale
    states = [E]
    for _ in range(rounds):
        P = outside_gram(C, E)
        q = _residuals(true_heads, P, truth.noise)[1]
        Z, u = _batch(len(true_heads), m, k, rng)
        target = true_heads @ C.T
        residual = np.einsum("imk,ik->im", Z, scale @ head - target) - np.sqrt(q)[:, None] * u
        heads = head - alpha / m * np.einsum("imk,im->ik", Z, residual) @ scale
        # The second batch is independent of the heads, so that its means are known.
        error = heads @ scale.T - target
        squares = q + np.einsum("ik,ik->i", error, error)  # of its residuals
        power = (squares[:, None] * heads).T @ heads / m
        inside, outside = error.T @ heads, -(true_heads.T @ heads)
        descent = error @ scale
        if not first_order:
            along = _Through(scale, alpha, m, Z, u, q, residual, error, squares)
            inside += along.inside(descent, head)
            outside += true_heads.T @ along.outside(descent, head)
            power += along.power(head)
            descent = descent - along.heads(descent)
        count = len(heads)
        fluctuation = beta**2 * (truth.d - k) / n * power / count
        head = head - beta * descent.mean(0)
        inside, outside = scale - beta * inside / count, -beta * outside / count
        C, E, scale = advance(C, E, inside, outside, fluctuation)
        states.append(E)
    return curve_of(states, C)


def outside_gram(C: ArrayLike, E: ArrayLike) -> Values:
    """Return P = B*'(I - BB')B* = I - C'C, to relative accuracy however small.

    Parameters
    ----------
    C, E : array_like, shape (k, k)
        B' B*, and I - C C'.
    """
    U, _, VT = np.linalg.svd(_square(C))
    turn = U @ VT  # C C' and C' C are rotations of each other by C's orthogonal factor
    P = turn.T @ check.array("E", E, U.shape) @ turn
    return (P + P.T) / 2.0


def advance(
    C: ArrayLike, E: ArrayLike, inside: ArrayLike, outside: ArrayLike, fluctuation: ArrayLike
) -> tuple[Values, Values, Values]:
    r"""Return C and E of the frame of a step, and the triangle that its columns are divided by.

    The step is to :math:`BA + F\Phi X + \Xi`, with :math:`B^* = BC + F\Phi`, and
    :math:`\Xi^\top\Xi = N` in directions orthogonal to B and B*. Then

    .. math:: \tilde E = (A - CX)^\top E (A - CX) + N, \quad T = C^\top A + PX, \quad
              R^\top R = T^\top T + \tilde E.

    Parameters
    ----------
    C, E : array_like, shape (k, k)
        Of B, a frame.
    inside, outside, fluctuation : array_like, shape (k, k)
        A, X and N.

    Returns
    -------
    C, E, R : ndarray, shape (k, k)
        R upper triangular.
    """
    inner = _square(C)
    A = check.array("inside", inside, inner.shape)
    X = check.array("outside", outside, inner.shape)
    K = A - inner @ X
    left = K.T @ check.array("E", E, inner.shape) @ K
    left = left + check.array("fluctuation", fluctuation, inner.shape)
    top = inner.T @ A + outside_gram(C, E) @ X
    R = np.linalg.cholesky(top.T @ top + left).T.astype(float)
    inverse = np.linalg.inv(R)
    left = inverse.T @ left @ inverse
    return (top @ inverse).T, (left + left.T) / 2.0, R


def same_gradient(
    W: ArrayLike, C: ArrayLike, P: ArrayLike, *, m: int, noise: float = 0.0
) -> Gradient:
    r"""Return the gradient of a round whose heads are exact on the same batch.

    .. math:: 0, \qquad -\Big(1 - \frac km\Big) S C^\top, \qquad \frac{m - k}{m^2}
              \Big[C\,\overline{q w w^\top}\,C^\top + \frac{\overline{q^2}}{m-k-1} I\Big]

    Parameters
    ----------
    W : array_like, shape (n, k)
        True heads.
    C, P : array_like, shape (k, k)
        B' B*, and B*'(I - BB')B*.
    m : int
        Samples in a batch, at least k + 2.
    noise : float, default 0
        Standard deviation of the labels' noise.
    """
    heads, q = _residuals(W, P, noise)
    n, k = heads.shape
    m = check.integer("m", m, minimum=k + 2)
    inner = check.array("C", C, (k, k))
    power = inner @ ((heads * q[:, None]).T @ heads / n) @ inner.T + np.mean(q**2) / (
        m - k - 1.0
    ) * np.eye(k)
    outside = -(1.0 - k / m) * (heads.T @ heads / n) @ inner.T
    return Gradient(np.zeros((k, k)), outside, (m - k) / m**2 * power)


def split_gradient(
    W: ArrayLike, C: ArrayLike, P: ArrayLike, *, m: int, noise: float = 0.0
) -> Gradient:
    r"""Return the gradient on a batch of m samples of heads that are exact on another such batch.

    .. math:: \bar q a I, \qquad -S C^\top, \qquad \frac1m \Big[(1 + ka)\,
              C\,\overline{q w w^\top}\,C^\top + \overline{q^2}\,(a + t + 2b) I\Big]

    with a, b and t the means of A, A^2 and tr(A) A, as multiples of I, of an inverse Wishart matrix
    A of m degrees of freedom (von Rosen, 1988): a head's error is normal of covariance q A.

    Parameters
    ----------
    W, C, P, noise
        As for :func:`same_gradient`.
    m : int
        At least k + 4: with fewer samples errors have no fourth moment.
    """
    heads, q = _residuals(W, P, noise)
    n, k = heads.shape
    m = check.integer("m", m, minimum=k + 4)
    inner = check.array("C", C, (k, k))
    nu = m - k
    a = 1.0 / (nu - 1.0)
    b = (m - 1.0) / (nu * (nu - 1.0) * (nu - 3.0))
    t = (k * (nu - 2.0) + 2.0) / (nu * (nu - 1.0) * (nu - 3.0))
    power = (1.0 + k * a) * (inner @ ((heads * q[:, None]).T @ heads / n) @ inner.T)
    power += np.mean(q**2) * (a + t + 2.0 * b) * np.eye(k)
    return Gradient(np.mean(q) * a * np.eye(k), -(heads.T @ heads / n) @ inner.T, power / m)


def _square(C):
    inner = check.array("C", C, (None, None))
    return check.array("C", inner, (inner.shape[1], inner.shape[1]))


def _residuals(W, P, noise):
    """Return W, and the variance of each client's labels given the covariates along B."""
    W = check.array("W", W, (None, None))
    P = check.array("P", P, (W.shape[1], W.shape[1]))
    return W, np.einsum("ia,ab,ib->i", W, P, W) + check.real("noise", noise, minimum=0.0) ** 2


class _Through:
    """What ANIL's outer gradient has through the inner step, -a (g u' + h w'), by client.

    With r and Z of the first batch, g = X'r/m and h = X'Z R u/m, where u = R' Z2'r2/m is of the
    second batch and has, given the first one, the mean R'e and the second moment `moment`.
    """

    def __init__(self, R, alpha, m, Z, noise, q, residual, error, squares):
        self.R, self.alpha, self.m, self.Z, self.residual = R, alpha, m, Z, residual
        #: X F given the labels' noise v has the mean v (Phi w*)'/q.
        self.noise = np.divide(
            noise, np.sqrt(q)[:, None], out=np.zeros_like(noise), where=q[:, None] > 0.0
        )
        pairs = np.einsum("ia,ib->iab", error, error)
        spread = (1.0 + 1.0 / m) * pairs + squares[:, None, None] / m * np.eye(len(R))
        self.moment = R.T @ spread @ R

    def _along(self, u):
        return np.einsum("imk,ik->im", self.Z, u @ self.R.T)

    def inside(self, u, w):
        """Return the sum over clients along B."""
        g = np.einsum("imk,im->ik", self.Z, self.residual)
        h = np.einsum("imk,im->ik", self.Z, self._along(u))
        return -self.alpha / self.m * (g.T @ u + np.outer(h.sum(0), w))

    def outside(self, u, w):
        """Return, by client, the row by which Phi w* is multiplied."""
        g = np.einsum("im,im->i", self.noise, self.residual)
        h = np.einsum("im,im->i", self.noise, self._along(u))
        return -self.alpha / self.m * (g[:, None] * u + np.outer(h, w))

    def power(self, w):
        """Return the sum over clients of the mean of M'M/m^2, M = r u' + Z R u w'."""
        lengths = np.einsum("im,im->i", self.residual, self.residual)
        g = np.einsum("imk,im->ik", self.Z, self.residual) @ self.R
        inner = np.einsum("ima,imb->iab", self.Z @ self.R, self.Z @ self.R)
        cross = np.outer(np.einsum("iab,ib->a", self.moment, g), w)
        own = np.einsum("i,iab->ab", lengths, self.moment)
        own += np.einsum("iab,iab->", inner, self.moment) * np.outer(w, w)
        return (self.alpha / self.m) ** 2 * (own + cross + cross.T)

    def heads(self, u):
        """Return a B'h, by client."""
        h = np.einsum("imk,im->ik", self.Z, self._along(u))
        return self.alpha / self.m * h @ self.R


class _SteppedHeads:
    """The gradient where heads are stepped on the same batch: the mean over particles."""

    def __init__(self, truth, m, steps, length, particles, rng):
        self.m, self.steps, self.length, self.rng = m, steps, length, rng
        self.noise = truth.noise
        self.true_heads = _repeated(truth.W, particles)
        self.heads = np.zeros_like(self.true_heads)

    def __call__(self, C, P):
        m, heads, true_heads = self.m, self.heads, self.true_heads
        count, k = heads.shape
        q = _residuals(true_heads, P, self.noise)[1]
        Z, u = _batch(count, m, k, self.rng)
        u = np.sqrt(q)[:, None] * u
        labels = np.einsum("imk,ik->im", Z, true_heads @ C.T) + u
        length = self.length
        if length is None:
            largest = np.linalg.eigvalsh(np.einsum("ima,imb->iab", Z, Z))[:, -1]
            length = m / largest[:, None]
        for _ in range(self.steps):
            residual = np.einsum("imk,ik->im", Z, heads) - labels
            heads = heads - length / m * np.einsum("imk,im->ik", Z, residual)
        self.heads = heads
        residual = np.einsum("imk,ik->im", Z, heads) - labels
        inside = np.einsum("imk,im,il->kl", Z, residual, heads) / (m * count)
        # X F given u has mean u (Phi w*)'/q.
        along = np.einsum("im,im->i", u, residual)
        along = np.divide(along, q, out=np.zeros(count), where=q > 0.0)
        outside = (true_heads * along[:, None]).T @ heads / (m * count)
        squares = np.einsum("im,im->i", residual, residual)
        return Gradient(inside, outside, (heads * squares[:, None]).T @ heads / (m**2 * count))


def _batch(count, m, k, rng):
    """Draw [Z, u] of m normal rows for each client, up to a rotation of the rows: triangular."""
    rows = min(m, k + 1)
    factor = np.triu(rng.standard_normal((count, rows, k + 1)), 1)
    for i in range(rows):
        factor[:, i, i] = np.sqrt(rng.chisquare(m - i, count))
    return factor[:, :, :k], factor[:, :, k]


def _repeated(W, particles):
    return np.tile(W, (-(-particles // len(W)), 1))


def first_state(
    truth: SharedRepresentation, m: int, start: Any, rng: RNGLike
) -> tuple[Values, Values]:
    """Return C and E of a start.

    Parameters
    ----------
    truth, m, start, rng
        As for :func:`fedrep`.
    """
    k, m = truth.k, check.integer("m", m, minimum=1)
    if isinstance(start, str):
        return spectral_start(truth, m=m, kind=start, rng=rng)[:2]
    if isinstance(start, tuple):
        C, E = (check.array(name, value, (k, k)) for name, value in zip("CE", start, strict=True))
        if np.abs(C @ C.T + E - np.eye(k)).max() > 1e-8:
            raise ValueError("start must be a pair (C, E) with E = I - CC'")
        return C, E
    if not isinstance(start, Real):
        raise TypeError(
            f"start must be a distance, a name or a pair (C, E), got {type(start).__name__}"
        )
    sine = check.real("start", start, minimum=0.0, maximum=1.0)
    return np.sqrt(squared_cosine("start", sine)) * np.eye(k), sine**2 * np.eye(k)


def curve_of(states: Sequence[Values], C: Values) -> Curve:
    """Return the curve of the matrices E of each round.

    Parameters
    ----------
    states : sequence of ndarray, shape (k, k)
    C : ndarray, shape (k, k)
        Of the last round.
    """
    k = check.array("C", C, (None, None)).shape[0]
    values = np.linalg.eigvalsh(check.array("states", states, (None, k, k)))
    distance = np.sqrt(np.clip(values[:, -1], 0.0, 1.0))
    return Curve(distance, np.clip(values, 0.0, 1.0).sum(1), C, states[-1])


checked(globals(), nan=False, large=False)
