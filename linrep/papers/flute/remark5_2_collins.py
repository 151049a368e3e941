"""Section 1 and Remark 5.2: FLUTE's samples beside those of over-parameterized FedRep."""

from __future__ import annotations

import math
from itertools import pairwise

from linrep.claims import Cases, Fact, Readings, statement
from linrep.claims.evidence import PROVED


def _bounds(d, M, logarithm):
    """Return max(d, M)/M and d/M + log M, the constants, epsilon and the spectrum held."""
    return max(d, M) / M, d / M + logarithm * math.log(M)


@statement(
    "flute.remark5.2.collins",
    place="Section 1 and Remark 5.2",
    latex=r"\tilde O\Big(\frac{\max\{d, M\}}{M\epsilon^2}\Big) \text{ against }"
    r" O\Big(\frac dM + \log M\Big) \text{ in } M \text{ and in } d",
    plain="At fixed epsilon FLUTE's max(d, M)/M is at most the d/M + log M of Collins et al.",
    negative_control={"logarithm": 0.0},
    stronger={"logarithm": -1},
)
def collins(budget, rng, *, logarithm=1.0):
    """Compare both expressions along M and along d, epsilon being fixed.

    That of Collins et al. does not depend on epsilon, up to logarithms: for epsilon -> 0 at fixed
    M and d FLUTE's is the larger one.
    """
    sizes = [1, 2, 3, 5, *(round(10 ** (i / 2)) for i in range(2, 13))]
    below, flat, smaller = [], [], []
    for M in sizes:
        for d in sizes:
            ours, theirs = _bounds(d, M, logarithm)
            below.append((ours, theirs, {"d": d, "M": M}))
        ours, theirs = _bounds(10**8 * M, M, logarithm)
        smaller.append((ours, theirs / 2.0, {"d": 10**8 * M, "M": M}))
    for d in sizes:
        row = [(M, *_bounds(d, M, logarithm)) for M in sizes if max(3, d) <= M]
        for (M, one, other), (later, ours, theirs) in pairwise(row):
            where = {"d": d, "M": M, "next M": later}
            flat.append((ours / theirs * (1.0 - 1e-12), one / other, where))
    fine = [(100.0 * ours, theirs, {**where, "epsilon": 0.1}) for ours, theirs, where in below]
    yield Readings(
        [
            Cases(below, name="at fixed epsilon", quantity="max(d, M)/M", strength=PROVED),
            Cases(fine, name="at any epsilon", quantity="max(d, M)/(M epsilon^2)"),
        ],
        name="at most as many",
        phrase="it outperforms the sample complexity ... in both M and d",
    )
    yield Cases(flat, name="in M >= d: the share falls", quantity="product across", strength=PROVED)
    yield Readings(
        [
            Cases(
                [(a, b, w) for a, b, w in below if w["d"] >= w["M"]],
                name="no higher power of d",
                quantity="max(d, M)/M",
                strength=PROVED,
            ),
            Cases(smaller, name="a smaller power of d", quantity="max(d, M)/M", strength=PROVED),
        ],
        name="in d",
        phrase="in terms of both M and d",
    )
    ours, theirs = _bounds(10**8, 10, logarithm)
    yield Fact("FLUTE's over theirs as d -> oo, epsilon = 1, M = 10", ours / theirs)
