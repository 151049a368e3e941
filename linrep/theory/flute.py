r"""FLUTE's theory for linear models: regions of the lifted iterate, and what the theorems state.

A :class:`Spectrum` holds what the theory knows of a problem. Of the many meanings of lambda,
``singular_values`` are those of Phi, which Section 5 calls lambda_i, and ``eigenvalues`` those of
:math:`\tilde\Lambda = \mathrm{diag}(2\Lambda_\star, -2\Lambda_\star)`, the appendix's lambda*_i:
twice as large. Lifted iterates Theta have 2 max(n, d) rows in the order of the eigenvalues, largest
first, and k columns; of them ``leading`` are the first k rows and ``rest`` the others. Arrays of
shape (..., 2 max(n, d), k) hold many.

Lifting, the noise R and the map itself are in :mod:`linrep.theory.flute_lift`, sample sizes and
bounds on the noise in :mod:`linrep.theory.flute_samples`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.low_rank import LowRankRegression
from linrep.theory._numbers import ratio

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What the theory uses of a problem.

    Parameters
    ----------
    singular_values : array_like
        Of Phi, nonnegative, at most min(n, d) numbers; those not given are zero.
    n, d, k : int
        Clients, dimension, rank of the representation, 1 <= k <= min(n, d).
    noise : float, default 0
        Standard deviation of the label noise.
    """

    singular_values: Values
    n: int
    d: int
    k: int
    noise: float = 0.0

    def __post_init__(self):
        n, d = check.integer("n", self.n, minimum=1), check.integer("d", self.d, minimum=1)
        least = min(n, d)
        values = check.array("singular_values", self.singular_values, (None,))
        if values.size > least or values.min() < 0.0:
            raise ValueError(
                f"singular_values must be at most min(n, d) = {least} numbers, none negative"
            )
        padded = np.zeros(least)
        padded[: values.size] = np.sort(values)[::-1]
        object.__setattr__(self, "singular_values", padded)
        check.integer("k", self.k, minimum=1, maximum=least)
        check.real("noise", self.noise, minimum=0.0)

    def __repr__(self):
        return show.line(self)

    @classmethod
    def of(cls, truth: LowRankRegression, k: int) -> Spectrum:
        """Return that of a ground truth, for representations of rank k.

        Parameters
        ----------
        truth : LowRankRegression
        k : int
            Rank of the representation, 1 <= k <= min(n, d).
        """
        return cls(truth.singular_values, truth.n, truth.d, k, truth.noise)

    @property
    def size(self) -> int:
        """The larger one of n and d, which everything is padded to."""
        return max(self.n, self.d)

    @cached_property
    def eigenvalues(self) -> Values:
        """Of diag(2 Lambda*, -2 Lambda*), largest first; the padding's zeros are in the middle."""
        half = np.zeros(self.size)
        half[: self.singular_values.size] = 2.0 * self.singular_values
        return np.concatenate([half, -half[::-1]])

    @property
    def first(self) -> float:
        """The largest eigenvalue, 2 lambda_1."""
        return float(self.eigenvalues[0])

    @property
    def last(self) -> float:
        """Eigenvalue k, the last that is learned."""
        return float(self.eigenvalues[self.k - 1])

    @property
    def next(self) -> float:
        """Eigenvalue k + 1, the first that is not."""
        return float(self.eigenvalues[self.k])

    @property
    def gap(self) -> float:
        """Delta, the difference of eigenvalues k and k + 1.

        2 (lambda_k - lambda_{k+1}) as in Section 5, except for k = n = d: then the next eigenvalue
        is -2 lambda_k.
        """
        return self.last - self.next

    @property
    def energy(self) -> float:
        """E, the sum of the squared singular values."""
        return float(np.sum(self.singular_values**2))

    @property
    def noise_scale(self) -> float:
        """S = sqrt(k lambda*_1^2 + E) + sqrt(k) noise, Appendix A."""
        return self._noise_scale(self.first)

    @property
    def noise_scale_of_section5(self) -> float:
        """S as Section 5 has it: sqrt(k lambda_1^2 + E) + sqrt(k) noise."""
        return self._noise_scale(0.5 * self.first)

    def _noise_scale(self, largest):
        return float(np.sqrt(self.k * largest**2 + self.energy) + np.sqrt(self.k) * self.noise)


# Singular values, regions and starts.


class Sizes(NamedTuple):
    """Singular values of a lifted iterate.

    Attributes
    ----------
    whole, leading, rest : ndarray, shape (...)
        sigma_1(Theta), sigma_k(Theta_k) and sigma_1(Theta_res).
    """

    whole: Values  # sigma_1(Theta)
    leading: Values  # sigma_k(Theta_k)
    rest: Values  # sigma_1(Theta_res)

    def __repr__(self):
        return show.line(self)


def sizes(Theta: ArrayLike) -> Sizes:
    """Return sigma_1(Theta), sigma_k(Theta_k) and sigma_1(Theta_res), each of shape (...).

    Parameters
    ----------
    Theta : array_like, shape (..., rows, k)
        Lifted iterates, with more than k rows.

    Raises
    ------
    ValueError, TypeError
        If the shape is another, or not all entries are finite numbers.
    """
    Theta = check.array("Theta", Theta, None)
    k = Theta.shape[-1] if Theta.ndim else 0
    if Theta.ndim < 2 or Theta.shape[-2] <= k:
        raise ValueError(f"Theta must have shape (..., rows, k) with rows > k, got {Theta.shape}")
    return Sizes(
        _singular_values(Theta)[..., 0],
        _singular_values(Theta[..., :k, :])[..., -1],
        _singular_values(Theta[..., k:, :])[..., 0],
    )


def _singular_values(A):
    return np.linalg.svd(A, compute_uv=False)


class Region(NamedTuple):
    r"""Margins of the three conditions that define the region, nonnegative where satisfied.

    Attributes
    ----------
    whole, rest, leading : ndarray, shape (...)
        :math:`2\lambda^*_1 - \sigma_1^2(\Theta)`,
        :math:`\lambda^*_k - \Delta/2 - \sigma_1^2(\Theta_{res})` and
        :math:`\sigma_k^2(\Theta_k) - \Delta/4`.
    """

    whole: Values
    rest: Values
    leading: Values

    def __repr__(self):
        return show.line(self)

    @property
    def weak(self) -> NDArray[np.bool_]:
        """Membership in R_s: the first two conditions."""
        return (self.whole >= 0.0) & (self.rest >= 0.0)

    @property
    def full(self) -> NDArray[np.bool_]:
        """Membership in R: all three."""
        return self.weak & (self.leading >= 0.0)


@np.errstate(over="ignore")  # of runs that diverge
def region(Theta: ArrayLike, spectrum: Spectrum) -> Region:
    """Return where lifted iterates are with respect to R and R_s.

    Parameters
    ----------
    Theta : array_like, shape (..., 2 max(n, d), k)
        Lifted iterates.
    spectrum : Spectrum

    Notes
    -----
    FLUTE, Appendix A.2.1.
    """
    whole, leading, rest = sizes(Theta)
    return Region(
        2.0 * spectrum.first - whole**2,
        spectrum.last - 0.5 * spectrum.gap - rest**2,
        leading**2 - 0.25 * spectrum.gap,
    )


def exponent(spectrum: Spectrum, step_size: float) -> float:
    """Return kappa of Claim A.3.

    log(1 + eta lambda*_{k+1}/2 + eta Delta/8) / log(1 + eta (lambda*_k - Delta/2)/2). Not finite
    where lambda*_k = Delta/2: for k = n = d, or without singular value k.

    Parameters
    ----------
    spectrum : Spectrum
    step_size : float
        eta in (13), positive.
    """
    slow, fast = _growth_rates(spectrum, step_size)
    return float(ratio(slow, fast))


class Start(NamedTuple):
    r"""Margins of the four conditions of Claim A.3, nonnegative where satisfied.

    Attributes
    ----------
    whole, rest, leading, balance : ndarray, shape (...)
        :math:`\lambda^*_1 - \sigma_1^2(\Theta)`,
        :math:`\lambda^*_k - \Delta/2 - \sigma_1^2(\Theta_{res})`,
        :math:`\Delta/4 - \sigma_k^2(\Theta_k)` and the logarithm of
        :math:`c_1\sigma_k(\Theta_k)^{1+\kappa}` over :math:`\sigma_1^2(\Theta_{res})`.
    """

    whole: Values
    rest: Values
    leading: Values
    balance: Values

    def __repr__(self):
        return show.line(self)

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Whether all four hold."""
        return np.all([margin >= 0.0 for margin in self], axis=0)


@np.errstate(over="ignore")
def claim_A3(Theta: ArrayLike, spectrum: Spectrum, step_size: float) -> Start:
    """Return the margins of Claim A.3, with c_1 = Delta^(1 - kappa/2) / 2^(3 - kappa).

    The last one is a difference of logarithms, so that starts as small as 1e-150 have one. Its two
    sides scale differently with Phi; see :func:`balance_needed`.

    Parameters
    ----------
    Theta : array_like, shape (..., 2 max(n, d), k)
        Lifted starts.
    spectrum : Spectrum
    step_size : float
        eta in (13), positive.
    """
    whole, leading, rest = sizes(Theta)
    kappa = exponent(spectrum, step_size)
    with np.errstate(invalid="ignore"):  # an infinite exponent leaves no margin to speak of
        constant = _log(spectrum.gap) * (1.0 - 0.5 * kappa) - (3.0 - kappa) * np.log(2.0)
        balance = constant + (1.0 + kappa) * _log(leading) - 2.0 * _log(rest)
    return Start(
        spectrum.first - whole**2,
        spectrum.last - 0.5 * spectrum.gap - rest**2,
        0.25 * spectrum.gap - leading**2,
        balance,
    )


def balance_needed(Theta: ArrayLike, spectrum: Spectrum, step_size: float) -> Values:
    r"""Return the margin of what the proof of Lemma A.5 draws from Claim A.3, in logarithms.

    .. math:: \Big(\frac{\Delta}{4\sigma_k^2(\Theta_k)}\Big)^{\kappa/2} \sigma_1^2(\Theta_{res})
              \le \frac{\Delta}{8\sqrt{\lambda^*_1}} \sigma_k(\Theta_k)

    This is the claim's last condition with c_1 over sqrt(lambda*_1), and does not change with the
    unit of Phi: its margin is the claim's, less log(lambda*_1)/2.

    Parameters
    ----------
    Theta, spectrum, step_size
        As in :func:`claim_A3`.

    Returns
    -------
    float or ndarray, shape (...)
        Nonnegative where it holds.
    """
    _, leading, rest = sizes(Theta)
    kappa = exponent(spectrum, step_size)
    with np.errstate(invalid="ignore"):
        growth = 0.5 * kappa * (_log(0.25 * spectrum.gap) - 2.0 * _log(leading))
        allowed = _log(spectrum.gap) - np.log(8.0) - 0.5 * _log(spectrum.first) + _log(leading)
        return allowed - growth - 2.0 * _log(rest)


def entry_time(leading: ArrayLike, spectrum: Spectrum, step_size: float) -> Values:
    """Return T_R of (16): log(Delta/(4 sigma_k^2)) / (2 log(1 + eta (lambda*_k - Delta/2)/2)).

    Parameters
    ----------
    leading : array_like
        sigma_k(Theta_k) of the start, positive.
    spectrum : Spectrum
    step_size : float
        eta in (13).

    Returns
    -------
    float or ndarray
        Not rounded; negative for starts beyond.
    """
    leading = check.numbers("leading", leading, above=0.0)
    _, fast = _growth_rates(spectrum, step_size)
    with np.errstate(divide="ignore"):
        return (_log(0.25 * spectrum.gap) - 2.0 * np.log(leading)) / (2.0 * fast)


def _growth_rates(spectrum, step_size):
    eta = check.real("step_size", step_size, above=0.0)
    slow = np.log1p(0.5 * eta * spectrum.next + 0.125 * eta * spectrum.gap)
    return slow, np.log1p(0.5 * eta * (spectrum.last - 0.5 * spectrum.gap))


def _log(x):
    with np.errstate(divide="ignore"):
        return np.log(x)


# What the statements assume and promise.


def step_size_limits(spectrum: Spectrum) -> dict[str, float]:
    """Return the largest step size that each statement allows, by place.

    Theorem 5.1's is in terms of lambda_1, all others in terms of lambda*_1 = 2 lambda_1.
    "lemma_A5_proof" is what its proof uses instead.

    Parameters
    ----------
    spectrum : Spectrum
    """
    first, gap = spectrum.first, spectrum.gap
    cubic = gap**2 / first**3
    return {
        "theorem_5_1": gap**2 / (228.0 * (0.5 * first) ** 3),
        "proposition_A2": 1.0 / (6.0 * first),
        "lemma_A5": 1.0 / (6.0 * first),
        "lemma_A5_proof": cubic / 18.0,
        "lemma_A6": 2.0 / (5.0 * first),
        "lemma_A7": 1.0 / (6.0 * first),
        "lemma_A8": cubic / 32.0,
        "lemma_A10": cubic / 36.0,
        "lemma_A11": cubic / 36.0,
        "proposition_A12": cubic / 36.0,
        "lemma_A15": 1.0 / (6.0 * first),
        "lemma_A16": cubic / 16.0,
        "lemma_A17": 1.0 / (6.0 * first),
    }


def decay(spectrum: Spectrum, step_size: float, t: ArrayLike) -> Values:
    """Return (1 - eta Delta/16)^t, the rate that all bounds below share.

    Parameters
    ----------
    spectrum : Spectrum
    step_size : float
        eta in (13), positive.
    t : array_like
        Rounds, at least 0.
    """
    eta = check.real("step_size", step_size, above=0.0, below=16.0 / spectrum.gap)
    t = check.numbers("t", t, minimum=0.0)
    return np.exp(t * np.log1p(-eta * spectrum.gap / 16.0))


def rest_bound(spectrum: Spectrum, step_size: float, t: ArrayLike) -> Values:
    """Return Lemma A.10's bound on sigma_1(Theta_res), lambda*_1 sqrt(8/Delta) times decay.

    Parameters
    ----------
    spectrum, step_size, t
        As in :func:`decay`.
    """
    return np.sqrt(8.0 / spectrum.gap) * spectrum.first * decay(spectrum, step_size, t)


def leading_bound(spectrum: Spectrum, step_size: float, t: ArrayLike) -> Values:
    """Return Lemma A.11's bound on sigma_1(Theta_k Theta_k' - Lambda_k), 200 kappa times decay.

    kappa is lambda*_1^2/(eta Delta^2), as in Proposition A.12.

    Parameters
    ----------
    spectrum, step_size, t
        As in :func:`decay`.
    """
    return 200.0 * _amplitude(spectrum, step_size) * decay(spectrum, step_size, t)


def product_bound(spectrum: Spectrum, step_size: float, t: ArrayLike) -> Values:
    """Return Proposition A.12's bound on the Frobenius norm of Theta Theta' - diag(Lambda_k, 0).

    Parameters
    ----------
    spectrum, step_size, t
        As in :func:`decay`.
    """
    return 2.0 * np.sqrt(spectrum.k) * leading_bound(spectrum, step_size, t)


def error_bound(
    spectrum: Spectrum,
    step_size: float,
    t: ArrayLike,
    *,
    constant: float = 1.0,
    restated: bool = False,
) -> Values:
    r"""Return Theorem 5.5's bound on the mean error per client after t rounds, equation (8).

    .. math:: \frac{c\,\lambda_1^2\sqrt k}{\sqrt n\,\eta\Delta^2}
              \Big(1-\frac{\eta\Delta}{16}\Big)^t

    Parameters
    ----------
    spectrum : Spectrum
    step_size : float
        eta in (13).
    t : array_like
        Rounds, all of them, those before the region is reached included.
    constant : float, default 1
        The paper's c_2, which its proof makes 400 (1 - eta Delta/16)^(-T_R) in the restatement.
    restated : bool, default False
        As in Theorem A.1, with lambda*_1 instead of lambda_1: four times as large.

    Returns
    -------
    float or ndarray
    """
    amplitude = _amplitude(spectrum, step_size) * (1.0 if restated else 0.25)
    scale = check.real("constant", constant, above=0.0) * np.sqrt(spectrum.k / spectrum.n)
    return scale * amplitude * decay(spectrum, step_size, t)


def _amplitude(spectrum, step_size):
    eta = check.real("step_size", step_size, above=0.0)
    return float(ratio(spectrum.first**2, eta * spectrum.gap**2))


checked(globals(), nan=False, units=False)  # iterates of runs that diverge are large
