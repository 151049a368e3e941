"""Appendix A.2.4: from the lifted iterate to the clients' mean error."""

import numpy as np
from numpy.linalg import norm

from linrep.claims.laws import Arrays, Open, Region, at_most, equal, law, lines
from linrep.problems import LowRankRegression


@law(
    "flute.appendixA24", "Appendix A.2.4",
    r"\tfrac1M\sum_i\|Bw_i - B^*w_i^*\| \le \tfrac1{\sqrt M}\|BW - B^*W^*\|_F,\quad"
    r" \|BW - B^*W^*\|_F = \|\tilde B\tilde W - \mathrm{diag}(\Lambda_k, 0)\|_F,\quad"
    r" 400\kappa\sqrt k\rho^{t-T_{\mathcal R}} = c_4\kappa\sqrt k\rho^t",
    over=Arrays(Phi="dn", B="dk", W="nk"),
    wrong={"root": 0.6}, stronger={"root": 1},
)  # fmt: skip
def appendix(Phi, B, W, *, root=0.5):
    """A rotation, Cauchy-Schwarz and the rounds before R turn the bound on Theta into (8)."""
    (d, n), k = Phi.shape, B.shape[1]
    if k > min(d, n):
        return None
    truth = LowRankRegression(Phi)
    U, values, V = truth.svd
    error = B @ W.T - truth.best(k).Phi
    diagonal = np.zeros((d, n))
    diagonal[range(k), range(k)] = values[:k]
    return {
        "singular bases as coordinates": equal(norm(U.T @ B @ W.T @ V - diagonal), norm(error)),
        "Cauchy-Schwarz": at_most(norm(error, axis=0).mean(), norm(error) / n**root),
    }


@appendix.attained("errors of one length", "Cauchy-Schwarz", x="d", others="n")
def one_length(x, others):
    """Return a truth whose models are the same, and B = 0."""
    d, n = len(x) + 1, len(others)
    return {
        "Phi": np.outer(np.append(x, 1.0), np.ones(n)), "B": np.zeros((d, 1)), "W": np.ones((n, 1)),
    }  # fmt: skip


@lines("flute.appendixA24", Region(entered=(Open(0), 1), later=(Open(0), 1)))
def c_4(entered, later):
    """Of the powers T_R and t - T_R of 1 - eta Delta/16."""
    return {
        "c_4 counts the rounds before R": equal(400 * later, 400 / entered * (entered * later)),
    }


@appendix.also
def rounds_before_R(budget, rng, *, root=0.5):
    """Compare c_4 rho^t with what the rounds in R give."""
    yield c_4.measure()
