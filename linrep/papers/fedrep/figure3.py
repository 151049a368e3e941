"""Figure 3: rounds by number of clients and by head steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Curve, Fact, Paired, statement
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep._figures import arrival, before, draw_problem, round_table
from linrep.papers.fedrep.model import DIVERSE
from linrep.papers.fedrep.settings import (
    CONVENTIONS,
    METHODS,
    PUBLISHED_GOAL,
    PUBLISHED_STEPS,
    Figure3,
)

FIGURE = Figure3()
#: Multiples of the theorem's step size among which each method is given its best.
MULTIPLES = (1.0, 2.0, 4.0, 8.0)
_FIGURE3: dict[str, Any] = {"place": "Figure 3; Section 5.1"}
_SETTING = "d = 10, k = 2, m = 5, r = 0.1, n = 10, 20, 100, 1000"


@statement(
    "fedrep.figure3.clients",
    latex=r"n < n' \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SETTING}, projected-gradient start: the more clients, the fewer rounds. (From "
    "that start to 0.1 up to n = 100: at 1000 it is already nearer.)",
    negative_control={"larger": "slower"},
    **_FIGURE3,
)
def figure3_clients(budget, rng, *, larger="faster"):
    """Compare rounds to distance 0.1 (text, each method) or 0.03 (published, FedRep)."""
    count = budget(40, 100, 300)
    sizes = [n for n in FIGURE.n if n <= 100]  # of more clients the start is within 0.1
    text = _rounds(rng, dict.fromkeys(sizes, count), "text", 0.1)
    counts = dict.fromkeys(_sizes(budget, PUBLISHED_STEPS), count)
    published = _rounds(rng, counts, "published", PUBLISHED_GOAL, methods=("FedRep",))
    yield from _by_clients("text", text, larger)
    yield from _by_clients("published", published, larger)


@statement(
    "fedrep.figure3.clients.common_start",
    own=True,
    latex=r"n < n',\ \mathrm{dist}_0 = 1/2 \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SETTING}, every run from distance 1/2: the more clients, the fewer rounds of each "
    "method.",
    negative_control={"larger": "slower"},
    **_FIGURE3,
)
def figure3_common_start(budget, rng, *, larger="faster"):
    """Compare rounds from distance 1/2 to 0.1 at the theorem's step size."""
    counts = dict.fromkeys(_sizes(budget, FIGURE.n), budget(60, 300, 1000))
    found = _rounds(rng, counts, "text", 0.1, start=0.5)
    yield from _by_clients("text", found, larger)


def _sizes(budget, known):
    """Return the numbers of clients to run with, no large one in the quick budget."""
    return [n for n in known if n <= budget(100, 1000)]


def _by_clients(convention, found, larger):
    """Yield whether each next n takes fewer rounds, method by method."""
    for method in found.columns.get_level_values("method").unique():
        sizes = sorted(found.columns.get_level_values("n").unique())
        for few, many in pairwise(sizes):
            pair = (many, few) if larger == "faster" else (few, many)
            yield before(
                *(found[n, method] for n in pair),
                name=f"{method}, {convention}: n = {pair[0]} before {pair[1]}",
                setting={"method": method, "convention": convention, "first n": pair[0]},
            )
    yield Curve(round_table(found, convention))


_FASTEST = (("FedRep", "10GD-GD"), ("FedRep", "GD-GD"))
_MORE_STEPS = (("10GD-GD", "GD-GD"),)
#: Where one client takes part in a round, rn < k and Assumption 2 cannot hold: facts only.
_LONE = 10
#: Seeds by n of the quick, standard and thorough budget: most where a lead is smallest.
_SEEDS = {
    "published": {10: (20, 100, 300), 100: (40, 60, 200), 1000: (0, 500, 1500)},
    "common": {10: (10, 60, 300), 20: (60, 6000, 20_000), 100: (60, 200, 600), 1000: (0, 50, 200)},
    "tuned": {10: (10, 60, 300), 20: (60, 2000, 6000), 100: (60, 900, 3000), 1000: (0, 320, 900)},
}
#: Seeds for the choice of each method's best step.
_TUNING = {10: (8, 30, 100), 20: (8, 60, 100), 100: (8, 60, 100), 1000: (0, 12, 50)}


def compare_rounds(budget, rng, *, steps, pairs):
    """Compare the rounds of pairs of methods, at each n: the first takes fewer.

    Published steps: to distance 0.03; common and tuned ones: from distance 1/2 to 0.1. Common steps
    with QR and without; tuned ones are the best on other seeds.
    """
    methods = tuple(name for name in METHODS if any(name in pair for pair in pairs))
    counts = {n: budget(*each) for n, each in _SEEDS[steps].items() if budget(*each)}
    options: dict[str, Any] = {"methods": methods, "start": 0.5}
    if steps == "published":
        found = {steps: _rounds(rng, counts, steps, PUBLISHED_GOAL, methods=methods)}
    elif steps == "common":
        found = {
            name: _rounds(rng, counts, "text", 0.1, orthonormal=name == "QR", **options)
            for name in ("QR", "no QR")
        }
    else:
        options["multiples"] = _best_steps({n: budget(*_TUNING[n]) for n in counts}, rng, methods)
        found = {"best steps": _rounds(rng, counts, "text", 0.1, **options)}
    for name, rounds in found.items():
        for one, other in pairs:
            for n in counts:
                lead = before(
                    rounds[n, one],
                    rounds[n, other],
                    name=f"{one} before {other}, {name}, n = {n}",
                    setting={"n": n, "steps": name, "first": one, "second": other},
                )
                if n > _LONE:
                    yield lead
                if isinstance(lead, Paired):
                    ratio = float(np.median(lead.smaller / lead.larger))
                    what = f"median ratio of rounds, {one} over {other}, {name}"
                    yield Fact(what, ratio, setting={"n": n})
        yield Curve(round_table(rounds, name))


_SIZES = "d = 10, k = 2, m = 5, r = 0.1"
_STEPS = {
    "published": "n = 100, 1000, the authors' step sizes for each method",
    "common": "n = 20, 100, 1000, the theorem's step size for all methods",
    "tuned": "n = 20, 100, 1000, each method's best step size, which the paper does not take",
}
_ROUNDS = r"\text{rounds}_{\text{%s}}"
for _name, _pairs, _first, _words in (
    ("fastest", _FASTEST, "FedRep", "FedRep takes the fewest rounds"),
    ("head_steps", _MORE_STEPS, "10GD-GD", "ten head steps take fewer rounds than one"),
):
    for _steps, _which in _STEPS.items():
        statement(
            f"fedrep.figure3.{_name}.{_steps}",
            latex=f"{_ROUNDS % _first} < " + r",\ ".join(_ROUNDS % other for _, other in _pairs),
            plain=f"{_SIZES}, {_which}: {_words}.",
            own=_steps == "tuned",
            hypotheses=[DIVERSE],
            constants={"steps": _steps, "pairs": _pairs},
            negative_control={"pairs": (("GD-GD", "FedRep"),)},
            **_FIGURE3,
        )(compare_rounds)


def _best_steps(counts, rng, methods):
    """Return by n and method the multiple of the theorem's step size with the fewest rounds."""
    trials = {}
    seed = int(rng.integers(2**63))
    for multiple in MULTIPLES:
        same = {n: dict.fromkeys(METHODS, multiple) for n in counts}
        # Each multiple meets the same problems, others than those of the comparison.
        again = np.random.default_rng(seed)
        found = _rounds(again, counts, "text", 0.1, start=0.5, multiples=same, methods=methods)
        trials[multiple] = found.median()
    best = pd.DataFrame(trials).idxmin(axis=1)
    return {n: best[n].to_dict() for n in best.index.unique("n")}


def _rounds(rng, counts, convention, goal, *, methods=tuple(METHODS), **options):
    """Return the rounds that methods take to a distance: a row per seed, columns n and method.

    At each n as many seeds as `counts` says.
    """
    columns = {}
    for n, count in counts.items():
        rows = [
            _race(n, seed, convention, goal, methods, **options) for seed in draw_seeds(rng, count)
        ]
        for method in methods:
            columns[n, method] = pd.Series([row[method] for row in rows])
    found = pd.DataFrame(columns)
    found.columns.names = ["n", "method"]
    return found


def _race(
    n, seed, convention, goal, methods, *, start="projected_gradient", orthonormal=True,
    multiples=None,
):  # fmt: skip
    """Return the rounds to a distance on one problem, infinite if it is not reached."""
    truth, data = draw_problem(FIGURE, seed, n=n, **CONVENTIONS[convention])
    if start == "projected_gradient":
        start = lr.projected_gradient_start(data, FIGURE.k)
    eta = theorem_step_size(truth, max(1, n // 10))
    found = {}
    for method in methods:
        options = FIGURE.options(convention, n, method)
        if convention == "text":
            multiple = 1.0 if multiples is None else multiples[n][method]
            options |= {"orthonormal": orthonormal, "step_size": eta * multiple}
        trace = lr.fedrep(
            data, rounds=5000 if n < 100 else 1000, start=start, tolerance=goal, rng=seed, **options
        )
        found[method] = arrival(trace["distance"], goal)
    return found
