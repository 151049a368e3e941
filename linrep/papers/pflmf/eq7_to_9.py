"""(7) to (9): the gradients in the factors, and three forms of a round."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Condition, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import equal, measured
from linrep.claims.measurements import Array, readings, relative
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

Outcome = tuple[Array, Array]
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

    @property
    def problem(self) -> lr.QuadraticObjectives:
        """The functions, for linrep."""
        return lr.QuadraticObjectives(self.A, self.H)

    def G(self, i) -> Array:
        """Return client i's gradient in U at its old head, grad f_i(U v_i) v_i'."""
        return np.outer(self.H[i] @ (self.U @ self.V[i] - self.A[i]), self.V[i])

    def head(self, i, eta, steps) -> Array:
        """Return v_i after so many local steps (8)."""
        v = self.V[i]
        for _ in range(steps):
            gradient = self.H[i] @ (self.U @ v - self.A[i])
            v = v - eta / len(self.V) * self.U.T @ gradient
        return v

    def heads(self, taking, etas, steps) -> Array:
        """Return V with the participants' heads after their local steps."""
        V = self.V.copy()
        for i in taking:
            V[i] = self.head(i, etas[i], steps)
        return V

    def algorithm1(self, taking, eta, steps) -> tuple[Array, Array]:
        """Return a round of Algorithm 1; U is not a number where nobody takes part."""
        total = np.zeros_like(self.U)
        for i in taking:
            total = total + self.G(i)
        with np.errstate(invalid="ignore"):
            mean = total / np.float64(len(taking))
        return self.U - eta * mean, self.heads(taking, np.full(len(self.V), eta), steps)

    def eight_nine(self, taking, etas) -> tuple[Array, Array]:
        """Return (9), every client's step size inside the sum, and (8) of the participants."""
        total = np.zeros_like(self.U)
        for i, eta in enumerate(etas):
            total = total + eta * self.G(i)
        return self.U - total / len(self.V), self.heads(taking, etas, 1)

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

    def whole(self) -> Array:
        """Return the gradient in U, (7)."""
        return np.sum([self.G(i) for i in range(len(self.V))], axis=0) / len(self.V)


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


def run(clients: Clients, seed, K, *, full, theorem, p=SHARE) -> tuple[tuple[int, ...], Outcome]:
    """Return who took part in a round of `linrep.pflmf`, as the heads show, and its U and V."""
    trace = lr.pflmf(
        clients.problem, k=clients.U.shape[1], step_size=STEP, participation=p, local_steps=K,
        head_step_size="theorem" if theorem else None,
        aggregate="full" if full else "participants", rounds=1, start=(clients.U, clients.V),
        stationarity=False, rng=seed,
    )  # fmt: skip
    V = trace.state["V"]
    taking = tuple(np.flatnonzero((clients.V != V).any(axis=1)).tolist())
    return taking, (trace.state["U"], V)


class Round(NamedTuple):
    """Clients, local steps, and what `linrep.pflmf` does for every S_t."""

    clients: Clients
    local_steps: int
    outcomes: dict[tuple[int, ...], Outcome]

    def instance(self, taking) -> dict:
        """Return what makes the round again."""
        c = self.clients._asdict()
        at = {"participants": list(taking), "K": self.local_steps}
        return {name: each.tolist() for name, each in c.items()} | at

    def analysed(self, taking) -> Outcome:
        """Return a round of Appendix A.1 with eta_v = p eta/K."""
        tied = theory.head_step_size(STEP, SHARE, self.local_steps)
        return self.clients.analysed(taking, STEP, tied, self.local_steps)

    def directions(self) -> dict[tuple[int, ...], Array]:
        """Return what U moved along, for every S_t that is not empty."""
        moved = {taking: U for taking, (U, _) in self.outcomes.items() if taking}
        return {taking: (self.clients.U - U) / STEP for taking, U in moved.items()}


def rounds_of(rng, count, most, offset=0, **settings) -> list[Round]:
    """Return rounds of random clients, K > 1 local steps, for every S_t: runs until all came."""
    rounds = []
    for _ in range(count):
        clients, K = instance(rng, most), int(rng.integers(2, 5))
        found: dict[tuple[int, ...], Outcome] = {}
        while len(found) < 2 ** len(clients.V):
            taking, outcome = run(clients, int(rng.integers(2**31)), K + offset, **settings)
            found[taking] = outcome
        rounds.append(Round(clients, K, found))
    return rounds


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
    """Compare `linrep.pflmf`, for every S_t, with the forms written out client by client.

    `full` and `theorem` change Algorithm 1's U-step and step size, `offset` its local steps.
    """
    count, most = budget((8, 3), (100, 4))
    rounds = rounds_of(rng, count, most, offset, full=full, theorem=theorem)

    def by_hand():
        """Yield Algorithm 1's round and A.1's of x^2/2 and (x - 1)^2/2 at u = v_1 = v_2 = 1.

        Client 1 takes part, p = 1/2, K = 1, eta = 1/10.
        """
        at = {"f": ["x^2/2", "(x - 1)^2/2"], "u": 1, "v": [1, 1], "S_t": [1], "p": "1/2"}
        for name, (one, other) in moves(full, theorem).items():
            found = {**at, "eta": "1/10", "of": name}
            yield "x^2/2 and (x - 1)^2/2, exact", equal(one, other), found

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
            for (one, found), (other, expected) in combinations(forms.items(), 2):
                yield apart(found, expected), {"n": n, "compared": f"{one}, {other}"}

    def means():
        """Yield deviations of the participants' mean, given that there are some, from the whole."""
        for each in rounds:
            n, directions = len(each.clients.V), each.directions()
            for p in (0.02, 0.3, 0.9):
                weights = [
                    p ** len(taking) * (1.0 - p) ** (n - len(taking)) for taking in directions
                ]
                mean = np.average(list(directions.values()), axis=0, weights=weights)
                yield relative(mean, each.clients.whole(), 0.1), {"n": n, "p": p}

    def given_D():
        """Yield the bias of U's direction given D, as E_t asks that there is none."""
        for each in rounds:
            whole = each.clients.whole()
            for taking, direction in each.directions().items():
                share = float(np.linalg.norm(direction - whole) / np.linalg.norm(whole))
                yield share, 1e-10, each.instance(taking)

    yield from measured(by_hand(), quantity="distance of Algorithm 1's round from A.1's").values()
    yield Identity(together(), 1e-14, name="p = 1, K = 1")
    for place, name in enumerate("UV"):
        found = [
            (relative(outcome[place], each.analysed(taking)[place]), each.instance(taking))
            for each in rounds
            for taking, outcome in each.outcomes.items()
        ]
        yield Identity(found, 1e-14, name=f"a round at p = 1/2, {name}")
    yield Identity(means(), 1e-12, name="mean over S_t, not empty")
    yield Cases(given_D(), quantity="bias over the gradient's norm", name="unbiased given D")

    clients = instance(rng)
    new_U, _ = clients.analysed((), STEP, STEP, 1) if full else clients.algorithm1((), STEP, 1)
    chance = 1.0 - float(theory.lemma7(10, 0.02))
    yield Condition(
        bool(np.isfinite(new_U).all()),
        chance,
        quantity="P(|S_t| = 0)",
        name="|S_t| = 0",
        setting={"n": 10, "p": 0.02, "P(|S_t| = 0)": chance},
    )

    own: dict[str, list] = {
        "one eta for all clients": [],
        "eta_i of their own, in Algorithm 1 their mean": [],
    }
    loops = {
        "v^{t,0} = v^t, K steps": lambda K: K,
        "v^{t,1} = v^t, K - 1 steps": lambda K: K - 1,
        "v^{t,1} = v^t behind the loop resets": lambda K: 0,
    }
    indices: dict[str, list] = {name: [] for name in loops}
    for _ in range(budget(20, 300)):
        clients = instance(rng, 6)
        everyone, same = range(len(clients.V)), np.full(len(clients.V), STEP)
        several = STEP * rng.uniform(0.5, 1.5, len(everyone))
        for found, etas in zip(own.values(), (same, several), strict=True):
            U, _ = clients.eight_nine(everyone, etas)
            first, _ = clients.algorithm1(everyone, etas.mean(), 1)
            found.append((relative(U, first), {"n": len(everyone), "eta_i": etas.tolist()}))
        K = int(rng.integers(1, 5))
        _, (_, V) = run(clients, 0, K, full=False, theorem=False, p=1.0)
        for name, steps in loops.items():
            heads = clients.heads(everyone, same, steps(K))
            indices[name].append((relative(heads, V), {"K": K, "reading": name}))
    yield readings(own, 1e-14, name="eta_i in (9)", phrase="eta_i, with an index")
    phrase = "v_i^{t,1} = v_i^t, twice"
    yield readings(indices, 1e-14, name="indices of the loop", phrase=phrase)
