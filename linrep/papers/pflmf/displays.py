"""The inequalities in steps (A) to (C) and below (16) that have no number: one local step each."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

from linrep.claims import Cases, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import step_a_display as a_by_hand
from linrep.papers.pflmf.counterexamples import step_b_display as b_by_hand
from linrep.papers.pflmf.counterexamples import step_c_display as c_by_hand
from linrep.papers.pflmf.model import NOISE, SMOOTH

_SHARES = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1))
_STEPS = (1, 2, 5)
_ETA = Fraction(49, 100)  # times L, below 1/2
_QUANTITY = "increase of F over eta_v times the gradients' term"


def _broken_off(p, K, variance, v) -> list[model.Exact]:
    """Return rounds of (uv)^2/2 at u = 1, L = 1, broken off after k = 0, ..., K local steps."""
    f, one = model.Scalar((1,), (0,), (0,)), Fraction(1)
    return [
        model.exact_round(f, one, [v], p, K, _ETA, one, variance, steps=k) for k in range(K + 1)
    ]


def _local_steps(v, noises):
    """Yield rounds up to V_k and V_(k+1), the round with all steps, k, and what makes it again."""
    for p, K, variance in product(_SHARES, _STEPS, noises):
        rounds = _broken_off(p, K, variance, v)
        for k in range(K):
            yield rounds[k], rounds[k + 1], rounds[K], k, {**rounds[K].instance, "k": k}


def _given_nobody(v) -> Cases:
    """Return the display in (A) given that nobody takes part: F stays."""
    cases = []
    for p, K in product(_SHARES, _STEPS):
        r = _broken_off(p, K, Fraction(0), v)[K]
        cases.append((Fraction(0), -(1 - r.eta_v * r.L / 2), {**r.instance, "D": 0}))
    return Cases(cases, name="given D", quantity=_QUANTITY)


@statement(
    "pflmf.step-A.display",
    place="Step (A), below the smoothness inequality",
    latex=r"\mathbb E_{S_t}\mathbb E_{t,k}F(U,V_{k+1})\le F(U,V_k)-\eta_vp\Big(1-\frac{\eta_vL_V}2"
    r"\Big)\|\nabla_V(U,V_k)\|^2+\frac{\eta_v^2L_V\sigma^2}2",
    plain="A single local step decreases the objective by p times the squared gradient at V_k.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"factor": 1.1},
)
def step_a(budget, rng, *, masked=False, factor=1.0, curvature=0.5, noise=0.5):
    """Compare both sides on rounds of (uv)^2/2 at u = 1, in rational numbers, step by step.

    `masked` counts participants' gradients, and the noise of participants. `curvature` is the
    coefficient of eta_v L_V, `noise` that of sigma^2.
    """
    cases: dict[bool, list] = {True: [], False: []}
    strength = PROVED if masked else ""
    v = Fraction(1, 100)
    for before, after, r, k, at in _local_steps(v, (Fraction(0), v**2)):
        gradient = r.masked[k] if masked else r.p * r.steps[k]
        size = 1 - model.rational(curvature) * r.eta_v * r.L
        right = -model.rational(factor) * r.eta_v * size * gradient
        variance = model.rational(noise) * r.variance
        right += r.eta_v**2 * r.L * (r.p if masked else 1) * variance
        unit = r.eta_v * gradient
        increase = after.after_V - before.after_V
        cases[k == 0].append((increase / unit, right / unit, at))
    first, later = (
        Cases(cases[start], name=name, quantity=_QUANTITY, strength=strength)
        for start, name in ((True, "k = 0"), (False, "in the mean over D"))
    )
    left, right = a_by_hand.sides(masked=masked)
    at = {"F": "(uv)^2/2", "u": 1, "v": "1/100", "p": "1/2", "K": 2, "eta": "49/100", "k": 1}
    yield Cases(
        [(left, model.rational(factor) * right, at)],
        name="k = 1, K = 2, by hand",
        quantity="E F(U, V_2) - E F(U, V_1)",
        strength=strength,
    )
    yield first
    yield (
        later
        if masked
        else Readings(
            [later, _given_nobody(v)],
            name="k > 0",
            phrase="F(U^t, V_k) on the right, without an expectation",
        )
    )


step_a.corrected(
    "pflmf.step-A.display.corrected",
    latex=r"\mathbb EF(U,V_{k+1})\le\mathbb EF(U,V_k)-\eta_v\Big(1-\frac{\eta_vL_V}2\Big)\mathbb E"
    r"\|D\nabla_V(U,V_k)\|^2+\frac{\eta_v^2L_Vp\sigma^2}2",
    plain="A single local step decreases the objective by the participants' squared gradient.",
    constants={"masked": True},
    negative_control={"factor": 1.1},
    stronger={"factor": 1, "curvature": -1, "noise": -1},
)


@statement(
    "pflmf.step-B.display",
    place="Step (B), below Young's inequality",
    latex=r"\frac1{2L_U\eta_u}\|\nabla_U(U,V)-\nabla_U(U,V_k)\|^2\le\frac{L_U}{2\eta_u}\|V-V_k\|^2"
    r"\le\frac{\eta_v^2}{\eta_u}\frac{L_U}2\Big\|\sum_{i<k}\nabla_V(U,V_i)\Big\|^2",
    plain="The heads have moved by at most eta_v times the sum of the exact gradients in V.",
    hypotheses=(SMOOTH, NOISE),
    holds_with={"noisy": False},
    negative_control={"factor": 0.9},
)
def step_b(budget, rng, *, noisy=True, factor=1.0):
    """Compare both inequalities on a round of (uv)^2/2 at u = 1, everyone taking part, k = 1.

    With noise: at v = 0, where the gradient vanishes.
    """
    smooth, moved = [], []
    for v, noise in product((Fraction(0), Fraction(1, 10)), (0, 1) if noisy else (0,)):
        step = _ETA / 5  # eta_v for p = 1 and K = 5
        new = v - step * (v + Fraction(noise, 10))
        at = {"F": "(uv)^2/2", "u": 1, "v": str(v), "noise of V": f"{noise}/10", "k": 1}
        # On [0, 1] x [-1/2, 1/2] the second derivatives are at most 1; grad_U = u v^2.
        smooth.append(((v**2 - new**2) ** 2, (v - new) ** 2, at))
        left, right = b_by_hand.sides(v, Fraction(noise, 10))
        moved.append((left, model.rational(factor) * right, at))
    yield Cases(smooth, name="smoothness", quantity="squared change of grad_U")
    yield Cases(moved, name="what the heads have moved by", quantity="|V - V_1|^2")


def _noise_of_heads(noise) -> Cases:
    """Return the display of step (C) at v = 0 given U^+ = U: V's noise alone, which is all."""
    cases = []
    for p, K in product(_SHARES, _STEPS):
        before, after = _broken_off(p, K, Fraction(1, 100), Fraction(0))[:2]
        right = after.eta_v**2 * after.L * p * noise * after.variance
        cases.append((after.after_V - before.after_V, right, after.instance))
    return Cases(cases, name="V's noise alone, U+ = U", quantity="increase of F", strength=PROVED)


@statement(
    "pflmf.step-C.display",
    place="Step (C), the last display before the sum over k",
    latex=r"\mathbb E_{S_t}\mathbb E_{t,k}F(U^+,V_{k+1})\le F(U^+,V_k)-\eta_vp\Big(1-\eta_v"
    r"\frac{(K+1)L_V}2\Big)\|\nabla_V(U,V_k)\|^2+\frac{\eta_u^2pL_V}{2K}\|\nabla_U\|^2"
    r"+\frac{\eta_v^2L_V\sigma^2}2",
    plain="At the new U a local step decreases the objective by nearly p times the same gradient.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"factor": 1.3},
)
def step_c(budget, rng, *, masked=False, factor=1.0, reach=1.0, drift=0.5, noise=0.5):
    """Compare both sides on rounds of (uv)^2/2 at u = 1, in rational numbers, step by step.

    `masked` counts participants' gradients and noise, and the noise that U moves by. `reach` is the
    coefficient of K L_V, `drift` that of ||U^+ - U||^2, `noise` that of sigma^2.
    """
    found: dict[str, list] = {"k = 0": [], "k > 0": []}
    v, one = Fraction(1, 1000), Fraction(1)
    rounds = [
        _broken_off(p, K, variance, v)
        for p, K, variance in product(_SHARES[:2], (5, 20), (Fraction(0), v**4))
    ]
    # Near the minimum of (uv - 1)^2/2, where both sides are nearly equal at p = K = 1; second
    # derivatives are at most L where u and v are within 2 e of 1.
    e, f = Fraction(1, 10**6), model.Scalar((1,), (1,), (0,))
    L = 2 * (1 + 2 * e) ** 2 - 1
    for p in (one, one / 2):
        rounds.append(
            [model.exact_round(f, one, [1 + e], p, 1, _ETA / L, L, steps=k) for k in (0, 1)]
        )
    for each in rounds:
        r = each[-1]
        for k, (before, after) in enumerate(pairwise(each)):
            gradient = r.masked[k] if masked else r.p * r.steps[k]
            size = r.eta_v * (model.rational(reach) * r.K + 1) * r.L / 2
            right = -model.rational(factor) * r.eta_v * (1 - size) * gradient
            moved = r.eta**2 * (r.delta_U + (r.variance if masked else 0))
            right += r.p * r.L / r.K * model.rational(drift) * moved
            variance = model.rational(noise) * r.variance
            right += r.eta_v**2 * r.L * (r.p if masked else 1) * variance
            unit = r.eta_v * gradient
            increase = after.after_both - before.after_both
            name = "k = 0" if k == 0 else "k > 0"
            found[name].append((increase / unit, right / unit, {**r.instance, "k": k}))
    strength = PROVED if masked else ""
    left, right = c_by_hand.sides(masked=masked, factor=model.rational(factor))
    at = {"F": "(uv)^2/2", "u": 1, "v": "1/1000", "p": "1/10", "K": 20, "eta": "49/100", "k": 19}
    yield Cases(
        [(left, right, at)],
        name="k = 19, K = 20, by hand",
        quantity="E F(U+, V_20) - E F(U+, V_19)",
        strength=strength,
    )
    for name, cases in found.items():
        yield Cases(cases, name=name, quantity=_QUANTITY, strength=strength)
    if masked:
        yield _noise_of_heads(model.rational(noise))


step_c.corrected(
    "pflmf.step-C.display.corrected",
    latex=r"\mathbb EF(U^+,V_{k+1})\le\mathbb EF(U^+,V_k)-\eta_v\Big(1-\eta_v\frac{(K+1)L_V}2\Big)"
    r"\mathbb E\|D\nabla_V(U,V_k)\|^2+\frac{\eta_u^2pL_V}{2K}(\|\nabla_U\|^2+\sigma^2)"
    r"+\frac{\eta_v^2L_Vp\sigma^2}2",
    plain="At the new U a local step decreases the objective by nearly the participants' gradient.",
    constants={"masked": True},
    negative_control={"factor": 1.3},
    stronger={"factor": 1, "reach": -1, "drift": -1, "noise": -1},
)


@statement(
    "pflmf.eq16.auxiliary",
    place="The inequality below (16)",
    latex=r"\eta^2\frac{p^2L}{2K^2}\Big\|\sum_kG_k\Big\|^2-\frac{\eta p^2}K\Big(1-\eta p"
    r"\frac{(K+1)L}{2K}\Big)\sum_k\|G_k\|^2\le\frac{\eta p^2}K"
    r"\Big(\frac{\eta L}2\frac{(1+p)K+1}K-1\Big)\sum_k\|G_k\|^2\le0,\quad\eta\le\frac1{2L}",
    plain="The cost of the heads' displacement in case K is compensated by the gradients of step "
    "(C).",
    negative_control={"factor": 3.0},
    stronger={"factor": 1},
)
def auxiliary(budget, rng, *, factor=1.0):
    """Compare the members for random G_k and for equal ones; `factor` is that of the first term."""
    first, last, count = [], [], budget(200, 3000)
    for place in range(count):
        K, p, x = int(rng.integers(1, 30)), float(rng.uniform(0.0, 1.0)), float(rng.uniform(0, 0.5))
        if place % 5 == 0:
            p, x = 1.0, 0.5
        G = rng.standard_normal((K, 2)) + (1e3 if place % 2 else 0.0)
        squares, total = float((G**2).sum()), float((G.sum(axis=0) ** 2).sum())
        # All members over eta p^2/K times the sum of squares.
        one = factor * x / (2.0 * K) * total / squares - (1.0 - x * p * (K + 1) / (2.0 * K))
        two = 0.5 * x * ((1.0 + p) * K + 1.0) / K - 1.0
        at = {"K": K, "p": p, "eta L": x}
        first.append((one, two + 1e-9, at))
        last.append((two, 0.0, at))
    for name, cases in (("first <= second", first), ("second <= 0", last)):
        yield Cases(cases, name=name, quantity="member", strength=PROVED)
