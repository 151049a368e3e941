"""Personalized problems: clusters, flipped labels, partly observed ratings, a planar example.

Notes
-----
pFL^MF, Examples 1 to 3 and Figure 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from linrep._lib import display as show
from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.clients import ClientData
from linrep.problems.losses import (
    LeastSquaresObjectives,
    LogisticObjectives,
    SampleObjectives,
    SoftmaxObjectives,
)
from linrep.problems.objectives import QuadraticObjectives
from linrep.problems.random import RNGLike, streams
from linrep.problems.samples import draw_samples

Values = NDArray[np.float64]
LOSSES = ("quadratic", "least_squares", "logistic", "softmax")


def clustered(
    *,
    n: int,
    d: int,
    clusters: int,
    m: int | ArrayLike | None = None,
    loss: str = "least_squares",
    noise: float = 0.0,
    classes: int = 3,
    ridge: float = 0.0,
    rng: RNGLike = None,
) -> QuadraticObjectives | SampleObjectives:
    r"""Draw clients that each belong to one of several clusters with a model of its own.

    Parameters
    ----------
    n, d, clusters : int
        Clients, dimension of the covariates, clusters, at most n. Client i is in cluster i modulo
        their number, which no method knows. The clusters' models have independent N(0, 1) entries.
    m : int or array_like of int, shape (n,)
        Samples per client; for all losses but the quadratic one.
    loss : {"least_squares", "logistic", "softmax", "quadratic"}
        Labels are linear; a coin whose odds are linear; one of `classes` with such odds. Quadratic
        functions have the models as centres.
    noise : float, default 0
        Standard deviation of what is added to linear labels, or to the centres' entries.
    classes : int, default 3
        For softmax, whose models have dimension classes times d.
    ridge : float, default 0
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    QuadraticObjectives or SampleObjectives
        With ``truth`` and ``clusters``.

    Notes
    -----
    pFL^MF, Example 2.
    """
    n, d = check.integer("n", n, minimum=1), check.integer("d", d, minimum=1)
    clusters = check.integer("clusters", clusters, minimum=1, maximum=n)
    check.choice("loss", loss, LOSSES)
    noise = check.noise(noise)
    size = d * check.integer("classes", classes, minimum=2) if loss == "softmax" else d
    memory.require("the clients' models", 3 * n * size, n=n, d=d)
    truth_rng, data_rng = streams(rng, "truth", "data")
    member = np.arange(n) % clusters
    theta = truth_rng.standard_normal((clusters, size))[member]
    known = {"truth": theta, "clusters": member}
    if loss == "quadratic":
        return QuadraticObjectives(theta + noise * data_rng.standard_normal((n, d)), **known)
    if m is None:
        raise ValueError("m must be given: the number of samples per client")
    # Covariates in all cases; what linear labels would be is replaced below where there are others.
    linear = theta if loss != "softmax" else np.zeros((n, d))
    X, y, offsets = draw_samples(
        linear, m, noise=noise if loss == "least_squares" else 0.0, rng=data_rng
    )
    if loss == "logistic":
        y = np.where(data_rng.random(len(y)) < expit(y), 1.0, -1.0)
    if loss == "softmax":
        models = np.repeat(theta.reshape(n, classes, d), np.diff(offsets), axis=0)
        # The largest of scores with independent Gumbel noise is a class with these odds.
        scores = np.einsum("scj,sj->sc", models, X)
        y = np.argmax(scores + data_rng.gumbel(size=scores.shape), axis=1).astype(np.float64)
        return SoftmaxObjectives(
            ClientData._keeping(X=X, y=y, offsets=offsets), classes, ridge=ridge, **known
        )
    kind = LeastSquaresObjectives if loss == "least_squares" else LogisticObjectives
    return kind(ClientData._keeping(X=X, y=y, offsets=offsets), ridge=ridge, **known)


def flipped_labels(
    *, n: int, d: int, m: int, loss: str = "logistic", flipped: float = 0.5, same: bool = False,
    intercept: bool = False, ridge: float = 0.0, rng: RNGLike = None,
) -> SampleObjectives:  # fmt: skip
    """Draw classification data of a single rule, with the labels' signs flipped for some clients.

    Parameters
    ----------
    n, d, m : int
        Clients, dimension of the covariates, samples per client.
    loss : {"logistic", "least_squares"}
        Of labels -1 and 1, coins with odds linear in the covariates.
    flipped : float, default 0.5
        Share of clients with labels flipped, the last ones, rounded to a whole number.
    same : bool, default False
        All clients have the same samples, but for the labels' signs.
    intercept : bool, default False
        Put a column of ones in front.
    ridge : float, default 0
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    LogisticObjectives or LeastSquaresObjectives
        With ``clusters``, 1 for flipped ones, and, for logistic losses, ``truth``.

    Notes
    -----
    pFL^MF, Example 1.
    """
    n, d, m = (check.integer(*each, minimum=1) for each in (("n", n), ("d", d), ("m", m)))
    check.choice("loss", loss, ("logistic", "least_squares"))
    share = check.real("flipped", flipped, minimum=0.0, maximum=1.0)
    memory.require("the samples", 2 * n * m * (d + 1), n=n, d=d, m=m)
    truth_rng, data_rng = streams(rng, "truth", "data")
    member = (np.arange(n) >= n - round(share * n)).astype(np.int64)
    model = truth_rng.standard_normal(d + intercept)
    X = data_rng.standard_normal((m if same else n * m, d))
    if intercept:
        X = np.hstack([np.ones((len(X), 1)), X])
    y = np.where(data_rng.random(len(X)) < expit(X @ model), 1.0, -1.0)
    if same:
        X, y = np.tile(X, (n, 1)), np.tile(y, n)
    signs = 1.0 - 2.0 * member
    data = ClientData._keeping(X=X, y=y * np.repeat(signs, m), offsets=np.arange(n + 1) * m)
    if loss == "least_squares":
        return LeastSquaresObjectives(data, ridge=ridge, clusters=member)
    return LogisticObjectives(data, ridge=ridge, truth=np.outer(signs, model), clusters=member)


def masked(ratings: ArrayLike, mask: ArrayLike) -> QuadraticObjectives:
    r"""Return collaborative filtering: half the squared error on the observed entries.

    .. math:: f_i(\theta) = \frac12 \sum_{j \in S_i} (\theta_j - a_{ij})^2

    Parameters
    ----------
    ratings : array_like, shape (n, d)
        Row i is client i's; what is not seen is not read, and kept as ``truth``.
    mask : array_like of bool, shape (n, d)
        What is seen.

    Returns
    -------
    QuadraticObjectives
        Entries that are not seen have centre zero and weight zero.

    Notes
    -----
    pFL^MF, Example 3.
    """
    ratings = check.data("ratings", ratings, (None, None))
    mask = check.read_array("mask", mask)
    if mask.shape != ratings.shape or mask.dtype != bool:
        raise ValueError(f"mask must be an array of bool of shape {ratings.shape}")
    return QuadraticObjectives(
        np.where(mask, ratings, 0.0), weights=mask.astype(np.float64), truth=ratings
    )


class Planar(NamedTuple):
    """Figure 1: the problem, and its solutions in closed form.

    Attributes
    ----------
    problem : QuadraticObjectives
    local, average, line : ndarray, shape (n, 2)
        Models as rows: the clients' own, one for all, and the optimum of rank 1.
    """

    problem: QuadraticObjectives
    local: Values
    average: Values
    line: Values

    def __repr__(self):
        return show.line(self)


def planar(n: int = 20, *, shift: float = 1.0, spread: float = 1.0, rng: RNGLike = None) -> Planar:
    r"""Draw the planar example :math:`\frac1n \sum_i \|\theta_i - a_i\|^2`.

    Parameters
    ----------
    n : int, default 20
    shift : float, default 1
        Both coordinates of the centres' mean; the paper does not say how its points were drawn.
    spread : float, default 1
        Standard deviation of the centres' coordinates.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    Planar
        ``line`` is the optimum of rank 1: the centres projected on the leading right singular
        vector of A, which is not centred, so that the line goes through the origin.

    Notes
    -----
    pFL^MF, Figure 1.
    """
    n = check.integer("n", n, minimum=1)
    spread = check.real("spread", spread, minimum=0.0, maximum=check.LARGEST)
    memory.require("the clients' models", 8 * n, n=n)
    rng = streams(rng, "truth")[0]
    shift = check.real("shift", shift, minimum=-check.LARGEST, maximum=check.LARGEST)
    A = shift + spread * rng.standard_normal((n, 2))
    problem = QuadraticObjectives(A, 2.0 * np.eye(2))
    best = problem.best(1)
    assert best is not None
    return Planar(problem, A, np.tile(A.mean(axis=0), (n, 1)), best.theta)


checked(globals())
