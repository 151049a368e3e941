"""Figure 3: rounds by number of clients and by head steps.

All four sentences are read of the same runs: with each step and start that the paper or the
authors' notebook has, in each way of `trajectories`. The figure has four values of n, of which the
text names none and the notebook has three; these are taken. At n = 10 a single client takes part in
a round, fewer than k: sentences on methods are read with and without it. The curves are of
distances after each round, so that the best of a run up to a round is no reading.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Comparison, Growth, statement
from linrep.claims.multiverse import Multiverse, lengths
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
from linrep.papers.fedrep.trajectories import TUNING, best_steps, padded, speeds, ways

FIGURE = Figure3()
AT = lengths(PUBLISHED_ROUNDS, FIGURE.rounds)
WAYS = ways("distance", AT)
#: The paper's rounds have QR factorizations, its notebook's none.
SETTINGS: dict[str, dict[str, Any]] = {
    "theorem's step, from distance 1/2": {"start": 0.5},
    "authors' steps, from A.1's start": {"convention": "published"},
    "authors' steps, from their notebook's start": {"convention": "published", "start": "notebook"},
    "theorem's step, from A.1's start": {},
    "each method's best step, from A.1's start": {"best": True},
}
ABOUT = {
    "step and start": "the paper's theorem, or the authors' notebook; A.1's start is of projected "
    "gradient descent",
    "faster": "by the distance at a time, or by the rounds to a distance; the way goes from the "
    "nearest start to the farthest end",
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
    """Follow each method along n to one distance; the control claims a factor from n to n."""
    over, found = race(budget, rng, tuple(METHODS), goal_of="n")
    found = found * factor ** np.arange(len(over["n"]))[:, None, None, None]
    yield Growth(
        found,
        over=over,
        along="n",
        falls=True,
        name="faster",
        about=ABOUT,
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
    yield _by_sizes(
        np.broadcast_to(factor * found[..., :1, :], rivals.shape),
        rivals,
        over | {"method": over["method"][1:]},
        each="method",
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
    yield _by_sizes(
        factor * found[..., 0, :],
        found[..., 1, :],
        over,
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

    Half of what FedRep gains is half of the logarithm. Fixed distances are no goals: from A.1's
    start most runs with n = 1000 are within 0.1 at once, while most with n = 10 never are, and no
    run gets to 0.01 with the paper's noise. Gains from each n to the next multiply: together they
    are that from the smallest to the largest. The control claims a factor.
    """
    over, found = race(budget, rng, tuple(METHODS), goal_of="n")
    n, methods = over.pop("n"), over.pop("method")[1:]
    steps = {"each to the next": list(pairwise(range(len(n))))}
    if len(n) > 2:
        steps["the smallest to the largest"] = [(0, len(n) - 1)]

    def scales(pairs):
        few, many = (found[:, list(at)] for at in zip(*pairs, strict=True))
        gains = many / few
        others = gains[..., 1:, :]
        own = np.broadcast_to(gains[..., :1, :], others.shape)
        smaller = np.stack([few[..., 1:, :], own, np.maximum(own, own**0.5)])
        larger = np.stack([many[..., 1:, :], others, others])
        cases = [f"{n[a]} to {n[b]}, {name}" for (a, b), name in product(pairs, methods)]
        both = (np.swapaxes(each, 2, 3) for each in (factor * smaller, larger))
        return Comparison(
            *(each.reshape(*each.shape[:3], len(cases), -1) for each in both),
            over={
                "does not scale": (
                    "slower with more clients",
                    "gains less than FedRep",
                    "gains less than half of what FedRep gains",
                ),
                **over,
                "n, method": cases,
            },
            each="n, method",
            of="gains",
            about=ABOUT
            | {
                "does not scale": "more clients slow it down, or it gains less by them "
                "than FedRep, or less than half of the logarithm of that"
            },
            name="does not scale properly",
            phrase="do not scale properly with n",
        )

    about = {"n": "more clients: from each n to the next, or from the smallest to the largest"}
    parts = {name: scales(pairs) for name, pairs in steps.items()}
    yield Multiverse.along("n", parts, about=about)


def _by_sizes(smaller, larger, over, **options):
    """Compare numbers with and without the smallest n, of which one client takes part."""
    parts = {}
    for first in range(max(1, len(over["n"]) - 1)):
        n = over["n"][first:]
        pair = smaller[:, first:], larger[:, first:]
        parts[f"from {n[0]}"] = Comparison(
            *pair, over=over | {"n": n}, sizes="n", of="numbers", about=ABOUT, **options
        )
    about = {"n": "with n = 10, of which one client takes part in a round, or without"}
    return Multiverse.along("n", parts, about=about)


def race(budget, rng, methods, *, goal_of="method"):
    """Return the axes of what methods take, and it: settings, n, ways, methods, runs.

    Shares of the way are of one way for all methods at an n, or else for all n of a method.
    Problems of different n are independent; those of one place in the order of runs have that way,
    so that runs remain independent of each other.
    """
    settings = list(SETTINGS)[: budget(1, 5)]
    sizes = tuple(PUBLISHED_STEPS)[: budget(2, 3)]
    seeds = draw_seeds(rng, TUNING + budget(80, 150, 200))
    found = np.array(
        [[_runs(n, seeds, methods, **SETTINGS[each]) for n in sizes] for each in settings]
    )  # settings, n, methods, runs, rounds
    if goal_of == "method":
        found = speeds(found.swapaxes(2, 3), AT).transpose(0, 1, 3, 4, 2)
    else:
        found = speeds(found.transpose(0, 2, 3, 1, 4), AT).transpose(0, 4, 3, 1, 2)
    return {"step and start": settings, "n": sizes, "faster": WAYS, "method": methods}, found


def _runs(n, seeds, methods, *, best=False, **setting):
    """Return methods, runs, rounds, with the theorem's step or each method's best."""

    def run(seed, multiples, rounds):
        return _trajectories(n, seed, multiples, rounds, **setting)

    multiples = dict.fromkeys(methods, 1.0)
    if best:
        multiples = best_steps(run, methods, seeds[:TUNING])
    return np.stack([run(seed, multiples, AT[-1]) for seed in seeds[TUNING:]], axis=1)


def _trajectories(n, seed, multiples, rounds, *, convention="text", start="appendix"):
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
    for method, multiple in multiples.items():
        options = FIGURE.options(convention, n, method)
        if convention == "text":
            options |= {"step_size": multiple * step_size}
        trace = lr.fedrep(data, rounds=rounds, start=starts[method], rng=seed, **options)
        found.append(padded(trace["distance"], rounds, 1.0))
    return np.array(found)
