"""Section 1 and Remark 5.2: FLUTE's samples beside those of over-parameterized FedRep."""

import math
from itertools import product

from linrep.claims import Readings, proved, statement
from linrep.claims.laws import at_most, measured

SIZES = [1, 2, 3, 5, *(round(10 ** (i / 2)) for i in range(2, 13))]


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
    """Compare both expressions along M and along d.

    That of Collins et al. does not depend on epsilon, up to logarithms: for epsilon -> 0 at fixed
    M and d FLUTE's is the larger one.
    """

    def both(d, M):
        return max(d, M) / M, d / M + logarithm * math.log(M)

    def found():
        for M, d in product(SIZES, SIZES):
            (ours, theirs), (large, other), where = both(d, M), both(10**8 * M, M), {"d": d, "M": M}
            yield "at fixed epsilon", at_most(ours, theirs), where
            yield "at any epsilon", at_most(100.0 * ours, theirs), {**where, "epsilon": 0.1}
            if d >= M:
                yield "no higher power of d", at_most(ours, theirs), where
            yield "a smaller power of d", at_most(large, other / 2.0), {"d": 10**8 * M, "M": M}
            if max(3, d) <= M:
                more, further = both(d, 3 * M)
                falls = at_most(more / further, ours / theirs)
                yield "in M >= d: the share falls", falls, {**where, "next M": 3 * M}

    epsilon = "at fixed epsilon", "at any epsilon"
    power = "no higher power of d", "a smaller power of d"
    parts = measured(found(), quantity="max(d, M)/M")
    parts |= {name: proved(part) for name, part in parts.items() if name != epsilon[1]}
    yield Readings(
        list(map(parts.pop, epsilon)), name="at most as many",
        phrase="it outperforms the sample complexity ... in both M and d",
    )  # fmt: skip
    yield Readings(list(map(parts.pop, power)), name="in d", phrase="in terms of both M and d")
    yield from parts.values()
