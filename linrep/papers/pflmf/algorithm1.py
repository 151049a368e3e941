"""Algorithm 1, whose U follows the participants' mean: what holds in place of Theorem 1.

Clients' gradients are exact, heads have eta_v = p eta/K, and nothing moves where nobody takes part.
Expectations are over all sets of participants.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Fact, Identity, Reader, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, Root, at_most, equal, lines
from linrep.claims.measurements import Array, relative
from linrep.papers.pflmf import model
from linrep.papers.pflmf.model import ASSUMPTIONS, QUANTITY
from linrep.problems import Objectives
from linrep.theory import pflmf, pflmf_rounds

P = {"p": (Open(0), 1)}
SHARE = {"root2": Root(2), "b": lambda root2: (0, 1 / root2)}


@lines("pflmf.algorithm1.noise", Region(
    **P, **SHARE, x=(0, 1)
), steps=["weight of U", "slope", "weight of V"])  # fmt: skip
def weights(p, b, x):
    """They are at least 1 - x and p^2 (1 - x); 1/K is 1 - 2 b^2, b stands for beta."""
    room = (1 - p * (1 - 2 * b**2)) / 2
    return {
        "weight of U": at_most(1 - x, 1 - x / 2 - p * x / 2),
        "slope": at_most(2 * p * (1 - p) * b, room),
        "weight of V": at_most((1 - x) * (1 - p) * (2 * p * b + p**2 * b**2 * x), room),
    }


@lines("pflmf.algorithm1.rate", Region(
    **P, x=(Open(0), Open(1)), pi=(Open(0), 1)
), steps=["what is left"])  # fmt: skip
def what_is_left(p, x, pi):
    """Of the weight of Delta_V, as algorithm1_rate has it."""
    kappa = x * (1 + p) * pi / (2 * p * (1 - x))
    stated = 1 - x - x * (1 + p) * pi / (2 * p)
    return {"what is left": equal((1 - x) * (1 - kappa), stated)}


class Round(NamedTuple):
    """Expectations of a round of Algorithm 1 at a step size, and how far its iterates reach."""

    value: float
    after: float
    delta_U: float
    delta_V: float
    sampled: float  # pi z^2
    sizes: tuple[float, ...]  # E|U+|^2 and E|V+|^2
    reach: Array  # of U and V, from where they were
    states: list[tuple[float, Array, Array]]  # chance, U+ and V+


def one_round(problem: Objectives, U, V, p, K, eta) -> Round:
    """Return them, over all sets of participants."""
    n = problem.n
    s = pflmf.Setting(p, K, eta, 1.0, 1.0)
    path = pflmf_rounds.local_path(s, problem, U, V)
    value, in_U, _ = problem.factor_gradients(U, V)
    own = np.einsum("nd,nk->ndk", problem.gradients(V @ U.T), V)
    squares = np.sum(path.gradients**2, axis=(1, 2))
    states, sampled = [], 0.0
    for taking in product((False, True), repeat=n):
        chosen, chance = np.array(taking), p ** sum(taking) * (1.0 - p) ** (n - sum(taking))
        step = own[chosen].mean(axis=0) if any(taking) else np.zeros_like(U)
        sampled += chance * any(taking) * np.sum((step - in_U) ** 2)
        states.append((chance, U - eta * step, np.where(chosen[:, None], path.means[-1], V)))
    moved_V = np.sqrt(np.sum((path.means - V) ** 2, axis=(1, 2)).max())
    moved_U = max(float(np.linalg.norm(new - U)) for _, new, _ in states)
    return Round(
        value,
        sum(chance * problem.value(heads @ new.T) for chance, new, heads in states),
        float(np.sum(in_U**2)),
        float(np.mean(p * squares + (1.0 - p) * squares[0])),
        float(sampled),
        tuple(
            float(sum(state[0] * np.sum(state[place] ** 2) for state in states)) for place in (1, 2)
        ),
        np.array([max(moved_U, eta * np.linalg.norm(in_U)), moved_V]),
        states,
    )


def valid(run, problem, U, V, p, number, x):
    """Return a run, or round, at eta = x/L, and an L that is valid where it goes; or None."""
    radii = np.zeros(2)
    for _ in range(60):
        found = pflmf.local_smoothness(problem, U, V, *radii)
        if not 0.0 < found.largest < 1e100:
            return None
        r = run(problem, U, V, p, number, x / found.largest)
        if not np.isfinite(r.reach).all():
            return None
        if (r.reach <= radii).all():
            return r, found.largest
        radii = np.maximum(radii, r.reach) * (1.0 + 1e-6)
    return None


def drawn(rng, kinds, most=3) -> Iterator[tuple[Any, ...]]:
    """Yield problems of a few clients, factors, and p."""
    while True:
        n, d = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
        k = int(rng.integers(1, min(n, d) + 1))
        problem = model.drawn(rng, str(rng.choice(kinds)), n, d)
        U, V = (10.0 ** rng.uniform(-1, 0.5) * rng.standard_normal((m, k)) for m in (d, n))
        yield problem, U, V, float(rng.choice(model.CHANCES))


def noise_sides(found, p, K, n, *, p_power=2.0, spread=1.0):
    """Return both sides of a round, times eta, the right one with room for rounding."""
    r, L, x = found
    pi, eta = float(pflmf.any_client(n, p)), x / L
    left = eta * (1.0 - x) * (pi * r.delta_U + p**p_power * r.delta_V)
    right = r.value - r.after + spread * eta * x / 2.0 * (1.0 + p) * r.sampled
    room = 1e-12 * (abs(r.value) + abs(r.after)) + 1e-9 * (abs(left) + abs(right))
    return left, right + room


@statement(
    "pflmf.algorithm1.noise",
    own=True,
    place="Algorithm 1; not stated there",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1L:\ \frac1T \sum_{t<T} (\pi\Delta_U + "
    r"p^2\Delta_V) \le \frac{F^0 - F^\star}{\eta T(1 - \eta L)} + \frac{(1 + p)\pi\,\eta L}"
    r"{2(1 - \eta L)}\,\frac1T\sum_{t<T} z_t^2, \quad \pi = 1 - (1 - p)^n,\ z_t^2 = E[\|G_S - "
    r"\nabla_U\|^2 \mid S \ne \emptyset]",
    plain="Algorithm 1 with exact clients' gradients and Theorem 1's eta_v: squared gradients are "
    "bounded by the start's gap and by the variance of the participants' mean, so that eta of "
    "order 1/sqrt T gives 1/sqrt T where it is bounded.",
    hypotheses=ASSUMPTIONS,
    negative_control={"spread": 0.0},
    stronger={"p_power": -1, "spread": -1},
)
def algorithm1_noise(budget, rng, *, p_power=2.0, spread=1.0):
    """Compare lhs and rhs of a round, whose sum over rounds is the statement.

    `spread` multiplies the variance's constant, which is needed as p tends to 0.
    """
    constants = {"p_power": p_power, "spread": spread}
    cases, largest, instances = [], 0.0, drawn(rng, model.KINDS)
    for _ in range(budget(300, 5000, 20_000)):
        problem, U, V, p = next(instances)
        K, x = int(rng.choice((1, 2, 5))), float(rng.choice((0.01, 0.3, 0.6, 0.9, 0.999)))
        found = valid(one_round, problem, U, V, p, K, x)
        if found is not None:
            left, right = noise_sides((*found, x), p, K, problem.n, **constants)
            size = max(abs(left) + abs(right), 1e-300)
            at = {"n": problem.n, "p": p, "K": K, "eta L": x, "U": U.tolist(), "V": V.tolist()}
            cases.append((left / size, right / size, at))
            largest = max(largest, left / right if right > 1e-9 * size else 0.0)
    # Both clients pull a minimum in U their own way: all that happens is the variance, as p -> 0.
    A, U, V = 1e-4 * np.array([[1.0], [-1.0]]), np.zeros((1, 1)), np.ones((2, 1))
    for p, x in product(model.CHANCES[:-1], (0.01, 0.5, 0.9)):
        found = valid(one_round, lr.QuadraticObjectives(A), U, V, p, 1, x)
        assert found is not None
        r, L = found
        cost = (r.after - r.value) * 2.0 * L / (x**2 * r.sampled)
        cases.append((cost, spread * (1.0 + p), {"p": p, "K": 1, "eta L": x, "apart": True}))
    yield Cases(cases, quantity=QUANTITY, name="rounds", strength=PROVED, shown=("p", "K"))
    yield Fact("largest left over right side, rounds", largest)

    def read(reader: Reader, shape):
        first, size, steps = reader.numbers(3)
        u, V, A, H = reader.numbers(1, 1), *(reader.numbers(shape["n"], 1) for _ in range(3))
        p, x = 1.0 / (1.0 + np.exp(-first)), 1.0 / (1.0 + np.exp(-size))
        K = 1 + int(min(2.0 * abs(steps), 4.0))
        if p < 0.01 or not 1e-4 < x < 0.9999 or max(map(np.max, map(np.abs, (u, V, A, H)))) > 1e3:
            return None
        problem = lr.QuadraticObjectives(A, H[:, :, None])
        found = valid(one_round, problem, u, V, p, K, x)
        return found and ((*found, x), p, K, shape["n"])

    yield search_instances(
        lambda found: noise_sides(*found, **constants), [{"n": 2}, {"n": 3}], read, budget, rng,
        name="search", strength=PROVED,
    )  # fmt: skip


@statement(
    "pflmf.algorithm1.balance",
    own=True,
    place="Algorithm 1; not stated there",
    latex=r"K = 1,\ \eta_v = p\eta:\ E\Big[\|U^+\|^2 - \frac\pi{p^2}\|V^+\|^2\Big] = \|U\|^2 - "
    r"\frac\pi{p^2}\|V\|^2 + \pi\eta^2(\Delta_U + z^2 - p\Delta_V)",
    plain="Algorithm 1 with one local step and Theorem 1's eta_v keeps the difference of squared "
    "sizes of U and sqrt(pi) V/p but for terms of the order of eta^2: the variance of the "
    "participants' mean makes U grow.",
    negative_control={"power": 1.9},
    stronger={"power": 0},
)
def algorithm1_balance(budget, rng, *, power=2.0):
    """Compare both sides, over all sets of participants; the power is that of 1/p."""

    def found():
        instances = drawn(rng, model.KINDS, most=5)
        for _ in range(budget(100, 1000)):
            problem, U, V, p = next(instances)
            eta, pi = float(rng.uniform(0.01, 0.5)), float(pflmf.any_client(problem.n, p))
            r, share = one_round(problem, U, V, p, 1, eta), pi / p**power
            U2, V2 = np.sum(U**2), np.sum(V**2)
            gained = eta**2 * (pi * r.delta_U + r.sampled - pi * p * r.delta_V)
            left = (r.sizes[0] - U2) - share * (r.sizes[1] - V2)
            yield (
                relative(left, gained, 1e-3 * (U2 + share * V2)),
                {"n": problem.n, "p": p, "eta": eta, "U": U.tolist(), "V": V.tolist()},
            )

    yield Identity(found(), 1e-10, name="over all sets of participants", strength=PROVED)


class Run(NamedTuple):
    """Expectations over all runs of a few rounds."""

    squares: float  # sum of pi Delta_U + p^2 Delta_V
    size: float  # E|U^T|^2
    reach: Array


def all_runs(problem, U, V, p, T, eta) -> Run:
    """Return them, with one local step."""
    pi, states, squares = float(pflmf.any_client(problem.n, p)), [(1.0, U, V)], 0.0
    reach = np.zeros(2)
    for _ in range(T):
        after = []
        for chance, at_U, at_V in states:
            r = one_round(problem, at_U, at_V, p, 1, eta)
            squares += chance * (pi * r.delta_U + p**2 * r.delta_V)
            start = np.array([np.linalg.norm(at_U - U), np.linalg.norm(at_V - V)])
            reach = np.maximum(reach, start + r.reach)
            after += [(chance * x, new_U, new_V) for x, new_U, new_V in r.states if x > 0.0]
        states = after
    return Run(squares, sum(chance * np.sum(each**2) for chance, each, _ in states), reach)


@statement(
    "pflmf.algorithm1.rate",
    own=True,
    place="Algorithm 1; not stated there",
    latex=r"K = 1,\ \eta_v = p\eta,\ \kappa = \frac{(1 + p)\pi\,\eta L}{2p(1 - \eta L)} < 1:\ "
    r"\frac1T \sum_{t<T} (\pi\Delta_U + p^2\Delta_V) \le \frac{F^0 - F^\star + \frac{(1 + p)L}2"
    r"\big(E\|U^T\|^2 - \|U^0\|^2 + \frac\pi{p^2}\|V^0\|^2\big)}{\eta T(1 - \eta L)(1 - \kappa)}",
    plain="Algorithm 1 with one local step, exact clients' gradients and Theorem 1's eta_v: where "
    "U stays bounded squared gradients are O(1/T), with L times the growth of the square of U's "
    "size beside the start's gap.",
    hypotheses=ASSUMPTIONS,
    negative_control={"grown": 0.0},
    stronger={"grown": -1},
)
def algorithm1_rate(budget, rng, *, grown=1.0):
    """Compare lhs and rhs over all runs of a few rounds, from anywhere and from a minimum.

    `grown` multiplies the growth's part, which need not be the least.
    """
    cases = []
    for place in range(budget(40, 300)):
        A = rng.standard_normal((2, 2))
        problem = lr.QuadraticObjectives(A)
        best = problem.best(1)
        assert best is not None
        p, T = float(rng.choice((0.3, 0.5, 0.8, 1.0))), int(rng.integers(1, 5))
        left, s, right = np.linalg.svd(A)
        U, V = rng.standard_normal((2, 1)), rng.standard_normal((2, 1))
        if place % 2:  # the minimum, its factors of different lengths
            scale = 10.0 ** rng.uniform(-0.5, 0.5)
            U, V = scale * right[:1].T, s[0] * left[:, :1] / scale
        pi = float(pflmf.any_client(2, p))
        x = float(rng.choice((0.05, 0.3, 0.9))) * 2.0 * p / (2.0 * p + (1.0 + p) * pi)
        found = valid(all_runs, problem, U, V, p, T, x)
        if found is None:
            continue
        run, L = found
        gap = max(problem.value(V @ U.T) - best.value, 0.0)
        given = {"smoothness": L, "step_size": x / L, "rounds": T, "participation": p, "n": 2}
        R = run.size - np.sum(U**2) + pi / p**2 * np.sum(V**2)
        bound = pflmf.algorithm1_rate(gap, **given, grown=grown * R)
        at = {"A": A.tolist(), "U": U.tolist(), "V": V.tolist(), "p": p, "T": T, "eta L": x}
        cases.append((run.squares / T / (bound + 1e-12), 1.0, at))
    yield Cases(cases, quantity="left over right side", name="all runs of two clients",
                strength=PROVED, shown=("p", "T", "eta L"))  # fmt: skip
