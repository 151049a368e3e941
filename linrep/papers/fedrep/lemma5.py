"""Lemma 5: how near the gradient is to its mean."""

from fractions import Fraction as Q

import numpy as np
import pandas as pd

from linrep.claims import Constant, Mean, everywhere, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Region, at_most, lines
from linrep.claims.measurements import Array
from linrep.claims.tables import cells, table
from linrep.papers.fedrep import model
from linrep.theory.fedrep_limits import gradient_bias

#: Samples m >= 2k + 4, so that heads of Gaussian batches have fourth moments; then dimension, rank,
#: distance, and angles. Those of the quick budget come first.
FIXED_M = [
    (8, 10, 1, 0.5, "equal"), (16, 10, 4, 0.9, "equal"), (8, 4, 2, 0.05, "equal"),
    (6, 4, 1, 0.5, "single"), (16, 4, 2, 0.5, "equal"), (8, 20, 1, 0.9, "equal"),
    (20, 20, 8, 0.05, "equal"),
]  # fmt: skip
NAMES = ["m", "d", "k", "distance", "angles"]
LABEL = "c that Lemma 5 needs"


def constant(step, m, d, distance, powers, bias: Array | float = 0.0):
    """Return the constant that Lemma 5 needs in one step; the bias is taken off its left side."""
    k_power, d_power, size_power = powers
    rn, k = step.heads.shape
    left = np.linalg.norm(step.error - bias, 2)
    return left / (k**k_power * d**d_power / (rn * m) ** size_power * distance)


def along_clients(budget, rng, powers, *, split=False, centred=False):
    """Yield Lemma 5's constant along rn at fixed m, and along m = sqrt(rn): bounded in both."""
    label = "c needed beside the mean" if centred else LABEL

    def one(rn, m, d, k, distance, angles):
        W, (C, Phi) = model.sphere_heads(rn, k, rng), model.tilt(k, distance, angles)
        step = model.gaussian_step(W, C, Phi, m, d, rng, split=split)
        bias = np.zeros((d, k))
        if centred:
            blocks = np.vstack(gradient_bias(W, C, Phi, m=m))
            bias[: len(blocks)] = blocks
        return constant(step, m, d, distance, powers, bias)

    settings = [dict(zip(NAMES, size, strict=True)) for size in FIXED_M[: budget(2, 7)]]
    far = [settings[place] for place in budget((), (0, 2))]  # up to more clients
    near = [each for each in settings if each not in far]
    fixed = [table(cells(each, rn=[100, 550, 3000]), one, budget(500, 1600, 5000)) for each in near]
    fixed += [table(cells(each, rn=[100, 1700, 30_000]), one, budget(0, 600, 2000)) for each in far]
    yield Constant(pd.concat(fixed), ["rn"], by=NAMES, name="fixed m", label=label)
    path = [
        {"rn": rn, "m": int(np.sqrt(rn)), "d": 4, "k": 1, "distance": 0.5, "angles": "equal"}
        for rn in budget([400, 2500, 10_000], [400, 3600, 32_400])
    ]
    along = table(path, one, budget(250, 1200, 3000))
    yield Constant(along, ["rn"], name="m = sqrt(rn)", label=label)


@statement(
    "fedrep.lemma5",
    place="Lemma 5 (41)",
    latex=r"\frac{1}{rn} \Big\|\Big(\frac1m A^*A(Q) - Q\Big)^\top W\Big\|_2 \le \delta_k'\,"
    r"\mathrm{dist}(\hat B, \hat B^*), \quad \delta_k' = c\,k\sqrt{d/(rnm)} \le k, \quad"
    r"\text{w.p. } 1 - e^{-110 d} - e^{-110 k^2\log(rn)}",
    plain="The gradient is close to its mean even on the batch on which the heads are fitted.",
    hypotheses=model.ASSUMPTIONS,
    negative_control={"size_power": 1.0},
)
def lemma5(budget, rng, *, batches="same", k_power=1.0, d_power=0.5, size_power=0.5):
    """Follow the constant along rn at fixed m, and along m = sqrt(rn), where delta_k goes to 0.

    On one batch B'S' = 0, and the mean of (S - Q)'W/(rn) has blocks -v I and (k/m) Phi S C', see
    `linrep.theory.fedrep_limits.gradient_bias`: free of rn.
    """
    split, powers = batches == "split", (k_power, d_power, size_power)
    yield from along_clients(budget, rng, powers, split=split)

    def sampled(rn, m, d, k, design):
        truth, B = model.instance(rn, d, k, rng, distance=0.5, design=design)
        return constant(model.sampled_step(truth, B, m, rng, split=split), m, d, 0.5, powers)

    # A constant that does not grow takes more runs to see than one that does.
    quick, same = dict.fromkeys((50, 150, 450), 40), dict.fromkeys((100, 500, 2500), 800)
    several = {100: 6000, 500: 2000, 2500: 1700}, {100: 20_000, 500: 8000, 2500: 6000}
    runs = budget(quick, *several) if split else budget(quick, same)
    base = {"m": 12, "d": 3, "k": 1}
    found = pd.concat(
        table([base | {"design": design, "rn": rn}], sampled, count)
        for design in model.OTHERS
        for rn, count in runs.items()
    )
    yield Constant(found, ["rn"], by=["design"], name="other x, fixed m", label=LABEL)

    def one(rn, m, d, k, closeness):
        W, (C, Phi) = model.sphere_heads(rn, k, rng), model.tilt(k, 1.0 / closeness)
        step = model.gaussian_step(W, C, Phi, int(m), d, rng, split=split)
        return constant(step, m, d, 1.0 / closeness, powers)

    # With many clients the mean decides that one batch leaves, which takes fewer runs.
    base = {"rn": 200 if split else budget(3000, 30_000), "m": 20, "d": 16, "k": 2}
    settings = cells(
        base | {"closeness": 5.0}, m=[8, 20, 100, 1e4, 1e6], d=[4, 16, 200, 2000], k=[1, 2, 4, 8],
        closeness=[5.0, 50.0, 500.0],
    )  # fmt: skip
    found = table(settings, one, budget(200, 1000, 4000) if split else budget(20, 60, 200))
    along = ["m", "d", "k", "closeness"]
    yield Constant(found, along, by=["rn"], name="other sizes", label=LABEL)


lemma5.corrected(
    "fedrep.lemma5.corrected",
    latex=r"\frac{1}{rn} \Big\|\Big(\frac1m A^*A(Q) - Q\Big)^\top W\Big\|_2 \le \delta_k'\,"
    r"\mathrm{dist}(\hat B, \hat B^*) \quad \text{for } A \text{ independent of } W,"
    r"\ m \ge 2k + 4",
    plain="On a second batch, independent of the heads, the gradient is close to its mean.",
    constants={"batches": "split"},
    stronger={"k_power": -1, "d_power": -1, "size_power": 1},
    negative_control={"batches": "same"},
)


@statement(
    "fedrep.lemma5.same_batch",
    place="Lemma 5 (41)",
    latex=r"\Big\|\frac{1}{rn}\Big(\frac1m A^*A(Q) - Q\Big)^\top W - M\Big\|_2 \le \delta_k'\,"
    r"\mathrm{dist}, \qquad M = -\frac{\mathrm{tr}(\Phi S\Phi^\top)}{m-k-1} B +"
    r"\frac km \Phi S C^\top, \quad C = B^\top B^*,\ \Phi = B^* - BC,\ "
    r"S = \tfrac{1}{rn}W^{*\top}W^* \quad (x \sim N(0, I),\ m \ge 2k + 4)",
    plain="On one batch of normal covariates Lemma 5's matrix has a mean M that does not shrink "
    "with rn; minus M it is as small as the lemma says.",
    hypotheses=model.GAUSSIAN_ASSUMPTIONS,
    stronger={"share": 0},
    negative_control={"share": 0.0},
    corrects="fedrep.lemma5",
)
def lemma5_same_batch(budget, rng, *, share=1.0):
    """Follow the constant once M is taken off, and compare means of summands with M, distance 1/2.

    They are <w_i, B'(s_i - q_i)>/k and <A w_i, F'(s_i - q_i)>, A = Phi C'/||Phi C'||_F^2.
    """
    yield from along_clients(budget, rng, (1.0, 0.5, 0.5), centred=True)
    for k, m in ((1, 16), (4, 24)):
        C, Phi = model.tilt(k, 0.5)
        W = model.sphere_heads(budget(20_000, 200_000, 1_000_000), k, rng)
        step = model.gaussian_step(W, C, Phi, m, 2 * k, rng, split=False)
        errors, A = step.pulls - step.lack, Phi @ C.T
        along = step.heads @ A.T / np.sum(A**2)
        # W with W'W = rn I stands for heads uniform on their sphere.
        inner, outer = gradient_bias(np.sqrt(k) * np.eye(k), C, Phi, m=m)
        for place, samples, mean in (
            ("inside", np.sum(step.heads * errors[:, :k], axis=1) / k, np.trace(inner) / k),
            ("outside", np.sum(along * errors[:, k:], axis=1), np.sum(A * outer) / np.sum(A**2)),
        ):
            yield Mean(
                samples, equals=share * float(mean), setting={"k": k, "m": m, "distance": 0.5},
                name=f"mean of summands {place} span(B), k = {k}",
            )  # fmt: skip


@lines("fedrep.lemma5.eq45", Region(
    k=(1, None),
    dist=(0, 1),
    delta=(0, Q(1, 2)),
    outside=lambda k, dist: (0, k * dist**2),  # ||Phi w||^2, of a part orthogonal to that of f
    error=lambda k, dist, delta: (0, (delta / (1 - delta)) ** 2 * k * dist**2),  # ||f||^2
), steps=["(45), a row"])  # fmt: skip
def row(k, dist, outside, error, delta, *, factor=4):
    """Add what both lemmas allow."""
    return {"(45), a row": at_most(outside + error, factor * k * dist**2)}


def read_head(reader, shape):
    """Return a head w_i whose error is as large as both lemmas allow, in a basis of span(B)."""
    k = shape["k"]
    angles, w, f = reader.numbers(k), reader.numbers(k), reader.numbers(k)
    delta = 0.5 / (1.0 + reader.number() ** 2)
    length, size = np.linalg.norm(w), np.linalg.norm(f)
    if length == 0.0:
        return None
    limit = delta / (1.0 - delta) * np.abs(np.sin(angles)).max() * np.sqrt(k)
    f = f * (limit / size) if size > 0.0 else f
    return np.cos(angles) * w * np.sqrt(k) / length - f


@statement(
    "fedrep.lemma5.eq45",
    place="(42)-(47), in the proof of Lemma 5",
    latex=r"\|(G^i)^{-1}\|_2 \le \tfrac{1}{1-\delta},\ \|G^iD - C^i\|_2 \le \delta\,\mathrm{dist},"
    r"\ \delta \le \tfrac12 \implies \|q_i\|^2 \le 4k\,\mathrm{dist}^2,\ \|w_i\|^2 \le 4k",
    plain="If the bounds of Lemmas 2 and 3 hold, the rows of Q and W are short.",
    hypotheses=(model.NORMALIZED,),
    stronger={"factor": -1},
    negative_control={"factor": 1.0},
)
def lemma5_eq45(budget, rng, *, factor=4):
    """Prove (45), and search over angles, w* and errors of heads as large as the lemmas allow."""
    yield row.measure(factor=factor)
    # Angles 0 and 90 degrees, an error of the size of w*, against it: (47) is sharp.
    known = [({"k": 2}, np.array([0.0, np.pi / 2, 1.0, 0.0, -1.0, 0.0, 0.0]))]
    yield search_instances(
        lambda head: (float(head @ head), factor * len(head)),
        [{"k": 1}, {"k": 2}, {"k": 4}][: budget(2, 3)], read_head, budget, rng, name="(47)",
        known=known, strength=PROVED,
    )  # fmt: skip


@statement(
    "fedrep.lemma5.union",
    place="the end of the proof of Lemma 5",
    latex=r"9^{d+k} e^{-112(d+k)} \le e^{-110(d+k)}",
    plain="The union over 9^(d+k) net points leaves e^(-110(d+k)) of Bernstein's e^(-112(d+k)).",
    negative_control={"factor": 111.0},
)
def lemma5_union(budget, rng, *, factor=112.0, left=110.0):
    """Compare exponents per d + k in interval arithmetic; log 9 is 2.197."""
    from flint import arb

    yield everywhere(
        lambda: arb(9).log() - factor, lambda: arb(-left), {}, quantity="exponent over d + k",
        setting={"d": 4, "k": 1},
    )  # fmt: skip


lemma5_union.corrected(
    "fedrep.lemma5.union.corrected",
    latex=r"9^{d+k} e^{-113(d+k)} \le e^{-110(d+k)}",
    plain="The union over 9^(d+k) net points leaves e^(-110(d+k)) of e^(-113(d+k)), which takes "
    "a larger c.",
    constants={"factor": 113.0},
    stronger={"factor": -1, "left": 1},
    negative_control={"factor": 112.0},
)
