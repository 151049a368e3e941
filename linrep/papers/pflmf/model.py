"""Rounds of pFL^MF on which statements are tried: what they assume, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Hypothesis, Reader, Search, search_instances
from linrep.claims.measurements import Array
from linrep.problems import Objectives, SoftmaxObjectives
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds

# Hypotheses.


def stops_falling(problem: Objectives, rng=0) -> bool:
    """Tell whether F stops falling, over models of sizes up to a million in random directions."""
    directions = np.random.default_rng(rng).standard_normal((200, problem.n, problem.d))
    _, middle, far = (
        min(problem.value(size * theta) for theta in directions) for size in (1.0, 1e3, 1e6)
    )
    return far >= 100.0 * min(middle, 0.0)


SMOOTH = Hypothesis(
    "Assumption 1",
    "the gradients in U and in V change by at most L_U and L_V times ||U_1 - U_2||_F + "
    "||V_1 - V_2||_F, on a product of convex sets, of U and of V, that the iterates do not leave",
    # Then local_smoothness has constants on every ball.
    lambda problem, participants: bool(np.isfinite(problem.smoothness).all()),
    printed="the same for all U_1, U_2 and V_1, V_2",
    change="corrected",
)
BOUNDED = Hypothesis(
    "lower bound",
    "F is bounded from below, by F*",
    lambda problem, participants: stops_falling(problem),
    printed="F*, which the bound contains",
)
NOISE = Hypothesis(
    "Assumption 2",
    "noise is added to the gradients in U and in V, of mean 0 and E||noise||^2 at most sigma^2, "
    "independent of who takes part and, in V, of other clients' noise; what is drawn is normal",
    lambda problem, participants: True,
    printed="an unbiased stochastic gradient estimator with bounded variance",
    change="narrower",
)
ASSUMPTIONS = (SMOOTH, BOUNDED)
NOISY = (*ASSUMPTIONS, NOISE)

# Clients' functions.

KINDS = ("identity", "own", "indefinite", "logistic", "cosine", "affine")
QUADRATIC = ("identity", "own", "indefinite")


def affine(C) -> Objectives:
    """Return the functions c_i'x."""
    return lr.CustomObjectives(
        lambda i, x: (float(C[i] @ x), C[i]), n=len(C), d=C.shape[1], smoothness=np.zeros(len(C))
    )


def cosine(A=((0.0,),)) -> Objectives:
    """Return the functions sum_j cos(x_j - a_ij): bounded, and their gradients are not linear."""
    A = np.asarray(A)
    return lr.CustomObjectives(
        lambda i, x: (float(np.sum(np.cos(x - A[i]))), -np.sin(x - A[i])),
        n=len(A),
        d=A.shape[1],
        smoothness=np.ones(len(A)),
    )


def drawn(rng, kind, n, d) -> Objectives:
    """Return functions of a kind; of three samples a client, and classes, where there are any."""
    A = rng.standard_normal((n, d))
    if kind == "affine":
        return affine(A)
    if kind == "cosine":  # not convex: gradients grow along the first steps
        return cosine(A)
    if kind in ("logistic", "softmax"):
        X, offsets = rng.standard_normal((3 * n, d)), 3 * np.arange(n + 1)
        if kind == "softmax":
            labels = rng.integers(0, 3, 3 * n).astype(float)
            return SoftmaxObjectives(lr.ClientData(X, labels, offsets), 3)
        return lr.LogisticObjectives(lr.ClientData(X, rng.choice([-1.0, 1.0], 3 * n), offsets))
    if kind == "identity":
        return lr.QuadraticObjectives(A)
    roots = rng.standard_normal((n, d, d))
    H = roots + roots.swapaxes(1, 2) if kind == "indefinite" else roots @ roots.swapaxes(1, 2)
    return lr.QuadraticObjectives(A, H)


# A round, with an L that is valid where it goes.

CHANCES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
STEPS = (1, 2, 5, 20, 200)
#: eta L; Theorem 1 asks that it be below 1/2.
SIZES = (0.001, 0.01, 0.1, 0.3, 0.499)
FLAT = 1e-4
TAIL = 9.0  # standard deviations of noise that the ball has room for


class Case(NamedTuple):
    """A round: what it starts from, its setting with constants valid on its way, expectations."""

    problem: Objectives
    U: Array
    V: Array
    setting: theory.Setting
    round: theory.Round
    kind: str

    def instance(self) -> dict[str, Any]:
        """Return what makes the round again: plain numbers."""
        s = self.setting
        found = {
            "kind": self.kind, "p": s.participation, "K": s.local_steps, "eta": s.step_size,
            "eta L": s.step_size * s.largest, "L_U": s.in_U, "L_V": s.in_V, "sigma": s.noise,
            "U": self.U.tolist(), "V": self.V.tolist(),
        }  # fmt: skip
        if isinstance(self.problem, lr.QuadraticObjectives):
            found["A"] = self.problem.A.tolist()
            if self.problem.H is not None:
                found["H"] = self.problem.H.tolist()
        return found

    def rounding(self) -> float:
        """Return what rounding may do to differences of the objective.

        For quadratic functions it is that of U v_i - a_i, which may cancel.
        """
        r = self.round
        room = abs(r.value) + abs(r.after_V) + abs(r.after_U) + abs(r.after_both)
        if isinstance(self.problem, lr.QuadraticObjectives):
            theta, curvature = self.V @ self.U.T, self.problem.smoothness
            lengths = np.linalg.norm(theta, axis=1) + np.linalg.norm(self.problem.A, axis=1)
            errors = np.linalg.norm(theta - self.problem.A, axis=1)
            room += float(np.mean(curvature * lengths * (errors + 1e-13 * lengths)))
        return 1e-13 * room

    def allowed(self, left: float, right: float) -> float:
        """Return the right side with room for rounding."""
        return right + 1e-9 * (abs(left) + abs(right)) + self.rounding()

    def over_both(self, left: float, right: float, room: float = 0.0) -> tuple[float, float]:
        """Return both sides over the sum of their sizes, the right one with room for rounding."""
        scale = max(abs(left) + abs(right), 1e-300)
        return left / scale, (self.allowed(left, right) + room) / scale

    @property
    def unit(self) -> float:
        """eta^2 L sigma^2."""
        s = self.setting
        return s.step_size**2 * s.largest * s.noise**2


def valid(problem, U, V, p, K, eta_L, noise=0.0, kind="", least=0.0) -> Case | None:
    """Return the round with eta = eta_L/L, L valid on a ball that it stays in; None without one.

    The ball is that of the round itself: its radii are what U and V move by if everyone takes
    part, and nine standard deviations of noise. `noise` is relative to the gradients' norm, and
    sigma at least `least`.
    """
    U, V = np.asarray(U, dtype=float), np.asarray(V, dtype=float)
    _, in_U, in_V = problem.factor_gradients(U, V)
    sigma = max(least, noise * float(np.sqrt(np.sum(in_U**2) + np.sum(in_V**2))))
    radii = np.zeros(2)
    for _ in range(60):
        found = theory.local_smoothness(problem, U, V, *radii)
        if not (min(found.in_U, found.in_V) > 0.0 and found.largest < 1e100):
            return None
        step = eta_L / found.largest
        s = theory.Setting(p, K, step, found.in_U, found.in_V, sigma)
        path = pflmf_rounds.local_path(s, problem, U, V)
        needed = np.array(
            [step * np.linalg.norm(in_U), np.sqrt(np.sum((path.means - V) ** 2, axis=(1, 2)).max())]
        )
        if path.spreads is not None:
            widest = np.einsum("tnaa->t", path.spreads).max()
            needed += TAIL * np.array([step * sigma, np.sqrt(widest)])
        if (needed <= radii).all():
            expected = pflmf_rounds.round_along(s, problem, U, V, path)
            return Case(problem, U, V, s, expected, kind)
        radii = np.maximum(radii, needed) * (1.0 + 1e-6)
    return None


def certain(*arguments, **options) -> Case:
    """Return the round of :func:`valid` where there is one."""
    case = valid(*arguments, **options)
    assert case is not None
    return case


def at_random(rng, count, kinds=KINDS, noisy=False, sizes=SIZES) -> Iterator[Case]:
    """Yield rounds of random problems and states, over the whole range of p, K and eta L."""
    made = 0
    while made < count:
        kind = str(rng.choice(kinds))
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        k = int(rng.integers(1, min(n, d) + 1))
        problem = drawn(rng, kind, n, d)
        lengths = 10.0 ** rng.uniform(-2.0, 0.7, 2)
        U, V = (size * rng.standard_normal((m, k)) for size, m in zip(lengths, (d, n), strict=True))
        if rng.random() < 0.2:
            V = 0.0 * V  # the start of the experiments: U does not move
        noise = 10.0 ** rng.uniform(-2.0, 1.0) if noisy and rng.random() < 0.7 else 0.0
        p, K, eta_L = rng.choice(CHANCES), rng.choice(STEPS), rng.choice(sizes)
        noise = noise if kind in QUADRATIC else 0.0
        case = valid(problem, U, V, float(p), int(K), float(eta_L), noise, kind)
        if case is not None:
            made += 1
            yield case


def flat(p, K, eta_L, noise=0.0, n=1) -> Case:
    """Return a round of |u v_i|^2/2 at u = 1 and small v: nearly |v|^2/2, L being 1/n."""
    problem = lr.QuadraticObjectives(np.zeros((n, 1)))
    return certain(problem, [[1.0]], np.full((n, 1), FLAT), p, K, eta_L, noise, "flat")


def steep(eta_L, K=1, noise=1e3, p=1.0) -> Case:
    """Return a round of (u v - 1e-9)^2/2 at u = 0, v = 1: nearly u^2/2, L being 1."""
    problem = lr.QuadraticObjectives(np.full((1, 1), 1e-9))
    return certain(problem, [[0.0]], [[1.0]], p, K, eta_L, noise, "steep")


def at_rest(p, K, eta_L, sigma=1e-5) -> Case:
    """Return a round of (u v - 1)^2/2 at its minimum u = v = 1: noise alone, in both curvatures."""
    one = np.ones((1, 1))
    problem = lr.QuadraticObjectives(one)
    return certain(problem, one, one, p, K, eta_L, kind="at rest", least=sigma)


def bilinear(p, K, eta_L) -> Case:
    """Return a round of affine functions, for which L holds everywhere; U's gradient is zero."""
    problem = affine(np.array([[1.0], [-1.0]]))
    return certain(problem, [[1.0]], np.ones((2, 1)), p, K, eta_L, kind="affine, c_i = 1, -1")


def grid(of: Callable[..., Case], steps=STEPS, sizes=SIZES, chances=CHANCES, **options):
    """Return rounds of a family over the grid of p, K and eta L."""
    return [of(*setting, **options) for setting in product(chances, steps, sizes)]


def rounds(budget, rng) -> list[Case]:
    """Return |u v_i|^2/2 with small v over p, K and eta L, of one client and of three with noise.

    Beside them are random rounds, with exact gradients and with noise.
    """
    over: dict[str, Any] = {}
    if budget.name == "quick":
        over = {
            "chances": (0.02, 0.25, 0.5, 1.0),
            "steps": (1, 5, 200),
            "sizes": (0.01, 0.1, 0.499),
        }
    count = budget(60, 1000, 10_000)
    return [
        *grid(flat, **over),
        *grid(flat, **over, n=3, noise=1.0),
        *at_random(rng, count),
        *at_random(rng, count, QUADRATIC, noisy=True),
    ]


def read(reader: Reader, shape) -> Case | None:
    """Return a round of quadratic functions h_i (u v_i - a_i)^2/2, one column, read off numbers.

    Without noise where it has no number, or none that is positive; eta L is below `halves`/2.
    """
    first, steps, size = reader.numbers(3)
    u, V, A, H = reader.numbers(1, 1), *(reader.numbers(shape["n"], 1) for _ in range(3))
    sigma = max(reader.number(), 0.0) if shape["noisy"] else 0.0
    p, eta_L = 1.0 / (1.0 + np.exp(-first)), 0.5 * shape["halves"] / (1.0 + np.exp(-size))
    K = 1 + int(min(4.0 * abs(steps), 15.0))
    largest = max(float(np.abs(part).max()) for part in (u, V, A, H))
    if p < 0.01 or eta_L < 1e-4 or max(largest, sigma) > 1e3:
        return None
    problem = lr.QuadraticObjectives(A, H[:, :, None])
    return valid(problem, u, V, p, K, eta_L, kind="h (u v - a)^2/2", least=sigma)


# An inequality on rounds.

QUANTITY = "left side over the sum of both"
#: Left and right side of a round's inequality.
Sides = Callable[[Case], tuple[float, float]]


def compared(found: Iterable[tuple[Case, float, float, dict]], name: str, strength="") -> Cases:
    """Return left <= right for rounds with both and instances, relative to their sizes."""
    cases = [(*case.over_both(left, right), at) for case, left, right, at in found]
    return Cases(cases, quantity=QUANTITY, name=name, strength=strength)


def tried(cases: Iterable[Case], sides: Sides, name: str, strength: str = "") -> Cases:
    """Return left <= right for every round."""
    return compared(((case, *sides(case), case.instance()) for case in cases), name, strength)


def searched(
    sides: Sides, budget, rng, name="search", noisy=True, strength="", halves=1
) -> Search:  # fmt: skip
    """Search rounds of one and two clients for left > right; sigma is searched, too, if `noisy`.

    eta L is below `halves`/2.
    """

    def both(case: Case) -> tuple[float, float]:
        left, right = sides(case)
        return left, case.allowed(left, right)

    shapes = [{"n": n, "noisy": int(noisy), "halves": halves} for n in (1, 2)]
    return search_instances(both, shapes, read, budget, rng, name=name, strength=strength)


def everywhere(
    cases: Iterable[Case], sides: Sides, budget, rng, prefix="", noisy=True, strength=""
) -> Iterator[Cases | Search]:
    """Yield left <= right on all these rounds, and in a search."""
    yield tried(cases, sides, f"{prefix}rounds", strength)
    yield searched(sides, budget, rng, f"{prefix}search", noisy, strength)


# The same in rational numbers: the factors are scalars u and v_i. Expectations are those of first
# and second moments, so that they are the same for all independent noise.

Rational = Fraction | int


def rational(x: float | Fraction) -> Fraction:
    """Return the fraction that a short decimal number stands for."""
    return Fraction(x).limit_denominator(10**6)


def power(p: Fraction, exponent: float | Fraction) -> Fraction:
    """Return p^exponent; a lower bound, near to it, where the exponent is not whole."""
    if Fraction(exponent).denominator == 1:
        return p ** int(exponent)
    from flint import arb, fmpq

    power = rational(exponent)
    bound = arb(fmpq(p.numerator, p.denominator)) ** fmpq(power.numerator, power.denominator)
    mantissa, binary = bound.lower().man_exp()
    return int(mantissa) * Fraction(2) ** int(binary)


class Scalar(NamedTuple):
    """Functions h_i (x - a_i)^2/2 + c_i x of n clients."""

    h: tuple[Rational, ...]
    a: tuple[Rational, ...]
    c: tuple[Rational, ...]

    def mean(self, u, spread_u, heads) -> Fraction:
        """Return E F of independent u and v_i: of each the mean and the variance."""
        total = Fraction(0)
        for h, a, c, (v, spread) in zip(*self, heads, strict=True):
            square = (u**2 + spread_u) * (v**2 + spread)
            total += Fraction(h, 2) * (square - 2 * a * u * v + a**2) + c * u * v
        return total / len(self.h)

    def slopes(self, u, v) -> list[Fraction]:
        """Return f_i'(u v_i)/n."""
        n = len(self.h)
        return [
            Fraction(h * (u * each - a) + c) / n for h, a, c, each in zip(*self, v, strict=True)
        ]


#: x^2/2 and (x - 1)^2/2 of one client.
SQUARE, AROUND_ONE = Scalar((1,), (0,), (0,)), Scalar((1,), (1,), (0,))


class Exact(NamedTuple):
    """Expectations of a round in its setting; steps and masked are of each local step."""

    p: Fraction
    K: int
    eta: Fraction
    L: Fraction
    variance: Fraction
    value: Fraction
    after_V: Fraction
    after_U: Fraction
    after_both: Fraction
    delta_U: Fraction
    steps: list[Fraction]
    masked: list[Fraction]
    instance: dict

    @property
    def eta_v(self) -> Fraction:
        """The heads' step size, p eta/K."""
        return self.p * self.eta / self.K

    def delta_V(self, masked: bool = False) -> Fraction:
        """Return the mean of E||grad_V||^2 over local steps, or of E||D grad_V||^2/p."""
        chosen = [each / self.p for each in self.masked] if masked else self.steps
        return sum(chosen, Fraction(0)) / self.K


def exact_round(f: Scalar, u, v, p, K, eta, L, variance=Fraction(0), steps=None) -> Exact:
    """Return a round of Appendix A.1 with eta_v = p eta/K; `variance` is sigma^2.

    V^+ is V_K, or V_k where it is broken off after k = `steps` local steps.
    """
    n, eta_v = len(v), p * eta / K
    slopes = f.slopes(u, v)
    in_U = sum((x * each for x, each in zip(slopes, v, strict=True)), Fraction(0))
    new_u, spread_u = u - eta * in_U, eta**2 * variance
    still = heads = [(Fraction(each), Fraction(0)) for each in v]
    moving = []
    for _ in range(K if steps is None else steps):
        gradients = [u * x for x in f.slopes(u, [m for m, _ in heads])]
        curvatures = [Fraction(h) * u**2 / n for h in f.h]
        squares = [
            g**2 + b**2 * s for g, b, (_, s) in zip(gradients, curvatures, heads, strict=True)
        ]
        moving.append(sum(squares, Fraction(0)))
        heads = [
            (m - eta_v * g, (1 - eta_v * b) ** 2 * s + eta_v**2 * variance / n)
            for g, b, (m, s) in zip(gradients, curvatures, heads, strict=True)
        ]

    def after(at, spread):
        """Return E F, client by client over who takes part: the mean is linear in each."""
        return p * f.mean(at, spread, heads) + (1 - p) * f.mean(at, spread, still)

    values = (
        f.mean(u, 0, still),
        after(u, 0),
        f.mean(new_u, spread_u, still),
        after(new_u, spread_u),
    )
    at = {
        "h": f.h, "a": f.a, "c": f.c, "u": str(u), "v": [str(x) for x in v], "p": str(p), "K": K,
        "eta": str(eta), "L": str(L), "sigma^2": str(variance),
    }  # fmt: skip
    steps_V = [p * x + (1 - p) * moving[0] for x in moving]
    return Exact(
        p, K, eta, L, variance, *values, in_U**2, steps_V, [p * x for x in moving], at
    )  # fmt: skip
