"""Step (B) of the proof of Theorem 1: the server's step on U, before and after the heads'."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from linrep.claims import Readings, statement
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
    moved: float  # ||V_k - V||^2


def follow(case: Case, taking: Array, noise: Array) -> Path:
    """Return what a round comes to for a pattern (n, 1) and noise (K, n, k) of the heads."""
    problem, U, V, s = case.problem, case.U, case.V, case.setting
    in_U = problem.factor_gradients(U, V).in_U
    W = V
    for each in noise:
        W = W - s.head_step_size * taking * (problem.factor_gradients(U, W).in_V + each)
    value, at_end, _ = problem.factor_gradients(U, W)
    variance = (s.step_size * s.noise) ** 2 / U.size
    gain = pflmf_rounds.mean_value(problem, U - s.step_size * in_U, W, variance) - value
    return Path(gain, *(float(np.sum(each**2)) for each in (in_U, at_end, W - V)))


def given_rounds(rng, cases) -> Iterator[tuple[Case, Path, dict[str, Any]]]:
    """Yield rounds with random participants, noise of the heads up to six standard deviations."""
    for case in cases:
        s, shape = case.setting, case.V.shape
        taking = (rng.random((shape[0], 1)) < max(s.participation, 0.5)).astype(float)
        direction = rng.standard_normal(shape)
        size = rng.uniform(0.0, 6.0) * s.noise / np.sqrt(s.local_steps)
        noise = np.tile(size * direction / np.linalg.norm(direction), (s.local_steps, 1, 1))
        at = {**case.instance(), "D": taking[:, 0].tolist(), "noise of V": noise[0].tolist()}
        yield case, follow(case, taking, noise), at


def in_fractions() -> Readings:
    """Return (13) for (uv - 1)^2/2 at v = 0, where U stays, in both readings."""

    def thirteen():
        for at_end, eta in product((True, False), (Fraction(1, 10), Fraction(2, 5))):
            at = {"u": "1/10", "v": 0, "L": 1, "eta": str(eta), "p": 1, "K": 1, "k": 1}
            name = f"last gradient at {'V_k' if at_end else 'V^t'}"
            yield name, at_most(*by_hand.sides(eta, at_end)), at

    elsewhere = {"last gradient at V^t": "the display before (13), and its case k = K"}
    return Readings(
        list(measured(thirteen(), quantity="E F(U+, V_1) - F(U, V_1)").values()),
        name="(13), (uv - 1)^2/2 at v = 0, exact",
        phrase="the last gradient in (13)",
        printed_elsewhere=elsewhere,
    )


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
    negative_control={"displacement": 0.7},
)
def step_b(
    budget, rng, *, noise_factor=0.5, displacement=1.0, gradient=1.0, last=0.5, printed=True
):
    """Compare (13) in fractions for (uv - 1)^2/2 at v = 0, where U stays; or try what is corrected.

    That is (14) and the case K in the mean, (13) and the case K given participants and V's noise.
    `displacement` is the coefficient of L_U ||V - V_k||^2/2 in (13), `gradient` that of the first
    gradient there, `last` that of the last one, `noise_factor` that of sigma^2 in (14).
    """
    if printed:
        yield in_fractions()
        return

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

    def thirteen(case, path):
        s = case.setting
        L, eta = s.in_U, s.step_size
        right = -gradient * eta * (1.0 - 0.5 * eta * L) * path.end
        right += eta**2 * L * (last * path.start + 0.5 * s.noise**2)
        return path.gain, right + 0.5 * displacement * L * path.moved

    def last_case(case, path):
        s = case.setting
        return path.gain, 0.5 * s.in_U * (s.step_size**2 * (path.start + s.noise**2) + path.moved)

    def last_in_the_mean(case):
        return theory.step_B_last(case.setting, case.round, masked=True, head_noise=True)

    def fourteen(case):
        return theory.step_B(case.setting, case.round, noise_factor=noise_factor)

    def nearly(case):
        left, right = fourteen(case)
        return 0.9 * right, left

    quantity = "change of F over the decrease claimed"
    yield from measured(near_a_minimum(), strength=PROVED, quantity=quantity).values()
    yield descent.measure(displacement=displacement, gradient=gradient, last=last)

    cases = [*model.rounds(budget, rng), *(steep(x, K, 0.0) for x in SIZES for K in (1, 5))]
    cases += [steep(x, K, p=p) for x in SIZES for K in (1, 5) for p in (0.02, 0.3, 1.0)]
    name = "case K in the mean, "
    yield from model.everywhere(cases, fourteen, budget, rng, "(14), ", False, PROVED)
    yield from model.everywhere(cases, last_in_the_mean, budget, rng, name, False, PROVED)
    alone = [steep(x) for x in (0.001, 0.01)]
    yield model.tried(alone, nearly, "(14) is nearly equal for noise alone", PROVED)

    count = budget(40, 700, 10_000)
    random = [
        *model.at_random(rng, count),
        *model.at_random(rng, count, model.QUADRATIC, noisy=True),
    ]
    paths = list(given_rounds(rng, random))
    for name, sides in (("(13)", thirteen), ("case K", last_case)):
        found = ((case, *sides(case, path), at) for case, path, at in paths)
        yield model.compared(found, f"{name} given participants and V's noise", PROVED)


step_b.corrected(
    "pflmf.step-B.corrected",
    latex=r"\mathbb E_t F(U^+,V_k)\le F(U,V_k)-\eta_u\Big(1-\frac{\eta_uL_U}2\Big)"
    r"\|\nabla_U(U,V_k)\|^2+\frac{\eta_u^2L_U}2(\|\nabla_U(U,V)\|^2+\sigma^2)"
    r"+\frac{L_U}2\|V_k-V\|^2",
    plain="The server's step decreases the objective, at the new heads up to the square of all "
    "that these have moved by, noise included.",
    constants={"printed": False},
    negative_control={"displacement": 0.7},
    stronger={"displacement": -1, "noise_factor": 0, "gradient": 1, "last": -1},
)
