"""The steps of FLUTE's proofs."""

import math
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
import sympy as sp
from flint import arb

import linrep as lr
from linrep.claims import everywhere
from linrep.papers.flute._common import extreme_points, spectra, step
from linrep.problems import LowRankRegression
from linrep.problems.subspace import random_frame
from linrep.theory import flute_lift
from linrep.theory.flute import Spectrum

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


def shapes(rng, count=60):
    """Yield (d, n, k) from one to six, k up to the smaller side."""
    for _ in range(count):
        d, n = (int(side) for side in rng.integers(1, 7, 2))
        yield d, n, int(rng.integers(1, min(d, n) + 1))


def points(rng, thin=0.0, size=2.0):
    """Yield spectra with lambda*_1 = 1 and Theta_k, Theta_res with norm at most sqrt(size)."""
    for _, spectrum in spectra():
        eigenvalues = spectrum.eigenvalues / spectrum.first
        k, gap = spectrum.k, spectrum.gap / spectrum.first
        for _ in range(4):
            Theta = rng.standard_normal((eigenvalues.size, k)) * 10.0 ** rng.uniform(-2, 0, k)
            Theta = Theta @ random_frame(k, k, rng)
            Theta *= np.sqrt(size * rng.uniform(0.01, 1.0)) / largest(Theta)
            if least(Theta[:k]) ** 2 >= thin * gap:
                yield eigenvalues, k, gap, Theta
        for Theta in extreme_points(spectrum, 3, rng):
            Theta = Theta / np.sqrt(spectrum.first) * np.sqrt(size / 2.0)
            if least(Theta[:k]) ** 2 >= thin * gap:
                yield eigenvalues, k, gap, Theta


def test_eq3(rng):
    for d, n, k in shapes(rng):
        Phi, P = rng.standard_normal((d, n)), random_frame(d, k, rng)
        W = rng.standard_normal((k, n))
        # The projection is what is nearest with these columns.
        split = squares(P @ P.T @ Phi - Phi) + squares(P @ W - P @ P.T @ Phi)
        assert squares(P @ W - Phi) == pytest.approx(split)
        assert squares(P @ P.T @ Phi - Phi) == pytest.approx(squares(Phi) - squares(P.T @ Phi))
        U, values, _ = np.linalg.svd(Phi)
        values = np.append(values, np.zeros(d - len(values)))
        shares = np.sum((U.T @ P) ** 2, axis=1)
        assert squares(P.T @ Phi) == pytest.approx(values**2 @ shares)
        assert shares.sum() == pytest.approx(k)
        assert (shares >= 0).all()
        assert (shares < 1.0001).all()
        assert values**2 @ shares <= np.sum(values[:k] ** 2) + ATOL
        best = U[:, :k] @ U[:, :k].T @ Phi
        assert squares(best - Phi) == pytest.approx(np.sum(values[k:] ** 2), abs=ATOL)


def test_example1():
    M = 3
    values, u = sp.symbols(f"l:{M}", positive=True), sp.eye(5)[:, :M]
    plain, weighted = (
        sum((u[:, i] * values[i] / heads[i] for i in range(M)), sp.zeros(5, 1)) / M
        for heads in (values, [sp.sqrt(value / M) for value in values])
    )
    assert plain == sum((u[:, i] for i in range(M)), sp.zeros(5, 1)) / M
    expected = sum((u[:, i] * sp.sqrt(values[i] / M) for i in range(M)), sp.zeros(5, 1))
    assert sp.simplify(weighted - expected) == sp.zeros(5, 1)
    for mean, square in ((plain, sp.Rational(1, M)), (weighted, values[0] / sum(values))):
        cosine = (u[:, 0].T @ mean)[0] ** 2 / sum(entry**2 for entry in mean)
        assert sp.simplify(cosine - square) == 0
    # lambda_1 / sum - 1/M, with the others at most lambda_1.
    below = sp.symbols("g:2", nonnegative=True)
    difference = (values[0] / sum(values) - sp.Rational(1, M)).subs(
        {values[1]: values[0] - below[0], values[2]: values[0] - below[1]}
    )
    numerator, denominator = sp.fraction(sp.together(difference))
    assert sp.expand(numerator - (below[0] + below[1])) == 0
    assert sp.expand(denominator - M * (3 * values[0] - sum(below))) == 0


def test_eq4():
    d, k, n = 2, 2, 2
    B = sp.Matrix(d, k, sp.symbols(f"b:{d * k}"))
    W = sp.Matrix(k, n, sp.symbols(f"w:{k * n}"))
    P, H = B.T * B, W * W.T

    def square(A):
        return sum(entry**2 for entry in A)

    value = -2 * square(B * W) + square(P) + square(H)
    assert sp.expand(value - square(P - H)) == 0
    for A, expected in ((B, 4 * B * (P - H)), (W, -4 * (P - H) * W)):
        slope = sp.Matrix(*A.shape, [sp.diff(value, entry) for entry in A])
        assert (slope - expected).applyfunc(sp.expand) == sp.zeros(*A.shape)


def test_eq13(rng):
    for d, n, k in shapes(rng):
        Phi, B = rng.standard_normal((d, n)), rng.standard_normal((d, k))
        W, g = rng.standard_normal((n, k)), rng.standard_normal((d, n))
        a, r1, r2 = rng.uniform(0.1, 1.0, 3)
        e = B @ W.T - Phi
        q = a * (e - g)
        Q, Q_heads = q @ W, q.T @ B
        # The steps by data and regularizer, and the same with Q and the bracket.
        after = B - a * g @ W + r1 * B @ W.T @ W - r2 * B @ B.T @ B
        heads = W - a * g.T @ B + r1 * W @ B.T @ B - r2 * W @ W.T @ W
        bracket = (a - r1) * W.T @ W + r2 * B.T @ B
        np.testing.assert_allclose(after, B + a * Phi @ W - B @ bracket + Q, atol=ATOL)
        bracket = (a - r1) * B.T @ B + r2 * W.T @ W
        np.testing.assert_allclose(heads, W + a * Phi.T @ B - W @ bracket + Q_heads, atol=ATOL)
        # The lift J: JJ' is not needed, J'J = I and JK = (Lambda/2) J are.
        truth, Z = LowRankRegression(Phi), np.vstack([B, W])
        K = np.block([[np.zeros((d, d)), Phi], [Phi.T, np.zeros((n, n))]])
        J = flute_lift.lift(truth, np.eye(d, d + n), np.eye(n, d + n, d))
        eigenvalues = Spectrum.of(truth, k).eigenvalues
        np.testing.assert_allclose(J.T @ J, np.eye(d + n), atol=ATOL)
        np.testing.assert_allclose(J @ K, eigenvalues[:, None] / 2 * J, atol=ATOL)
        np.testing.assert_allclose(J @ Z, flute_lift.lift(truth, B, W), atol=ATOL)
        moved = Z + a * K @ Z - a / 2 * Z @ Z.T @ Z
        Theta = J @ Z
        cubic = a / 2 * (eigenvalues[:, None] * Theta - Theta @ Theta.T @ Theta)
        np.testing.assert_allclose(J @ moved, Theta + cubic, atol=ATOL)
    # The only coefficients, for d = n = k = 1.
    b, w, phi, a, r1, r2, eta = sp.symbols("b w phi a r1 r2 eta")
    step_here = a * phi * w - b * ((a - r1) * w**2 + r2 * b**2)
    step_13 = eta * phi * w - eta / 2 * b * (b**2 + w**2)
    equations = sp.Poly(sp.expand(step_here - step_13), b, w, phi).coeffs()
    assert sp.solve(equations, [a, r1, r2], dict=True) == [{a: eta, r1: eta / 2, r2: eta / 2}]


def test_lemmaa15(rng):
    for eigenvalues, k, _, Theta in points(rng):
        eta = rng.uniform(0.01, 1.0) / 6.0
        lead, rest = Theta[:k], Theta[k:]
        S, G = lead.T @ lead, rest.T @ rest
        size, thin = largest(rest), least(lead)
        parts = (
            rest / 2 - eta / 2 * rest @ G,
            rest / 4 + eta / 2 * eigenvalues[k:, None] * rest,
            rest / 4 - eta / 2 * rest @ S,
        )
        bounds = (
            size / 2 - eta / 2 * size**3,
            (1 / 4 + eta / 2 * eigenvalues[k]) * size,
            (1 / 4 - eta / 2 * thin**2) * size,
        )
        after = step(Theta, Spectrum(eigenvalues[: len(eigenvalues) // 2] / 2,
                     len(eigenvalues) // 2, len(eigenvalues) // 2, k), eta)[k:]  # fmt: skip
        np.testing.assert_allclose(sum(parts), after, atol=ATOL)
        for part, bound in zip(parts, bounds, strict=True):
            assert largest(part) <= bound + ATOL
        values = np.linalg.svd(rest, compute_uv=False)
        np.testing.assert_allclose(
            np.linalg.svd(parts[0], compute_uv=False), values / 2 - eta * values**3 / 2, atol=ATOL
        )
        # The matrices that (43) and (44) bound are positive.
        assert (1 / 4 + eta / 2 * eigenvalues[k:] > 0).all()
        assert np.linalg.eigvalsh(np.eye(k) / 4 - eta / 2 * S)[0] > 0
    # x/2 - eta x^3/2 increases up to x^2 = 1/(3 eta), which is 2 at eta = 1/6.
    x, eta = sp.symbols("x eta", positive=True)
    slope = sp.diff(x / 2 - eta * x**3 / 2, x)
    assert sp.simplify(slope.subs(x, 1 / sp.sqrt(3 * eta))) == 0
    assert slope.subs({x: sp.sqrt(2), eta: sp.Rational(1, 6)}) == 0


def test_lemmaa16_corrected(rng):
    seen = 0
    for eigenvalues, k, gap, Theta in points(rng):
        eta = gap**2 / 16 * rng.uniform(0.02, 1.0)
        lead, rest, values = Theta[:k], Theta[k:], eigenvalues[:k]
        S, G = lead.T @ lead, rest.T @ rest
        T, N, L = S + G, np.eye(k) - eta / 2 * (S + G), lead.T @ (values[:, None] * lead)
        sigma, r, last = least(lead), largest(rest), values[-1]
        after = lead + eta / 2 * (values[:, None] * lead - lead @ T)
        x = rng.standard_normal(k)
        x /= np.linalg.norm(x)
        y = np.sqrt(x @ L @ x)
        terms = (
            x @ N @ S @ N @ x, eta * y**2, -(eta**2) / 2 * x @ T @ L @ x,
            eta**2 / 4 * squares(values * (lead @ x)),
        )  # fmt: skip
        assert squares(after @ x) == pytest.approx(sum(terms), rel=1e-9)
        root = np.linalg.cholesky(S + 1e-300 * np.eye(k))
        np.testing.assert_allclose(
            np.linalg.eigvalsh(N @ S @ N), np.linalg.eigvalsh(root.T @ N @ N @ root), atol=ATOL
        )
        below = (1 - eta * r**2 - eta * sigma**2) * sigma**2 + eta**2 * sigma**6 / 4
        assert terms[0] >= below - ATOL
        lowest = np.linalg.eigvalsh(N @ N - np.eye(k) + eta * T - eta**2 / 4 * sigma**4 * np.eye(k))
        assert lowest[0] >= -ATOL
        assert y**2 >= last * (x @ S @ x) - ATOL
        assert x @ S @ x >= sigma**2 - ATOL
        assert largest(T) <= 2 + 1e-9
        assert np.linalg.norm(L @ x) <= np.sqrt(2) * y + ATOL
        assert terms[2] >= -np.sqrt(2) * eta**2 * y - ATOL * eta
        assert terms[3] >= eta**2 / 4 * last**2 * sigma**2 - ATOL
        assert eta * r**2 + 4 * eta < 1
        assert gap <= last + 1e-12
        loss = (1 + eta * (last - r**2 - sigma**2)) * sigma**2 - least(after) ** 2
        assert loss <= eta**2 * (1 + 1e-6)
        if sigma**2 >= gap / 4:
            seen += 1
            assert np.sqrt(last) * sigma >= gap / 2 - ATOL >= eta / np.sqrt(2) - ATOL
            assert loss <= np.sqrt(2) * eta**2 * np.sqrt(last) * sigma * (1 + 1e-6) + ATOL * eta**2
            assert np.sqrt(2) * eta * np.sqrt(last) <= gap * sigma / 4 + 1e-12
        assert largest(after) <= np.sqrt(2) * (1 + eta / 2) < 2
    assert seen > 50
    # The polynomial of the first line, and that it increases in lambda*_k.
    top = everywhere(
        lambda s: s * arb(2).sqrt() - s**2 / 4 - s**6 / 4,
        lambda s: 1 + 0 * s,
        {"s": (0, Fraction(3, 2))},
    )
    assert top.good
    last, s = sp.symbols("l s", positive=True)
    slope = sp.diff(sp.sqrt(2 * last) * s - last**2 * s**2 / 4, last)
    assert sp.simplify(slope - s * (1 / sp.sqrt(2 * last) - last * s / 2)) == 0


def test_eq19(rng):
    for eigenvalues, k, gap, Theta in points(rng):
        values, lead = eigenvalues[:k], Theta[:k]
        eta = gap**2 / 18 * rng.uniform(0.02, 1.0)
        lead = lead * min(1.0, np.sqrt(2) / largest(lead))
        C, M = lead @ lead.T, np.eye(k) + eta / 2 * np.diag(values)
        F = np.eye(k) - eta / 2 * C
        A = lead + eta / 2 * (values[:, None] * lead - C @ lead)
        inner = eta**2 / 4 * np.linalg.inv(M) @ np.diag(values) @ C @ np.linalg.inv(F)
        np.testing.assert_allclose(A, M @ (np.eye(k) + inner) @ F @ lead, atol=ATOL)
        p = eta**2 / (2 * (1 - eta) * (1 + eta / 2))
        assert largest(inner) <= p * (1 + 1e-9)
        sigma = least(lead)
        assert least(F @ lead) == pytest.approx(sigma * (1 - eta * sigma**2 / 2))
        assert least(A) >= (1 + eta * values[-1] / 2) * (1 - p) * least(F @ lead) - ATOL
        q, x = eta * values[-1] / 2, eta * gap
        factor = (1 + q) * (1 - p) * (1 - x / 8) - np.sqrt(2) * x / 16
        assert (
            factor
            >= 1 + q - eta**2 / (2 * (1 - eta)) - (1 + q) * x / 8 - np.sqrt(2) * x / 16 - 1e-15
        )
        assert eta**2 / (2 * (1 - eta)) <= x * gap / 36 / (1 - eta) + 1e-15
    at = sp.Rational(1, 18)
    assert at / (2 * (1 - at)) == sp.Rational(1, 34)
    assert (1 + at / 2) / 8 == sp.Rational(37, 288)
    ends = sp.Rational(1, 34) + sp.Rational(37, 288) + sp.sqrt(2) / 16
    assert ends < sp.Rational(71, 288)


def test_eq28_corrected():
    x, a = sp.symbols("x a", positive=True)
    ratio = (sp.Rational(3, 2) - x / 8) / (sp.Rational(3, 2) + x / 8)
    assert sp.simplify(ratio - (1 - 2 * x / (12 + x))) == 0
    assert sp.simplify((1 - x / 7 - ratio) - x * (2 - x) / (7 * (12 + x))) == 0
    assert sp.expand((1 - x / 16) ** 2 - (1 - x / 8 + x**2 / 256)) == 0
    assert sp.simplify((1 - x / 16) ** 2 - (1 - x / 7) - x * (sp.Rational(1, 56) + x / 256)) == 0
    bracket = (1 - x / 8 + a) / (1 + x / 8 + a)
    assert sp.simplify(sp.diff(bracket, a) - x / 4 / (1 + x / 8 + a) ** 2) == 0
    assert sp.simplify(bracket.subs(a, sp.Rational(1, 2)) - ratio) == 0


def test_eq37(rng):
    for eigenvalues, k, _, Theta in points(rng):
        lead, rest = Theta[:k], Theta[k:]
        D, G, T = lead @ lead.T - np.diag(eigenvalues[:k]), rest.T @ rest, Theta.T @ Theta
        whole = Theta @ Theta.T
        whole[:k, :k] -= np.diag(eigenvalues[:k])
        others = 2 * np.trace(T @ G) - np.trace(G @ G)
        assert squares(whole) == pytest.approx(squares(D) + others)
        assert others <= 4 * np.trace(G) + ATOL
        assert np.trace(G) <= k * largest(rest) ** 2 + ATOL
        assert np.linalg.norm(D) <= np.sqrt(k) * largest(D) + ATOL
    # S = G = Lambda_k = I: D = 0, and the factor is the root of 3.
    for k in (1, 2, 3):
        Theta = np.vstack([np.eye(k), np.eye(k)])
        whole = Theta @ Theta.T
        whole[:k, :k] -= np.eye(k)
        assert np.linalg.norm(whole) == pytest.approx(np.sqrt(3 * k))


def test_theta_decomposition(rng):
    for d, n, k in shapes(rng):
        truth = LowRankRegression(rng.standard_normal((d, n)))
        B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
        best, spectrum = truth.best(k), Spectrum.of(truth, k)
        Theta, limit = flute_lift.lift(truth, B, W), flute_lift.lift(truth, best.B, best.W)
        expected = np.zeros((spectrum.eigenvalues.size,) * 2)
        expected[:k, :k] = np.diag(spectrum.eigenvalues[:k])
        np.testing.assert_allclose(limit @ limit.T, expected, atol=ATOL)
        Z, optimum = np.vstack([B, W]), np.vstack([best.B, best.W])
        apart = squares(Z @ Z.T - optimum @ optimum.T)
        assert squares(Theta @ Theta.T - expected) == pytest.approx(apart)
        blocks = [
            squares(P @ Q.T - P_best @ Q_best.T)
            for P, Q, P_best, Q_best in (
                (B, B, best.B, best.B), (W, W, best.W, best.W), (B, W, best.B, best.W),
            )
        ]  # fmt: skip
        assert apart == pytest.approx(blocks[0] + blocks[1] + 2 * blocks[2])


def test_lemmaa20(rng):
    for d in range(2, 7):
        for k in range(1, d):
            A = rng.standard_normal((d, d))
            A += A.T
            values, inner = np.linalg.eigvalsh(A)[::-1], np.linalg.eigvalsh(A[:k, :k])[::-1]
            for i in range(1, k + 1):
                # On the span of the submatrix's first i eigenvectors the least quotient is mu_i,
                # and on none of dimension i is it above lambda_i.
                top = np.linalg.eigh(A[:k, :k])[1][:, ::-1][:, :i]
                held = np.vstack([top, np.zeros((d - k, i))])
                assert np.linalg.eigvalsh(held.T @ A @ held)[0] == pytest.approx(inner[i - 1])
                frame = random_frame(d, i, rng)
                assert np.linalg.eigvalsh(frame.T @ A @ frame)[0] <= values[i - 1] + ATOL
                assert -np.linalg.eigvalsh(-A)[::-1][d - i] == pytest.approx(values[i - 1])
                assert values[i + d - k - 1] - ATOL <= inner[i - 1] <= values[i - 1] + ATOL


def mean_cross_entropy(H, F, b):
    logits = H.T @ F + b[:, None]
    return float(np.mean(np.log(np.exp(logits).sum(axis=0)) - np.diag(logits)))


def centred(A):
    return A - A.mean(axis=1, keepdims=True)


def test_nc_corrected(rng):
    for m in range(2, 9):
        for own in range(2, m + 1):
            u = np.arange(m) < own
            T = np.outer(u, u) * (np.eye(m) - 1 / m) / np.sqrt(m - 1)
            assert squares(T) == pytest.approx(own * (m * m - 2 * m + own) / (m * m * (m - 1)))
            assert np.linalg.norm(T) <= 1 + 1e-12
            assert np.linalg.eigvalsh(T)[0] > -1e-12
            G = T / np.linalg.norm(T)
            assert np.linalg.norm(G - T) == pytest.approx(1 - np.linalg.norm(T), abs=1e-12)
    for m, K in ((2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (5, 3)):
        clients = [list(chosen) for chosen in combinations(range(m), K)]
        assert len(clients) == comb(m, K)
        rho = m * (K - 1) / (K * (m - 1))
        for _ in range(20):
            F, b = rng.standard_normal((m + 1, m)), rng.standard_normal(K)
            H = rng.standard_normal((m + 1, K)) * 10.0 ** rng.uniform(-2, 1)
            own = F[:, clients[0]]
            s = np.sum(centred(H) * centred(own))
            differences = [
                (H[:, j] - H[:, c]) @ own[:, c] + b[j] - b[c]
                for c in range(K) for j in range(K) if j != c
            ]  # fmt: skip
            assert np.mean(differences) == pytest.approx(-s / (K - 1))
            bound = np.log(1 + (K - 1) * np.exp(-s / (K - 1)))
            assert mean_cross_entropy(H, own, b) >= bound - 1e-9
            assert squares(H) >= squares(centred(H)) - 1e-12
            inside = sum(squares(centred(F[:, chosen])) for chosen in clients)
            pairs = sum(squares(F[:, c] - F[:, j]) for c, j in combinations(range(m), 2))
            assert inside == pytest.approx(comb(m - 2, K - 2) * pairs / K)
            assert pairs == pytest.approx(m * squares(centred(F)))
            total = sum(squares(F[:, chosen]) for chosen in clients)
            assert inside <= rho * total * (1 + 1e-12)
            F = centred(F)
            inside = sum(squares(centred(F[:, chosen])) for chosen in clients)
            assert inside == pytest.approx(rho * sum(squares(F[:, each]) for each in clients))
        # At the simplex both inequalities are equations, and the heads have the angles of (57).
        F = np.eye(m) - 1 / m
        own = F[:, clients[0]]
        H = 0.7 * centred(own)
        s = np.sum(H * centred(own))
        bound = np.log(1 + (K - 1) * np.exp(-s / (K - 1)))
        assert mean_cross_entropy(H, own, np.zeros(K)) == pytest.approx(bound)
        gram = H.T @ H / squares(H) * K
        np.testing.assert_allclose(gram, (np.eye(K) * K - 1) / (K - 1), atol=1e-12)
    # Its slope at s = 0.
    s, K = sp.symbols("s K", positive=True)
    loss = sp.log(1 + (K - 1) * sp.exp(-s / (K - 1)))
    assert sp.simplify(sp.diff(loss, s).subs(s, 0) + 1 / K) == 0
    assert sp.simplify(sp.diff(loss, s, 2) * (K - 1) * (1 + (K - 1) * sp.exp(-s / (K - 1))) ** 2
                       - sp.exp(-s / (K - 1))) == 0  # fmt: skip


def test_observationb2_corrected(rng):
    for K in (2, 3, 5):
        H, b = rng.standard_normal((4, K)), rng.standard_normal(K)
        for _ in range(20):
            F = rng.standard_normal((4, 3))  # three samples of class 0
            mean = F.mean(axis=1)

            def loss(f, H=H, b=b):
                logits = H.T @ f + b
                return np.log(np.exp(logits).sum()) - logits[0]

            assert np.mean([loss(f) for f in F.T]) >= loss(mean) - 1e-12
            spread = np.mean(np.sum(F**2, axis=0)) - mean @ mean
            assert spread == pytest.approx(np.mean(np.sum((F.T - mean) ** 2, axis=1)))
    f = sp.eye(3) - sp.ones(3, 3) / 3
    first, second = (f[:, 0] - f[:, 1]) / 2, (f[:, 0] - f[:, 2]) / 2
    for a, c, cosine in ((f[:, 0], first, sp.sqrt(3) / 2), (first, second, sp.Rational(1, 2))):
        assert sp.simplify(a.dot(c) / (a.norm() * c.norm()) - cosine) == 0


def test_definition3_1(rng):
    for d, n, r in shapes(rng):
        truth = LowRankRegression.random(
            n=n, d=d, singular_values=np.sort(rng.uniform(1, 2, r))[::-1], rng=rng
        )
        U, values, V = truth.svd
        B, W = U[:, :r] * values[:r], V[:, :r]
        np.testing.assert_allclose(B @ W.T, truth.Phi, atol=ATOL)
        for k in range(1, r):
            X = rng.standard_normal((d, k)) @ rng.standard_normal((k, n))
            assert (
                np.linalg.norm(X - truth.Phi) >= np.sqrt(np.sum(values[k:r] ** 2)) >= values[r - 1]
            )


def test_local_span_corrected(rng):
    for d, _, k in shapes(rng):
        phi, w = rng.standard_normal(d), rng.standard_normal(k)
        B = np.outer(phi, w) / (w @ w)
        np.testing.assert_allclose(B @ w, phi, atol=ATOL)
        other = rng.standard_normal((d, k))
        other += np.outer(phi - other @ w, w) / (w @ w)
        np.testing.assert_allclose(other @ w, phi, atol=ATOL)
        assert squares(other) == pytest.approx(squares(B) + squares(other - B))
        assert np.linalg.matrix_rank(np.column_stack([B, phi])) == 1


def test_eq4_term1(rng):
    for d, n, k in shapes(rng):
        B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
        X = B @ W.T
        gradient = -(B @ W.T @ W), -(W @ B.T @ B)  # of |X|^2/2, with the sign of (I)
        for place in range(2):
            moved = [B.astype(complex), W.astype(complex)]
            moved[place][0, 0] += 1e-100j
            value = -np.sum((moved[0] @ moved[1].T) ** 2) / 2
            assert value.imag / 1e-100 == pytest.approx(gradient[place][0, 0])
        rate = -gradient[0] @ W.T - B @ gradient[1].T
        np.testing.assert_allclose(rate, X @ W @ W.T + B @ B.T @ X, atol=ATOL)
        U, values, VT = np.linalg.svd(X)
        for i in range(k):
            u, v, sigma = U[:, i], VT[i], values[i]
            bracket = squares(W.T @ v) + squares(B.T @ u)
            assert u @ rate @ v == pytest.approx(sigma * bracket)
            assert (B.T @ u) @ (W.T @ v) == pytest.approx(sigma)
            assert sigma <= bracket / 2 + ATOL
    s, c = sp.symbols("s c", positive=True)
    root = sp.sqrt(s)
    assert sp.expand((root + c * root * s) ** 2 - s * (1 + c * s) ** 2) == 0


def test_appendixa24(rng):
    for d, n, k in shapes(rng):
        truth = LowRankRegression(rng.standard_normal((d, n)))
        U, values, V = truth.svd
        diagonal = np.zeros((d, n))
        diagonal[range(k), range(k)] = values[:k]
        np.testing.assert_allclose(U.T @ truth.best(k).Phi @ V, diagonal, atol=ATOL)
        np.testing.assert_allclose(U.T @ U, np.eye(d), atol=ATOL)
        X = rng.standard_normal((d, n))
        lengths = np.linalg.norm(X, axis=0)
        assert np.linalg.norm(U.T @ X @ V) == pytest.approx(np.linalg.norm(X))
        assert np.sum(lengths**2) == pytest.approx(squares(X))
        assert np.mean(lengths**2) - np.mean(lengths) ** 2 == pytest.approx(np.var(lengths))
    rho, t, entered = sp.symbols("rho t T", positive=True)
    assert sp.simplify(400 * rho ** (t - entered) - 400 * rho ** (-entered) * rho**t) == 0


def test_remark5_2_collins():
    d, M = sp.symbols("d M", positive=True)
    assert sp.simplify(sp.diff(d / M + sp.log(M), M) - (1 - d / M) / M) == 0
    assert sp.log(3) > 1
    assert sp.Rational(1, 2) + sp.log(2) > 1
    assert sp.limit((d / M) / (d / M + sp.log(M)), d, sp.oo) == 1
    assert sp.limit(1 / (d / M + sp.log(M)), M, sp.oo) == 0


def test_remark5_7_accuracy():
    upper, lower, gap = sp.symbols("u l Delta", positive=True)
    difference = (upper - gap / 2) - (lower + gap / 2)
    assert sp.expand(difference.subs(upper, lower + gap)) == 0
    assert sp.expand(difference.subs(upper, lower + gap / 2)) == -gap / 2
    assert sp.expand(((upper - gap / 4) - (lower + gap / 4)).subs(upper, lower + gap / 2)) == 0
    more = sp.symbols("e", positive=True)
    beyond = (upper - gap / 2 - more) - (lower + gap / 2 + more)
    assert sp.expand(beyond.subs(upper, lower + gap)).is_negative
    assert sp.expand(beyond.subs(upper, lower + gap / 2)).is_negative


def test_lemmaa10_second_case(rng):
    x = sp.symbols("x", positive=True)
    assert sp.simplify(1 - x / 7 - (12 - x) / (12 + x) - x * (2 - x) / (7 * (12 + x))) == 0
    square = (1 - x / 16) ** 2 - (1 - x / 7)
    assert sp.expand(square - x / 56 - x**2 / 256) == 0
    # The bound of Lemma A.15 increases: s, w, lambda_{k+1} at their ends.
    s, w, below, eta = sp.symbols("s w l eta", positive=True)
    slope = sp.diff(s * (1 + eta / 2 * (below - s**2 - w)), s)
    assert sp.expand(slope.subs({s: 1, w: 2, below: 0}) - (1 - 5 * eta / 2)) == 0
    t, before = sp.symbols("t b", integer=True)
    assert sp.expand(2 * (t + 1) + 2 * (t + 1 - before) - 2 * (2 * t + 2 - before)) == 0
    assert sp.expand(2 * (2 * t + 2 - before) - 2 * (t + 1) - 2 * (t + 1 - before)) == 0
    # A step from t', where s is below the reference: both bounds, and their ratio.
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
    for eigenvalues, k, gap, Theta in points(rng, thin=0.25):
        eta = gap**2 / 36 * rng.uniform(0.02, 1.0)
        x, lead, rest = eta * gap, Theta[:k], Theta[k:]
        values, one = np.diag(eigenvalues[:k]), np.eye(k)
        C, G = lead @ lead.T, rest.T @ rest
        D, S = C - values, lead @ G @ lead.T
        after = lead + eta / 2 * (values @ lead - lead @ Theta.T @ Theta)
        np.testing.assert_allclose(
            after, (one - eta / 2 * D) @ lead - eta / 2 * lead @ G, atol=ATOL
        )
        shrunk = (one - eta / 2 * C) @ D @ (one - eta / 2 * C)
        shrunk += eta**2 / 4 * (D @ C @ D - C @ D @ C)
        mixed = eta / 2 * (one - eta / 2 * D) @ S
        other = eta**2 / 4 * lead @ G @ G @ lead.T - mixed - mixed.T
        np.testing.assert_allclose(after @ after.T - values, shrunk + other, atol=ATOL)
        assert largest(D) <= 2 + 1e-9
        assert largest(shrunk) <= ((1 - x / 8) ** 2 + 2 * eta**2) * largest(D) + 1e-12
        assert (1 - x / 8) ** 2 + 2 * eta**2 <= 1 - x / 8
        assert largest(other) <= (2 * eta * (1 + eta) + eta**2) * largest(G) + 1e-12
        assert 2 * eta * (1 + eta) + eta**2 <= 1
    for _ in range(50):
        x, gap = rng.uniform(1e-3, 1 / 36), rng.uniform(0.1, 1.0)
        y, eta = x / 16, x / gap
        t = int(rng.integers(1, 400))
        before = int(rng.integers(0, t + 1))
        reference = (1 - y) ** (t + 1) / (eta * gap**2)
        # The recursion with the largest of everything, unrolled.
        D = reference
        for tau in range(before, t + 1):
            D = (1 - 2 * y) * D + 8 / gap * (1 - y) ** (2 * tau) + y * max(reference, D)
        series = sum((1 - y) ** (t + tau) for tau in range(before, t + 1))
        bound = (1 - y) ** (t + 1 - before) * reference + 8 / gap * series
        assert bound * (1 + 1e-12) >= D
        assert series <= (1 - y) ** t / y
        assert bound <= (1 + 128 / (1 - y)) * reference
    assert 1 + Fraction(128) / (1 - Fraction(1, 16 * 36)) < 130


def test_lemmaa13_steps_corrected(rng):
    for d, n, k in shapes(rng):
        Z = rng.standard_normal((d + n, k))
        Z *= np.sqrt(2) / largest(Z)
        B, W = Z[:d], Z[d:]
        Phi = rng.standard_normal((d, n))
        Phi /= 2 * largest(Phi)
        E, X = squares(Phi), B @ W.T
        x, y = rng.standard_normal(d), rng.standard_normal(n)
        a, b = B.T @ x / np.linalg.norm(x), W.T @ y / np.linalg.norm(y)
        assert 4 * a @ b <= squares(a + b) + 1e-12
        assert squares(a + b) <= 4 + 1e-9
        assert largest(X) <= 1 + 1e-9
        assert squares(X) <= k + 1e-9
        assert squares(X - Phi) <= 2 * (squares(X) + E) + 1e-9
        assert np.linalg.norm(X - Phi, axis=0).max() <= 1.5 + 1e-9
        assert max(largest(B), largest(W)) <= np.sqrt(2) + 1e-9
        assert k + E >= 1
    assert sp.log(9) < 3
    ell, d = sp.symbols("l d", positive=True)
    assert sp.expand(72 * 6 * (ell + d) - 72 * (ell + 6 * d) - 360 * ell) == 0
    assert sp.expand(72 * 24 * (ell + d) - 8 * (ell + 6 * d) - 1720 * ell - 1680 * d) == 0
    for q in (1.0, 2.5, 40.0):
        for s in np.sqrt(18 * q) * np.array([0.01, 0.5, 1.0]):
            assert s / (3 * np.sqrt(2)) >= s / np.sqrt(18 * q) - 1e-12
            assert s / np.sqrt(18 * q) >= s**2 / (18 * q) - 1e-12


def test_lemmaa5_display_corrected():
    eta, below, gap, sigma, first, s = sp.symbols("eta l Delta sigma l1 s", positive=True)
    slow, fast = 1 + eta / 2 * (below + gap / 4), 1 + eta / 2 * (below + gap / 2)
    assert sp.expand(fast - slow - eta * gap / 8) == 0
    assert sp.expand(slow - (1 + eta * below / 2 + eta * gap / 8)) == 0
    assert sp.expand(fast - (1 + eta / 2 * (below + gap - gap / 2))) == 0
    kappa = sp.log(slow) / sp.log(fast)
    limit = (below + gap / 4) / (below + gap / 2)
    assert sp.simplify(sp.limit(kappa, eta, 0) - limit) == 0
    entered = sp.log(gap / (4 * sigma**2)) / (2 * sp.log(fast))
    growth = entered * sp.log(slow) - kappa / 2 * sp.log(gap / (4 * sigma**2))
    assert sp.simplify(growth) == 0
    k = sp.symbols("kappa", positive=True)
    right = gap * sigma / (8 * sp.sqrt(first)) / (gap / (4 * sigma**2)) ** (k / 2)
    claimed = gap ** (1 - k / 2) / 2 ** (3 - k) / sp.sqrt(first) * sigma ** (1 + k)
    assert sp.simplify(sp.expand_log(sp.log(right / claimed), force=True)) == 0
    scaled = claimed.subs({gap: s * gap, first: s * first, sigma: sp.sqrt(s) * sigma})
    assert sp.simplify(sp.expand_log(sp.log(scaled / claimed), force=True) - sp.log(s)) == 0
    moved = kappa.subs({eta: eta / s, below: s * below, gap: s * gap}, simultaneous=True)
    assert sp.simplify(moved - kappa) == 0


SHAPES = [(1, 2, 1), (2, 1, 1), (4, 3, 2), (3, 5, 3), (6, 6, 1)]  # n, d, k


def _norm(A):
    return np.linalg.norm(A, 2)


def test_lemmaa13():
    rng = np.random.default_rng(0)
    for n, d, k in SHAPES:
        truth = lr.LowRankRegression.random(n=n, d=d, noise=0.7, rng=rng)
        data = truth.draw(5, rng=rng)
        B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
        eta = 0.3
        found = flute_lift.discrepancy(data, truth.Phi, B, W, eta)
        G, Z, off = np.zeros((n, d)), np.zeros((n, d)), []
        for i in range(n):
            X, y = data.client(i)
            S = X.T @ X / len(y)
            Z[i] = X.T @ (y - X @ truth.Phi[:, i]) / len(y)
            G[i] = (np.eye(d) - S) @ (B @ W[i] - truth.Phi[:, i]) + Z[i]
            off.append(_norm(S - np.eye(d)))
        assert np.allclose(found[0], eta * G.T @ W)
        assert np.allclose(found[1], eta * G @ B)
        whole = _norm(np.vstack([B, W]))
        assert np.isclose(_norm(flute_lift.lift(truth, B, W)), whole)
        models = np.linalg.norm(B @ W.T - truth.Phi)
        assert _norm(G) <= max(off) * models + _norm(Z) + 1e-12
        assert _norm(B @ W.T) <= whole**2 / 2 + 1e-12
        energy = np.sum(truth.Phi**2)
        first = whole**2 / 2  # the smallest lambda*_1 for which it is in the region
        assert models <= np.sqrt(2.0) * np.sqrt(k * first**2 + energy) + 1e-12
    # -s - log(1 - 2s)/2 is the sum of (2s)^j/(2j), s^2/(1 - 2s) that of 2^(j-2) s^j, j from 2 on.
    assert all(Fraction(2**j, 2 * j) <= Fraction(2**j, 4) for j in range(2, 60))
    # Chernoff's exponents: at s = sqrt(6u/N)/3, and for the noise.
    for u, N in ((0.5, 7.0), (3.0, 40.0), (9.0, 2.0)):
        s = math.sqrt(6 * u / N) / 3
        assert math.isclose(-s * math.sqrt(6 * N * u) + 3 * N * s**2 / 2, -u)
        t, sigma = 2 * math.sqrt(u / N), 1.0  # minimized over s: s = N t/(2 sigma^2)
        s = N * t / (2 * sigma**2)
        assert math.isclose(-s * t + s**2 * sigma**2 / N, -u)
    # The numbers.
    assert all(math.log(4 * n) <= 4 * n / math.e for n in range(1, 2000))
    assert 4 / math.e + math.log(9) <= 3.67
    assert 2 * math.log(9) + math.log(2) <= 5.09
    off = 2 * (math.sqrt(6 * 3.67) + 2 * 3.67 / 12)
    assert off <= 10.62
    assert 10.62 / 12 < 1
    noise = 4 * math.sqrt(5.09)
    assert noise <= 9.03
    assert max(math.sqrt(2) * 10.62 * math.sqrt(2), math.sqrt(2) * 9.03) <= 22 < 72 * math.sqrt(2)
    # A norm is at most twice the largest value on a 1/4-net, here of the circle.
    angles = np.linspace(0, 2 * np.pi, 26)[:-1]
    net = np.stack([np.cos(angles), np.sin(angles)])
    assert 2 * np.sin(np.pi / 50) <= 0.25
    for _ in range(20):
        A = rng.standard_normal((2, 2))
        assert _norm(A) <= 2 * np.max(net.T @ A @ net)
        A = A + A.T
        assert _norm(A) <= 2 * np.max(np.abs(np.sum(net * (A @ net), axis=0)))


def _point_of_region(rng, n, d, k, eta_share):
    """Return a spectrum with lambda*_{k+1} >= 0, a step size and a point of R."""
    values = np.sort(rng.uniform(0.02, 0.5, min(n, d)))[::-1]
    values[0] = 0.5
    spectrum = Spectrum(values, n, d, k)
    L, gap = spectrum.first, spectrum.gap
    eta = eta_share * gap**2 / (32 * L**3)
    frames = [np.linalg.qr(rng.standard_normal((k, k)))[0] for _ in range(3)]
    rows = 2 * spectrum.size - k
    low = np.sqrt(gap) / 2
    leading = frames[0] * rng.choice([low, 1.2 * low, np.sqrt(L)], k) @ frames[1].T
    other = np.linalg.qr(rng.standard_normal((rows, k)))[0]
    top = np.sqrt(min(spectrum.last - gap / 2, L))
    rest = other * rng.choice([0.3, 1.0], k) * top @ frames[2].T
    return spectrum, eta, leading, rest


def test_propositiona9():
    rng = np.random.default_rng(1)
    for n, d, k in ((2, 2, 1), (3, 2, 1), (3, 4, 2), (5, 5, 3)):
        for share in (0.01, 1.0):
            spectrum, eta, top, rest = _point_of_region(rng, n, d, k, share)
            L, gap, last = spectrum.first, spectrum.gap, spectrum.last
            values = spectrum.eigenvalues
            Theta = np.vstack([top, rest])
            after = Theta + eta / 2 * (values[:, None] * Theta - Theta @ Theta.T @ Theta)
            whole, sigma = _norm(Theta), _norm(rest)
            assert sigma**2 <= last - gap / 2 + 1e-12
            assert whole**2 <= 2 * L + 1e-12
            assert gap <= last + 1e-15
            assert eta * L <= 1 / 32
            least = np.linalg.svd(top, compute_uv=False)[-1]
            # All of Theta, and the rest.
            bound = (0.5 + eta * L / 2) * whole + whole / 2 - eta * whole**3 / 2
            assert _norm(after) <= bound + 1e-12
            bound = sigma * (1 + eta / 2 * (values[k] - sigma**2 - least**2))
            assert _norm(after[k:]) <= bound + 1e-12
            # The leading rows.
            G, S = Theta.T @ Theta, rest.T @ rest
            P = np.eye(k) - eta / 2 * top.T @ top
            grown = np.eye(k) + eta / 2 * np.diag(values[:k])
            extra = eta**2 / 4 * np.diag(values[:k]) @ top @ G
            assert np.allclose(grown @ top @ (np.eye(k) - eta / 2 * G) + extra, after[:k])
            inner = top @ P @ (np.eye(k) - eta / 2 * np.linalg.solve(P, S))
            assert np.allclose(inner, top @ (np.eye(k) - eta / 2 * G))
            a, c = eta * last / 2, eta / 2 * (last - gap / 2) / (1 - eta * L)
            b = eta * gap / 8
            bound = np.sqrt(gap) / 2 * (1 + a) * (1 - b) * (1 - c)
            bound -= eta**2 / 4 * L * np.sqrt(2 * L) * 2 * L
            assert np.linalg.svd(after[:k], compute_uv=False)[-1] >= bound - 1e-12
            x = eta * L
            assert a - b - c >= eta * gap / 8 - 16 / 31 * x * x - 1e-15
            assert a * (b + c) <= 8 / 31 * x * x + 1e-15
            assert x * L <= gap / 32 + 1e-15
            assert bound >= np.sqrt(gap) / 2 + eta * gap**1.5 / 40
    assert 1 / 16 - 1 / 124 - 1 / 248 - 1 / (32 * math.sqrt(2)) > 1 / 40
    assert min(1 / math.sqrt(2), 3 / 8 / math.sqrt(2)) > 1 / 40
    assert 22 * math.sqrt(2) * 40 < 1250
    assert 1250 >= 12


def test_the_exact_start_of_claim_a3_is_one():
    u, first = Fraction(65, 64), 4
    x = 2 * (u**3 - 1) + 4 * u**2 * (u - 1)
    gap = 8 * u**2 * (u - 1) / x * first
    eta, after = x / first, first - gap
    assert 1 + eta * after / 2 + eta * gap / 8 == u**2
    assert 1 + eta / 2 * (first - gap / 2) == u**3  # so that kappa = 2/3
    assert eta <= Fraction(1, 6 * first)
    assert 0 < after < first


def test_lemmaa16_norm_corrected(rng):
    """The second summand is largest at both limits."""
    for gap in (0.2, 0.7, 1.0):
        eta = gap**2 / 16
        for _ in range(20):
            Theta = rng.standard_normal((2, 2))
            Theta *= np.sqrt(2.0) / np.linalg.norm(Theta, 2)
            values = np.array([[1.0], [rng.uniform(gap, 1.0)]])
            assert np.linalg.norm(eta / 2 * values * Theta, 2) <= np.sqrt(2.0) / 32 + ATOL
    assert 1 / 16 / 2 * np.sqrt(2.0) == pytest.approx(np.sqrt(2.0) / 32)
