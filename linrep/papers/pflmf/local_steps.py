"""What the local steps of Appendix A.1 come to: nearly one step of size p eta."""

from __future__ import annotations

import numpy as np

import linrep as lr
from linrep.claims import Cases, Fact, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf import model
from linrep.papers.pflmf.model import SMOOTH
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds

_KINDS = ("identity", "own", "indefinite", "logistic", "cosine")
_CONVEX = ("identity", "own", "logistic")
_SIZES = (0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256)


def _walk(problem, U, V, p, K, eta_L) -> tuple[Array, float, float]:
    """Return everyone's V_0, ..., V_K, the step size eta_v, and L in V at this U."""
    L = theory.local_smoothness(problem, U, V, 0.0, 0.0).own_V
    s = theory.Setting(p, K, eta_L / L, L, L)
    return pflmf_rounds.local_path(s, problem, U, V).means, s.head_step_size, L


def _state(rng, kind):
    """Return functions of a kind, and factors."""
    n, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    k = int(rng.integers(1, d + 1))
    return (model.drawn(rng, kind, n, d), rng.standard_normal((d, k)), rng.standard_normal((n, k)))


def _apart(state, p, K, eta_L) -> float:
    """Return L ||V_K - (V_0 - p eta grad)||/||grad||."""
    problem, U, V = state
    path, step, L = _walk(problem, U, V, p, K, eta_L)
    gradient = problem.factor_gradients(U, V).in_V
    one = path[-1] - (V - K * step * gradient)
    return float(L * np.linalg.norm(one) / np.linalg.norm(gradient))


def _order(rng, kind, p, K, seeds) -> Fact:
    """Return the power of eta L with which K steps leave one step, at small eta L."""
    lines = []
    for _ in range(seeds):
        state = _state(rng, kind)
        lines.append([_apart(state, p, K, size) for size in _SIZES])
    slope = np.polyfit(np.log(_SIZES), np.log(np.array(lines)).mean(axis=0), 1)[0]
    at = {"p": p, "K": K}
    return Fact(f"power of eta L in the distance, {kind}", float(slope), setting=at)


def _grown(q, K, k) -> float:
    """Return (1 + q/K)^k, the most that gradients grow by in k steps."""
    return float((1.0 + q / K) ** k)


def _drawn(rng, count):
    """Yield a kind of functions, p, K and eta L, and functions of the kind with factors."""
    for _ in range(count):
        kind, p = str(rng.choice(_KINDS)), float(rng.choice(model.CHANCES))
        K, size = int(rng.choice(model.STEPS)), float(rng.choice(model.SIZES))
        yield {"kind": kind, "p": p, "K": K, "eta L": size}, _state(rng, kind)


def _distances(rng, count, factor) -> Cases:
    """Bound the distance from one step with (1 + q/K)^K - 1 - q, which concave functions have."""
    cases = []
    for at, state in _drawn(rng, count):
        _, p, K, size = at.values()
        bound = _grown(p * size, K, K) - 1.0 - p * size
        cases.append((_apart(state, p, K, size), factor * bound * (1.0 + 1e-9) + 1e-13, at))
    concave = lr.QuadraticObjectives(np.zeros((1, 1)), -np.eye(1))
    for K in (2, 20):
        bound = _grown(0.499, K, K) - 1.0 - 0.499
        found = _apart((concave, np.ones((1, 1)), np.ones((1, 1))), 1.0, K, 0.499)
        cases.append((found, factor * bound * (1.0 + 1e-9), {"kind": "-v^2/2", "K": K}))
    return Cases(
        cases, quantity="L distance over |grad V_0|", name="distance from one step", strength=PROVED
    )


def _norms(rng, count, factor):
    """Bound gradients along V_k by the first one, for all functions and for convex quadratics."""
    above, below, convex = [], [], []
    for at, (problem, U, V) in _drawn(rng, count):
        kind, p, K, size = at.values()
        path, _, _ = _walk(problem, U, V, p, K, size)
        norms = [np.linalg.norm(problem.factor_gradients(U, each).in_V) for each in path[:-1]]
        ratios = np.array(norms) / norms[0]
        k = np.arange(K)
        most, least = (1.0 + factor * p * size / K) ** k, (1.0 - factor * p * size / K) ** k
        up, down = int(np.argmax(ratios - most)), int(np.argmin(ratios - (2.0 - most)))
        above.append((float(ratios[up]), float(most[up]) + 1e-12, at))
        below.append((float(2.0 - most[down]), float(ratios[down]) + 1e-12, at))
        if kind in _CONVEX:
            convex.append((float(ratios.max()), 1.0 + 1e-12, at))
            if kind != "logistic":
                low = int(np.argmin(ratios - least))
                convex.append((float(least[low]), float(ratios[low]) + 1e-12, at))
    for sign in (1.0, -1.0):
        one = lr.QuadraticObjectives(np.zeros((1, 1)), sign * np.eye(1))
        path, _, _ = _walk(one, np.ones((1, 1)), np.ones((1, 1)), 1.0, 20, 0.499)
        last = float(path[-2][0, 0])
        edge = (1.0 - sign * factor * 0.499 / 20) ** 19
        pair = (edge, last) if sign > 0.0 else (last, edge)
        (convex if sign > 0.0 else above).append(
            (pair[0], pair[1] + 1e-12, {"kind": f"{sign:g} v^2/2", "K": 20})
        )
    for name, cases in (
        ("|grad V_k| <= (1 + q/K)^k |grad V_0|", above),
        ("|grad V_k| >= (2 - (1 + q/K)^k) |grad V_0|", below),
        ("convex: not larger; quadratic: >= (1 - q/K)^k times", convex),
    ):
        yield Cases(cases, quantity="growth of gradients", name=name, strength=PROVED)


@statement(
    "pflmf.local_steps",
    own=True,
    place="Appendix A.1, what eta_v = p eta/K implies; not stated there",
    latex=r"\|V_K-(V-p\eta\nabla_V)\|\le\frac{(1+q/K)^K-1-q}L\|\nabla_V\|,\quad"
    r" \|\nabla_V(U,V_k)\|\le(1+q/K)^k\|\nabla_V(U,V)\|,\quad q=p\eta L",
    plain="K local steps are one of size p eta up to (p eta L)^2; gradients hardly change on them.",
    hypotheses=(SMOOTH,),
    negative_control={"distance": 0.9},
    stronger={"distance": -1, "growth": -1},
)
def local_steps(budget, rng, *, distance=1.0, growth=1.0):
    """Bound distances and gradients along the steps.

    `distance` is the factor at that from one step, `growth` that at q/K.
    """
    settings = [
        (kind, p, K)
        for kind in ("own", "logistic", "cosine")
        for p, K in budget(((1.0, 2), (0.1, 20)), ((1.0, 2), (1.0, 50), (0.3, 5), (0.1, 20)))
    ]
    count = budget(150, 3000)
    for kind, p, K in settings:
        yield _order(rng, kind, p, K, budget(4, 20))
    yield _distances(rng, count, distance)
    yield from _norms(rng, count, growth)
