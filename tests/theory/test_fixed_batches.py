"""The frame of least loss on fixed batches: against its energy, small noise, and runs."""

import numpy as np
import pytest

import linrep as lr
from linrep.problems import ImplicitRepresentation
from linrep.theory import bounds, design_bounds
from linrep.theory.asymptotics import fixed_batches
from tests.theory.support import FLAT, SIGNS
from tests.tools import close, complaint


def axes(n, d, k, noise):
    """Return a truth with heads of equal norm root(k), as many along each axis."""
    W = np.sqrt(k) * np.vstack([np.eye(k), -np.eye(k)] * (n // (2 * k)))
    return ImplicitRepresentation(W, d, noise)


def skewed(n, d, k, noise):
    W = np.random.default_rng(0).standard_normal((n, k)) * np.linspace(1.0, 2.0, k)
    return ImplicitRepresentation(W, d, noise)


def least_singular_values(truth, C, V, z, e):
    """Return half the squared ones of [h V^-1/2, y], with h = z and y = h C w + root(q) e."""
    w = truth.W[np.arange(len(z)) % truth.n]
    model = w @ C.T
    q = np.sum(w**2, axis=1) - np.sum(model**2, axis=1) + truth.noise**2
    y = np.einsum("imk,ik->im", z, model) + np.sqrt(q)[:, None] * e
    values, U = np.linalg.eigh(V)
    A = np.concatenate([z @ (U / np.sqrt(values)) @ U.T, y[:, :, None]], axis=2)
    return 0.5 * np.linalg.svd(A, compute_uv=False)[:, -1] ** 2


@pytest.mark.parametrize(
    ("truth", "m"), [(axes(60, 25, 1, 0.5), 4), (skewed(60, 40, 2, 0.6), 7)], ids=["k=1", "k=2"]
)
def test_the_energy_is_stationary_at_the_minimizer(truth, m):
    found, k = fixed_batches.minimizer(truth, m=m), truth.k
    gamma, rng = (truth.d - k) / truth.n, np.random.default_rng(1)
    z, e = rng.standard_normal((30_000, m, k)), rng.standard_normal((30_000, m))

    def energies(C, V):
        cost = 0.5 * gamma * np.trace(np.linalg.solve(V, np.eye(k) - C @ C.T))
        return least_singular_values(truth, C, V, z, e) - cost

    assert found.squared_chordal > 0.03
    for a in range(k):
        for b in range(a, k):
            step = np.zeros((k, k))
            step[a, b] = step[b, a] = 1e-3
            for move in ((step, 0.0), (0.0, step * np.abs(found.V).max())):
                ends = [energies(found.C + t * move[0], found.V + t * move[1]) for t in (-1, 1)]
                slopes = ends[1] - ends[0]
                assert abs(slopes.mean()) < 4.0 * slopes.std() / np.sqrt(len(slopes))
    energy = energies(found.C, found.V)
    assert abs(energy.mean() - m * found.loss) < 4.0 * energy.std() / np.sqrt(len(energy))


@pytest.mark.parametrize("truth", [axes(60, 61, 1, 1e-3), skewed(60, 62, 2, 1e-3)])
def test_little_noise(truth):
    m, (n, k) = 6, truth.W.shape
    found, sines = fixed_batches.minimizer(truth, m=m), fixed_batches.small_noise(truth, m=m)
    close(np.linalg.eigvalsh(found.E), sines, 0.01 * sines)
    loss = truth.noise**2 * (m - k - k * (truth.d - k) / n) / (2 * m)
    close(found.loss, loss, 0.01 * loss)


def test_isotropic_heads_have_a_closed_form():
    gamma, noise, m, k = 0.5, 0.1, 8, 2
    sines = fixed_batches.small_noise(axes(40, 22, k, noise), m=m)
    close(sines, np.full(k, noise**2 * gamma / (m - k - k * gamma)), 1e-9)


def test_little_noise_leaves_the_bound_given_the_samples():
    law, m = skewed(200, 100, 2, 0.01), 6
    truth = lr.SharedRepresentation(lr.subspace.random_frame(100, 2, 0), law.W, law.noise)
    exact = [design_bounds.cramer_rao(truth.draw(m, rng=seed)).squared_chordal for seed in range(4)]
    limit = fixed_batches.small_noise(truth, m=m).sum()
    many = bounds.cramer_rao(truth, m, given_design=True).squared_chordal  # gamma -> 0
    assert limit > 1.5 * many
    close(np.mean(exact), limit, 0.02 * limit)


@pytest.mark.parametrize(("k", "m", "noise"), [(1, 5, 0.5), (2, 8, 0.5)])
def test_runs_end_there(k, m, noise):
    law = axes(320, 160, k, noise)
    truth = lr.SharedRepresentation(lr.subspace.random_frame(160, k, 0), law.W, noise)
    limit = fixed_batches.minimizer(truth, m=m)
    ends = []
    for seed in range(8):
        run = lr.fedrep(
            truth.draw(m, rng=seed), k=k, step_size=1.0 / k, rounds=100, record=100, rng=0,
            start="truncated",
        )  # fmt: skip
        angles = lr.subspace.principal_angles(run.state["B"], truth.B)
        ends.append((np.sum(np.sin(angles) ** 2), run["loss"][-1]))
    error = 4.0 * np.std(ends, axis=0, ddof=1) / np.sqrt(len(ends))
    expected = np.array([limit.squared_chordal, limit.loss])
    assert np.all(error < 0.25 * expected)
    assert np.all(np.abs(np.mean(ends, axis=0) - expected) < error + 0.02 * expected)


def test_ends_of_the_range():
    exact = fixed_batches.minimizer(axes(40, 20, 1, 0.0), m=3)
    assert exact[:4] == (0.0, 0.0, 0.0, 0.0)
    with complaint(ValueError, "noise 5 hides B* from 3 samples"):
        fixed_batches.minimizer(axes(40, 20, 1, 5.0), m=3)
    assert fixed_batches.minimizer(axes(40, 20, 1, 0.1), m=2).new_client_risk == np.inf


@pytest.mark.parametrize(
    ("truth", "m", "words"),
    [
        (axes(40, 20, 2, 0.1), 2, "m must be at least 3"),
        (axes(40, 62, 2, 0.1), 5, "m must be above k"),
        (axes(4, 2, 2, 0.1), 5, "d must be at least 3"),
        (FLAT, 5, "W must have rank"),
        (SIGNS, 5, "gaussian"),
    ],
)
def test_what_is_refused(truth, m, words):
    for function in (fixed_batches.minimizer, fixed_batches.small_noise):
        with complaint(ValueError, words):
            function(truth, m=m)
