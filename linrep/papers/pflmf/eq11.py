"""(11): the second moment of the participants' stochastic gradients in V, along the local steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Identity, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.claims.measurements import Array, relative
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import eq11 as growing
from linrep.papers.pflmf.model import NOISE, QUANTITY, Case
from linrep.theory import pflmf_rounds


class Moments(NamedTuple):
    """Of every pattern of participation (2^n,): at one local step, given D."""

    weights: Array  # probabilities
    left: Array  # E||D (grad_V(U, V_k) + noise)||^2
    masked: Array  # E||D grad_V(U, V_k)||^2
    whole: Array  # E||grad_V(U, V_k)||^2
    norms: Array  # ||D||_2^2

    def mean(self, values: Array) -> float:
        """Return the expectation over participation."""
        return float(self.weights @ values)


def curvatures(problem) -> Array:
    """Return the clients' H_i, shape (n, d, d)."""
    H = np.eye(problem.d) if problem.H is None else problem.H
    return np.broadcast_to(H, (problem.n, problem.d, problem.d))


def moments(case: Case, k: int) -> Moments:
    """Enumerate the patterns of participation; every client's noise has variance sigma^2/n."""
    n, p = case.problem.n, case.setting.participation
    heads = pflmf_rounds.local_path(case.setting, case.problem, case.U, case.V)

    def squares(k):
        """Return E of every client's squared gradient in V at a local step, if it takes part."""
        found = np.sum(case.problem.factor_gradients(case.U, heads.means[k]).in_V ** 2, axis=1)
        if heads.spreads is not None:
            G = case.U.T @ curvatures(case.problem) @ case.U / n
            found = found + np.trace(G @ heads.spreads[k] @ G, axis1=1, axis2=2)
        return found

    still, moving = squares(0), squares(k)
    D = np.array(list(product((0.0, 1.0), repeat=n)))
    count, masked = D.sum(axis=1), D @ moving
    return Moments(
        p**count * (1.0 - p) ** (n - count),
        masked + case.setting.noise**2 * count / n,
        masked,
        masked + (1.0 - D) @ still,
        (count > 0.0).astype(float),
    )


def cosines(chances) -> list[Case]:
    """Return rounds of cos(u v) at u = 1, v = 0.3, bounded functions whose gradient grows."""
    found = [
        model.valid(model.cosine(), [[1.0]], [[0.3]], *setting, kind="cos(u v)")
        for setting in product(chances, (2, 20), model.SIZES)
    ]
    return [case for case in found if case is not None]


def rounds(budget, rng) -> list[Case]:
    """Return |v|^2/2 with noise from little to nearly alone, cosines, and random rounds."""
    count = budget(30, 1000, 5000)
    chances = (0.02, 0.25, 1.0) if budget.name == "quick" else model.CHANCES
    noisy = product(chances, (2, 20), (0.1, 0.499), (0.1, 1e3), budget((1, 3), (1, 3, 8)))
    return [
        *(model.flat(*setting) for setting in noisy),
        *cosines(chances),
        *model.at_random(rng, count),
        *model.at_random(rng, count, model.QUADRATIC, noisy=True),
    ]


def later(case: Case) -> list[int]:
    """Return the local steps but the first that are looked at."""
    K = case.setting.local_steps
    return sorted({1, K // 2, K - 1} - {0}) if K > 1 else []


def by_hand(case: Case, k: int) -> tuple[float, float]:
    """Return E||D tilde-grad(V_k)||^2 and E||D grad(V_k)||^2, local steps written out.

    Of quadratic functions both are quadratic in the m numbers of a client's noise, of standard
    deviation s: their means over the 2m points at +-s sqrt(m) on the axes are the expectations.
    """
    s, problem, U = case.setting, case.problem, case.U
    assert isinstance(problem, lr.QuadraticObjectives)
    n, rank, p, H = problem.n, U.shape[1], s.participation, curvatures(problem)
    m = (k + 1) * rank
    axes = np.sqrt(m) * s.noise / np.sqrt(n * rank) * np.eye(m)
    noise = np.concatenate([axes, -axes]).reshape(2 * m, k + 1, rank)
    squares = np.zeros((2, n))
    for i in range(n):
        v = np.tile(case.V[i], (2 * m, 1))
        for step in range(k + 1):
            gradient = (v @ U.T - problem.A[i]) @ H[i] @ U / n
            v = v - s.head_step_size * (gradient + noise[:, step])
        stochastic = gradient + noise[:, k]
        squares[:, i] = [np.mean(np.sum(each**2, axis=1)) for each in (stochastic, gradient)]
    means = np.zeros(2)
    for D in product((0.0, 1.0), repeat=n):
        means += p ** sum(D) * (1.0 - p) ** (n - sum(D)) * (squares @ D)
    return float(means[0]), float(means[1])


RIGHT = ("V^t on the right", "V_k on the right")


def read(found, name) -> Readings:
    """Return (11) with its gradient at V^t, or at V_k, on the right."""
    return Readings(
        list(found),
        name=name,
        phrase="the gradient on the right of (11)",
        printed_elsewhere={"V_k on the right": "step (A), where (11) is used"},
    )


@statement(
    "pflmf.eq11",
    place="(11) and the display before it",
    latex=r"\mathbb E_{t,k}\|D\tilde\nabla_V\|^2=\|D\nabla_V\|^2+\|D\|_2^2\sigma^2;\quad"
    r"\mathbb E_{S_t}\mathbb E_{t,k}\|D_t\tilde\nabla_V(U,V_k)\|_F^2\le"
    r" p\|\nabla_V(U,V^t)\|_F^2+\sigma^2",
    plain="The mean square of the participants' stochastic gradients in V is at most p times that "
    "of the gradient, plus sigma^2.",
    hypotheses=(NOISE,),
    negative_control={"noise_power": 1.2},
)
def eq11(budget, rng, *, exact=False, noise_power=0.0, factor=1.0):
    """Enumerate patterns; with `exact` the gradient's term is E||D grad(V_k)||^2, and an equation.

    `noise_power` is that of p with sigma^2: 0 as printed, 1 in the equation, where `factor` is that
    of the gradient's term.
    """
    cases = rounds(budget, rng)
    if exact:
        yield from equation(budget, cases, noise_power, factor)
    else:
        yield from printed(cases, noise_power)


def equation(budget, cases, noise_power, factor):
    """Yield the equation with local steps written out."""
    some = [
        case
        for case in cases
        if isinstance(case.problem, lr.QuadraticObjectives)
        and case.setting.local_steps <= 20
        and case.setting.noise > 0.0
    ]
    apart = []
    for case in some[:: max(1, len(some) // budget(60, 600))]:
        p, noise = case.setting.participation, case.setting.noise**2
        for k in (0, *later(case)):
            left, masked = by_hand(case, k)
            stated = factor * masked + p**noise_power * noise
            apart.append((relative(left, stated, 1e-300), {**case.instance(), "k": k}))
    yield Identity(apart, 1e-9, name="second moment, local steps written out", strength=PROVED)


def printed(cases, noise_power):
    """Yield (11) and the display before it: exactly, and on rounds."""

    def exactly():
        """Yield (11) at k = 1 for -(uv)^2/2 at u = v = 1, without noise.

        Participants' gradients grow, those of others do not.
        """
        for p in (Fraction(1, 10), Fraction(1, 2)):
            left, moved, start = growing.squares(p)
            at = {"F": "-(uv)^2/2", "u": 1, "v": 1, "p": str(p), "K": 2, "k": 1}
            for name, square in zip(RIGHT, (start, moved), strict=True):
                ratio = at_most(left / (p * square), Fraction(1))
                yield name, ratio, {**at, "eta": str(growing.ETA)}

    def display():
        """Yield the display before (11) from the right, as an equation: noise alone, n = 2."""
        at = {"n": 2, "D": [1, 0], "noise": "1/2 or -1/2 for each client", "sigma^2": "1/2"}
        yield "display, right <= left, exact", at_most(*growing.display()), at

    quantity = "left over right side"
    yield read(measured(exactly(), quantity=quantity).values(), "-(uv)^2/2, k = 1, exact")
    yield from measured(display(), quantity="|D|_2^2 sigma^2").values()

    looked: dict[str, list] = {"k = 0": [], **{name: [] for name in RIGHT}}
    equal, less = [], []  # the display, pattern by pattern
    for case in cases:
        p, noise, start = case.setting.participation, case.setting.noise**2, moments(case, 0)
        for k in (0, *later(case)):
            m, at = start if k == 0 else moments(case, k), {**case.instance(), "k": k}
            left, rights = m.mean(m.left), dict(zip(RIGHT, (start.whole, m.whole), strict=True))
            for name, whole in (rights if k else {"k = 0": start.whole}).items():
                right = p * m.mean(whole) + p**noise_power * noise
                if left > 0.0:
                    both = left / (left + right), right / (left + right) + 1e-12
                    looked[name].append((*both, at))
            if noise > 0.0 and k in (0, case.setting.local_steps - 1):
                right = m.masked + m.norms * noise
                equal.append((relative(m.left, right), at))
                worst = int(np.argmax(m.left - right))
                less.append((m.left[worst], right[worst] * (1.0 + 1e-9), at))
    first, *others = (Cases(each, quantity=QUANTITY, name=name) for name, each in looked.items())
    yield first
    yield read(others, "k > 0")
    yield Cases(less, quantity="second moment, given D", name="display, at most")
    yield Identity(equal, 1e-10, name="display, equation")


eq11.corrected(
    "pflmf.eq11.corrected",
    latex=r"\mathbb E\|D\tilde\nabla_V(U,V_k)\|_F^2=\mathbb E\|D\nabla_V(U,V_k)\|_F^2+p\sigma^2,"
    r"\quad\text{noise of mean }0,\text{ independent of }D\text{ and }V_k,\ "
    r"\mathbb E\|\text{noise}\|^2=\sigma^2",
    plain="At every local step the participants' stochastic gradients have the mean square of "
    "their gradients at V_k, plus p sigma^2.",
    constants={"exact": True, "noise_power": 1.0},
    negative_control={"noise_power": 0.9},
    stronger={"noise_power": 0, "factor": 0},
)
