"""Section 4.2, below (9): which pairs are global minima, and what data say about B*."""

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Cases, Identity, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.claims.measurements import relative
from linrep.papers.fedrep.counterexamples.global_minima import inverse, loss, printed, times
from linrep.papers.fedrep.model import SUB_GAUSSIAN, displays, instance
from linrep.problems.subspace import distance, random_frame

#: Heads of norm sqrt(2), of two clients and of three; B* is the first two columns of I.
HEADS = (((1, 1), (1, -1)), ((1, 1), (1, -1), (-1, 1)))
CHANGES = (((1, 1), (0, 1)), ((2, 1), (1, 1)), ((0, -3), (1, 2)), ((1, 0), (0, 1)))


@statement(
    "fedrep.global_minima",
    place="Section 4.2, below (9)",
    latex=r"(Q^{-1}W^*, B^*Q^\top) \in \arg\min F \quad \text{for every invertible } Q",
    plain="The pairs (Q^-1 W*, B* Q') are global minima of FedRep's objective.",
    hypotheses=[SUB_GAUSSIAN],
    negative_control={"excess": 1},
)
def global_minima(budget, rng, *, pair="printed", excess=0):
    """Compute the loss of the pairs in fractions, for two clients and three, and four Q."""

    def exact():
        for matrices in product(HEADS, CHANGES):
            W, Q = ([[Fraction(x) for x in row] for row in matrix] for matrix in matrices)
            found = printed(W, Q) if pair == "printed" else {pair: times(W, inverse(Q))}
            at = {"W": [list(map(int, row)) for row in W], "Q": [list(map(int, row)) for row in Q]}
            for name, heads in found.items():
                missed = loss(heads, W, Q) + excess * Fraction(1, 2)
                yield name, at_most(missed, Fraction(0)), at

    def factorizations():
        for _ in range(budget(20, 100)):
            k = int(rng.integers(1, 5))
            truth, _ = instance(int(rng.integers(k, 9)), int(rng.integers(k, 12)), k, rng)
            left, values, right = np.linalg.svd(truth.theta, full_matrices=False)
            turn = random_frame(k, k, rng)
            W, B = left[:, :k] * values[:k] @ turn, right[:k].T @ turn
            Q = B.T @ truth.B
            error = max(relative(W @ Q, truth.W), relative(truth.B @ Q.T, B))
            at = {"n": truth.n, "d": truth.d, "k": k}
            yield "there are no others", error / (values[0] / values[k - 1]), at

    parts = list(measured(exact(), quantity="loss", strength=PROVED).values())
    if pair == "printed":
        yield Readings(parts, name="(Q^-1 W*, B* Q')", phrase="(Q^-1 W*, B* Q')")
    else:
        yield from parts
        yield from displays(factorizations(), 1e-9).values()


global_minima.corrected(
    "fedrep.global_minima.corrected",
    latex=r"\{(W^*Q^{-1}, B^*Q^\top): Q \text{ invertible}\} = \arg\min F \quad "
    r"\text{if } \mathrm{rank}\,W^* = k",
    plain="The pairs (W* Q^-1, B* Q') are global minima, and (7) has no others if W* has rank k.",
    constants={"pair": "W* Q^-1"},
    negative_control={"excess": 1},
)


@statement(
    "fedrep.assumption2.needed",
    place="Section 4.2, below Assumption 2",
    latex=r"\mathrm{span}\{w_i^*\} \ne \mathbb R^k,\ d > k \implies"
    r"\text{the data do not determine } \mathrm{col}(B^*)",
    plain="Where the clients' heads do not span R^k, B* cannot be recovered.",
    negative_control={"missing": 0},
)
def needed(budget, rng, *, missing=1):
    """Build another B* of the same data; or let rounds have fewer participants than k."""
    same, ends = [], []
    for n, d, k in ((1, 4, 2), (6, 9, 3), (5, 8, 4), *[(3, 2, 1)] * (not missing)):
        for _ in range(budget(3, 20)):
            truth, _ = instance(max(n, k), d, k, rng)
            basis = random_frame(k, k, rng)
            kept = basis[:, : k - missing]
            W = truth.W[:n] @ kept @ kept.T  # heads that span fewer dimensions
            other = truth.B @ basis
            # Its last column is orthogonal to B*.
            columns = np.hstack([truth.B, rng.standard_normal((d, 1))])
            other[:, -1] = np.linalg.qr(columns)[0][:, -1]
            theta = W @ basis @ other.T  # the other truth's, with heads in its own coordinates
            error = max(relative(theta, W @ truth.B.T), abs(1.0 - distance(other, truth.B)))
            same.append((error, {"n": n, "d": d, "k": k}))
    for (n, k), seed in (((10, 2), 0), ((12, 3), 1)):
        truth = lr.SharedRepresentation.random(n=n, d=10, k=k, rng=seed)
        trace = lr.fedrep(
            truth, m=40, rounds=3000, participation=1.0 / n, start=0.5, batches="gram",
            step_size=0.25 / k, tolerance=1e-6, rng=seed,
        )  # fmt: skip
        ends.append((1e-3, float(trace["distance"][-1]), {"n": n, "k": k, "rn": 1}))
    parts = [
        Identity(
            same, 1e-10, name="heads of all clients", strength=PROVED,
            quantity="deviation of the data, or of the distance from 1",
        ),
        Cases(ends, name="heads of each round, rn < k", quantity="distance not reached"),
    ]  # fmt: skip
    phrase = "if we do not have client solutions that span R^k"
    yield Readings(parts, name="who does not span R^k", phrase=phrase)
