"""Step (B) of the proof of Theorem 1: the server's step on U, before and after the heads'."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Curve, Fact, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import step_b as by_hand
from linrep.papers.pflmf.model import NOISE, QUADRATIC, SMOOTH, Case
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds


class Path(NamedTuple):
    """A round with given participants and noise of the heads."""

    gain: float  # E F(U+, V_k) - F(U, V_k), the mean over the noise of U's gradient
    start: float  # squared gradient in U at (U, V)
    end: float  # the same at (U, V_k)
    whole: float  # squared sum of the local steps' gradients in V, times eta_v^2
    masked: float  # the same of the participants'
    moved: float  # ||V_k - V||^2


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
    after = pflmf_rounds.mean_value(problem, U - s.step_size * in_U, W, variance)
    squared = s.head_step_size**2
    return Path(
        after - value,
        float(np.sum(in_U**2)),
        float(np.sum(at_end**2)),
        squared * float(np.sum(total**2)),
        squared * float(np.sum((taking * total) ** 2)),
        float(np.sum((W - V) ** 2)),
    )


def _paths(rng, cases, noisy) -> Iterator[tuple[Case, Path, dict[str, Any]]]:
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


def _turning() -> Iterator[tuple[Case, Path, dict[str, Any]]]:
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


def _leaving() -> Iterator[tuple[Case, Path, dict[str, Any]]]:
    """Yield rounds of (u v - 1)^2/2 at u = 0.1, v = 0: U stays, while its gradient grows with v."""
    problem = lr.QuadraticObjectives(np.ones((1, 1)))
    for K, size in product((1, 5, 20), model.SIZES):
        case = model.certain(problem, [[0.1]], [[0.0]], 1.0, K, size, kind="leaving v = 0")
        yield case, follow(case, np.ones((1, 1)), np.zeros((K, 1, 1))), case.instance()


class Sizes(NamedTuple):
    """Coefficients in (13): of L_U ||V - V_k||^2/2, of the first gradient, and of the last one."""

    displacement: float
    gradient: float
    last: float


def _thirteen(case, path, sizes: Sizes, at_end) -> tuple[float, float]:
    """Return (13)."""
    s = case.setting
    L, eta = s.in_U, s.step_size
    last = path.end if at_end else path.start
    right = -sizes.gradient * eta * (1.0 - 0.5 * eta * L) * path.end
    right += eta**2 * L * (sizes.last * last + 0.5 * s.noise**2)
    return path.gain, right + 0.5 * sizes.displacement * L * path.moved


def _last(case, path, masked, head_noise) -> tuple[float, float]:
    """Return case k = K; with `head_noise` the whole of ||V^+ - V||^2 is on the right."""
    s = case.setting
    moved = path.moved if head_noise else path.masked if masked else path.whole
    right = s.step_size**2 * (path.start + s.noise**2) + moved
    return path.gain, 0.5 * s.in_U * right


def _given(rounds, lhs_rhs, name, strength="") -> Cases:
    """Return left <= right for given participants and noise."""
    found = ((case, *lhs_rhs(case, path), at) for case, path, at in rounds)
    return model.compared(found, name, strength)


def _fourteen(noise_factor):
    """Return the function of a round's lhs and rhs of (14)."""
    return lambda case: theory.step_B(case.setting, case.round, noise_factor=noise_factor)


def _displays(masked, head_noise):
    """Return the function of a round's lhs and rhs of case k = K, in the mean."""
    return lambda case: theory.step_B_last(
        case.setting, case.round, masked=masked, head_noise=head_noise
    )


def _as_decrease(case, path, sizes: Sizes) -> tuple[float, float]:
    """Return (13), its last gradient at V^t, with the decrease of F on the right."""
    s = case.setting
    left = s.step_size * (1.0 - 0.5 * s.step_size * s.in_U) * path.end
    gain, right = _thirteen(case, path, sizes, False)
    return left, left + right - gain


def _needed(cases) -> float:
    """Return the largest c in F(U+, V) <= F - eta (1 - c eta L) ||grad||^2 that is needed.

    Of rounds without noise, and gradients and step sizes that rounding is small for.
    """
    found = []
    for case in cases:
        s, r = case.setting, case.round
        size = s.step_size * s.in_U
        if s.noise == 0.0 and size > 1e-3 and r.delta_U > 1e-9 * abs(r.value):
            share = (r.value - r.after_U) / (s.step_size * r.delta_U)
            found.append((1.0 - share) / size)
    return max(found)


def _thirteen_exactly(displacement, at_end, name, strength) -> Cases:
    """Return (13), k = 1, of (uv - 1)^2/2 at u = 1/10, v = 0, p = K = 1, in rational numbers.

    On [0, 1/10] x [0, 1/10], which the round does not leave, the second derivatives v^2, 2uv - 1
    and u^2 are at most 1 in size: L = 1. U stays, as its gradient (uv - 1) v vanishes.
    """
    found = []
    for eta in (Fraction(1, 10), Fraction(2, 5)):
        left, right = by_hand.sides(eta, at_end, model.rational(displacement))
        found.append((left, right, {"u": "1/10", "v": 0, "L": 1, "eta": str(eta)}))
    return Cases(found, name=name, quantity="E F(U+, V_1) - F(U, V_1)", strength=strength)


def _thirteen_near_a_minimum(sizes: Sizes) -> Cases:
    """Return (13), k = 1, of (uv - a)^2/2 at u = v = 1 and V_1 = 1 + d, given noise, in fractions.

    With uv - a = s - d, d = eta L s, both sides are equal as s tends to 0: Young's inequality and
    the smoothness inequalities are.
    """
    found, s = [], Fraction(1, 10**6)
    displacement, gradient, last = map(model.rational, sizes)
    # u is in [1 - s, 1], v in [1, 1 + d]: v^2, u^2 and |2 u v - a| are at most L.
    L = (1 + s) ** 2
    for x in (Fraction(1, 10), Fraction(49, 100)):
        eta, d = x / L, x * s
        start, end = s - d, (1 + d) * s  # gradients in U at V and at V_1
        gain = ((s - eta * start * (1 + d)) ** 2 - s**2) / 2
        right = -gradient * eta * (1 - x / 2) * end**2 + last * eta * x * start**2
        right += displacement * L / 2 * d**2
        at = {"F": "(uv - a)^2/2", "u": 1, "v": 1, "a": str(1 - start), "V_1": str(1 + d)}
        found.append((gain / -right, Fraction(-1), {**at, "eta": str(eta), "L": str(L)}))
    return Cases(
        found,
        name="(13) near a minimum, given V's noise, exact",
        strength=PROVED,
        quantity="change of F over the decrease claimed",
    )


def _drawn(rounds, paths, sizes: Sizes) -> Curve:
    """Return the picture of the largest left/right by p and K."""
    cases = [case for each in rounds.values() for case in each]
    tables = {
        "(14)": model.largest(cases, _fourteen(0.5)),
        "(13), last gradient at V^t": model.largest_of(
            (case, *_as_decrease(case, path, sizes)) for case, path, _ in paths
        ),
        "case K in the mean": model.largest(cases, _displays(False, False)),
    }
    return Curve(pd.concat([model.drawn_as(table, name) for name, table in tables.items()]))


#: The case K with D or not, and with V's noise or not.
_FORMS = ((False, False), (False, True), (True, False))


def _read_thirteen(measure, name, head_noise) -> Readings:
    """Return (13) with its last gradient at V_k, as printed, and at V^t, or there alone."""
    ends = {"last gradient at V_k": True, "last gradient at V^t": False}
    if head_noise:
        del ends["last gradient at V_k"]
    elsewhere = "the display before (13), and its case k = K"
    return Readings(
        [measure(end, where) for where, end in ends.items()],
        name=name,
        phrase="the last gradient in (13)",
        printed_elsewhere={} if head_noise else {"last gradient at V^t": elsewhere},
    )


def _last_given(exact, noisy, head_noise, strength) -> Iterator[Cases]:
    """Yield the case K given participants and V's noise."""
    yield _given(
        exact, lambda c, path: _last(c, path, True, False), "case K given D, no noise", strength
    )
    for name, given in (("random rounds", noisy), ("v turned", _turning())):
        name = f"case K given V's noise, {name}"
        yield _given(given, lambda c, path: _last(c, path, False, head_noise), name, strength)


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
    rounds = model.rounds(budget, rng)
    rounds["u^2/2"] = [model.steep(x, K, 0.0) for x in model.SIZES for K in (1, 5)]
    rounds["noise alone"] = [
        model.steep(x, K, p=p) for x in model.SIZES for K in (1, 5) for p in (0.02, 0.3, 1.0)
    ]
    strength, sizes = PROVED if head_noise else "", Sizes(displacement, gradient, last)
    yield _read_thirteen(
        lambda end, where: _thirteen_exactly(displacement, end, where, strength),
        "(13), (uv - 1)^2/2 at v = 0, exact",
        head_noise,
    )
    if head_noise:
        yield _thirteen_near_a_minimum(sizes)
    fourteen = _fourteen(noise_factor)
    yield from model.everywhere(rounds, fourteen, budget, rng, "(14), ", False, strength)
    alone, name = [model.steep(x) for x in (0.001, 0.01)], "(14) is nearly equal for noise alone"
    yield model.reached(alone, fourteen, 0.9, name, strength)
    count = budget(40, 700, 10_000)
    exact = list(_paths(rng, model.at_random(rng, count), False))
    noisy = list(_paths(rng, model.at_random(rng, count, QUADRATIC, noisy=True), True))
    paths = [*_leaving(), *exact, *noisy]
    yield _read_thirteen(
        lambda end, where: _given(
            paths, lambda case, path: _thirteen(case, path, sizes, end), where, strength
        ),
        "(13)",
        head_noise,
    )
    for masked, with_noise in ((True, True),) if head_noise else _FORMS:
        name = f"case K in the mean{', D' if masked else ''}{', noise' if with_noise else ''}, "
        lhs_rhs = _displays(masked, with_noise)
        for kind, cases in rounds.items():
            yield model.tried(cases, lhs_rhs, name + kind, strength)
        if masked:
            yield model.searched(lhs_rhs, budget, rng, f"{name}search", False, strength)
    yield from _last_given(exact, noisy, head_noise, strength)
    yield _drawn(rounds, [*exact, *noisy], sizes)
    cases = [case for each in rounds.values() for case in each]
    yield Fact("least c of 1 - c eta L with which (14) holds without noise", _needed(cases))


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
