"""Definition 1: the distance, the sine of the largest angle."""

import numpy as np
from scipy.linalg import null_space, subspace_angles

from linrep.claims.laws import law
from linrep.claims.measurements import relative
from linrep.papers.fedrep.model import Drawn
from linrep.problems.subspace import distance, frame_at_distance, orthonormalize, random_frame


@law(
    "fedrep.definition1",
    "Definition 1 (10); (68)",
    r"\mathrm{dist}(B_1, B_2) = \|\hat B_{1,\perp}^\top \hat B_2\|_2, \qquad"
    r"\sigma_{\min}^2(\hat B^{*\top} \hat B) \ge 1 - \mathrm{dist}^2",
    over=Drawn(),
    wrong={"power": 2},
    stronger={"power": 0},
)
def definition1(budget, rng, *, power=1):
    """dist is the sine of the largest principal angle; (68) holds with equality."""  # noqa: D403
    for trial in range(budget(60, 200, 2000)):
        d = int(rng.integers(1, 41))
        k = int(rng.integers(1, d + 1))
        at = {"d": d, "k": k}
        one, other = random_frame(d, k, rng), random_frame(d, k, rng)
        if trial % 2 and d >= 2 * k:
            at["sine"] = 10.0 ** rng.uniform(-12.0, 0.0)
            other = frame_at_distance(one, at["sine"], rng=rng)
        found = distance(one, other) ** power
        change = rng.standard_normal((k, k))
        turned = distance(one @ change, other) ** power
        smallest = np.linalg.norm(other.T @ one, -2) ** 2
        yield "sine of the largest angle", relative(found, sine(one, other), 1.0), at
        yield "(10) as printed", relative(found, printed(one, other), 1.0), at
        yield "symmetry", relative(found, distance(other, one) ** power, 1.0), at
        yield "projectors", relative(found, projectors(one, other), 1.0), at
        yield "invariance", relative(turned, found, 1.0) / np.linalg.cond(change), at
        yield "(68) is an equality", relative(smallest, 1.0 - found**2, 1.0), at
        if k == 1:
            continue
        # (10) asks for spans alone: bases of k columns that span fewer dimensions.
        rank, fewer = int(rng.integers(1, k)), int(rng.integers(1, k))
        thin, also = one @ rng.standard_normal((k, rank)), other @ rng.standard_normal((k, rank))
        wide = also @ rng.standard_normal((rank, k))
        gap = printed(thin, wide) ** power - printed(wide, thin) ** power
        values = np.linalg.svd(wide, compute_uv=False)
        error = abs(gap) / max(np.linalg.cond(thin), values[0] / values[rank - 1])
        yield "rank-deficient, equal ranks: symmetry", error, {**at, "rank": rank}
        small, at = orthonormalize(other[:, :fewer]), {"d": d, "k1": k, "k2": fewer}
        up, down = printed(small, one) ** power, printed(one, small) ** power
        gap = projectors(one, small) - max(up, down)
        yield "unequal ranks: 1 from the smaller", abs(up - 1.0), at
        yield "unequal ranks: angle from the larger", relative(down, sine(one, small), 1.0), at
        yield "unequal ranks: projectors give the larger", abs(gap), at


def sine(B1, B2):
    """Return the sine of the largest principal angle."""
    return float(np.sin(subspace_angles(B1, B2)).max())


def projectors(B1, B2):
    """Return the norm of the difference of the projectors on the spans of two frames."""
    return np.linalg.norm(B1 @ B1.T - B2 @ B2.T, 2)


def printed(B1, B2):
    """Return (10) for the spans of two matrices, whatever their ranks."""
    outside = null_space(B1.T, rcond=1e-10)
    left, values, _ = np.linalg.svd(B2, full_matrices=False)
    inside = left[:, values > 1e-10 * values[0]]
    return float(np.linalg.norm(outside.T @ inside, 2)) if outside.size else 0.0
