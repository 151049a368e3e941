"""(16): the sum of the proof's inequalities."""

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines, measured
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import eq16 as by_hand
from linrep.papers.pflmf.model import CHANCES, NOISE, SIZES, SMOOTH
from linrep.theory import pflmf as theory

LINKS = ("first <=", "second <=", "third <=")

# x = eta L.


@lines(
    "pflmf.eq16.corrected",
    Region(x=(Open(0), Fraction(1, 2)), p=(Open(0), 1), K=(1, None)),
    steps=["step 5, C", "step 5, a", "noise of the local steps"],
)
def derivation(x, p, K):
    """Of the derivation, q = p eta L."""
    q, others = p * x, (1 - p) * p**4 * x * (K - 1) * (2 * K - 1) / (3 * K**2)
    return {
        "step 5, C": at_most(p + (1 - p) * (2 + q**2 * (K - 1) / K), 2 - p + p / 16),
        "step 5, a": at_most(q**2 / (1 + x) / (1 - q / (2 * K)), p / 3),
        "noise of the local steps": at_most(
            (K - 1) * (2 * K - 1) / (3 * K**2), Fraction(2, 3) * (1 - 1 / K)
        ),
        "c - 1": at_most(p**3 / K + others, 1),
    }


class Expected(NamedTuple):
    """F - E F^+, Delta_U and Delta_V of a round."""

    decrease: float
    delta_U: float
    delta_V: float


def expected_cosine(s: theory.Setting, u: float, v: float, points: int = 16) -> Expected:
    """Return a round of cos(u v), whose gradients are not linear, noise by Gauss quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    weights = weights / weights.sum()
    p, h, squares = s.participation, s.head_step_size, []
    V, mass = np.array([v]), np.array([1.0])
    for _ in range(s.local_steps):
        gradient = -u * np.sin(u * V)
        squares.append(float(mass @ gradient**2))
        V = (V - h * gradient)[:, None] - h * s.noise * nodes
        V, mass = V.ravel(), np.outer(mass, weights).ravel()
    U = u - s.step_size * (-v * np.sin(u * v) + s.noise * nodes)
    after = p * mass @ np.cos(np.outer(V, U)) + (1.0 - p) * np.cos(v * U)
    return Expected(
        float(np.cos(u * v) - after @ weights),
        float((v * np.sin(u * v)) ** 2),
        p * float(np.mean(squares)) + (1.0 - p) * squares[0],
    )


def cosines(rng, count):
    """Yield settings and u, v of cos(u v): at its minimum u v = pi, and at random."""
    problem = model.cosine()
    for place in range(count):
        rest = place % 4 == 0
        u, v = (np.sqrt(np.pi), np.sqrt(np.pi)) if rest else rng.uniform(-2.5, 2.5, 2)
        p, K, eta_L = (
            float(rng.choice(CHANCES)),
            int(rng.integers(1, 4)),
            float(rng.choice(SIZES)),
        )
        sigma = 10.0 ** (-4.0 if rest else rng.uniform(-2, 1))
        L = theory.local_smoothness(problem, [[u]], [[v]], 0.0, 0.0).largest
        for _ in range(20):  # quadrature reaches 6.7 standard deviations in every step
            radius = 2.0 * eta_L / L * (max(abs(u), abs(v)) + 7.0 * sigma)
            L = max(L, theory.local_smoothness(problem, [[u]], [[v]], radius, radius).largest)
        yield theory.Setting(p, K, eta_L / L, L, L, noise=sigma), u, v


@statement(
    "pflmf.eq16",
    place="(16) and the inequality below it",
    latex=r"\eta(1-2\eta L)(\Delta_U+\Delta_V)\le\eta(1-2\eta L)\Delta_U+\eta p\Big(1-\frac{\eta"
    r" pL}{2K}\Big)\Delta_V\le 2(F^t-\mathbb E F^{t+1})+\eta^2\Big(1+\frac1K\Big)L\sigma^2\le"
    r" 2(F^t-\mathbb E F^{t+1})+2\eta^2L\sigma^2",
    plain="The inequalities of steps (A) to (C) sum up to (16), a bound on eta (1 - 2 eta L) "
    "(Delta_U + Delta_V), also for f = x and -x, whose L is one for all U and V.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"noise_factor": 0.95},
)
def eq16(budget, rng, *, p_power=1.0, noise_factor=1.0, decrease=2.0, derived=False):
    """Compare the links of the chain (16) in fractions; the power of p is that at Delta_V.

    As `derived` there is the second link only, with the constant of noise derived for it, and
    rounds are tried as well.
    """
    links = (1,) if derived else (0, 1, 2)
    # Exponents near 2 are distinguished at small p.
    shares = [Fraction(1, 10), Fraction(1, 3), *[Fraction(1, 10**6)] * derived]

    def exactly():
        """Yield the chain, and its ends, for x and -x, which satisfy Assumption 1 everywhere."""
        for p, K, eta in product(shares, (1, 5), (Fraction(1, 4),)):
            first, second, last = by_hand.members(p, K, eta, model.power(p, p_power))
            members = first, second, last, last
            at = {"f": ["x", "-x"], "u": 1, "v": [1, 1], "p": str(p), "K": K, "eta": str(eta)}
            chain = {LINKS[place]: members[place : place + 2] for place in links}
            if not derived:
                chain["first <= last"] = first, last
            for name, (left, right) in chain.items():
                ratio = at_most(left / right, Fraction(1))
                yield f"{name}, x and -x, exact", ratio, {**at, "L": 1}

    def second(case):
        """Return both sides of the second link."""
        s, r = case.setting, case.round
        linear = isinstance(case.problem, lr.QuadraticObjectives)
        noise = noise_factor * theory.summed_noise(s, linear=linear) * case.unit
        left = theory.equation16(s, r, p_power=p_power)[1]
        return left, decrease * (r.value - r.after_both) + noise

    def not_linear():
        """Yield both sides of the second link for cos(u v)."""
        for s, u, v in cosines(rng, budget(100, 2000)):
            p, K, eta_L = s.participation, s.local_steps, s.step_size * s.largest
            r = expected_cosine(s, u, v)
            weight = s.step_size * p**p_power * (1.0 - 0.5 * eta_L * p / K)
            left = s.step_size * (1.0 - 2.0 * eta_L) * r.delta_U + weight * r.delta_V
            unit = s.step_size**2 * s.largest * s.noise**2
            noise = noise_factor * theory.summed_noise(s) * unit
            scale = abs(2.0 * r.decrease) + noise + left
            right = (decrease * r.decrease + noise) / scale + 1e-14 / scale + 1e-9
            at = {"u": u, "v": v, "p": p, "K": K, "eta": s.step_size, "L": s.largest}
            yield left / scale, right, {**at, "sigma": s.noise}

    strength = PROVED if derived else ""
    yield from measured(exactly(), strength=strength, quantity="left over right side").values()
    if not derived:
        return
    steps, sizes = budget(((1, 5), (0.001, 0.1, 0.499)), ((1, 5, 20), SIZES))
    cases = [
        *model.grid(model.bilinear, (1, 5)),
        *model.grid(model.at_rest, steps, sizes),
        *model.rounds(budget, rng),
        *(model.steep(x, K) for x in SIZES for K in (1, 5)),
    ]
    yield from model.everywhere(cases, second, budget, rng, strength=PROVED)
    yield Cases(
        list(not_linear()), quantity=model.QUANTITY, name="cos(u v) with noise", strength=PROVED
    )
    yield derivation.measure()


eq16.corrected(
    "pflmf.eq16.corrected",
    place="(16)",
    latex=r"\eta\le\frac1{2L}:\ \eta(1-2\eta L)\Delta_U+\eta p^2"
    r"\Big(1-\frac{\eta pL}{2K}\Big)\Delta_V\le"
    r" 2(F^t-\mathbb E F^{t+1})+c\eta^2L\sigma^2,\quad c=1+\frac{p^3}K+(1-p)p^4\eta L"
    r"\frac{(K-1)(2K-1)}{3K^2}\le2,\ \text{without the last term for linear gradients}",
    plain="The inequalities of steps (A) to (C) sum up to (16) with p^2 Delta_V; its noise has 1 "
    "+ p^3/K for linear gradients, at most 2 for all.",
    constants={"p_power": 2.0, "derived": True},
    negative_control={"noise_factor": 0.95},
    stronger={"p_power": -1, "noise_factor": -1, "decrease": 0},
)
