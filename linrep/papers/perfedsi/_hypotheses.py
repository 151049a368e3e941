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
    printed="there exist constants c_z, mu_z of at least 1; the least ones are taken",
)
RANK = Hypothesis(
    "Section 3, rank",
    "M* has rank r, and k is at least r",
    _has_rank,
    printed="L* = M* Z' has rank r, k >= r",
)
SMALL_RANK = Hypothesis(
    "Section 3, small rank",
    "r is at most a tenth of min(d, M)",
    lambda problem, participants: problem.k <= _MUCH * min(problem.d, problem.n),
    printed="r << min(d, M)",
    change="narrower",
)
NORMALIZED = Hypothesis(
    "Appendix C.4, rows",
    "rows of Z have norm 1",
    lambda problem, participants: bool(
        np.allclose(np.linalg.norm(problem.Z, axis=1), 1.0, rtol=_ROUNDING)
    ),
    printed="each row of Z is normalized",
)
EXPLAINED = Hypothesis(
    "Appendix B, side information",
    "some theta_2 has <theta_2, z_m> = b_m for all clients",
    _explains,
    printed="there exists theta_2 such that <theta_2, z_m> = b_m for all m",
)
NORMAL_NOISE = Hypothesis(
    "Appendix B, data",
    "covariates and label noise are normal, and independent",
    # Of the data that are drawn, of which a problem says nothing.
    lambda problem, participants: True,
    printed="p_x has mean zero and identity covariance, zeta_m is mean-zero random noise",
    change="narrower",
)
SAMPLING = Hypothesis(
    "Assumption C.1",
    "each client of a round is drawn independently and uniformly from all, so that one may be "
    "drawn twice",
    # How they are drawn is the algorithm's; that there are any is what can be asked here.
    lambda problem, participants: participants >= 1,
    printed="drawn independently from Unif({1, ..., M})",
)
START = Hypothesis(
    "Definition 3.1, start",
    "L(U_0, V_0) <= c_0 sigma_r^2 for a small enough c_0",
    # It asks nothing of the problem: every one has such starts.
    lambda problem, participants: True,
    printed="for some constants c_0, c",
    change="narrower",
)
NEAR = Hypothesis(
    "Theorem 3.3, start",
    "U_0 and V_0 are near factors of M* that are balanced",
    # It asks nothing of the problem: every one has such starts.
    lambda problem, participants: True,
    printed="L(U_0, V_0) <= c_0 sigma_r^2, and G_{T-1, tau}",
    change="corrected",
)
EVENT = Hypothesis(
    "Definition 3.1, event",
    "all conditions of A_{t,s}, also at A_{0,0}; the rank in the place of tau; rounds before t",
    lambda problem, participants: True,
    printed="c sigma_1 in A_{0,0}, tau in the bound on rows, t' from 1 to t",
    change="corrected",
)
STEP = Hypothesis(
    "Lemma C.8, step size",
    "eta <= sigma_r/(sqrt(k r) mu^(3/2) sigma_1^2)",
    # Of the algorithm, not of the problem.
    lambda problem, participants: True,
    printed="eta <= c' sigma_r/(sqrt(k r) mu^(3/2)), in the proof alone",
    change="corrected",
)
FRESH = Hypothesis(
    "Theorem 3.3, samples",
    "each local step sees an item drawn anew, uniformly from all",
    # Of the algorithm, not of the problem.
    lambda problem, participants: True,
    printed="fresh samples drawn on each local update",
)
REGION = Hypothesis(
    "Lemma C.6, region",
    "U and V are in D_beta at both points: norms are at most c sqrt(sigma_1)",
    # Of two points, not of the problem.
    lambda problem, participants: True,
)
#: Of what is stated about gradients and drift, about rounds, and about runs.
COMPLETION = (RANK, ASSUMPTION_3_2)
WITHIN = (*COMPLETION, EVENT)
SHORT_STEPS = (*WITHIN, STEP)
ROUNDS = (*WITHIN, SAMPLING)
RUNS = (*ROUNDS, START)
