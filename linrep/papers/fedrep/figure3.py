"""Figure 3: rounds by number of clients and by head steps.

All four sentences are read of the same runs: with each step and start that the paper or the
authors' notebook has, in each way of `trajectories`. The notebook's numbers of clients are taken;
at n = 10 a single client takes part in a round, fewer than k. The curves are of distances after
each round, so that the best of a run up to a round is no reading.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Comparison, Growth, statement
from linrep.claims.multiverse import lengths
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.settings import (
    CONVENTIONS,
    METHODS,
    PUBLISHED_ROUNDS,
    PUBLISHED_STEPS,
    Figure3,
    draw_problem,
    notebook_start,
)
from linrep.papers.fedrep.trajectories import at_best, padded, speeds, ways

FIGURE = Figure3()
AT = lengths(PUBLISHED_ROUNDS, FIGURE.rounds)
WAYS = ways("distance", AT)
#: Multiples of the theorem's step size among which each method is given its best, and the number
#: of further problems on which that is chosen: for each n and each way of being faster.
MULTIPLES = (0.25, 1.0, 4.0, 16.0)
TUNING = 10
#: The paper's rounds have QR factorizations, its notebook's none.
SETTINGS: dict[str, dict[str, Any]] = {
    "theorem's step, from distance 1/2": {"start": 0.5},
    "authors' steps, from A.1's start": {"convention": "published"},
    "authors' steps, from their notebook's start": {"convention": "published", "start": "notebook"},
    "theorem's step, from A.1's start": {},
    "each method's best step, from A.1's start": {"multiples": MULTIPLES},
}
_FIGURE3: dict[str, Any] = {"place": "Figure 3; Section 5.1"}
_SIZES = "d = 10, k = 2, m = 5, r = 0.1"


@statement(
    "fedrep.figure3.clients",
    latex=r"n < n' \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SIZES}: the more clients, the faster the representation is learned.",
    negative_control={"factor": 1000.0},
    **_FIGURE3,
)
def clients(budget, rng, *, factor=1.0):
    """Follow each method along n; the control claims a factor from each n to the next."""
    over, found = race(budget, rng, tuple(METHODS))
    found = found * factor ** np.arange(len(over["n"]))[:, None, None, None]
    yield Growth(
        found,
        over=over,
        along="n",
        falls=True,
        name="faster",
        phrase="by increasing the number of nodes n, clients converge to the true representation "
        "faster",
    )


@statement(
    "fedrep.figure3.fastest",
    latex=r"\text{rounds}_{\text{FedRep}} < \text{rounds}_{\text{10GD-GD}},\ "
    r"\text{rounds}_{\text{GD-GD}}",
    plain=f"{_SIZES}: FedRep is faster than with ten head steps, and than with one.",
    negative_control={"factor": 1000.0},
    **_FIGURE3,
)
def fastest(budget, rng, *, factor=1.0):
    """Compare FedRep with both others; the control claims a factor."""
    over, found = race(budget, rng, tuple(METHODS))
    rivals = found[..., 1:, :]
    yield Comparison(
        np.broadcast_to(factor * found[..., :1, :], rivals.shape),
        rivals,
        over=over | {"method": over["method"][1:]},
        sizes="n",
        each="method",
        of="numbers",
        name="fastest",
        phrase="FedRep … has the fastest rate compared to GD-GD and 10GD-GD",
    )


@statement(
    "fedrep.figure3.head_steps",
    latex=r"\text{rounds}_{\text{10GD-GD}} < \text{rounds}_{\text{GD-GD}}",
    plain=f"{_SIZES}: ten head steps are faster than one.",
    negative_control={"factor": 1000.0},
    **_FIGURE3,
)
def head_steps(budget, rng, *, factor=1.0):
    """Compare ten with one; exact heads are the next sentence's. The control claims a factor."""
    over, found = race(budget, rng, ("10GD-GD", "GD-GD"))
    del over["method"]
    yield Comparison(
        factor * found[..., 0, :],
        found[..., 1, :],
        over=over,
        sizes="n",
        of="numbers",
        name="faster",
        phrase="running more local updates for finding the local head accelerates the convergence "
        "speed",
    )


@statement(
    "fedrep.figure3.scaling",
    latex=r"\text{rounds}_{\text{GD-GD}}(n') \ge \text{rounds}_{\text{GD-GD}}(n) \text{ or }"
    r"\frac{\text{rounds}_{\text{FedRep}}(n')}{\text{rounds}_{\text{FedRep}}(n)} <"
    r"\frac{\text{rounds}_{\text{GD-GD}}(n')}{\text{rounds}_{\text{GD-GD}}(n)} \qquad (n < n')",
    plain=f"{_SIZES}: with one or ten head steps convergence does not scale properly with n.",
    negative_control={"factor": 1000.0},
    **_FIGURE3,
)
def scaling(budget, rng, *, factor=1.0):
    """Ask of both methods whether more clients slow them down, and whether they gain less.

    From each n to the next. The control claims a factor.
    """
    over, found = race(budget, rng, tuple(METHODS))
    few, many = found[:, :-1], found[:, 1:]
    gains = many / few
    others = gains[..., 1:, :]
    gained = np.broadcast_to(gains[..., :1, :], others.shape)
    yield Comparison(
        factor * np.stack([few[..., 1:, :], gained]),
        np.stack([many[..., 1:, :], others]),
        over={
            "does not scale": ("slower with more clients", "gains less than FedRep"),
            **over,
            "n": [f"{n} to {more}" for n, more in zip(over["n"], over["n"][1:], strict=False)],
            "method": over["method"][1:],
        },
        sizes="n",
        each="method",
        of="gains",
        name="does not scale properly",
        phrase="do not scale properly with n",
    )


def race(budget, rng, methods):
    """Return the axes of what methods take, and it: settings, n, ways, methods, runs."""
    settings = list(SETTINGS)[: budget(1, 5)]
    sizes = tuple(PUBLISHED_STEPS)[: budget(2, 3)]
    seeds = draw_seeds(rng, TUNING + budget(80, 80, 200))
    found = np.array(
        [[_at_best(n, seeds, methods, **SETTINGS[each]) for n in sizes] for each in settings]
    )
    return {"step and start": settings, "n": sizes, "faster": WAYS, "method": methods}, found


def _at_best(n, seeds, methods, *, multiples=(1.0,), **setting):
    """Return ways, methods, runs: each method with the multiple best on further problems."""
    tuning = TUNING if len(multiples) > 1 else 0
    seeds = seeds[TUNING - tuning :]
    runs = [speeds(_trajectories(n, seed, methods, multiples, **setting), AT) for seed in seeds]
    shape = (len(WAYS), len(methods), len(multiples), len(seeds))
    return at_best(np.stack(runs, axis=-1).reshape(shape), tuning)


def _trajectories(n, seed, methods, multiples, *, convention="text", start="appendix"):
    """Return distances on one problem: methods with each of the multiples of their steps, rounds.

    In the notebook all begin with one array of heads, into which FedRep, whose turn is first,
    writes in its first round.
    """
    truth, data = draw_problem(FIGURE, seed, n=n, **CONVENTIONS[convention])
    first: Any = start if start == 0.5 else lr.projected_gradient_start(data, FIGURE.k)
    starts = dict.fromkeys(METHODS, first)
    if start == "notebook":
        B, W = notebook_start(data, FIGURE.k, seed)
        options = FIGURE.options(convention, n, "FedRep")
        written = lr.fedrep(data, start=(B, W), rounds=1, rng=seed, **options).state["W"]
        starts = {method: (B, W if method == "FedRep" else written) for method in METHODS}
    step_size = theorem_step_size(truth, max(1, n // 10))
    found = []
    for method in methods:
        options = FIGURE.options(convention, n, method)
        for multiple in multiples:
            if convention == "text":
                options |= {"step_size": multiple * step_size}
            trace = lr.fedrep(data, rounds=AT[-1], start=starts[method], rng=seed, **options)
            found.append(padded(trace["distance"], AT[-1], 1.0))
    return np.array(found)
