"""Covariates that depend on each other: heads of minimum norm, losses that are possible."""

import warnings
from functools import cache

import numpy as np
import pytest

import linrep as lr
from tests.algorithms.on_samples import ALL, FITTED, REPRESENTATIONS
from tests.algorithms.support import clients_of, loss
from tests.tools import sampled

KINDS = ("a column twice", "sums of columns", "dummies with an intercept")


def covariates(kind, m, rng):
    x = rng.standard_normal((m, 3))
    if kind == "a column twice":
        return np.column_stack([x, x[:, 0]])
    if kind == "sums of columns":
        return np.column_stack([x, x[:, 0] + x[:, 1], x[:, 2] - x[:, 0]])
    group = np.eye(3)[rng.integers(0, 3, m)]
    return np.column_stack([np.ones(m), group, x[:, 0]])


@cache
def samples(kind, seed, m=12, n=8):
    """Return data to learn from, and held-out ones whose last column went through float32."""
    rng = np.random.default_rng(seed)
    parts, later = [], []
    for _ in range(n):
        w = None
        for found, count in ((parts, m), (later, 30)):
            X = covariates(kind, count, rng)
            w = rng.standard_normal(X.shape[1]) if w is None else w
            found.append((X, X @ w + 1.0 + 0.5 * rng.standard_normal(count)))
    later = [(np.column_stack([X[:, :-1], X[:, -1].astype(np.float32)]), y) for X, y in later]
    return lr.ClientData.from_list(parts), lr.ClientData.from_list(later)


@cache
def fitted(name, kind, seed, less=0):
    """Return what a method makes of samples, at full rank or somewhat less."""
    data, _ = samples(kind, seed)
    return ALL[name](data, data.d - less)


@pytest.mark.parametrize("seed", sampled(range(3), 1))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALL)
def test_no_loss_is_below_the_possible_and_no_head_is_beyond_least_squares(name, kind, seed):
    data, _ = samples(kind, seed)
    for less in (0, 1):
        trace = fitted(name, kind, seed, less)
        if trace.stop_reason == "diverged":
            continue
        alone = np.array([np.linalg.lstsq(X, y, rcond=None)[0] for X, y in clients_of(data)])
        least = loss(data, alone)
        assert loss(data, trace.models) >= least * (1 - 1e-9)
        if "loss" in trace and "some" not in name and name.split()[0] not in ("altmin_gd", "maml"):
            assert np.nanmin(trace["loss"][1:] if len(trace["loss"]) > 1 else trace["loss"]) >= (
                least * (1 - 1e-9)
            )
        if name in REPRESENTATIONS and "W" in trace.state and "altmin" not in name:
            B = trace.state["B"]
            own = [np.linalg.lstsq(X @ B, y, rcond=None)[0] for X, y in clients_of(data)]
            assert np.abs(trace.state["W"]).max() <= 10.0 * max(np.abs(own).max(), 1.0)


@pytest.mark.parametrize("seed", sampled(range(40), 8))
@pytest.mark.parametrize("name", [name for name in FITTED if name != "erm"])
def test_directions_in_which_no_sample_varies_have_no_heads(name, seed):
    """Of covariates of rank 2 of 6 and labels they say nothing of, leading directions may be such.

    What samples have along them is rounding, which heads of any size would fit.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)), rng.standard_normal(200)
    data = lr.ClientData(X, y, np.arange(0, 201, 10))
    for k in (2, 3, 4):
        trace = ALL[name](data, k)
        assert np.abs(trace.state["W"]).max() < 1e6
        assert loss(data, trace.models) == pytest.approx(trace["loss"][-1], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FITTED)
def test_held_out_predictions_are_those_of_clients_alone(name, kind):
    """At k = d, where sharing changes nothing, although the copy of a column is rounded."""
    for seed in range(3):
        data, later = samples(kind, seed)
        expected = lr.local_only(data).score(later)
        assert fitted(name, kind, seed).score(later) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["leading first", "leading last"])
def test_heads_on_principal_directions_are_of_minimum_norm(kind, order):
    """Of all clients' covariates, whose last directions no sample has."""
    data, _ = samples(kind, 0)
    B = np.linalg.svd(data.X, full_matrices=True)[2].T
    B = B if order == "leading first" else B[:, ::-1]
    W = lr.fit_heads(data, B)
    for (X, y), w in zip(clients_of(data), W, strict=True):
        np.testing.assert_allclose(w, np.linalg.lstsq(X @ B, y, rcond=1e-10)[0], atol=1e-9)
    kernel = lr.kernels.fit_heads(data.X, data.y, data.offsets, np.ascontiguousarray(B))
    np.testing.assert_allclose(kernel, W, atol=1e-9)
    np.testing.assert_allclose(W @ B.T, lr.local_only(data).state["theta"], atol=1e-8)


def test_the_rank_of_covariates_far_from_centred_is_right():
    """A Gram matrix would have lost it; the same tolerance as that of heads."""
    truth = lr.SharedRepresentation.random(n=8, d=5, k=2, noise=0.1, rng=0)
    drawn = truth.draw(20, rng=1)
    for far in (0.0, 1e2, 1e4, 1e6):
        data = lr.ClientData(drawn.X + far, drawn.y, drawn.offsets)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lr.alternating_least_squares(data, k=2)
        said = "; ".join(str(each.message) for each in caught)
        assert "rank" not in said
        assert ("means of up to" in said) == (far > 0.0)
    twice = np.column_stack([drawn.X[:, :4], drawn.X[:, :2]])
    with pytest.warns(lr.RunWarning, match="rank 4 of 6"):
        lr.fedrep(lr.ClientData(twice, drawn.y, drawn.offsets), k=2)
