"""(7) to (9): the gradients in the factors, and three forms of a round."""

from __future__ import annotations

from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import Evidence, claim, combine, identity
from linrep.claims._parts import Array, at_most, readings, relative, shown
from linrep.problems import Objectives, SoftmaxObjectives
from linrep.theory import pflmf as theory


def _problem(kind, rng, n, d) -> Objectives:
    """Return quadratic, logistic or softmax functions of n clients; three classes."""
    if kind == "quadratic":
        roots = rng.standard_normal((n, d, d))
        return lr.QuadraticObjectives(rng.standard_normal((n, d)), roots + roots.swapaxes(1, 2))
    m = int(rng.integers(1, 6))
    X, offsets = rng.standard_normal((n * m, d)), m * np.arange(n + 1)
    if kind == "logistic":
        return lr.LogisticObjectives(lr.ClientData(X, rng.choice([-1.0, 1.0], n * m), offsets))
    return SoftmaxObjectives(lr.ClientData(X, rng.integers(0, 3, n * m).astype(float), offsets), 3)


def _differences(value, point: Array, step: float) -> Array:
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


def _gradients(rng, kind, count, power):
    """Yield deviations of (7) from differences, over the objective's size where that is larger."""
    for _ in range(count):
        n, d, k = int(rng.integers(1, 12)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        problem = _problem(kind, rng, n, d)
        U, V = (
            10.0 ** rng.uniform(-2.0, 1.0) * rng.standard_normal((rows, k))
            for rows in (problem.d, n)
        )
        value, *stated = problem.factor_gradients(U, V)
        for name, point, other, gradient in zip("UV", (U, V), (V, U), stated, strict=True):
            step = 1e-3 / max(1.0, float(np.linalg.norm(other, 2)))

            def at(moved, name=name, U=U, V=V, problem=problem):
                return problem.value(V @ moved.T if name == "U" else moved @ U.T)

            found = _differences(at, point, step)
            # Differences of F are exact to eps F/step.
            floor = 1e-9 * abs(value) / step
            yield (
                relative(found, float(n) ** (1.0 - power) * gradient, floor),
                {"kind": kind, "in": name, "n": n, "d": d, "k": k, "step": step},
            )


@claim(
    "pflmf.eq7",
    place="(7)",
    kind="identity",
    latex=r"\nabla_U\psi=\frac1n\sum_i\nabla f_i(Uv_i)v_i^\top,\quad"
    r" \nabla_{v_i}\psi=\frac1nU^\top\nabla f_i(Uv_i)",
    plain="The gradients of the objective in U and in each head.",
    broken={"power": 0.99},
)
def eq7(budget, rng, *, power=1.0) -> Evidence:
    """Compare them with central differences; the power is that of 1/n."""
    return combine(
        identity(_gradients(rng, kind, budget(40, 500), power), 1e-6, name=kind)
        for kind in ("quadratic", "logistic", "softmax")
    )


def _instance(rng):
    """Return functions, a state, and two step sizes that keep it in bounds."""
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    k = int(rng.integers(1, min(n, d) + 1))
    roots = rng.standard_normal((n, d, d))
    problem = lr.QuadraticObjectives(
        rng.standard_normal((n, d)), roots @ roots.swapaxes(1, 2) / (10.0 * d)
    )
    return problem, rng.standard_normal((d, k)), rng.standard_normal((n, k))


def _heads(problem, U, V, taking, head, steps) -> Array:
    """Return the participants' heads after so many steps (8), others' as they are."""
    mask = np.zeros((len(V), 1))
    mask[list(taking)] = 1.0
    for _ in range(steps):
        V = V - head * mask * problem.factor_gradients(U, V).in_V
    return V


def _algorithm1(problem, U, V, taking, step, head, steps) -> tuple[Array, Array]:
    """Return a round of Algorithm 1; U stays where nobody takes part."""
    G = problem.gradients(V @ U.T)[:, :, None] * V[:, None, :]
    mean = G[list(taking)].mean(axis=0) if taking else np.zeros_like(U)
    return U - step * mean, _heads(problem, U, V, taking, head, steps)


def _analysed(problem, U, V, taking, step, head, steps) -> tuple[Array, Array]:
    """Return a round of Appendix A.1; with one step and everyone it is (8) and (9)."""
    return U - step * problem.factor_gradients(U, V).in_U, _heads(
        problem, U, V, taking, head, steps
    )


def _patterns(n):
    """Return all sets of participants."""
    return [tuple(np.flatnonzero(row)) for row in product((0, 1), repeat=n)]


def _apart(found, expected) -> float:
    """Return the larger relative deviation of U and of V."""
    return max(relative(a, b) for a, b in zip(found, expected, strict=True))


def _package(rng, count):
    """Yield deviations of `linrep.pflmf` from the forms written down here."""
    for _ in range(count):
        problem, U, V = _instance(rng)
        K, everyone = int(rng.integers(1, 5)), tuple(range(problem.n))
        for aggregate, form in (("participants", _algorithm1), ("full", _analysed)):
            trace = lr.pflmf(
                problem, k=U.shape[1], step_size=0.1, local_steps=K, rounds=1, start=(U, V),
                aggregate=aggregate,
            )  # fmt: skip
            found = trace.state["U"], trace.state["V"]
            yield _apart(found, form(problem, U, V, everyone, 0.1, 0.1, K)), {"K": K}


def _together(rng, count, offset):
    """Yield deviations among the three at p = 1, K = 1, where all step sizes are one."""
    for _ in range(count):
        problem, U, V = _instance(rng)
        everyone = tuple(range(problem.n))
        tied = theory.head_step_size(0.1, 1.0, 1)
        analysed = _analysed(problem, U, V, everyone, 0.1, tied, 1)
        nine = _analysed(problem, U, V, everyone, 0.1, 0.1, 1)
        first = _algorithm1(problem, U, V, everyone, 0.1, 0.1, 1 + offset)
        yield _apart(first, analysed), {"n": problem.n, "compared": "Algorithm 1, A.1"}
        yield _apart(nine, analysed), {"n": problem.n, "compared": "(8)-(9), A.1"}


def _one_round(rng, count, full, theorem, offset):
    """Yield deviations of Algorithm 1's rounds from A.1's, same participants, p < 1 and K > 1."""
    for _ in range(count):
        problem, U, V = _instance(rng)
        n, K = problem.n, int(rng.integers(2, 5))
        taking = tuple(np.flatnonzero(rng.random(n) < 0.5)) or (0,)
        taking = taking if len(taking) < n else taking[1:]
        tied = theory.head_step_size(0.1, 0.5, K)
        form = _analysed if full else _algorithm1
        first = form(problem, U, V, taking, 0.1, tied if theorem else 0.1, K + offset)
        other = _analysed(problem, U, V, taking, 0.1, tied, K)
        for name, a, b in zip("UV", first, other, strict=True):
            told = {"U": U.tolist(), "V": V.tolist(), "participants": [int(i) for i in taking]}
            yield name, relative(a, b), {**told, "K": K, "n": n}


def _moments(problem, U, V, p):
    """Return the mean, and E(. - its mean)^2, of the participants' mean gradient, |S| > 0."""
    whole = problem.factor_gradients(U, V).in_U
    mean, variance, total = np.zeros_like(U), 0.0, 0.0
    for taking in _patterns(problem.n)[1:]:
        weight = p ** len(taking) * (1.0 - p) ** (problem.n - len(taking))
        step = U - _algorithm1(problem, U, V, taking, 1.0, 0.0, 0)[0]
        mean, total = mean + weight * step, total + weight
        variance += weight * float(np.sum((step - whole) ** 2))
    return mean / total, whole, variance / total


def _means(rng, count):
    """Yield deviations of the mean over participants, given that there are some, from the whole."""
    for _ in range(count):
        problem, U, V = _instance(rng)
        for p in (0.02, 0.3, 0.9):
            mean, whole, _ = _moments(problem, U, V, p)
            yield relative(mean, whole, 0.1), {"n": problem.n, "p": p}


def _growth(rng) -> list[float]:
    """Return the participants' mean's variance at factors 1, 10, ... 1000 times as large."""
    problem, U, V = _instance(rng)
    return [_moments(problem, r * U, r * V, 0.5)[2] for r in (1.0, 10.0, 100.0, 1000.0)]


def _conditional(rng, count, full) -> Evidence:
    """Decide whether U's direction has the gradient as its mean given D, as E_t asks."""
    cases = []
    for _ in range(count):
        problem, U, V = _instance(rng)
        whole = problem.factor_gradients(U, V).in_U
        form = _analysed if full else _algorithm1
        given = max(
            np.linalg.norm(U - form(problem, U, V, taking, 1.0, 0.0, 0)[0] - whole)
            for taking in _patterns(problem.n)[1:]
        )
        share = float(given / np.linalg.norm(whole))
        cases.append((share, 1e-12, {"U": U.tolist(), "V": V.tolist(), "bias/|grad|": share}))
    return at_most(cases, name="unbiased given D")


def _indices(rng, count) -> dict[str, list]:
    """Return deviations of V^{t+1} from A.1's V_K for the readings of Algorithm 1's loop."""
    found: dict[str, list] = {"v^{t,0} = v^t, K steps": [], "v^{t,1} = v^t, K - 1 steps": [],
                              "v^{t,1} = v^t behind the loop resets": []}  # fmt: skip
    for _ in range(count):
        problem, U, V = _instance(rng)
        K, everyone = int(rng.integers(1, 5)), tuple(range(problem.n))
        expected = _heads(problem, U, V, everyone, 0.1, K)
        for reading, steps in zip(found, (K, K - 1, 0), strict=True):
            heads = _heads(problem, U, V, everyone, 0.1, steps)
            found[reading].append((relative(heads, expected), {"K": K, "reading": reading}))
    return found


def _ratios(rng, rounds) -> str:
    """Tell Theorem 1's left over right side on the reference instance, for both U-steps."""
    A = 0.05 * rng.standard_normal((40, 3))
    problem, start = lr.QuadraticObjectives(A), (np.eye(3), np.zeros((40, 3)))
    L = theory.local_smoothness(problem, *start, 0.3, 0.1).largest
    told = []
    for p in (1.0, 0.25):
        for aggregate in ("full", "participants"):
            trace = lr.pflmf(
                problem, k=3, step_size=0.25 / L, head_step_size="theorem", participation=p,
                aggregate=aggregate, start=start, rounds=rounds, record=rounds, rng=rng,
            )  # fmt: skip
            bound = theory.theorem1(
                trace["objective"][0], smoothness=L, step_size=0.25 / L, rounds=rounds
            )
            share = (trace["average_U"][-1] + trace["average_V"][-1]) / bound.total
            told.append(f"{share:.3g} ({aggregate}, p = {p:g})")
    return ", ".join(told)


@claim(
    "pflmf.eq8-9",
    place="Algorithm 1, (8)-(9), Appendix A.1, Theorem 1",
    kind="specification",
    latex=r"U^{t+1}=U^t-\frac{\eta_i}{|S_t|}\sum_{i\in S_t}\nabla f_i(Uv_i)v_i^\top\ \text{and}\ "
    r"U^{t+1}=U^t-\eta_u\tilde\nabla_UF(UV^\top);\quad \eta_i\ \text{for both},\ \eta_v=p\eta_u/K",
    plain="Algorithm 1, (8)-(9) and the form that is analysed are the same method.",
    mended={"full": True, "theorem": True},
    broken={"offset": -1},
)
def eq8_9(budget, rng, *, full=False, theorem=False, offset=0) -> Evidence:
    """Compare the three forms; `full` and `theorem` change Algorithm 1's U-step and step size."""
    count = budget(20, 300)
    rounds = list(_one_round(rng, count, full, theorem, offset))
    parts = [
        identity(_package(rng, count), 1e-12, name="linrep.pflmf's forms"),
        identity(_together(rng, count, offset), 1e-14, name="p = 1, K = 1"),
        *(
            identity([(x, told) for where, x, told in rounds if where == name], 1e-14,
                     name=f"a round at p = 1/2, {name}")
            for name in "UV"
        ),
        identity(_means(rng, budget(5, 50)), 1e-12, name="mean over S_t, not empty"),
        _conditional(rng, budget(5, 50), full),
        readings(_indices(rng, count), 1e-14, name="indices of the loop"),
        _nobody(full),
    ]  # fmt: skip
    growth = np.log10(np.array([_growth(rng) for _ in range(budget(3, 20))]))
    powers = np.diff(growth[:, 1:], axis=1)
    return combine(
        parts,
        f"{combine(parts).sentence}. The participants' mean is unbiased given that somebody takes "
        f"part, but not given D; its variance grows like R^{powers.mean():.2f} with factors R "
        f"times as large. The loop: {parts[-2].sentence}. Theorem 1's left over right side on the "
        f"reference instance: {_ratios(rng, budget(500, 5000))}",
    )


def _nobody(full) -> Evidence:
    """Decide whether the U-step is defined for every S_t."""
    chances = {p: 1.0 - float(theory.lemma7(10, p)) for p in (0.02, 0.1, 0.3)}
    told = ", ".join(f"{chance:.2g} (p = {p:g})" for p, chance in chances.items())
    return shown(
        full or max(chances.values()) == 0.0,
        f"1/|S_t| has no value with probability {told} of ten clients",
        measured=max(chances.values()), predicted=0.0, name="|S_t| = 0",
        counterexample={"n": 10, "p": 0.02, "P(|S_t| = 0)": chances[0.02]},
    )  # fmt: skip
