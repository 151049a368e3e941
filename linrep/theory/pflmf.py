r"""pFL^MF's theory: smoothness in the factors, Theorem 1, its proof's inequalities, its lemmas.

The objective is :math:`\psi(U, V) = F(UV^\top)`; the paper's eta_u = eta is ``step_size`` here, its
eta_v ``head_step_size``, its K ``local_steps``, its p ``participation`` and its r is k. All norms
are Frobenius norms, which the paper leaves open in Assumption 2. Exact expectations of the
quantities in the inequalities are in :mod:`linrep.theory.pflmf_rounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.objectives import Objectives
from linrep.theory._numbers import ratio

Values = NDArray[np.float64]


# Smoothness.


class Smoothness(NamedTuple):
    """L_U and L_V of Assumption 1, and where they come from.

    Attributes
    ----------
    in_U, in_V : float
        L_U and L_V: the larger of the own block and the cross one.
    own_U, own_V, cross : float
        Bounds on the norms of the blocks of the Hessian.
    """

    in_U: float
    in_V: float
    own_U: float
    own_V: float
    cross: float

    @property
    def largest(self) -> float:
        """L of Theorem 1."""
        return max(self.in_U, self.in_V)


def local_smoothness(
    problem: Objectives, U: ArrayLike, V: ArrayLike, radius_U: float, radius_V: float
) -> Smoothness:
    r"""Return constants with which Assumption 1 is satisfied on a ball around (U, V).

    For all factors with :math:`\|U' - U\|_F` and :math:`\|V' - V\|_F` at most the radii. With
    l_i the smoothness of f_i, the blocks of the Hessian are at most

    .. math::
        \frac1n \Big\|\sum_i l_i v_i v_i^\top\Big\|_2, \qquad \frac{\max_i l_i}{n} \|U\|_2^2, \qquad
        \frac1n \big(\max_i l_i \|U\|_2 \|V\|_2 + \|G\|_2\big),

    rows of G being the clients' gradients; on the ball, norms grow by at most the radii.

    Parameters
    ----------
    problem : Objectives
        With known smoothness.
    U, V : array_like, shape (d, k), (n, k)
    radius_U, radius_V : float

    Returns
    -------
    Smoothness

    Notes
    -----
    Not in the paper, which assumes constants that hold everywhere. Docs: pFL^MF, smoothness.
    """
    U, V = check.array("U", U, (problem.d, None)), check.array("V", V, (problem.n, None))
    radius_U = check.real("radius_U", radius_U, minimum=0.0)
    radius_V = check.real("radius_V", radius_V, minimum=0.0)
    n, curvature = problem.n, problem.smoothness
    if not np.isfinite(curvature).all():
        raise ValueError("the functions' smoothness must be known")
    largest = float(curvature.max())
    norm_U, norm_V = _spectral(U), _spectral(V)
    size_U, size_V = norm_U + radius_U, norm_V + radius_V
    weighted = _spectral(np.sqrt(curvature)[:, None] * V)
    moved = radius_U * norm_V + norm_U * radius_V + radius_U * radius_V
    gradients = _spectral(problem.gradients(V @ U.T)) + largest * moved
    own_U = (weighted + float(np.sqrt(largest)) * radius_V) ** 2 / n
    own_V = largest * size_U**2 / n
    cross = (largest * size_U * size_V + gradients) / n
    return Smoothness(max(own_U, cross), max(own_V, cross), own_U, own_V, cross)


def _spectral(X: Values) -> float:
    """Return a matrix's largest singular value; of one row or column it is the length."""
    return float(np.linalg.norm(X, None if min(X.shape) == 1 else 2))


# Theorem 1.


def step_size_limit(smoothness: float) -> float:
    """Return 1/(2L), Theorem 1's bound on eta.

    Parameters
    ----------
    smoothness : float
        L, positive.
    """
    return 0.5 / check.real("smoothness", smoothness, above=0.0)


def head_step_size(step_size: float, participation: float, local_steps: int) -> float:
    """Return eta_v = p eta / K of Theorem 1.

    Parameters
    ----------
    step_size, participation : float
        eta and p.
    local_steps : int
        Their number K.
    """
    eta, p = check.real("step_size", step_size, above=0.0), _probability(participation)
    return p * eta / check.integer("local_steps", local_steps, minimum=1)


def _probability(participation):
    return check.real("participation", participation, above=0.0, maximum=1.0)


def _theorem(gap, smoothness, step_size, rounds, noise):
    """Return the numbers of Theorem 1, as arrays within its domain."""
    return (
        check.numbers("gap", gap, minimum=0.0),
        check.numbers("smoothness", smoothness, above=0.0),
        check.numbers("step_size", step_size, above=0.0),
        check.numbers("rounds", rounds, above=0.0),
        check.numbers("noise", noise, minimum=0.0),
    )


class Bound(NamedTuple):
    """The right side of Theorem 1 in its parts.

    Attributes
    ----------
    start, noise : float or ndarray
        The start's part and the noise's; arrays are broadcast.
    """

    start: Any
    noise: Any

    def __repr__(self):
        return show.line(self)

    @property
    def total(self) -> Any:
        """Their sum."""
        return self.start + self.noise


def theorem1(
    gap: ArrayLike, *, smoothness: ArrayLike, step_size: ArrayLike, rounds: ArrayLike,
    noise: ArrayLike = 0.0,
) -> Bound:  # fmt: skip
    r"""Return the bound on :math:`\frac1T \sum_t (\Delta_U + \Delta_V)`.

    .. math:: \frac{2 (F^0 - F^\star)}{\eta T (1 - 2\eta L)} + \frac{2\eta L \sigma^2}{1 - 2\eta L}

    Parameters
    ----------
    gap : array_like
        F at the start less its infimum.
    smoothness, step_size, rounds, noise : array_like
        L, eta, T and sigma; infinite where eta is not below 1/(2L).

    Notes
    -----
    Theorem 1. Neither p nor K is in it. A trace's ``average_U + average_V`` is the left side, for
    one run, with T = its rounds.
    """
    start, L, eta, T, sigma = _theorem(gap, smoothness, step_size, rounds, noise)
    slack = 1.0 - 2.0 * eta * L
    return Bound(ratio(2.0 * start, eta * T * slack), ratio(2.0 * eta * L * sigma**2, slack))


class SharpConstants(NamedTuple):
    """The constants of :func:`sharp_stationarity_bound`; arrays are broadcast.

    Attributes
    ----------
    slack, noise : float or ndarray
        c, in (1/2, 1], and omega, in (1/2, 1].
    """

    slack: Any
    noise: Any

    def __repr__(self):
        return show.line(self)


def sharp_constants(participation: ArrayLike, local_steps: ArrayLike = 1) -> SharpConstants:
    r"""Return the constants c(p, K) and omega(p, K) of Theorem 1's sharp form.

    .. math::
        c = \frac{1 + s + \sqrt{(1 - s)^2 + 4p^2}}4, \quad s = \frac pK + 4p(1 - p)\beta, \quad
        \omega = \frac12\Big(1 + \frac{p^3}K\Big) + \frac{(1 - p)p^3\beta(2K - 1)}{3K}, \quad
        \beta^2 = \frac{K - 1}{2K}

    Parameters
    ----------
    participation, local_steps : array_like
        p and K.

    Notes
    -----
    Not in the paper; the statement `pflmf.theorem1.sharp`.
    """
    p = check.numbers("participation", participation, above=0.0, maximum=1.0)
    K = check.numbers("local_steps", local_steps, minimum=1.0)
    beta = np.sqrt(0.5 * (K - 1.0) / K)
    s = p / K + 4.0 * p * (1.0 - p) * beta
    noise = 0.5 * (1.0 + p**3 / K) + (1.0 - p) * p**3 * beta * (2.0 * K - 1.0) / (3.0 * K)
    return SharpConstants(0.25 * (1.0 + s + np.sqrt((1.0 - s) ** 2 + 4.0 * p**2)), noise)


def sharp_stationarity_bound(
    gap: ArrayLike, *, smoothness: ArrayLike, step_size: ArrayLike, rounds: ArrayLike,
    participation: ArrayLike, local_steps: ArrayLike = 1, noise: ArrayLike = 0.0,
) -> Bound:  # fmt: skip
    r"""Return a bound on :math:`\frac1T \sum_t (\Delta_U + p^2 \Delta_V)`, sharp in a round.

    .. math:: \frac{F^0 - F^\star}{\eta T (1 - c\eta L)}
              + \frac{\omega\eta L \sigma^2}{1 - c\eta L}

    Parameters
    ----------
    gap, smoothness, step_size, rounds, noise
        As in :func:`theorem1`; infinite where eta is not below 1/(cL).
    participation, local_steps : array_like
        p and K, on which c and omega depend: :func:`sharp_constants`.

    Notes
    -----
    Not in the paper; the statement `pflmf.theorem1.sharp`. For K = 1 neither c nor omega can be
    smaller in a round, at any p and eta, and for p = 1 at no K; else that is not known.
    :func:`sharp_step_size` is where the bound is least.
    """
    start, L, eta, T, sigma = _theorem(gap, smoothness, step_size, rounds, noise)
    c, omega = sharp_constants(participation, local_steps)
    slack = 1.0 - c * eta * L
    return Bound(ratio(start, eta * T * slack), ratio(omega * eta * L * sigma**2, slack))


def sharp_step_size(
    gap: ArrayLike, *, smoothness: ArrayLike, rounds: ArrayLike, participation: ArrayLike,
    local_steps: ArrayLike = 1, noise: ArrayLike = 0.0,
) -> Any:  # fmt: skip
    r"""Return the step size at which :func:`sharp_stationarity_bound` is least.

    .. math::
        \eta = \frac1{cL(1 + \sqrt{1 + r})}, \qquad
        r = \frac{\omega \sigma^2 T}{c^2 L (F^0 - F^\star)}

    The bound there is :math:`2c (1 + \sqrt{1 + r}) L (F^0 - F^\star)/T`: without noise
    :math:`4c L (F^0 - F^\star)/T`, at 1/(2cL).

    Parameters
    ----------
    gap, smoothness, rounds : array_like
        F at the start less its infimum, L and T, positive.
    participation, local_steps : array_like
        p and K.
    noise : array_like, default 0
        sigma.

    Notes
    -----
    Not in the paper. With noise and T large the bound is about
    :math:`2\sigma \sqrt{\omega L (F^0 - F^\star)/T}`.
    """
    gap, L, T = (
        check.numbers(name, x, above=0.0)
        for name, x in (("gap", gap), ("smoothness", smoothness), ("rounds", rounds))
    )
    c, omega = sharp_constants(participation, local_steps)
    r = omega * check.numbers("noise", noise, minimum=0.0) ** 2 * T / (c**2 * L * gap)
    return 1.0 / (c * L * (1.0 + np.sqrt(1.0 + r)))


def corollary2_step_size(smoothness: ArrayLike, rounds: ArrayLike | None = None) -> Any:
    r"""Return :math:`\frac1{2L\sqrt T}` of Corollary 2, or, without rounds, 1/(4L) for sigma = 0.

    The first is not below 1/(2L), as Theorem 1 asks, at T = 1.

    Parameters
    ----------
    smoothness : array_like
        L, positive.
    rounds : array_like, optional
        Their number T.
    """
    L = check.numbers("smoothness", smoothness, above=0.0)
    if rounds is not None:
        rounds = check.numbers("rounds", rounds, above=0.0)
    return 0.25 / L if rounds is None else 0.5 / (L * np.sqrt(rounds))


def corollary2(
    gap: ArrayLike, *, smoothness: ArrayLike, rounds: ArrayLike, noise: ArrayLike | None = None
) -> Bound:
    r"""Return Theorem 1's bound at the step sizes of Corollary 2.

    .. math::
        \frac{4 L (F^0 - F^\star) + \sigma^2}{\sqrt T - 1} \quad\text{or, without noise,}\quad
        \frac{16 L (F^0 - F^\star)}{T}

    Parameters
    ----------
    gap, smoothness, rounds : array_like
        F at the start less its infimum, L and T.
    noise : array_like, optional
        sigma; by default the step size without noise is meant.
    """
    start, L, _, T, sigma = _theorem(gap, smoothness, 1.0, rounds, 0.0 if noise is None else noise)
    if noise is None:
        return Bound(16.0 * L * start / T, 0.0)
    slack = np.sqrt(T) - 1.0
    return Bound(ratio(4.0 * L * start, slack), ratio(sigma**2, slack))


# The proof's inequalities. Each function returns both sides at a round's exact expectations.


@dataclass(frozen=True)
class Setting:
    """The numbers of a round that the proof is about.

    Parameters
    ----------
    participation : float
        p, positive.
    local_steps : int
        K, at least 1.
    step_size : float
        eta_u = eta.
    in_U, in_V : float
        L_U and L_V, on a set that the round does not leave.
    noise : float, default 0
        sigma.
    head_step_size : float, optional
        eta_v, by default p eta / K.
    """

    participation: float
    local_steps: int
    step_size: float
    in_U: float
    in_V: float
    noise: float = 0.0
    head_step_size: Any = None

    def __post_init__(self):
        check.integer("local_steps", self.local_steps, minimum=1)
        _probability(self.participation)
        for name in ("step_size", "in_U", "in_V"):
            check.real(name, getattr(self, name), above=0.0)
        check.real("noise", self.noise, minimum=0.0)
        if self.head_step_size is None:
            tied = head_step_size(self.step_size, self.participation, self.local_steps)
            object.__setattr__(self, "head_step_size", tied)
        check.real("head_step_size", self.head_step_size, above=0.0)

    @property
    def largest(self) -> float:
        """L, the larger of L_U and L_V."""
        return max(self.in_U, self.in_V)


class Round(NamedTuple):
    """Expectations over one round from (U, V); E is over participation and noise.

    Attributes
    ----------
    value, after_V, after_U, after_both : float
        F(U, V), E F(U, V+), E F(U+, V), E F(U+, V+).
    delta_U, delta_V : float
        (15): the squared gradient in U, and the mean over local steps of E of that in V.
    steps_V : ndarray, shape (K,)
        E||grad_V(U, V_k)||^2, of which delta_V is the mean.
    masked_V : ndarray, shape (K,)
        E||D grad_V(U, V_k)||^2.
    sum_V, masked_sum_V : float
        E of the squared sum over local steps of grad_V(U, V_k), and of D times that.
    moved_V : float
        E||V+ - V||^2, of which gradients and noise are not independent parts: noise of a step is in
        the gradients of later ones.
    """

    value: float
    after_V: float
    after_U: float
    after_both: float
    delta_U: float
    delta_V: float
    steps_V: Values
    masked_V: Values
    sum_V: float
    masked_sum_V: float
    moved_V: float

    def __repr__(self):
        return show.line(self)


class Inequality(NamedTuple):
    """An inequality lhs <= rhs at numbers.

    Attributes
    ----------
    lhs, rhs : float
    """

    lhs: float
    rhs: float

    @property
    def ratio(self) -> float:
        """lhs/rhs; above 1 where the inequality fails and rhs is positive."""
        return float(ratio(self.lhs, self.rhs)) if self.lhs > 0.0 else 0.0


def step_A(s: Setting, r: Round, *, p_power: int = 1, noise_factor: float = 0.5) -> Inequality:
    r"""Return (12): :math:`\eta_v p (1 - \eta_v L_V/2) \Delta_V \le \dots`, with powers of p.

    Parameters
    ----------
    s : Setting
    r : Round
        Exact expectations of a round in this setting.
    p_power : int, default 1
        Power of p on the left.
    noise_factor : float, default 0.5
        Of eta_v^2 L_V sigma^2 on the right.
    """
    factor = s.head_step_size * s.participation**p_power * (1.0 - 0.5 * s.head_step_size * s.in_V)
    noise = noise_factor * s.head_step_size**2 * s.in_V * s.noise**2
    return Inequality(factor * r.delta_V, (r.value - r.after_V) / s.local_steps + noise)


def step_B(s: Setting, r: Round, *, noise_factor: float = 0.5) -> Inequality:
    r"""Return (14): :math:`\eta_u (1 - \eta_u L_U) \Delta_U \le F(U, V) - E F(U^+, V) + \dots`.

    Parameters
    ----------
    s, r
        As in :func:`step_A`.
    noise_factor : float, default 0.5
        Of eta_u^2 L_U sigma^2 on the right.
    """
    lhs = s.step_size * (1.0 - s.step_size * s.in_U) * r.delta_U
    noise = noise_factor * s.step_size**2 * s.in_U * s.noise**2
    return Inequality(lhs, r.value - r.after_U + noise)


def step_B_last(
    s: Setting, r: Round, *, masked: bool = False, head_noise: bool = False
) -> Inequality:
    """Return case k = K after (14): by how much F(U+, V+) may exceed F(U, V+).

    The displacement of V is printed as the whole sum of gradients; with both options it is
    E||V+ - V||^2.

    Parameters
    ----------
    s, r
        As in :func:`step_A`.
    masked : bool, default False
        Count participants only.
    head_noise : bool, default False
        Take the sum of stochastic gradients.
    """
    moved = r.masked_sum_V if masked else r.sum_V
    if head_noise:
        moved = r.moved_V / s.head_step_size**2
        if not masked:
            others = (1.0 - s.participation) * s.local_steps * s.noise**2
            moved += r.sum_V - r.masked_sum_V + others
    allowed = s.step_size**2 * (r.delta_U + s.noise**2) + s.head_step_size**2 * moved
    return Inequality(r.after_both - r.after_V, 0.5 * s.in_U * allowed)


def step_C(s: Setting, r: Round, *, noise_factor: float = 0.5) -> Inequality:
    """Return step (C), summed over the local steps.

    Parameters
    ----------
    s, r
        As in :func:`step_A`.
    noise_factor : float, default 0.5
        Of eta_v^2 K L_V sigma^2 on the right.
    """
    K, p, eta_v = s.local_steps, s.participation, s.head_step_size
    lhs = eta_v * p * (1.0 - 0.5 * eta_v * (K + 1) * s.in_V) * K * r.delta_V
    lhs -= 0.5 * s.step_size**2 * p * s.in_V * r.delta_U
    noise = noise_factor * eta_v**2 * K * s.in_V * s.noise**2
    return Inequality(lhs, r.after_U - r.after_both + noise)


def equation16(s: Setting, r: Round, *, p_power: float = 1) -> tuple[float, float, float, float]:
    r"""Return the four members of the chain (16), each to be at most the next.

    :math:`\eta(1-2\eta L)(\Delta_U+\Delta_V)`, then with :math:`\eta p (1 - \eta pL/2K)` at
    Delta_V, then twice the decrease with noise :math:`\eta^2 (1 + 1/K) L \sigma^2`, then with
    :math:`2\eta^2 L\sigma^2`.

    Parameters
    ----------
    s, r
        As in :func:`step_A`.
    p_power : float, default 1
        Power of p at Delta_V; the inequalities that are summed have 2.
    """
    eta, p, L, K = s.step_size, s.participation, s.largest, s.local_steps
    first = eta * (1.0 - 2.0 * eta * L)
    second = eta * p**p_power * (1.0 - 0.5 * eta * p * L / K)
    decrease, noise = 2.0 * (r.value - r.after_both), eta**2 * L * s.noise**2
    return (
        first * (r.delta_U + r.delta_V),
        first * r.delta_U + second * r.delta_V,
        decrease + (1.0 + 1.0 / K) * noise,
        decrease + 2.0 * noise,
    )


def summed_noise(s: Setting, *, linear: bool = False) -> float:
    r"""Return c with which the second inequality of (16) is true, with p squared.

    .. math::
        \eta (1 - 2\eta L) \Delta_U + \eta p^2 \Big(1 - \frac{\eta p L}{2K}\Big) \Delta_V
        \le 2 (F - E F^+) + c \eta^2 L \sigma^2, \qquad
        c = 1 + \frac{p^3}K + (1 - p) p^4 \eta L \frac{(K - 1)(2K - 1)}{3K^2}

    Parameters
    ----------
    s : Setting
    linear : bool, default False
        Whether gradients are linear, as those of quadratic functions: without the last term.

    Returns
    -------
    float
        Always at most 2, which is what Theorem 1 takes.

    Notes
    -----
    Not in the paper, which has 1 + 1/K; the documentation on pFL^MF derives it, for eta_v = p eta/K
    and eta <= 1/(2L).
    """
    p, K, eta_L = s.participation, s.local_steps, s.step_size * s.largest
    others = (1.0 - p) * p**4 * eta_L * (K - 1) * (2 * K - 1) / (3.0 * K**2)
    return 1.0 + p**3 / K + (0.0 if linear else others)


def auxiliary(
    step_size_times_L: ArrayLike, participation: ArrayLike, local_steps: ArrayLike
) -> NDArray[np.float64]:
    r"""Return :math:`\frac{\eta L}2 \frac{(1 + p)K + 1}K`, which is used as at most 1.

    Parameters
    ----------
    step_size_times_L, participation, local_steps : array_like
        eta L, p and K.
    """
    eta_L = check.numbers("step_size_times_L", step_size_times_L, minimum=0.0)
    p = check.numbers("participation", participation, minimum=0.0, maximum=1.0)
    K = check.numbers("local_steps", local_steps, minimum=1.0)
    return 0.5 * eta_L * ((1.0 + p) * K + 1.0) / K


# A round with the constants of the sharp form.


class Weights(NamedTuple):
    """What a round gives: weight_U Delta_U + weight_V Delta_V <= (F - E F+)/eta + noise sigma^2.

    Attributes
    ----------
    weight_U, weight_V, noise : float or ndarray
    """

    weight_U: Any
    weight_V: Any
    noise: Any

    def __repr__(self):
        return show.line(self)


def sharp_weights(
    step_size_times_L: ArrayLike, participation: ArrayLike, local_steps: ArrayLike,
    split: ArrayLike | None = None,
) -> Weights:  # fmt: skip
    r"""Return what one round gives in the derivation of :func:`sharp_stationarity_bound`.

    With x = eta L, q = p x, beta as in :func:`sharp_constants`, any a > 0, and
    :math:`C = p + (1 - p)(1 + q\beta)^2`,

    .. math::
        w_U = 1 - \frac x2 - \frac{p^2x}{2a}, \quad
        w_V = \frac{p^2}C \Big(1 - \frac q{2K} - \frac{ax}2\Big), \quad
        \frac x2 \Big(1 + \frac{p^3}K\Big)
        + w_V (1 - p) \frac{q\beta(1 + q\beta)(2K - 1)}{3K},

    the noise for sigma = 1, where w_V is not negative.

    Parameters
    ----------
    step_size_times_L, participation, local_steps : array_like
        eta L, p and K.
    split : array_like, optional
        a, by default 2c - s, for which w_U is 1 - cx and w_V at least p^2 (1 - cx).

    Notes
    -----
    Not in the paper; for eta_v = p eta/K.
    """
    x = check.numbers("step_size_times_L", step_size_times_L, minimum=0.0)
    p = check.numbers("participation", participation, above=0.0, maximum=1.0)
    K = check.numbers("local_steps", local_steps, minimum=1.0)
    q, beta = p * x, np.sqrt(0.5 * (K - 1.0) / K)
    a = 2.0 * sharp_constants(p, K).slack - p / K - 4.0 * p * (1.0 - p) * beta
    if split is not None:
        a = check.numbers("split", split, above=0.0)
    weight = p**2 * (1.0 - 0.5 * q / K - 0.5 * a * x) / (p + (1.0 - p) * (1.0 + q * beta) ** 2)
    noise = 0.5 * x * (1.0 + p**3 / K)
    noise = noise + weight * (1.0 - p) * q * beta * (1.0 + q * beta) * (2.0 * K - 1.0) / (3.0 * K)
    return Weights(1.0 - 0.5 * x - 0.5 * p**2 * x / a, weight, noise)


# Algorithm 1: U follows the participants' mean.


def any_client(n: ArrayLike, participation: ArrayLike) -> Any:
    """Return pi = 1 - (1 - p)^n, the probability that somebody takes part.

    Parameters
    ----------
    n, participation : array_like
        Clients, and p in [0, 1].
    """
    p = check.numbers("participation", participation, minimum=0.0, maximum=1.0)
    with np.errstate(divide="ignore"):  # p = 1
        return -np.expm1(check.numbers("n", n, minimum=1.0) * np.log1p(-p))


def algorithm1_bound(
    gap: ArrayLike, *, smoothness: ArrayLike, step_size: ArrayLike, rounds: ArrayLike,
    participation: ArrayLike, n: ArrayLike, sampling_variance: ArrayLike,
) -> Bound:  # fmt: skip
    r"""Return a bound on :math:`\frac1T \sum_t (\pi\Delta_U + p^2 \Delta_V)` for Algorithm 1.

    .. math:: \frac{F^0 - F^\star}{\eta T (1 - \eta L)}
              + \frac{(1 + p)\pi\,\eta L\,\overline{z^2}}{2(1 - \eta L)}

    Clients' gradients are exact, and U follows their mean over the participants, if there are any,
    with probability :math:`\pi = 1 - (1 - p)^n`; z^2 is the mean square of its distance from the
    mean over all clients, given that somebody takes part.

    Parameters
    ----------
    gap, smoothness, step_size, rounds
        As in :func:`theorem1`; infinite where eta is not below 1/L. Heads have p eta/K.
    participation, n : array_like
        p, and the number of clients.
    sampling_variance : array_like
        The mean of z^2 over the rounds.

    Notes
    -----
    Not in the paper; the statement `pflmf.algorithm1.noise`. With eta of order 1/sqrt(T) and z^2
    bounded it is O(1/sqrt(T)).
    """
    start, L, eta, T, _ = _theorem(gap, smoothness, step_size, rounds, 0.0)
    p = check.numbers("participation", participation, above=0.0, maximum=1.0)
    square = check.numbers("sampling_variance", sampling_variance, minimum=0.0)
    slack = 1.0 - eta * L
    sampled = 0.5 * (1.0 + p) * any_client(n, p) * eta * L * square
    return Bound(ratio(start, eta * T * slack), ratio(sampled, slack))


def algorithm1_rate(
    gap: ArrayLike, *, smoothness: ArrayLike, step_size: ArrayLike, rounds: ArrayLike,
    participation: ArrayLike, n: ArrayLike, grown: ArrayLike,
) -> Any:  # fmt: skip
    r"""Return a bound on the same mean for Algorithm 1 with K = 1 that is O(1/T).

    .. math::
        \frac{F^0 - F^\star + \frac{(1 + p)L}2 R}{\eta T (1 - \eta L)(1 - \kappa)}, \quad
        R = E|U^T|^2 - |U^0|^2 + \frac\pi{p^2} |V^0|^2, \quad
        \kappa = \frac{\eta L (1 + p)\pi}{2p(1 - \eta L)}

    Parameters
    ----------
    gap, smoothness, step_size, rounds, participation, n
        As in :func:`algorithm1_bound`; infinite where kappa is not below 1.
    grown : array_like
        R, bounded where U is.

    Notes
    -----
    Not in the paper; the statement `pflmf.algorithm1.rate`. L is valid on sets that the iterates do
    not leave, and R says how large these are: without R no constant is enough.
    """
    start, L, eta, T, _ = _theorem(gap, smoothness, step_size, rounds, 0.0)
    p = check.numbers("participation", participation, above=0.0, maximum=1.0)
    # 1 - x - kappa (1 - x)
    slack = 1.0 - eta * L - 0.5 * eta * L * (1.0 + p) * any_client(n, p) / p
    more = 0.5 * (1.0 + p) * L * check.numbers("grown", grown)
    return ratio(start + more, eta * T * slack)


# Lemmas of Appendix A.3. Each returns the right side.


def lemma3(A: ArrayLike, B: ArrayLike) -> float:
    """Return the product of norms ``||A||_2 ||B||_F``, an upper bound on ``||A B||_F``.

    Parameters
    ----------
    A, B : array_like, shape (i, j), (j, l)
    """
    A, B = check.array("A", A, (None, None)), check.array("B", B, (None, None))
    return float(np.linalg.norm(A, 2) * np.linalg.norm(B))


def lemma4(X: ArrayLike, Y: ArrayLike, alpha: float) -> float:
    """Return (17), (alpha/2)||X||^2 + ||Y||^2/(2 alpha), an upper bound on <X, Y>.

    Parameters
    ----------
    X, Y : array_like
        Of the same shape.
    alpha : float
        Positive.
    """
    alpha = check.real("alpha", alpha, above=0.0)
    X, Y = np.asarray(X), np.asarray(Y)
    return float(0.5 * alpha * np.sum(X**2) + 0.5 * np.sum(Y**2) / alpha)


def lemma5(X: ArrayLike) -> float:
    """Return (18), K times the sum of ||X_i||_F^2.

    Parameters
    ----------
    X : array_like, shape (K, ...)
    """
    X = np.atleast_1d(X)
    return float(len(X) * np.sum(X**2))


def lemma6(A: ArrayLike, participation: float) -> float:
    """Return p ||A||_F^2, stated as E||D A||_F^2.

    Parameters
    ----------
    A : array_like, shape (n, k)
    participation : float
        p, the probability with which the diagonal entries of D are 1.
    """
    p = check.real("participation", participation, minimum=0.0, maximum=1.0)
    return float(p * np.sum(check.array("A", A, (None, None)) ** 2))


def lemma7(n: ArrayLike, participation: ArrayLike) -> Any:
    """Return 1 - (1 - p)^n, stated as E||D||_2, and its square's expectation, too.

    Parameters
    ----------
    n, participation : array_like
        Clients, and p in [0, 1].
    """
    return any_client(n, participation)


checked(globals(), nan=False, large=False)
