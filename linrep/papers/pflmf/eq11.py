"""(11): the second moment of the participants' stochastic gradients in V, along the local steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, equal, measured
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import eq11 as growing
from linrep.papers.pflmf.model import NOISE, Case


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
    means = np.zeros(2)
    for D in product((0.0, 1.0), repeat=n):
        means += p ** sum(D) * (1.0 - p) ** (n - sum(D)) * (squares @ D)
    return float(means[0]), float(means[1])


def in_fractions():
    """Yield (11) and the display before it where they are false."""

    def exactly():
        """Yield (11) at k = 1 for -(uv)^2/2 at u = v = 1, without noise.

        Participants' gradients grow, those of others do not.
        """
        for p in (Fraction(1, 10), Fraction(1, 2)):
            found, moved, start = growing.squares(p)
            at = {"F": "-(uv)^2/2", "u": 1, "v": 1, "p": str(p), "K": 2, "k": 1}
            at |= {"eta": str(growing.ETA)}
            for name, square in (("V^t", start), ("V_k", moved)):
                yield f"{name} on the right", at_most(found / (p * square), Fraction(1)), at

    def display():
        """Yield the display before (11) from the right, as an equation: noise alone, n = 2."""
        at = {"n": 2, "D": [1, 0], "noise": "1/2 or -1/2 for each client", "sigma^2": "1/2"}
        yield "display, right <= left, exact", at_most(*growing.display()), at

    yield Readings(
        list(measured(exactly(), quantity="left over right side").values()),
        name="-(uv)^2/2, k = 1, exact",
        phrase="the gradient on the right of (11)",
        printed_elsewhere={"V_k on the right": "step (A), where (11) is used"},
    )
    yield from measured(display(), quantity="|D|_2^2 sigma^2").values()


@statement(
    "pflmf.eq11",
    place="(11) and the display before it",
    latex=r"\mathbb E_{t,k}\|D\tilde\nabla_V\|^2=\|D\nabla_V\|^2+\|D\|_2^2\sigma^2;\quad"
    r"\mathbb E_{S_t}\mathbb E_{t,k}\|D_t\tilde\nabla_V(U,V_k)\|_F^2\le"
    r" p\|\nabla_V(U,V^t)\|_F^2+\sigma^2",
    plain="The mean square of the participants' stochastic gradients in V is at most p times that "
    "of the gradient, plus sigma^2.",
    hypotheses=(NOISE,),
    negative_control={"noise_power": 0.9},
)
def eq11(budget, rng, *, noise_power=1.0, factor=1.0, printed=True):
    """Compare in fractions, or, as corrected, write out local steps of quadratic functions.

    The latter are over all patterns of participation. `noise_power` is that of p with sigma^2,
    `factor` that of the gradient's term.
    """
    if printed:
        yield from in_fractions()
        return
    chances = (0.02, 0.25, 1.0) if budget.name == "quick" else model.CHANCES
    noisy = product(chances, (2, 20), (0.1, 0.499), (0.1, 1e3), budget((1, 3), (1, 3, 8)))
    cases = [model.flat(*setting) for setting in noisy]
    cases += model.at_random(rng, budget(30, 400), model.QUADRATIC, noisy=True)

    def second_moments():
        for case in cases:
            s, K = case.setting, case.setting.local_steps
            if K > 20 or s.noise == 0.0:
                continue
            for k in sorted({0, min(1, K - 1), K // 2, K - 1}):
                found, gradients = by_hand(case, k)
                stated = factor * gradients + s.participation**noise_power * s.noise**2
                yield "second moment", equal(found, stated), {**case.instance(), "k": k}

    yield from measured(second_moments(), tolerance=1e-9, strength=PROVED).values()


eq11.corrected(
    "pflmf.eq11.corrected",
    latex=r"\mathbb E\|D\tilde\nabla_V(U,V_k)\|_F^2=\mathbb E\|D\nabla_V(U,V_k)\|_F^2+p\sigma^2,"
    r"\quad\text{noise of mean }0,\text{ independent of }D\text{ and }V_k,\ "
    r"\mathbb E\|\text{noise}\|^2=\sigma^2",
    plain="At every local step the participants' stochastic gradients have the mean square of "
    "their gradients at V_k, plus p sigma^2.",
    constants={"printed": False},
    negative_control={"noise_power": 0.9},
    stronger={"noise_power": 0, "factor": 0},
)
