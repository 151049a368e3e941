import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep.theory import fedrep_limits as limits
from tests.reference import subspace as reference
from tests.strategies import seeds
from tests.theory.support import check_mean, fit
from tests.tools import EPS, close

COUNT = 20_000


def random(seed, n=5, d=7, k=2, **options):
    return lr.SharedRepresentation.random(n=n, d=d, k=k, rng=seed, **options)


def basis_of_the_rest(truth, B, C, Phi):
    """Return F with B* = B C + F Phi."""
    return np.linalg.lstsq(Phi.T, (truth.B - B @ C).T, rcond=None)[0].T


def population_step(truth, B, step_size, left=1.0):
    """Return the step on infinitely many samples, client by client; B counts `left` times."""
    B_bar = left * B
    for w_star in truth.W:
        w = B.T @ truth.B @ w_star
        B_bar = B_bar - step_size / truth.n * np.outer(B @ w - truth.B @ w_star, w)
    return np.linalg.qr(B_bar)[0]


@given(seeds, st.floats(0.0, 1.0), st.sampled_from(["equal", "single"]), st.integers(1, 3))
def test_coordinates_give_back_the_truth(seed, distance, angles, k):
    truth = random(seed, k=k)
    B = lr.subspace.frame_at_distance(truth.B, distance, angles=angles, rng=seed)
    C, Phi = limits.coordinates(truth, B)
    close(C.T @ C + Phi.T @ Phi, np.eye(k), 100 * EPS)
    close(norm(Phi, 2), distance, 100 * EPS)
    close(B @ C, B @ B.T @ truth.B, 100 * EPS)


@given(seeds, st.integers(1, 3), st.floats(0.05, 0.95), st.floats(0.01, 1.0))
def test_population_rounds_are_those_of_the_algorithm(seed, k, distance, step_size):
    truth = random(seed, k=k)
    B = lr.subspace.frame_at_distance(truth.B, distance, angles="single", rng=seed)
    distances = limits.limit_distances(truth, B, step_size=step_size, rounds=5)
    assert distances.shape == (6,)
    C, Phi = limits.coordinates(truth, B)
    S = truth.W.T @ truth.W / truth.n
    for t in range(6):
        close(distances[t], reference.distance(B, truth.B), 1e-11)
        sines = np.sin(lr.subspace.principal_angles(B, truth.B))
        close(np.linalg.svd(Phi, compute_uv=False), sines, 1e-11)
        close(C.T @ C + Phi.T @ Phi, np.eye(k), 1e-12)
        B = population_step(truth, B, step_size)
        C, Phi = limits.population_round(C, Phi, S, step_size)


def test_distances_stay_accurate_far_below_rounding():
    truth = random(0, condition=1.0)  # so that every direction contracts alike
    distances = limits.limit_distances(truth, 1e-30, step_size=0.1, rounds=50)
    close(distances, 1e-30 * 0.9 ** np.arange(51), 1e-42)


@given(seeds, st.floats(0.0, 1.0))
def test_a_start_at_a_distance_needs_no_stored_truth(seed, distance):
    truth = random(seed)
    implicit = lr.ImplicitRepresentation(truth.W, truth.d)
    B = lr.subspace.frame_at_distance(truth.B, distance, rng=seed)
    close(
        limits.limit_distances(implicit, distance, step_size=0.2, rounds=4),
        limits.limit_distances(truth, B, step_size=0.2, rounds=4),
        1e-12,
    )


@given(seeds, st.integers(1, 3), st.floats(0.0, 1.0), st.floats(0.01, 1.0))
def test_population_rounds_stay_below_their_bound(seed, k, distance, share):
    truth = random(seed, k=k)
    step = share / truth.sigma_max() ** 2
    before, after = limits.limit_distances(
        truth, lr.subspace.frame_at_distance(truth.B, distance, rng=seed), step_size=step, rounds=1
    )
    bound = limits.population_bound(before, sigma_min=truth.sigma_min(), step_size=step)
    assert after <= bound * before + 100 * EPS


def sampled_gradients(truth, B, m, split, rng):
    """Return (1/m) X'(X B w - y) w', (X'X/m - I) q w' and w, batch by batch, for every client."""
    gradients, errors = [], []
    for theta in truth.theta:
        X = rng.standard_normal((COUNT, m, truth.d))
        y = X @ theta + truth.noise * rng.standard_normal((COUNT, m))
        w = fit(X @ B, y)
        if split:
            X = rng.standard_normal((COUNT, m, truth.d))
            y = X @ theta + truth.noise * rng.standard_normal((COUNT, m))
        residuals = (X @ (B @ w[..., None]))[..., 0] - y
        g = np.einsum("jma,jm->ja", X, residuals) / m
        gradients.append(g[:, :, None] * w[:, None, :])
        q = w @ B.T - theta
        g = np.einsum("jma,jm->ja", X, np.einsum("jma,ja->jm", X, q)) / m
        errors.append((g - q)[:, :, None] * w[:, None, :])
    return np.mean(gradients, axis=0), np.mean(errors, axis=0)


@pytest.mark.parametrize("batches", ["same", "split"])
@pytest.mark.parametrize(
    ("k", "m", "noise"), [(2, 12, 0.0), (2, 12, 0.6), (1, 11, 0.3), (3, 15, 0.3)]
)
def test_mean_gradients_on_batches(batches, k, m, noise, fresh_rng):
    truth = random(fresh_rng, n=3, d=2 * k + 1, k=k, noise=noise)
    B = lr.subspace.frame_at_distance(truth.B, 0.7, rng=fresh_rng)
    C, Phi = limits.coordinates(truth, B)
    F = basis_of_the_rest(truth, B, C, Phi)
    gradients, errors = sampled_gradients(truth, B, m, batches == "split", fresh_rng)
    inside, outside = limits.mean_gradient(truth.W, C, Phi, m=m, noise=noise, batches=batches)
    check_mean(gradients, B @ inside + F @ outside)
    if batches == "split":
        check_mean(errors, np.zeros_like(B))
    else:
        inside, outside = limits.gradient_bias(truth.W, C, Phi, m=m, noise=noise)
        check_mean(errors, B @ inside + F @ outside)


@pytest.mark.parametrize("m", [1, 2])
def test_few_samples_leave_no_residual(m, fresh_rng):
    truth = random(fresh_rng, k=2, noise=0.3)
    C, Phi = limits.coordinates(truth, 0.5)
    inside, outside = limits.mean_gradient(truth.W, C, Phi, m=m)
    assert not inside.any()
    assert not outside.any()
    distances = limits.limit_distances(truth, 0.5, step_size=0.2, rounds=3, m=m)
    close(distances, np.full(4, 0.5), 10 * EPS)
    assert limits.limiting_contraction(truth, step_size=0.2, m=m) == 1.0


@given(seeds, st.integers(1, 3), st.integers(2, 30), st.floats(0.1, 0.9), st.booleans())
def test_the_effective_step_size_takes_the_mean_step(seed, k, extra, distance, split):
    """B minus eta times the mean gradient, in R^d, spans what population_round finds."""
    truth = random(seed, k=k, noise=0.4)
    m, step, batches = k + extra, 0.2, "split" if split else "same"
    B = lr.subspace.frame_at_distance(truth.B, distance, rng=seed)
    C, Phi = limits.coordinates(truth, B)
    F = basis_of_the_rest(truth, B, C, Phi)
    inside, outside = limits.mean_gradient(truth.W, C, Phi, m=m, noise=0.4, batches=batches)
    after = np.linalg.qr(B - step * (B @ inside + F @ outside))[0]
    expected = limits.limit_distances(truth, B, step_size=step, rounds=1, m=m, batches=batches)[1]
    close(lr.subspace.distance(after, truth.B), expected, 1e-10)
    same = limits.effective_step_size(step, k=k, m=m)
    close(same, step * (m - k) / m, 10 * EPS)
    split_step = limits.effective_step_size(step, k=k, m=m, batches="split", variance=inside[0, 0])
    close(split_step, step / (1 - step * inside[0, 0]), 100 * EPS * abs(split_step))


@given(seeds, st.integers(4, 30), st.sampled_from(["same", "split"]))
def test_the_limiting_contraction_is_reached(seed, m, batches):
    truth = random(seed, n=20, noise=0.0)
    step = 0.25 / truth.sigma_max() ** 2
    settings = {"step_size": step, "m": m, "batches": batches}
    factor = limits.limiting_contraction(truth, **settings)
    share = (m - 2) / m if batches == "same" else 1.0
    close(factor, 1 - step * share * truth.sigma_min() ** 2, 100 * EPS)
    # The slowest direction alone, close to B*.
    v = np.linalg.eigh(truth.W.T @ truth.W)[1][:, :1]
    N = np.linalg.svd(truth.B.T)[2][-1][:, None]
    distances = limits.limit_distances(truth, truth.B + 1e-7 * N @ v.T, rounds=3, **settings)
    close(distances[1:] / distances[:-1], np.full(3, factor), 1e-8)


def test_noise_lengthens_the_step_on_split_batches_and_leaves_one_batch_alone():
    quiet, noisy = random(0), random(0, noise=1.0)
    for batches, compare in (("same", np.equal), ("split", np.less)):
        settings = {"step_size": 0.1, "m": 10, "batches": batches}
        assert compare(
            limits.limiting_contraction(noisy, **settings),
            limits.limiting_contraction(quiet, **settings),
        )


@pytest.mark.compiled
@pytest.mark.parametrize(("batches", "m"), [("gram", 4), ("gram", 12), ("gram_split", 10)])
def test_runs_with_many_clients_follow_the_limit(batches, m):
    """Fluctuations are of order 1/sqrt(rn): rn = 40 000, allowed ten of them."""
    truth = random(0, n=40_000, noise=0.3)
    B = lr.subspace.frame_at_distance(truth.B, 0.8, rng=1)
    settings = {"rounds": 6, "m": m, "step_size": 0.2}
    trace = lr.fedrep(truth, batches=batches, start=B, rng=2, **settings)
    kind = "split" if batches == "gram_split" else "same"
    expected = limits.limit_distances(truth, B, batches=kind, **settings)
    assert expected[-1] < 0.6
    close(trace["distance"], expected, 0.05 * expected)
