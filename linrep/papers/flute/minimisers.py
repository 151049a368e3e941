"""(2) and (4): they have the same minimisers, and FLUTE ends at balanced ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.optimize import minimize

from linrep.algorithms import empirical_risk_minimizer, fedrep, fit_heads, flute, gaussian_start
from linrep.claims import Cases, Fact, Identity, statement
from linrep.claims.deviations import identities
from linrep.claims.evidence import FAILS
from linrep.claims.quantities import UPPER
from linrep.papers.flute._hypotheses import FULL, GAUSSIAN
from linrep.papers.flute._lifted import SHAPES, draw_case
from linrep.problems import LowRankRegression
from linrep.problems.subspace import orthonormalize

SAME = 1e-6


def _penalty(factors, gamma2, ratio):
    """Return the regularizer of (4), at gamma1 = ratio gamma2."""
    B, W = factors
    inner = B.T @ B, W.T @ W
    models = np.sum((B @ W.T) ** 2)
    return float(gamma2 * (sum(np.sum(A**2) for A in inner) - ratio * models))


def _balanced(B, W):
    """Return the factors (BG, W G^-T) of BW' that are balanced, from its decomposition."""
    left, values, right = np.linalg.svd(B @ W.T, full_matrices=False)
    k = B.shape[1]
    root = np.sqrt(values[:k])
    return left[:, :k] * root, right[:k].T * root


def _slopes(data, B, W, gamma2, ratio):
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


def _algebra(budget, rng, ratio):
    """Yield identities on random states: rebalancing, and what stationarity of (4) means."""
    same, squares = [], []
    for _ in range(budget(30, 150, 1000)):
        case = draw_case(rng, SHAPES[rng.integers(3)])
        B, W, gamma2 = case.B, case.W, 10.0 ** rng.uniform(-1.0, 1.0)
        even = _balanced(B, W)
        models = np.abs(even[0] @ even[1].T - B @ W.T).max() / np.abs(B @ W.T).max()
        size = _penalty(even, gamma2, 0.0)
        gap = abs(_penalty(even, gamma2, ratio)) / size
        same.append((max(gap, models), case.settings))
        _, data, penalty = _slopes(case.data, B, W, gamma2, ratio)
        found = B.T @ (data[0] + penalty[0]) - (data[1] + penalty[1]).T @ W
        P, Q = B.T @ B, W.T @ W
        expected = 4.0 * gamma2 * (P @ P - Q @ Q)
        size = sum(np.linalg.norm(A) for A in (B.T @ data[0], B.T @ penalty[0], expected))
        squares.append((np.abs(found - expected).max() / size, case.settings))
    yield Identity(same, SAME, name="balanced factors of BW: (4) is (2)")
    yield Identity(squares, SAME, name="B' dF/dB - dF/dW W' = 4 gamma_2 ((B'B)^2 - (WW')^2)")


def _least(data, start, gamma2, ratio):
    """Return the value of (4), losses halved and summed, and the factors where L-BFGS ends."""
    (B, W), sizes = start, (start[0].size, start[1].size)

    def function(x):
        factors = x[: sizes[0]].reshape(B.shape), x[sizes[0] :].reshape(W.shape)
        value, losses, penalties = _slopes(data, *factors, gamma2, ratio)
        slopes = [(a + b).ravel() for a, b in zip(losses, penalties, strict=True)]
        return value + _penalty(factors, gamma2, ratio), np.concatenate(slopes)

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 30}
    end = minimize(
        function,
        np.concatenate([B.ravel(), W.ravel()]),
        jac=True,
        method="L-BFGS-B",
        options=options,
    )
    return float(end.fun), end.x[: sizes[0]].reshape(B.shape), end.x[sizes[0] :].reshape(W.shape)


def _steepness(data, B, W):
    """Return how far (B, W) is from stationary for (2): its slopes over those of its parts."""
    _, slopes, _ = _slopes(data, B, W, 0.0, 0.0)
    scale = sum(np.linalg.norm(X.T @ y) / len(y) for X, y in map(data.client, range(data.n)))
    return max(
        np.abs(slope).max() / (scale * np.linalg.norm(other, 2))
        for slope, other in zip(slopes, (W, B), strict=True)
    )


def _imbalance(B, W):
    """Return |B'B - W'W| over |B'B + W'W|, spectral norms."""
    P, Q = B.T @ B, W.T @ W
    return float(np.linalg.norm(P - Q, 2) / np.linalg.norm(P + Q, 2))


def _moved(problem, factors, **settings):
    """Return the relative change of (B, W) in one round."""
    B, W = factors
    trace = flute(problem, k=B.shape[1], start=(B, W), rounds=1, step_size=0.05, **settings)
    before = np.vstack([B, W])
    after = np.vstack([trace.state["B"], trace.state["W"]])
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def _samples(rng):
    """Return samples of all shapes, more or fewer than dimensions, the rank, and their setting."""
    n, d = ((4, 7), (6, 6), (8, 5))[rng.integers(3)]
    k = int(rng.integers(1, 4))
    m = int(rng.integers(*((k + 1, d) if rng.random() < 0.4 else (d, 4 * d))))
    values = 1.0 / np.arange(1, min(n, d) + 1)
    truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.1, rng=rng)
    return truth.draw(m, rng=rng), k, {"n": n, "d": d, "k": k, "m": m}


_GAMMA2 = 0.125
_CONVENTIONS: tuple[dict, ...] = (
    {},
    {"loss": "full"},
    {"aggregate": "mean"},
    {"loss": "full", "aggregate": "mean"},
)


def _limits(budget, rng, ratio):
    """Return lists of cases by part, and by how much FLUTE and FedRep end above the least value."""
    parts: dict[str, list] = {
        "least values of (2) and (4)": [],
        "(2) at the models that minimize (4)": [],
        "balanced minimizers of (2) stay": [],
        "FLUTE's limits are balanced": [],
        "FLUTE's limits are stationary for (2)": [],
    }
    above: dict[str, list] = {"FLUTE": [], "FedRep": []}
    gammas = {"gamma1": ratio * _GAMMA2, "gamma2": _GAMMA2}
    for _ in range(budget(4, 30, 200)):
        data, k, where = _samples(rng)
        B, W = gaussian_start(data.n, data.d, k, 0.1, rng)
        trace = flute(
            data,
            k=k,
            start=(B, W),
            step_size=0.05,
            rounds=100_000,
            record=100_000,
            tolerance=1e-11,
            **gammas,
        )
        limit = trace.state["B"], trace.state["W"]
        known = replace(data, truth=data.truth.representation(k))
        frame = fedrep(known, k=k, start=orthonormalize(B), rounds=budget(3000, 30_000)).state["B"]
        other = frame, fit_heads(data, frame)
        first = _least(data, (B, W), _GAMMA2, ratio)
        starts = [frame, *(A for A in (limit[0], first[1]) if np.linalg.matrix_rank(A) == k)]
        fit = empirical_risk_minimizer(data, k, restarts=budget(2, 4), starts=starts, rng=rng)
        best = _balanced(fit.B, fit.W)
        near = [A + 0.01 * rng.standard_normal(A.shape) for A in best]
        ends = first, _least(data, near, _GAMMA2, ratio)
        value, *factors = min(ends, key=lambda end: end[0])
        lowest, size = data.n * fit.loss, 0.5 * data.n * np.mean(data.y**2)
        parts["least values of (2) and (4)"].append((abs(value - lowest) / size, where))
        own = _slopes(data, factors[0], factors[1], 0.0, 0.0)[0]
        parts["(2) at the models that minimize (4)"].append((abs(own - lowest) / size, where))
        for options in _CONVENTIONS:
            moved = _moved(data, best, **gammas, **options)
            parts["balanced minimizers of (2) stay"].append((moved, where | options))
        if trace.stop_reason == "rounds":
            continue  # not there yet
        parts["FLUTE's limits are balanced"].append((_imbalance(*limit), where))
        slope = _steepness(data, *limit)
        parts["FLUTE's limits are stationary for (2)"].append((slope, where))
        for name, end in (("FLUTE", limit), ("FedRep", other)):
            above[name].append((_slopes(data, *end, 0.0, 0.0)[0] - lowest) / size)
    return parts, above


def _truncations(budget, rng, ratio):
    """Yield how far FLUTE moves from balanced stationary points of the population's (2).

    These are the sums of any k singular triples of Phi; scaling B up and W down moves them.
    """
    stay, shift = [], []
    for shape in SHAPES:
        for _ in range(budget(3, 10)):
            truth, k = (case := draw_case(rng, shape)).truth, case.B.shape[1]
            unit = truth.singular_values[0]
            truth = LowRankRegression(truth.Phi / unit)
            U, values, V = truth.svd
            for chosen in combinations(range(values.size), k):
                rows = list(chosen)
                root = np.sqrt(values[rows])
                if root.max() < 1e-6:
                    continue
                B, W = U[:, rows] * root, V[:, rows] * root
                gammas = {"gamma1": ratio * _GAMMA2, "gamma2": _GAMMA2, "batches": "population"}
                where = {"n": truth.n, "d": truth.d, "triples": rows}
                stay.append((_moved(truth, (B, W), **gammas), where))
                shift.append((SAME, _moved(truth, (1.1 * B, W / 1.1), **gammas), where))
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
    """Rebalance factors, minimize both objectives, and compare where FLUTE and FedRep end.

    A stationary point of (4) has (B'B)^2 = (WW')^2: it is balanced, and stationary for (2).
    """
    cases, above = _limits(budget, rng, ratio)
    yield from _algebra(budget, rng, ratio)
    yield from identities({name: found for name, found in cases.items() if found}, SAME)
    yield from _truncations(budget, rng, ratio)
    for name, values in above.items():
        if values:
            share = float(np.mean(np.array(values) < SAME))
            # The least value found may be above the least.
            yield Fact(
                f"share of samples on which {name} ends at the least value", share, value_is=UPPER
            )


def _ends(budget, rng):
    """Yield the losses at which FLUTE, FedRep and one model for all end, k below the rank."""
    for _ in range(budget(2, 6, 20)):
        n, d, k = 8, 5, int(rng.integers(1, 4))
        values = 1.0 / np.arange(1, d + 1)
        truth = LowRankRegression.random(n=n, d=d, singular_values=values, noise=0.1, rng=rng)
        data = truth.draw(20 * d, rng=rng)
        known = replace(data, truth=truth.representation(k))
        B, W = gaussian_start(n, d, k, 0.1, rng)
        ours = flute(
            data, k=k, start=(B, W), step_size=0.05, rounds=100_000, record=100_000,
            tolerance=1e-11,
        ).state  # fmt: skip
        frame = fedrep(known, k=k, start=orthonormalize(B), rounds=10_000).state["B"]
        pooled = sum(X.T @ y for X, y in map(data.client, range(n)))
        one = np.linalg.solve(sum(X.T @ X for X, _ in map(data.client, range(n))), pooled)
        factors = {
            "FLUTE": (ours["B"], ours["W"]),
            "FedRep": (frame, fit_heads(data, frame)),
            "one model": (one[:, None], np.ones((n, 1))),
        }
        losses = {name: _slopes(data, *pair, 0.0, 0.0)[0] for name, pair in factors.items()}
        yield losses, {"n": n, "d": d, "k": k, "rank": d}


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
    cases = [
        (losses["FLUTE"], share * losses[other], where | losses)
        for losses, where in _ends(budget, rng)
    ]
    yield Cases(cases, quantity="FLUTE's loss", name=f"below that of {other}")
    largest = max(where["FedRep"] / where["FLUTE"] - 1.0 for *_, where in cases)
    yield Fact("largest FedRep's loss over FLUTE's, less 1", largest)
