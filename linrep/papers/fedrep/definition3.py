"""Definition 3: row-wise incoherence."""

from __future__ import annotations

import numpy as np

from linrep.claims import Fact, Identity, proved, search_instances, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep._common import DIVERSE, NORMALIZED, instance, misprinted, read_heads


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
    heads, products = [], []
    text: dict[str, list] = {"Assumption 3 is meant": [], "Assumption 2 as printed": []}
    alone = {"heads": 0.0, "models": 0.0}
    for n, d, k in ((2, 2, 1), (8, 5, 2), (12, 4, 2), (10, 30, 3), (9, 40, 8), (13, 3, 2)):
        where = {"n": n, "d": d, "k": k}
        for _ in range(budget(3, 20, 200)):
            truth, _ = instance(n, d, k, rng)
            heads.append((relative(_parameter(truth.W), k**-0.5), where))
            products.append((relative(_parameter(truth.theta), d**-0.5), where))
            excess = max(0.0, _parameter(truth.theta) - parameter)
            text["Assumption 3 is meant"].append((excess, where))
            # One client's head stretched: any rn heads that spanned R^k still do.
            uneven = truth.with_heads(truth.W * np.where(np.arange(n) == 0, 1e3, 1.0)[:, None])
            if not DIVERSE(uneven, max(k, 3 * n // 4)):
                continue
            value = _parameter(uneven.theta)
            text["Assumption 2 as printed"].append((max(0.0, value - parameter), where))
            alone["heads"] = max(alone["heads"], _parameter(uneven.W) / np.sqrt(n / k))
            alone["models"] = max(alone["models"], value / np.sqrt(n / d))

    def incoherence(W):
        n, k = W.shape
        return np.linalg.norm(W, axis=1).max(), parameter * np.sqrt(k / n) * np.linalg.norm(W)

    def spectral(W):
        n, k = W.shape
        return k, k / n * np.linalg.norm(W, 2) ** 2 * parameter

    shapes = [{"n": n, "k": k} for n, k in ((1, 1), (2, 2), (3, 2), (6, 3))]
    if sentence == "Section 4.2":
        item = misprinted(text, "Appendix B.1, below Definition 3", name="what ensures it")
        yield proved(item, but=["Assumption 2 as printed"])
        for name, value in alone.items():
            of = {
                "heads": "W*, one head stretched, over sqrt(n/k)",
                "models": "W* B*', one head stretched, over sqrt(n/d)",
            }[name]
            yield Fact(f"largest parameter of {of}", value)
        return
    for name, sides in (("Assumption 3: W* has parameter 1", incoherence), ("(34)", spectral)):
        yield search_instances(sides, shapes, read_heads, budget, rng, name=name, strength=PROVED)
    found = [
        Identity(heads, 1e-12, name="smallest parameter of W* is 1/sqrt(k)"),
        Identity(products, 1e-12, name="smallest parameter of W* B*' is 1/sqrt(d)"),
    ]
    yield from map(proved, found)


assumption2 = statement(
    "fedrep.definition3.assumption2",
    place="Section 4.2, below Assumption 3",
    latex=r"\bar\sigma_{\min,*} > 0 \Rightarrow \mu(W^*B^{*\top}) = 1",
    plain="Assumption 2, client diversity, ensures that the models W* B*' are row-wise incoherent.",
    constants={"sentence": "Section 4.2"},
    negative_control={"parameter": 0.5},
    hypotheses=[DIVERSE],
)(definition3)


def _parameter(M):
    """Return the smallest parameter for which a matrix is row-wise incoherent."""
    d1, d2 = M.shape
    return float(np.linalg.norm(M, axis=1).max() * np.sqrt(d1 / d2) / np.linalg.norm(M))
