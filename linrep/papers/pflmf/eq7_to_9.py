"""(7) to (9): the gradients in the factors, and three forms of a round."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np

import linrep as lr
from linrep.claims import Cases, Condition, Fact, Identity, Mean, statement
from linrep.claims.deviations import readings, relative
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf._forms import SHARE, STEP, Round, instance, rounds_of, run
from linrep.papers.pflmf.counterexamples.eq8_9 import moves
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


def _largest_score(problem, theta) -> float:
    """Return the largest |<x, theta>| that losses are computed from; 0 for quadratics."""
    if isinstance(problem, lr.QuadraticObjectives):
        return 0.0
    longest = np.linalg.norm(problem.data.X, axis=1).max()
    return float(longest * np.linalg.norm(theta, axis=1).max())


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
            # Differences of F are exact to eps/step times F, or the scores that F comes from.
            floor = 1e-9 * max(abs(value), _largest_score(problem, V @ U.T)) / step
            yield (
                relative(found, float(n) ** (1.0 - power) * gradient, floor),
                {"kind": kind, "in": name, "n": n, "d": d, "k": k, "step": step},
            )


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
    for kind in ("quadratic", "logistic", "softmax"):
        found = _gradients(rng, kind, budget(40, 500), power)
        yield Identity(found, 1e-6, name=kind, strength=PROVED)


def _apart(found, expected) -> float:
    """Return the larger relative deviation of U and of V."""
    return max(relative(a, b) for a, b in zip(found, expected, strict=True))


def _package(rng, count, most):
    """Yield deviations of `linrep.pflmf` from Algorithm 1 and from A.1, for every S_t."""
    for both in (False, True):
        for each in rounds_of(rng, count, most, full=both, theorem=both):
            clients, K = each.clients, each.local_steps
            for taking, found in each.outcomes.items():
                expected = clients.algorithm1(taking, STEP, K)
                if both:
                    tied = theory.head_step_size(STEP, SHARE, K)
                    expected = clients.analysed(taking, STEP, tied, K)
                elif not taking:
                    expected = clients.U, clients.V  # U stays where Algorithm 1 divides by zero
                yield _apart(found, expected), each.instance(taking)


def _together(rng, count, offset):
    """Yield deviations among the three at p = 1, K = 1, where all step sizes are one."""
    for _ in range(count):
        clients = instance(rng, 6)
        n = len(clients.V)
        everyone, etas = tuple(range(n)), np.full(n, STEP)
        forms = {
            "Algorithm 1": clients.algorithm1(everyone, STEP, 1 + offset),
            "(8)-(9)": clients.eight_nine(everyone, etas),
            "A.1": clients.analysed(everyone, STEP, theory.head_step_size(STEP, 1.0, 1), 1),
        }
        for (one, found), (other, expected) in combinations(forms.items(), 2):
            yield _apart(found, expected), {"n": n, "compared": f"{one}, {other}"}


def _own_steps(rng, count) -> dict[str, list]:
    """Return deviations of (9), eta_i being in its sum, from Algorithm 1 with one before it."""
    readings_of = "one eta for all clients", "eta_i of their own, in Algorithm 1 their mean"
    found: dict[str, list] = {reading: [] for reading in readings_of}
    for _ in range(count):
        clients = instance(rng, 6)
        n = len(clients.V)
        own = STEP * rng.uniform(0.5, 1.5, n)
        for reading, etas in zip(found, (np.full(n, STEP), own), strict=True):
            U, _ = clients.eight_nine(range(n), etas)
            first, _ = clients.algorithm1(range(n), etas.mean(), 1)
            found[reading].append((relative(U, first), {"n": n, "eta_i": etas.tolist()}))
    return found


def _apart_from_analysed(rounds: list[Round]):
    """Yield deviations of the rounds' U and V from A.1's with the same participants."""
    for each in rounds:
        tied = theory.head_step_size(STEP, SHARE, each.local_steps)
        for taking, found in each.outcomes.items():
            expected = each.clients.analysed(taking, STEP, tied, each.local_steps)
            for name, a, b in zip("UV", found, expected, strict=True):
                yield name, relative(a, b), each.instance(taking)


def _directions(each: Round) -> dict[tuple[int, ...], Array]:
    """Return what U moved along, for every S_t that is not empty."""
    U = each.clients.U
    return {taking: (U - new_U) / STEP for taking, (new_U, _) in each.outcomes.items() if taking}


def _means(rounds: list[Round]):
    """Yield deviations of the mean over participants, given that there are some, from the whole."""
    for each in rounds:
        n, directions = len(each.clients.V), _directions(each)
        for p in (0.02, 0.3, 0.9):
            weights = [p ** len(taking) * (1.0 - p) ** (n - len(taking)) for taking in directions]
            mean = np.average(list(directions.values()), axis=0, weights=weights)
            yield relative(mean, each.clients.whole(), 0.1), {"n": n, "p": p}


def _drawn(rng, runs, full, margins):
    """Yield what `linrep.pflmf` draws: |S_t|/n, and U's direction on average."""
    clients, p = instance(rng), 0.3
    whole, sizes, along = clients.whole(), [], []
    size = float(np.linalg.norm(whole))
    for _ in range(runs):
        taking, (U, _) = run(clients, int(rng.integers(2**31)), 1, full=full, theorem=True, p=p)
        sizes.append(len(taking) / len(clients.V))
        if taking:
            along.append(float(np.sum((clients.U - U) * whole) / (STEP * size)))
    at = {"p": p, "n": len(clients.V), "runs": runs}
    yield Mean(
        sizes,
        equals=p,
        margin=margins[0],
        quantity="share of clients",
        name="share of participants",
        setting=at,
    )
    yield Mean(
        along,
        equals=size,
        margin=margins[1],
        quantity="step along the gradient in U",
        name="U's direction, S_t not empty",
        setting=at,
    )


def _growth(rng) -> list[float]:
    """Return the participants' mean's variance at factors 1, 10, ... 1000 times as large."""
    clients, p, found = instance(rng), 0.5, []
    n = len(clients.V)
    for R in (1.0, 10.0, 100.0, 1000.0):
        at = clients._replace(U=R * clients.U, V=R * clients.V)
        squares, total = 0.0, 0.0
        for taking in (np.flatnonzero(row) for row in list(product((0, 1), repeat=n))[1:]):
            weight = p ** len(taking) * (1.0 - p) ** (n - len(taking))
            mean = np.mean([at.G(i) for i in taking], axis=0)
            squares += weight * float(np.sum((mean - at.whole()) ** 2))
            total += weight
        found.append(squares / total)
    return found


def _conditional(rounds: list[Round]) -> Cases:
    """Return whether U's direction has the gradient as its mean given D, as E_t asks."""
    cases = []
    for each in rounds:
        whole = each.clients.whole()
        for taking, direction in _directions(each).items():
            share = float(np.linalg.norm(direction - whole) / np.linalg.norm(whole))
            cases.append((share, 1e-10, each.instance(taking)))
    return Cases(cases, quantity="bias over the gradient's norm", name="unbiased given D")


def _indices(rng, count) -> dict[str, list]:
    """Return deviations of `linrep.pflmf`'s V^{t+1} from the readings of Algorithm 1's loop."""
    found: dict[str, list] = {
        "v^{t,0} = v^t, K steps": [],
        "v^{t,1} = v^t, K - 1 steps": [],
        "v^{t,1} = v^t behind the loop resets": [],
    }
    for _ in range(count):
        clients, K = instance(rng, 6), int(rng.integers(1, 5))
        everyone = range(len(clients.V))
        _, (_, V) = run(clients, 0, K, full=False, theorem=False, p=1.0)
        for reading, steps in zip(found, (K, K - 1, 0), strict=True):
            heads = clients.heads(everyone, np.full(len(clients.V), STEP), steps)
            found[reading].append((relative(heads, V), {"K": K, "reading": reading}))
    return found


def _nobody(rng, full) -> Condition:
    """Return whether the U-step is a number for every S_t, the empty one included."""
    clients = instance(rng)
    new_U, _ = clients.analysed((), STEP, STEP, 1) if full else clients.algorithm1((), STEP, 1)
    n, p = 10, 0.02
    chance = 1.0 - float(theory.lemma7(n, p))
    return Condition(
        bool(np.isfinite(new_U).all()),
        chance,
        quantity="P(|S_t| = 0)",
        name="|S_t| = 0",
        setting={"n": n, "p": p, "P(|S_t| = 0)": chance},
    )


def _by_hand(full, theorem) -> Cases:
    """Return Algorithm 1's round and A.1's of x^2/2 and (x - 1)^2/2 at u = v_1 = v_2 = 1.

    Client 1 takes part, p = 1/2, K = 1, eta = 1/10; in rational numbers.
    """
    at = {"f": ["x^2/2", "(x - 1)^2/2"], "u": 1, "v": [1, 1], "S_t": [1], "p": "1/2", "eta": "1/10"}
    cases = [
        (abs(one - other), Fraction(0), {**at, "of": name})
        for name, (one, other) in moves(full, theorem).items()
    ]
    return Cases(
        cases,
        name="x^2/2 and (x - 1)^2/2, exact",
        quantity="distance of Algorithm 1's round from A.1's",
    )


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
    apart = list(_apart_from_analysed(rounds))
    yield _by_hand(full, theorem)
    yield Identity(_package(rng, budget(4, 50), most), 1e-14, name="linrep.pflmf's forms")
    yield Identity(_together(rng, budget(20, 300), offset), 1e-14, name="p = 1, K = 1")
    for name in "UV":
        yield Identity(
            [(x, at) for where, x, at in apart if where == name],
            1e-14,
            name=f"a round at p = 1/2, {name}",
        )
    yield Identity(_means(rounds), 1e-12, name="mean over S_t, not empty")
    yield from _drawn(rng, budget(400, 10_000), full, budget((0.5, 1.0), (0.1, 0.3)))
    yield _conditional(rounds)
    yield _nobody(rng, full)
    for name, found, phrase in (
        ("eta_i in (9)", _own_steps(rng, budget(20, 300)), "eta_i, with an index"),
        ("indices of the loop", _indices(rng, budget(20, 300)), "v_i^{t,1} = v_i^t, twice"),
    ):
        yield readings(found, 1e-14, name=name, phrase=phrase)
    growth = np.log10(np.array([_growth(rng) for _ in range(budget(3, 20))]))
    yield Fact(
        "power of R in the variance of the participants' mean, factors R times as large",
        float(np.diff(growth[:, 1:], axis=1).mean()),
    )
