"""(11): the second moment of the participants' stochastic gradients in V, along the local steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Identity, Mean, Readings, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import eq11 as growing
from linrep.papers.pflmf.model import NOISE, QUADRATIC, Case
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


def _squares(case: Case, heads: pflmf_rounds.Heads, k: int) -> Array:
    """Return E of every client's squared gradient in V at local step k, if it takes part."""
    squares = np.sum(case.problem.factor_gradients(case.U, heads.means[k]).in_V ** 2, axis=1)
    if heads.spreads is not None:
        problem, n = case.problem, case.problem.n
        assert isinstance(problem, lr.QuadraticObjectives)
        H = np.eye(problem.d) if problem.H is None else problem.H
        G = case.U.T @ np.broadcast_to(H, (n, problem.d, problem.d)) @ case.U / n
        squares = squares + np.trace(G @ heads.spreads[k] @ G, axis1=1, axis2=2)
    return squares


def moments(case: Case, k: int) -> Moments:
    """Enumerate the patterns of participation; every client's noise has variance sigma^2/n."""
    n, p = case.problem.n, case.setting.participation
    heads = pflmf_rounds.local_path(case.setting, case.problem, case.U, case.V)
    still, moving = _squares(case, heads, 0), _squares(case, heads, k)
    D = np.array(list(product((0.0, 1.0), repeat=n)))
    count = D.sum(axis=1)
    masked = D @ moving
    return Moments(
        p**count * (1.0 - p) ** (n - count),
        masked + case.setting.noise**2 * count / n,
        masked,
        masked + (1.0 - D) @ still,
        (count > 0.0).astype(float),
    )


def _growing(chances) -> list[Case]:
    """Return rounds of cos(u v) at u = 1, v = 0.3, bounded functions whose gradient grows."""
    found = [
        model.valid(model.cosine(), [[1.0]], [[0.3]], *setting, kind="cos(u v)")
        for setting in product(chances, (2, 20), model.SIZES)
    ]
    return [case for case in found if case is not None]


def _rounds(budget, rng) -> dict[str, list[Case]]:
    """Return rounds: random ones, |v|^2/2 with noise from little to nearly alone, and cosines."""
    count = budget(30, 1000, 5000)
    chances = (0.02, 0.25, 1.0) if budget.name == "quick" else model.CHANCES
    noisy = product(chances, (2, 20), (0.1, 0.499), (0.1, 1e3), budget((1, 3), (1, 3, 8)))
    return {
        "|v|^2/2 with noise": [model.flat(*setting) for setting in noisy],
        "cos(u v)": _growing(chances),
        "random rounds, exact gradients": list(model.at_random(rng, count)),
        "random rounds, noise": list(model.at_random(rng, count, QUADRATIC, noisy=True)),
    }


def _chosen(case: Case, first: bool) -> list[int]:
    """Return the local steps that are looked at: none but the first, or some of the others."""
    K = case.setting.local_steps
    return [0] if first else sorted({1, K // 2, K - 1} - {0}) if K > 1 else []


class Looked(NamedTuple):
    """A local step that is looked at: its round, its moments, and those of the first one."""

    case: Case
    k: int
    moments: Moments
    first: Moments


def _looked(rounds) -> list[Looked]:
    """Return the local steps of all rounds that are looked at."""
    found = []
    for case in (case for cases in rounds.values() for case in cases):
        first = moments(case, 0)
        found.append(Looked(case, 0, first, first))
        found += [Looked(case, k, moments(case, k), first) for k in _chosen(case, False)]
    return found


_RIGHT: dict[str, Any] = {
    "phrase": "the gradient on the right of (11)",
    "printed_elsewhere": {"V_k on the right": "step (A), where (11) is used"},
}


def _eleven(looked, first, at_start, noise_power, name) -> Cases:
    """Return (11) at the first or at later local steps, with V^t or V_k on the right."""
    found = []
    for case, k, m, start in (each for each in looked if (each.k == 0) == first):
        p, noise = case.setting.participation, case.setting.noise**2
        gradient = m.mean(start.whole if at_start else m.whole)
        left, right = m.mean(m.left), p * gradient + p**noise_power * noise
        if left > 0.0:
            at = {**case.instance(), "k": k}
            found.append((left / (left + right), right / (left + right) + 1e-12, at))
    return Cases(found, quantity=model.QUANTITY, name=name)


def _display(looked) -> tuple[list, list]:
    """Return the display before (11), pattern by pattern, as an equation and as an inequality."""
    equal, less = [], []
    for case, k, m, _ in looked:
        noise = case.setting.noise**2
        if noise == 0.0 or k not in (0, case.setting.local_steps - 1):
            continue
        right, at = m.masked + m.norms * noise, {**case.instance(), "k": k}
        equal.append((relative(m.left, right), at))
        worst = int(np.argmax(m.left - right))
        less.append((m.left[worst], right[worst] * (1.0 + 1e-9), at))
    return equal, less


def by_hand(case: Case, k: int) -> tuple[float, float]:
    """Return E||D tilde-grad(V_k)||^2 and E||D grad(V_k)||^2, local steps written out.

    Of quadratic functions both are quadratic in the m numbers of a client's noise, of standard
    deviation s: their means over the 2m points at +-s sqrt(m) on the axes are the expectations.
    """
    s, problem, U = case.setting, case.problem, case.U
    assert isinstance(problem, lr.QuadraticObjectives)
    n, rank, p = problem.n, U.shape[1], s.participation
    H = np.eye(problem.d) if problem.H is None else problem.H
    H = np.broadcast_to(H, (n, problem.d, problem.d))
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
    left, masked = 0.0, 0.0
    for D in product((0.0, 1.0), repeat=n):
        weight = p ** sum(D) * (1.0 - p) ** (n - sum(D))
        left += weight * float(squares[0] @ D)
        masked += weight * float(squares[1] @ D)
    return left, masked


def _written_out(rounds, count, noise_power, factor):
    """Yield the equation with local steps written out."""
    cases = [
        case
        for group in rounds.values()
        for case in group
        if isinstance(case.problem, lr.QuadraticObjectives)
        and case.setting.local_steps <= 20
        and case.setting.noise > 0.0
    ]
    equal = []
    for case in cases[:: max(1, len(cases) // count)]:
        p, noise = case.setting.participation, case.setting.noise**2
        for k in (*_chosen(case, True), *_chosen(case, False)):
            left, masked = by_hand(case, k)
            stated = factor * masked + p**noise_power * noise
            equal.append((relative(left, stated, 1e-300), {**case.instance(), "k": k}))
    name = "second moment, local steps written out"
    yield Identity(equal, 1e-9, name=name, strength=PROVED)


def _head_at(case: Case, k: int, seed, p: float) -> Array:
    """Return V_k of a round of `linrep.pflmf`, participation being p."""
    if k == 0:
        return case.V
    s = case.setting
    trace = lr.pflmf(
        case.problem,
        k=case.U.shape[1],
        step_size=s.step_size,
        head_step_size=s.head_step_size,
        aggregate="full",
        rounds=1,
        local_steps=k,
        participation=p,
        gradient_noise=s.noise,
        start=(case.U, case.V),
        stationarity=False,
        rng=seed,
    )
    return trace.state["V"]


def _squares_taken(case: Case, k: int, rng, runs) -> list[float]:
    """Return ||D tilde-grad(V_k)||^2 of rounds of `linrep.pflmf`, as (V_k - V_{k+1})/eta_v.

    From a round of k and one of k + 1 local steps with the same seed, which draw the same
    participants, and the same noise in the steps they share.
    """
    s = case.setting
    return [
        float(
            np.sum(
                (
                    _head_at(case, k, seed, s.participation)
                    - _head_at(case, k + 1, seed, s.participation)
                )
                ** 2
            )
        )
        / s.head_step_size**2
        for seed in rng.integers(2**31, size=runs).tolist()
    ]


def _drawn(budget, rng, noise_power, factor):
    """Yield the equation from rounds of `linrep.pflmf`: first and last of four local steps."""
    for p, k in product((0.25, 1.0), (0, 3)):
        case = model.flat(p, 4, 0.499, 3.0, 3)
        stated = factor * float(case.round.masked_V[k]) + p**noise_power * case.setting.noise**2
        yield Mean(
            np.array(_squares_taken(case, k, rng, budget(250, 3000))) / stated,
            equals=1.0,
            margin=budget(1.0, 0.25),
            quantity="second moment over the one stated",
            name=f"linrep.pflmf, p = {p:g}, k = {k}",
            setting={**case.instance(), "k": k},
            strength=PROVED,
        )


def _printed(budget, rng, noise_power):
    """Yield (11) on rounds of `linrep.pflmf`: with noise at k = 0, of cos(u v) at k > 0."""
    for p in (0.25, 0.5):
        case = model.flat(p, 4, 0.499, 3.0, 3)
        gradient = p * float(case.round.steps_V[0])
        stated = p**noise_power * case.setting.noise**2
        share = (np.array(_squares_taken(case, 0, rng, budget(250, 3000))) - gradient) / stated
        yield Mean(
            share,
            at_most=1.0,
            quantity="share of sigma^2 that is needed",
            name=f"linrep.pflmf, k = 0, p = {p:g}",
            setting=case.instance(),
        )
    some = _growing(budget((0.02, 0.5, 1.0), model.CHANCES))
    later: dict[str, list] = {"V^t on the right": [], "V_k on the right": []}
    for case, k in [(each, k) for each in some for k in _chosen(each, False)]:
        p = case.setting.participation
        first, moved = (
            float(np.sum(case.problem.factor_gradients(case.U, V).in_V ** 2))
            for V in (case.V, _head_at(case, k, 0, 1.0))
        )
        for reading, whole in zip(later, (first, p * moved + (1.0 - p) * first), strict=True):
            at = {**case.instance(), "k": k}
            later[reading].append((moved / first, whole / first * (1.0 + 1e-9), at))
    yield Readings(
        [
            Cases(cases, quantity="second moment over that at V^t", name=reading)
            for reading, cases in later.items()
        ],
        name="linrep.pflmf, cos(u v), k > 0",
        **_RIGHT,
    )


def _growing_exactly() -> Readings:
    """Return (11) at k = 1 for -(uv)^2/2 at u = v = 1, without noise, in rational numbers.

    Participants' gradients grow, those of others do not.
    """
    found: dict[str, list] = {"V^t on the right": [], "V_k on the right": []}
    for p in (Fraction(1, 10), Fraction(1, 2)):
        left, later, start = growing.squares(p)
        at = {
            "F": "-(uv)^2/2",
            "u": 1,
            "v": 1,
            "p": str(p),
            "K": 2,
            "eta": str(growing.ETA),
            "k": 1,
        }
        for cases, square in zip(found.values(), (start, later), strict=True):
            cases.append((left / (p * square), Fraction(1), at))
    return Readings(
        [Cases(cases, name=name, quantity="left over right side") for name, cases in found.items()],
        name="-(uv)^2/2, k = 1, exact",
        **_RIGHT,
    )


def _display_exactly() -> Cases:
    """Return the display before (11) from the right, as an equation: noise alone, n = 2."""
    at = {"n": 2, "D": [1, 0], "noise": "1/2 or -1/2 for each client", "sigma^2": "1/2"}
    return Cases(
        [(*growing.display(), at)],
        name="display, right <= left, exact",
        quantity="|D|_2^2 sigma^2",
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
    rounds = _rounds(budget, rng)
    if exact:
        yield from _written_out(rounds, budget(60, 600), noise_power, factor)
        yield from _drawn(budget, rng, noise_power, factor)
        return
    yield _growing_exactly()
    yield _display_exactly()
    looked = _looked(rounds)
    equal, less = _display(looked)
    yield _eleven(looked, True, True, noise_power, "k = 0")
    yield Readings(
        [
            _eleven(looked, False, start, noise_power, f"{where} on the right")
            for start, where in ((True, "V^t"), (False, "V_k"))
        ],
        name="k > 0",
        **_RIGHT,
    )
    yield Cases(less, quantity="second moment, given D", name="display, at most")
    yield Identity(equal, 1e-10, name="display, equation")
    yield from _printed(budget, rng, noise_power)


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
