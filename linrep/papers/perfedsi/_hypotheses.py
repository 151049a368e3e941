"""Hypotheses of PerFedSI's statements, as predicates on problems."""

from __future__ import annotations

import numpy as np

from linrep.claims import Hypothesis
from linrep.claims.deviations import relative
from linrep.theory import perfedsi as theory

_ROUNDING = 1e-9
#: What r << min(d, M) is read as.
_MUCH = 0.1


def _has_rank(problem, participants):
    values = problem.singular_values
    return bool(problem.k <= problem.p and values[-1] > _ROUNDING * values[0])


def _explains(problem, participants):
    theta = np.linalg.lstsq(problem.Z, problem.biases, rcond=None)[0]
    return relative(problem.Z @ theta, problem.biases) < _ROUNDING


ASSUMPTION_3_2 = Hypothesis(
    "Assumption 3.2",
    "(n/c_z) I <= Z'Z <= c_z n I: side information has independent columns",
    lambda problem, participants: bool(np.isfinite(theory.scaling(problem.Z).c_z)),
)
RANK = Hypothesis("Section 3, rank", "M* has rank r, and k is at least r", _has_rank)
SMALL_RANK = Hypothesis(
    "Section 3, small rank",
    "r << min(d, M), read as at most a tenth of it",
    lambda problem, participants: problem.k <= _MUCH * min(problem.d, problem.n),
)
NORMALIZED = Hypothesis(
    "Appendix C.4, rows",
    "rows of Z have norm 1",
    lambda problem, participants: bool(
        np.allclose(np.linalg.norm(problem.Z, axis=1), 1.0, rtol=_ROUNDING)
    ),
)
EXPLAINED = Hypothesis(
    "Appendix B, side information",
    "some theta_2 has <theta_2, z_m> = b_m for all clients",
    _explains,
)
SAMPLING = Hypothesis(
    "Assumption C.1",
    "each client of a round is drawn independently and uniformly from all, so that one may be "
    "drawn twice",
    # How they are drawn is the algorithm's; that there are any is what can be asked here.
    lambda problem, participants: participants >= 1,
)
START = Hypothesis(
    "Definition 3.1, start",
    "L(U_0, V_0) <= c_0 sigma_r^2 for a constant c_0, read as small enough",
    # It asks nothing of the problem: every one has such starts.
    lambda problem, participants: True,
)
#: Of what is stated about gradients and drift, about rounds, and about runs.
COMPLETION = (RANK, ASSUMPTION_3_2)
ROUNDS = (*COMPLETION, SAMPLING)
RUNS = (*ROUNDS, START)
