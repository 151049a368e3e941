"""Step (B) of the proof of Theorem 1: the server's step on U, before and after the heads'."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines, measured
from linrep.claims.measurements import Array
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import step_b as by_hand
from linrep.papers.pflmf.model import NOISE, SIZES, SMOOTH, Case, rational, steep
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds


@lines(
    "pflmf.step-B.corrected",
    Region(
        x=(None, None), z=(0, None), g=lambda x, z: (x - z, x + z), eta=(Open(0), Fraction(1, 2))
    ),
)  # fmt: skip
def descent(x, z, g, eta, *, displacement=1, gradient=1, last=Fraction(1, 2)):
    """Gradients g at V and x at V_k along one direction, z = ||V_k - V||, L_U = 1, no noise."""
    right = displacement * z**2 / 2 - gradient * eta * (1 - eta / 2) * x**2 + last * eta**2 * g**2
    return {"(13) along one direction": at_most(-eta * x * g + eta**2 / 2 * g**2, right)}


class Path(NamedTuple):
    """A round with given participants and noise of the heads."""

    gain: float  # E F(U+, V_k) - F(U, V_k), the mean over the noise of U's gradient
    start: float  # squared gradient in U at (U, V)
    end: float  # the same at (U, V_k)
    whole: float  # squared sum of the local steps' gradients in V, times eta_v^2
    masked: float  # the same of the participants'
    moved: float  # ||V_k - V||^2


Paths = Iterator[tuple[Case, Path, dict[str, Any]]]


def follow(case: Case, taking: Array, noise: Array) -> Path:
    """Return what a round comes to for a pattern (n, 1) and noise (K, n, k) of the heads."""
    problem, U, V, s = case.problem, case.U, case.V, case.setting
    in_U = problem.factor_gradients(U, V).in_U
    W, total = V, np.zeros_like(V)
    for each in noise:
        gradient = problem.factor_gradients(U, W).in_V
        total = total + gradient
        W = W - s.head_step_size * taking * (gradient + each)
    value, at_end, _ = problem.factor_gradients(U, W)
    variance = (s.step_size * s.noise) ** 2 / U.size
    gain = pflmf_rounds.mean_value(problem, U - s.step_size * in_U, W, variance) - value
    squared = s.head_step_size**2
    whole, masked = (squared * float(np.sum(each**2)) for each in (total, taking * total))
    start, end, moved = (float(np.sum(each**2)) for each in (in_U, at_end, W - V))
    return Path(gain, start, end, whole, masked, moved)


def given_rounds(rng, cases, noisy) -> Paths:
    """Yield rounds with random participants, noise of the heads up to six standard deviations."""
    for case in cases:
        s, shape = case.setting, case.V.shape
        taking = (rng.random((shape[0], 1)) < max(s.participation, 0.5)).astype(float)
        noise = np.zeros((s.local_steps, *shape))
        if noisy:
            direction = rng.standard_normal(shape)
            size = rng.uniform(0.0, 6.0) * s.noise / np.sqrt(s.local_steps)
            noise += size * direction / np.linalg.norm(direction)
        at = {**case.instance(), "D": taking[:, 0].tolist(), "noise of V": noise[0].tolist()}
        yield case, follow(case, taking, noise), at


def turning() -> Paths:
    """Yield rounds in which noise turns the sign of v, and with it that of U's gradient.

    (u v - 1)^2/2 at u = 0: the gradient in V is zero, that in U is -v.
    """
    problem = lr.QuadraticObjectives(np.ones((1, 1)))
    for v, relative in product((0.03, 0.1, 0.2), (0.3, 1.0, 3.0)):
        case = model.certain(problem, [[0.0]], [[v]], 1.0, 1, 0.499, relative, "turning")
        for deviations in (1.0, 2.0, 3.0, 6.0):
            noise = np.full((1, 1, 1), deviations * case.setting.noise)
            at = {**case.instance(), "noise of V": float(noise[0, 0, 0])}
            yield case, follow(case, np.ones((1, 1)), noise), at


def leaving() -> Paths:
    """Yield rounds of (u v - 1)^2/2 at u = 0.1, v = 0: U stays, while its gradient grows with v."""
    problem = lr.QuadraticObjectives(np.ones((1, 1)))
    for K, size in product((1, 5, 20), SIZES):
        case = model.certain(problem, [[0.1]], [[0.0]], 1.0, K, size, kind="leaving v = 0")
        yield case, follow(case, np.ones((1, 1)), np.zeros((K, 1, 1))), case.instance()


@statement(
    "pflmf.step-B",
    place="Step (B), (13), (14) and the cases k = 0 and k = K",
    latex=r"(13)\ \mathbb E_t F(U^+,V_k)\le F(U,V_k)-\eta_u\Big(1-\frac{\eta_uL_U}2\Big)"
    r"\|\nabla_U(U,V_k)\|^2+\frac{\eta_u^2L_U}2(\|\nabla_U(U,V_k)\|^2+\sigma^2);\ (14)\ \mathbb E"
    r" F(U^+,V)\le F(U,V)-\eta_u(1-\eta_uL_U)\|\nabla_U\|^2+\frac{\eta_u^2L_U\sigma^2}2;"
    r"\ \mathbb E_t F(U^+,V^+)\le F(U,V^+)+\frac{\eta_u^2L_U}2(\|\nabla_U\|^2+\sigma^2)"
    r"+\frac{\eta_v^2L_U}2\Big\|\sum_k\nabla_V(U,V_k)\Big\|^2",
    plain="The server's step decreases the objective, at the old heads and nearly at the new ones.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"noise_factor": 0.45},
)
def step_b(
    budget, rng, *, noise_factor=0.5, displacement=0.0, gradient=1.0, last=0.5, head_noise=False
):
    """Try (14) and the case K in the mean, (13) and the case K given participants and V's noise.

    `displacement` is the coefficient of L_U ||V - V_k||^2/2 in (13), `gradient` that of the first
    gradient there, `last` that of the last one. With `head_noise` all of what
    the heads have moved by is on the right, noise included, and the last gradient in (13) is that
    at V^t; without, it is that or the one at V_k, and the case K has D or not, V's noise or not.
    """
    strength = PROVED if head_noise else ""
    ends = {"last gradient at V_k": True, "last gradient at V^t": False}
    elsewhere = {"last gradient at V^t": "the display before (13), and its case k = K"}
    if head_noise:
        ends, elsewhere = {"last gradient at V^t": False}, {}

    def read(parts, name):
        phrase = "the last gradient in (13)"
        return Readings(parts, name=name, phrase=phrase, printed_elsewhere=elsewhere)

    def exactly():
        """Yield (13), k = 1, for (uv - 1)^2/2 at u = 1/10, v = 0, p = K = 1; L = 1."""
        for (where, at_end), eta in product(ends.items(), (Fraction(1, 10), Fraction(2, 5))):
            sides = by_hand.sides(eta, at_end, rational(displacement))
            yield where, at_most(*sides), {"u": "1/10", "v": 0, "L": 1, "eta": str(eta)}

    def near_a_minimum():
        """Yield (13), k = 1, for (uv - a)^2/2 at u = v = 1 and V_1 = 1 + d, given noise.

        With uv - a = s - d, d = eta L s, both sides are equal as s tends to 0: Young's inequality
        and the smoothness inequalities are.
        """
        s = Fraction(1, 10**6)
        # u is in [1 - s, 1], v in [1, 1 + d]: v^2, u^2 and |2 u v - a| are at most L.
        L = (1 + s) ** 2
        for x in (Fraction(1, 10), Fraction(49, 100)):
            eta, d = x / L, x * s
            start, end = s - d, (1 + d) * s  # gradients in U at V and at V_1
            gain = ((s - eta * start * (1 + d)) ** 2 - s**2) / 2
            right = -rational(gradient) * eta * (1 - x / 2) * end**2
            right += rational(last) * eta * x * start**2 + rational(displacement) * L / 2 * d**2
            at = {"F": "(uv - a)^2/2", "u": 1, "v": 1, "a": str(1 - start), "V_1": str(1 + d)}
            at |= {"eta": str(eta), "L": str(L)}
            name = "(13) near a minimum, given V's noise, exact"
            yield name, at_most(gain / -right, Fraction(-1)), at

    def thirteen(case, path, at_end):
        s = case.setting
        L, eta = s.in_U, s.step_size
        right = -gradient * eta * (1.0 - 0.5 * eta * L) * path.end
        right += eta**2 * L * (last * (path.end if at_end else path.start) + 0.5 * s.noise**2)
        return path.gain, right + 0.5 * displacement * L * path.moved

    def fourteen(case):
        return theory.step_B(case.setting, case.round, noise_factor=noise_factor)

    def nearly(case):
        left, right = fourteen(case)
        return 0.9 * right, left

    def given(paths, sides, name) -> Cases:
        return model.compared(
            ((case, *sides(case, path), at) for case, path, at in paths), name, strength
        )

    def last_case(case, path, moved):
        s = case.setting
        right = s.step_size**2 * (path.start + s.noise**2) + moved
        return path.gain, 0.5 * s.in_U * right

    quantity = "E F(U+, V_1) - F(U, V_1)"
    found = measured(exactly(), strength=strength, quantity=quantity)
    yield read(list(found.values()), "(13), (uv - 1)^2/2 at v = 0, exact")
    if head_noise:
        quantity = "change of F over the decrease claimed"
        yield from measured(near_a_minimum(), strength=PROVED, quantity=quantity).values()
        yield descent.measure(displacement=displacement, gradient=gradient, last=last)

    lists = model.rounds(budget, rng)
    lists["u^2/2"] = [steep(x, K, 0.0) for x in SIZES for K in (1, 5)]
    shares = (0.02, 0.3, 1.0)
    lists["noise alone"] = [steep(x, K, p=p) for x in SIZES for K in (1, 5) for p in shares]
    yield from model.everywhere(lists, fourteen, budget, rng, "(14), ", False, strength)
    alone = [steep(x) for x in (0.001, 0.01)]
    yield model.tried(alone, nearly, "(14) is nearly equal for noise alone", strength)

    count = budget(40, 700, 10_000)
    exact = list(given_rounds(rng, model.at_random(rng, count), False))
    noisy = list(given_rounds(rng, model.at_random(rng, count, model.QUADRATIC, noisy=True), True))
    paths = [*leaving(), *exact, *noisy]
    parts = [
        given(paths, lambda case, path, end=end: thirteen(case, path, end), where)
        for where, end in ends.items()
    ]
    yield read(parts, "(13)")

    for masked, noise in [(True, True)] if head_noise else [(0, 0), (0, 1), (1, 0)]:
        name = f"case K in the mean{', D' if masked else ''}{', noise' if noise else ''}, "

        def in_the_mean(case, masked=bool(masked), noise=bool(noise)):
            return theory.step_B_last(case.setting, case.round, masked=masked, head_noise=noise)

        if masked:
            yield from model.everywhere(lists, in_the_mean, budget, rng, name, False, strength)
        else:
            for kind, cases in lists.items():
                yield model.tried(cases, in_the_mean, name + kind, strength)

    def given_D(case, path):
        return last_case(case, path, path.masked)

    def given_noise(case, path):
        return last_case(case, path, path.moved if head_noise else path.whole)

    yield given(exact, given_D, "case K given D, no noise")
    yield given(noisy, given_noise, "case K given V's noise, random rounds")
    yield given(turning(), given_noise, "case K given V's noise, v turned")


step_b.corrected(
    "pflmf.step-B.corrected",
    latex=r"\mathbb E_t F(U^+,V_k)\le F(U,V_k)-\eta_u\Big(1-\frac{\eta_uL_U}2\Big)"
    r"\|\nabla_U(U,V_k)\|^2+\frac{\eta_u^2L_U}2(\|\nabla_U(U,V)\|^2+\sigma^2)"
    r"+\frac{L_U}2\|V_k-V\|^2",
    plain="The server's step decreases the objective, at the new heads up to the square of all "
    "that these have moved by, noise included.",
    constants={"displacement": 1.0, "head_noise": True},
    negative_control={"displacement": 0.7},
    stronger={"displacement": -1, "noise_factor": 0, "gradient": 1, "last": -1},
)
