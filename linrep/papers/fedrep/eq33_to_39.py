"""(33) to (39), in the proof of Lemma 3: one client's error, and the exponents of the union."""

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import everywhere
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, equal, law, measured
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model


@law(
    "fedrep.lemma3.eq33_39",
    "(33)-(39), in the proof of Lemma 3",
    r"H^i = \hat B^\top\Pi^i(\hat B\hat B^\top - I)\hat B^*, \quad \mathrm E H^i = 0, \quad"
    r"\tfrac{s}{\mathrm{dist}} = \max(\varepsilon, \varepsilon^2) \Rightarrow \min\big("
    r"\tfrac{s^2}{\mathrm{dist}^2}, \tfrac{s}{\mathrm{dist}}\big) = \varepsilon^2, \quad "
    r"9^{2k}e^{-c_1 k^2\log(rn)} \le e^{-111 k^2\log(rn)}, \quad "
    r"rn\,e^{-111 k^2\log(rn)} \le e^{-110 k^2\log(rn)} \quad (rn \ge 2)",
    over=model.Drawn(),
    wrong={"constant": 112},
    stronger={"constant": -1, "left": 1},
    hypotheses=[model.SUB_GAUSSIAN],
)
def eq33_39(budget, rng, *, constant=118, left=111):
    """One client's error in Lemma 3 has mean zero, and the exponents in the lemma's proof are
    right.
    """
    for n, m, d, k in ((1, 1, 2, 1), (3, 4, 7, 2), (5, 9, 6, 5), (4, 3, 9, 4)):
        for _ in range(budget(3, 20)):
            design = model.DESIGNS[rng.integers(len(model.DESIGNS))]
            at = {"n": n, "m": m, "d": d, "k": k, "design": design}
            truth, B = model.instance(n, d, k, rng, design=design)
            Pi = model.moments(model.batch_of(truth, m, rng)[0])
            D = B.T @ truth.B
            lacking = B @ D - truth.B
            H = B.T @ Pi @ B @ D - B.T @ Pi @ truth.B
            yield "(33)", relative(H, B.T @ Pi @ lacking, np.abs(Pi).max()), at
            yield "mean at covariance I", float(np.abs(B.T @ lacking).max()), at


@eq33_39.also
def exponents(budget, rng, *, constant=118, left=111):
    """Compare (37) and the union in fractions, the nets in interval arithmetic."""
    from flint import arb, fmpq

    def exact():
        for e in (Fraction(step, 20) for step in range(1, 61)):
            s = max(e, e**2)
            yield "(37)", equal(min(s**2, s), e**2), {"epsilon": str(e)}
        for rn, k in product((2, 3, 50, 1000), (1, 2, 5)):
            whole = at_most(Fraction(rn), Fraction(rn) ** (k**2))
            yield "all clients", whole, {"rn": rn, "k": k}

    yield from measured(exact(), strength=PROVED).values()
    # 2 k log 9 <= (c_1 - left) k^2 log(rn), with x = 1/k and y = 1/log(rn) <= 1/log 2.
    spare = Fraction(constant - left)
    yield everywhere(
        lambda x, y: 2 * arb(9).log() * x * y,
        lambda x, y: fmpq(spare.numerator, spare.denominator) + 0 * x,
        {"x": (0, 1), "y": (0, Fraction(14427, 10_000))},
        name="(38)",
    )
