"""Section 1 and Remark 5.2: FLUTE's samples beside those of over-parameterized FedRep."""

import math

from linrep.claims.laws import Grid, at_most, law

SIZES = [1, 2, 3, 5, *(round(10 ** (i / 2)) for i in range(2, 13))]


@law(
    "flute.remark5.2.collins", "Section 1 and Remark 5.2",
    r"\tilde O\Big(\frac{\max\{d, M\}}{M\epsilon^2}\Big) \text{ against }"
    r" O\Big(\frac dM + \log M\Big) \text{ in } M \text{ and in } d",
    over=Grid(M=SIZES, d=SIZES),
    reads={
        "it outperforms the sample complexity ... in both M and d": {
            name: [name] for name in ("at fixed epsilon", "at any epsilon")
        },
        "in terms of both M and d": {
            name: [name] for name in ("no higher power of d", "a smaller power of d")
        },
    },
    underived=["at any epsilon"], wrong={"logarithm": 0.0}, stronger={"logarithm": -1},
)  # fmt: skip
def collins(M, d, *, logarithm=1.0):
    """At fixed epsilon FLUTE's max(d, M)/M is at most the d/M + log M of Collins et al."""
    # That of Collins et al. does not depend on epsilon, up to logarithms: for epsilon -> 0 at fixed
    # M and d FLUTE's is the larger one.

    def both(d, M):
        return max(d, M) / M, d / M + logarithm * math.log(M)

    (ours, theirs), (large, other) = both(d, M), both(10**8 * M, M)
    yield "at fixed epsilon", at_most(ours, theirs)
    yield "at any epsilon", at_most(100.0 * ours, theirs), {"epsilon": 0.1}
    if d >= M:
        yield "no higher power of d", at_most(ours, theirs)
    yield "a smaller power of d", at_most(large, other / 2.0), {"d": 10**8 * M}
    if max(3, d) <= M:
        more, further = both(d, 3 * M)
        yield (
            "in M >= d: the share falls",
            at_most(more / further, ours / theirs),
            {"next M": 3 * M},
        )
