"""Rounds and bounds of runs in rational numbers, for counterexamples without rounding.

The factors are scalars u and v_i, the functions f_i(x) = h_i (x - a_i)^2/2 + c_i x. Expectations of
them are those of first and second moments, so that they are the same for all independent noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

Rational = Fraction | int


def rational(x: float) -> Fraction:
    """Return the fraction that a short decimal number stands for."""
    return Fraction(x).limit_denominator(10**6)


def power(p: Fraction, exponent: float) -> Fraction | float:
    """Return p^exponent, a fraction for whole exponents."""
    return p ** int(exponent) if float(exponent).is_integer() else float(p) ** exponent


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
    heads = [(Fraction(each), Fraction(0)) for each in v]
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
    still = [(Fraction(each), Fraction(0)) for each in v]

    def after(at, spread):
        """Return E F, client by client over who takes part: the mean is linear in each."""
        return p * f.mean(at, spread, heads) + (1 - p) * f.mean(at, spread, still)

    return Exact(
        p, K, eta, L, variance, f.mean(u, 0, still), after(u, 0), f.mean(new_u, spread_u, still),
        after(new_u, spread_u), in_U**2, [p * x + (1 - p) * moving[0] for x in moving],
        [p * x for x in moving],
        {"h": f.h, "a": f.a, "c": f.c, "u": str(u), "v": [str(x) for x in v], "p": str(p), "K": K,
         "eta": str(eta), "L": str(L), "sigma^2": str(variance)},
    )  # fmt: skip


def square(p: Fraction, K: int, eta: Fraction, v: Fraction) -> Exact:
    """Return a round of (uv)^2/2 at u = 1 and 0 < v <= 1/2.

    With eta < 1/2 no round leaves [0, 1] x [0, 1/2], where |v^2|, |2uv| and |u^2|, the second
    derivatives, are at most 1: L = 1, and F* = 0.
    """
    return exact_round(Scalar((1,), (0,), (0,)), Fraction(1), [v], p, K, eta, Fraction(1))


def affine(p: Fraction, K: int, eta: Fraction) -> Exact:
    """Return a round of f_1(x) = x and f_2(x) = -x at u = v_1 = v_2 = 1.

    The gradient in U is (v_1 - v_2)/2, that in V is (u, -u)/2: Lipschitz everywhere, with constants
    1/sqrt 2, so that L = 1 is one.
    """
    f = Scalar((0, 0), (0, 0), (1, -1))
    one = Fraction(1)
    return exact_round(f, one, [one, one], p, K, eta, one)


class Run(NamedTuple):
    """What a run of (uv)^2/2 from u = 1 is known to do, and Theorem 1's constants for it."""

    p: Fraction
    eta: Fraction
    L: Fraction
    T: int
    variance: Fraction
    gap: Fraction
    least_V: Fraction  # of (1/T) sum_t E grad_V^2, K = 1

    def sides(self, p_power: float, start: float, noise: float) -> tuple:
        """Return a lower bound of the left side, and the right side."""
        left = power(self.p, p_power) * self.least_V
        slack = 1 - 2 * self.eta * self.L
        right = rational(start) * self.gap / (self.eta * self.T * slack)
        return left, right + rational(noise) * self.eta * self.L * self.variance / slack

    def instance(self) -> dict:
        """Return its numbers."""
        return {"F": "(uv)^2/2", "u": 1, "v^2": str(2 * self.gap), "K": 1, "p": str(self.p),
                "eta": str(self.eta), "L": str(self.L), "T": self.T,
                "sigma^2": str(self.variance)}  # fmt: skip


def run(p: Fraction, T: int, v: Fraction, eta=Fraction(1, 4), sigma=Fraction(0)) -> Run:
    """Return bounds of a run whose noise is +-sigma, for U moved by all or by participants.

    |v_t| never exceeds M = v + T p eta sigma, nor |u_t - 1| the number d = T eta (2 M^2 + sigma).
    On [1 - d, 1 + d] x [-M, M], with M <= 1/2, the second derivatives are at most L = (1 + d)^2. A
    participant's E v^2 falls by at most the factor (1 - p eta L)^2, noise adds to it, and
    (1 - x)^t >= 1 - t x. `eta` is that for L = 1; the step size is eta/L.
    """
    M = v + T * p * eta * sigma
    d = T * eta * (2 * M**2 + sigma) if sigma else T * eta * v**2
    assert 2 * M <= 1
    assert d < 1
    # Without noise u and v only fall: L = 1.
    L = (1 + d) ** 2 if sigma else Fraction(1)
    eta = eta / L
    lost = p * (1 - (1 - p * eta * L) ** 2)
    share = 1 - Fraction(T - 1, 2) * lost
    return Run(p, eta, L, T, sigma**2, v**2 / 2, (1 - d) ** 4 * v**2 * share)
