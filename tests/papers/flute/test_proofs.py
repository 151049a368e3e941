"""Steps of FLUTE's derivations that no check and no solver has."""

import math
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
import sympy as sp

from linrep.papers.flute.model import extreme_points, spectra
from linrep.problems.subspace import random_frame

ATOL = 1e-10


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def squares(A):
    return float(np.sum(A**2))


def largest(A):
    return float(np.linalg.norm(A, 2))


def least(A):
    return float(np.linalg.svd(A, compute_uv=False)[-1])


def points(rng, thin=0.0):
    """Yield spectra with lambda*_1 = 1 and Theta_k, Theta_res with norm at most sqrt(2)."""
    for _, spectrum in spectra():
        eigenvalues = spectrum.eigenvalues / spectrum.first
        k, gap = spectrum.k, spectrum.gap / spectrum.first
        found = list(extreme_points(spectrum, 3, rng) / np.sqrt(spectrum.first))
        for _ in range(4):
            Theta = rng.standard_normal((eigenvalues.size, k)) * 10.0 ** rng.uniform(-2, 0, k)
            Theta = Theta @ random_frame(k, k, rng)
            found.append(Theta * np.sqrt(2.0 * rng.uniform(0.01, 1.0)) / largest(Theta))
        for Theta in found:
            if least(Theta[:k]) ** 2 >= thin * gap:
                yield eigenvalues[:k], k, gap, Theta[:k], Theta[k:]


def test_eq5_6_corrected():
    """The only coefficients with which a round is (13), for d = n = k = 1."""
    b, w, phi, a, r1, r2, eta = sp.symbols("b w phi a r1 r2 eta")
    step_here = a * phi * w - b * ((a - r1) * w**2 + r2 * b**2)
    step_13 = eta * phi * w - eta / 2 * b * (b**2 + w**2)
    equations = sp.Poly(sp.expand(step_here - step_13), b, w, phi).coeffs()
    assert sp.solve(equations, [a, r1, r2], dict=True) == [{a: eta, r1: eta / 2, r2: eta / 2}]


def test_lemmaa16_corrected(rng):
    seen = 0
    for values, k, gap, lead, rest in points(rng):
        eta = gap**2 / 16 * rng.uniform(0.02, 1.0)
        S, L = lead.T @ lead, lead.T @ (values[:, None] * lead)
        T = S + rest.T @ rest
        N, last, sigma, r = np.eye(k) - eta / 2 * T, values[-1], least(lead), largest(rest)
        after = lead + eta / 2 * (values[:, None] * lead - lead @ T)
        x = random_frame(k, 1, rng)[:, 0]
        y = np.sqrt(x @ L @ x)
        terms = (
            x @ N @ S @ N @ x, eta * y**2, -(eta**2) / 2 * x @ T @ L @ x,
            eta**2 / 4 * squares(values * (lead @ x)),
        )  # fmt: skip
        assert squares(after @ x) == pytest.approx(sum(terms), rel=1e-9)
        below = (1 - eta * r**2 - eta * sigma**2) * sigma**2 + eta**2 * sigma**6 / 4
        assert terms[0] >= below - ATOL
        lowest = np.linalg.eigvalsh(N @ N - np.eye(k) + eta * T - eta**2 / 4 * sigma**4 * np.eye(k))
        assert lowest[0] >= -ATOL
        assert y**2 >= last * (x @ S @ x) - ATOL
        assert np.linalg.norm(L @ x) <= np.sqrt(2) * y + ATOL
        assert terms[2] >= -np.sqrt(2) * eta**2 * y - ATOL * eta
        assert terms[3] >= eta**2 / 4 * last**2 * sigma**2 - ATOL
        loss = (1 + eta * (last - r**2 - sigma**2)) * sigma**2 - least(after) ** 2
        if sigma**2 >= gap / 4:
            seen += 1
            assert np.sqrt(last) * sigma >= gap / 2 - ATOL >= eta / np.sqrt(2) - ATOL
            assert loss <= np.sqrt(2) * eta**2 * np.sqrt(last) * sigma * (1 + 1e-6) + ATOL * eta**2
            assert np.sqrt(2) * eta * np.sqrt(last) <= gap * sigma / 4 + 1e-12
    assert seen > 50


def test_eq19(rng):
    for values, k, gap, lead, _ in points(rng):
        eta = gap**2 / 18 * rng.uniform(0.02, 1.0)
        C, M = lead @ lead.T, np.eye(k) + eta / 2 * np.diag(values)
        F = np.eye(k) - eta / 2 * C
        A = lead + eta / 2 * (values[:, None] * lead - C @ lead)
        inner = eta**2 / 4 * np.linalg.inv(M) @ np.diag(values) @ C @ np.linalg.inv(F)
        np.testing.assert_allclose(A, M @ (np.eye(k) + inner) @ F @ lead, atol=ATOL)
        assert largest(inner) <= eta**2 / (2 * (1 - eta) * (1 + eta / 2)) * (1 + 1e-9)
        sigma = least(lead)
        assert least(F @ lead) == pytest.approx(sigma * (1 - eta * sigma**2 / 2))


def test_eq37(rng):
    for values, k, _, lead, rest in points(rng):
        Theta, G = np.vstack([lead, rest]), rest.T @ rest
        whole = Theta @ Theta.T
        whole[:k, :k] -= np.diag(values)
        others = 2 * np.trace(Theta.T @ Theta @ G) - np.trace(G @ G)
        assert squares(whole) == pytest.approx(squares(lead @ lead.T - np.diag(values)) + others)


def test_nc_corrected(rng):
    def centred(A):
        return A - A.mean(axis=1, keepdims=True)

    for m, K in ((2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (5, 3)):
        clients = [list(chosen) for chosen in combinations(range(m), K)]
        rho = m * (K - 1) / (K * (m - 1))
        for _ in range(20):
            F, b = rng.standard_normal((m + 1, m)), rng.standard_normal(K)
            H = rng.standard_normal((m + 1, K)) * 10.0 ** rng.uniform(-2, 1)
            own = F[:, clients[0]]
            s, logits = np.sum(centred(H) * centred(own)), H.T @ own + b[:, None]
            loss = np.mean(np.log(np.exp(logits).sum(axis=0)) - np.diag(logits))
            assert loss >= np.log(1 + (K - 1) * np.exp(-s / (K - 1))) - 1e-9
            inside = sum(squares(centred(F[:, chosen])) for chosen in clients)
            pairs = sum(squares(F[:, c] - F[:, j]) for c, j in combinations(range(m), 2))
            assert inside == pytest.approx(comb(m - 2, K - 2) * pairs / K)
            assert pairs == pytest.approx(m * squares(centred(F)))
            F = centred(F)
            inside = sum(squares(centred(F[:, chosen])) for chosen in clients)
            assert inside == pytest.approx(rho * sum(squares(F[:, each]) for each in clients))
    # The slope of the bound at s = 0, and that it is convex.
    s, K = sp.symbols("s K", positive=True)
    loss = sp.log(1 + (K - 1) * sp.exp(-s / (K - 1)))
    assert sp.simplify(sp.diff(loss, s).subs(s, 0) + 1 / K) == 0
    assert sp.simplify(sp.diff(loss, s, 2) * (K - 1) * (1 + (K - 1) * sp.exp(-s / (K - 1))) ** 2
                       - sp.exp(-s / (K - 1))) == 0  # fmt: skip


def test_lemmaa10_second_case(rng):
    """A step from t', where s is below the reference: both bounds, and their ratio."""
    for _ in range(2000):
        last = rng.uniform(0.02, 1.0)
        gap = last * rng.uniform(0.01, 1.0)
        eta = gap**2 / 36 * rng.uniform(0.01, 1.0)
        x, reference = eta * gap, rng.uniform() ** rng.integers(1, 8)
        s = min(reference, np.sqrt(last - gap / 2)) * rng.choice([1.0, rng.uniform()])
        w = rng.uniform(gap / 4, 2.0)
        above = s * (1 + eta / 2 * (last - gap - s**2 - w)) + reference * x / 16
        below = (1 + eta * (last - s**2 - w) - 3 * x / 8) * w
        assert above**2 / below <= (12 - x) / (12 + x) * reference**2 / w * (1 + 1e-12)


def test_lemmaa11_second_case_corrected(rng):
    for values, k, gap, lead, rest in points(rng, thin=0.25):
        eta = gap**2 / 36 * rng.uniform(0.02, 1.0)
        x, one = eta * gap, np.eye(k)
        C, G = lead @ lead.T, rest.T @ rest
        D, S = C - np.diag(values), lead @ G @ lead.T
        after = lead + eta / 2 * (values[:, None] * lead - lead @ (lead.T @ lead + G))
        shrunk = (one - eta / 2 * C) @ D @ (one - eta / 2 * C)
        shrunk += eta**2 / 4 * (D @ C @ D - C @ D @ C)
        mixed = eta / 2 * (one - eta / 2 * D) @ S
        other = eta**2 / 4 * lead @ G @ G @ lead.T - mixed - mixed.T
        np.testing.assert_allclose(after @ after.T - np.diag(values), shrunk + other, atol=ATOL)
        assert largest(shrunk) <= ((1 - x / 8) ** 2 + 2 * eta**2) * largest(D) + 1e-12
        assert largest(other) <= (2 * eta * (1 + eta) + eta**2) * largest(G) + 1e-12
    for _ in range(50):
        # The recursion with the largest of everything, unrolled.
        x, gap = rng.uniform(1e-3, 1 / 36), rng.uniform(0.1, 1.0)
        y, t = x / 16, int(rng.integers(1, 400))
        before = int(rng.integers(0, t + 1))
        D = reference = (1 - y) ** (t + 1) / (x * gap)
        for tau in range(before, t + 1):
            D = (1 - 2 * y) * D + 8 / gap * (1 - y) ** (2 * tau) + y * max(reference, D)
        series = sum((1 - y) ** (t + tau) for tau in range(before, t + 1))
        assert ((1 - y) ** (t + 1 - before) * reference + 8 / gap * series) * (1 + 1e-12) >= D


def test_lemmaa5_display_corrected():
    """What is left of sigma_1^2(Theta_res) after T_R, beside the condition with c_1."""
    gap, sigma, first, k = sp.symbols("Delta sigma l1 kappa", positive=True)
    right = gap * sigma / (8 * sp.sqrt(first)) / (gap / (4 * sigma**2)) ** (k / 2)
    claimed = gap ** (1 - k / 2) / 2 ** (3 - k) / sp.sqrt(first) * sigma ** (1 + k)
    assert sp.simplify(sp.expand_log(sp.log(right / claimed), force=True)) == 0


def test_lemmaa13(rng):
    # -s - log(1 - 2s)/2 is the sum of (2s)^j/(2j), s^2/(1 - 2s) that of 2^(j-2) s^j, j from 2 on.
    assert all(Fraction(2**j, 2 * j) <= Fraction(2**j, 4) for j in range(2, 60))
    # Chernoff's exponents: at s = sqrt(6u/N)/3, and for the noise.
    for u, N in ((0.5, 7.0), (3.0, 40.0), (9.0, 2.0)):
        s = math.sqrt(6 * u / N) / 3
        assert math.isclose(-s * math.sqrt(6 * N * u) + 3 * N * s**2 / 2, -u)
        t = 2 * math.sqrt(u / N)
        s = N * t / 2  # minimized over s
        assert math.isclose(-s * t + s**2 / N, -u)
    # The numbers.
    assert all(math.log(4 * n) <= 4 * n / math.e for n in range(1, 2000))
    assert 4 / math.e + math.log(9) <= 3.67
    assert 2 * math.log(9) + math.log(2) <= 5.09
    assert 2 * (math.sqrt(6 * 3.67) + 2 * 3.67 / 12) <= 10.62 < 12
    assert 4 * math.sqrt(5.09) <= 9.03
    assert max(2 * 10.62, math.sqrt(2) * 9.03) <= 22 < 72 * math.sqrt(2)
    assert 22 * math.sqrt(2) * 40 < 1250  # of Proposition A.9
    # A norm is at most twice the largest value on a 1/4-net, here of the circle.
    angles = np.linspace(0, 2 * np.pi, 26)[:-1]
    net = np.stack([np.cos(angles), np.sin(angles)])
    assert 2 * np.sin(np.pi / 50) <= 0.25
    for _ in range(20):
        A = rng.standard_normal((2, 2))
        assert largest(A) <= 2 * np.max(net.T @ A @ net)
        A = A + A.T
        assert largest(A) <= 2 * np.max(np.abs(np.sum(net * (A @ net), axis=0)))


def test_propositiona9(rng):
    for values, k, gap, lead, rest in points(rng, thin=0.25):
        last = values[-1]
        rest = rest / max(1.0, largest(rest) / np.sqrt(last - gap / 2))
        eta = gap**2 / 32 * rng.uniform(0.02, 1.0)
        S, one, grown = rest.T @ rest, np.eye(k), np.eye(k) + eta / 2 * np.diag(values)
        T = lead.T @ lead + S
        after = lead + eta / 2 * (values[:, None] * lead - lead @ T)
        extra = eta**2 / 4 * values[:, None] * (lead @ T)
        P = one - eta / 2 * lead.T @ lead
        inner = lead @ P @ (one - eta / 2 * np.linalg.solve(P, S))
        np.testing.assert_allclose(grown @ inner + extra, after, atol=ATOL)
        bound = np.sqrt(gap) / 2 * (1 + eta * last / 2) * (1 - eta * gap / 8)
        bound *= 1 - eta / 2 * (last - gap / 2) / (1 - eta)
        assert least(after) >= bound - eta**2 * np.sqrt(2) / 2 - 1e-12


def test_the_exact_start_of_claim_a3_is_one():
    u, first = Fraction(65, 64), 4
    x = 2 * (u**3 - 1) + 4 * u**2 * (u - 1)
    gap = 8 * u**2 * (u - 1) / x * first
    eta, after = x / first, first - gap
    assert 1 + eta * after / 2 + eta * gap / 8 == u**2
    assert 1 + eta / 2 * (first - gap / 2) == u**3  # so that kappa = 2/3
    assert eta <= Fraction(1, 6 * first)
    assert 0 < after < first
