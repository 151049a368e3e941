import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.algorithms.descent import (
    EVERY,
    LENGTHENED,
    SHARE,
    WINDOW,
    Backtracking,
    Descent,
    Smoothness,
    largest_eigenvalue,
)
from tests.reference import descent as reference
from tests.strategies import seeds

ROUNDS = 8


def quartic(seed, d, k):
    """|B w' - M|^2 / 2 of factors (d, k) and (d, k), one after another, with its gradient."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((d, d)) * 10.0 ** rng.integers(-2, 3)

    def split(x):
        return x[: d * k].reshape(d, k), x[d * k :].reshape(d, k)

    def value(x):
        B, W = split(x)
        return 0.5 * float(np.sum((B @ W.T - M) ** 2))

    def gradient(x):
        B, W = split(x)
        R = B @ W.T - M
        return np.concatenate([(R @ W).ravel(), (R.T @ B).ravel()])

    return value, gradient, rng.standard_normal(2 * d * k) * 10.0 ** rng.integers(-3, 2)


def both(value, gradient):
    return lambda x: (value(x), [gradient(x)], None)


def clip(x, step):
    return np.maximum(x, 0.0)


def compare(value, gradient, x, **how):
    descent = Descent(both(value, gradient), x, **how)
    points, steps, tried = reference.descend(value, gradient, x, ROUNDS, **how)
    for t in range(ROUNDS):
        descent.move()
        # Steps are ratios of differences, whose rounding errors each round adds to.
        np.testing.assert_allclose(descent.step, steps[t], rtol=1e-6 * 4.0**t)
        scale = max(np.abs(points[t + 1]).max(), np.abs(points[t]).max())
        np.testing.assert_allclose(descent.x, points[t + 1], atol=1e-8 * 4.0**t * scale)
        if value(descent.x) <= 1e-6 * value(x):  # nothing but rounding is left to compare soon
            return
    assert descent.trials == tried


@given(seeds, st.integers(1, 4), st.data())
def test_descent_follows_the_reference(seed, d, data):
    k = data.draw(st.integers(1, d))
    compare(*quartic(seed, d, k))


@given(seeds, st.integers(1, 5), st.floats(1e-3, 1e2))
def test_projected_descent_follows_the_reference(seed, d, first):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d)) + 0.1 * np.eye(d)
    H, b = A @ A.T, rng.standard_normal(d)
    compare(
        lambda x: float(0.5 * x @ H @ x - b @ x), lambda x: H @ x - b,
        np.abs(rng.standard_normal(d)), proximal=clip, first=first,
    )  # fmt: skip


def test_descent_stands_where_nothing_leads_down():
    descent = Descent(lambda x: (1.0, [np.zeros(3)], None), np.ones(3))
    descent.move()
    assert descent.step == 0.0
    np.testing.assert_array_equal(descent.x, np.ones(3))
    steep = Descent(lambda x: (float(-x @ x) if x @ x == 1.0 else np.nan, [x], None), np.eye(3)[0])
    steep.move()  # all that is tried is not finite
    assert steep.step == 0.0


def test_backtracking_takes_back_what_leads_up():
    place = [1.0]

    def play(step):
        place[0] -= step * 10.0 * place[0]
        return 5.0 * place[0] ** 2

    search = Backtracking(
        play, lambda: place[0], lambda saved: place.__setitem__(0, saved), value=5.0, first=1.0
    )
    search.move()  # 1, 1/2 and 1/4 lead up from 1, to 9, 4 and 1.5
    assert (search.step, search.trials, place[0]) == (0.125, 4, -0.25)
    search.move()
    assert search.step == 0.125
    search.move()
    assert search.step == LENGTHENED * 0.125
    assert search.value == 5.0 * place[0] ** 2
    saved = search.save()
    search.move()
    search.restore(saved)
    assert search.save() == saved
    nowhere = Backtracking(lambda step: np.nan, lambda: 0, lambda saved: None, value=1.0, first=1.0)
    nowhere.move()
    assert nowhere.step == 0.0


@given(seeds, st.integers(1, 6), st.integers(1, 8))
def test_lanczos_iteration_finds_the_largest_eigenvalue(seed, d, most):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    H, weights = (A + A.T) * 10.0 ** rng.integers(-6, 7), rng.uniform(0.1, 2.0, d)
    x = rng.standard_normal(d)
    expected = reference.largest_eigenvalue(H, weights)
    found, vector, taken = largest_eigenvalue(
        lambda x: H @ x, x, rng.standard_normal(d), most, weights
    )
    assert found <= expected * (1.0 + 1e-5)
    if most >= d:
        assert found == pytest.approx(expected, rel=1e-4)
        roots = np.sqrt(weights)
        image = roots * (H @ (roots * vector))
        assert np.linalg.norm(image) == pytest.approx(expected, rel=1e-2)
    assert np.linalg.norm(vector) == pytest.approx(1.0)
    assert taken <= most + 1


def test_no_curvature_is_zero():
    assert largest_eigenvalue(lambda x: np.ones(3), np.ones(3), np.ones(3), 9)[0] == 0.0
    assert largest_eigenvalue(lambda x: x, np.ones(3), np.ones(3), 9, np.zeros(3))[0] == 0.0
    assert Smoothness(3, drawn=False).step(lambda x: [np.ones(3)], [np.ones(3)]) == SHARE


def test_smoothness_is_estimated_again_when_a_factor_grows_or_time_has_passed():
    smoothness, asked = Smoothness(2, drawn=False), []

    def step(scale, H):
        before = smoothness.gradients
        found = smoothness.step(
            lambda *x: [H * each for each in x], [np.array([scale]), np.ones(1)]
        )
        asked.append(smoothness.gradients > before)
        return found

    assert step(1.0, 2.0) == pytest.approx(SHARE / 2.0)
    assert step(1.05, 4.0) == pytest.approx(SHARE / 2.0)
    assert step(1.2, 4.0) == pytest.approx(SHARE / 4.0)
    assert step(1.0, 8.0) == pytest.approx(SHARE / 8.0)
    assert asked == [True, False, True, True]
    for _ in range(EVERY):
        found = step(1.0, 16.0)
    assert found == pytest.approx(SHARE / 16.0)


def test_of_drawn_participants_the_largest_curvature_of_late_counts():
    smoothness = Smoothness(2, drawn=True)

    def step(H):
        return smoothness.step(lambda x: [H * x], [np.ones(2)])

    assert step(8.0) == pytest.approx(SHARE / 8.0)
    found = [step(2.0) for _ in range(WINDOW)]
    np.testing.assert_allclose(found[:-1], SHARE / 8.0, rtol=1e-6)
    assert found[-1] == pytest.approx(SHARE / 2.0)
