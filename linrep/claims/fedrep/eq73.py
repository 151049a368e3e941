"""The step in the middle of (73), in the proof of Lemma 6."""

from __future__ import annotations

import numpy as np

from linrep.claims import Constant, statement
from linrep.claims._parts import cells, table
from linrep.claims.fedrep._batches import gaussian_step, sphere_heads, tilt
from linrep.claims.fedrep._common import ASSUMPTIONS


@statement(
    "fedrep.eq84.eq73",
    place="(73), in the proof of Lemma 6",
    kind="probability bound",
    latex=r"\frac{2\eta}{rn}\Big\|W^\top\Big(\frac1m A^*A(Q) - Q\Big)\Big\|_2\|\hat B\|_2"
    r"\le 2\eta\delta_k'",
    plain="The norm by which (73) bounds the first term of (72) is small, heads and gradient being "
    "of one batch.",
    hypotheses=ASSUMPTIONS,
    negative_control={"size_power": 1.0},
)
def eq73(budget, rng, *, batches="same", size_power=0.5):
    """Follow the constant that the norm needs, along rn at fixed m, for Gaussian x.

    On one batch the norm's mean does not go to zero with rn. (72)'s first term has a mean below
    zero there, so that (84) is true none the less.
    """

    def draw(rn, m, d, k, distance):
        W, (C, Phi) = sphere_heads(rn, k, rng), tilt(k, distance)
        error = gaussian_step(W, C, Phi, m, d, rng, split=batches == "split").error
        return np.linalg.norm(error, 2) / (k * np.sqrt(d) / (rn * m) ** size_power)

    names = ("m", "d", "k", "distance")
    settings = [
        setting
        for sizes in [(16, 10, 2, 0.5), (8, 4, 1, 0.9), (20, 10, 4, 0.9)][: budget(2, 3)]
        for setting in cells(dict(zip(names, sizes, strict=True)), rn=[100, 550, 3000])
    ]
    yield Constant(
        table(settings, draw, budget(1000, 3000, 10_000)), ["rn"], by=names, rng=rng,
        label="c needed",
    )  # fmt: skip


eq73.corrected(
    "fedrep.eq84.eq73.corrected",
    latex=r"\frac{2\eta}{rn}\Big\|W^\top\Big(\frac1m A^*A(Q) - Q\Big)\Big\|_2\|\hat B\|_2"
    r"\le 2\eta\delta_k' \quad \text{for } A \text{ independent of } W,\ m \ge 2k + 4",
    plain="The norm is as small as that on a second batch, independent of the heads.",
    constants={"batches": "split"},
    negative_control={"batches": "same"},
)
