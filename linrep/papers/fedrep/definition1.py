"""Definition 1: the distance, the sine of the largest angle."""

import numpy as np
from scipy.linalg import null_space, subspace_angles

from linrep.claims.laws import law
from linrep.claims.measurements import relative
from linrep.papers.fedrep.model import Drawn
from linrep.problems.subspace import distance, frame_at_distance, random_frame


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
        sine = np.sin(subspace_angles(one, other)).max()
        printed = np.linalg.norm(null_space(one.T).T @ other, 2) if k < d else 0.0
        projectors = np.linalg.norm(one @ one.T - other @ other.T, 2)
        yield "sine of the largest angle", relative(found, sine, 1.0), at
        yield "(10) as printed", relative(found, printed, 1.0), at
        yield "symmetry", relative(found, distance(other, one) ** power, 1.0), at
        yield "projectors", relative(found, projectors, 1.0), at
        yield "invariance", relative(turned, found, 1.0) / np.linalg.cond(change), at
        yield "(68) is an equality", relative(smallest, 1.0 - found**2, 1.0), at
