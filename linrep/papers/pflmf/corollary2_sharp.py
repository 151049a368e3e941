"""Corollary 2 from the sharp form of Theorem 1: its constants, and the best step size."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, equal, lines
from linrep.claims.measurements import relative
from linrep.papers.pflmf import model, runs
from linrep.papers.pflmf.model import NOISY
from linrep.theory import pflmf

_ROUNDS = (1.0, 2.0, 10.0, 100.0, 6400.0, 1e6, 1e12, 1e30, 1e60)
_NOISES = (0.0, 1e-3, 0.1, 10.0)


@lines("pflmf.corollary2.sharp", Region(L=(Open(0), None), root=(1, None)), steps=["substituted"])
def at_the_printed_step(L, root):
    """Both terms at eta = 1/(2 L root) are (4 L + 3/2)/(2 root - 1), of gap = sigma = 1."""
    x = 1 / (2 * root)  # root is that of T
    bounds = L / (x * root**2 * (1 - x)) + Fraction(3, 2) * x / (1 - x)
    return {"substituted": equal(bounds, (4 * L + Fraction(3, 2)) / (2 * root - 1))}


@lines("pflmf.corollary2.sharp", Region(x=(Open(0), Open(1)), s=(1, None)), steps=["the best step"])
def for_every_step(x, s):
    """G/(x (1 - x)) + N x/(1 - x) is at least 2 G (1 + s), s^2 = 1 + N/G."""
    # Over G: the difference is (1 - (1 + s) x)^2.
    return {"the best step": at_most(2 * (1 + s) * x * (1 - x), 1 + (s**2 - 1) * x**2)}


def both_sides(L, e, T, start):
    """Return both sides for L (u + v)^2/2, p = K = 1, eta = 1/(2 L), no noise.

    The minimum is reached in the first of T rounds; before it both gradients are L e.
    """
    return 2 * (L * e) ** 2 / T, start * L * (L * e**2 / 2) / T


FUNCTIONS = Region(L=(Open(0), None), e=(None, None), T=(1, None))


@lines("pflmf.corollary2.sharp", FUNCTIONS, steps=["attained"])
def attained(L, e, T):
    """By L (u + v)^2/2, p = K = 1, eta = 1/(2 L), no noise."""
    return {"attained": equal(*both_sides(L, e, T, 4))}


@lines("pflmf.corollary2.sharp", FUNCTIONS, family=True)
def example(L, e, T, *, start=4):
    """The same functions: the left side is at most the right one."""
    return at_most(*both_sides(L, e, T, start))


def _step(T, square) -> float:
    """Return eta L: 1/2 without noise, 1/(2 sqrt T) with it."""
    return 0.5 / float(np.sqrt(T)) if square else 0.5


def _attained(start, T_power) -> Cases:
    """Compare lhs and rhs of (uv - a)^2/(2 s^2) from u = v = s, uv - a = s, eta = 1/(2L).

    With s it tends to (u + v)^2/2, of which the first round takes the minimum and both sides are
    equal. L = 1 + 1/s, as for `pflmf.theorem1.sharp`. What later rounds add is left out.
    """
    cases = []
    for exponent, T in product((1, 3, 6, 9), (1, 4, 100)):
        s, one = Fraction(10) ** exponent, Fraction(1)
        f = model.Scalar((1 / s**2,), (s**2 - s,), (0,))
        L = 1 + 1 / s
        r = model.exact_round(f, s, [s], one, 1, 1 / (2 * L), L)
        left = (r.delta_U + r.delta_V()) / T
        right = model.rational(start) * L * r.value / model.power(Fraction(T), T_power)
        cases.append((left / right, one, {"s": str(s), "T": T, "p": 1, "K": 1}))
    return Cases(
        cases,
        quantity="left over right side",
        name="nearly (u + v)^2/2, in fractions",
        strength=PROVED,
        shown=("s", "T"),
    )


def _substituted():
    """Yield how far the bound of Theorem 1's sharp form is from those printed here."""
    for L, gap, square, T in product((0.25, 8.0), (0.5, 2.0), _NOISES, (1, 4, 100, 10**8)):
        sigma, at = np.sqrt(square), {"L": L, "gap": gap, "sigma^2": square, "T": T}
        given = {"smoothness": L, "rounds": T, "noise": sigma}
        printed = (4.0 * L * gap + 1.5 * square) / (2.0 * np.sqrt(T) - 1.0)
        best = 2.0 * L * gap / T * (1.0 + np.sqrt(1.0 + 1.5 * square * T / (L * gap)))
        steps = {"1/(2 L sqrt T)": 0.5 / (L * np.sqrt(T))}
        steps["best"] = pflmf.sharp_step_size(gap, **given)
        for (name, eta), right in zip(steps.items(), (printed, best), strict=True):
            bound = pflmf.sharp_stationarity_bound(gap, step_size=eta, **given)
            yield relative(bound.total, right), {**at, "eta": name}


def _best() -> Cases:
    """Compare the bound at the best step with that at others."""
    cases = []
    for square, T, x in product(_NOISES, (1, 10, 1000, 10**9), np.linspace(0.001, 0.999, 500)):
        given = {"smoothness": 1.0, "rounds": T, "noise": np.sqrt(square)}
        best = pflmf.sharp_step_size(1.0, **given)
        least, other = (
            float(pflmf.sharp_stationarity_bound(1.0, step_size=eta, **given).total)
            for eta in (best, x)
        )
        cases.append((least / other, 1.0, {"sigma^2": square, "T": T, "eta L": float(x)}))
    quantity = "bound over that at the step given"
    return Cases(cases, quantity=quantity, name="the best step", strength=PROVED)


@statement(
    "pflmf.corollary2.sharp",
    own=True,
    corrects="pflmf.corollary2",
    place="Corollary 2, with constants; not stated there",
    latex=r"\frac1T \sum_{t<T} (\Delta_U + p^2\Delta_V) \le \frac{4L(F^0 - F^\star) + \frac32"
    r"\sigma^2}{2\sqrt T - 1} \ \Big(\eta = \frac1{2L\sqrt T}\Big), \quad \frac{4L(F^0 - F^\star)}T"
    r" \ \Big(\sigma = 0,\ \eta = \frac1{2L}\Big), \quad \frac{2L(F^0 - F^\star)}T (1 + s) \ \Big("
    r"\eta = \frac1{L(1 + s)},\ s^2 = 1 + \frac{3\sigma^2T}{2L(F^0 - F^\star)}\Big)",
    plain="Corollary 2's rates, for Delta_U + p^2 Delta_V, have about half the constant of the "
    "start and three quarters of the noise's, and without noise a quarter, which is attained for "
    "p = K = 1; the last step size is the best for this bound.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.8},
    stronger={"p_power": -1, "start": -1, "noise": -1, "T_power": 1},
)
def corollary2_sharp(budget, rng, *, p_power=2, start=4, noise=1.5, T_power=1):
    """Substitute, and compare lhs and rhs: U fixed, at rest, on runs, and where it is attained.

    The three bounds are that of `pflmf.theorem1.sharp` at three step sizes. T_power is that in the
    start's term.
    """
    bound = runs.Bound(p_power, start / 4, noise, T_power, slack=1.0)
    yield _attained(start, T_power)
    yield Identity(_substituted(), 1e-12, name="substituted", strength=PROVED)
    yield _best()
    grid = product((1.0, 0.3, 0.1, 0.02, 1e-3, 1e-6), budget((1, 20), (1, 5, 20)), _ROUNDS, _NOISES)
    settings = []
    for p, K, T, square in grid:
        best = pflmf.sharp_step_size(1.0, smoothness=1.0, rounds=T, noise=np.sqrt(square))
        settings += [(p, K, eta_L, T, square) for eta_L in {_step(T, square), float(best)}]
    yield runs.exact(bound, settings, strength=PROVED)
    yield runs.at_rest(bound, [(_step(T, 1.0), T) for T in _ROUNDS], PROVED)
    instance, cells = runs.reference(rng), runs.Cells()
    sigma = float(np.sqrt(0.1 * instance.smoothness * instance.gap))
    T = budget((100, 800), (100, 800, 6400))
    for p, K, square, _ in product((1.0, 0.3, 0.1), (1, 5), (0.0, sigma**2), range(80)):
        for rounds in T:
            step = _step(rounds, square)
            cells.add(instance, bound, rng, p=p, K=K, T=(rounds,), eta_L=step, noise=square**0.5)
    yield cells.at_most_one("runs", PROVED)
