"""Steps (A) and (C) of the proof of Theorem 1: the heads' local steps, round by round."""

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, equal, measured
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples.eq12 import sides as sides_of_12
from linrep.papers.pflmf.counterexamples.step_c import sides as sides_of_C
from linrep.papers.pflmf.model import NOISE, SMOOTH, exact_round, power, rational
from linrep.theory import pflmf_rounds

ONE = Fraction(1)
RATIO, APART = "left over right side", "|difference of both sides|"


def at_fractions(p, K, v) -> dict:
    """Return what a counterexample is about: a round without noise."""
    return {"F": "(uv)^2/2", "u": 1, "v": v, "p": p, "K": K, "eta": "49/100", "L": 1}


@statement(
    "pflmf.eq12",
    place="Step (A), (12), with the expectation that its left side needs",
    latex=r"\eta_v p\Big(1-\frac{\eta_v L_V}2\Big)\frac1K\sum_k\mathbb E\|\nabla_V(U,V_k)\|^2 \le"
    r" \frac1K\big(F(U,V)-\mathbb E F(U,V^+)\big)+\frac{\eta_v^2 L_V\sigma^2}2",
    plain="The heads' local steps decrease the objective by p times the squared gradients.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"noise_power": 1.1},
)
def eq12(budget, rng, *, noise_power=1.0, factor=1.0, curvature=0.5, noise=0.5, printed=True):
    """Compare in fractions; as corrected where both sides are equal, and on rounds.

    `factor` is that of the left side, `curvature` that of eta_v L_V there, `noise` that of sigma^2,
    beside p^noise_power.
    """
    if printed:
        left, right = sides_of_12()
        case = left / right, 1, at_fractions("1/2", 20, "1/100")
        yield Cases([case], quantity=RATIO, name="(uv)^2/2 at u = 1, exact")
        return

    def flat():
        """Yield both sides for |v|^2/2, noise from none to nearly alone."""
        f = model.Scalar((1, 1), (0, 0), (0, 0))  # at u = 1 the curvature in V is 1/2
        for p, K, variance in product((Fraction(1, 10), Fraction(1, 2), ONE), (1, 5), (0, 1, 100)):
            r = exact_round(f, ONE, [ONE, -ONE], p, K, Fraction(4, 5), ONE / 2, ONE * variance)
            left = rational(factor) * r.eta_v * (1 - rational(curvature) * r.eta_v * r.L)
            stated = rational(noise) * power(p, noise_power) * r.eta_v**2 * r.L * K * variance
            both = equal(left * sum(r.masked, Fraction(0)), r.value - r.after_V + stated)
            yield "equality for |v|^2/2, exact", both, r.instance

    def sides(case):
        s, r = case.setting, case.round
        h, K = s.head_step_size, s.local_steps
        left = factor * h * (1.0 - curvature * h * s.in_V) * float(r.masked_V.sum())
        stated = noise * s.participation**noise_power * h**2 * s.in_V * K * s.noise**2
        return left, r.value - r.after_V + stated

    yield from measured(flat(), strength=PROVED, quantity=APART).values()
    yield from model.everywhere(model.rounds(budget, rng), sides, budget, rng, strength=PROVED)


eq12.corrected(
    "pflmf.eq12.corrected",
    latex=r"\eta_v\Big(1-\frac{\eta_v L_V}2\Big)\sum_k\mathbb E\|D\nabla_V(U,V_k)\|^2 \le"
    r" F(U,V)-\mathbb E F(U,V^+)+\frac{\eta_v^2 K L_V p\sigma^2}2,\ \text{equal for }|v|^2/2",
    plain="The heads' local steps decrease the objective by the participants' squared gradients, "
    "up to noise with the factor p.",
    constants={"printed": False},
    negative_control={"noise_power": 1.1},
    stronger={"noise_power": 0, "factor": 0, "curvature": -1, "noise": 0},
)


def new_factors(case, rng):
    """Return some U^+ that a round may have: where it was, without noise, and with noise."""
    s, U = case.setting, case.U
    step = s.step_size * case.problem.factor_gradients(U, case.V).in_U
    if s.noise == 0.0:
        return [U, U - step]
    moves = rng.standard_normal((3, *U.shape))
    moves /= np.linalg.norm(moves, axis=(1, 2), keepdims=True)
    sizes = s.step_size * s.noise * np.array([0.3, 1.0, 3.0])[:, None, None]
    return [U, U - step, *(U - step - sizes * moves)]


def distance(drift):
    """Yield E(U^+ - U)^2 for one number U, eta = 1/10, a gradient of 1 and noise +-1.

    The drift is the coefficient of what noise adds to the square.
    """
    moves = [(Fraction(1, 10) * (1 + sign)) ** 2 for sign in (-1, 1)]
    stated = Fraction(1, 100) * (1 + rational(drift))
    at = {"eta": "1/10", "grad_U": 1, "noise of U": "1 or -1, each with probability 1/2"}
    yield "E|U+ - U|^2, noise +-1, exact", equal(sum(moves, Fraction(0)) / 2, stated), at


@statement(
    "pflmf.step-C",
    place="Step (C), its sum over k, with the expectation that its left side needs",
    latex=r"\eta_v p\Big(1-\frac{\eta_v(K+1)L_V}2\Big)\sum_k\mathbb E\|\nabla_V(U,V_k)\|^2"
    r" - \frac{\eta_u^2 pL_V}2\|\nabla_U\|^2 \le F(U^+,V)-\mathbb E F(U^+,V^+)"
    r"+\frac{\eta_v^2 KL_V\sigma^2}2,\quad \|U^+-U\|^2=\eta_u^2\|\nabla_U\|^2",
    plain="The heads' steps decrease the objective at the new U as well.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"noise_power": 2.0},
)
def step_c(budget, rng, *, noise_power=1.0, drift=1.0, factor=1.0, reach=1.0, printed=True):
    """Compare in fractions; as corrected near a minimum, in the mean and given U^+.

    Noise has p^noise_power, `drift` is the coefficient of what noise adds to ||U^+ - U||^2, `reach`
    that of K L_V.
    """
    if printed:
        left, right = sides_of_C()
        case = left / right, 1, at_fractions("1/4", 20, "1/1000")
        yield Cases([case], quantity=RATIO, name="(uv)^2/2 at u = 1, exact")
        yield from measured(distance(0), quantity=APART).values()
        return

    def near_a_minimum():
        """Yield (uv - 1)^2/2 at v = 1 + e, K = 1.

        As e tends to 0 and p = 1 both sides are equal, as U^+ - U is parallel to the step of V. u
        and v stay within 2 e of 1, where second derivatives are at most 2 (1 + 2 e)^2 - 1.
        """
        e = Fraction(1, 10**6)
        L = 2 * (1 + 2 * e) ** 2 - 1
        for p, x in product((ONE, ONE / 2), (Fraction(1, 10), Fraction(49, 100))):
            r = exact_round(model.AROUND_ONE, ONE, [1 + e], p, 1, x / L, L)
            size = r.eta_v * (rational(reach) * r.K + 1) * L / 2
            left = rational(factor) * r.eta_v * (1 - size) * sum(r.masked)
            left -= r.eta**2 * p * L / 2 * r.delta_U
            both = at_most(left / (r.after_U - r.after_both), ONE)
            yield "(uv - 1)^2/2 near its minimum, exact", both, r.instance

    def left_side(case, moved):
        """Return the left side, `moved` being the squared distance of U^+ from U."""
        s, gradients = case.setting, float(case.round.masked_V.sum())
        h = s.head_step_size
        size = 0.5 * h * (reach * s.local_steps + 1) * s.in_V
        return factor * h * (1.0 - size) * gradients - 0.5 * s.participation * s.in_V * moved

    def noise(s):
        share = s.participation**noise_power * s.local_steps
        return 0.5 * s.head_step_size**2 * share * s.in_V * s.noise**2

    def in_the_mean(case):
        s, r = case.setting, case.round
        moved = s.step_size**2 * (r.delta_U + drift * s.noise**2)
        return left_side(case, moved), r.after_U - r.after_both + noise(s)

    def given(case, U):
        """Return both sides given U^+, over their sizes, and the instance."""
        s, plain = case.setting, case.setting.step_size**2 * case.round.delta_U
        moved = plain + drift * (float(np.sum((U - case.U) ** 2)) - plain)
        before = case.problem.value(case.V @ U.T)
        after = pflmf_rounds.expected_value(s, case.problem, case.U, case.V, U)
        room = 1e-13 * (abs(before) + abs(after))
        both = case.over_both(left_side(case, moved), before - after + noise(s), room)
        return *both, {**case.instance(), "U+": U.tolist()}

    yield from measured(near_a_minimum(), strength=PROVED, quantity=RATIO).values()
    yield from measured(distance(drift), strength=PROVED, quantity=APART).values()
    steps, sizes = budget(((1, 5), (0.001, 0.1, 0.499)), (model.STEPS, model.SIZES))
    cases = [*model.rounds(budget, rng), *model.grid(model.at_rest, steps, sizes)]
    yield from model.everywhere(cases, in_the_mean, budget, rng, strength=PROVED)
    # Given U^+, as E_(S_t) E_(t,K) says: U's noise does not make up for V's.
    found = [given(case, U) for case in cases for U in new_factors(case, rng)]
    # Affine functions: their gradient in V is proportional to U, and L holds for every U^+, to
    # which noise may lead however small its variance is.
    found += [
        given(case, (1.0 - q * s.participation * s.step_size * s.largest) * case.U)
        for case in model.grid(model.bilinear, budget((1, 20), (1, 20, 200)))
        for s in [case.setting]
        for q in (0.5, 1.0, 2.0)
    ]
    yield Cases(found, name="given U+", quantity=model.QUANTITY, strength=PROVED)


step_c.corrected(
    "pflmf.step-C.corrected",
    latex=r"\eta_v\Big(1-\frac{\eta_v(K+1)L_V}2\Big)\sum_k\mathbb E\|D\nabla_V(U,V_k)\|^2"
    r" - \frac{\eta_u^2 pL_V}2(\|\nabla_U\|^2+\sigma^2) \le F(U^+,V)-\mathbb E F(U^+,V^+)"
    r"+\frac{\eta_v^2 KL_V p\sigma^2}2,\quad \mathbb E\|U^+-U\|^2="
    r"\eta_u^2(\|\nabla_U\|^2+\sigma^2)",
    plain="At the new U, too, the heads' steps decrease the objective by the participants' "
    "squared gradients, up to noise, U's included.",
    constants={"printed": False},
    negative_control={"noise_power": 2.0},
    stronger={"noise_power": 1, "drift": 0, "factor": 1, "reach": -1},
)
