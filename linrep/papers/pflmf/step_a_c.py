"""Steps (A) and (C) of the proof of Theorem 1: the heads' local steps, round by round."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linrep.claims import Cases, Curve, Fact, Identity, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf import _cases, _exact
from linrep.papers.pflmf._hypotheses import NOISE, SMOOTH
from linrep.papers.pflmf.counterexamples import eq12 as eq12_by_hand
from linrep.papers.pflmf.counterexamples import step_c as step_c_by_hand
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds


def _twelve(masked, noise_power, factor, curvature, noise):
    """Return the function of a round's lhs and rhs of (12)."""

    def lhs_rhs(case):
        s = case.setting
        left, right = theory.step_A(
            s, _cases.counted(case, masked), noise_factor=noise * s.participation**noise_power
        )
        size = s.head_step_size * s.in_V
        return factor * left * (1.0 - curvature * size) / (1.0 - 0.5 * size), right

    return lhs_rhs


def _room(cases, lhs_rhs, ylabel) -> Curve:
    """Return the picture of left/right against eta p L."""
    rows = []
    for case in cases:
        s = case.setting
        left, right = lhs_rhs(case)
        rows.append(
            {
                "panel": f"K = {s.local_steps}",
                "series": f"p = {s.participation:g}",
                "x": s.step_size * s.participation * s.largest,
                "y": left / right,
                "predicted": 1.0,
                "allowed": "below",
                "xlabel": r"$\eta p L$",
                "ylabel": ylabel,
            }
        )
    return Curve(pd.DataFrame(rows))


def _ratios(rounds, lhs_rhs):
    """Yield the largest left/right of all rounds, and its picture by p and K."""
    table = _cases.largest([case for cases in rounds.values() for case in cases], lhs_rhs)
    yield Curve(_cases.drawn_as(table, "largest"))
    yield Fact("largest left over right side", float(np.nanmax(table)))


def _line(cases, first: int, last: int | None, name) -> Identity:
    """Compare E<grad_V, D grad_V> with p E||grad_V||^2 at some local steps."""
    deviations = []
    for case in cases:
        r, p = case.round, case.setting.participation
        masked, steps = r.masked_V[first:last], r.steps_V[first:last]
        if masked.size and steps.max() > 0.0:
            worst = relative(masked, p * steps)
            deviations.append((worst, {**case.instance(), "deviation of p E|grad|^2": worst}))
    return Identity(deviations, 1e-10, name=name)


def _twelve_exactly(masked, factor, strength) -> Cases:
    """Return (12), times K, on rounds of (uv)^2/2 at u = 1, in rational numbers."""
    found = []
    for p, K in ((Fraction(1, 2), 2), (Fraction(1, 2), 20), (Fraction(1, 10), 20)):
        left, right = eq12_by_hand.sides(p, K, masked)
        at = {"F": "(uv)^2/2", "u": 1, "v": "1/100", "p": str(p), "K": K, "eta": "49/100", "L": 1}
        found.append((_exact.rational(factor) * left / right, Fraction(1), at))
    return Cases(
        found, name="(uv)^2/2 at u = 1, exact", quantity="left over right side", strength=strength
    )


def _equality(noise_power, factor, noise_factor, strength) -> Cases:
    """Return how far both sides are apart for |v|^2/2, noise from none to nearly alone."""
    f, one = _exact.Scalar((1, 1), (0, 0), (0, 0)), Fraction(1)
    found = []
    for p, K, variance in product((Fraction(1, 10), Fraction(1, 2), one), (1, 5), (0, 1, 100)):
        # At u = 1 the curvature in V is 1/n.
        r = _exact.exact_round(f, one, [one, -one], p, K, Fraction(4, 5), one / 2, one * variance)
        left = r.eta_v * (1 - r.eta_v * r.L / 2) * sum(r.masked, Fraction(0))
        noise = r.eta_v**2 * r.L * K * _exact.power(p, noise_power) * r.variance
        noise *= _exact.rational(noise_factor)
        apart: Any = abs(_exact.rational(factor) * left - (r.value - r.after_V + noise))
        found.append((apart, Fraction(0), r.instance))
    return Cases(
        found,
        name="equality for |v|^2/2, exact",
        quantity="|difference of both sides|",
        strength=strength,
    )


@statement(
    "pflmf.eq12",
    place="Step (A), (12), with the expectation that its left side needs",
    latex=r"\eta_v p\Big(1-\frac{\eta_v L_V}2\Big)\frac1K\sum_k\mathbb E\|\nabla_V(U,V_k)\|^2 \le"
    r" \frac1K\big(F(U,V)-\mathbb E F(U,V^+)\big)+\frac{\eta_v^2 L_V\sigma^2}2",
    plain="The heads' local steps decrease the objective by p times the squared gradients.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"factor": 1.05},
)
def eq12(budget, rng, *, masked=False, noise_power=0.0, factor=1.0, curvature=0.5, noise=0.5):
    """Try it with exact expectations, and the line it rests on.

    `masked` counts the participants' gradients only: then equality is reached on v^2/2. `factor` is
    that of the left side, `curvature` that of eta_v L_V there, `noise` that of sigma^2.
    """
    lhs_rhs = _twelve(masked, noise_power, factor, curvature, noise)
    rounds = _cases.rounds(budget, rng)
    flat = rounds["|v|^2/2"]
    strength = PROVED if masked else ""
    yield _twelve_exactly(masked, factor, strength)
    yield from _cases.everywhere(rounds, lhs_rhs, budget, rng, strength=strength)
    if masked:
        yield _equality(noise_power, factor, noise, strength)
    else:
        cases = [*flat, *rounds["random rounds, exact gradients"]]
        yield _line(cases, 0, 1, "E<grad, D grad> = p |grad|^2, k = 0")
        yield _line(cases, 1, None, "E<grad, D grad> = p |grad|^2, k > 0")
    yield from _ratios(rounds, lhs_rhs)
    yield _room(flat, lhs_rhs, "left over right side of (12)")


eq12.corrected(
    "pflmf.eq12.corrected",
    latex=r"\eta_v\Big(1-\frac{\eta_v L_V}2\Big)\sum_k\mathbb E\|D\nabla_V(U,V_k)\|^2 \le"
    r" F(U,V)-\mathbb E F(U,V^+)+\frac{\eta_v^2 K L_V p\sigma^2}2,\ \text{equal for }|v|^2/2",
    plain="The heads' local steps decrease the objective by the participants' squared gradients, "
    "up to noise with the factor p.",
    constants={"masked": True, "noise_power": 1.0},
    negative_control={"noise_power": 1.1},
    stronger={"noise_power": 0, "factor": 0, "curvature": -1, "noise": 0},
)


class Constants(NamedTuple):
    """What step (C) is tried with.

    `masked` counts participants' gradients, noise has p^noise_power, `drift` is the coefficient of
    what noise adds to ||U^+ - U||^2; `factor` and `reach` those of the gradients and of K L_V.
    """

    masked: bool
    noise_power: float
    drift: float
    factor: float
    reach: float

    def gradients(self, case) -> float:
        """Return the gradients' term on the left."""
        s, r = case.setting, _cases.counted(case, self.masked)
        h, K = s.head_step_size, s.local_steps
        size = 0.5 * h * (self.reach * K + 1) * s.in_V
        return float(self.factor * h * s.participation * K * r.delta_V * (1.0 - size))

    def noise(self, s) -> float:
        """Return the noise's term on the right."""
        share = s.participation**self.noise_power * s.local_steps
        return float(0.5 * s.head_step_size**2 * share * s.in_V * s.noise**2)


def _in_the_mean(constants: Constants):
    """Return the function of a round's lhs and rhs of step (C), U's noise averaged too."""

    def lhs_rhs(case):
        s, r = case.setting, case.round
        moved = s.step_size**2 * (r.delta_U + constants.drift * s.noise**2)
        left = constants.gradients(case) - 0.5 * s.participation * s.in_V * moved
        return left, r.after_U - r.after_both + constants.noise(s)

    return lhs_rhs


def _moved(case, rng) -> list[Array]:
    """Return some U^+ that a round may have: where it was, without noise, and with noise."""
    s, U = case.setting, case.U
    step = s.step_size * case.problem.factor_gradients(U, case.V).in_U
    if s.noise == 0.0:
        return [U, U - step]
    drawn = rng.standard_normal((3, *U.shape))
    drawn /= np.linalg.norm(drawn, axis=(1, 2), keepdims=True)
    sizes = s.step_size * s.noise * np.array([0.3, 1.0, 3.0])[:, None, None]
    return [U, U - step, *(U - step - sizes * drawn)]


def _given(case, new_U, constants: Constants) -> tuple[float, float, dict]:
    """Return lhs and rhs of step (C) given U^+, over their sizes, and the instance."""
    s = case.setting
    plain = s.step_size**2 * case.round.delta_U
    moved = plain + constants.drift * (float(np.sum((new_U - case.U) ** 2)) - plain)
    left = constants.gradients(case) - 0.5 * s.participation * s.in_V * moved
    before = case.problem.value(case.V @ new_U.T)
    after = pflmf_rounds.expected_value(s, case.problem, case.U, case.V, new_U)
    right = before - after + constants.noise(s)
    scale = max(abs(left) + abs(right), 1e-300)
    room = 1e-13 * (abs(before) + abs(after))
    allowed = (case.allowed(left, right) + room) / scale
    return left / scale, allowed, {**case.instance(), "U+": new_U.tolist()}


def _given_U(rounds, rng, constants: Constants, local, strength):
    """Yield step (C) given U^+, as its E_(S_t) E_(t,K) says: U's noise does not make up for V's."""
    kinds = {
        name: [(case, U) for case in cases for U in _moved(case, rng)]
        for name, cases in rounds.items()
    }
    # Affine functions: their gradient in V is proportional to U, and L holds for every U^+, to
    # which noise may lead however small its variance is.
    kinds["affine functions"] = [
        (
            case,
            (1.0 - q * case.setting.participation * case.setting.step_size * case.setting.largest)
            * case.U,
        )
        for case in _cases.bilinear_grid(local)
        for q in (0.5, 1.0, 2.0)
    ]
    for name, cases in kinds.items():
        yield Cases(
            [_given(case, U, constants) for case, U in cases],
            name=f"given U+, {name}",
            quantity=_cases.QUANTITY,
            strength=strength,
        )


def _moves_exactly(drift, strength) -> Cases:
    """Compare E(U+ - U)^2 with eta^2 (grad^2 + drift sigma^2): noise +-sigma, one number U."""
    eta, gradient, sigma = Fraction(1, 10), Fraction(1), Fraction(1)
    moves = [(eta * (gradient + sign * sigma)) ** 2 for sign in (-1, 1)]
    stated = eta**2 * (gradient**2 + _exact.rational(drift) * sigma**2)
    apart = abs(sum(moves, Fraction(0)) / 2 - stated)
    at = {"eta": "1/10", "grad_U": 1, "noise of U": "1 or -1, each with probability 1/2"}
    return Cases(
        [(apart, Fraction(0), at)],
        name="E|U+ - U|^2, noise +-1, exact",
        strength=strength,
        quantity="|difference of both sides|",
    )


def _step_c_exactly(constants: Constants, strength) -> Cases:
    """Return step (C) on rounds of (uv)^2/2 at u = 1, in rational numbers."""
    found, reach = [], _exact.rational(constants.reach)
    for p, K in ((Fraction(1, 4), 5), (Fraction(1, 4), 20), (Fraction(1, 10), 20)):
        left, right = step_c_by_hand.sides(
            p, K, constants.masked, reach, _exact.rational(constants.factor)
        )
        at = {"F": "(uv)^2/2", "u": 1, "v": "1/1000", "p": str(p), "K": K, "eta": "49/100", "L": 1}
        found.append((left / right, Fraction(1), at))
    return Cases(
        found, name="(uv)^2/2 at u = 1, exact", quantity="left over right side", strength=strength
    )


def _near_a_minimum(constants: Constants, strength) -> Cases:
    """Return step (C) for (uv - 1)^2/2 at u = 1, v = 1 + e, K = 1, in rational numbers.

    As e tends to 0 and p = 1 both sides are equal: U^+ - U is parallel to the step of V.
    """
    found, e, one = [], Fraction(1, 10**6), Fraction(1)
    factor, reach = _exact.rational(constants.factor), _exact.rational(constants.reach)
    # u and v stay within 2 e of 1, where the second derivatives are at most 2 (1 + 2 e)^2 - 1.
    L = 2 * (1 + 2 * e) ** 2 - 1
    for p, x in product((one, one / 2), (Fraction(1, 10), Fraction(49, 100))):
        r = _exact.exact_round(_exact.Scalar((1,), (1,), (0,)), one, [one + e], p, 1, x / L, L)
        size = r.eta_v * (reach + 1) * L / 2
        left = factor * r.eta_v * p * (1 - size) * r.delta_V(constants.masked)
        left -= r.eta**2 * p * L / 2 * r.delta_U
        found.append((left / (r.after_U - r.after_both), one, r.instance))
    return Cases(
        found,
        name="(uv - 1)^2/2 near its minimum, exact",
        quantity="left over right side",
        strength=strength,
    )


@statement(
    "pflmf.step-C",
    place="Step (C), its sum over k, with the expectation that its left side needs",
    latex=r"\eta_v p\Big(1-\frac{\eta_v(K+1)L_V}2\Big)\sum_k\mathbb E\|\nabla_V(U,V_k)\|^2"
    r" - \frac{\eta_u^2 pL_V}2\|\nabla_U\|^2 \le F(U^+,V)-\mathbb E F(U^+,V^+)"
    r"+\frac{\eta_v^2 KL_V\sigma^2}2,\quad \|U^+-U\|^2=\eta_u^2\|\nabla_U\|^2",
    plain="The heads' steps decrease the objective at the new U as well.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"factor": 1.3},
)
def step_c(budget, rng, *, masked=False, noise_power=0.0, drift=0.0, factor=1.0, reach=1.0):
    """Try it in the mean, in a search and given U^+, and compute how far U moves.

    With exact expectations; `drift` is the coefficient of eta_u^2 p L_V sigma^2/2.
    """
    constants = Constants(masked, noise_power, drift, factor, reach)
    lhs_rhs = _in_the_mean(constants)
    rest = budget(((1, 5), (0.001, 0.1, 0.499)), (_cases.STEPS, _cases.SIZES))
    rounds = {
        **_cases.rounds(budget, rng),
        "at rest": _cases.at_rest_grid(*rest),
    }
    flat = rounds["|v|^2/2"]
    strength = PROVED if masked and drift else ""
    yield _step_c_exactly(constants, strength)
    yield _near_a_minimum(constants, strength)
    yield from _cases.everywhere(rounds, lhs_rhs, budget, rng, strength=strength)
    yield from _given_U(rounds, rng, constants, budget((1, 20), (1, 20, 200)), strength)
    yield _moves_exactly(drift, strength)
    yield from _ratios(rounds, lhs_rhs)
    yield _room(flat, lhs_rhs, "left over right side of step (C)")


step_c.corrected(
    "pflmf.step-C.corrected",
    latex=r"\eta_v\Big(1-\frac{\eta_v(K+1)L_V}2\Big)\sum_k\mathbb E\|D\nabla_V(U,V_k)\|^2"
    r" - \frac{\eta_u^2 pL_V}2(\|\nabla_U\|^2+\sigma^2) \le F(U^+,V)-\mathbb E F(U^+,V^+)"
    r"+\frac{\eta_v^2 KL_V p\sigma^2}2,\quad \mathbb E\|U^+-U\|^2="
    r"\eta_u^2(\|\nabla_U\|^2+\sigma^2)",
    plain="At the new U, too, the heads' steps decrease the objective by the participants' "
    "squared gradients, up to noise, U's included.",
    constants={"masked": True, "noise_power": 1.0, "drift": 1.0},
    negative_control={"noise_power": 2.0},
    stronger={"noise_power": 1, "drift": 0, "factor": 1, "reach": -1},
)
