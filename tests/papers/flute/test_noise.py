"""Helpers of the checks of FLUTE's noise and samples, against plain versions."""

from dataclasses import replace

import numpy as np
import pytest

import linrep as lr
from linrep.papers.flute import lemma_a13_a14, remark5_6_7, runs
from linrep.theory import flute, flute_lift


def _case(rng, *, m=30, spread=0.3):
    truth = runs.truth_of((1.0, 0.8, 0.4), 7, 5, rng, noise=spread)
    return truth, flute.Spectrum.of(truth, 2), truth.draw(m, rng=rng)


@pytest.mark.compiled
@pytest.mark.parametrize("m", [3, 40])
def test_compressed_data_have_the_moments_of_samples(m):
    rng = np.random.default_rng(0)
    truth = runs.truth_of((1.0, 0.5), 4, 3, rng, noise=0.5)

    def moments(draw):
        found = []
        for _ in range(3000):
            X, y = draw().client(0)
            S, b = X.T @ X / len(X), X.T @ (y - X @ truth.theta[0]) / len(X)
            found.append([*S[np.triu_indices(3)], *b, *np.linalg.eigvalsh(S)])
        return np.array(found)

    plain = moments(lambda: truth.draw(m, rng=rng))
    small = moments(lambda: runs.compressed(truth, m, rng))
    scale = np.hypot(plain.std(axis=0), small.std(axis=0)) / np.sqrt(3000)
    assert np.all(np.abs(plain.mean(axis=0) - small.mean(axis=0)) < 5.0 * scale + 1e-12)
    np.testing.assert_allclose(plain.std(axis=0), small.std(axis=0), rtol=0.15, atol=1e-12)


def test_compression_changes_no_run():
    rng = np.random.default_rng(1)
    truth, _, data = _case(rng)
    rows = []
    for i in range(data.n):
        X, y = data.client(i)
        Q, R = np.linalg.qr(X)
        rows.append((np.sqrt(5 / len(y)) * R, np.sqrt(5 / len(y)) * Q.T @ y))
    small = lr.ClientData(
        np.vstack([X for X, _ in rows]), np.hstack([y for _, y in rows]), np.arange(8) * 5,
        truth=truth,
    )  # fmt: skip
    traces = [lr.flute(each, k=2, step_size=0.1, rounds=50, rng=3) for each in (data, small)]
    np.testing.assert_allclose(traces[0].state["B"], traces[1].state["B"], rtol=1e-10)


def test_the_floor_is_that_of_the_best_model_for_the_samples():
    rng = np.random.default_rng(2)
    truth = runs.truth_of((1.0, 0.9, 0.3), 8, 6, rng, noise=0.2)
    kept = runs.floor(truth, 2, 500, np.random.default_rng(5))
    data = runs.compressed(truth, 500, np.random.default_rng(5))
    fit = lr.empirical_risk_minimizer(data, 2, restarts=3, rng=0)
    error = np.linalg.norm(fit.B @ fit.W.T - truth.best(2).Phi, axis=0).mean()
    assert kept == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("heads", [False, True])
@pytest.mark.parametrize("design", ["gaussian", "rademacher"])
def test_nothing_in_the_region_exceeds_what_is_certified(heads, design):
    rng = np.random.default_rng(4)
    truth, spectrum, _ = _case(rng)
    truth = replace(truth, design=design)
    data = truth.draw(6, rng=rng)
    for B, W in lemma_a13_a14.families(truth, spectrum, rng):
        assert flute.region((1.0 - 1e-12) * flute_lift.lift(truth, B, W), spectrum).weak
        found = flute_lift.discrepancy(data, truth.Phi, B, W, 1.0)[int(heads)]
        assert np.linalg.norm(found, 2) <= lemma_a13_a14.certified(data, spectrum)


def test_late_rates_are_those_of_the_linearized_map():
    for gap, eta in ((0.2, 0.05), (0.8, 0.1)):
        expected = -np.log1p(-0.5 * eta * gap)
        assert remark5_6_7.late_rate(gap, eta, np.random.default_rng(0)) == pytest.approx(
            expected, rel=1e-2
        )
