r"""FedRep near B*: the factor per round in the limit, and how far single runs are from it.

Near B* and without noise C is orthogonal and E is mapped linearly, see docs/learning-curves.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import read_participants, require_gaussian
from linrep.theory.fedrep_limits import BATCHES

_EQUAL = 1e-9  # relative difference up to which eigenvalues are one


def contraction(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    participation: float = 1.0,
    batches: str = "same",
) -> float:
    r"""Return the factor per round of FedRep's distance near B*, without noise, in the limit.

    .. math:: \rho^2 = \text{spectral radius of } E \mapsto (I - hS) E (I - hS)
              + \frac{\eta^2 \gamma\,\nu}{m^2}\,\overline{(w^\top E w)\, w w^\top}

    with h = eta(1 - k/m) and nu = m - k on one batch, h = eta and nu = m(1 + k/(m - k - 1)) on two.
    Rounds contract if and only if it is below 1. :func:`linrep.theory.finite.contraction` has it at
    finite d and n, on one batch.

    Parameters
    ----------
    truth, m, step_size, participation, batches
        As for :func:`linrep.theory.asymptotics.learning_curves.fedrep`, with exact heads.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.
    """
    k = truth.k
    check.choice("batches", batches, BATCHES)
    m, eta, participants = _read(truth, m, step_size, participation)
    if batches == "same":
        h, nu = eta * (1.0 - k / m), float(m - k)
    else:
        h, nu = eta, m * (1.0 + k / (m - k - 1.0))
    weight = eta**2 * nu / (participants * m**2)
    return float(np.sqrt(dominant_direction(truth.W, h, (truth.d - k) * weight)[0]))


def fluctuation(
    truth: SharedRepresentation,
    *,
    m: int,
    step_size: float,
    participation: float = 1.0,
    rounds: int = 1,
) -> float:
    r"""Return the standard deviation of the logarithm of a single run's chordal distance.

    With one batch and :math:`\nu = m - k`, :math:`K = I - \eta(1 - k/m) S`, E the dominant
    direction of :func:`contraction`'s map, of Frobenius norm one, and rho its factor, T rounds have
    the variance :math:`T v/(4\rho^4)`,

    .. math:: v = \frac{2\nu}{rn}\,\overline{c^2} + \nu^2 \frac{1 - r}{rn - r}\,
              \mathrm{Var}(c) + \frac{4\eta^2\nu}{rn\,m^2}\,
              \overline{q\,\|K E w\|_E^2 - (w^\top E K E w)^2}
              + \frac{2}{d - k} \mathrm{tr}(EN)^2

    where bars are means over the clients' heads w, q = w'Ew, :math:`\|x\|_E^2 = x^\top E x`,

    .. math:: c = \frac{\eta^2\gamma}{m^2} q^2 - \frac{2\eta}m w^\top E K E w, \qquad
              N = \frac{\eta^2\gamma\nu}{m^2}\,\overline{q\,w w^\top}.

    The terms come from the residuals' squared lengths, the choice of participants, the residuals'
    directions within the span of B*'s error, and those outside.

    Parameters
    ----------
    truth, m, step_size, participation
        As for :func:`contraction`, with one batch.
    rounds : int, default 1
        T, counted from where E has its dominant direction.

    Returns
    -------
    float
        To first order in 1/sqrt(rn).

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or d = k.
    """
    m, eta, count = _read(truth, m, step_size, participation)
    rounds = check.integer("rounds", rounds, minimum=0)
    W, (n, k) = truth.W, truth.W.shape
    if truth.d == k:
        raise ValueError(f"truth must have d > k, got d = k = {k}: every distance is zero")
    nu, share = float(m - k), count / n
    gamma = (truth.d - k) / count
    h = eta * (1.0 - k / m)
    value, E = dominant_direction(W, h, eta**2 * gamma * nu / m**2)
    K = np.eye(k) - h * (W.T @ W / n)
    KEW = W @ E @ K  # rows w'EK
    q = np.einsum("ia,ab,ib->i", W, E, W)
    along = np.einsum("ia,ab,ib->i", KEW, E, W)
    c = eta**2 * gamma / m**2 * q**2 - 2.0 * eta / m * along
    N = eta**2 * gamma * nu / m**2 * ((W * q[:, None]).T @ W / n)
    across = q * np.einsum("ia,ab,ib->i", KEW, E, KEW) - along**2
    variance = 2.0 * nu / count * np.mean(c**2)
    if n > 1:
        variance += nu**2 * (1.0 - share) / (count - share) * np.var(c)
    variance += 4.0 * eta**2 * nu / (count * m**2) * np.mean(across)
    EN = E @ N
    variance += 2.0 / (truth.d - k) * np.sum(EN * EN.T)
    return float(np.sqrt(rounds * variance) / (2.0 * value))


def _read(truth, m, step_size, participation):
    require_gaussian(truth, "the limit")
    m = check.integer("m", m, minimum=truth.k + 2)
    eta = check.real("step_size", step_size, above=0.0)
    share = check.real("participation", participation, above=0.0, maximum=1.0)
    return m, eta, read_participants(share, truth.n)


def dominant_direction(
    W: ArrayLike, h: float, weight: float, pairs: float = 1.0
) -> tuple[float, NDArray[np.float64]]:
    """Return the largest eigenvalue of a round's map of second moments near B*, and its direction.

    The map is E -> E - h (SE + ES) + pairs h^2 SES + weight mean (w'Ew) ww'. As the mean of maps
    that keep matrices positive semidefinite it does so, too, and no eigenvalue is larger in
    absolute value; where several are equal, the direction is what equal angles lead to.

    Parameters
    ----------
    W : array_like, shape (n, k)
        True heads.
    h, weight, pairs : float
        As above.
    """
    W = check.array("W", W, (None, None))
    n, k = W.shape
    S, one = W.T @ W / n, np.eye(k)
    both = np.einsum("ia,ib->iab", W, W).reshape(n, k * k)
    values, vectors = np.linalg.eigh(
        np.kron(one - h * S, one - h * S)
        - (1.0 - pairs) * h**2 * np.kron(S, S)
        + weight * (both.T @ both / n)
    )
    equal = vectors[:, values >= values[-1] * (1.0 - _EQUAL)]
    E = (equal @ (equal.T @ one.ravel())).reshape(k, k)
    return float(values[-1]), E / np.linalg.norm(E)


checked(globals(), nan=False, large=False)
