"""Definition 3: row-wise incoherence."""

import numpy as np
from numpy.linalg import norm

from linrep.claims import search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import relative
from linrep.papers.fedrep.model import (
    DIVERSE,
    NORMALIZED,
    displays,
    instance,
    misprinted,
    read_heads,
)

MEANT, PRINTED = "Assumption 3 is meant", "Assumption 2 as printed"


@statement(
    "fedrep.definition3",
    place="Definition 3, Section 4.2, (34)",
    latex=r"\max_i\|m_i\|_2 \le \frac{\mu\sqrt{d_2}}{\sqrt{d_1}}\|M\|_F; \qquad"
    r"\text{Assumption 3} \Rightarrow \mu(W^*) = 1, \qquad"
    r"\|w_i^*\|_2^2 \le \frac{k}{rn}\|W^*\|_2^2",
    plain="Normalized heads make W* and W* B*' row-wise incoherent with parameter 1.",
    stronger={"parameter": -1},
    negative_control={"parameter": 0.9},
    hypotheses=(NORMALIZED,),
)
def definition3(budget, rng, *, parameter=1.0, sentence="Definition 3"):
    """Compute the smallest parameters with and without equal row norms; search for (34)."""
    found = displays(parameters(budget, rng, parameter), but=[PRINTED])
    meant, printed = found.pop(MEANT), found.pop(PRINTED)
    if sentence == "Section 4.2":
        place = "Appendix B.1, below Definition 3"
        yield misprinted(meant, printed, place, name="what ensures it")
        return

    def incoherence(W):
        n, k = W.shape
        return norm(W, axis=1).max(), parameter * np.sqrt(k / n) * norm(W)

    def spectral(W):
        n, k = W.shape
        return k, k / n * norm(W, 2) ** 2 * parameter

    shapes = [{"n": n, "k": k} for n, k in ((1, 1), (2, 2), (3, 2), (6, 3))]
    for name, sides in (("Assumption 3: W* has parameter 1", incoherence), ("(34)", spectral)):
        yield search_instances(sides, shapes, read_heads, budget, rng, name=name, strength=PROVED)
    yield from found.values()


def parameters(budget, rng, parameter):
    """Yield how far smallest parameters are from what they should be, or above what they may be."""
    for n, d, k in ((2, 2, 1), (8, 5, 2), (12, 4, 2), (10, 30, 3), (9, 40, 8), (13, 3, 2)):
        at = {"n": n, "d": d, "k": k}
        for _ in range(budget(3, 20, 200)):
            truth, _ = instance(n, d, k, rng)
            least = smallest(truth.theta)
            error = relative(smallest(truth.W), k**-0.5)
            yield "smallest parameter of W* is 1/sqrt(k)", error, at
            yield "smallest parameter of W* B*' is 1/sqrt(d)", relative(least, d**-0.5), at
            yield MEANT, max(0.0, least - parameter), at
            # One client's head stretched: any rn heads that spanned R^k still do.
            uneven = truth.with_heads(truth.W * np.where(np.arange(n) == 0, 1e3, 1.0)[:, None])
            if DIVERSE(uneven, max(k, 3 * n // 4)):
                yield PRINTED, max(0.0, smallest(uneven.theta) - parameter), at


def smallest(M):
    """Return the smallest parameter for which a matrix is row-wise incoherent."""
    d1, d2 = M.shape
    return float(norm(M, axis=1).max() * np.sqrt(d1 / d2) / norm(M))


assumption2 = statement(
    "fedrep.definition3.assumption2",
    place="Section 4.2, below Assumption 3",
    latex=r"\bar\sigma_{\min,*} > 0 \Rightarrow \mu(W^*B^{*\top}) = 1",
    plain="Assumption 2, client diversity, ensures that the models W* B*' are row-wise incoherent.",
    constants={"sentence": "Section 4.2"},
    negative_control={"parameter": 0.5},
    hypotheses=[DIVERSE],
)(definition3)
