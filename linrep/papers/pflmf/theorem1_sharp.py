"""Theorem 1 with the constants that a round needs: 1, 1 - eta L and 3/2, for eta < 1/L."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from linrep.claims import Cases, Fact, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, Root, at_most, equal, lines
from linrep.papers.pflmf import model, runs
from linrep.papers.pflmf.model import NOISY
from linrep.papers.pflmf.scalar import Terms, of_case, tried
from linrep.theory import pflmf

_SIZES = (0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)

UNIT = {"x": (Open(0), 1), "p": (Open(0), 1)}
#: b^2 = (K - 1)/(2 K) is at most 1/2.
SHARE = {"root2": Root(2), "b": lambda root2: (0, 1 / root2)}


@lines("pflmf.theorem1.sharp", Region(**UNIT, K=(1, None)), steps=["step 3, factor of Y"])
def not_negative(x, p, K):
    """It is not negative."""
    return {"step 3, factor of Y": at_most(0, 1 - p * x * (K + 1) / (2 * K))}


@lines("pflmf.theorem1.sharp", Region(**UNIT, **SHARE), steps=["step 5, w_V"])
def weight(x, p, b, *, slack=1):
    """At least p^2 (1 - x)."""
    C = p + (1 - p) * (1 + p * x * b) ** 2
    return {"step 5, w_V": at_most((1 - slack * x) * C, 1 - p * x * (1 - b**2))}


@lines(
    "pflmf.theorem1.sharp",
    Region(p=UNIT["p"], **SHARE),
    steps=["step 5, from K = 2", "step 5, K = 1"],
)
def noises(p, b, *, noise=Fraction(3, 2)):
    """What is enough for the noise."""
    later = Fraction(4, 3) * p**3 * (1 - p) * b * (1 + b)
    return {
        "step 5, from K = 2": at_most(1 + Fraction(3, 2) * p**3 + later, Fraction(5, 2)),
        "step 5, K = 1": at_most((1 + 2 * p**3) / 2, noise),
    }


def one_round(L, x, e, start, slack):
    """Return both sides for L (u + v)^2/2, p = K = 1, no noise: e = u + v becomes (1 - 2 x) e."""
    decrease = L / 2 * (e**2 - (1 - 2 * x) ** 2 * e**2) * L / x
    return (1 - slack * x) * 2 * (L * e) ** 2, start * decrease


FUNCTIONS = Region(L=(Open(0), None), x=(Open(0), 1), e=(None, None))


@lines("pflmf.theorem1.sharp", FUNCTIONS, steps=["attained"])
def attained(L, x, e):
    """By L (u + v)^2/2, p = K = 1, no noise."""
    return {"attained": equal(*one_round(L, x, e, 1, 1))}


@lines("pflmf.theorem1.sharp", FUNCTIONS, family=True)
def example(L, x, e, *, start=1, slack=1):
    """The same functions: the left side is at most the right one."""
    return at_most(*one_round(L, x, e, start, slack))


def averaged(bound: runs.Bound):
    """Return lhs and rhs of a round, times eta; over 1 - slack eta L their mean is the bound."""

    def lhs_rhs(r: Terms):
        left = r.eta * (1.0 - bound.slack * r.x) * bound.left(r.delta_U, r.delta_V, r.p)
        return left, bound.start * (r.value - r.after) + bound.noise * r.x * r.eta * r.variance

    return lhs_rhs


def weighted(r: Terms):
    """Return lhs and rhs of a round, times eta, with the weights of the derivation."""
    w = pflmf.sharp_weights(r.x, r.p, r.K)
    left = w.weight_U * r.delta_U + w.weight_V * r.delta_V
    return r.eta * left, r.value - r.after + r.eta * w.noise * r.variance


def _of(sides):
    return lambda case: sides(of_case(case))


def _attained(bound: runs.Bound) -> Cases:
    """Compare lhs and rhs of (uv - a)^2/(2 s^2) from u = v = s, uv - a = s, p = K = 1.

    With s it tends to (u + v)^2/2 around its minimum, for which both sides are equal. u and v fall
    from s by eta, to no less than 0, and L = 1 + 1/s is valid on this square: the mixed second
    derivative (2uv - a)/s^2 falls from there, to no less than -1.
    """
    slack, start = model.rational(bound.slack), model.rational(bound.start)
    cases = []
    for exponent, tenths in product((1, 3, 6, 9), (1, 3, 5, 7, 9)):
        s, x, one = Fraction(10) ** exponent, Fraction(tenths, 10), Fraction(1)
        f = model.Scalar((1 / s**2,), (s**2 - s,), (0,))
        L = 1 + 1 / s
        r = model.exact_round(f, s, [s], one, 1, x / L, L)
        left = (1 - slack * x) * (r.delta_U + r.delta_V())
        right = start * (r.value - r.after_both) / r.eta
        cases.append((left / right, one, {"s": str(s), "eta L": str(x), "p": 1, "K": 1}))
    return Cases(
        cases,
        quantity="left over right side",
        name="nearly (u + v)^2/2, in fractions",
        strength=PROVED,
        shown=("s", "eta L"),
    )


@statement(
    "pflmf.theorem1.sharp",
    own=True,
    corrects="pflmf.theorem1",
    place="Theorem 1, derived in another way; not stated there",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1L:\ "
    r"\frac1T \sum_{t<T} \Big(E\|\nabla_U\|^2 + p^2 E\frac1K\sum_k \|\nabla_V(U^t, V_k^t)\|^2\Big)"
    r" \le \frac{F^0 - F^\star}{\eta T(1 - \eta L)} + \frac{3\eta L\sigma^2}{2(1 - \eta L)}",
    plain="Step sizes up to 1/L: the start's constant is 1, over 1 - eta L, and the noise's 3/2; "
    "without noise this is attained, for p = K = 1 and every eta.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.9},
    stronger={"p_power": -1, "start": -1, "slack": -1, "noise": -1},
)
def theorem1_sharp(budget, rng, *, p_power=2, start=1, slack=1, noise=1.5):
    """Compare lhs and rhs of a round, in exact expectation, on examples, at random and searched.

    A sum over rounds is the statement: with U fixed, and at rest, it is taken exactly. The weights
    of the derivation are tried on the same random rounds.
    """
    bound = runs.Bound(p_power, start, noise, slack=slack)
    yield _attained(bound)
    steps = budget((1, 20), (1, 2, 20, 200))
    count = budget(60, 600, 3000)
    grids = {
        "|v|^2/2": [model.flat(*each) for each in product(model.CHANCES, steps, _SIZES)],
        "at a minimum, noise alone": model.grid(model.at_rest, steps, _SIZES),
        "random": [
            *model.at_random(rng, count, sizes=_SIZES),
            *model.at_random(rng, count, model.QUADRATIC, True, _SIZES),
        ],
    }
    for prefix, sides in (("", averaged(bound)), ("weights of the derivation, ", weighted)):
        rounds, largest = tried(rng, budget(5000, 100_000), sides, f"{prefix}scalar rounds")
        yield rounds
        yield Fact(f"largest left over right side, {prefix}scalar rounds", largest)
        for name, cases in grids.items():
            yield model.tried(cases, _of(sides), f"{prefix}{name}", PROVED)
    yield model.searched(_of(averaged(bound)), budget, rng, strength=PROVED, halves=2)
    averages = product(
        (1.0, 0.5, 0.1, 0.001), (1, 20), (1e-3, 0.25, 0.5, 0.9), (1, 200, 10**7), (0.0, 1.0, 1e3)
    )
    yield runs.exact(bound, averages, strength=PROVED)
    settings = product((1e-6, 1e-3, 0.25, 0.5, 0.9), (1, 200, 10**7, 10**18))
    yield runs.at_rest(bound, settings, PROVED)
