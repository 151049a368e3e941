"""Definition 3.1 and Section 4.1: when a problem is under-parameterized, and what clients fit."""

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Identity, statement
from linrep.claims.evidence import FAILS, PROVED
from linrep.papers.flute.counterexamples import local_span as other_column
from linrep.problems import LowRankRegression

SIZES = ((3, 3), (5, 3), (3, 5), (6, 6))  # d, n
SMALL = 1e-9  # starts of local descents
DESCENT = 1e-6


@statement(
    "flute.definition3.1",
    place="Definition 3.1 and Section 3",
    latex=r"\exists\, B \in \mathbb R^{d \times k}, W \in \mathbb R^{k \times M}:\ BW = \Phi"
    r" \iff r \le k",
    plain="The linear problem is under-parameterized exactly if the rank of Phi is above k.",
    negative_control={"spare": 1},
    stronger={"nearest": 1},
)
def definition(budget, rng, *, spare=0, nearest=1.0):
    """Measure how far the best model of rank k is from Phi, for all k and ranks r."""
    fits, misses = [], []
    for d, n in SIZES:
        for r in range(1, min(d, n) + 1):
            for _ in range(budget(2, 10)):
                values = np.sort(10.0 ** rng.uniform(-2.0, 2.0, r))[::-1]
                truth = LowRankRegression.random(n=n, d=d, singular_values=values, rng=rng)
                for k in range(1, min(d, n) + 1):
                    best, where = truth.best(k), {"d": d, "n": n, "r": r, "k": k}
                    left = float(np.linalg.norm(best.B @ best.W.T - truth.Phi))
                    if k + spare >= r:
                        fits.append((left / float(values[0]), where))
                    else:
                        misses.append((float(nearest * values[r - 1]), left * (1 + 1e-9), where))
    yield Identity(fits, 1e-12, name="r <= k: BW = Phi", strength=PROVED)
    name = "r > k: none nearer than lambda_r"
    yield Cases(misses, quantity="lambda_r", name=name, strength=PROVED)


def local(phi, k, rng):
    """Return B where descent on |Bw - phi|^2 ends, from a start of size `SMALL`."""
    B, w = SMALL * rng.standard_normal((len(phi), k)), SMALL * rng.standard_normal(k)
    step = 0.2 / np.linalg.norm(phi)
    for _ in range(4000):
        error = B @ w - phi
        if np.linalg.norm(error) < 1e-13 * np.linalg.norm(phi):
            break
        B, w = B - step * np.outer(error, w), w - step * B.T @ error
    return B


def of_least_norm(budget, rng, missing):
    """Yield what minimizers for each client alone have outside the span of the best one."""
    for d, n in SIZES:
        for _ in range(budget(2, 10)):
            r = int(rng.integers(2, min(d, n) + 1))
            values = np.linspace(2.0, 1.0, r)
            truth = LowRankRegression.random(n=n, d=d, singular_values=values, rng=rng)
            k = r - missing if missing else int(rng.integers(r, min(d, n) + 1))
            basis = truth.svd[0][:, : min(k, r)]  # in the span of every B*, if k >= r
            for i in range(n):
                B = local(truth.Phi[:, i], k, rng)
                outside = np.linalg.norm(B - basis @ (basis.T @ B)) / np.linalg.norm(B)
                yield float(outside), {"d": d, "n": n, "r": r, "k": k, "client": i}


@statement(
    "flute.local_span",
    place="Section 4.1, locally optimized representations",
    latex=r"k \ge r:\ \mathrm{span}(B_i^\diamond) \subseteq \mathrm{span}(B^*)\ \forall i;"
    r" \qquad k < r:\ \mathrm{span}(B_i^\diamond) \not\subset \mathrm{span}(B^*) \text{ possible}",
    plain="Representations that clients fit alone lie in the span of the best one if k >= r, and "
    "may not if k < r.",
    expected=FAILS,
    negative_control={"missing": 1},
)
def local_span(budget, rng, *, missing=0, least=False):
    """Take a minimizer whose second column is its own, or fit those of least norm.

    For k >= 2 a minimizer's other columns may be anything, for k > r those of B* as well.
    """
    if least:
        yield Identity(
            of_least_norm(budget, rng, missing), DESCENT, strength=PROVED,
            name="k >= r: minimizers of least norm", quantity="share outside the span of B*",
        )  # fmt: skip
    else:
        quantity = "square of what e_3 has outside the span of B*"
        only = [(*other_column.sides(), other_column.INSTANCE)]
        yield Cases(only, name="k >= r: every minimizer", quantity=quantity)
    # Phi = diag(2, 1), k = 1: B* = e_1, client 2's model is e_2.
    yield Cases(
        [(Fraction(0), Fraction(1), {"Phi": [[2, 0], [0, 1]], "k": 1, "client": 2})],
        name="k < r: possible", strength=PROVED,
        quantity="square of what B_2 has outside the span of B*",
    )  # fmt: skip


local_span.corrected(
    "flute.local_span.corrected",
    latex=r"k \ge r:\ \mathrm{span}(B_i^\diamond) \subseteq \mathrm{span}(B^*)\ \forall i, \quad"
    r" B_i^\diamond \text{ of least norm}; \qquad k < r:\ \not\subset \text{ possible}",
    plain="Representations of least norm that clients fit alone lie in the span of the best one if "
    "k >= r.",
    constants={"least": True},
    negative_control={"missing": 1},
)
