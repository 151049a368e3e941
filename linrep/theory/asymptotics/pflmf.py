r"""pFL^MF near a minimum, without noise: the exact rate of the mean of the error.

Of functions :math:`\|x - a_i\|^2/2`, near the balanced factors of the best matrix of rank k. A
round takes the error of the factors to a linear map of it, the mean of which over who takes part
splits into small blocks. docs/learning-curves.md has the derivation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.objectives import QuadraticObjectives
from linrep.theory.pflmf import head_step_size

_GAP = 1e-9  # relative: below, singular values k and k + 1 are taken for equal


def mean_rate(
    problem: QuadraticObjectives,
    *,
    k: int,
    step_size: float,
    participation: float = 1.0,
    local_steps: int = 1,
) -> float:
    r"""Return the factor per round of the mean of the error of the models.

    Parameters
    ----------
    problem : QuadraticObjectives
        With functions :math:`\|x - a_i\|^2/2`: neither matrices nor weights.
    k : int
        Rank, at most the number of positive singular values.
    step_size : float
        eta; the heads' is p eta/K, as in Theorem 1.
    participation : float, default 1
        p.
    local_steps : int, default 1
        K.

    Returns
    -------
    float
        Largest absolute eigenvalue of the map of a round's mean error, directions that change no
        model left out; above 1 where the minimum repels.

    Raises
    ------
    ValueError
        If singular values k and k + 1 of the centres are equal, or functions are others.

    Notes
    -----
    Not in the paper. U moves with all clients' gradients. With p = K = 1 and steps that are not too
    long it is :math:`1 - \eta (s_k - s_{k+1})/n`, s the singular values of the centres (1 - 2 eta
    s_k/n for k = n = d).
    """
    if problem.H is not None or problem.weights is not None:
        raise ValueError("problem must have functions |x - a|^2/2: no H and no weights")
    n, d = problem.n, problem.d
    k = check.integer("k", k, minimum=1, maximum=min(n, d))
    step = check.real("step_size", step_size, above=0.0)
    p = check.real("participation", participation, above=0.0, maximum=1.0)
    eta_v = head_step_size(step, p, local_steps)
    s = np.linalg.svd(problem.A, compute_uv=False)
    after = s[k] if k < len(s) else 0.0
    if not s[k - 1] - after > _GAP * s[0]:
        raise ValueError(f"k = {k}: singular values k and k + 1 of the centres must differ")
    # What a round takes off an error of one factor, the other being fixed.
    of_U = step * s[:k] / n
    of_V = p * (1.0 - (1.0 - eta_v * s[:k] / n) ** local_steps)
    found: list[NDArray[Any]] = [1.0 - of_U[:, None] - of_V]  # models' errors within the span
    for tail in s[k:]:
        found += [_outside(of_U[i], of_V[i], tail / s[i]) for i in range(k)]
    if n > d:
        found.append(1.0 - of_V)
    if d > n:
        found.append(1.0 - of_U)
    return float(max(np.abs(each).max() for each in found))


def _outside(of_U: float, of_V: float, ratio: float) -> NDArray[Any]:
    """Return eigenvalues of the errors of both factors along singular vectors beyond the k-th."""
    M = np.array([[1.0 - of_U, of_U * ratio], [of_V * ratio, 1.0 - of_V]])
    return np.asarray(np.linalg.eigvals(M))


checked(globals())
