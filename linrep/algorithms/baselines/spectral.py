r"""Spectral estimators of the representation: eigenvectors of a moment of labels and covariates.

Each is computed in one place from all samples, and returns a Trace of one row with the state ``B``
(d, k) and ``W`` (n, k), the heads fitted on it by least squares. Where the truth is a
:class:`~linrep.SharedRepresentation` of rank k the metrics have the ``distance`` to it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms.baselines._estimate import estimate
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import moments_start
from linrep.problems.clients import ClientData
from linrep.trace import Trace

__all__ = ["cross_moments", "method_of_moments"]


@algorithm("regression")
def method_of_moments(data: ClientData, *, k: int) -> Trace:
    r"""Estimate the representation by the method of moments, and fit every client's head on it.

    .. math:: \hat B = \text{top-}k \text{ eigenvectors of }
              \frac1n \sum_i \frac1{m_i} \sum_j (y_i^j)^2\, x_i^j (x_i^j)^\top

    Parameters
    ----------
    data : ClientData
        Gaussian covariates of identity covariance are what the estimator is made for.
    k : int
        Rank, at most min(n, d).

    Returns
    -------
    Trace
        Of one row: ``loss``, with a truth of rank k also ``distance`` and ``population_risk``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

    Notes
    -----
    Tripuraneni, Jin and Jordan, *Provable meta-learning of linear representations*, 2021, of
    clients with equally many samples: theirs is the mean over samples, this one the mean over
    clients, as the start of FedRep. The mean of the moment is
    :math:`2 B^* \Gamma B^{*\top}` plus a multiple of the identity, where :math:`\Gamma` is the
    heads' second moment.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=200, d=10, k=2, rng=0)
    >>> bool(lr.method_of_moments(truth.draw(50, rng=1), k=2)["distance"][-1] < 0.2)
    True
    """
    watch = Stopwatch()
    k = check.rank(k, data.n, data.d)
    return estimate("method of moments", data, moments_start(data, k), watch)


@algorithm("regression")
def cross_moments(data: ClientData, *, k: int) -> Trace:
    r"""Estimate the representation from products of different samples of a client.

    .. math:: \hat B = \text{top-}k \text{ eigenvectors of }
              \frac1n \sum_i \frac1{m_i (m_i - 1)} \sum_{j \neq l} y_i^j y_i^l\, x_i^j (x_i^l)^\top

    Unlike the method of moments it is not biased by noise that depends on the covariates, or by
    their fourth moments: with covariates of identity covariance the moment's mean is
    :math:`B^* \Gamma B^{*\top}`, whatever else their law is.

    Parameters
    ----------
    data : ClientData
        Clients of one sample have no pair, and do not count.
    k : int
        Rank, at most min(n, d).

    Returns
    -------
    Trace
        Of one row: ``loss``, with a truth of rank k also ``distance`` and ``population_risk``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or no client has two samples.

    Notes
    -----
    Duchi, Feldman, Hu and Talwar, *Subspace recovery from heterogeneous data with non-isotropic
    noise*, 2022, with all clients of the same weight. Cost O(N d^2) for N samples.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=200, d=10, k=2, rng=0)
    >>> bool(lr.cross_moments(truth.draw(50, rng=1), k=2)["distance"][-1] < 0.1)
    True
    """
    watch = Stopwatch()
    k = check.rank(k, data.n, data.d)
    with_pairs = data.m > 1
    if not with_pairs.any():
        raise ValueError("data must have a client with at least two samples")
    n, d = data.n, data.d
    needed = data.X.size + 2 * (n * d + d * d)
    memory.require("the moment and a copy of the samples", needed, n=n, samples=len(data.y), d=d)
    # The sum over pairs is that over all products without those of a sample with itself. Scaled
    # by its root, so that one copy of the samples is enough.
    pairs = np.where(with_pairs, data.m * (data.m - 1.0), np.inf) * with_pairs.sum()
    labelled = data.X * (data.y / np.sqrt(np.repeat(pairs, data.m)))[:, None]
    sums = np.add.reduceat(labelled, data.offsets[:-1], axis=0)
    moment = sums.T @ sums - labelled.T @ labelled
    vectors = eigh(moment, subset_by_index=[d - k, d - 1])[1]
    return estimate("cross moments", data, np.ascontiguousarray(vectors[:, ::-1]), watch)


checked(globals(), units=False)
