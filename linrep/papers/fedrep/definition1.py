"""Definition 1: the distance, the sine of the largest angle."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.linalg import null_space, subspace_angles

from linrep.claims import Fact, proved, statement
from linrep.claims.deviations import identities, relative
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
    parts: defaultdict[str, list] = defaultdict(list)
    smallest_gap = 1.0
    for trial in range(budget(60, 200, 2000)):
        d = int(rng.integers(1, 41))
        k = int(rng.integers(1, d + 1))
        where = {"d": d, "k": k}
        one, other = random_frame(d, k, rng), random_frame(d, k, rng)
        if trial % 2 and d >= 2 * k:
            where["sine"] = 10.0 ** rng.uniform(-12.0, 0.0)
            other = frame_at_distance(one, where["sine"], rng=rng)
        found = distance(one, other) ** power
        sine = float(np.sin(subspace_angles(one, other)).max())
        parts["sine of the largest angle"].append((relative(found, sine, 1.0), where))
        parts["(10) as printed"].append((relative(found, _printed(one, other), 1.0), where))
        parts["symmetry"].append((relative(found, distance(other, one) ** power, 1.0), where))
        gap = np.linalg.norm(one @ one.T - other @ other.T, 2)
        parts["projectors"].append((relative(found, gap, 1.0), where))
        change = rng.standard_normal((k, k))
        turned = distance(one @ change, other) ** power
        error = relative(turned, found, 1.0) / np.linalg.cond(change)
        parts["invariance"].append((error, where))
        smallest = np.linalg.svd(other.T @ one, compute_uv=False)[-1] ** 2
        parts["(68) is an equality"].append((relative(smallest, 1.0 - found**2, 1.0), where))
        if k == 1:
            continue
        # (10) asks for spans alone: bases of k columns that span fewer dimensions.
        rank, fewer = int(rng.integers(1, k)), int(rng.integers(1, k))
        thin, also = one @ rng.standard_normal((k, rank)), other @ rng.standard_normal((k, rank))
        wide = also @ rng.standard_normal((rank, k))
        gap = _printed(thin, wide) ** power - _printed(wide, thin) ** power
        values = np.linalg.svd(wide, compute_uv=False)
        scale = max(np.linalg.cond(thin), values[0] / values[rank - 1])
        error = abs(gap) / scale
        parts["rank-deficient, equal ranks: symmetry"].append((error, {**where, "rank": rank}))
        small = orthonormalize(other[:, :fewer])
        where = {"d": d, "k1": k, "k2": fewer}
        up, down = _printed(small, one) ** power, _printed(one, small) ** power
        parts["unequal ranks: 1 from the smaller"].append((abs(up - 1.0), where))
        angle = float(np.sin(subspace_angles(one, small)).max())
        parts["unequal ranks: angle from the larger"].append((relative(down, angle, 1.0), where))
        gap = np.linalg.norm(one @ one.T - small @ small.T, 2)
        parts["unequal ranks: projectors give the larger"].append((abs(gap - max(up, down)), where))
        smallest_gap = min(smallest_gap, down)
    yield from map(proved, identities(parts))
    yield Fact("smallest dist of spans of unequal dimensions, from the larger", smallest_gap)


def _printed(B1, B2):
    """Return (10) for the spans of two matrices, whatever their ranks."""
    outside = null_space(B1.T, rcond=1e-10)
    left, values, _ = np.linalg.svd(B2, full_matrices=False)
    inside = left[:, values > 1e-10 * values[0]]
    return float(np.linalg.norm(outside.T @ inside, 2)) if outside.size else 0.0
