"""Theorem 1 with the constants that a round needs: 1, c(p, K) and omega(p, K), eta < 1/(c L)."""

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

CLAIM = "pflmf.theorem1.sharp"
_SHARES = (0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the largest step, 1/(c L)

P = {"p": (Open(0), 1)}
#: b stands for beta, b^2 = (K - 1)/(2 K), so that 1/K is 1 - 2 b^2.
SHARE = {"root2": Root(2), "b": lambda root2: (0, 1 / root2)}
X = {"x": (0, None)}


def both_parts(p, b):
    """Return s, and what c is the larger root of (2 c - 1) (2 c - s) = p^2 with."""
    s = p * (1 - 2 * b**2) + 4 * p * (1 - p) * b
    return s, (1 - s) ** 2 + 4 * p**2


@lines(CLAIM, Region(
    **P, **SHARE, root=lambda p, b: Root(both_parts(p, b)[1])
), steps=["c", "at most 1", "above p beta"])  # fmt: skip
def the_slack(p, b, root):
    """What c is, and what is used of it."""
    s = both_parts(p, b)[0]
    c = (1 + s + root) / 4
    return {
        "c": equal(4 * c**2, 2 * (1 + s) * c + p**2 - s),  # (2 c - 1)(2 c - s) = p^2
        "at most 1": at_most(c, 1),
        "above p beta": at_most(4 * p * b, 1 + s + 2 * p),  # which is at most 4 c
    }


@lines(CLAIM, Region(
    **P, **SHARE, **X, c=(Fraction(1, 2), 1), a=(Open(0), None)
), steps=["step 3, w_U", "step 5, w_V"])  # fmt: skip
def weights(p, b, x, c, a):
    """With (2 c - 1) a = p^2 they are at least 1 - c x and p^2 (1 - c x)."""
    C = p + (1 - p) * (1 + p * x * b) ** 2
    return {
        "step 3, w_U": equal(1 - x / 2 - (2 * c - 1) * a * x / (2 * a), 1 - c * x),
        # p/K + a is 2 c - 4 p (1 - p) b.
        "step 5, w_V": at_most((1 - c * x) * C, 1 - x * (2 * c - 4 * p * (1 - p) * b) / 2),
    }


@lines(CLAIM, Region(
    **P, **SHARE, **X, c=lambda p, b: (p * b, 1)
), steps=["step 5, noise", "omega"])  # fmt: skip
def noises(p, b, x, c):
    """Bound the noise's part, and omega."""
    omega = (1 + p**3 * (1 - 2 * b**2)) / 2 + (1 - p) * p**3 * b * (1 + 2 * b**2) / 3
    return {
        "step 5, noise": at_most((1 - c * x) * (1 + p * x * b), 1),
        "omega": at_most(omega, 1),
    }


# What attains it: one client, K = 1, curvature 1 in both blocks and between them.


def one_round(p, x, c, g, h, start, slack):
    """Return both sides of a round, L = 1: g and h are the gradients."""
    decrease = (1 - x / 2) * g**2 + p**2 * (1 - p * x / 2) * h**2 - p**2 * x * g * h
    return (1 - slack * c * x) * (g**2 + p**2 * h**2), start * decrease


ROUNDS = Region(
    **P, root=lambda p: Root(both_parts(p, 0)[1]),
    x=lambda p, root: (Open(0), Open(4 / (1 + p + root))), g=(None, None), h=(None, None),
)  # fmt: skip


@lines(CLAIM, ROUNDS, steps=["attained"])
def attained(p, root, x, h):
    """By gradients of the ratio 2 c - p."""
    c = (1 + p + root) / 4
    return {"attained": equal(*one_round(p, x, c, (2 * c - p) * h, h, 1, 1))}


@lines(CLAIM, ROUNDS, family=True)
def example(p, root, x, g, h, *, start=1, slack=1):
    """Any two gradients: the left side is at most the right one."""
    return at_most(*one_round(p, x, (1 + p + root) / 4, g, h, start, slack))


#: Those of which c is rational, and c.
EXACT = tuple(
    (Fraction(*p), Fraction(*c))
    for p, c in (((1, 1), (1, 1)), ((6, 11), (15, 22)), ((2, 5), (3, 5)), ((5, 29), (15, 29)))
)


def steep(p, c, x, size):
    """Return both sides, over the right one, of f(Uv) that tends to a round that attains it.

    U = (s, s q), v = s and f = (y_1 - a_1)^2/(2 s^2) + e (y_2 - a_2)^2/(2 s^2), q = `size`, s =
    q^3, e = q^-6: in the limit the first coordinate has all curvature, and the second, of which U
    is large, makes U'f' free while f' hardly changes. L = 1 + 9/q is valid: gradients are at most
    3, steps below 2, v and both entries of U fall from where they are.
    """
    q = Fraction(size)
    s, e, L = q**3, 1 / q**6, 1 + 9 / q
    g = 2 * c - p  # in U, of 1 in V
    slope = g, (1 - g) / q  # of f, times s
    eta, scale = x / L, (1, q)
    curvature = (1, e)

    def moved(taking):
        """Return how much the value of f changes."""
        v = s - taking * p * eta
        total = Fraction(0)
        for place in (0, 1):
            u = s * scale[place] - eta * slope[place]
            y = u * v - s**2 * scale[place]
            total += slope[place] / s * y + curvature[place] * y**2 / (2 * s**2)
        return total

    delta_U = slope[0] ** 2 + slope[1] ** 2
    decrease = -(p * moved(1) + (1 - p) * moved(0)) / eta
    return delta_U + p**2, decrease


def _attained(start, slack) -> Cases:
    """Compare lhs and rhs of :func:`steep`, which tend to each other, in fractions."""
    start, slack = model.rational(start), model.rational(slack)
    cases = []
    for (p, c), size, tenths in product(EXACT, (10**3, 10**6), (1, 3, 5, 7, 9)):
        x = Fraction(tenths, 10) / c
        squares, decrease = steep(p, c, x, size)
        ratio = (1 - slack * c * x) * squares / (start * decrease)
        at = {"p": str(p), "eta L": str(x), "q": size, "K": 1}
        cases.append((ratio, Fraction(1), at))
    return Cases(
        cases,
        quantity="left over right side",
        name="nearly attained, in fractions",
        strength=PROVED,
        shown=("p", "q", "eta L"),
    )


def averaged(bound: runs.Sharp):
    """Return lhs and rhs of a round, times eta; over 1 - c eta L their mean is the bound."""

    def lhs_rhs(r: Terms):
        of = bound.of(r.p, r.K)
        left = r.eta * (1.0 - of.slack * r.x) * of.left(r.delta_U, r.delta_V, r.p)
        return left, of.start * (r.value - r.after) + of.noise * r.x * r.eta * r.variance

    return lhs_rhs


def weighted(r: Terms):
    """Return lhs and rhs of a round, times eta, with the weights of the derivation."""
    w = pflmf.sharp_weights(r.x, r.p, r.K)
    left = w.weight_U * r.delta_U + w.weight_V * r.delta_V
    return r.eta * left, r.value - r.after + r.eta * w.noise * r.variance


def _of(sides):
    """Return both sides of a case; beyond eta = 1/(c L) nothing is stated."""

    def lhs_rhs(case):
        r = of_case(case)
        return sides(r) if r.x * pflmf.sharp_constants(r.p, r.K).slack < 1.0 else (-1.0, 0.0)

    return lhs_rhs


def _largest(p, K):
    """Return the largest eta L."""
    return float(1.0 / pflmf.sharp_constants(p, K).slack)


@statement(
    CLAIM,
    own=True,
    corrects="pflmf.theorem1",
    place="Theorem 1, derived in another way; not stated there",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1{cL}:\ "
    r"\frac1T \sum_{t<T} \Big(E\|\nabla_U\|^2 + p^2 E\frac1K\sum_k \|\nabla_V(U^t, V_k^t)\|^2\Big)"
    r" \le \frac{F^0 - F^\star}{\eta T(1 - c\eta L)} + \frac{\omega\eta L\sigma^2}{1 - c\eta L},"
    r"\quad c = \frac{1 + s + \sqrt{(1 - s)^2 + 4p^2}}4,\ s = \frac pK + 4p(1 - p)\beta,\ \omega ="
    r" \frac12\Big(1 + \frac{p^3}K\Big) + \frac{(1 - p)p^3\beta(2K - 1)}{3K},"
    r"\ \beta^2 = \frac{K - 1}{2K}",
    plain="Step sizes up to 1/(cL), c between 1/2 and 1: the start's constant is 1, over "
    "1 - c eta L, and the noise's omega is at most 1; for K = 1 a round needs c and omega, at "
    "every p and eta, and for p = 1 at every K.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.9},
    stronger={"p_power": -1, "start": -1, "slack": -1, "noise": -1},
)
def theorem1_sharp(budget, rng, *, p_power=2, start=1, slack=1, noise=1):
    """Compare lhs and rhs of a round, in exact expectation, on examples, at random and searched.

    A sum over rounds is the statement: with U fixed, and at rest, it is taken exactly. The weights
    of the derivation are tried on the same random rounds. `slack` and `noise` multiply c and omega.
    """
    bound = runs.Sharp(p_power, start, noise, slack)
    yield _attained(start, slack)
    steps = budget((1, 20), (1, 2, 20, 200))
    count = budget(60, 600, 3000)
    settings = [
        (p, K, share * _largest(p, K))
        for p, K, share in product(model.CHANCES, steps, (*_SHARES[:-1], 0.999))
    ]
    grids = {
        "|v|^2/2": [model.flat(*each) for each in settings],
        "at a minimum, noise alone": [model.at_rest(*each) for each in settings],
        "random": [
            *model.at_random(rng, count, sizes=_SHARES),
            *model.at_random(rng, count, model.QUADRATIC, True, _SHARES),
        ],
    }
    for prefix, sides in (("", averaged(bound)), ("weights of the derivation, ", weighted)):
        rounds, largest = tried(rng, budget(5000, 100_000), sides, f"{prefix}scalar rounds")
        yield rounds
        yield Fact(f"largest left over right side, {prefix}scalar rounds", largest)
        for name, cases in grids.items():
            yield model.tried(cases, _of(sides), f"{prefix}{name}", PROVED)
    yield model.searched(_of(averaged(bound)), budget, rng, strength=PROVED, halves=4)
    averages = [
        (p, K, share * _largest(p, K), T, square)
        for p, K, share, T, square in product(
            (1.0, 0.5, 0.1, 0.001), (1, 20), (1e-3, 0.25, 0.5, 0.9), (1, 200, 10**7),
            (0.0, 1.0, 1e3),
        )
    ]  # fmt: skip
    yield runs.exact(bound, averages, strength=PROVED)
    at_rest = product((1e-6, 1e-3, 0.25, 0.5, 0.9), (1, 200, 10**7, 10**18))
    yield runs.at_rest(bound, at_rest, PROVED)
    for p, K in product((1.0, 0.5, 0.1), (1, 5)):
        best = float(pflmf.sharp_step_size(1.0, smoothness=1.0, rounds=1, participation=p,
                                           local_steps=K))  # fmt: skip
        at = {"p": p, "K": K}
        yield Fact("best eta L without noise", best, setting=at)
        yield Fact("there the bound, times T", 2.0 / best, "L(F^0 - F*)", setting=at)
