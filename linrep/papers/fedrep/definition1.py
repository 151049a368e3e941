"""Definition 1: the distance, the sine of the largest angle."""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space, subspace_angles

from linrep.claims import Fact, statement
from linrep.claims.deviations import relative
from linrep.papers.fedrep._common import derived
from linrep.problems.subspace import distance, frame_at_distance, orthonormalize, random_frame


@statement(
    "fedrep.definition1",
    place="Definition 1 (10); (68)",
    latex=r"\mathrm{dist}(B_1, B_2) = \|\hat B_{1,\perp}^\top \hat B_2\|_2, \qquad"
    r"\sigma_{\min}^2(\hat B^{*\top} \hat B) \ge 1 - \mathrm{dist}^2",
    plain="dist is the sine of the largest principal angle; (68) holds with equality.",
    stronger={"power": 0},
    negative_control={"power": 2},
)
def definition1(budget, rng, *, power=1):
    """Compare the distance with angles, projectors and (10) itself, for equal and other ranks."""
    rows = list(_rows(budget, rng, power))
    yield from derived(row[:3] for row in rows)
    nearest = min(down for *_, down in (row for row in rows if len(row) > 3))
    yield Fact("smallest dist of spans of unequal dimensions, from the larger", nearest)


def _rows(budget, rng, power):
    for trial in range(budget(60, 200, 2000)):
        d = int(rng.integers(1, 41))
        k = int(rng.integers(1, d + 1))
        where = {"d": d, "k": k}
        one, other = random_frame(d, k, rng), random_frame(d, k, rng)
        if trial % 2 and d >= 2 * k:
            where["sine"] = 10.0 ** rng.uniform(-12.0, 0.0)
            other = frame_at_distance(one, where["sine"], rng=rng)
        found = distance(one, other) ** power
        change = rng.standard_normal((k, k))
        gap = np.linalg.norm(one @ one.T - other @ other.T, 2)
        sine = float(np.sin(subspace_angles(one, other)).max())
        turned = distance(one @ change, other) ** power
        smallest = np.linalg.svd(other.T @ one, compute_uv=False)[-1] ** 2
        yield "sine of the largest angle", relative(found, sine, 1.0), where
        yield "(10) as printed", relative(found, _printed(one, other), 1.0), where
        yield "symmetry", relative(found, distance(other, one) ** power, 1.0), where
        yield "projectors", relative(found, gap, 1.0), where
        yield "invariance", relative(turned, found, 1.0) / np.linalg.cond(change), where
        yield "(68) is an equality", relative(smallest, 1.0 - found**2, 1.0), where
        if k == 1:
            continue
        # (10) asks for spans alone: bases of k columns that span fewer dimensions.
        rank, fewer = int(rng.integers(1, k)), int(rng.integers(1, k))
        thin, also = one @ rng.standard_normal((k, rank)), other @ rng.standard_normal((k, rank))
        wide = also @ rng.standard_normal((rank, k))
        gap = _printed(thin, wide) ** power - _printed(wide, thin) ** power
        values = np.linalg.svd(wide, compute_uv=False)
        error = abs(gap) / max(np.linalg.cond(thin), values[0] / values[rank - 1])
        yield "rank-deficient, equal ranks: symmetry", error, {**where, "rank": rank}
        small = orthonormalize(other[:, :fewer])
        where = {"d": d, "k1": k, "k2": fewer}
        up, down = _printed(small, one) ** power, _printed(one, small) ** power
        angle = float(np.sin(subspace_angles(one, small)).max())
        gap = np.linalg.norm(one @ one.T - small @ small.T, 2)
        yield "unequal ranks: 1 from the smaller", abs(up - 1.0), where
        yield "unequal ranks: angle from the larger", relative(down, angle, 1.0), where, down
        yield "unequal ranks: projectors give the larger", abs(gap - max(up, down)), where


def _printed(B1, B2):
    """Return (10) for the spans of two matrices, whatever their ranks."""
    outside = null_space(B1.T, rcond=1e-10)
    left, values, _ = np.linalg.svd(B2, full_matrices=False)
    inside = left[:, values > 1e-10 * values[0]]
    return float(np.linalg.norm(outside.T @ inside, 2)) if outside.size else 0.0
