"""The sample sizes that theorems on shared linear representations require, side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory import fedrep, flute, flute_samples
from linrep.theory._clients import require_spanning

Values = NDArray[np.float64]


class Threshold(NamedTuple):
    """The sample size that one statement requires.

    Attributes
    ----------
    source : str
        Paper and place.
    per : {"round", "run"}
        Whether the samples are those of a round, or of all rounds together.
    per_client, total : float
        Samples of a client, and of all clients; not rounded.
    constant : float
        The constant that was taken for the one that the statement leaves open; NaN where it leaves
        none.
    hypotheses : str
        What it assumes, in a few words.
    function : str
        The function of :mod:`linrep.theory` that computes it; empty where there is none.
    """

    source: str
    per: str
    per_client: float
    total: float
    constant: float
    hypotheses: str
    function: str

    def __repr__(self):
        return show.line(self)


def sample_size_thresholds(
    truth: SharedRepresentation,
    *,
    tolerance: float = 0.1,
    initial_distance: float = 0.5,
    participants: int | None = None,
    step_size: float | None = None,
    failure: float = 0.05,
    constant: float = 1.0,
) -> list[Threshold]:
    """Return the sample sizes that theorems require for one problem.

    Parameters
    ----------
    truth : SharedRepresentation
        Of heads that span R^k.
    tolerance : float, default 0.1
        What is to be reached, in (0, 1): a principal-angle distance for FedRep and AltGDmin, the
        mean error per client for FLUTE.
    initial_distance : float, default 0.5
        Principal-angle distance of the start for FedRep's Theorem 1, in [0, 1).
    participants : int, optional
        Clients in a round of FedRep; all by default.
    step_size : float, optional
        FLUTE's; by default the largest that Theorem 5.1 allows.
    failure : float, default 0.05
        Probability of failure in FLUTE's theorems.
    constant : float, default 1
        Used for every constant that a statement leaves open: rows with an open constant can be
        compared in how they grow, not in size.

    Returns
    -------
    list of Threshold
        The first two count parameters, which is necessary for methods that share nothing, and for
        all; what the theorems require is sufficient. ``pandas.DataFrame(...)`` makes a table.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the heads do not span R^k.

    Notes
    -----
    FedRep, Theorems 1 and 2 (an adaptation of Theorem 3 of Tripuraneni, Jin and Jordan, 2021) and
    equation (12); FLUTE, Theorems 5.1 and 5.5; Vaswani, 2024 (:func:`altgdmin`). PerFedSI's
    theorems are about entries of a matrix and pFL^MF's about optimization: they require no number
    of samples.
    """
    require_spanning(truth)
    n, d, k = truth.n, truth.d, truth.k
    epsilon = check.real("tolerance", tolerance, above=0.0, below=1.0)
    start = check.real("initial_distance", initial_distance, minimum=0.0, below=1.0)
    q = n if participants is None else participants
    q = check.integer("participants", q, minimum=1, maximum=n)
    c = check.real("constant", constant, above=0.0)
    rows = [
        Threshold("parameters of n separate models", "run", d, n * d, np.nan, "no sharing", ""),
        Threshold("parameters of a model of rank k", "run", k * (n + d - k) / n, k * (n + d - k),
                  np.nan, "rank k", ""),
        *_fedrep(truth, epsilon, start, q, c),
        *_flute(truth, epsilon, step_size, failure, c),
    ]  # fmt: skip
    total = altgdmin(
        d, k, n, tolerance=epsilon, condition=truth.condition,
        incoherence=incoherence(truth), constant=c,
    )  # fmt: skip
    rows.append(
        Threshold(
            "AltGDmin (Vaswani, 2024)", "run", float(total) / n, float(total), c,
            "no noise, Gaussian covariates, incoherent heads", "sample_sizes.altgdmin",
        )
    )  # fmt: skip
    return rows


def altgdmin(
    d: ArrayLike, k: ArrayLike, n: ArrayLike, *, tolerance: ArrayLike, condition: ArrayLike = 1.0,
    incoherence: ArrayLike = 1.0, constant: float = 1.0,
) -> Values:  # fmt: skip
    r"""Return the number of samples, of all clients together, that AltGDmin requires.

    .. math:: nm \ge c\,\kappa^4 \mu^2 (d + n) k \Big(\kappa^4 k + \log\frac1\varepsilon\Big)

    Parameters
    ----------
    d, k, n : array_like
        Dimension, rank, clients, at least 1; the paper's n, r and q.
    tolerance : array_like
        The distance wanted, in (0, 1].
    condition : array_like, default 1
        kappa of the matrix of models, at least 1.
    incoherence : array_like, default 1
        mu, at least 1, as :func:`incoherence` has it.
    constant : float, default 1
        c, which the paper leaves open.

    Returns
    -------
    float or ndarray
        Not rounded.

    Notes
    -----
    Vaswani, *Efficient federated low rank matrix recovery via alternating GD and minimization: a
    simple proof*, 2024 (arXiv 2306.17782): no noise, and Gaussian covariates. The first paper
    (Nayer and Vaswani, 2023) asks for the order of (d + n) k^2 log(1/epsilon).
    """
    d = check.numbers("d", d, minimum=1.0)
    k = check.numbers("k", k, minimum=1.0)
    n = check.numbers("n", n, minimum=1.0)
    epsilon = check.numbers("tolerance", tolerance, above=0.0, maximum=1.0)
    kappa = check.numbers("condition", condition, minimum=1.0)
    mu = check.numbers("incoherence", incoherence, minimum=1.0)
    c = check.real("constant", constant, above=0.0)
    return c * kappa**4 * mu**2 * (d + n) * k * (kappa**4 * k - np.log(epsilon))


def incoherence(truth: SharedRepresentation) -> float:
    r"""Return mu, the largest :math:`\|v_i\|\sqrt{n/k}` over rows of the right singular vectors.

    Parameters
    ----------
    truth : SharedRepresentation
        Of heads that span R^k.

    Returns
    -------
    float
        Between 1, if clients share all directions equally, and sqrt(n/k), if a direction belongs to
        a single client.

    Raises
    ------
    ValueError
        If the heads do not span R^k.

    Notes
    -----
    Of the frame V (n, k) of the heads W = V R, the usual incoherence; Nayer and Vaswani assume it
    of the right singular vectors. PerFedSI's has no root:
    :func:`linrep.theory.perfedsi.incoherence`.
    """
    require_spanning(truth)
    V = np.linalg.qr(truth.W)[0]
    largest = np.max(np.sum(V**2, axis=1)) * truth.n / truth.k
    return float(np.sqrt(max(largest, 1.0)))  # 1 but for rounding


def _fedrep(truth, epsilon, start, q, c):
    n, d, k = truth.n, truth.d, truth.k
    kappa = fedrep.condition(truth, q)
    # Subsets of clients that do not span R^k: no number of samples is enough.
    known = np.isfinite(kappa)
    kappa = kappa if known else 1.0
    gaussian = "no noise, sub-Gaussian covariates"

    def row(theorem, per, samples, clients, function):
        samples = float(samples) if known else np.inf
        return Threshold(
            f"FedRep, {theorem}", per, samples, samples * clients, c, gaussian, f"fedrep.{function}"
        )

    settings = {"condition": kappa, "constant": c}
    share = min(epsilon / start, 1.0) if start else epsilon  # of the start's distance
    initial = fedrep.initial_sample_size(
        d, k, n, sigma_min=truth.sigma_min() / np.sqrt(k), condition=truth.condition, constant=c
    )
    return [
        row("Theorem 1", "round",
            fedrep.sample_size(d, k, q, initial_distance=start, **settings), q, "sample_size"),
        row("equation (12)", "run",
            fedrep.total_samples(epsilon, d, k, q, **settings), n, "total_samples"),
        row("Theorem 1 in all rounds", "run",
            fedrep.total_samples_of_theorem1(share, d, k, q, initial_distance=start,
                                             participation=q / n, **settings),
            n, "total_samples_of_theorem1"),
        Threshold("FedRep, Theorem 2 (Tripuraneni, Jin and Jordan, 2021)", "round",
                  float(initial), float(initial) * n, c,
                  "Gaussian covariates; the start, once", "fedrep.initial_sample_size"),
    ]  # fmt: skip


def _flute(truth, epsilon, step_size, failure, c):
    values = np.linalg.svd(truth.W, compute_uv=False)
    spectrum = flute.Spectrum(values, truth.n, truth.d, truth.k, truth.noise)
    if step_size is None:
        step_size = flute.step_size_limits(spectrum)["theorem_5_1"]
    settings = {"step_size": step_size, "failure": failure, "constant": c}
    first = flute_samples.theorem_5_1(spectrum, epsilon, **settings)
    rounds = flute_samples.theorem_5_1_rounds(spectrum, epsilon, step_size=step_size)
    second = flute_samples.theorem_5_5(spectrum, rounds=max(float(rounds), 1.0), **settings)
    return [
        Threshold(f"FLUTE, {theorem}", "run", float(samples), float(samples) * truth.n, c,
                  "sub-Gaussian covariates and noise, small random start",
                  f"flute_samples.{function}")
        for theorem, samples, function in (
            ("Theorem 5.1", first, "theorem_5_1"),
            ("Theorem 5.5", second, "theorem_5_5"),
        )
    ]  # fmt: skip


checked(globals(), nan=False, large=False)
