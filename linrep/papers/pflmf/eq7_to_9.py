"""(7) to (9): the gradients in the factors, and three forms of a round."""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import equal, measured
from linrep.claims.measurements import Array, relative
from linrep.papers.pflmf.counterexamples.eq8_9 import moves
from linrep.papers.pflmf.model import drawn
from linrep.theory import pflmf as theory

# (7).


def largest_score(problem, theta) -> float:
    """Return the largest |<x, theta>| that losses are computed from; 0 for quadratics."""
    if isinstance(problem, lr.QuadraticObjectives):
        return 0.0
    longest = np.linalg.norm(problem.data.X, axis=1).max()
    return float(longest * np.linalg.norm(theta, axis=1).max())


def differences(value, point: Array, step: float) -> Array:
    """Return central differences of fourth order."""
    found = np.empty_like(point)
    for index in np.ndindex(*point.shape):
        moved = []
        for factor in (1.0, -1.0, 2.0, -2.0):
            other = point.copy()
            other[index] += factor * step
            moved.append(value(other))
        found[index] = (8.0 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12.0 * step)
    return found


@statement(
    "pflmf.eq7",
    place="(7)",
    latex=r"\nabla_U\psi=\frac1n\sum_i\nabla f_i(Uv_i)v_i^\top,\quad"
    r" \nabla_{v_i}\psi=\frac1nU^\top\nabla f_i(Uv_i)",
    plain="The gradients of the objective in U and in each head v_i are those of (7).",
    negative_control={"power": 0.99},
    stronger={"power": 0},
)
def eq7(budget, rng, *, power=1.0):
    """Compare them with central differences; the power is that of 1/n."""

    def deviations(kind):
        """Yield deviations, over the objective's size where that is larger."""
        for _ in range(budget(40, 500)):
            n, d, k = int(rng.integers(1, 12)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
            problem = drawn(rng, "indefinite" if kind == "quadratic" else kind, n, d)
            U, V = (
                10.0 ** rng.uniform(-2.0, 1.0) * rng.standard_normal((rows, k))
                for rows in (problem.d, n)
            )
            value, *stated = problem.factor_gradients(U, V)
            size = max(abs(value), largest_score(problem, V @ U.T))
            values = (
                lambda W, F=problem, V=V: F.value(V @ W.T),
                lambda W, F=problem, U=U: F.value(W @ U.T),
            )
            for name, point, other, of, gradient in zip(
                "UV", (U, V), (V, U), values, stated, strict=True
            ):
                step = 1e-3 / max(1.0, float(np.linalg.norm(other, 2)))
                found = differences(of, point, step)
                # Differences of F are exact to eps/step times F, or the scores F comes from.
                apart = relative(found, float(n) ** (1.0 - power) * gradient, 1e-9 * size / step)
                yield apart, {"kind": kind, "in": name, "n": n, "d": d, "k": k, "step": step}

    for kind in ("quadratic", "logistic", "softmax"):
        yield Identity(deviations(kind), 1e-6, name=kind, strength=PROVED)


# (8) and (9): a round as Algorithm 1, (8)-(9) and Appendix A.1 print it, and `linrep.pflmf` for
# every S_t.

STEP, SHARE = 0.1, 0.5


class Clients(NamedTuple):
    """Quadratic functions (x - a_i)'H_i(x - a_i)/2 and a state: rounds written out as printed.

    Every form returns U^{t+1} and V^{t+1}. Those of Algorithm 1 and of (8)-(9) go client by client,
    that of Appendix A.1 is in matrices.
    """

    A: Array
    H: Array
    U: Array
    V: Array

    def G(self, i) -> Array:
        """Return client i's gradient in U at its old head, grad f_i(U v_i) v_i'."""
        return np.outer(self.H[i] @ (self.U @ self.V[i] - self.A[i]), self.V[i])

    def heads(self, taking, etas, steps) -> Array:
        """Return V with the participants' heads after so many local steps (8)."""
        V = self.V.copy()
        for i, _ in product(taking, range(steps)):
            gradient = self.H[i] @ (self.U @ V[i] - self.A[i])
            V[i] -= etas[i] / len(V) * self.U.T @ gradient
        return V

    def algorithm1(self, taking, eta, steps) -> tuple[Array, Array]:
        """Return a round of Algorithm 1; U is not a number where nobody takes part."""
        total = np.sum([self.G(i) for i in taking] or [np.zeros_like(self.U)], axis=0)
        with np.errstate(invalid="ignore"):
            mean = total / np.float64(len(taking))
        return self.U - eta * mean, self.heads(taking, np.full(len(self.V), eta), steps)

    def eight_nine(self, taking, etas) -> tuple[Array, Array]:
        """Return (9), every client's step size inside the sum, and (8) of the participants."""
        moved = np.mean([eta * self.G(i) for i, eta in enumerate(etas)], axis=0)
        return self.U - moved, self.heads(taking, etas, 1)

    def analysed(self, taking, eta_u, eta_v, steps) -> tuple[Array, Array]:
        """Return a round of Appendix A.1: U - eta_u grad_U, and V_K of V_k - eta_v D grad_V."""
        D, V = np.zeros((len(self.V), 1)), self.V
        D[list(taking)] = 1.0
        for k in range(steps + 1):
            R = np.einsum("nde,ne->nd", self.H, V @ self.U.T - self.A) / len(V)
            if k == 0:
                new_U = self.U - eta_u * R.T @ V
            if k < steps:
                V = V - eta_v * D * (R @ self.U)
        return new_U, V


def instance(rng, most=3) -> Clients:
    """Return functions of a few clients and a state; a step size of 0.1 keeps it in bounds."""
    n, d = int(rng.integers(2, most + 1)), int(rng.integers(1, 5))
    k = int(rng.integers(1, min(n, d) + 1))
    roots = rng.standard_normal((n, d, d))
    return Clients(
        rng.standard_normal((n, d)),
        roots @ roots.swapaxes(1, 2) / (10.0 * d),
        rng.standard_normal((d, k)),
        rng.standard_normal((n, k)),
    )


def apart(found, expected) -> float:
    """Return the larger relative deviation of U and of V."""
    return max(relative(a, b) for a, b in zip(found, expected, strict=True))


@statement(
    "pflmf.eq8-9",
    place="Algorithm 1, (8)-(9), Appendix A.1, Theorem 1",
    latex=r"U^{t+1}=U^t-\frac{\eta_i}{|S_t|}\sum_{i\in S_t}\nabla f_i(Uv_i)v_i^\top\ \text{and}\ "
    r"U^{t+1}=U^t-\eta_u\tilde\nabla_UF(UV^\top);\quad \eta_i\ \text{for both},\ \eta_v=p\eta_u/K",
    plain="Algorithm 1, (8)-(9) and the form that is analysed are the same method.",
    holds_with={"full": True, "theorem": True},
    negative_control={"offset": -1},
)
def eq8_9(budget, rng, *, full=False, theorem=False, offset=0):
    """Compare rounds in fractions, and `linrep.pflmf`, for every S_t, with Appendix A.1.

    `full` and `theorem` change Algorithm 1's U-step and step size, `offset` its local steps.
    """

    def found():
        at = {"f": ["x^2/2", "(x - 1)^2/2"], "u": 1, "v": [1, 1], "S_t": [1], "p": "1/2"}
        for name, (one, other) in moves(full, theorem).items():
            where = {**at, "K": 1, "eta": "1/10", "of": name}
            yield "x^2/2 and (x - 1)^2/2, exact", equal(one, other), where

    def together():
        """Yield deviations among the three at p = 1, K = 1, where all step sizes are one."""
        for _ in range(budget(20, 300)):
            clients = instance(rng, 6)
            n = len(clients.V)
            everyone, etas = tuple(range(n)), np.full(n, STEP)
            forms = {
                "Algorithm 1": clients.algorithm1(everyone, STEP, 1 + offset),
                "(8)-(9)": clients.eight_nine(everyone, etas),
                "A.1": clients.analysed(everyone, STEP, theory.head_step_size(STEP, 1.0, 1), 1),
            }
            for (one, left), (other, right) in combinations(forms.items(), 2):
                yield apart(left, right), {"n": n, "compared": f"{one}, {other}"}

    def rounds():
        """Yield deviations of rounds with K > 1 from Appendix A.1's: runs until all S_t came."""
        count, most = budget((8, 3), (100, 4))
        for _ in range(count):
            c, K = instance(rng, most), int(rng.integers(2, 5))
            tied = theory.head_step_size(STEP, SHARE, K)
            came: set[tuple[int, ...]] = set()
            while len(came) < 2 ** len(c.V):
                state = lr.pflmf(
                    lr.QuadraticObjectives(c.A, c.H), k=c.U.shape[1], step_size=STEP,
                    participation=SHARE, local_steps=K + offset,
                    head_step_size="theorem" if theorem else None,
                    aggregate="full" if full else "participants", rounds=1, start=(c.U, c.V),
                    stationarity=False, rng=int(rng.integers(2**31)),
                ).state  # fmt: skip
                taking = tuple(np.flatnonzero((state["V"] != c.V).any(axis=1)).tolist())
                came.add(taking)
                at = {"participants": list(taking), "K": K}
                at |= {name: each.tolist() for name, each in c._asdict().items()}
                yield apart((state["U"], state["V"]), c.analysed(taking, STEP, tied, K)), at

    yield from measured(found(), quantity="distance of Algorithm 1's round from A.1's").values()
    yield Identity(together(), 1e-14, name="p = 1, K = 1")
    yield Identity(rounds(), 1e-14, name="a round at p = 1/2")
