"""The inequalities in steps (A) to (C) and below (16) that have no number: one local step each."""

from fractions import Fraction
from itertools import pairwise, product

from linrep.claims import Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, law, measured
from linrep.papers.pflmf.counterexamples import step_b_display as b_by_hand
from linrep.papers.pflmf.model import AROUND_ONE, NOISE, SMOOTH, SQUARE, exact_round, rational

SHARES = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1))
STEPS = (1, 2, 5)
ONE, ETA = Fraction(1), Fraction(49, 100)  # eta L is below 1/2
QUANTITY = "increase of F over eta_v times the gradients' term"


def broken_off(p, K, variance, v):
    """Return rounds of (uv)^2/2 at u = 1, L = 1, broken off after k = 0, ..., K local steps."""
    return [exact_round(SQUARE, ONE, [v], p, K, ETA, ONE, variance, steps=k) for k in range(K + 1)]


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
    strength, v = PROVED if masked else "", Fraction(1, 100)

    def step_by_step():
        for p, K, variance in product(SHARES, STEPS, (Fraction(0), v**2)):
            rounds = broken_off(p, K, variance, v)
            r = rounds[K]
            for k, (before, after) in enumerate(pairwise(rounds)):
                gradient = r.masked[k] if masked else p * r.steps[k]
                size = 1 - rational(curvature) * r.eta_v * r.L
                right = -rational(factor) * r.eta_v * size * gradient
                right += r.eta_v**2 * r.L * (p if masked else 1) * rational(noise) * variance
                unit, name = r.eta_v * gradient, "in the mean over D" if k else "k = 0"
                both = at_most((after.after_V - before.after_V) / unit, right / unit)
                yield name, both, {**r.instance, "k": k}

    def given_nobody():
        """Yield the display given that nobody takes part: F stays."""
        for p, K in product(SHARES, STEPS):
            r = broken_off(p, K, Fraction(0), v)[K]
            yield "given D", at_most(Fraction(0), -(1 - r.eta_v * r.L / 2)), {**r.instance, "D": 0}

    found = measured(step_by_step(), strength=strength, quantity=QUANTITY)
    if masked:
        yield from found.values()
        return
    first, later = found.values()
    yield first
    phrase = "F(U^t, V_k) on the right, without an expectation"
    nobody = measured(given_nobody(), quantity=QUANTITY).values()
    yield Readings([later, *nobody], name="k > 0", phrase=phrase)


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

    def both():
        for v, of_V in product((Fraction(0), Fraction(1, 10)), (0, 1) if noisy else (0,)):
            step = ETA / 5  # eta_v for p = 1 and K = 5
            new = v - step * (v + Fraction(of_V, 10))
            at = {"F": "(uv)^2/2", "u": 1, "v": str(v), "noise of V": f"{of_V}/10", "k": 1}
            # On [0, 1] x [-1/2, 1/2] the second derivatives are at most 1; grad_U = u v^2.
            yield "smoothness", at_most((v**2 - new**2) ** 2, (v - new) ** 2), at
            left, right = b_by_hand.sides(v, Fraction(of_V, 10))
            yield "what the heads have moved by", at_most(left, rational(factor) * right), at

    yield from measured(both()).values()


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
    strength, v = PROVED if masked else "", Fraction(1, 1000)
    grid = product(SHARES[:2], (5, 20), (Fraction(0), v**4))
    runs = [broken_off(p, K, variance, v) for p, K, variance in grid]
    # Near the minimum of (uv - 1)^2/2, where both sides are nearly equal at p = K = 1; second
    # derivatives are at most L where u and v are within 2 e of 1.
    e = Fraction(1, 10**6)
    L = 2 * (1 + 2 * e) ** 2 - 1
    for p in (ONE, ONE / 2):
        near = (exact_round(AROUND_ONE, ONE, [1 + e], p, 1, ETA / L, L, steps=k) for k in (0, 1))
        runs.append(list(near))

    def step_by_step():
        for rounds in runs:
            r = rounds[-1]
            for k, (before, after) in enumerate(pairwise(rounds)):
                gradient = r.masked[k] if masked else r.p * r.steps[k]
                size = r.eta_v * (rational(reach) * r.K + 1) * r.L / 2
                moved = r.eta**2 * (r.delta_U + (r.variance if masked else 0))
                right = -rational(factor) * r.eta_v * (1 - size) * gradient
                right += r.p * r.L / r.K * rational(drift) * moved
                right += r.eta_v**2 * r.L * (r.p if masked else 1) * rational(noise) * r.variance
                unit = r.eta_v * gradient
                both = at_most((after.after_both - before.after_both) / unit, right / unit)
                yield "k > 0" if k else "k = 0", both, {**r.instance, "k": k}

    def noise_alone():
        """Yield the display at v = 0 given U^+ = U: V's noise is all."""
        for p, K in product(SHARES, STEPS):
            before, after = broken_off(p, K, Fraction(1, 100), Fraction(0))[:2]
            right = after.eta_v**2 * after.L * p * rational(noise) * after.variance
            both = at_most(after.after_V - before.after_V, right)
            yield "V's noise alone, U+ = U", both, after.instance

    yield from measured(step_by_step(), strength=strength, quantity=QUANTITY).values()
    if masked:
        yield from measured(noise_alone(), strength=PROVED, quantity="increase of F").values()


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


@law(
    "pflmf.eq16.auxiliary", "The inequality below (16)",
    r"\eta^2\frac{p^2L}{2K^2}\Big\|\sum_kG_k\Big\|^2-\frac{\eta p^2}K\Big(1-\eta p"
    r"\frac{(K+1)L}{2K}\Big)\sum_k\|G_k\|^2\le\frac{\eta p^2}K"
    r"\Big(\frac{\eta L}2\frac{(1+p)K+1}K-1\Big)\sum_k\|G_k\|^2\le0,\quad\eta\le\frac1{2L}",
    # x = eta L, and t = ||sum G_k||^2/(K sum ||G_k||^2), which is at most 1 by Lemma 5.
    over=Region(x=(Open(0), Fraction(1, 2)), p=(Open(0), 1), K=(1, None), t=(0, 1)),
    wrong={"factor": 3.0}, stronger={"factor": 1}, whole=False,
)  # fmt: skip
def auxiliary(x, p, K, t, *, factor=1):
    """The cost of the heads' displacement in case K is compensated by the gradients of step (C)."""
    # All members over eta p^2/K times the sum of squares.
    first = factor * x / 2 * t - (1 - x * p * (K + 1) / (2 * K))
    second = x / 2 * ((1 + p) * K + 1) / K - 1
    return {"first <= second": at_most(first, second), "second <= 0": at_most(second, 0)}
