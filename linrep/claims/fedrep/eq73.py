"""The step in the middle of (73), in the proof of Lemma 6."""

from __future__ import annotations

import numpy as np

from linrep.claims import Evidence, bounded_constant, claim
from linrep.claims._parts import cells, table
from linrep.claims.fedrep._batches import gaussian_step, sphere_heads, tilt
from linrep.claims.fedrep._common import ASSUMPTIONS


def _constant(budget, rng, split, size_power):
    """Follow the constant that the norm in (73) needs, along rn at fixed m, for Gaussian x."""

    def draw(rn, m, d, k, distance):
        W, (C, Phi) = sphere_heads(rn, k, rng), tilt(k, distance)
        error = gaussian_step(W, C, Phi, m, d, rng, split=split).error
        return np.linalg.norm(error, 2) / (k * np.sqrt(d) / (rn * m) ** size_power)

    names = ("m", "d", "k", "distance")
    settings = [
        setting
        for sizes in [(16, 10, 2, 0.5), (8, 4, 1, 0.9), (20, 10, 4, 0.9)][: budget(2, 3)]
        for setting in cells(dict(zip(names, sizes, strict=True)), rn=[100, 550, 3000])
    ]
    return bounded_constant(
        table(settings, draw, budget(1000, 3000, 10_000)), ["rn"], by=names, rng=rng,
        label="c needed",
    )  # fmt: skip


@claim(
    "fedrep.eq84.eq73",
    place="(73), in the proof of Lemma 6",
    kind="probability bound",
    latex=r"\frac{2\eta}{rn}\Big\|W^\top\Big(\frac1m A^*A(Q) - Q\Big)\Big\|_2\|\hat B\|_2"
    r"\le 2\eta\delta_k'",
    plain="The norm by which (73) bounds the first term of (72) is small, heads and gradient being "
    "of one batch.",
    hypotheses=ASSUMPTIONS,
    broken={"size_power": 1.0},
    mended={"batches": "split"},
)
def eq73(budget, rng, *, batches="same", size_power=0.5) -> Evidence:
    """Follow the constant along rn at fixed m: the norm's mean does not go to zero with rn.

    (72)'s first term has a mean below zero on one batch, so that (84) is true none the less.
    """
    return _constant(budget, rng, batches == "split", size_power)


@claim(
    "fedrep.eq84.eq73.corrected",
    place="(73), in the proof of Lemma 6",
    kind="probability bound",
    latex=r"\frac{2\eta}{rn}\Big\|W^\top\Big(\frac1m A^*A(Q) - Q\Big)\Big\|_2\|\hat B\|_2"
    r"\le 2\eta\delta_k' \quad \text{for } A \text{ independent of } W,\ m \ge 2k + 4",
    plain="The norm is as small as that on a second batch, independent of the heads.",
    hypotheses=ASSUMPTIONS,
    broken={"batches": "same"},
    corrects="fedrep.eq84.eq73",
)
def eq73_corrected(budget, rng, *, batches="split", size_power=0.5) -> Evidence:
    """Do the same with separate batches."""
    return _constant(budget, rng, batches == "split", size_power)
