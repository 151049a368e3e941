"""Statements of `linrep.papers.pflmf.theorem1_sharp`."""

from itertools import product

import numpy as np
import pytest

from linrep.papers.pflmf import runs, scalar
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
        assert w.weight_V >= terms.p[i] ** 2 * (1 - terms.x[i]) - 1e-12
        assert w.noise <= 1.5 * terms.x[i] + 1e-12


def test_the_bound_is_the_statement():
    given = {"smoothness": 2.0, "step_size": 0.3, "rounds": 7.0, "noise": 0.5}
    found = pflmf.sharp_stationarity_bound(3.0, **given)
    assert found.start == pytest.approx(3.0 / (0.3 * 7.0 * 0.4))
    assert found.noise == pytest.approx(1.5 * 0.6 * 0.25 / 0.4)
    bound = runs.Bound(2, 1, 1.5, slack=1)
    assert bound.right(3.0, 2.0, 0.3, 7.0, 0.5) == pytest.approx(found.total)
    assert pflmf.sharp_stationarity_bound(
        1.0, smoothness=1.0, step_size=0.5, rounds=1.0
    ).total == pytest.approx(4.0)
