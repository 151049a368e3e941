"""The steps of FedRep's proofs that neither a check measures nor a solver is asked."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
import sympy as sp
from flint import arb
from scipy.linalg import null_space
from scipy.stats import chi2, norm

from linrep.claims import decide, everywhere
from linrep.papers.fedrep import head_cost, table1
from linrep.papers.fedrep.eq48_to_50 import net
from linrep.papers.fedrep.eq85 import end_of_proof
from linrep.papers.fedrep.lemma2 import exponents

#: Clients, samples, dimension, rank; edges among them: one client, k = 1, d = k, m = k.
SHAPES = [(4, 6, 7, 2), (1, 3, 2, 1), (5, 4, 9, 4), (3, 5, 3, 3), (6, 9, 8, 3)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def frame(d, k, rng):
    return np.linalg.qr(rng.standard_normal((d, k)))[0]


def norm2(M):
    return np.linalg.norm(M, 2)


def least(M):
    """Return the smallest singular value, of as many as columns."""
    return np.linalg.svd(M, compute_uv=False)[-1] if M.shape[0] >= M.shape[1] else 0.0


def at_most(left, right, **region):
    return everywhere(lambda **x: left(**x), lambda **x: right, region).good


class NormalRound:
    """One round, client by client, with what the derivation of `fedrep.theorem1.gaussian` names."""

    def __init__(self, n, m, d, k, rng):
        self.B, self.truth, self.W_true = (
            frame(d, k, rng),
            frame(d, k, rng),
            rng.normal(size=(n, k)),
        )
        self.W_true *= np.sqrt(k) / np.linalg.norm(self.W_true, axis=1, keepdims=True)
        self.X = rng.standard_normal((n, m, d))
        theta = self.W_true @ self.truth.T
        fits = zip(self.X, theta, strict=True)
        self.W = np.array([np.linalg.pinv(x @ self.B) @ (x @ t) for x, t in fits])
        self.Q = self.W @ self.B.T - theta
        self.S = np.array([x.T @ x @ q / m for x, q in zip(self.X, self.Q, strict=True)])
        self.D = self.B.T @ self.truth
        self.Phi = self.truth - self.B @ self.D
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

    def stepped(self, eta):
        return self.B - eta / len(self.W) * self.S.T @ self.W

    def terms(self):
        """Return T_1, T_2 and T_3."""
        (n, m, _), k = self.X.shape, self.W.shape[1]
        squares = np.sum(self.e * self.pulls, axis=1) / np.sum(self.e**2, axis=1)  # |g_i|^2
        first = (self.e * (squares - (m - k))[:, None]).T @ self.W / (n * m)
        second = (self.pulls - squares[:, None] * self.e).T @ self.W / (n * m)
        third = (1 - k / m) * self.U.T @ self.Phi @ self.W_true.T @ self.zeta / n
        return first, second, third


def test_assumption1():
    for j in range(60):
        assert factorial(2 * j) >= 2**j * factorial(j)
        assert factorial(2 * j + 1) >= 6**j * factorial(j)
        assert (2 * j + 3) * (2 * j + 2) >= 6 * (j + 1)  # the step of the induction
        for d in (1, 2, 5, 40):
            assert sp.rf(sp.Rational(d, 2), j) >= sp.Rational(d, 2) ** j
    x, g = sp.symbols("x g", real=True)
    assert sp.integrate(x**4, (x, 0, sp.sqrt(3))) / sp.sqrt(3) == sp.Rational(9, 5)
    density = sp.exp(-(g**2) / 2) / sp.sqrt(2 * sp.pi)
    mean = sp.integrate(sp.exp(3 * g**2 / 8) * density, (g, -sp.oo, sp.oo))
    assert sp.simplify(mean - 2) == 0
    # The skewed law: 2 with probability 1/5, -1/2 with 4/5.
    law = [(Fraction(1, 5), 2), (Fraction(4, 5), -Fraction(1, 2))]
    assert [sum(p * v**j for p, v in law) for j in (1, 2, 3)] == [0, 1, Fraction(3, 2)]


def test_lemma3_probability():
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
    assert at_most(lambda: (1 - 1000 + arb(1000).log()) / 2, arb(-496))
    assert at_most(lambda: 693 / arb(2).log(), arb(1000))
    inverse = (Fraction(1, 10**9), Fraction(1, 693))  # r = 1/x from 693 on
    assert at_most(lambda x: x * (1 - x.log()), arb("0.02"), x=inverse)


def test_lemma4_probability():
    """The numbers of c = 20, lhs and rhs over k sqrt(L), at its smallest L and k."""
    assert at_most(lambda: 1 / arb(2).log().sqrt() + arb(226).sqrt(), arb(20))
    assert at_most(lambda: 277 / arb(2).log(), arb(400))
    inverse = (Fraction(1, 10**9), Fraction(1, 277))  # r = 1/x from 277 on
    assert at_most(lambda x: x * (1 - x.log()), 1 / arb(40), x=inverse)


def test_lemma2_probability():
    assert at_most(lambda: 1 / arb(2).log().sqrt() + arb(224).sqrt(), arb(33) / 2)
    delta = sp.symbols("delta", nonnegative=True)
    assert sp.expand((1 - delta / 2) ** 2 - (1 - delta)) == delta**2 / 4


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


def test_heads_cost(rng):
    for m, k in ((1, 1), (2, 2), (7, 3), (9, 9), (30, 4)):
        assert head_cost.count(m, k) == head_cost.closed_form(m, k)
        Z, y = rng.standard_normal((m, k)), rng.standard_normal(m)
        counted = np.vectorize(head_cost.Counted, otypes=[object])
        found = head_cost.solve_head(counted(Z), counted(y))
        expected = np.linalg.lstsq(Z, y, rcond=None)[0]
        assert np.allclose([entry.value for entry in found], expected, rtol=1e-6, atol=1e-6)
    k, s, t = sp.symbols("k s t", nonnegative=True)
    m = k + s
    total = (k * (k + 1) / 2 + k) * (2 * m - 1) + (2 * k**3 + 3 * k**2 + k) / 6 + 2 * k**2
    rest = sp.expand((4 * (m * k**2 + k**3) - total).subs(k, 1 + t))
    assert all(value >= 0 for value in sp.Poly(rest, s, t).coeffs())


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
    assert at_most(lambda: 2 * arb(21).log(), arb("6.09"))
    terms = lambda: 64 * (202 + (1 + 2 * arb(7).log()) / arb(2).log())  # noqa: E731
    assert at_most(terms, arb(13400))
    assert at_most(lambda: 201 + 2 * arb(7).log(), arb(205))
    assert 900 * 205 <= 184500 <= 190000


def test_theorem1_moments(rng):
    """(i): ||Y + X||_q^2 <= ||Y||_q^2 + (q - 1) ||X||_q^2 for X of mean 0, here on two points."""
    ratios = []

    def power(Y):
        return np.sum(np.linalg.svd(Y, compute_uv=False) ** q, axis=-1)

    for _ in range(1000):
        q, share = int(rng.choice([2, 4, 10])), rng.uniform(0.02, 0.98)
        Y, X = rng.standard_normal((2, 3, 3)) * 10.0 ** rng.uniform(-1, 1, (2, 1, 1))
        law, masses = np.stack([(1 - share) * X, -share * X]), np.array([share, 1 - share])
        left, right = (masses @ power(each) for each in (Y + law, law))
        ratios.append(left ** (2 / q) / (power(Y) ** (2 / q) + (q - 1) * right ** (2 / q)))
    assert 0.99 < max(ratios) <= 1.0 + 1e-12


def test_table1_top():
    table = np.array(list(table1.ACCURACIES.values()))
    own = np.array(table1.ACCURACIES["FedRep"])
    ranks = 1 + (table > own).sum(axis=0)
    assert ranks.tolist() == [2, 1, 1, 2, 2, 1, 1]
    assert (table.max(axis=0) - own).tolist() == [209, 0, 0, 19, 24, 0, 0]


def test_what_is_not_sharp(rng):
    """The constants of the findings' last section."""
    assert decide(end_of_proof.measure(kept=Fraction(2, 3))).verdict == "holds"
    assert decide(exponents.measure(left=120)).verdict == "holds"
    angle = 2.0 * np.arcsin(0.125)
    assert 1.0 / np.cos(2.0 * angle) < 1.141
    for _ in range(200):
        M = rng.standard_normal((2, 2)) @ np.diag([1.0, rng.uniform()])
        assert norm2(M) * np.cos(2.0 * angle) <= (net(2, rng) @ M @ net(2, rng).T).max() + 1e-12
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
