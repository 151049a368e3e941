"""Section 2.1, definitions and assumptions."""

from __future__ import annotations

import numpy as np
from scipy.linalg import subspace_angles

from linrep.claims import Evidence, claim, combine, identity
from linrep.claims.fedrep._common import relative
from linrep.subspace import distance, random_frame


@claim(
    "fedrep.definition1",
    place="Definition 1 (10); (68)",
    kind="identity",
    latex=r"\mathrm{dist}(B_1, B_2) = \|\hat B_{1,\perp}^\top \hat B_2\|_2, \qquad"
    r"\sigma_{\min}^2(\hat B^{*\top} \hat B) \ge 1 - \mathrm{dist}^2",
    plain="dist is the sine of the largest principal angle; (68) holds with equality.",
    broken={"power": 2},
)
def definition1(budget, rng, *, power=1) -> Evidence:
    """Compare the distance with SciPy's angles and with projectors, and both sides of (68)."""
    parts: dict[str, list] = {
        "sine of the largest angle": [], "symmetry": [], "projectors": [], "invariance": [],
        "(68) is an equality": [],
    }  # fmt: skip
    for _ in range(budget(60, 200, 2000)):
        d = int(rng.integers(1, 41))
        k = int(rng.integers(1, d + 1))
        where = {"d": d, "k": k}
        one, other = random_frame(d, k, rng), random_frame(d, k, rng)
        found = distance(one, other) ** power
        sine = float(np.sin(subspace_angles(one, other)).max())
        parts["sine of the largest angle"].append((relative(found, sine, 1.0), where))
        parts["symmetry"].append((relative(found, distance(other, one) ** power, 1.0), where))
        gap = np.linalg.norm(one @ one.T - other @ other.T, 2)
        parts["projectors"].append((relative(found, gap, 1.0), where))
        change = rng.standard_normal((k, k))
        turned = distance(one @ change, other) ** power
        error = relative(turned, found, 1.0) / np.linalg.cond(change)
        parts["invariance"].append((error, where))
        smallest = np.linalg.svd(other.T @ one, compute_uv=False)[-1] ** 2
        parts["(68) is an equality"].append((relative(smallest, 1.0 - found**2, 1.0), where))
    return combine(identity(cases, 1e-12, name=name) for name, cases in parts.items())
