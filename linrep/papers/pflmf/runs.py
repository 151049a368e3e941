"""Runs that Theorem 1 is about: instances, the balls their smoothness is of, ratios, readings."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Curve, Mean, Missing, Together
from linrep.claims.evidence import LOWER
from linrep.claims.tables import curve
from linrep.papers.pflmf import from_a_minimum as minimum
from linrep.papers.pflmf.counterexamples import theorem1, theorem1_noise
from linrep.papers.pflmf.model import power, rational
from linrep.problems.objectives import Objectives
from linrep.theory import pflmf
from linrep.theory.pflmf_rounds import fixed_U_average


class Instance(NamedTuple):
    """A problem, a start, the radii of the ball that smoothness is of, and inf F of that rank."""

    problem: Objectives
    U: np.ndarray
    V: np.ndarray
    radii: tuple[float, float]
    infimum: float = 0.0

    @property
    def smoothness(self) -> float:
        """L on the ball."""
        return pflmf.local_smoothness(self.problem, self.U, self.V, *self.radii).largest

    @property
    def gap(self) -> float:
        """F at the start less its infimum."""
        return self.problem.value(self.V @ self.U.T) - self.infimum


def reference(rng, scale=5e-4, radii=(0.3, 0.1), n=40, d=3, k=3) -> Instance:
    """Return functions |x - a_i|^2/2, centres scale N(0, 1), from U = I and V = 0.

    With a scale of .05 runs leave the ball of these radii, so that an L from there says nothing.
    """
    problem = lr.QuadraticObjectives(scale * rng.standard_normal((n, d)))
    best = problem.best(k)
    assert best is not None
    return Instance(problem, np.eye(d, k), np.zeros((n, k)), radii, best.value)


def mirrored(rng, scale=5e-4, n=40, k=3) -> Instance:
    """Return an instance that starts from U = 0 and heads N(0, 1) that fit the centres."""
    V = rng.standard_normal((n, k))
    A = scale * V @ rng.standard_normal((k, k))
    return Instance(lr.QuadraticObjectives(A), np.zeros((k, k)), V, (0.02, 0.1))


class Averages(NamedTuple):
    """Both parts of the left side, and whether the run stayed in the ball; by number of rounds."""

    in_U: np.ndarray
    in_V: np.ndarray
    inside: np.ndarray


def averages(instance: Instance, rng, *, p, T: Sequence[int], eta_L=0.25, noise=0.0, K=1):
    """Return averages of a run to the last T, at eta_v = p eta/K."""
    trace = lr.pflmf(
        instance.problem, k=instance.U.shape[1], step_size=eta_L / instance.smoothness,
        head_step_size="theorem", participation=p, local_steps=K, aggregate="full",
        gradient_noise=noise, start=(instance.U, instance.V), rounds=max(T), record=list(T),
        rng=rng,
    )  # fmt: skip
    if trace.stop_reason == "diverged":
        nothing = np.full(len(T), np.nan)
        return Averages(nothing, nothing, np.zeros(len(T), dtype=bool))
    inside = (trace["reach_U"] <= instance.radii[0]) & (trace["reach_V"] <= instance.radii[1])
    return Averages(trace["average_U"][1:], trace["average_V"][1:], inside[1:])


class Bound(NamedTuple):
    """Theorem 1 with its constants: those at the start's and the noise's term, powers of p and T.

    Delta_V has the weight p^p_power, T in the start's term the power T_power, and both terms are
    over 1 - slack eta L.
    """

    p_power: float = 0.0
    start: float = 2.0
    noise: float = 2.0
    T_power: float = 1.0
    slack: float = 2.0

    def left(self, in_U, in_V, p):
        """Return the left side."""
        return in_U + p**self.p_power * in_V

    def right(self, gap, L, eta, T, sigma=0.0):
        """Return the right side."""
        L = 0.5 * self.slack * L
        printed = pflmf.theorem1(gap, smoothness=L, step_size=eta, rounds=T, noise=sigma)
        power = np.asarray(T, dtype=float) ** (1.0 - self.T_power)
        return 0.5 * self.start * printed.start * power + self.noise / self.slack * printed.noise

    def of(self, p, K) -> Bound:
        """Return the same for every p and K."""
        return self


class Sharp(NamedTuple):
    """The sharp form, with its constants of p and K each times a factor."""

    p_power: float = 2.0
    start: float = 1.0
    noise: float = 1.0
    slack: float = 1.0

    def of(self, p, K) -> Bound:
        """Return it at p and K."""
        c, omega = pflmf.sharp_constants(p, K)
        return Bound(self.p_power, self.start, self.noise * omega, slack=self.slack * c)


SETTING = ["p", "T", "K", "eta L", "sigma"]
RATIO = "left over right side"


class Cells:
    """Ratios of left to right sides of runs, by setting; settings that left the ball are void."""

    def __init__(self):
        self.rows: list[tuple] = []

    def add(self, instance, bound, rng, *, p, T, eta_L=0.25, noise=0.0, K=1):
        """Add a run, at each T."""
        found = averages(instance, rng, p=p, T=T, eta_L=eta_L, noise=noise, K=K)
        L = instance.smoothness
        of = bound.of(p, K)
        right = of.right(instance.gap, L, eta_L / L, np.array(T, dtype=float), noise)
        left = of.left(found.in_U, found.in_V, p)
        with np.errstate(divide="ignore"):
            columns = zip(T, left, left / right, found.inside, strict=True)
        self.rows += [(p, rounds, K, eta_L, noise, *more) for rounds, *more in columns]

    @property
    def table(self) -> pd.DataFrame:
        """Runs of settings of which none left the ball."""
        rows = pd.DataFrame(self.rows, columns=[*SETTING, "left", "ratio", "inside"])
        return rows[rows.groupby(SETTING)["inside"].transform("all")]

    def at_most_one(self, name, strength="") -> Together | Missing:
        """Return for every setting that the mean ratio is at most 1, the largest one first."""
        planned = len({row[: len(SETTING)] for row in self.rows})
        parts = [
            Mean(
                np.minimum(group["ratio"], 1e300),
                at_most=1.0,
                weight=1.0 / planned,
                quantity=RATIO,
                strength=strength,
                deterministic=(key[0], key[-1]) == (1.0, 0.0),  # all clients, no noise
                setting=dict(zip(SETTING, map(float, key), strict=True)),
            )
            for key, group in self.table.groupby(SETTING)
        ]
        if not parts:
            return Missing("every setting left the ball", "a larger ball", name=name)
        parts.sort(key=lambda part: -part.samples.mean())
        return Together(parts, left_out=1.0 - len(parts) / planned, name=name)

    def curve(self) -> Curve:
        """Return the mean ratio by p, for each T."""
        points = self.table.groupby(["p", "T"], as_index=False)["ratio"].mean()
        return curve(
            panel=RATIO, series=[f"T = {T}" for T in points["T"]], x=points["p"], y=points["ratio"],
            predicted=1.0, xlabel="p", ylabel=RATIO, allowed="below",
        )  # fmt: skip


def exact(
    bound: Bound | Sharp, settings, name: str = "U fixed, exact", strength: str = ""
) -> Cases:
    """Compare lhs and rhs of runs with U fixed, L the curvature h = 1, F^0 - F* = 1.

    Settings have p, K, eta_L, T and noise, which is sigma^2 in these units.
    """
    cases = []
    for p, K, eta_L, T, square in settings:
        sigma = float(np.sqrt(square))
        s = pflmf.Setting(p, K, eta_L, 1.0, 1.0, noise=sigma)
        in_V = fixed_U_average(s, 1.0, 2.0, T)
        of = bound.of(p, K)
        ratio = float(of.left(0.0, in_V, p) / of.right(1.0, 1.0, eta_L, float(T), sigma))
        where = {"p": p, "K": K, "eta L": eta_L, "T": T, "sigma^2 over L(F0 - F*)": square}
        cases.append((ratio, 1.0, where))
    return Cases(cases, quantity=RATIO, name=name, strength=strength, shown=("p", "T"))


def at_rest(bound: Bound | Sharp, settings, strength: str = "") -> Cases:
    """Compare lhs and rhs from the minimum of (uv - 1)^2/2, p = K = 1, as the noise tends to 0.

    u = v = 1, L = 1 and F^0 = F*: the error uv - 1 takes itself times 1 - 2 eta less eta times both
    noises, and both gradients are the error. Over sigma^2; settings have eta L and T.
    """
    cases = []
    for x, T in settings:
        rate = np.log1p(-4.0 * x * (1.0 - x)) if x != 0.5 else -np.inf  # of E error^2
        reached = 0.5 * x / (1.0 - x)
        started = -np.expm1(T * rate) / (4.0 * x * (1.0 - x) * T)  # mean of the powers of its exp
        left = 2.0 * reached * (1.0 - started)
        right = bound.of(1.0, 1).right(0.0, 1.0, x, float(T), 1.0)
        cases.append((left / right, 1.0, {"p": 1, "K": 1, "eta L": x, "T": T, "F^0 - F*": 0}))
    name = "at a minimum, little noise, exact"
    return Cases(cases, quantity=RATIO, name=name, strength=strength, shown=("eta L", "T"))


#: Where the method whose rates are meant is left open.
WHOSE = "the sequence generated by pFL^MF: Appendix A.1 and Algorithm 1 differ"


def from_a_minimum() -> Cases:
    """Return squared gradients of Algorithm 1 where F^0 - F* = 0, which a constant does not change.

    Of two rounds, of which in the first client 1 alone takes part with probability p (1 - p); p^2
    weighs V's gradients, too. In fractions.
    """
    cases = []
    for p in (Fraction(1, 2), Fraction(1, 10)):
        start, after = minimum.squares()
        mean = p * (1 - p) * p**2 * after / 2
        at = {"p": str(p), "T": 2, "eta": str(minimum.ETA), "gradients at the start": str(start)}
        cases.append((mean, Fraction(0), at))
    return Cases(
        cases,
        quantity="mean squared gradient where F^0 = F*",
        name="U follows the participants' mean, of exact gradients",
        measured_is=LOWER,
        shown=("p", "T"),
    )


def by_hand(bound: Bound, noisy: bool = False, strength: str = "") -> Cases:
    """Return lower bounds of the left side over the right one for (uv)^2/2, in rational numbers.

    They hold whether U moves with all clients or with the participants: there is one client. With
    noise the step size is that of Corollary 2.
    """
    start, noise, cases = rational(bound.start), rational(bound.noise), []
    for p, T in (
        [(theorem1_noise.P, theorem1_noise.T)]
        if noisy
        else [(Fraction(1, 10), 200), (Fraction(1, 4), 30)]
    ):
        if noisy:
            least, gap, L, eta = theorem1_noise.terms()
            sigma = theorem1_noise.SIGMA
        else:
            L, eta, sigma = Fraction(1), Fraction(1, 4), Fraction(0)
            least, gap, _ = theorem1.terms(p, T, eta)
        right = (start * gap / (eta * T) + noise * eta * L * sigma**2) / (1 - 2 * eta * L)
        at = {"F": "(uv)^2/2", "u": 1, "v^2": str(2 * gap), "K": 1, "p": str(p), "eta": str(eta)}
        at |= {"L": str(L), "T": T, "sigma^2": str(sigma**2)}
        cases.append((power(p, bound.p_power) * least / right, Fraction(1), at))
    return Cases(
        cases,
        name="(uv)^2/2, in fractions",
        quantity=RATIO,
        strength=strength,
        shown=("p", "T"),
        measured_is=LOWER,
    )
