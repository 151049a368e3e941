"""The steps of FedRep's proofs."""

from fractions import Fraction
from itertools import combinations
from math import factorial

import numpy as np
import pytest
import sympy as sp
from flint import arb
from scipy.linalg import null_space
from scipy.stats import chi2, norm

from linrep.claims import everywhere
from linrep.papers.fedrep import eq85, head_cost, lemma2, table1
from linrep.papers.fedrep.eq48_to_50 import net

RNG_SEED = 0
#: Clients, samples, dimension, rank; edges among them: one client, k = 1, d = k, m = k.
SHAPES = [(4, 6, 7, 2), (1, 3, 2, 1), (5, 4, 9, 4), (3, 5, 3, 3), (6, 9, 8, 3)]


@pytest.fixture
def rng():
    return np.random.default_rng(RNG_SEED)


def frame(d, k, rng):
    return np.linalg.qr(rng.standard_normal((d, k)))[0]


def norm2(M):
    return np.linalg.norm(M, 2)


def least(M):
    """Return the smallest singular value, of as many as columns."""
    return np.linalg.svd(M, compute_uv=False)[-1] if M.shape[0] >= M.shape[1] else 0.0


class Round:
    """One round of Algorithm 2, client by client, with all that the proofs name."""

    def __init__(self, n, m, d, k, rng, *, B=None, second=False):
        self.B = frame(d, k, rng) if B is None else B
        self.truth, self.W_true = frame(d, k, rng), rng.standard_normal((n, k))
        self.W_true *= np.sqrt(k) / np.linalg.norm(self.W_true, axis=1, keepdims=True)
        self.X = rng.standard_normal((n, m, d))
        self.refit(self.B, self.X if not second else rng.standard_normal((n, m, d)))

    def refit(self, B, X):
        theta = self.W_true @ self.truth.T
        self.Pi = [x.T @ x / len(x) for x in X]
        fits = zip(self.X, theta, strict=True)
        self.W = np.array([np.linalg.pinv(x @ B) @ (x @ t) for x, t in fits])
        self.Q = self.W @ B.T - theta
        self.S = np.array([pi @ q for pi, q in zip(self.Pi, self.Q, strict=True)])
        self.D, self.Phi = B.T @ self.truth, self.truth - B @ (B.T @ self.truth)
        own = [x.T @ x / len(x) for x in self.X]
        self.G = [B.T @ pi @ B for pi in own]
        self.C = [B.T @ pi @ self.truth for pi in own]

    def errors(self):
        """Return F, rows (G^i)^-1 (G^i D - C^i) w_i*, with pseudo-inverses."""
        rows = zip(self.G, self.C, self.W_true, strict=True)
        return np.array([np.linalg.pinv(G, rcond=1e-10) @ (G @ self.D - C) @ w for G, C, w in rows])

    def stepped(self, eta):
        return self.B - eta / len(self.W) * self.S.T @ self.W


class NormalRound(Round):
    """One round with what the derivation of `fedrep.theorem1.gaussian` names."""

    def __init__(self, n, m, d, k, rng):
        super().__init__(n, m, d, k, rng)
        self.U = null_space(self.B.T)
        self.e = self.W_true @ (self.U.T @ self.Phi).T
        self.zeta = self.W - self.W_true @ self.D.T
        pulls = []
        for x, e in zip(self.X, self.e, strict=True):
            Z, u = x @ self.B, x @ self.U @ e
            pulls.append((x @ self.U).T @ (u - Z @ (np.linalg.pinv(Z) @ u)))
        self.pulls = np.array(pulls)  # Y_i' (I - H_i) Y_i e_i
        self.M = self.pulls.T @ self.W / (n * m)
        Sigma = self.W_true.T @ self.W_true / n
        self.mean = (1 - k / m) * self.U.T @ self.Phi @ Sigma @ self.D.T

    def terms(self):
        """Return T_1, T_2 and T_3."""
        (n, m, _), k = self.X.shape, self.W.shape[1]
        squares = np.sum(self.e * self.pulls, axis=1) / np.sum(self.e**2, axis=1)  # |g_i|^2
        first = (self.e * (squares - (m - k))[:, None]).T @ self.W / (n * m)
        second = (self.pulls - squares[:, None] * self.e).T @ self.W / (n * m)
        third = (1 - k / m) * self.U.T @ self.Phi @ self.W_true.T @ self.zeta / n
        return first, second, third


def test_lemma1(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        for G, C, w, w_true, x in zip(at.G, at.C, at.W, at.W_true, at.X, strict=True):
            gradient = at.B.T @ x.T @ x @ (at.B @ w - at.truth @ w_true)
            assert np.allclose(gradient, 0.0, atol=1e-9)
            assert np.allclose(G @ w, C @ w_true)
            assert np.allclose(G @ at.D - C, -at.B.T @ (x.T @ x / m) @ at.Phi)
        assert np.allclose(at.W, at.W_true @ at.D.T - at.errors())
        p = k - 1
        column = sum(at.W_true[:, q] * (at.truth[:, q] @ at.B[:, p]) for q in range(k))
        assert np.allclose((at.W_true @ at.truth.T @ at.B)[:, p], column)
    at = Round(3, 2, 7, 4, rng)  # m < k: the minimizer that is nearest to D w_i*
    for x, w_true, f in zip(at.X, at.W_true, at.errors(), strict=True):
        Z, y, near = x @ at.B, x @ at.truth @ w_true, at.D @ w_true
        assert np.allclose(near + np.linalg.pinv(Z) @ (y - Z @ near), near - f)
        assert np.allclose(Z @ (near - f), y)


def test_eq13_16(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        M, a = rng.standard_normal((n, d)), rng.standard_normal((n, m))
        image = np.array([[x @ row for x in X] for X, row in zip(at.X, M, strict=True)])
        adjoint = np.array([a[i] @ at.X[i] for i in range(n)])
        assert np.isclose(np.sum(image * a), np.sum(M * adjoint))
        composed = np.array([image[i] @ at.X[i] for i in range(n)])
        rows = [m * pi @ row for pi, row in zip(at.Pi, M, strict=True)]
        assert np.allclose(composed, rows)
        # The gradient in B of a client's loss, by differences.
        B, w, theta, x = at.B, at.W[0], at.truth @ at.W_true[0], at.X[0]
        for place in ((0, 0), (d - 1, k - 1)):
            E = np.zeros((d, k))
            E[place] = 1e-6
            up, down = (np.sum((x @ (B + s * E) @ w - x @ theta) ** 2) / (2 * m) for s in (1, -1))
            slope = np.outer(at.S[0], w)[place]
            assert np.isclose((up - down) / 2e-6, slope, atol=1e-6)
        mean = np.mean([B - 0.3 * np.outer(s, v) for s, v in zip(at.S, at.W, strict=True)], axis=0)
        assert np.allclose(mean, at.stepped(0.3))
        stacked = at.W.T.ravel()  # columns below each other
        i = n  # the last client
        assert np.allclose([stacked[(p - 1) * n + i - 1] for p in range(1, k + 1)], at.W[-1])


def test_definition1(rng):
    for d, k1, k2 in ((7, 2, 2), (5, 3, 3), (6, 2, 4), (6, 4, 2), (4, 1, 1), (3, 3, 3)):
        one, other = frame(d, k1, rng), frame(d, k2, rng)
        P, R = one @ one.T, other @ other.T
        distance = norm2(null_space(one.T).T @ other) if k1 < d else 0.0
        assert np.isclose(distance, norm2((np.eye(d) - P) @ R), atol=1e-12)
        z = rng.standard_normal(k2)
        z /= np.linalg.norm(z)
        u = other @ z
        assert np.isclose(np.sum((u - P @ u) ** 2), 1.0 - np.sum((one.T @ u) ** 2))
        smallest = least(one.T @ other)
        assert np.isclose(distance**2, 1.0 - smallest**2, atol=1e-12)
        assert k1 >= k2 or np.isclose(distance, 1.0)
        back = norm2((np.eye(d) - R) @ P)
        assert k1 != k2 or np.isclose(distance, back)
        assert np.allclose(P - R, P @ (np.eye(d) - R) - (np.eye(d) - P) @ R)
        assert np.isclose(norm2(P - R), max(back, distance), atol=1e-12)
        assert np.isclose(norm2(P @ (np.eye(d) - R)), back, atol=1e-12)


def test_definition3(rng):
    for n, _, d, k in SHAPES:
        W = rng.standard_normal((n, k))
        W *= np.sqrt(k) / np.linalg.norm(W, axis=1, keepdims=True)
        for M in (W, W @ frame(d, k, rng).T):
            rows = np.linalg.norm(M, axis=1)
            assert np.allclose(rows, np.sqrt(k))
            mu = M.shape[1] ** -0.5
            assert np.isclose(rows.max(), mu * np.sqrt(M.shape[1] / n) * np.linalg.norm(M))
        assert np.linalg.norm(W) ** 2 <= k * norm2(W) ** 2 * (1 + 1e-12)
        assert np.isclose(np.linalg.norm(W) ** 2, n * k)


def test_assumption1():
    for j in range(60):
        assert factorial(2 * j) >= 2**j * factorial(j)
        assert factorial(2 * j + 1) >= 6**j * factorial(j)
        assert (2 * j + 3) * (2 * j + 2) >= 6 * (j + 1)  # the step of the induction
        for d in (1, 2, 5, 40):
            rising = sp.rf(sp.Rational(d, 2), j)
            assert rising >= sp.Rational(d, 2) ** j
    x, u = sp.symbols("x u", positive=True)
    assert sp.series(sp.cosh(x), x, 0, 8).removeO() == sum(
        x ** (2 * j) / factorial(2 * j) for j in range(4)
    )
    assert sp.expand(sp.series(sp.sinh(u) / u, u, 0, 8).removeO()) == sum(
        u ** (2 * j) / factorial(2 * j + 1) for j in range(4)
    )
    assert sp.integrate(x**4, (x, 0, sp.sqrt(3))) / sp.sqrt(3) == sp.Rational(9, 5)
    g = sp.symbols("g", real=True)
    density = sp.exp(-(g**2) / 2) / sp.sqrt(2 * sp.pi)
    mean = sp.integrate(sp.exp(3 * g**2 / 8) * density, (g, -sp.oo, sp.oo))
    assert sp.simplify(mean - 2) == 0
    # On the sphere E x_a^4 is 3 d/(d + 2), by Beta moments of x_a^2/d.
    d = sp.symbols("d", positive=True)
    square = d**2 * sp.Rational(1, 2) * sp.Rational(3, 2) / (d / 2 * (d / 2 + 1))
    assert sp.simplify(square - 3 * d / (d + 2)) == 0
    # The skewed law: 2 with probability 1/5, -1/2 with 4/5.
    law = [(sp.Rational(1, 5), 2), (sp.Rational(4, 5), -sp.Rational(1, 2))]
    assert [sum(p * v**j for p, v in law) for j in (1, 2, 3)] == [0, 1, sp.Rational(3, 2)]


def test_assumption2_3(rng):
    for n, _, _, k in SHAPES:
        W = rng.standard_normal((n, k))
        W *= np.sqrt(k) / np.linalg.norm(W, axis=1, keepdims=True)
        values = np.linalg.eigvalsh(W.T @ W / n)
        assert np.isclose(values.sum(), k)
        assert values[0] <= 1.0 + 1e-12 <= values[-1] + 2e-12 <= k + 3e-12
        assert n >= k or values[0] < 1e-12


def test_a1_w_corrected(rng):
    for n, m, d, k in ((6, 4, 5, 2), (3, 4, 6, 3), (5, 2, 4, 1)):
        W = np.sqrt(n) * frame(n, k, rng)
        assert np.allclose(W.T @ W, n * np.eye(k))
        assert np.isclose(np.sum(W**2), n * k)
        at = Round(n, m, d, k, rng)
        step, S = at.stepped(0.2), at.S
        c = 3.7
        at.W_true = c * at.W_true
        at.refit(at.B, at.X)
        assert np.allclose(at.S, c * S)
        assert np.allclose(at.stepped(0.2 / c**2), step)


def test_section2_1_ours(rng):
    n, d, k = 5, 6, 3
    theta_of, W = frame(d, k, rng), rng.standard_normal((n, k))
    root = rng.standard_normal((d, d))
    second = root @ root.T
    g = rng.standard_normal(d)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T @ root.T  # E xx' = second
    assert np.isclose(np.mean((signs @ g) ** 2), g @ second @ g)
    for R in (rng.standard_normal((k, k)), np.diag([1.0, 1e3, 1e-3])):
        B, H = theta_of @ R, np.linalg.solve(R, W.T).T  # a minimizer
        assert np.allclose(H @ B.T, W @ theta_of.T)
        assert np.allclose(B @ np.linalg.pinv(B), theta_of @ theta_of.T)
    V, u = frame(k, k - 1, rng), null_space(theta_of.T)[:, :1]
    heads = rng.standard_normal((n, k - 1))
    B, H = np.hstack([theta_of @ V, u]), np.hstack([heads, np.zeros((n, 1))])
    assert np.allclose(H @ B.T, heads @ V.T @ theta_of.T)
    assert np.isclose(least(theta_of.T @ B), 0.0, atol=1e-12)


def test_section2_1_global(rng):
    for n, _, d, k in SHAPES:
        truth, W = frame(d, k, rng), rng.standard_normal((n, k))
        theta, v = W @ truth.T, rng.standard_normal(d)
        mean = theta.mean(axis=0)
        spread = np.sum((theta - mean) ** 2) / (2 * n)
        value = np.sum((v - theta) ** 2) / (2 * n)
        assert np.isclose(value, np.sum((v - mean) ** 2) / 2 + spread)
        printed = [np.sum((truth @ (W - w).sum(axis=0) / n) ** 2) for w in W]
        assert np.isclose(spread, sum(printed) / (2 * n))
        wide = mean + 3.0 * (theta - mean)
        assert np.isclose(np.sum((wide - mean) ** 2) / (2 * n), 9.0 * spread)
        if 1 < k < d:
            rest = [frame(d, 1, rng) for _ in range(k - 2)]
            outside = null_space(truth.T)[:, :1]
            B = np.hstack([mean[:, None], *rest, outside])
            assert np.allclose(B @ np.eye(k)[0], mean)
            unit = null_space(truth.T).T @ np.linalg.qr(B)[0]
            assert np.isclose(norm2(unit), 1.0)


def test_extra_identities(rng):
    for second in (False, True):
        for n, m, d, k in SHAPES:
            at = Round(n, m, d, k, rng, second=second)
            assert np.allclose(at.Q @ at.B, -at.errors())
            assert second or np.allclose(at.S @ at.B, 0.0, atol=1e-9)
            new, eta = at.stepped(0.7), 0.7 / n
            cross = at.B.T @ at.S.T @ at.W
            square = at.W.T @ at.S @ at.S.T @ at.W
            assert np.allclose(new.T @ new, np.eye(k) - eta * (cross + cross.T) + eta**2 * square)
            turn = frame(k, k, rng)
            Q, S = at.Q, at.S
            again = Round.__new__(Round)
            again.__dict__.update(at.__dict__)
            again.B = at.B @ turn
            again.refit(again.B, at.X)
            assert np.allclose(again.W, at.W @ turn)
            assert np.allclose(again.Q, Q)
            if not second:
                assert np.allclose(again.S, S)
                assert np.allclose(again.stepped(0.7), new @ turn)
    at = Round(4, 2, 6, 3, rng)  # m <= k
    assert np.allclose(at.S, 0.0, atol=1e-9)
    for n, _, d, k in SHAPES:  # infinitely many samples
        at = Round(n, 1, d, k, rng)
        W = at.W_true @ at.D.T
        Q = W @ at.B.T - at.W_true @ at.truth.T
        eta = rng.uniform() / (norm2(at.W_true) ** 2 / n)
        new = at.B - eta / n * Q.T @ W
        shrunk = np.eye(k) - eta * at.D @ (at.W_true.T @ at.W_true / n) @ at.D.T
        assert np.allclose(Q @ at.B, 0.0)
        if d > k:
            outside = null_space(at.truth.T).T
            assert np.allclose(outside @ new, outside @ at.B @ shrunk)
        gain = least(at.W_true) ** 2 / n * least(at.D) ** 2
        assert norm2(shrunk) <= 1.0 - eta * gain + 1e-12


def test_lemma2_eq31_corrected():
    k, L = sp.symbols("k L", positive=True)
    u = k * sp.sqrt(L)
    first = (12 * k ** sp.Rational(3, 2) * sp.sqrt(L) - sp.sqrt(k)) ** 2
    assert sp.simplify(first - k * (12 * u - 1) ** 2) == 0
    assert sp.simplify(121 * k * u**2 - 121 * k**3 * L) == 0
    v = sp.symbols("v", nonnegative=True)
    assert sp.Poly(((12 * (1 + v) - 1) ** 2 - 121 * (1 + v) ** 2).expand(), v).coeffs() == [23, 22]


def test_lemma3_probability(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        for G, C, w, x in zip(at.G, at.C, at.W_true, at.X, strict=True):
            u = x @ at.Phi @ w
            assert np.allclose((G @ at.D - C) @ w, -at.B.T @ x.T @ u / m)
    s = np.linspace(0.1, 30.0, 50)
    gordon = np.log(np.sqrt(2.0 / np.pi) * s / (1.0 + s**2)) - s**2 / 2
    assert np.all(np.log(2.0) + norm.logsf(s) >= gordon)
    t = s**2
    both = -t - 2.0 * np.log((1.0 + t) / np.sqrt(t)) - np.log(np.pi / 2.0)
    assert np.allclose(2.0 * gordon, both)
    # Chernoff's bound, and the numbers that follow from it.
    for f in (1, 3, 10):
        for r in (1.5, 5.0, 50.0):
            assert chi2.logsf(r * f, f) <= f / 2 * (1 - r + np.log(r))
    assert everywhere(lambda: (1 - 1000 + arb(1000).log()) / 2, lambda: arb(-496), {}).good
    inverse = {"x": (Fraction(1, 10**9), Fraction(1, 693))}  # r = 1/x from 693 on
    assert everywhere(lambda x: x * (1 - x.log()), lambda x: arb("0.02"), inverse).good
    assert everywhere(lambda: arb(693), lambda: 1000 * arb(2).log(), {}).good
    assert Fraction(1000, 2) * Fraction(49, 50) == 490


def test_lemma5_eq45(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, 8 * m, d, k, rng)
        F, distance = at.errors(), norm2(at.Phi)
        for f, w, w_true, q in zip(F, at.W, at.W_true, at.Q, strict=True):
            assert np.allclose(q, -at.Phi @ w_true - at.B @ f)
            outside = np.sum((at.Phi @ w_true) ** 2)
            assert np.isclose(q @ q, outside + f @ f)
            assert outside <= k * distance**2 * (1 + 1e-12)
            assert np.linalg.norm(w) <= np.linalg.norm(at.D @ w_true) + np.linalg.norm(f) + 1e-12
    assert Fraction(1, 2) / (1 - Fraction(1, 2)) == 1  # delta/(1 - delta) at 1/2


def test_lemma5_union_corrected():
    assert everywhere(lambda: arb(9).log(), lambda: arb(3), {}).good
    assert not everywhere(lambda: arb(9).log(), lambda: arb(2), {}).good


def test_eq67(rng):
    for n, k in ((5, 2), (4, 4), (1, 1), (2, 3), (7, 3)):
        W_true, F = rng.standard_normal((n, k)), rng.standard_normal((n, k))
        sines = rng.uniform(0.0, 1.0, k)
        D, far = np.diag(np.sqrt(1.0 - sines**2)) @ frame(k, k, rng), sines.max()
        delta = rng.uniform(0.0, 0.5)
        F *= delta / (1.0 - delta) * norm2(W_true) * far / norm2(F)
        A = W_true @ D.T
        W = A - F
        assert np.allclose(W.T @ W, A.T @ A - (A.T @ F + F.T @ A) + F.T @ F)
        assert norm2(W) <= norm2(W_true) + norm2(F) <= 2.0 * norm2(W_true)
        smallest = np.linalg.eigvalsh(W.T @ W)[0]
        if n >= k:
            assert smallest >= least(A) ** 2 - 2.0 * norm2(F.T @ A) + least(F) ** 2 - 1e-12
            assert least(A) >= least(W_true) * least(D) - 1e-12
        assert norm2(F.T @ A) <= norm2(F) * norm2(A) + 1e-12
        assert norm2(F) * norm2(A) <= delta / (1.0 - delta) * norm2(W_true) ** 2 + 1e-12
        eta = n / (4.0 * norm2(W_true) ** 2)
        assert np.isclose(norm2(np.eye(k) - eta / n * W.T @ W), 1.0 - eta / n * smallest)
    at = Round(5, 6, 7, 3, rng)
    assert np.allclose(at.W_true @ at.D.T, at.W_true @ at.truth.T @ at.B)
    assert np.allclose(at.W, at.W_true @ at.D.T - at.errors())
    delta, prime, s = sp.symbols("delta prime s")
    joined = 2 * s * (delta + prime) / (1 - delta - prime)
    apart = 2 * s * delta / (1 - delta - prime) + 2 * s * prime / (1 - delta - prime)
    assert sp.simplify(joined - apart) == 0


def test_eq85_corrected():
    a, s, e = sp.symbols("a s e", positive=True)
    y = a * s
    excess = ((1 - a + 2 * y) ** 2 - (1 - 4 * y) * (1 - a / 2)) / a
    printed = 8 * s - sp.Rational(3, 2) + a * ((2 * s - 1) ** 2 - 2 * s)
    assert sp.simplify(excess - printed) == 0
    assert sp.Rational(25, 16) * 16 * e / 150 == e / 6
    assert sp.Rational(16, 150) < sp.Rational(1, 5)
    assert (1 - sp.Rational(1, 5)) ** 2 == sp.Rational(16, 25)
    limit = a / 6
    assert sp.expand((1 - 4 * limit) - (1 - a + 2 * limit)) == 0
    assert sp.expand((1 - a / 2) - (1 - a + 2 * limit)) == a / 6


def test_lemma4_probability(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m + k, d, k, rng)
        for f, w, x in zip(at.errors(), at.W_true, at.X, strict=True):
            Z, v = x @ at.B, x @ at.Phi @ w
            assert np.allclose(f, -np.linalg.solve(Z.T @ Z, Z.T @ v))
            # The part of h in the range of Z, and the singular value that bounds the rest.
            left = np.linalg.svd(Z, full_matrices=False)[0]
            assert np.linalg.norm(f) <= np.linalg.norm(left.T @ v) / least(Z) + 1e-12
    # Two clients: the event is implied by the other two, at any c and m.
    for c in (0.5, 1.0, 3.0):
        m = int(np.ceil(4.0 * c**2 * np.log(2.0)))
        delta, T = c * np.sqrt(np.log(2.0) / m), 4.0 * c * np.sqrt(np.log(2.0))
        assert delta <= 0.5
        smallest = T / np.sqrt(2.0 * m)  # of |g|/|z| with |g| > T and |z|^2 <= 2m
        assert smallest >= delta / (1.0 - delta) * np.sqrt(2.0) - 1e-12
        assert chi2.cdf(2.0 * m, m) >= 0.5
    # The numbers of c = 20, lhs and rhs over k sqrt(L), at its smallest L and k.
    assert everywhere(lambda: 1 / arb(2).log().sqrt() + arb(226).sqrt(), lambda: arb(20), {}).good
    assert everywhere(lambda: arb(277), lambda: 400 * arb(2).log(), {}).good
    inverse = {"x": (Fraction(1, 10**9), Fraction(1, 277))}  # r = 1/x from 277 on
    assert everywhere(lambda x: x * (1 - x.log()), lambda x: 1 / arb(40), inverse).good
    assert Fraction(400, 2) * (1 - Fraction(1, 40)) == 195
    # Davidson and Szarek, at sizes where it can be seen.
    m, k = 30, 3
    values = np.linalg.svd(rng.standard_normal((4000, m, k)), compute_uv=False)[:, -1]
    for t in (0.5, 1.0, 1.5):
        assert np.mean(values < np.sqrt(m) - np.sqrt(k) - t) <= np.exp(-(t**2) / 2.0)


def test_fedhelps(rng):
    for n, d, k in ((2, 3, 1), (4, 7, 2), (6, 9, 3), (1, 5, 1)):
        unknowns = n * k + k * (d - k)
        W, B = rng.standard_normal((n, k)), frame(d, k, rng)
        ranks = []
        for m in range(d + 1):
            X = rng.standard_normal((n, m, d))
            # <x_ij, B w_i> changes by <x_ij, B dw_i> + <x_ij, dB w_i>.
            heads = [np.kron(np.eye(n)[i], X[i] @ B) for i in range(n)]
            frames = [np.kron(X[i], W[i]) for i in range(n)]
            slope = np.hstack([np.vstack(heads), np.vstack(frames)])
            ranks.append(np.linalg.matrix_rank(slope) if m else 0)
            assert ranks[-1] <= min(n * m, unknowns)
        assert ranks[-1] == unknowns  # with d samples each
        assert unknowns / n >= k * d / n or n < k


def test_lemma5_eq48(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        # A as a linear map on matrices of n rows, entry by entry.
        A = np.zeros((n * m, n * d))
        for i in range(n):
            for j in range(m):
                E = np.zeros((n, d))
                E[i] = at.X[i, j]
                A[i * m + j] = E.ravel()
        error = (A.T @ A @ at.Q.ravel()).reshape(n, d) / m - at.Q
        total = np.zeros((d, k))
        for i in range(n):
            row = np.zeros(d)
            for x in at.X[i]:
                row += ((x @ at.Q[i]) * x - at.Q[i]) / m
                total += np.outer((x @ at.Q[i]) * x - at.Q[i], at.W[i]) / m
            assert np.allclose(error[i], row)
        assert np.allclose(error.T @ at.W, total)


def test_lemma5_eq50_corrected(rng):
    for d, k in ((2, 2), (1, 2), (2, 1), (1, 1)):
        for _ in range(20):
            M = rng.standard_normal((d, k))
            left, values, right = np.linalg.svd(M)
            u0, v0, near = left[:, 0], right[0], []
            for points, best in ((net(d, rng), u0), (net(k, rng), v0)):
                assert len(points) <= 9 ** points.shape[1]
                near.append(min(points, key=lambda p, best=best: np.linalg.norm(p - best)))
                assert np.linalg.norm(near[-1] - best) <= 0.25
            u, v = near
            split = (u0 - u) @ M @ v0 + u @ M @ (v0 - v)
            assert np.isclose(u0 @ M @ v0 - u @ M @ v, split)
            assert u @ M @ v >= values[0] / 2.0 - 1e-12


def test_lemma5_conditioning_corrected():
    inside, outside, rest = sp.symbols("inside outside rest", positive=True)
    event = inside + rest  # of probability at most 1
    given = inside / event
    assert sp.simplify(inside + outside - (given * event + outside)) == 0
    # outside is at most 1 - event, and given * event at most given.
    right = given + (1 - event)
    excess = sp.simplify(right - (inside + outside) - (given * (1 - event)) - (1 - event - outside))
    assert excess == 0


def test_lemma5_events():
    half = {"q": (Fraction(0), Fraction(1, 2))}
    assert everywhere(lambda q: q + q**10, lambda q: 1 + 0 * q, half).good
    for k in range(1, 50):
        assert 121 * k**3 - 111 * k**2 >= 10 * k**2
        assert k**2 >= 1
    assert everywhere(lambda: (-arb(2).log()).exp(), lambda: arb("0.5000001"), {}).good


def test_lemma6_probability():
    half = {"q": (Fraction(0), Fraction(1, 2))}
    assert everywhere(lambda q: 3 * q**10, lambda q: 1 + 0 * q, half).good
    for k in (1, 2, 5):
        for rn in (2, 3, 100):
            for d in (1, 2, 50):
                mu = min(k**2 * np.log(rn), d)
                assert np.exp(-mu) <= 0.5 + 1e-12
                terms = -110.0 * np.array([d, k**2 * np.log(rn), k**2 * np.log(rn)])
                assert np.logaddexp.reduce(terms) <= np.log(3.0) - 110.0 * mu <= -100.0 * mu


def test_eq53_60(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        if d == k:
            continue
        at.W = at.W + rng.standard_normal((n, k))  # any heads
        at.Q = at.W @ at.B.T - at.W_true @ at.truth.T
        at.S = np.array([pi @ q for pi, q in zip(at.Pi, at.Q, strict=True)])
        eta, outside = 0.4 / n, null_space(at.truth.T).T
        new = at.stepped(0.4)
        mean, error = at.Q.T @ at.W, (at.S - at.Q).T @ at.W
        assert np.allclose(new, at.B - eta * mean - eta * error)
        assert np.allclose(outside @ at.Q.T, outside @ at.B @ at.W.T)
        shrunk = np.eye(k) - eta * at.W.T @ at.W
        assert np.allclose(outside @ new, outside @ at.B @ shrunk - eta * outside @ error)
        hat, R = np.linalg.qr(new)
        assert np.allclose(outside @ hat, outside @ new @ np.linalg.inv(R))
        inverse = norm2(np.linalg.inv(R))
        first, second = norm2(outside @ at.B @ shrunk), norm2(eta * outside @ error)
        assert norm2(outside @ hat) <= (first + second) * inverse + 1e-12
        assert second <= norm2(eta * error) + 1e-12
        assert first <= norm2(outside @ at.B) * norm2(shrunk) + 1e-12


def test_eq70_83(rng):
    for n, _, d, k in SHAPES:
        B, truth, W_true = frame(d, k, rng), frame(d, k, rng), rng.standard_normal((n, k))
        F, S, x = rng.standard_normal((n, k)), rng.standard_normal((n, d)), rng.standard_normal(k)
        x /= np.linalg.norm(x)
        A = W_true @ truth.T @ B
        W, eta = A - F, 0.3 / n
        Q = W @ B.T - W_true @ truth.T
        assert np.allclose(Q @ B, -F)
        new, cross = B - eta * S.T @ W, eta * B.T @ S.T @ W
        square = eta**2 * W.T @ S @ S.T @ W
        assert np.allclose(new.T @ new, np.eye(k) - cross - cross.T + square)
        stretch = np.linalg.eigvalsh(cross + cross.T)[-1]
        assert np.linalg.eigvalsh(new.T @ new)[0] >= 1.0 - stretch - 1e-12
        assert np.isclose(x @ B.T @ S.T @ W @ x, x @ W.T @ S @ B @ x)
        outer = np.outer(x, x)
        assert np.isclose(x @ W.T @ Q @ B @ x, np.sum(Q * (W @ outer @ B.T)))
        assert np.isclose(np.sum(Q * (A @ outer @ B.T)), -np.trace(F.T @ A @ outer))
        assert np.isclose(-np.sum(Q * (F @ outer @ B.T)), np.sum((F @ x) ** 2))
        assert np.isclose(np.linalg.norm(A @ outer), np.linalg.norm(A @ x))
        assert np.linalg.norm(A @ x) <= norm2(W_true) + 1e-12
    delta = sp.symbols("delta")
    ratio = delta / (1 - delta)
    assert sp.simplify(ratio + ratio**2 - delta / (1 - delta) ** 2) == 0


def test_global_minima_corrected(rng):
    for n, k, d in ((4, 2, 5), (3, 3, 3), (2, 1, 4), (6, 3, 7)):
        truth, W = frame(d, k, rng), rng.standard_normal((n, k))
        Q = rng.standard_normal((k, k))
        heads, B = W @ np.linalg.inv(Q), truth @ Q.T
        assert np.allclose(heads @ B.T, W @ truth.T)
        # Back from the pair: Q' = B*'B, and W Q = W*.
        assert np.allclose(truth.T @ B, Q.T)
        assert np.allclose(heads @ (truth.T @ B).T, W)
        assert np.allclose(truth @ (truth.T @ B), B)


def test_assumption2_needed(rng):
    for n, k, d in ((4, 2, 5), (3, 3, 4), (5, 4, 9)):
        truth, V = frame(d, k, rng), frame(k, k, rng)[:, :-1]
        W = rng.standard_normal((n, k - 1)) @ V.T
        u = null_space(truth.T)[:, :1]
        other = np.hstack([truth @ V, u])
        heads = np.hstack([W @ V, np.zeros((n, 1))])
        assert np.allclose(other.T @ other, np.eye(k))
        assert np.allclose(heads @ other.T, W @ truth.T)
        assert np.isclose(norm2(null_space(truth.T).T @ other), 1.0)


def test_heads_cost(rng):
    for m, k in ((1, 1), (2, 2), (7, 3), (9, 9), (30, 4)):
        assert head_cost.count(m, k) == head_cost.closed_form(m, k)
        Z, y = rng.standard_normal((m, k)), rng.standard_normal(m)
        numbers = [[head_cost.Counted(value) for value in row] for row in Z]
        found = head_cost.solve_head(numbers, [head_cost.Counted(value) for value in y])
        expected = np.linalg.lstsq(Z, y, rcond=None)[0]
        assert np.allclose([entry.value for entry in found], expected, rtol=1e-6, atol=1e-6)
    k, s, t = sp.symbols("k s t", nonnegative=True)
    m = k + s
    total = (k * (k + 1) / 2 + k) * (2 * m - 1) + (2 * k**3 + 3 * k**2 + k) / 6 + 2 * k**2
    rest = sp.expand((4 * (m * k**2 + k**3) - total).subs(k, 1 + t))
    assert all(value >= 0 for value in sp.Poly(rest, s, t).coeffs())


def test_heads_gd_corrected(rng):
    for m, k in ((6, 3), (2, 4), (3, 3), (5, 1)):
        Z, y, w = rng.standard_normal((m, k)), rng.standard_normal(m), rng.standard_normal(k)
        G = Z.T @ Z / m
        values, vectors = np.linalg.eigh(G)
        kept = values > 1e-9 * values[-1]
        nearest = w + np.linalg.pinv(Z) @ (y - Z @ w)
        first, condition = w - nearest, values[-1] / values[kept][0]
        for s in range(1, 8):
            w = w - Z.T @ (Z @ w - y) / m / values[-1]
            factors = (1.0 - values / values[-1]) ** s
            assert np.allclose(vectors.T @ (w - nearest), factors * (vectors.T @ first))
            bound = (1.0 - 1.0 / condition) ** s * np.linalg.norm(first)
            assert np.linalg.norm(w - nearest) <= bound + 1e-12
    x = sp.symbols("x", nonnegative=True)  # 1/kappa; 1 - x = exp(-x) at 0
    excess = sp.exp(-x) - (1 - x)
    assert excess.subs(x, 0) == 0
    assert sp.simplify(sp.diff(excess, x) - (1 - sp.exp(-x))) == 0


def test_claim1_proof_corrected(rng):
    for n, m, d in ((3, 2, 3), (1, 1, 2), (4, 5, 9)):
        X = rng.standard_normal((n, m, d))
        M = np.zeros((n, d))
        M[0] = null_space(X[0])[:, 0]
        measured = [X[i, j] @ M[i] for i in range(n) for j in range(m)]
        assert np.allclose(measured, 0.0)
        assert np.isclose(np.linalg.norm(M), 1.0)


def test_privacy_corrected(rng):
    for m, d in ((2, 6), (5, 6), (4, 4)):
        x, y = rng.standard_normal((m, d)), rng.standard_normal(m)
        rows = x * y[:, None]
        Z = (x * y[:, None] ** 2).T @ x
        assert np.allclose(Z, rows.T @ rows)
        assert np.allclose(Z @ np.linalg.pinv(Z), np.linalg.pinv(x) @ x)
        other = frame(m, m, rng) @ rows
        assert np.allclose(other.T @ other, Z)
        theta = np.linalg.lstsq(other, np.ones(m), rcond=None)[0]
        assert np.allclose(other @ theta, 1.0)
        t = (np.sqrt(2.0) / np.linalg.norm(theta)) ** 0.5  # a model of norm sqrt(2)
        scaled, model = other / t, t**2 * theta
        assert np.isclose(np.linalg.norm(model), np.sqrt(2.0))
        assert np.allclose((scaled * ((scaled @ model) ** 2)[:, None]).T @ scaled, Z)
        cosines = np.abs(other @ x.T) / np.outer(*(np.linalg.norm(v, axis=1) for v in (other, x)))
        assert cosines.max() < 1.0 - 1e-6


def test_theorem2_samples(rng):
    for n, k, rn in ((6, 2, 3), (5, 3, 4), (4, 1, 1), (3, 3, 3)):
        W = rng.standard_normal((n, k))
        W *= np.sqrt(k) / np.linalg.norm(W, axis=1, keepdims=True)
        each = [W[list(chosen)] for chosen in combinations(range(n), rn)]
        assert np.allclose(np.mean([V.T @ V / rn for V in each], axis=0), W.T @ W / n)
        low = min(np.linalg.eigvalsh(V.T @ V / rn)[0] for V in each)
        high = max(np.linalg.eigvalsh(V.T @ V / rn)[-1] for V in each)
        values = np.linalg.eigvalsh(W.T @ W / n)
        tilde, kappa = values[-1] / values[0], high / low
        assert low <= values[0] + 1e-12
        assert values[-1] <= high + 1e-12
        assert values[0] * tilde >= 1.0 - 1e-12
        inverse = k / values[0]
        assert inverse <= k * tilde * (1 + 1e-9) <= k * kappa * (1 + 1e-6)
        assert tilde * k * inverse / n <= kappa**2 * k**2 / rn * (1 + 1e-9)


def test_lemma2_blocks(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        z = rng.standard_normal((k, n))
        form = 0.0
        for i in range(n):
            for x in at.X[i]:
                image = sum(z[p, i] * (x @ at.B[:, p]) for p in range(k))
                form += image**2 / m
        blocks = [z[:, i] @ at.G[i] @ z[:, i] for i in range(n)]
        assert np.isclose(form, sum(blocks))
        # In the order (p, i) G has the blocks' entries on diagonals; in the order (i, p), blocks.
        G = np.zeros((k, n, k, n))
        for i in range(n):
            G[:, i, :, i] = at.G[i]
        whole = np.linalg.eigvalsh(G.reshape(k * n, k * n))
        assert np.allclose(whole, np.sort(np.linalg.eigvalsh(np.array(at.G)).ravel()))
        assert np.allclose(at.Pi[0], sum(np.outer(x, x) for x in at.X[0]) / m)


def test_lemma3_eq33_39(rng):
    for n, m, d, k in SHAPES:
        at = Round(n, m, d, k, rng)
        lacking = at.B @ at.B.T @ at.truth - at.truth
        for G, C, Pi in zip(at.G, at.C, at.Pi, strict=True):
            assert np.allclose(G @ at.D - C, at.B.T @ Pi @ lacking)
        assert np.allclose(at.B.T @ lacking, 0.0)
    e = sp.symbols("e", positive=True)
    for low, s in ((True, e), (False, e**2)):
        larger = e**2 - e  # the sign of which is that of e - 1
        assert sp.factor(larger) == e * (e - 1)
        smallest = s**2 if low else s
        assert sp.simplify(smallest - e**2) == 0
        gap = sp.factor(s - s**2)  # not negative for e <= 1, not positive for e >= 1
        assert all(gap.subs(e, value) >= 0 for value in (sp.Rational(1, 3), 1)) or not low
        assert all(gap.subs(e, value) <= 0 for value in (1, 3)) or low
    assert everywhere(lambda: 2 * arb(9).log() / arb(2).log(), lambda: arb(7), {}).good


def test_lemma6_samples():
    p, q, c, kappa, e = sp.symbols("p q c kappa e", positive=True)  # roots of a and b
    assert sp.factor(2 * (p**2 + q**2) - (p + q) ** 2) == (p - q) ** 2
    m = 2 * (sp.Rational(125, 16) * c) ** 2 * kappa**4 * (p**2 + q**2) / e**2
    limit = (16 * e / (125 * kappa**2)) ** 2
    assert sp.simplify(2 * c**2 * (p**2 + q**2) / m - limit) == 0


def test_lemma2_probability(rng):
    assert everywhere(
        lambda: 1 / arb(2).log().sqrt() + arb(224).sqrt(), lambda: arb(33) / 2, {}
    ).good
    delta = sp.symbols("delta", nonnegative=True)
    assert sp.expand((1 - delta / 2) ** 2 - (1 - delta)) == delta**2 / 4
    for k in (1, 2, 5):
        for rn in (2, 3, 100):
            L, m, c = np.log(rn), 50, 33.0
            assert np.sqrt(k) <= k**1.5 * np.sqrt(L / np.log(2.0)) + 1e-12
            t = np.sqrt(224.0 * k**3 * L)
            assert np.sqrt(k) + t <= c * k**1.5 * np.sqrt(L) / 2.0
            assert L - t**2 / 2.0 <= -111.0 * k**3 * L + 1e-9
    # The inequality of Davidson and Szarek, where it can be seen.
    m, k = 25, 4
    values = np.linalg.svd(rng.standard_normal((4000, m, k)), compute_uv=False)[:, -1]
    for t in (0.5, 1.0, 1.5):
        assert np.mean(values < np.sqrt(m) - np.sqrt(k) - t) <= np.exp(-(t**2) / 2.0)


def test_eq59():
    one, other = np.exp(-110.0 * 4), 2.0**-110
    assert one + other > one > 0.0


def test_theorem1_gaussian(rng):
    for n, m, d, k in [*SHAPES, (5, 30, 4, 3), (1, 9, 8, 1), (12, 40, 20, 2)]:
        if d == k or m == k:
            continue
        at = NormalRound(n, m, d, k, rng)
        eta = 1.0 / max(1.0, norm2(at.W_true) ** 2 / n)
        assert np.allclose(at.stepped(eta), at.B + eta * at.U @ at.M)
        assert np.allclose(at.M - at.mean, sum(at.terms()))
        outside = null_space(at.truth.T).T
        h, Sigma = eta * (1 - k / m), at.W_true.T @ at.W_true / n
        shrunk = np.eye(k) - h * at.D @ Sigma @ at.D.T
        kept = outside @ (at.B + eta * at.U @ at.mean)
        assert np.allclose(kept, outside @ at.B @ shrunk)
        s, new = norm2(at.Phi), np.linalg.qr(at.stepped(eta))[0]
        smallest = least(at.W_true) ** 2 / n
        bound = s * (1 - h * (1 - s**2) * smallest) + eta * norm2(at.M - at.mean)
        assert norm2(outside @ new) <= bound + 1e-12
        assert np.all(np.sum(at.e**2, axis=1) <= k * s**2 * (1 + 1e-12))
    # The numbers that stand in for roots, and those of Theorem 1.
    size, residual, x = Fraction(27, 20) ** 2, Fraction(81, 64), Fraction(609, 100)
    assert 3 * residual * size <= Fraction(264, 100) ** 2
    assert Fraction(25, 4) * size * x <= Fraction(833, 100) ** 2
    assert Fraction(5, 2) * Fraction(61, 50) * x <= Fraction(186, 10)
    assert 5 * Fraction(3, 2) <= Fraction(274, 100) ** 2
    taken = Fraction(264 + 833 + 274, 100) / 30 + Fraction(186, 10) / 900
    assert taken <= Fraction(478, 1000) < Fraction(1, 2) - Fraction(1, 64)
    assert everywhere(lambda: 2 * arb(21).log(), lambda: arb("6.09"), {}).good
    terms = everywhere(
        lambda: 64 * (202 + (1 + 2 * arb(7).log()) / arb(2).log()), lambda: arb(13400), {}
    )
    assert terms.good
    assert everywhere(lambda: 201 + 2 * arb(7).log(), lambda: arb(205), {}).good
    assert 900 * 205 <= 184500 <= 190000


def test_table1_top():
    table = np.array(list(table1.ACCURACIES.values()))
    own = np.array(table1.ACCURACIES["FedRep"])
    ranks = 1 + (table > own).sum(axis=0)
    assert ranks.tolist() == [2, 1, 1, 2, 2, 1, 1]
    assert (table.max(axis=0) - own).tolist() == [209, 0, 0, 19, 24, 0, 0]


def test_what_is_not_sharp(rng):
    """The constants of the findings' last section."""
    assert all(left <= right for left, right, _ in eq85._conclusion(Fraction(1, 6), Fraction(2, 3)))
    rows = list(lemma2._exponents(12.0, None, 1.0, 121.0, 120.0))
    assert all(left <= right + 1e-9 for name, left, right, _ in rows if name == "(32)")
    angle = 2.0 * np.arcsin(0.125)
    for _ in range(200):
        M = rng.standard_normal((2, 2)) @ np.diag([1.0, rng.uniform()])
        assert norm2(M) * np.cos(2.0 * angle) <= (net(2, rng) @ M @ net(2, rng).T).max() + 1e-12
    assert 1.0 / np.cos(2.0 * angle) < 1.141
    for _ in range(200):
        W, angles = rng.standard_normal((4, 2)), rng.uniform(0.0, np.pi / 2, 2)
        sines, ratio = np.sin(angles), rng.uniform(0.0, 1.0)
        F = rng.standard_normal((4, 2))
        F *= ratio * norm2(W) * sines.max() / norm2(F)
        lowest = least(W) ** 2 * (1.0 - sines.max() ** 2) - ratio * norm2(W) ** 2
        assert least(W * np.cos(angles) - F) ** 2 >= lowest - 1e-9


def test_theorem2_logarithm():
    """Moments and numbers; test_theorem2_logarithm.py draws the other steps."""
    k, L = sp.symbols("k L", positive=True)
    # E z^4 (z^2 + rho)^2, rho of k - 1 degrees of freedom: moments 105, 15, 3 of z.
    mean = 105 + 2 * 15 * (k - 1) + 3 * ((k - 1) ** 2 + 2 * (k - 1))
    assert sp.expand(mean - (3 * k**2 + 30 * k + 72)) == 0
    assert sp.expand(mean - (k + 8) - (3 * k**2 + 29 * k + 64)) == 0
    assert sp.expand(3 * (k + 5) ** 2 - (3 * k**2 + 29 * k + 64 + 12)) == k - 1  # 0 at k = 1
    # h grows faster than log N from N = 108 on.
    h = sp.sqrt(2 * sp.exp(L) * L / sp.pi) / (1 + L)
    slope = sp.Rational(1, 2) + 1 / (2 * L) - 1 / (1 + L)
    assert sp.simplify(sp.diff(h, L) - h * slope) == 0
    first = arb(108).log()
    height = (2 * 108 * first / arb.pi()).sqrt() / (1 + first)
    assert (-height).exp() < arb(12) / 108
    assert height * (arb(1) / 2 + 1 / (2 * first) - 1 / (1 + first)) > arb(6) / 5
    # h increases, and so does the slope times h: the slope is least at L = 1 + root(2).
    assert sp.solve(sp.diff(slope, L), L) == [1 + sp.sqrt(2)]
    assert first > 1 + arb(2).sqrt()
    # Together: 4k over k f log(N)/(2N).
    f, N = sp.symbols("f N", positive=True)
    assert sp.simplify(4 * k / (k * f * sp.log(N) / (2 * N)) - 8 * N / (f * sp.log(N))) == 0
