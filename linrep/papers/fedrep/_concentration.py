"""What the checks of Lemmas 2 to 5 share: the designs drawn in full, and the constants."""

from __future__ import annotations

import numpy as np

from linrep.claims import Constant, Exponent
from linrep.claims.tables import cells, table
from linrep.papers.fedrep._batches import covariates, least_squares
from linrep.papers.fedrep._common import OTHERS, instance

CLIENTS = [2, 5, 50, 500]
RANKS = [1, 2, 4, 8]
#: Margin of exponents over many decades, of samples drawn by their law: far below a twentieth.
SHARP = 0.01


def delta(k, rn, m, k_power, m_power):
    """Return delta_k at c = 1."""
    return k**k_power * np.sqrt(np.log(rn)) / m**m_power


def sampled_sides(design, rn, m, k, distance, angles, rng):
    """Draw batches; return min sigma_min(G^i), and ||(GD - C)w*||, ||F||_F over ||W*||_2 dist."""
    truth, B = instance(
        max(rn, k), 2 * k + 1, k, rng, distance=distance, angles=angles, design=design
    )
    truth = truth.with_heads(truth.W[:rn])
    X = covariates(design, (rn, m, truth.d), rng)
    Z = X @ B
    lacking = (X @ (truth.theta - truth.theta @ B @ B.T)[:, :, None])[..., 0]
    cross = np.einsum("ija,ij->ia", Z, lacking) / m
    errors = least_squares(Z, lacking)
    smallest = np.linalg.eigvalsh(np.swapaxes(Z, 1, 2) @ Z)[:, 0].min() / m
    scale = np.linalg.norm(truth.W, 2) * distance
    return max(smallest, 0.0), np.linalg.norm(cross) / scale, np.linalg.norm(errors) / scale


def other_settings():
    """Return settings for batches that are drawn in full, of every design but the Gaussian."""
    return [
        setting
        for design in OTHERS
        for setting in (
            cells({"m": 40, "k": 2, "design": design}, rn=[2, 10, 50])
            + cells({"m": 40, "rn": 5, "design": design}, k=[1, 2, 4])
        )
    ]


def in_m(left, column, m_power, rng, runs):
    """Yield the power of m in the left side of a lemma, batches of other designs in full."""
    sizes = [100, 700, 4900]
    for design in OTHERS:
        samples = [
            [left(sampled_sides(design, 5, m, 1, 0.5, "equal", rng)[column]) for _ in range(runs)]
            for m in sizes
        ]
        yield Exponent(
            sizes, samples, equals=-m_power, margin=0.25, along="m", of="left side",
            name=f"left side in m, {design} x",
        )  # fmt: skip


def constants(lemma, tables, rng):
    """Yield for each table the constant of a lemma, which has to stay bounded."""
    for name, (settings, draw, runs, directions, by) in tables.items():
        yield Constant(
            table(settings, draw, runs),
            directions,
            by=by,
            name=name,
            label=f"c that Lemma {lemma} needs",
        )
