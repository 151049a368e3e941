r"""The distances at which FedRep's runs on noisy labels settle.

On fixed batches at the empirical risk minimizer, whatever the step size; on fresh batches at a
fluctuation that grows with it. Distances are squared chordal ones, sums of the squared sines of the
principal angles: the square of the ``distance`` of traces, the largest sine, is between a k-th of
that and all of it. Both are limits for small noise, in which they are of order sigma^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory._clients import require_gaussian, require_spanning
from linrep.theory.bounds import cramer_rao
from linrep.theory.fedrep_limits import BATCHES

Values = NDArray[np.float64]


def fixed_batches(truth: SharedRepresentation, m: int) -> float:
    r"""Return the squared chordal distance at which runs on the same samples every round settle.

    .. math:: \frac{\sigma^2 (d - k)}{n (m - k)}\,\mathrm{tr}\,S^{-1}, \qquad S = W^{*\top} W^*/n

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates, and heads that span R^k.
    m : int
        Samples per client.

    Returns
    -------
    float
        Mean over the data, for n (m - k) much larger than d: from below, by Jensen. Infinite for
        m <= k, where heads fit all labels and B stays where it started.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, the covariates are not Gaussian, or the heads do not span
        R^k.

    Notes
    -----
    Where the representation no longer moves, it is a stationary point of the training loss; near
    the truth that is the empirical risk minimizer, which attains the Cramér-Rao bound given the
    covariates, :func:`linrep.theory.bounds.cramer_rao`, to first order in the noise.
    :func:`linrep.theory.design_bounds.cramer_rao` is exact for samples at hand.
    """
    m = check.integer("m", m, minimum=1)
    return cramer_rao(truth, m, given_design=True).squared_chordal


def fresh_batches(
    truth: SharedRepresentation,
    m: int,
    *,
    step_size: float,
    participants: int | None = None,
    batches: str = "same",
) -> float:
    r"""Return the mean squared chordal distance of runs on new samples every round, once settled.

    With all clients, on one batch, to first order in the step size
    :math:`\eta\sigma^2 (d - k) k/(2nm)`, whatever the heads' spectrum lambda_a; in full

    .. math:: \frac{\eta\sigma^2 (d - k)}{nm} \sum_{a=1}^k \frac1{2 - \eta(1 - k/m)\lambda_a}

    but for what the sampling of covariates adds, which is of relative order :math:`\eta d/(nm)` and
    part of what is returned.

    Parameters
    ----------
    truth : SharedRepresentation
        Of Gaussian covariates, and heads that span R^k.
    m : int
        Samples per client and batch; more than k, at least k + 2 for split batches.
    step_size : float
        eta, positive.
    participants : int, optional
        Clients in a round, drawn without replacement; all by default.
    batches : {"same", "split"}
        Whether the gradient is taken on the head's batch (``"fresh"`` and ``"gram"`` of
        :func:`linrep.fedrep`), or on another (``"split"`` and ``"gram_split"``).

    Returns
    -------
    float
        Infinite where the mean square grows from round to round: the step is too long, or m is k
        or less on one batch.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, the covariates are not Gaussian, or the heads do not span
        R^k.

    Notes
    -----
    Near B*, with Phi in :math:`B = B^* + N\Phi` up to the basis, a round is linear,

    .. math:: \Phi^+ = \Phi - \frac\eta q \sum_{i \in I} (G_i \Phi w_i - e_i) w_i^\top,

    with q participants I, G_i of the law of a Wishart matrix in dimension d - k over m, of
    :math:`\nu = m - k` degrees of freedom (m for split batches), and e_i normal of covariance
    :math:`\sigma^2 G_i/m` given G_i (docs/gram.md). On split batches the head's own error, of mean
    square :math:`(\sigma^2 + |\Phi w_i|^2) k/(m - k - 1)`, acts like more noise. With
    :math:`E G_i^2 = \nu(\nu + d - k + 1)/m^2` the mean of Phi'Phi satisfies a linear equation in
    k^2 unknowns, which is solved: exact for vanishing noise at any step size. FedRep states nothing
    about label noise; the claim ``fedrep.noise_floor`` compares runs with the formula above at
    equal singular values.
    """
    require_gaussian(truth, "batches of finite size")
    require_spanning(truth)
    n, k, codimension = truth.n, truth.k, truth.d - truth.k
    m = check.integer("m", m, minimum=1)
    eta = check.real("step_size", step_size, above=0.0)
    q = n if participants is None else participants
    q = check.integer("participants", q, minimum=1, maximum=n)
    check.choice("batches", batches, BATCHES)
    split = batches == "split"
    if split and m < k + 2:
        raise ValueError(f"m must be at least k + 2 = {k + 2} for split batches, got {m}")
    if codimension == 0:
        return 0.0
    freedom = m if split else max(m - k, 0)
    if freedom == 0:
        return np.inf
    head = k / (m - k - 1.0) if split else 0.0
    W = truth.W
    S = W.T @ W / n
    eye = np.eye(k)
    # Sum over clients of (w_i' M w_i) w_i w_i', as a matrix that acts on the entries of M.
    pairs = np.einsum("ia,ib->iab", W, W).reshape(n, k * k)
    quartic = pairs.T @ pairs
    share, fluctuation = freedom / m, freedom * (codimension + 1.0 + codimension * head) / m**2
    linear = eta * share * (np.kron(S, eye) + np.kron(eye, S))
    # Two clients that differ are both there with probability q(q - 1)/(n(n - 1)), one with q/n.
    both = (q - 1.0) / (q * n * (n - 1.0)) if n > 1 else 0.0
    square = both * n**2 * np.kron(S, S) + (1.0 / (q * n) - both) * quartic
    change = linear - eta**2 * (share**2 * square + fluctuation / (q * n) * quartic)
    # The mean square settles if its operator, 1 - change, has all eigenvalues inside the circle.
    if np.abs(np.linalg.eigvals(np.eye(k * k) - change)).max() >= 1.0:
        return np.inf
    added = eta**2 * truth.noise**2 * freedom * codimension * (1.0 + head) / (q * m**2) * S
    return float(np.trace(np.linalg.solve(change, added.ravel()).reshape(k, k)))


checked(globals(), nan=False, large=False)
