"""What the checks of Lemmas 2 to 4 draw and bound, against batches in full and exact tails."""

import numpy as np
import pytest
from scipy.stats import chi2

from linrep.papers.fedrep import lemma3_4
from linrep.papers.fedrep._concentration import sampled_sides
from linrep.papers.fedrep.lemma2 import _smallest_eigenvalues


def test_smallest_eigenvalues_by_the_triangular_factor():
    rng = np.random.default_rng(0)
    drawn = _smallest_eigenvalues(3, 12, 2, 1500, rng)
    sampled = np.array(
        [sampled_sides("gaussian", 3, 12, 2, 0.5, "equal", rng)[0] for _ in range(1500)]
    )
    spread = np.sqrt((drawn.var() + sampled.var()) / 1500)
    assert abs(drawn.mean() - sampled.mean()) < 4.5 * spread


@pytest.mark.parametrize("df", [1.0, 2.0, 3.0, 8.0, 100.0])
def test_tails_are_bounded_from_both_sides(df):
    x = df * np.array([0.5, 1.0, 2.0, 3.0])
    exact = chi2.logsf(x, df)
    assert np.all(lemma3_4._rarest(np.array(df), x) <= exact + 1e-9)
    assert np.all(exact <= lemma3_4._chernoff(df, x) + 1e-9)


def test_lemma_3_is_violated_at_least_as_often_as_bounded_from_below():
    # c = 1/4, k = rn = 4, heads sqrt(k) e_i, and one sample each.
    rng = np.random.default_rng(0)
    u, z = rng.standard_normal((20_000, 4)), rng.chisquare(4, (20_000, 4))
    rows = 2.0 * np.abs(u) * np.sqrt(z)  # sqrt(k) |u| |z|
    share = np.mean(np.linalg.norm(rows, axis=1) > 0.25 * 4**1.5 * np.sqrt(np.log(4.0)) * 2.0)
    *_, below = lemma3_4._log_probabilities(0.25, None, 111.0)
    assert below.set_index("k")["log probability"][4.0] <= np.log(share)
