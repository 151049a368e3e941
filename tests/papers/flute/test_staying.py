"""What the checks on FLUTE's region use, against plain computations."""

from functools import partial

import numpy as np
import pytest

from linrep.papers.flute import model, runs
from linrep.theory import flute_lift
from linrep.theory.flute import Spectrum, region


def _instance(n, d, k, rng, noise=0.7):
    spectrum = Spectrum(np.array([1.0, 0.9, 0.5, 0.2]), n, d, k, noise)
    truth = runs.truth_with(spectrum, rng)
    return spectrum, truth, runs.lifting(truth) @ rng.standard_normal((n + d, k))


@pytest.mark.parametrize(("n", "d"), [(4, 4), (6, 4), (4, 6)])
def test_noise_from_moments_is_that_of_the_samples(n, d):
    rng = np.random.default_rng(n + 10 * d)
    _, truth, Theta = _instance(n, d, 2, rng)
    data = truth.draw(20, rng=1)
    moments = []
    for i in range(n):
        X, y = data.client(i)
        both = np.column_stack([X, (y - X @ truth.Phi[:, i]) / truth.noise])
        moments.append(both.T @ both / 20)
    B, W = flute_lift.lower(truth, Theta)
    expected = flute_lift.lift(truth, *flute_lift.discrepancy(data, truth.Phi, B, W, 0.1))
    np.testing.assert_allclose(
        runs.noise(truth, Theta, np.array(moments), 0.1), expected, atol=1e-13
    )


def test_drawn_moments_have_the_moments_of_samples():
    rng = np.random.default_rng(0)
    _, truth, _ = _instance(4, 4, 2, rng)
    m, draws = 12, 20000
    drawn = runs.draw_moments(truth, m, draws, rng).reshape(-1, 5, 5)
    np.testing.assert_allclose(drawn.mean(axis=0), np.eye(5), atol=0.01)
    spread = (1.0 + np.eye(5)) / m  # variances of the entries of a Wishart matrix over m
    np.testing.assert_allclose(drawn.var(axis=0), spread, rtol=0.05)


@pytest.mark.parametrize("shape", model.SEARCH_SHAPES)
def test_read_points_are_in_the_region_and_reach_its_boundary(shape):
    rng = np.random.default_rng(0)
    reached = np.zeros(3, dtype=int)
    for _ in range(200):
        read = partial(model.read_point, limit=lambda s: 0.4 / s.first)
        point = model.drawn(read, shape, rng, 10.0 ** rng.uniform(-2.0, 2.0))
        margins = np.array(region(point.Theta, point.spectrum))
        assert margins.min() > -1e-12
        assert point.spectrum.gap >= 0.05 - 1e-12
        assert 0.008 - 1e-12 <= point.step_size <= 0.4
        reached += margins < 1e-7
    assert (reached > 0).all()


def test_singular_values_of_long_doubles():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 4))
    found = model.singular_values(A.astype(np.longdouble))
    np.testing.assert_allclose(found.astype(float), np.linalg.svd(A, compute_uv=False))
    turned = model.orthonormal(rng.standard_normal((4, 4)))
    small = turned.astype(np.longdouble) * np.array([1.0, 1e-4, 1e-7, 1e-10])
    assert float(model.singular_values(small)[-1]) == pytest.approx(1e-10, rel=1e-6)


def test_a_step_commutes_with_the_scale_covariance():
    rng = np.random.default_rng(0)
    spectrum = model.flat_spectrum(4, 2, 0.3)
    Theta = rng.standard_normal((8, 2))
    other = model.scaled(spectrum, Theta, 0.1, 1e4)
    expected = np.sqrt(1e4) * model.step(Theta, spectrum, 0.1)
    np.testing.assert_allclose(model.step(other.Theta, other.spectrum, other.step_size), expected)
    orbit = flute_lift.iterate(Theta, spectrum.eigenvalues, 0.1, [1]).Theta[0]
    np.testing.assert_allclose(orbit, model.step(Theta, spectrum, 0.1), rtol=1e-12)
