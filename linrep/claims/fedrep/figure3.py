"""Figure 3: rounds by number of clients and by head steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Curve, Paired, statement
from linrep.claims.fedrep._figures import (
    ROUNDS,
    SAME,
    before,
    draw_problem,
    round_table,
    until,
)
from linrep.claims.tables import draw_seeds
from linrep.settings.fedrep import CONVENTIONS, METHODS, PUBLISHED_GOAL, Figure3

FIGURE = Figure3()
#: Multiples of the theorem's step size among which each method is given its best.
MULTIPLES = (1.0, 2.0, 4.0, 8.0)
_FIGURE3: dict[str, Any] = {
    "place": "Figure 3; Section 5.1",
}
_SETTING = "d = 10, k = 2, m = 5, r = 0.1, n = 10, 20, 100, 1000"


@statement(
    "fedrep.figure3.clients",
    latex=r"n < n' \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SETTING}, projected-gradient start: the more clients, the fewer rounds.",
    negative_control={"larger": "slower"},
    **_FIGURE3,
)
def figure3_clients(budget, rng, *, larger="faster"):
    """Compare rounds to distance 0.1 (text, each method) or 0.03 (published, FedRep)."""
    counts = (40, 100, 300)
    text = _rounds(rng, budget, counts, "text", 0.1)
    published = _rounds(rng, budget, counts, "published", PUBLISHED_GOAL, methods=("FedRep",))
    yield from _by_clients("text", text, larger)
    yield from _by_clients("published", published, larger)


@statement(
    "fedrep.figure3.clients.common_start",
    latex=r"n < n',\ \mathrm{dist}_0 = 1/2 \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SETTING}, every run from distance 1/2: the more clients, the fewer rounds.",
    negative_control={"larger": "slower"},
    **_FIGURE3,
)
def figure3_common_start(budget, rng, *, larger="faster"):
    """Compare rounds from distance 1/2 to 0.1 at the theorem's step size."""
    found = _rounds(rng, budget, (60, 300, 1000), "text", 0.1, start=0.5)
    yield from _by_clients("text", found, larger)


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


def compare_rounds(
    budget, rng, *, steps, pairs, ties=(), sizes=FIGURE.n, more_at_10=False
):  # fmt: skip
    """Compare the rounds of pairs of methods, at each n: the first takes fewer, or they tie.

    Published steps: to distance 0.03; common and tuned ones: from distance 1/2 to 0.1. Common steps
    with QR and without; tuned ones are the best on other seeds. At n = 10, where one client takes
    part in a round, more seeds on request.
    """
    methods = tuple(name for name in METHODS if any(name in pair for pair in (*ties, *pairs)))
    options: dict[str, Any] = {"methods": methods, "start": 0.5}
    if steps == "published":
        found = {
            steps: _rounds(rng, budget, (40, 100, 300), steps, PUBLISHED_GOAL, methods=methods)
        }
    elif steps == "common":
        options["lone"] = budget(1, 8) if more_at_10 else 1
        found = {
            name: _rounds(
                rng, budget, (60, 300, 1000), "text", 0.1, orthonormal=name == "QR", **options
            )
            for name in ("QR", "no QR")
        }
    else:
        options["multiples"] = _best_steps(budget, rng, methods)
        found = {"best steps": _rounds(rng, budget, (60, 300, 1000), "text", 0.1, **options)}
    for name, rounds in found.items():
        there = [n for n in sizes if n in rounds.columns.unique("n")]
        for one, other in ties:
            for n in there:
                yield Paired(
                    rounds[n, one], rounds[n, other], tie=SAME, same=True, quantity=ROUNDS,
                    name=f"{one} as {other}, {name}, n = {n}", setting={"n": n, "steps": name},
                )  # fmt: skip
        for one, other in pairs:
            for n in there:
                yield before(
                    rounds[n, one], rounds[n, other], name=f"{one} before {other}, {name}, n = {n}",
                    setting={"n": n, "steps": name, "first": one, "second": other},
                )  # fmt: skip
        yield Curve(round_table(rounds, name))


def _fastest(steps, plain):
    return statement(
        f"fedrep.figure3.fastest.{steps}",
        latex=r"\text{rounds}_{\text{FedRep}} < \text{rounds}_{\text{10GD-GD}},\ "
        r"\text{rounds}_{\text{GD-GD}}",
        plain=f"{_SETTING}, {plain}: FedRep takes the fewest rounds.",
        constants={"steps": steps, "pairs": _FASTEST},
        negative_control={"pairs": (("GD-GD", "FedRep"),)},
        **_FIGURE3,
    )(compare_rounds)


def _more_steps(steps, plain, **constants):
    return statement(
        f"fedrep.figure3.head_steps.{steps}",
        latex=r"\text{rounds}_{\text{10GD-GD}} < \text{rounds}_{\text{GD-GD}}",
        plain=f"{_SETTING}, {plain}: ten head steps take fewer rounds than one.",
        constants={"steps": steps, "pairs": _MORE_STEPS, **constants},
        negative_control={"pairs": (("GD-GD", "FedRep"),)},
        **_FIGURE3,
    )(compare_rounds)


def _no_faster(printed, plain):
    printed.corrected(
        f"{printed.id}.corrected",
        latex=r"\text{rounds}_{\text{FedRep}} \approx \text{rounds}_{\text{10GD-GD}} <"
        r"\text{rounds}_{\text{GD-GD}} \quad (n \ge 100)",
        plain=f"{plain}, n = 100, 1000: FedRep takes fewer rounds than "
        "GD-GD, and within 10 % as many as ten head steps of 1/lambda_max.",
        constants={"ties": _FASTEST[:1], "pairs": _FASTEST[1:], "sizes": (100, 1000)},
        negative_control={"ties": _FASTEST[1:]},
    )


_NOTEBOOK = "the notebook's step sizes (at n = 20 those of n = 10)"
_ONE = "one step size (the theorem's)"
_BEST = "each method's best step size"
_fastest("published", _NOTEBOOK)
fastest_common = _fastest("common", f"{_ONE} for all")
fastest_tuned = _fastest("tuned", _BEST)
head_steps_published = _more_steps("published", _NOTEBOOK)
_more_steps("common", _ONE, more_at_10=True)
_more_steps("tuned", _BEST)

_no_faster(fastest_common, "One step size (the theorem's) for all")
_no_faster(fastest_tuned, "Each method's best step size")
head_steps_published.corrected(
    "fedrep.figure3.head_steps.published.corrected",
    latex=r"\text{rounds}_{\text{GD-GD}} < \text{rounds}_{\text{10GD-GD}} \quad (n = 20, 1000)",
    plain="The notebook's step sizes, tuned for each method: at n = 20 (with those of n = 10) and "
    "1000 GD-GD takes fewer rounds than 10GD-GD.",
    constants={"pairs": (("GD-GD", "10GD-GD"),), "sizes": (20, 1000)},
    negative_control={"pairs": _MORE_STEPS},
)


def _best_steps(budget, rng, methods):
    """Return by n and method the multiple of the theorem's step size with the fewest rounds."""
    trials = {}
    seed = int(rng.integers(2**63))
    for multiple in MULTIPLES:
        same = {n: dict.fromkeys(METHODS, multiple) for n in FIGURE.n}
        # Each multiple meets the same problems, others than those of the comparison.
        again = np.random.default_rng(seed)
        found = _rounds(
            again, budget, (8, 10, 20), "text", 0.1, start=0.5, multiples=same, methods=methods
        )
        trials[multiple] = found.median()
    best = pd.DataFrame(trials).idxmin(axis=1)
    return {n: best[n].to_dict() for n in best.index.unique("n")}


def _rounds(
    rng, budget, counts, convention, goal, *, methods=tuple(METHODS), lone=1, **options
):  # fmt: skip
    """Return the rounds that methods take to a distance: a row per seed, columns n and method.

    For n = 10, where one client takes part in a round, `lone` times as many seeds.
    """
    columns = {}
    for n in budget((10, 20, 100), FIGURE.n):
        seeds = draw_seeds(rng, budget(*counts) * (lone if n == 10 else 1))
        rows = [_race(n, seed, convention, goal, methods, **options) for seed in seeds]
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
        found[method] = until(trace)
    return found
