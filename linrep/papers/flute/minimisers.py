"""(2) and (4): they have the same minimisers, and FedRep, which sends no heads, ends at one."""

from dataclasses import replace

import numpy as np
from numpy.linalg import norm

from linrep.algorithms import fedrep, fit_heads, flute, gaussian_start
from linrep.claims import Cases, statement
from linrep.claims.evidence import FAILS
from linrep.claims.laws import Arrays, at_most, equal, law
from linrep.papers.flute.eq4_to_6 import data_term, regularizer
from linrep.papers.flute.model import GAUSSIAN
from linrep.problems import LowRankRegression
from linrep.problems.subspace import orthonormalize


def balanced(B, W):
    """Return the factors of BW', heads in rows, that are balanced, from its decomposition."""
    left, values, right = np.linalg.svd(B @ W.T, full_matrices=False)
    k = B.shape[1]
    root = np.sqrt(values[:k])
    return left[:, :k] * root, right[:k].T * root


@law(
    "flute.same-minimisers", "implied by (2) and (4)",
    r"\gamma_1 = 2\gamma_2:\quad \min (4) = \min (2),\quad \text{the same } BW;\quad"
    r" \nabla(4) = 0 \iff \nabla(2) = 0 \text{ and } B^\top B = WW^\top",
    over=Arrays(B="dk", W="nk", G="dn"), own=True,
    wrong={"ratio": 1.95}, stronger={"ratio": 0},
)  # fmt: skip
def same_minimisers(B, W, G, *, ratio=2.0):
    """With gamma_1 = 2 gamma_2 the regularizer changes no minimum, it only balances factors."""
    even, (P, Q) = balanced(B, W), (B.T @ B, W.T @ W)
    # A loss of the models alone has gradients GW and G'B, heads in rows; gamma_2 is 1.
    in_B = G @ W + 4 * B @ P - 2 * ratio * B @ Q
    in_W = G.T @ B + 4 * W @ Q - 2 * ratio * W @ P
    apart = B.T @ in_B - in_W.T @ W - 4 * (P @ P - Q @ Q)
    terms = 2 * norm(B.T) * norm(G) * norm(W) + 4 * (norm(B) + norm(W)) ** 4
    penalty, size = (regularizer(even[0], even[1], gamma1, 1.0) for gamma1 in (ratio, 0.0))
    of_any, largest = (regularizer(B, W, gamma1, 1.0) for gamma1 in (ratio, 0.0))
    slope = 4 * even[0] @ (even[0].T @ even[0]) - 2 * ratio * even[0] @ (even[1].T @ even[1])
    steep = 4 * norm(even[0]) ** 3
    return {
        "no penalty is negative": at_most(largest, largest + of_any),
        "balanced factors: no slope of it": equal(steep + norm(slope), steep),
        "balanced factors: the same models": equal(even[0] @ even[1].T, B @ W.T),
        "balanced factors: no penalty": equal(size + penalty, size),
        "stationary: (B'B)^2 = (WW')^2": equal(terms + norm(apart), terms),
    }


@statement(
    "flute.heads_sent",
    place="Section 4.3",
    latex=r"k < r,\ \text{heads not sent} \Rightarrow \min (2) \text{ is not reached}",
    plain="Where k is below the rank, a method whose server gets no heads, as FedRep's, does not "
    "reach the loss at which FLUTE ends.",
    hypotheses=(GAUSSIAN,),
    negative_control={"share": 0.01},
    holds_with={"other": "one model"},
    expected=FAILS,
)
def heads_sent(budget, rng, *, other="FedRep", share=1.0 - 1e-6):
    """Run both on the same samples, from the same random start; FedRep sends no heads."""
    n, d, cases = 8, 5, []
    for _ in range(budget(2, 6, 20)):
        k, values = int(rng.integers(1, 4)), 1.0 / np.arange(1, d + 1)
        truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.1, rng=rng)
        data = truth.draw(20 * d, rng=rng)
        start = gaussian_start(n, d, k, 0.1, rng)
        ours = flute(
            data, k=k, start=start, step_size=0.05, rounds=100_000, record=100_000, tolerance=1e-11
        ).state
        known = replace(data, truth=truth.representation(k))
        frame = fedrep(known, k=k, start=orthonormalize(start[0]), rounds=10_000).state["B"]
        one = np.linalg.lstsq(data.X, data.y)[0]
        factors = {
            "FLUTE": (ours["B"], ours["W"]), "FedRep": (frame, fit_heads(data, frame)),
            "one model": (one[:, None], np.ones((n, 1))),
        }  # fmt: skip
        losses = {name: data_term(*pair, data, 0.5) for name, pair in factors.items()}
        where = {"n": n, "d": d, "k": k, "rank": d, **losses}
        cases.append((losses["FLUTE"], share * losses[other], where))
    yield Cases(cases, quantity="FLUTE's loss", name=f"below that of {other}")
