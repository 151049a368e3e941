"""Rounds in rational numbers, for comparisons without rounding.

The factors are scalars u and v_i, the functions f_i(x) = h_i (x - a_i)^2/2 + c_i x. Expectations of
them are those of first and second moments, so that they are the same for all independent noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

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
        p,
        K,
        eta,
        L,
        variance,
        f.mean(u, 0, still),
        after(u, 0),
        f.mean(new_u, spread_u, still),
        after(new_u, spread_u),
        in_U**2,
        [p * x + (1 - p) * moving[0] for x in moving],
        [p * x for x in moving],
        {
            "h": f.h,
            "a": f.a,
            "c": f.c,
            "u": str(u),
            "v": [str(x) for x in v],
            "p": str(p),
            "K": K,
            "eta": str(eta),
            "L": str(L),
            "sigma^2": str(variance),
        },
    )
