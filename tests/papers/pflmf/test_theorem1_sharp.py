"""Statements of `linrep.papers.pflmf.theorem1_sharp`."""

from itertools import product

import numpy as np
import pytest

from linrep.papers.pflmf import runs, scalar, theorem1_sharp
from linrep.theory import pflmf


def naive(r, i):
    """Return delta_U, delta_V, E F+ and L needed, over all outcomes, from the definition."""
    u, v, h, a, s, p = r.u[i], r.v[i], r.h[i], r.a[i], r.s[i], r.p[i]
    n, K, eta = len(v), r.K, r.eta[i]
    g = np.mean(h * (u * v - a) * v)
    sigma = np.sqrt(np.sum(s**2))
    delta = after = curvature = 0.0
    for D in product((0.0, 1.0), repeat=n):
        chance = np.prod([p if d else 1.0 - p for d in D])
        for signs in product((-1.0, 1.0), repeat=n * K):
            heads, moved = v.copy(), 0.0
            for k in range(K):
                slope = h * (u * heads - a) * u / n
                moved += np.sum(slope**2) / K
                heads = heads - p * eta / K * np.array(D) * (slope + s * signs[n * k : n * k + n])
            delta += chance * moved / 2 ** (n * K)
            for sign in (-1.0, 1.0):
                new = u - eta * (g + sign * sigma)
                after += chance * np.mean(h * (new * heads - a) ** 2) / 2 ** (n * K + 2)
                for x, y in product((u, new), (v, heads)):
                    mixed = np.linalg.norm(h * (2 * x * y - a)) / n
                    blocks = abs(np.mean(h * y**2)), np.max(np.abs(h)) * x**2 / n, mixed
                    curvature = max(curvature, *blocks)
    return g**2, delta, after, curvature


@pytest.mark.parametrize(("n", "K", "noisy"), [(1, 3, True), (2, 2, True), (3, 2, False)])
def test_scalar_rounds_are_those_of_the_definition(n, K, noisy):
    rounds = scalar.drawn(np.random.default_rng(n), n, K, 20, noisy)
    terms = rounds.expected()
    room = rounds.rounding(terms)
    assert len(terms.p) == 20
    for i in range(20):
        delta_U, delta_V, after, curvature = naive(rounds, i)
        assert terms.delta_U[i] == pytest.approx(delta_U)
        assert terms.delta_V[i] == pytest.approx(delta_V)
        assert terms.after[i] == pytest.approx(after, rel=1e-9, abs=10 * room[i])
        assert rounds.L[i] >= curvature * (1 - 1e-12)
        w = pflmf.sharp_weights(terms.x[i], terms.p[i], K)
        c, omega = pflmf.sharp_constants(terms.p[i], K)
        assert w.weight_U == pytest.approx(1 - c * terms.x[i])
        assert w.weight_V >= terms.p[i] ** 2 * (1 - c * terms.x[i]) - 1e-12
        assert omega <= 1.0


def test_the_valid_smoothness_of_functions_that_nearly_attain_it():
    """All blocks of the second derivatives on the box of both ends are below L."""
    for p, c in theorem1_sharp.EXACT:
        q, x, g = 1e3, float(0.9 / c), float(2 * c - p)
        s, e, L = q**3, q**-6, 1.0 + 9.0 / q
        slope, curvature = np.array([g, (1 - g) / q]), np.array([1.0, e])
        eta = x / L
        start = np.array([s, q * s])
        for u, v in product((start, start - eta * slope), (s, s - float(p) * eta)):
            y = u * v - s * start
            in_f = slope / s + curvature * y / s**2
            second = curvature / s**2
            assert np.max(second) * v**2 <= L
            assert np.sum(second * u**2) <= L
            assert np.linalg.norm(second * u * v + in_f) <= L


def test_the_bound_is_the_statement():
    given = {"smoothness": 2.0, "step_size": 0.3, "rounds": 7.0, "noise": 0.5}
    given |= {"participation": 0.4, "local_steps": 3}
    c, omega = pflmf.sharp_constants(0.4, 3)
    found = pflmf.sharp_stationarity_bound(3.0, **given)
    assert found.start == pytest.approx(3.0 / (0.3 * 7.0 * (1 - 0.6 * c)))
    assert found.noise == pytest.approx(omega * 0.6 * 0.25 / (1 - 0.6 * c))
    bound = runs.Sharp().of(0.4, 3)
    assert bound.right(3.0, 2.0, 0.3, 7.0, 0.5) == pytest.approx(found.total)
    whole = pflmf.sharp_constants(1.0)
    assert (whole.slack, whole.noise) == pytest.approx((1.0, 1.0))
