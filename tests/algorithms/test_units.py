"""Predictions that do not depend on the units in which data of one's own come."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms import imc
from tests.algorithms.on_samples import ALL, OTHERS

pytestmark = pytest.mark.compiled

TRUTH = lr.SharedRepresentation.random(n=12, d=6, k=2, noise=0.3, rng=0)
DRAWN = replace(TRUTH.draw(15, rng=1), truth=None)
FACTORS = [(1.0, 1e12), (1.0, 1e-12), (1e6, 1.0), (1e-6, 1.0), (3.0, 0.1)]
#: Of which samples are divided by their places.
IN_PARTS = {"altmin_gd", "anil", "maml"}


def test_all_public_algorithms_of_samples_are_here():
    names = {name.split()[0] for name in ALL if "." not in name}
    assert names | OTHERS == set(lr.algorithms.__all__)


@cache
def predicted(name):
    """Return what a method predicts for the samples as they were drawn."""
    return ALL[name](DRAWN, 2).predict(DRAWN)


@pytest.mark.parametrize("name", ALL)
def test_units_of_covariates_and_labels_do_not_matter(name):
    expected = predicted(name)
    for covariates, labels in FACTORS:
        data = replace(DRAWN, X=DRAWN.X * covariates, y=DRAWN.y * labels)
        found = ALL[name](data, 2)
        error = np.abs(found.predict(data) / labels - expected).max() / np.abs(expected).max()
        assert error < 1e-6, (covariates, labels)
        assert found.stop_reason != "diverged"


@pytest.mark.parametrize("name", ALL)
def test_orders_of_rows_and_clients_do_not_matter(name):
    """Where some clients take part, the same choice of places is one of other clients."""
    expected = predicted(name)
    client = np.repeat(np.arange(DRAWN.n), DRAWN.m)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(client == i)) for i in range(DRAWN.n)])
    others = np.concatenate([np.flatnonzero(client == i) for i in rng.permutation(DRAWN.n)])
    orders = ([] if name.split()[0] in IN_PARTS else [rows]) + ([] if "some" in name else [others])
    for order in orders:
        data = lr.ClientData(DRAWN.X[order], DRAWN.y[order], DRAWN.offsets)
        found = ALL[name](data, 2).predict(data)
        error = np.abs(found - expected[order]).max() / np.abs(expected).max()
        assert error < 1e-5


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_wrong_with_centred_data_of_one_scale(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", lr.RunWarning)
        assert ALL[name](DRAWN, 2).notes == ()


COMPLETION = {
    "perfedsi": lambda seen: lr.perfedsi(seen, k=2, rounds=200, rng=0),
    "gauss_newton": lambda seen: imc.gauss_newton(seen, 2),
    "alternating": lambda seen: imc.alternating(seen, 2),
    "balanced_gradient": lambda seen: imc.balanced_gradient(seen, 2),
    "nuclear_norm": imc.nuclear_norm,
    "least_squares": imc.least_squares,
}


@pytest.mark.parametrize("name", COMPLETION)
def test_units_of_entries_do_not_matter(name):
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((16, 2)), rng.standard_normal((24, 2))
    items, clients = np.divmod(rng.choice(16 * 24, 250, replace=False), 24)
    values = 2.0 + np.sum(U[items] * V[clients], axis=1) + 0.3 * rng.standard_normal(250)
    expected = None
    for factor in (1.0, 1e3, 1e-3):
        seen = lr.Observations(items, clients, factor * values, d=16, n=24)
        found = COMPLETION[name](seen).predict(seen) / factor
        expected = found if expected is None else expected
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", [*sorted(IN_PARTS), "fedrep"])
def test_where_means_of_covariates_do_harm_that_is_said(name):
    """Of those whose rounds lower another loss already from two standard deviations on."""
    data = replace(DRAWN, X=DRAWN.X + 5.0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        notes = ALL[name](data, 2).notes
    of_means = "covariates have means of up to 5" in " ".join(notes)
    assert of_means == (name in IN_PARTS)
    assert of_means == any("means of up to 5" in str(each.message) for each in said)
