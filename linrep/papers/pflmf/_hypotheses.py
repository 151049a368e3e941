"""What pFL^MF's statements assume of the clients' functions."""

from __future__ import annotations

import numpy as np

from linrep.claims import Hypothesis
from linrep.problems import Objectives

_SIZES = 1.0, 1e3, 1e6
_DIRECTIONS = 200


def stops_falling(problem: Objectives, rng=0) -> bool:
    """Tell whether F stops falling, over models of sizes up to a million in random directions."""
    rng = np.random.default_rng(rng)
    directions = rng.standard_normal((_DIRECTIONS, problem.n, problem.d))
    _, middle, far = (min(problem.value(size * theta) for theta in directions) for size in _SIZES)
    return far >= 100.0 * min(middle, 0.0)


SMOOTH = Hypothesis(
    "Assumption 1",
    "the gradients in U and in V change by at most L_U and L_V times ||U_1 - U_2||_F + "
    "||V_1 - V_2||_F, on a product of convex sets, of U and of V, that the iterates do not leave",
    # Then local_smoothness has constants on every ball.
    lambda problem, participants: bool(np.isfinite(problem.smoothness).all()),
    printed="the same for all U_1, U_2 and V_1, V_2",
    change="corrected",
)
BOUNDED = Hypothesis(
    "lower bound",
    "F is bounded from below, by F*",
    lambda problem, participants: stops_falling(problem),
    printed="F*, which the bound contains",
)
NOISE = Hypothesis(
    "Assumption 2",
    "noise is added to the gradients in U and in V, of mean 0 and E||noise||^2 at most sigma^2, "
    "independent of who takes part and, in V, of other clients' noise; what is drawn is normal",
    lambda problem, participants: True,
    printed="an unbiased stochastic gradient estimator with bounded variance",
    change="narrower",
)
ASSUMPTIONS = (SMOOTH, BOUNDED)
NOISY = (*ASSUMPTIONS, NOISE)
