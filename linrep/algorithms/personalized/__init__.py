"""What pFL^MF is compared with: other ways to relate the clients' models, on the same functions.

All keep the matrix of models theta (n, d) itself. Each round every client takes gradient steps on
its own function from its own model, and the server replaces the matrix by its projection on what is
allowed, or by the proximal point of a penalty: with one local step, proximal gradient descent.

Each returns a Trace with the state ``theta`` (n, d) and the metrics ``objective``, F without any
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
