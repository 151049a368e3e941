"""Helpers of the claims on FLUTE's synthetic figures."""

from itertools import product

import numpy as np
import pytest

import linrep as lr
from linrep.papers.flute import figures, settings
from linrep.papers.flute.figure4 import unbounded_from


def naive_epochs(errors, share, epochs):
    kept = [(t, e) for t, e in zip(figures.RECORD, errors[1:], strict=True) if t <= epochs]
    last = kept[-1][1]
    goal = last + (1 - share) * (errors[0] - last)
    return next((t for t, error in kept if error <= goal), np.inf)


def naive_epochs_to_common(pair, epochs):
    ends = [run[1 + list(figures.RECORD).index(epochs)] for run in pair]
    worse = max(end if np.isfinite(end) else 0.0 for end in ends)
    goal = worse + 0.1 * max(0.0, pair[0][0] - worse)
    kept = [list(zip(figures.RECORD, run[1:], strict=True)) for run in pair]
    return [next((t for t, error in run if error <= goal and t <= epochs), np.inf) for run in kept]


def naive_ahead(ours, theirs, epochs):
    nothing, left = ours[0], False
    for t, a, b in zip(figures.RECORD, ours[1:], theirs[1:], strict=True):
        left = left or a <= 0.9 * nothing
        if t <= epochs and left and a < 0.995 * b:
            return t
    return np.inf


def naive_mean_error(errors, epochs):
    each = np.interp(np.arange(1, epochs + 1), figures.RECORD, errors[1:])
    return np.mean((each[1:] + each[:-1]) / 2)


@pytest.mark.parametrize("epochs", [100, 800])
def test_epochs_until_near_the_end_and_until_ahead(epochs):
    rng = np.random.default_rng(0)
    ours, theirs = 1.0 + rng.random((2, 20, 1)) * np.exp(-0.1 * np.arange(1 + len(figures.RECORD)))
    ours[0, 0] = 0.5  # it explains nothing
    theirs[:5] = 0.9
    for share in (0.5, 0.9, 0.99):
        expected = [naive_epochs(errors, share, epochs) for errors in ours]
        assert figures.epochs_to(ours, share, epochs).tolist() == expected
    assert np.isinf(expected[0])
    ours[2, -40:] = np.inf  # it diverges
    found = figures.epochs_to_common(ours, theirs, epochs)
    expected = [naive_epochs_to_common(pair, epochs) for pair in zip(ours, theirs, strict=True)]
    assert np.transpose(found).tolist() == expected
    assert np.isfinite(np.delete(found, 2, axis=1)).all()
    ours[2] = theirs[2]
    expected = [naive_ahead(*pair, epochs) for pair in zip(ours, theirs, strict=True)]
    assert figures.ahead(ours, theirs, epochs).tolist() == expected
    assert np.isinf(expected[:5]).all()
    pair = ours[1], 2.0 * ours[1]
    assert figures.ahead(*pair, epochs) == naive_ahead(*pair, epochs) > 1  # not at no model
    expected = [naive_mean_error(errors, epochs) for errors in ours]
    np.testing.assert_allclose(figures.mean_error(ours, epochs), expected)


def test_methods_meet_the_same_problem():
    kinds = product(("moments", "random"), ("exact", "1 step"), ("own", 1))
    methods, sizes = list(kinds), [(12, 11, 2), (15, 11, 2)]
    errors, alone = (
        figures.race(np.random.default_rng(0), 2, "decaying", sizes, chosen, epochs=6)
        for chosen in (methods, methods[-1:])
    )
    assert errors.shape == (9, 2, 2, 7)
    assert (errors[..., 0] == errors[0, ..., 0]).all()
    assert np.array_equal(errors[1::2], errors[2::2])  # once its own step is its own step
    assert np.array_equal(alone, errors[[0, -1]])
    last, best = figures.read(errors, [3])[:, 0]
    assert np.array_equal(last, errors[..., 3])
    assert np.array_equal(best, errors[..., 1:4].min(axis=-1))


def test_the_best_step_is_found_on_further_problems():
    one, other = (np.random.default_rng(0) for _ in range(2))
    methods = [("moments", "exact", factor) for factor in figures.FACTORS]
    errors = figures.race(one, 20, "normal", [(15, 20, 8)], methods, epochs=100)
    means = [np.mean([np.log(run[-1]) for run in each[0]]) for each in errors[1:]]
    found = figures.best_step(other, "normal", (15, 20, 8), "moments", "exact")
    assert found == figures.FACTORS[means.index(min(means))]


def test_runs_that_diverge_are_infinite_from_there_on():
    data = settings.draw_truth("normal", 6, 5, 0.1, 0).draw(8, rng=0)
    trace = lr.flute(data, k=2, step_size=5.0, rounds=50, record=[1, 2, 50], rng=0)
    found = settings.kept(trace, "truth_error", [1, 2, 50])
    assert np.isfinite(found).tolist() == [True, True, False]


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
