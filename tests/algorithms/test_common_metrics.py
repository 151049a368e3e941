"""Where a truth is known, every method is measured alike."""

import numpy as np
import pytest

import linrep as lr
from tests.algorithms.on_samples import ALL, REPRESENTATIONS
from tests.algorithms.support import own

TRUTH = lr.SharedRepresentation.random(n=12, d=6, k=2, noise=0.3, rng=0)
DATA = TRUTH.draw(15, rng=1)
#: Methods whose rank is the truth's, and one whose distance is to the best space of any rank.
OF_THE_TRUTH = {"fedrep", "fedavg", "fedsgd", "altgdmin", "altmin_gd", "flute"}


@pytest.mark.parametrize("name", ALL)
def test_every_method_records_risk_and_distance(name):
    trace = ALL[name](DATA, 2)
    assert "population_risk" in trace
    risk = 0.5 * np.mean(np.sum((trace.models - TRUTH.theta) ** 2, axis=1))
    assert trace["population_risk"][-1] == pytest.approx(risk, rel=1e-6)
    assert ("distance" in trace) == (name in REPRESENTATIONS)
    if name in REPRESENTATIONS:
        B = trace.state["U" if "U" in trace.state else "B"]
        assert trace["distance"][-1] == pytest.approx(lr.subspace.distance(B, TRUTH.B), rel=1e-6)


@pytest.mark.parametrize(
    "name", [name for name in REPRESENTATIONS if name.split()[0] not in OF_THE_TRUTH]
)
def test_a_representation_of_another_rank_has_no_distance(name):
    assert "distance" not in ALL[name](DATA, 3)


@pytest.mark.parametrize("name", ALL)
def test_without_a_truth_there_is_neither(name):
    trace = ALL[name](own(DATA), 2)
    assert not {"population_risk", "distance"} & set(trace)
