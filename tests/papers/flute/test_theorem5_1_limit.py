"""Statement of `linrep.papers.flute.theorem5_1_limit`, and steps of its proof."""

import numpy as np
import pytest

import linrep as lr
from linrep.papers.flute.theorem5_1_limit import instances, perturbed, sizes
from linrep.theory.flute_limit import limit


def hessian(Phi, moments, noise, B, W):
    """Return the objective's second derivative in (B, W) and its gradient's norm."""
    d, k = B.shape
    G = np.einsum("iab,bi->ai", moments, B @ W.T - Phi) - noise
    gram, columns = B.T @ B - W.T @ W, []
    for unit in np.eye(B.size + W.size).reshape(-1, d + len(W), k):
        A, C = unit[:d], unit[d:]
        moved = np.einsum("iab,bi->ai", moments, A @ W.T + B @ C.T)
        turned = A.T @ B + B.T @ A - C.T @ W - W.T @ C
        in_B = moved @ W + G @ C + 0.5 * (B @ turned + A @ gram)
        in_W = moved.T @ B + G.T @ A - 0.5 * (W @ turned + C @ gram)
        columns.append(np.vstack([in_B, in_W]).ravel())
    slope = np.vstack([G @ W + 0.5 * B @ gram, G.T @ B - 0.5 * W @ gram])
    return np.linalg.eigvalsh(columns), np.linalg.norm(slope)


@pytest.mark.parametrize("number", range(24))
def test_limits_curve_as_promised_and_other_stationary_points_are_strict_saddles(number):
    truth, k, off, zeta = list(instances(number + 1, np.random.default_rng(1)))[-1]
    data, changed = perturbed(truth, k, off, zeta), sizes(truth, k, off, zeta)
    promised, moments = limit(truth, k, changed), np.eye(truth.d) + off
    noise, first = np.empty_like(zeta), float(truth.singular_values[0])
    for i in range(truth.n):
        X, y = data.client(i)
        np.testing.assert_allclose(X.T @ X / len(y), moments[i], atol=1e-12)
        noise[:, i] = X.T @ (y - X @ truth.Phi[:, i]) / len(y)
    U, values, V = truth.svd
    best = (U[:, :k] * values[:k]) @ V[:, :k].T
    np.testing.assert_allclose(
        noise + np.einsum("iab,bi->ai", off, truth.Phi - best), zeta, atol=1e-12
    )
    end = lr.flute(
        data, k=k, step_size=1.0 / (3.0 * first), rounds=50_000, record=50_000, tolerance=1e-14,
        scale=0.1, rng=2,
    ).state  # fmt: skip
    curves, slope = hessian(truth.Phi, moments, noise, end["B"], end["W"])
    turns = k * (k - 1) // 2
    assert slope < 1e-7
    np.testing.assert_allclose(curves[:turns], 0.0, atol=1e-6)
    assert promised.curvature * (1.0 - 1e-6) <= curves[turns]
    assert curves[-1] <= 2.6 * first or promised.curvature == 0.0
    if k < len(values):  # without samples, the decomposition that has k + 1 in place of k
        kept = [*range(k - 1), k]
        B, W = (F[:, kept] * np.sqrt(values[kept]) for F in (U, V))
        even = np.broadcast_to(np.eye(truth.d), moments.shape)
        curves, slope = hessian(truth.Phi, even, np.zeros_like(zeta), B, W)
        assert slope < 1e-10
        assert curves[0] <= values[k] - values[k - 1] + 1e-9


def test_the_lemma_is_an_equality_at_other_best_approximations():
    rng = np.random.default_rng(3)
    for _ in range(100):
        d, n = rng.integers(2, 6, 2)
        k = int(rng.integers(1, min(d, n)))
        U, V = (np.linalg.qr(rng.standard_normal((size, size)))[0] for size in (d, n))
        values = np.sort(rng.uniform(0.1, 1.0, min(d, n)))[::-1]
        parts = [(U[:, i : i + 1] * values[i]) @ V[:, i : i + 1].T for i in range(len(values))]
        X, G, theta = sum(parts[:k]), sum(parts[k:]), values[k] / values[k - 1]
        turned = U[:, :k].copy()
        turned[:, -1] = np.sqrt(0.5) * (U[:, k - 1] + U[:, k])
        for frame in (np.linalg.qr(rng.standard_normal((d, k)))[0], turned):
            A = frame @ frame.T @ (X + G / theta)
            ratio = np.sum(A * G) / (theta / 2 * np.sum((A - X) ** 2))
            assert ratio <= 1.0 + 1e-9
        assert ratio == pytest.approx(1.0)
