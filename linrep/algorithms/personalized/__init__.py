"""What pFL^MF is compared with: other ways to relate the clients' models, on the same functions.

All keep the matrix of models theta (n, d) itself. Each round every client takes gradient steps on
its own function from its own model, and the server replaces the matrix by its projection on what is
allowed, or by the proximal point of a penalty: with one local step, proximal gradient descent.

Every function takes the following, next to what is its own.

problem : Objectives or ClientData
    Clients' functions, or samples, whose least squares they are.
step_size : float, optional
    Of a step on f_i. By default it is found in every round where there is one local step and F or
    the penalty can tell what is better: spectral projected gradient descent
    after Barzilai and Borwein. With several local steps, and with momentum (`constrained`,
    `nuclear_norm`), it is 1 over the largest smoothness of any f_i; with ``center="global"``, 1.5
    over it.
rounds : int, default 1000
    At most so many.
tolerance : float, default 1e-10
    Stop as ``converged`` after a round with no larger ``change``; of least squares on samples
    without a truth, times the covariates' root mean square and the labels' standard deviation, so
    that units do not matter.
start : array_like, shape (n, d), optional
    By default zeros.

It returns a Trace with the state ``theta`` (n, d) and the metrics ``objective``, F without any
penalty; ``change``, the root mean square over clients of the models' change in the last round, over
the step size (NaN for the start); ``gap``, ``error`` and ``truth_error`` as in :func:`pflmf`, where
there is a rank or a truth; ``step_size`` where it is found, that of the round (of `local`, over
1/L_i of each client, where smoothness is known); and ``floats_up`` and ``floats_down``.
"""

from linrep.algorithms.personalized.methods import (
    CENTERS,
    DiameterProjection,
    average,
    constrained,
    distance_regularized,
    hard_thresholding,
    local,
    nuclear_norm,
    oracle_clusters,
    penalties,
)

__all__ = [
    "CENTERS",
    "DiameterProjection",
    "average",
    "constrained",
    "distance_regularized",
    "hard_thresholding",
    "local",
    "nuclear_norm",
    "oracle_clusters",
    "penalties",
]
