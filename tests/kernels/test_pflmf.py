"""Block-coordinate rounds against their naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from linrep.kernels import pflmf as kernel
from linrep.kernels import pflmf_samples as samples
from linrep.kernels.rounds import COMPLETED, DIVERGED
from tests.reference import pflmf as naive
from tests.strategies import seeds
from tests.tools import COMPILED

KINDS = ("identity", "shared", "diagonal", "own", "least_squares", "logistic")
NO_MATRICES, NO_WEIGHTS = np.empty((0, 0, 0)), np.empty((0, 0))


def draw(kind, rng, n, d, ridge):
    """Return the kernel with its functions, the naive gradients, and the largest batch."""
    if kind in KINDS[:4]:
        A, roots = rng.standard_normal((n, d)), rng.standard_normal((n, d, d)) / np.sqrt(d)
        own, weights = roots @ roots.swapaxes(1, 2), rng.random((n, d))
        matrices = {
            "identity": [np.eye(d)] * n, "shared": [own[0]] * n,
            "diagonal": [np.diag(each) for each in weights], "own": list(own),
        }[kind]  # fmt: skip
        H = {"shared": own[:1], "own": own}.get(kind, NO_MATRICES)
        diagonals = weights if kind == "diagonal" else NO_WEIGHTS
        functions = kernel.Quadratic(KINDS.index(kind), A, H, diagonals)
        gradients = [lambda x, i=i: matrices[i] @ (x - A[i]) for i in range(n)]
        return kernel.run_quadratic, functions, gradients, 0
    sizes = rng.integers(1, 9, n)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    X, y = rng.standard_normal((offsets[-1], d)), rng.standard_normal(offsets[-1])
    if kind == "logistic":
        y = np.sign(y)

    def gradient(x, i):
        rows = slice(offsets[i], offsets[i + 1])
        scores = X[rows] @ x
        slopes = scores - y[rows] if kind == "least_squares" else -y[rows] * expit(
            -y[rows] * scores
        )  # fmt: skip
        return X[rows].T @ slopes / sizes[i] + ridge * x

    loss = samples.LEAST_SQUARES if kind == "least_squares" else samples.LOGISTIC
    functions = samples.Losses(loss, X, y, offsets, ridge)
    return samples.run_samples, functions, [lambda x, i=i: gradient(x, i) for i in range(n)], 8


def run(function, functions, masks, U, V, m, *, everyone=False, measured=True, steps=(0.3, 0.7),
        local_steps=1, noise=None):  # fmt: skip
    """Return U, V, totals, and what the kernel returns, after a round per mask."""
    n, k = V.shape
    counts = masks.sum(axis=1)
    scales = np.full(len(masks), 1.0 / n) if everyone else 1.0 / np.maximum(counts, 1)
    UT, V, totals = U.T.copy(), V.copy(), np.zeros(4)
    silence = np.empty((1, k, len(U))), np.empty((1, local_steps, n, k))
    step_size, head_step_size = steps
    done = function(
        functions,
        masks,
        scales,
        kernel.Settings(step_size, head_step_size, head_step_size / n, everyone, measured),
        kernel.Noise(noise is not None, *(noise or silence)),
        kernel.State(UT.copy(), V.copy()),
        kernel.State(UT, V),
        totals,
        kernel.workspace(n, k, len(U), m, local_steps),
    )
    return UT.T, V, totals, done


@given(
    seed=seeds, kind=st.sampled_from(KINDS), n=st.integers(1, 140),
    d=st.sampled_from([1, 2, 3, 5, 7, 33, 40, 97]),
    k=st.integers(1, 6), local_steps=st.integers(1, 4), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    everyone=st.booleans(), measured=st.booleans(), noisy=st.booleans(),
    alone=st.booleans(),
    ridge=st.sampled_from([0.0, 0.4]),
)  # fmt: skip
def test_rounds_are_the_papers(
    seed, kind, n, d, k, local_steps, share, everyone, measured, noisy, alone, ridge
):
    rng = np.random.default_rng(seed)
    function, functions, gradients, m = draw(kind, rng, n, d, ridge)
    U, V = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    masks = rng.random((3, n)) < share
    if alone:
        masks = np.arange(n) == rng.integers(n, size=(3, 1))
    noise = None
    if noisy:
        noise = rng.standard_normal((3, k, d)), rng.standard_normal((3, local_steps, n, k))
    steps = 0.1 / k, 0.2 * n / k
    found = run(function, functions, masks, U, V, m, everyone=everyone, measured=measured,
                steps=steps, local_steps=local_steps, noise=noise)  # fmt: skip
    expected_U, expected_V, totals = U, V, np.zeros(4)
    one_round = naive.appendix_a1 if everyone else naive.algorithm_1
    for t, mask in enumerate(masks):
        noises = (noise[0][t].T, noise[1][t]) if noisy else (0.0, None)
        new_U, path = one_round(
            expected_U, expected_V, gradients, np.flatnonzero(mask), *steps, local_steps, *noises
        )
        if measured:
            totals[:2] += naive.stationarity(expected_U, path, gradients)
            totals[2] = max(totals[2], np.linalg.norm(new_U - U))
            totals[3] = max(totals[3], *(np.linalg.norm(each - V) for each in path))
        expected_U, expected_V = new_U, path[-1]
    size = 1.0 + max(np.abs(expected_U).max(), np.abs(expected_V).max())
    assert found[3] == (3, COMPLETED)
    np.testing.assert_allclose(found[0], expected_U, rtol=1e-9, atol=1e-10 * size)
    np.testing.assert_allclose(found[1], expected_V, rtol=1e-9, atol=1e-10 * size)
    np.testing.assert_allclose(found[2], totals, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", ["identity", "logistic"])
def test_how_a_run_is_cut_makes_no_difference(kind):
    rng = np.random.default_rng(0)
    function, functions, _, m = draw(kind, rng, 9, 4, 0.0)
    U, V, masks = rng.standard_normal((4, 2)), rng.standard_normal((9, 2)), rng.random((6, 9)) < 0.5
    whole = run(function, functions, masks, U, V, m)
    half = run(function, functions, masks[:2], U, V, m)
    rest = run(function, functions, masks[2:], half[0], half[1], m)
    np.testing.assert_array_equal(whole[0], rest[0])
    np.testing.assert_array_equal(whole[1], rest[1])


@pytest.mark.parametrize("kind", ["identity", "least_squares"])
def test_what_diverges_leaves_the_last_finite_factors(kind):
    rng = np.random.default_rng(1)
    function, functions, _, m = draw(kind, rng, 5, 3, 0.0)
    U, V = rng.standard_normal((3, 2)), rng.standard_normal((5, 2))
    masks = np.ones((60, 5), dtype=bool)
    U, V, _, (done, status) = run(function, functions, masks, U, V, m, steps=(1e3, 1e3))
    assert status == DIVERGED
    assert done < 60
    assert np.isfinite(U).all()
    assert np.isfinite(V).all()


def test_long_runs_end_at_rounding_without_residuals():
    rng = np.random.default_rng(0)
    n, d, k = 60, 100, 3
    U, V = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    A = V @ U.T  # of rank k: descents vanish in the end
    functions = kernel.Quadratic(kernel.IDENTITY, A, NO_MATRICES, NO_WEIGHTS)
    start = U + 0.1 * rng.standard_normal((d, k)), V + 0.1 * rng.standard_normal((n, k))
    step = 0.5 / np.linalg.norm(V, 2) ** 2
    everyone = np.ones((5_000 if COMPILED else 500, n), dtype=bool)
    found = run(
        kernel.run_quadratic, functions, everyone, *start, 0, everyone=True, measured=False,
        steps=(n * step, n * step),
    )  # fmt: skip
    eps = np.finfo(np.float64).eps
    assert np.linalg.norm(found[0] @ found[1].T - A.T) <= 10 * eps * np.linalg.norm(A)
