"""The property tests on the page about tests tell true bounds from false ones."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings

import linrep as lr
from linrep.testing import seeds, shared_representations
from linrep.theory import asymptotics, fedrep

PAGE = Path(lr.__file__).parents[1] / "docs" / "testing.md"
TRUTHS = [
    lr.SharedRepresentation.random(n=6, d=8, k=2, condition=condition, rng=0)
    for condition in (1.0, 3.0)
]


@pytest.fixture(scope="module")
def page():
    """Return what the page defines before it calls its tests."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        if "\ntest_fedrep_contracts()" in f"\n{block}":
            return names
        exec(compile(block, "testing.md", "exec"), names)


@pytest.mark.compiled
@pytest.mark.parametrize("truth", TRUTHS, ids=["equal", "different"])
def test_a_bound_two_percent_faster_is_rejected(page, truth):
    follows = page["follows_the_curve"]
    for seed in range(5):
        follows(truth, seed)
        with pytest.raises(AssertionError):
            follows(truth, seed, faster=1.02)


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["flute", "perfedsi", "pflmf"])
def test_near_a_limit_point_a_bound_two_percent_faster_is_rejected(page, method):
    problem = {
        "flute": lambda: lr.LowRankRegression.random(n=4, d=3, singular_values=[1.0, 0.5], rng=0),
        "perfedsi": lambda: lr.SideInformationCompletion.random(
            n=6, d=4, p=3, k=1, side="gaussian", rng=0
        ),
        "pflmf": lambda: lr.problems.personal.clustered(
            n=4, d=3, clusters=2, loss="quadratic", rng=0
        ),
    }[method]()
    falls = page[f"{method}_falls"]
    falls(problem, 0)
    with pytest.raises(AssertionError):
        falls(problem, 0, faster=1.02)


@pytest.mark.compiled
def test_the_negative_control_is_itself_rejected_where_the_bound_is_true(page):
    """What expects a failure does not pass for another reason."""

    @settings(database=None, phases=[Phase.generate], max_examples=5, deadline=None)
    @given(shared_representations(n=6, d=8, k=2, conditions=[1.0], noise=[0.0]), seeds())
    def control(truth, seed):
        with pytest.raises(AssertionError):
            page["follows_the_curve"](truth, seed, faster=1.0)

    with pytest.raises(pytest.fail.Exception):
        control()


def test_runs_contract_as_many_times_as_fast_as_the_theorem_says_as_the_page_has_it():
    times = []
    for truth in TRUTHS:
        step_size = fedrep.step_size_limit(truth.sigma_max())
        setting = {"m": 10**5, "step_size": step_size, "rounds": 20, "start": 0.5}
        fall = np.log(asymptotics.fedrep(truth, **setting).distance[-1] / 0.5)
        factor = fedrep.contraction(truth, step_size=step_size, initial_distance=0.5)
        times.append(fall / (20 * np.log(factor)))
    (words,) = re.findall(r"contract (\S+) to (\S+) times as fast", PAGE.read_text("utf-8"))
    low, high = map(float, words)
    assert low < min(times) < max(times) < high
    assert high - low < 1.5
