import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import bound_lines, bounds, fedrep, flute, flute_samples, minimax, sample_sizes
from tests.strategies import seeds
from tests.theory.support import SIGNS, problem
from tests.tools import close


def test_altgdmin_by_hand():
    """2 * 2^4 * 3^2 * (5 + 7) * 2 * (2^4 * 2 + log 4) for kappa = 2, mu = 3."""
    found = sample_sizes.altgdmin(
        5, 2, 7, tolerance=0.25, condition=2.0, incoherence=3.0, constant=2.0
    )
    close(found, 288.0 * 24 * (32 + np.log(4.0)), 1e-9)


def test_incoherence_by_hand():
    rows = np.kron(np.ones((5, 1)), np.eye(2))  # clients that share alike, in a basis of their own
    alike = lr.SharedRepresentation(np.eye(3)[:, :2], rows @ np.array([[2.0, 1.0], [0.0, 1.0]]))
    close(sample_sizes.incoherence(alike), 1.0, 1e-12)
    alone = lr.SharedRepresentation(np.eye(3)[:, :2], [[1.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    close(sample_sizes.incoherence(alone), np.sqrt(3 / 2), 1e-12)


def test_thresholds_are_those_of_the_statements():
    truth = problem(0, n=12, d=9, k=2, noise=0.5)
    asked = {"tolerance": 0.05, "initial_distance": 0.4, "participants": 6, "constant": 3.0}
    rows = sample_sizes.sample_size_thresholds(truth, **asked)
    found = {row.source: row for row in rows}
    kappa = fedrep.condition(truth, 6)
    assert kappa > truth.condition
    spectrum = flute.Spectrum(np.linalg.svd(truth.W)[1], 12, 9, 2, 0.5)
    step = flute.step_size_limits(spectrum)["theorem_5_1"]
    steps = {"step_size": step, "constant": 3.0}
    duration = flute_samples.theorem_5_1_rounds(spectrum, 0.05, step_size=step)
    start = fedrep.initial_sample_size(
        9, 2, 12, sigma_min=truth.sigma_min() / np.sqrt(2), condition=truth.condition, constant=3.0
    )
    common = {"condition": kappa, "constant": 3.0}
    whole = sample_sizes.altgdmin(
        9, 2, 12, tolerance=0.05, condition=truth.condition,
        incoherence=sample_sizes.incoherence(truth), constant=3.0,
    )  # fmt: skip
    one = fedrep.sample_size(9, 2, 6, initial_distance=0.4, **common)
    all_rounds = fedrep.total_samples_of_theorem1(
        0.05 / 0.4, 9, 2, 6, initial_distance=0.4, participation=0.5, **common
    )
    expected = {
        "parameters of n separate models": (9, 108),
        "parameters of a model of rank k": (2 * 19 / 12, 2 * 19),
        "FedRep, Theorem 1": (one, 6 * one),
        "FedRep, equation (12)": (fedrep.total_samples(0.05, 9, 2, 6, **common), None),
        "FedRep, Theorem 1 in all rounds": (all_rounds, None),
        "FedRep, Theorem 2 (Tripuraneni, Jin and Jordan, 2021)": (start, None),
        "FLUTE, Theorem 5.1": (flute_samples.theorem_5_1(spectrum, 0.05, **steps), None),
        "FLUTE, Theorem 5.5": (
            flute_samples.theorem_5_5(spectrum, rounds=duration, **steps), None
        ),
        "AltGDmin (Vaswani, 2024)": (whole / 12, whole),
    }  # fmt: skip
    assert list(found) == list(expected)
    for source, (per_client, total) in expected.items():
        row = found[source]
        close(row.per_client, float(per_client), 1e-9 * per_client)
        total = 12 * per_client if total is None else total
        close(row.total, float(total), 1e-9 * total)
        assert row.constant == 3.0 or row.source.startswith("parameters")
        if row.function:
            module, name = row.function.split(".")
            assert callable(getattr(getattr(lr.theory, module), name))
    assert [row.per for row in rows] == ["run"] * 2 + ["round", "run", "run", "round"] + ["run"] * 3
    table = pd.DataFrame(rows)
    assert list(table.columns) == list(sample_sizes.Threshold._fields)
    assert repr(rows[0]).startswith("Threshold(source='parameters of n separate models'")


def test_subsets_that_do_not_span_need_infinitely_many_samples():
    W = np.repeat(np.eye(2), 3, axis=0)
    truth = lr.SharedRepresentation(np.eye(4)[:, :2], W)
    rows = {row.source: row for row in sample_sizes.sample_size_thresholds(truth, participants=2)}
    assert rows["FedRep, Theorem 1"].total == np.inf
    assert rows["AltGDmin (Vaswani, 2024)"].total < np.inf
    near = sample_sizes.sample_size_thresholds(truth, initial_distance=0.0)
    far = sample_sizes.sample_size_thresholds(truth, initial_distance=0.05, tolerance=0.9)
    assert all(np.isfinite(row.total) for row in near)
    assert far[4].total == 0.0  # the start is closer than what is wanted


@settings(max_examples=20)
@given(seeds, st.integers(1, 3), st.integers(0, 3))
def test_lines_are_the_bounds(seed, k, extra):
    truth = problem(seed, n=4, k=k, d=k + extra)
    totals = np.array([[4, 24], [36, 37]])
    risk = bound_lines.lines(truth)
    distance = bound_lines.lines(truth, metric="squared_chordal")
    for place, m in np.ndenumerate([[1, 6], [9, 10]]):
        known = {
            "heads known": bounds.known_heads(truth, m),
            "Cramér-Rao": bounds.cramer_rao(truth, m),
            "Cramér-Rao given the covariates": bounds.cramer_rao(truth, m, given_design=True),
            "representation known": bounds.known_representation(truth, m),
        }
        for name, bound in known.items():
            assert risk[name](totals)[place] == 0.5 * bound.mean
            if name != "representation known":
                assert distance[name](totals)[place] == bound.squared_chordal
        least = minimax.prediction_error(truth.d, k, 4, m, noise=truth.noise)
        assert risk["minimax"](totals)[place] == 0.5 * least / 4
        assert distance["minimax"](totals)[place] == minimax.squared_chordal(truth, m)
    assert set(risk) == {*known, "minimax"}
    assert set(distance) == set(risk) - {"representation known"}
    assert risk["heads known"](24).shape == ()


def test_lines_for_other_covariates_are_those_that_hold_for_them():
    assert set(bound_lines.lines(SIGNS)) == {"heads known", "Cramér-Rao"}
    names = {"heads known", "Cramér-Rao", "minimax"}
    assert set(bound_lines.lines(SIGNS, metric="squared_chordal")) == names
