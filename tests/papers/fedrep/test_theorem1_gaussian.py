"""Statements of `linrep.papers.fedrep.theorem1_gaussian`, and what their derivation uses."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from linrep.claims import everywhere
from linrep.papers.fedrep import theorem1_gaussian
from linrep.papers.fedrep.model import draw_problem
from linrep.theory import fedrep as theory
from tests.papers.fedrep.test_proofs import SHAPES, NormalRound, norm2

LARGER = [(20, 200, 30, 2), (50, 100, 10, 3), (10, 400, 60, 1), (40, 60, 7, 4)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rare(events, bound):
    """Tell whether a share of draws is at most a bound, up to five standard deviations."""
    events = np.asarray(events)
    return events.mean() <= bound + 5.0 * np.sqrt(bound / events.size)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[2] > shape[3]])
def test_a_round_of_the_algorithm_is_that_of_the_derivation(shape, rng):
    n, m, d, k = shape
    at = NormalRound(n, m, d, k, rng)
    eta = 0.7 * n / norm2(at.W_true) ** 2
    np.testing.assert_allclose(at.stepped(eta), at.B + eta * at.U @ at.M, atol=1e-10)


def test_samples_are_those_of_the_theory(rng):
    for setting in theorem1_gaussian._PROBLEMS:
        cell = {key: value for key, value in setting.items() if key != "step"}
        problem = draw_problem(rng, **cell)
        t = rng.uniform(2.0, 20.0)
        asked = theory.gaussian_sample_size(
            problem.truth.d, problem.truth.k, problem.participants,
            sigma_min=problem.truth.sigma_min(problem.participants), condition=problem.condition,
            initial_distance=problem.distance, failure=7.0 * np.exp(-t),
        )  # fmt: skip
        assert abs(theorem1_gaussian.samples_asked(problem, t) - asked) <= 1.0 + 1e-12 * asked


def test_the_derivation_reaches_its_constants_and_not_much_smaller_ones():
    def reaches(together, each=64):
        return everywhere(*theorem1_gaussian._errors(0.5, together, each), {}).good

    assert reaches(900)
    assert reaches(867)
    assert not reaches(866)
    assert not reaches(900, 50)


@pytest.mark.parametrize("shape", LARGER)
def test_heads_are_off_by_normal_errors_independent_of_the_rest(shape, rng):
    """The law of zeta_i given Z_i, and of N_i' N_i e_i given both."""
    _, m, d, k = 1, *shape[1:]
    Z, e = rng.standard_normal((m, k)), rng.standard_normal(d - k)
    solve = np.linalg.solve(Z.T @ Z, Z.T)
    e_norm = np.linalg.norm(e)
    whitened, lengths, across = [], [], []
    root = np.linalg.cholesky(Z.T @ Z)
    for _ in range(400):
        Y = rng.standard_normal((m, d - k))
        zeta = solve @ (Y @ e)
        residual = Y @ e - Z @ zeta
        pull = Y.T @ residual
        square = residual @ residual / e_norm**2
        xi = (pull - square * e) / (e_norm * np.sqrt(square))
        assert abs(xi @ e) < 1e-8 * e_norm * np.sqrt(m)
        direction = np.linalg.svd(e[None])[2][1]  # orthogonal to e
        whitened.append(root.T @ zeta / e_norm)
        lengths.append(square)
        across.append(direction @ xi)
    whitened, lengths, across = map(np.array, (whitened, lengths, across))
    assert kstest(whitened.ravel(), norm.cdf).pvalue > 1e-4
    assert kstest(lengths, chi2(m - k).cdf).pvalue > 1e-4
    assert kstest(across, norm.cdf).pvalue > 1e-4
    numbers = np.column_stack([whitened, lengths, across])
    correlations = np.corrcoef(numbers.T) - np.eye(k + 2)
    assert np.abs(correlations).max() < 5.0 / np.sqrt(400)


def test_tails_of_singular_values_and_of_sums_of_squares(rng):
    for n, k in ((40, 3), (12, 12), (5, 1)):
        G = rng.standard_normal((4000, n, k))
        values = np.linalg.svd(G, compute_uv=False)
        for u in (0.5, 1.0, 1.5):
            bound = np.exp(-(u**2) / 2)
            assert rare(values[:, 0] > np.sqrt(n) + np.sqrt(k) + u, bound)
            assert rare(values[:, -1] < np.sqrt(n) - np.sqrt(k) - u, bound)
    for f, size in ((1, 3), (6, 10)):
        c = rng.standard_normal(size)
        sums = (rng.chisquare(f, (20_000, size)) - f) @ c
        for x in (0.5, 1.0, 3.0):
            limit = 2 * np.sqrt(f * x) * np.linalg.norm(c) + 2 * np.abs(c).max() * x
            assert rare(sums > limit, np.exp(-x))
            assert rare(rng.chisquare(f, 20_000) ** 0.5 > f**0.5 + (2 * x) ** 0.5, np.exp(-x))


def test_a_smaller_covariance_has_smaller_norms(rng):
    """Anderson's inequality, for spectral norms of 3 x 2 matrices."""
    A, more = rng.standard_normal((2, 6, 6))
    smaller, larger = A @ A.T, A @ A.T + more @ more.T

    def norms(C):
        draws = rng.multivariate_normal(np.zeros(6), C, 20_000).reshape(-1, 3, 2)
        return np.linalg.norm(draws, 2, axis=(1, 2))

    of_smaller, of_larger = norms(smaller), norms(larger)
    for level in np.quantile(of_larger, [0.1, 0.5, 0.9]):
        assert rare(of_smaller > level, (of_larger > level).mean())


@pytest.mark.slow
def test_a_net_of_ratio_a_tenth_gives_the_norm_up_to_5_4(rng):
    net = []
    for x in rng.standard_normal((20_000, 3)):
        x /= np.linalg.norm(x)
        if not net or np.linalg.norm(np.array(net) - x, axis=1).min() > 0.1:
            net.append(x)
    assert len(net) <= 21**3
    net = np.array(net)
    for _ in range(20):
        A = rng.standard_normal((3, 3))
        assert norm2(A) <= 1.25 * (net @ A @ net.T).max()


def test_the_three_terms_keep_their_bounds(rng):
    """At t = 1, where a tenth of what is asked for is enough for the sizes they rest on."""
    t, kept = 1.0, []
    for n, d, k in ((10, 12, 2), (30, 9, 4), (4, 40, 1)):
        m = int(64 * (k + 2 * np.log(n) + 2 * t))
        for _ in range(30):
            at = NormalRound(n, m, d, k, rng)
            largest = norm2(at.W_true) / np.sqrt(n)
            s, V = norm2(at.Phi), np.sqrt(k * largest**2 * (d + 2 * t) / (n * m))
            sizes = [norm2(T) for T in at.terms()]
            limits = [8.33 * s * V + 18.6 * s * V**2, 2.64 * s * V, 2.74 * s * V]
            kept.append([size <= limit for size, limit in zip(sizes, limits, strict=True)])
    assert np.all(kept)
