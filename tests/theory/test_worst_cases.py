"""Worst cases of several rounds of pFL^MF beside the sharp form of Theorem 1."""

import re
from pathlib import Path

import numpy as np
import pytest

from linrep.theory import pflmf
from tests.worst_cases import worst_mean

PAGE = Path(__file__).parents[2] / "docs" / "pflmf.md"


def share(p, T, x):
    """Return the worst mean over the bound."""
    given = {"smoothness": 1.0, "step_size": x, "rounds": T, "participation": p}
    return worst_mean(p, x, T) / float(pflmf.sharp_stationarity_bound(1.0, **given).total)


@pytest.mark.parametrize("T", [1, 2])
@pytest.mark.parametrize("p", [0.1, 0.6, 1.0])
def test_no_worst_case_is_beyond_the_bound(p, T):
    for x in np.array([0.1, 0.5, 0.9]) / pflmf.sharp_constants(p).slack:
        assert share(p, T, float(x)) <= 1.0 + 1e-6


@pytest.mark.parametrize("T", [1, 2, 3])
def test_with_all_clients_the_best_step_attains_it(T):
    assert share(1.0, T, 0.5) == pytest.approx(1.0, abs=1e-5)


def test_the_page_has_these_numbers():
    rows = re.findall(
        r"^\| p = ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE.read_text(), re.M
    )
    assert len(rows) >= 5
    for p, *printed in rows:
        best = float(0.5 / pflmf.sharp_constants(float(p)).slack)
        found = [share(float(p), T, best) for T in (1, 2, 3)]
        np.testing.assert_allclose(found, np.array(printed, dtype=float), rtol=0, atol=6e-4)
