"""What the local steps of Appendix A.1 come to: nearly one step of size p eta."""

import numpy as np

import linrep as lr
from linrep.claims import statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.papers.pflmf.model import CHANCES, SIZES, SMOOTH, STEPS, drawn
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds

QUADRATIC = ("identity", "own")
CONVEX = (*QUADRATIC, "logistic")


def walk(problem, U, V, p, K, eta_L):
    """Return everyone's V_0, ..., V_K, the step size eta_v, and L in V at this U."""
    L = theory.local_smoothness(problem, U, V, 0.0, 0.0).own_V
    s = theory.Setting(p, K, eta_L / L, L, L)
    return pflmf_rounds.local_path(s, problem, U, V).means, s.head_step_size, L


def on_half_square(sign, K):
    """Return functions sign |x|^2/2 of one client at u = v = 1, p = 1, K steps, eta L near 1/2."""
    one = np.ones((1, 1))
    return lr.QuadraticObjectives(0.0 * one, sign * one), one, one, 1.0, K, 0.499


def at_random(rng, count):
    """Yield a kind of functions, and functions of the kind, factors, p, K and eta L."""
    for _ in range(count):
        kind = str(rng.choice(("identity", "own", "indefinite", "logistic", "cosine")))
        p, K, size = float(rng.choice(CHANCES)), int(rng.choice(STEPS)), float(rng.choice(SIZES))
        n, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        k = int(rng.integers(1, d + 1))
        problem = drawn(rng, kind, n, d)
        U, V = rng.standard_normal((d, k)), rng.standard_normal((n, k))
        yield kind, (problem, U, V, p, K, size)


@statement(
    "pflmf.local_steps",
    own=True,
    place="Appendix A.1, what eta_v = p eta/K implies; not stated there",
    latex=r"\|V_K-(V-p\eta\nabla_V)\|\le\frac{(1+q/K)^K-1-q}L\|\nabla_V\|,\quad"
    r" \|\nabla_V(U,V_k)\|\le(1+q/K)^k\|\nabla_V(U,V)\|,\quad q=p\eta L",
    plain="K local steps are one of size p eta up to (p eta L)^2; gradients hardly change on them.",
    hypotheses=(SMOOTH,),
    negative_control={"distance": 0.9},
    stronger={"distance": -1, "growth": -1},
)
def local_steps(budget, rng, *, distance=1.0, growth=1.0):
    """Bound distances and gradients along the steps; concave functions are the worst.

    `distance` is the factor at that from one step, `growth` that at q/K.
    """
    settings = list(at_random(rng, budget(150, 3000)))
    settings += [("concave", on_half_square(-1.0, K)) for K in (2, 20)]
    settings += [("identity", on_half_square(1.0, 20))]

    def found():
        for kind, (problem, U, V, p, K, size) in settings:
            path, step, L = walk(problem, U, V, p, K, size)
            gradients = [problem.factor_gradients(U, each).in_V for each in path[:-1]]
            norms, q = np.linalg.norm(gradients, axis=(1, 2)), p * size
            at = {"kind": kind, "p": p, "K": K, "eta L": size}
            # L times the distance from one step, over the first gradient.
            apart = L * np.linalg.norm(path[-1] - (V - K * step * gradients[0])) / norms[0]
            bound = distance * ((1.0 + q / K) ** K - 1.0 - q)
            yield "distance from one step", at_most(apart, bound * (1.0 + 1e-9) + 1e-13), at

            ratios, k = norms / norms[0], np.arange(K)
            most, least = (1.0 + growth * q / K) ** k, (1.0 - growth * q / K) ** k
            up, down = np.argmax(ratios - most), np.argmin(ratios - (2.0 - most))
            yield "|grad V_k| <= (1 + q/K)^k |grad V_0|", at_most(ratios[up], most[up]), at
            below = at_most(2.0 - most[down], ratios[down])
            yield "|grad V_k| >= (2 - (1 + q/K)^k) |grad V_0|", below, at
            if kind in CONVEX:
                yield "convex: not larger", at_most(ratios.max(), 1.0), at
            if kind in QUADRATIC:
                low = np.argmin(ratios - least)
                yield "quadratic: >= (1 - q/K)^k times", at_most(least[low], ratios[low]), at

    quantity = "distance or growth of gradients"
    yield from measured(found(), strength=PROVED, quantity=quantity).values()
