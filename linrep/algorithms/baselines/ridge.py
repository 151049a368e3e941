r"""What sharing has to beat: models that need no representation, each in closed form.

All stand on a sum over samples and a penalty :math:`\mu`, so that a client with more samples is
shrunk less, as with the same prior for all clients. (The mean losses of
:class:`~linrep.problems.SampleObjectives` have the penalty :math:`\mu/m_i` then.) Nothing is
centred: a column of ones is shrunk like any other, and labels far from 0 are best centred before.

Each returns a Trace of one round with the state ``theta`` (n, d): row 0 of its metrics belongs to
the zero models, row 1 to these. They are computed in one place, so that no floats sent are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms import ridges
from linrep.algorithms.local import fit_models, model_metrics
from linrep.algorithms.registry import algorithm
from linrep.problems.clients import ClientData
from linrep.problems.prediction import origin
from linrep.trace import Trace

__all__ = ["pooled", "ridge", "ridge_penalty", "ridge_to_mean"]


@algorithm("regression")
def pooled(data: ClientData) -> Trace:
    """Fit a single model to all samples of all clients by least squares.

    Parameters
    ----------
    data

    Returns
    -------
    Trace
        State ``theta`` (n, d), all rows the same: of minimum norm where it is not unique. Every
        sample counts the same, and so a client with more of them counts more.
    """
    watch = Stopwatch()
    every = ClientData(data.X, data.y, np.array([0, len(data.y)]))
    return _trace("pooled", data, np.tile(fit_models(every), (data.n, 1)), {}, watch)


@algorithm("regression")
def ridge(data: ClientData, *, penalty: ArrayLike | None = None, per_client: bool = False) -> Trace:
    r"""Fit every client's own model by ridge regression, without collaboration.

    .. math:: \min_{\theta_i} \|y_i - X_i \theta_i\|^2 + \mu_i \|\theta_i\|^2

    Parameters
    ----------
    data
    penalty : float or array_like, shape (n,), optional
        mu of all clients, or of each. By default that of :func:`ridge_penalty`.
    per_client : bool, default False
        Choose a penalty for each client by its own samples; otherwise one for all.

    Returns
    -------
    Trace
        State ``theta`` (n, d); what was taken is in its settings: ``penalty``, and whether it was
        chosen by ``leave_one_out``.

    Raises
    ------
    ValueError, TypeError
        If a penalty is negative, or given with `per_client`.
    """
    watch = Stopwatch()
    if per_client and penalty is not None:
        raise ValueError("penalty must not be given with per_client=True, which chooses it")
    spectra = ridges.decompose(data.X, data.y, data.offsets)
    if penalty is None:
        penalties = ridges.best_penalties(spectra, per_client=per_client)
    else:
        penalties = ridges.read_penalty("penalty", penalty, data.n)
    theta = ridges.models(spectra, penalties)
    return _trace("ridge", data, theta, _taken(penalty, penalties), watch)


def ridge_to_mean(data: ClientData, *, penalty: float | None = None) -> Trace:
    r"""Fit every client's own model by ridge regression towards the mean of all models.

    .. math:: \min_{\theta, c} \sum_i \|y_i - X_i \theta_i\|^2 + \mu \|\theta_i - c\|^2

    Parameters
    ----------
    data : ClientData
        With d at most 4096: the mean takes a matrix d x d.
    penalty : float, optional
        mu, greater than 0. By default the one of least squared error at samples left out one by
        one, in closed form, of two in each power of ten.

    Returns
    -------
    Trace
        State ``theta`` (n, d) and ``mean`` (d,), which is the rows' mean, of minimum norm where it
        is not unique; settings as in :func:`ridge`.

    Raises
    ------
    ValueError, TypeError
        If the penalty is not positive, or d too large.

    Notes
    -----
    Best linear unbiased predictions of a linear mixed model whose coefficients vary among clients
    with covariance I times (variance of the noise) / mu. Large mu lead to :func:`pooled`, small
    ones to each client alone. :func:`linrep.algorithms.personalized.distance_regularized` has it
    for any functions, by iteration.
    """
    watch = Stopwatch()
    if data.d**2 > memory.DENSE:
        raise ValueError(f"data must have d at most {int(memory.DENSE**0.5)}, got {data.d}")
    spectra = ridges.decompose(data.X, data.y, data.offsets)
    if penalty is None:
        mu, _ = ridges.best_around_mean(spectra)
    else:
        mu = check.real("penalty", penalty, above=0.0)
    theta, mean = ridges.models_around_mean(spectra, mu)
    trace = _trace("ridge to mean", data, theta, _taken(penalty, np.array([mu])), watch)
    trace.state["mean"] = mean
    return trace


def ridge_penalty(
    data: ClientData, B: ArrayLike | None = None, *, per_client: bool = False
) -> NDArray[np.float64]:
    r"""Return the ridge penalty with the least leave-one-out squared error.

    Parameters
    ----------
    data
    B : array_like, shape (d, k), optional
        Representation, if it is heads that are penalized, as :func:`fit_heads` does. What is left
        out has taken part in finding B, so that the penalty errs on the small side.
    per_client : bool, default False
        Sum the errors over each client's own samples, not over all: a penalty of its own for each.

    Returns
    -------
    ndarray, shape (n,)
        All the same unless `per_client`.

    Raises
    ------
    ValueError, TypeError
        If `B` does not fit.

    Notes
    -----
    In closed form: the error at sample j is its residual over 1 - H_jj, H being the matrix that
    takes labels to predictions (Golub, Heath and Wahba, 1979). Penalties are tried from 1e-12 to
    1e4 times the largest squared singular value of any client's covariates, two in each power of
    ten; of equally good ones the largest is taken.
    """
    Z = data.X if B is None else data.X @ check.array("B", B, (data.d, None))
    spectra = ridges.decompose(Z, data.y, data.offsets)
    return ridges.best_penalties(spectra, per_client=per_client)


def _taken(given, penalties) -> dict[str, Any]:
    """Return what settings have of penalties: a number where all are the same."""
    same = (penalties == penalties[0]).all()
    taken = float(penalties[0]) if same else np.array(penalties)
    return {"penalty": taken, "leave_one_out": given is None}


def _trace(name, data, theta, settings, watch):
    return Trace(
        algorithm=name,
        metrics=model_metrics(data, theta) | {"samples": np.array([0.0, len(data.y)])},
        state={"theta": theta},
        settings={"problem": repr(data), **settings},
        wall_time=watch.seconds(),
        **origin(data),
    )


checked(globals(), units=False)
