r"""Samples per client that FLUTE's statements require, and bounds on what sampling changes.

``failure`` is delta; ``constant`` is c_1 of the appendix (the concentration constant of Lemmas A.13
and A.14, which divides) or the leading constant of a theorem (which multiplies), both left open.
Where the paper prints :math:`\sqrt{d - \log\delta}` with a bar that comes and goes, all functions
take :math:`\ell = \sqrt{\max(n,d) + \log(1/\delta)}`. Sample sizes are numbers m, not their square
roots as in the appendix, and not rounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.theory._numbers import ratio
from linrep.theory.flute import Spectrum, Values, decay


def deviation(spectrum: Spectrum, failure: ArrayLike) -> Values:
    """Return l = sqrt(max(n, d) + log(1/failure)).

    Parameters
    ----------
    spectrum : Spectrum
    failure : array_like
        delta, in (0, 1].
    """
    failure = check.numbers("failure", failure, above=0.0, maximum=1.0)
    return np.sqrt(spectrum.size - np.log(failure))


def discrepancy_bound(
    spectrum: Spectrum,
    m: ArrayLike,
    *,
    step_size: float,
    failure: ArrayLike = 0.05,
    constant: float = 1.0,
) -> Values:
    r"""Return the bound on :math:`\|U_\star^\top Q_\star\|` and :math:`\|\tilde Q_\star V_\star\|`.

    .. math:: \eta \sqrt{\lambda^*_1}\, S\, \frac{6\sqrt2\,\ell}{\sqrt{m c_1}}

    Parameters
    ----------
    spectrum : Spectrum
    m : array_like
        Samples per client; at least l^2/c_1 in the lemma.
    step_size : float
        eta in (13).
    failure : array_like, default 0.05
        delta.
    constant : float, default 1
        c_1.

    Returns
    -------
    float or ndarray

    Notes
    -----
    FLUTE, proofs of Lemmas A.13 and A.14; R in (13) is at most sqrt(2) times as large.
    """
    eta = check.real("step_size", step_size, above=0.0)
    m = check.numbers("m", m, minimum=1.0)
    return eta * _load(spectrum, 6.0 * np.sqrt(2.0), failure, constant) / np.sqrt(m)


def lemma_A5(
    spectrum: Spectrum, rest: ArrayLike, *, failure: ArrayLike = 0.05, constant: float = 1.0
) -> Values:
    """Return (17): max(l, 3456 l/(sigma_1(Theta_res) Delta))^2 / c_1, of the start's sigma_1.

    The minimum that (17) prints has twice the same argument.

    Parameters
    ----------
    spectrum : Spectrum
    rest : array_like
        sigma_1(Theta_res) of the start, positive.
    failure : array_like, default 0.05
        delta, in (0, 1].
    constant : float, default 1
        c_1, positive.
    """
    rest = check.numbers("rest", rest, above=0.0)
    return _largest(spectrum, failure, constant, 3456.0 / (rest * spectrum.gap))


def lemma_A5_proof(
    spectrum: Spectrum, leading: ArrayLike, *, failure: ArrayLike = 0.05, constant: float = 1.0
) -> Values:
    """Return what its proof uses: 3456 sqrt(lambda*_1) S l/(sigma_k(Theta_k) Delta) in (17).

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    leading : array_like
        sigma_k(Theta_k) of the start, positive.
    """
    leading = check.numbers("leading", leading, above=0.0)
    return _largest(
        spectrum, failure, constant, 3456.0 * _unit(spectrum) / (leading * spectrum.gap)
    )


def lemma_A6(spectrum: Spectrum, *, failure: ArrayLike = 0.05, constant: float = 1.0) -> Values:
    """Return 288 k (max(n, d) + log(1/delta)) / c_1, which does not depend on the noise.

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    """
    c = check.real("constant", constant, above=0.0)
    return 288.0 * spectrum.k * deviation(spectrum, failure) ** 2 / c


def lemma_A7(spectrum: Spectrum, *, failure: ArrayLike = 0.05, constant: float = 1.0) -> Values:
    """Return max(l, 48 sqrt(lambda*_1) S l/(Delta sqrt(lambda*_k - Delta/2)))^2 / c_1.

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    """
    room = np.sqrt(spectrum.last - 0.5 * spectrum.gap)
    return _largest(spectrum, failure, constant, ratio(48.0 * _unit(spectrum), spectrum.gap * room))


def lemma_A8(spectrum: Spectrum, *, failure: ArrayLike = 0.05, constant: float = 1.0) -> Values:
    """Return max(l, 6144 sqrt(lambda*_1) S l/Delta)^2 / c_1, as printed in the lemma.

    (39), from which it is to follow, has lambda*_1 and Delta^2: :func:`lemma_A13_second`.

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    """
    return _largest(spectrum, failure, constant, ratio(6144.0 * _unit(spectrum), spectrum.gap))


def proposition_A9(
    spectrum: Spectrum, *, failure: ArrayLike = 0.05, constant: float = 1.0
) -> Values:
    """Return c^2 lambda*_1 S^2 l^2/Delta^3, c being the constant.

    Parameters
    ----------
    spectrum : Spectrum
    failure : array_like, default 0.05
        delta, in (0, 1].
    constant : float, default 1
        c, positive, which multiplies.
    """
    c = check.real("constant", constant, above=0.0)
    size = c * _unit(spectrum) * deviation(spectrum, failure)
    return ratio(size**2, spectrum.gap**3)


def lemma_A10(
    spectrum: Spectrum,
    step_size: float,
    t: ArrayLike,
    *,
    failure: ArrayLike = 0.05,
    constant: float = 1.0,
) -> Values:
    """Return the number of samples for the bound after t + 1 rounds, with its proof's constants.

    max(l, 192 sqrt(lambda*_1) S l/(sigma_ref Delta), 6144 lambda*_1 S l/Delta^2)^2 / c_1 with
    sigma_ref = sqrt(lambda*_1) (1 - eta Delta/16)^(t + 1).

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    step_size : float
        eta in (13), positive.
    t : array_like
        Rounds, at least 0.
    """
    reference = np.sqrt(spectrum.first) * decay(spectrum, step_size, np.add(t, 1.0))
    first = ratio(192.0 * _unit(spectrum), reference * spectrum.gap)
    return _largest(spectrum, failure, constant, np.maximum(first, _second(spectrum)))


def lemma_A11(
    spectrum: Spectrum,
    step_size: float,
    t: ArrayLike,
    *,
    failure: ArrayLike = 0.05,
    constant: float = 1.0,
) -> Values:
    """Return (31): max(l, 1152 lambda*_1 S l/(sigma_D Delta))^2 / c_1 for t + 1 rounds.

    sigma_D is the smaller of 3 lambda*_1 and (1 - eta Delta/16)^(t + 1) lambda*_1^2/(eta Delta^2).

    Parameters
    ----------
    spectrum, step_size, t, failure, constant
        As in :func:`lemma_A10`.
    """
    amplitude = ratio(spectrum.first**2, step_size * spectrum.gap**2)
    shrinking = decay(spectrum, step_size, np.add(t, 1.0)) * amplitude
    reference = np.minimum(3.0 * spectrum.first, shrinking)
    factor = ratio(1152.0 * spectrum.first * spectrum.noise_scale, reference * spectrum.gap)
    return _largest(spectrum, failure, constant, factor)


def proposition_A12(
    spectrum: Spectrum,
    step_size: float,
    t: ArrayLike,
    *,
    failure: ArrayLike = 0.05,
    constant: float = 1.0,
) -> Values:
    """Return (34): max(l, 1152 S l/(kappa^t Delta), 6144 lambda*_1 S l/Delta^2)^2 / c_1.

    kappa^t is (1 - eta Delta/16)^(t + 1), exponent and all.

    Parameters
    ----------
    spectrum, step_size, t, failure, constant
        As in :func:`lemma_A10`.
    """
    shrinking = decay(spectrum, step_size, np.add(t, 1.0))
    first = ratio(1152.0 * spectrum.noise_scale, shrinking * spectrum.gap)
    return _largest(spectrum, failure, constant, np.maximum(first, _second(spectrum)))


def lemma_A13(
    spectrum: Spectrum, size: ArrayLike, *, failure: ArrayLike = 0.05, constant: float = 1.0
) -> Values:
    """Return the number for (38): max(l, 192 sqrt(lambda*_1) S l/(size Delta))^2 / c_1.

    It makes the discrepancies at most size eta Delta/(16 sqrt(2)); size is the paper's free sigma.

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    size : array_like
        sigma, positive.
    """
    size = check.numbers("size", size, above=0.0)
    return _largest(
        spectrum, failure, constant, ratio(192.0 * _unit(spectrum), size * spectrum.gap)
    )


def lemma_A13_second(
    spectrum: Spectrum, *, failure: ArrayLike = 0.05, constant: float = 1.0
) -> Values:
    """Return the number for (39): max(l, 6144 lambda*_1 S l/Delta^2)^2 / c_1.

    It makes the discrepancies at most eta Delta^2/(512 sqrt(2 lambda*_1)).

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    """
    return _largest(spectrum, failure, constant, _second(spectrum))


def lemma_A17(
    spectrum: Spectrum, rest: ArrayLike, *, failure: ArrayLike = 0.05, constant: float = 1.0
) -> Values:
    """Return (47): max(l, 96 sqrt(lambda*_1) S l/(sigma_1(Theta_res) Delta))^2 / c_1.

    Parameters
    ----------
    spectrum, failure, constant
        As in :func:`lemma_A5`.
    rest : array_like
        sigma_1(Theta_res), positive.
    """
    rest = check.numbers("rest", rest, above=0.0)
    return _largest(spectrum, failure, constant, ratio(96.0 * _unit(spectrum), rest * spectrum.gap))


def theorem_5_5(
    spectrum: Spectrum,
    step_size: float,
    rounds: ArrayLike,
    *,
    failure: ArrayLike = 0.05,
    constant: float = 1.0,
    restated: bool = False,
    k_inside: bool = False,
) -> Values:
    r"""Return the samples per client that Theorem 5.5 requires.

    .. math:: c\,\frac{(d + \log\frac1\delta + \log T)
              (\sqrt{k\lambda_1^2 + E} + \sqrt k\sigma)^2}{\kappa_T^2\Delta^2},
              \qquad \kappa_T = \Big(1-\frac{\eta\Delta}{16}\Big)^T

    Parameters
    ----------
    spectrum : Spectrum
    step_size : float
        eta in (13).
    rounds : array_like
        T, at least 1.
    failure : array_like, default 0.05
        delta.
    constant : float, default 1
        The paper's c_1 there, which multiplies.
    restated : bool, default False
        As in Theorem A.1: max(n, d) in place of d, lambda*_1 in place of lambda_1, and its k in
        front of the root.
    k_inside : bool, default False
        Of those restated: k under the root, as in Appendix A.2.4.

    Returns
    -------
    float or ndarray
    """
    T = check.numbers("rounds", rounds, minimum=1.0)
    failure = check.numbers("failure", failure, above=0.0, maximum=1.0)
    c = check.real("constant", constant, above=0.0)
    dimension = spectrum.size if restated else spectrum.d
    scale = spectrum.noise_scale if restated else spectrum.noise_scale_of_section5
    if restated and not k_inside:
        scale = spectrum.k * np.sqrt(spectrum.first**2 + spectrum.energy)
        scale += np.sqrt(spectrum.k) * spectrum.noise
    size = (dimension - np.log(failure) + np.log(T)) * scale**2
    return c * ratio(size, (decay(spectrum, step_size, T) * spectrum.gap) ** 2)


def theorem_5_1(
    spectrum: Spectrum,
    tolerance: ArrayLike,
    *,
    step_size: float,
    failure: ArrayLike = 0.05,
    constant: float = 1.0,
    in_units: bool = False,
) -> Values:
    r"""Return the samples per client that Theorem 5.1 requires.

    .. math:: c\,\frac{\lambda_1^4 k (\bar d + \log\frac1\delta + \log\log\frac1\varepsilon)
              (\sqrt{k\lambda_1^2 + E} + \sqrt k\sigma)^2}{n\eta^2\Delta^6\varepsilon^2}

    Parameters
    ----------
    spectrum : Spectrum
    tolerance : array_like
        The mean error per client wanted, positive; in (0, 1) where its iterated logarithm is taken.
    step_size : float
        eta, at most ``step_size_limits(spectrum)["theorem_5_1"]`` in the theorem.
    failure : array_like, default 0.05
        delta.
    constant : float, default 1
        c, positive.
    in_units : bool, default False
        Without :math:`\log\log(1/\varepsilon)`, which changes with the unit of the models: on
        samples that are kept, one event serves all rounds.

    Returns
    -------
    float or ndarray
    """
    epsilon = check.numbers("tolerance", tolerance, above=0.0)
    if not in_units and (epsilon >= 1.0).any():
        raise ValueError(f"tolerance must be less than 1, got {epsilon.max():g}")
    failure = check.numbers("failure", failure, above=0.0, maximum=1.0)
    eta = check.real("step_size", step_size, above=0.0)
    c = check.real("constant", constant, above=0.0)
    size = spectrum.size - np.log(failure)
    if not in_units:
        size = size + np.log(-np.log(epsilon))
    numerator = (0.5 * spectrum.first) ** 4 * spectrum.k * size
    numerator = numerator * spectrum.noise_scale_of_section5**2
    return c * ratio(numerator, spectrum.n * eta**2 * spectrum.gap**6 * epsilon**2)


def theorem_5_1_rounds(
    spectrum: Spectrum, tolerance: ArrayLike, *, step_size: float, constant: float = 1.0
) -> Values:
    """Return the rounds that Theorem 5.1 requires.

    log(epsilon sqrt(n) eta Delta^2/(c' lambda_1^2 sqrt(k))) / log(1 - eta Delta/16): those after
    which the bound (8) is at most the tolerance.

    Parameters
    ----------
    spectrum : Spectrum
    tolerance : array_like
        The mean error per client wanted, positive.
    step_size : float
        eta, positive.
    constant : float, default 1
        c', positive.

    Returns
    -------
    float or ndarray
        Not rounded; negative where the bound is below the tolerance from the start.
    """
    epsilon = check.numbers("tolerance", tolerance, above=0.0)
    eta = check.real("step_size", step_size, above=0.0, below=16.0 / spectrum.gap)
    c = check.real("constant", constant, above=0.0)
    amplitude = c * (0.5 * spectrum.first) ** 2 * np.sqrt(spectrum.k / spectrum.n)
    share = epsilon * eta * spectrum.gap**2 / amplitude
    return np.log(share) / np.log1p(-eta * spectrum.gap / 16.0)


def _unit(spectrum):
    return np.sqrt(spectrum.first) * spectrum.noise_scale


def _second(spectrum):
    return ratio(6144.0 * spectrum.first * spectrum.noise_scale, spectrum.gap**2)


def _load(spectrum, factor, failure, constant):
    c = check.real("constant", constant, above=0.0)
    return factor * _unit(spectrum) * deviation(spectrum, failure) / np.sqrt(c)


def _largest(spectrum, failure, constant, factor):
    """Return max(l, factor l)^2 / c_1."""
    c = check.real("constant", constant, above=0.0)
    with np.errstate(over="ignore"):  # of what is next to nothing they are infinitely many
        return (np.maximum(1.0, factor) * deviation(spectrum, failure)) ** 2 / c


checked(globals(), nan=False, large=False)
