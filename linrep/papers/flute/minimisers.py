"""(2) and (4): they have the same minimisers, and FLUTE ends at balanced ones."""

from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.optimize import minimize

from linrep.algorithms import empirical_risk_minimizer, fedrep, fit_heads, flute, gaussian_start
from linrep.claims import Cases, Fact, Identity, statement
from linrep.claims.evidence import FAILS
from linrep.claims.measurements import identities
from linrep.papers.flute.eq4_to_6 import regularizer
from linrep.papers.flute.lifted import SHAPES, draw_case
from linrep.papers.flute.model import FULL, GAUSSIAN
from linrep.problems import LowRankRegression
from linrep.problems.subspace import orthonormalize

SAME = 1e-6
GAMMA2 = 0.125


def balanced(B, W):
    """Return the factors (BG, W G^-T) of BW' that are balanced, from its decomposition."""
    left, values, right = np.linalg.svd(B @ W.T, full_matrices=False)
    k = B.shape[1]
    root = np.sqrt(values[:k])
    return left[:, :k] * root, right[:k].T * root


def slopes(data, B, W, gamma2=0.0, ratio=0.0):
    """Return half the summed losses, and its gradients and the penalty's in B and W."""
    in_B, in_W, value = np.zeros_like(B), np.zeros_like(W), 0.0
    for i, w in enumerate(W):
        X, y = data.client(i)
        residual = X @ (B @ w) - y
        value += 0.5 * np.mean(residual**2)
        g = X.T @ residual / len(y)
        in_B += np.outer(g, w)
        in_W[i] = B.T @ g
    left, right = B.T @ B, W.T @ W
    penalty_B = gamma2 * (4.0 * B @ left - 2.0 * ratio * B @ right)
    penalty_W = gamma2 * (4.0 * W @ right - 2.0 * ratio * W @ left)
    return value, (in_B, in_W), (penalty_B, penalty_W)


def algebra(budget, rng, ratio):
    """Yield identities on random states: rebalancing, and what stationarity of (4) means."""
    same, squares = [], []
    for _ in range(budget(30, 150, 1000)):
        case = draw_case(rng)
        B, W, gamma2 = case.B, case.W, 10.0 ** rng.uniform(-1.0, 1.0)
        even = balanced(B, W)
        models = np.abs(even[0] @ even[1].T - B @ W.T).max() / np.abs(B @ W.T).max()
        gap, size = (regularizer(even[0], even[1], g, gamma2) for g in (ratio * gamma2, 0.0))
        same.append((max(abs(gap) / size, models), case.settings))
        _, data, penalty = slopes(case.data, B, W, gamma2, ratio)
        found = B.T @ (data[0] + penalty[0]) - (data[1] + penalty[1]).T @ W
        P, Q = B.T @ B, W.T @ W
        expected = 4.0 * gamma2 * (P @ P - Q @ Q)
        size = sum(np.linalg.norm(A) for A in (B.T @ data[0], B.T @ penalty[0], expected))
        squares.append((np.abs(found - expected).max() / size, case.settings))
    yield Identity(same, SAME, name="balanced factors of BW: (4) is (2)")
    yield Identity(squares, SAME, name="B' dF/dB - dF/dW W' = 4 gamma_2 ((B'B)^2 - (WW')^2)")


def least(data, start, ratio):
    """Return the value of (4), losses halved and summed, and the factors where L-BFGS ends."""
    (B, W), size = start, start[0].size

    def factors(x):
        return x[:size].reshape(B.shape), x[size:].reshape(W.shape)

    def function(x):
        B, W = factors(x)
        value, losses, penalties = slopes(data, B, W, GAMMA2, ratio)
        value += regularizer(B, W, ratio * GAMMA2, GAMMA2)
        total = [(a + b).ravel() for a, b in zip(losses, penalties, strict=True)]
        return value, np.concatenate(total)

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 30}
    x = np.concatenate([B.ravel(), W.ravel()])
    end = minimize(function, x, jac=True, method="L-BFGS-B", options=options)
    return float(end.fun), *factors(end.x)


def steepness(data, B, W):
    """Return how far (B, W) is from stationary for (2): its slopes over those of its parts."""
    _, found, _ = slopes(data, B, W)
    scale = sum(np.linalg.norm(X.T @ y) / len(y) for X, y in map(data.client, range(data.n)))
    pairs = zip(found, (W, B), strict=True)
    return max(np.abs(slope).max() / (scale * np.linalg.norm(A, 2)) for slope, A in pairs)


def imbalance(B, W):
    """Return |B'B - W'W| over |B'B + W'W|, spectral norms."""
    P, Q = B.T @ B, W.T @ W
    return float(np.linalg.norm(P - Q, 2) / np.linalg.norm(P + Q, 2))


def moved(problem, B, W, ratio, **settings):
    """Return the relative change of (B, W) in one round."""
    settings |= {"gamma1": ratio * GAMMA2, "gamma2": GAMMA2, "step_size": 0.05}
    trace = flute(problem, k=B.shape[1], start=(B, W), rounds=1, **settings)
    before, after = np.vstack([B, W]), np.vstack([trace.state["B"], trace.state["W"]])
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def run_both(data, k, start, fedrep_rounds, **gammas):
    """Return FLUTE's run, and where FedRep ends from the same start."""
    trace = flute(
        data, k=k, start=start, step_size=0.05, rounds=100_000, record=100_000, tolerance=1e-11,
        **gammas,
    )  # fmt: skip
    known = replace(data, truth=data.truth.representation(k))
    frame = fedrep(known, k=k, start=orthonormalize(start[0]), rounds=fedrep_rounds).state["B"]
    return trace, (frame, fit_heads(data, frame))


def limits(budget, rng, ratio):
    """Yield part, deviation and setting of minimizers, of all shapes, with many samples or few."""
    for _ in range(budget(4, 30, 200)):
        n, d = ((4, 7), (6, 6), (8, 5))[rng.integers(3)]
        k = int(rng.integers(1, 4))
        m = int(rng.integers(*((k + 1, d) if rng.random() < 0.4 else (d, 4 * d))))
        values = 1.0 / np.arange(1, min(n, d) + 1)
        truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.1, rng=rng)
        data, where = truth.draw(m, rng=rng), {"n": n, "d": d, "k": k, "m": m}
        start = gaussian_start(n, d, k, 0.1, rng)
        trace, other = run_both(
            data, k, start, budget(3000, 30_000), gamma1=ratio * GAMMA2, gamma2=GAMMA2
        )
        limit, first = (trace.state["B"], trace.state["W"]), least(data, start, ratio)
        frames = [other[0], *(A for A in (limit[0], first[1]) if np.linalg.matrix_rank(A) == k)]
        fit = empirical_risk_minimizer(data, k, restarts=budget(2, 4), starts=frames, rng=rng)
        best = balanced(fit.B, fit.W)
        near = [A + 0.01 * rng.standard_normal(A.shape) for A in best]
        value, *factors = min(first, least(data, near, ratio), key=lambda end: end[0])
        lowest, size = data.n * fit.loss, 0.5 * data.n * np.mean(data.y**2)
        yield "least values of (2) and (4)", abs(value - lowest) / size, where
        own = slopes(data, *factors)[0]
        yield "(2) at the models that minimize (4)", abs(own - lowest) / size, where
        for options in (
            {}, {"loss": "full"}, {"aggregate": "mean"}, {"loss": "full", "aggregate": "mean"},
        ):  # fmt: skip
            name = "balanced minimizers of (2) stay"
            yield name, moved(data, best[0], best[1], ratio, **options), where | options
        if trace.stop_reason == "rounds":
            continue  # not there yet
        yield "FLUTE's limits are balanced", imbalance(*limit), where
        yield "FLUTE's limits are stationary for (2)", steepness(data, *limit), where


def truncations(budget, rng, ratio):
    """Yield how far FLUTE moves from balanced stationary points of the population's (2).

    These are the sums of any k singular triples of Phi; scaling B up and W down moves them.
    """
    stay, shift = [], []
    for shape in SHAPES:
        for _ in range(budget(3, 10)):
            case = draw_case(rng, shape)
            truth = LowRankRegression(case.truth.Phi / case.truth.singular_values[0])
            U, values, V = truth.svd
            for chosen in combinations(range(values.size), case.B.shape[1]):
                rows = list(chosen)
                root = np.sqrt(values[rows])
                if root.max() < 1e-6:
                    continue
                B, W = U[:, rows] * root, V[:, rows] * root
                where = {"n": truth.n, "d": truth.d, "triples": rows}
                stay.append((moved(truth, B, W, ratio, batches="population"), where))
                away = moved(truth, 1.1 * B, W / 1.1, ratio, batches="population")
                shift.append((SAME, away, where))
    yield Identity(stay, SAME, name="sums of singular triples stay")
    yield Cases(shift, name="unbalanced factors of the same move")


@statement(
    "flute.same-minimisers",
    own=True,
    place="implied by (2) and (4)",
    latex=r"\gamma_1 = 2\gamma_2:\quad \min (4) = \min (2),\quad \text{the same } BW;\quad"
    r" \nabla(4) = 0 \iff \nabla(2) = 0 \text{ and } B^\top B = WW^\top",
    plain="With gamma_1 = 2 gamma_2 the regularizer changes no minimum, it only balances factors.",
    hypotheses=(GAUSSIAN, FULL),
    negative_control={"ratio": 1.95},
    stronger={"ratio": 0},
)
def same_minimisers(budget, rng, *, ratio=2.0):
    """Rebalance factors, minimize both objectives, and compare where FLUTE ends.

    A stationary point of (4) has (B'B)^2 = (WW')^2: it is balanced, and stationary for (2).
    """
    cases = defaultdict(list)
    for name, *case in limits(budget, rng, ratio):
        cases[name].append(case)
    yield from algebra(budget, rng, ratio)
    yield from identities(cases, SAME)
    yield from truncations(budget, rng, ratio)


@statement(
    "flute.heads_sent",
    place="Section 4.3",
    latex=r"k < r,\ \text{heads not sent} \Rightarrow \min (2) \text{ is not reached}",
    plain="Where k is below the rank, a method whose server gets no heads, as FedRep's, does not "
    "reach the loss at which FLUTE ends.",
    hypotheses=(GAUSSIAN,),
    negative_control={"share": 0.01},
    holds_with={"other": "one model"},
    expected=FAILS,
)
def heads_sent(budget, rng, *, other="FedRep", share=1.0 - SAME):
    """Run both on the same samples, from the same random start; FedRep sends no heads."""
    cases = []
    for _ in range(budget(2, 6, 20)):
        n, d, k = 8, 5, int(rng.integers(1, 4))
        values = 1.0 / np.arange(1, d + 1)
        truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.1, rng=rng)
        data = truth.draw(20 * d, rng=rng)
        trace, theirs = run_both(data, k, gaussian_start(n, d, k, 0.1, rng), 10_000)
        samples = [data.client(i) for i in range(n)]
        one = np.linalg.solve(sum(X.T @ X for X, _ in samples), sum(X.T @ y for X, y in samples))
        factors = {
            "FLUTE": (trace.state["B"], trace.state["W"]), "FedRep": theirs,
            "one model": (one[:, None], np.ones((n, 1))),
        }  # fmt: skip
        losses = {name: slopes(data, *pair)[0] for name, pair in factors.items()}
        where = {"n": n, "d": d, "k": k, "rank": d, **losses}
        cases.append((losses["FLUTE"], share * losses[other], where))
    yield Cases(cases, quantity="FLUTE's loss", name=f"below that of {other}")
    largest = max(where["FedRep"] / where["FLUTE"] - 1.0 for *_, where in cases)
    yield Fact("largest FedRep's loss over FLUTE's, less 1", largest)
