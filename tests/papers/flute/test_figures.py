"""Helpers of the claims on FLUTE's synthetic figures."""

import numpy as np
import pytest

import linrep as lr
from linrep.papers.flute._races import Races, list_variants, race
from linrep.papers.flute.figure4 import unbounded_from


def trace_of(errors, **metrics):
    return lr.Trace(
        algorithm="", metrics={"truth_error": np.array(errors), **metrics}, state={},
        recorded=np.array([0, 1, 4, 9]),
    )  # fmt: skip


def test_epochs_until_near_the_end_and_until_ahead():
    ours = trace_of([3.0, 2.0, 1.04, 1.0], zero=np.array([3.0]))
    runs = [{"FLUTE": ours, "other": trace_of([3.0, 1.5, 1.3, 1.0])}]
    found = Races("", 2, runs)
    # No model has an error of 3, so that 90 % of what is explained is 1.2, and 99 % is 1.02.
    assert found.near("FLUTE", 0.9) == 4.0
    assert found.near("FLUTE", 0.99) == 9.0
    assert found.near("other", 0.75) == 1.0
    assert found.near("other", 0.8) == 4.0
    assert found.ahead("other") == 4.0
    assert found.early("other", epochs=4) == pytest.approx((2.25 * 1 + 1.4 * 3) / 4)
    behind = trace_of([1.0, 1.0, 1.0, 1.0])
    behind = Races("", 2, [{"FLUTE": runs[0]["other"], "other": behind}])
    assert np.isinf(behind.ahead("other"))


def test_methods_meet_the_same_problem():
    others = list_variants(("moments", "random"), ("exact", "1 step"))
    found = race(np.random.default_rng(0), 2, "Figure 3", 12, 11, 2, others=others, epochs=6)
    assert len(found.runs) == 2
    assert len(found.methods) == 8
    own = "FedRep(RI), exact, own step"
    # From one start, FedRep's heads already fitted: the first errors are those of the same models.
    for run in found.runs:
        first = {round(run[name]["truth_error"][0], 12) for name in ("FLUTE", own)}
        assert len(first) == 1


@pytest.mark.parametrize("m", [5, 8])
def test_the_objective_is_unbounded_from_the_flattest_direction_on(m):
    """Beyond the threshold a long model of one client has an objective below any other."""
    truth = lr.LowRankRegression.random(n=3, d=6, noise=0.1, rng=0)
    data = truth.draw(m, rng=1)
    threshold = unbounded_from(data)
    assert threshold == 1.0 if m < 6 else threshold > 1.0
    client = int(np.argmin([np.linalg.eigvalsh(X.T @ X)[0] for X, _ in map(data.client, range(3))]))
    X, y = data.client(client)
    direction = np.linalg.eigh(X.T @ X)[1][:, 0]

    def objective(length, ratio):
        b = np.sqrt(length)  # balanced: B = b direction, w = b
        own = np.sum((X @ (b * b * direction) - y) ** 2) / (2 * m)
        return own - 0.25 * ratio * length**2 + 0.125 * 2 * length**2

    for ratio, sign in ((threshold - 1e-3, 1.0), (threshold + 1e-3, -1.0)):
        assert sign * (objective(1e6, ratio) - objective(1e5, ratio)) > 0.0
