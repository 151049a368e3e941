"""What the checks of Lemmas 2 to 4 draw, against batches drawn in full."""

import numpy as np

from linrep.claims.fedrep._concentration import sampled_sides
from linrep.claims.fedrep.lemma2 import _smallest_eigenvalues


def test_smallest_eigenvalues_by_the_triangular_factor():
    rng = np.random.default_rng(0)
    drawn = _smallest_eigenvalues(3, 12, 2, 1500, rng)
    sampled = np.array(
        [sampled_sides("gaussian", 3, 12, 2, 0.5, "equal", rng)[0] for _ in range(1500)]
    )
    spread = np.sqrt((drawn.var() + sampled.var()) / 1500)
    assert abs(drawn.mean() - sampled.mean()) < 4.5 * spread
