"""A round as Algorithm 1, (8)-(9) and Appendix A.1 print it, and `linrep.pflmf` for every S_t."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import linrep as lr
from linrep.claims.measurements import Array

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
        clients.problem,
        k=clients.U.shape[1],
        step_size=STEP,
        participation=p,
        local_steps=K,
        head_step_size="theorem" if theorem else None,
        aggregate="full" if full else "participants",
        rounds=1,
        start=(clients.U, clients.V),
        stationarity=False,
        rng=seed,
    )
    V = trace.state["V"]
    taking = tuple(np.flatnonzero((clients.V != V).any(axis=1)).tolist())
    return taking, (trace.state["U"], V)


def every(clients: Clients, rng, K, **settings) -> dict[tuple[int, ...], Outcome]:
    """Return a round of `linrep.pflmf` for every S_t: runs until all of them have come."""
    found: dict[tuple[int, ...], Outcome] = {}
    for _ in range(1000):
        taking, outcome = run(clients, int(rng.integers(2**31)), K, **settings)
        found[taking] = outcome
        if len(found) == 2 ** len(clients.V):
            return found
    raise RuntimeError("some S_t did not come in 1000 rounds")


class Round(NamedTuple):
    """Clients, local steps, and what `linrep.pflmf` does for every S_t."""

    clients: Clients
    local_steps: int
    outcomes: dict[tuple[int, ...], Outcome]

    def instance(self, taking) -> dict:
        """Return what makes the round again."""
        c = self.clients
        return {
            "A": c.A.tolist(),
            "H": c.H.tolist(),
            "U": c.U.tolist(),
            "V": c.V.tolist(),
            "participants": list(taking),
            "K": self.local_steps,
        }


def rounds_of(rng, count, most, offset=0, **settings) -> list[Round]:
    """Return rounds of random clients, K > 1 local steps, for every S_t."""
    rounds = []
    for _ in range(count):
        clients, K = instance(rng, most), int(rng.integers(2, 5))
        rounds.append(Round(clients, K, every(clients, rng, K + offset, **settings)))
    return rounds
