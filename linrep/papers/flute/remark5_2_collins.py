"""Section 1 and Remark 5.2: FLUTE's samples beside those of over-parameterized FedRep."""

import math
from itertools import pairwise

from linrep.claims import Readings, proved, statement
from linrep.claims.laws import at_most, measured


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

    def both(d, M):
        return max(d, M) / M, d / M + logarithm * math.log(M)

    def found():
        for M in sizes:
            for d in sizes:
                (ours, theirs), where = both(d, M), {"d": d, "M": M}
                yield "at fixed epsilon", at_most(ours, theirs), where
                yield "at any epsilon", at_most(100.0 * ours, theirs), {**where, "epsilon": 0.1}
                if d >= M:
                    yield "no higher power of d", at_most(ours, theirs), where
            ours, theirs = both(10**8 * M, M)
            yield "a smaller power of d", at_most(ours, theirs / 2.0), {"d": 10**8 * M, "M": M}
        for d in sizes:
            for M, later in pairwise(M for M in sizes if max(3, d) <= M):
                (one, other), (ours, theirs) = both(d, M), both(d, later)
                falls = at_most(ours / theirs, one / other)
                yield "in M >= d: the share falls", falls, {"d": d, "M": M, "next M": later}

    parts = measured(found(), quantity="max(d, M)/M")
    parts = {
        name: part if name == "at any epsilon" else proved(part) for name, part in parts.items()
    }
    yield Readings(
        [parts["at fixed epsilon"], parts["at any epsilon"]], name="at most as many",
        phrase="it outperforms the sample complexity ... in both M and d",
    )  # fmt: skip
    yield parts["in M >= d: the share falls"]
    yield Readings(
        [parts["no higher power of d"], parts["a smaller power of d"]], name="in d",
        phrase="in terms of both M and d",
    )  # fmt: skip
