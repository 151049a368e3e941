"""Figure 3: rounds by number of clients and by head steps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import Evidence, claim, combine, ordering
from linrep.claims._parts import decided, draw_seeds
from linrep.claims.fedrep._figures import (
    CONVENTIONS,
    METHODS,
    PUBLISHED_STEPS,
    SAME,
    before,
    draw_problem,
    notebook,
    round_table,
    until,
)

#: Multiples of the theorem's step size among which each method is given its best.
MULTIPLES = (1.0, 2.0, 4.0, 8.0)
_FIGURE3: dict[str, Any] = {
    "place": "Figure 3; Section 5.1",
    "kind": "comparison",
}
_SETTING = "d = 10, k = 2, m = 5, r = 0.1, n = 10, 20, 100, 1000"


@claim(
    "fedrep.figure3.clients",
    latex=r"n < n' \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SETTING}, projected-gradient start: the more clients, the fewer rounds.",
    broken={"larger": "slower"},
    **_FIGURE3,
)
def figure3_clients(budget, rng, *, larger="faster") -> Evidence:
    """Compare rounds to distance 0.1 (text, each method) or 0.03 (published, FedRep)."""
    counts = (40, 100, 300)
    readings = {
        "text": _rounds(rng, budget, counts, "text", 0.1),
        "published": _rounds(rng, budget, counts, "published", 0.03, methods=("FedRep",)),
    }
    return _by_clients(readings, larger)


@claim(
    "fedrep.figure3.clients.common_start",
    latex=r"n < n',\ \mathrm{dist}_0 = 1/2 \implies \text{rounds}(n') < \text{rounds}(n)",
    plain=f"{_SETTING}, every run from distance 1/2: the more clients, the fewer rounds.",
    broken={"larger": "slower"},
    **_FIGURE3,
)
def figure3_common_start(budget, rng, *, larger="faster") -> Evidence:
    """Compare rounds from distance 1/2 to 0.1 at the theorem's step size."""
    found = _rounds(rng, budget, (60, 300, 1000), "text", 0.1, start=0.5)
    return _by_clients({"text": found}, larger)


def _by_clients(readings, larger):
    """Decide whether each next n takes fewer rounds, method by method."""
    parts, tables = [], []
    for reading, found in readings.items():
        for method in found.columns.get_level_values("method").unique():
            sizes = sorted(found.columns.get_level_values("n").unique())
            for few, many in pairwise(sizes):
                pair = (many, few) if larger == "faster" else (few, many)
                parts.append(
                    before(
                        *(found[n, method] for n in pair),
                        name=f"{method}, {reading}: n = {pair[0]} before {pair[1]}",
                        setting={"method": method, "convention": reading, "first n": pair[0]},
                    )
                )
        tables.append(round_table(found, reading))
    return replace(combine(decided(parts)), points=pd.concat(tables, ignore_index=True))


_FASTEST: dict[str, Any] = {
    "latex": r"\text{rounds}_{\text{FedRep}} < \text{rounds}_{\text{10GD-GD}},\ "
    r"\text{rounds}_{\text{GD-GD}}",
    "broken": {"first": "GD-GD", "rivals": ("FedRep",)},
    "mended": {"rivals": ("GD-GD",)},
    **_FIGURE3,
}
_STEPS: dict[str, Any] = {
    "latex": r"\text{rounds}_{\text{10GD-GD}} < \text{rounds}_{\text{GD-GD}}",
    "broken": {"order": ("GD-GD", "FedRep")},
    **_FIGURE3,
}


@claim(
    "fedrep.figure3.fastest.published",
    plain=f"{_SETTING}, the notebook's step sizes (at n = 20 those of n = 10): FedRep takes the "
    "fewest rounds.",
    **_FASTEST,
)
def fastest_published(budget, rng, *, first="FedRep", rivals=tuple(METHODS)) -> Evidence:
    """Compare rounds to distance 0.03."""
    return _pairs(_published(budget, rng), _against(first, rivals))


@claim(
    "fedrep.figure3.fastest.common",
    plain=f"{_SETTING}, one step size (the theorem's) for all: FedRep takes the fewest rounds.",
    **_FASTEST,
)
def fastest_common(budget, rng, *, first="FedRep", rivals=tuple(METHODS)) -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, with QR and without."""
    return _pairs(_common(budget, rng), _against(first, rivals))


@claim(
    "fedrep.figure3.fastest.tuned",
    plain=f"{_SETTING}, each method's best step size: FedRep takes the fewest rounds.",
    **_FASTEST,
)
def fastest_tuned(budget, rng, *, first="FedRep", rivals=tuple(METHODS)) -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, at step sizes tuned on other seeds."""
    return _pairs(_tuned(budget, rng), _against(first, rivals))


@claim(
    "fedrep.figure3.head_steps.published",
    plain=f"{_SETTING}, the notebook's step sizes (at n = 20 those of n = 10): ten head steps take "
    "fewer rounds than one.",
    mended={"sizes": (100,)},
    **_STEPS,
)
def head_steps_published(
    budget, rng, *, order=("10GD-GD", "GD-GD"), sizes=tuple(PUBLISHED_STEPS)
) -> Evidence:
    """Compare rounds to distance 0.03."""
    return _pairs(_published(budget, rng), [order], sizes)


@claim(
    "fedrep.figure3.head_steps.common",
    plain=f"{_SETTING}, one step size (the theorem's): ten head steps take fewer rounds than one.",
    **_STEPS,
)
def head_steps_common(budget, rng, *, order=("10GD-GD", "GD-GD")) -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, with QR and without."""
    return _pairs(_common(budget, rng, order, budget(1, 8)), [order])


@claim(
    "fedrep.figure3.head_steps.tuned",
    plain=f"{_SETTING}, each method's best step size: ten head steps take fewer rounds than one.",
    **_STEPS,
)
def head_steps_tuned(budget, rng, *, order=("10GD-GD", "GD-GD")) -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, at step sizes tuned on other seeds."""
    return _pairs(_tuned(budget, rng), [order])


_NO_FASTER: dict[str, Any] = {
    "latex": r"\text{rounds}_{\text{FedRep}} \approx \text{rounds}_{\text{10GD-GD}} <"
    r"\text{rounds}_{\text{GD-GD}} \quad (n \ge 100)",
    "broken": {"tied": "GD-GD"},
    **_FIGURE3,
}


@claim(
    "fedrep.figure3.fastest.common.corrected",
    plain="One step size (the theorem's) for all, n = 100, 1000: FedRep takes fewer rounds than "
    "GD-GD, and within 10 % as many as ten head steps of 1/lambda_max.",
    corrects="fedrep.figure3.fastest.common",
    **_NO_FASTER,
)
def fastest_common_corrected(budget, rng, *, tied="10GD-GD") -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, with QR and without."""
    return _tie(_common(budget, rng), tied)


@claim(
    "fedrep.figure3.fastest.tuned.corrected",
    plain="Each method's best step size, n = 100, 1000: FedRep takes fewer rounds than GD-GD, and "
    "within 10 % as many as ten head steps of 1/lambda_max.",
    corrects="fedrep.figure3.fastest.tuned",
    **_NO_FASTER,
)
def fastest_tuned_corrected(budget, rng, *, tied="10GD-GD") -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, at step sizes tuned on other seeds."""
    return _tie(_tuned(budget, rng), tied)


@claim(
    "fedrep.figure3.head_steps.published.corrected",
    latex=r"\text{rounds}_{\text{GD-GD}} < \text{rounds}_{\text{10GD-GD}} \quad (n = 20, 1000)",
    plain="The notebook's step sizes, tuned for each method: at n = 20 (with those of n = 10) and "
    "1000 GD-GD takes fewer rounds than 10GD-GD.",
    corrects="fedrep.figure3.head_steps.published",
    broken={"order": ("10GD-GD", "GD-GD")},
    **_FIGURE3,
)
def head_steps_published_corrected(budget, rng, *, order=("GD-GD", "10GD-GD")) -> Evidence:
    """Compare rounds to distance 0.03."""
    return _pairs(_published(budget, rng), [order], (20, 1000))


def _tie(readings, tied):
    """Decide whether FedRep ties with a method at many clients, and is before GD-GD."""
    parts = []
    for reading, found in readings.items():
        for n in found.columns.unique("n").intersection([100, 1000]):
            one = found[n, "FedRep"]
            setting = {"n": int(n), "steps": reading}
            name = f"FedRep {{}}, {reading}, n = {n}"
            parts.append(
                partial(
                    ordering, one, found[n, tied], tie=SAME, same=True,
                    name=name.format(f"as {tied}"), setting=setting,
                )
            )  # fmt: skip
            parts.append(
                before(one, found[n, "GD-GD"], name=name.format("before GD-GD"), setting=setting)
            )
    tables = [round_table(found, reading) for reading, found in readings.items()]
    return replace(combine(decided(parts)), points=pd.concat(tables, ignore_index=True))


def _against(first, rivals):
    return [(first, other) for other in rivals if other != first]


def _published(budget, rng):
    return {"published": _rounds(rng, budget, (40, 100, 300), "published", 0.03)}


def _common(budget, rng, methods=tuple(METHODS), lone=1):
    options: dict[str, Any] = {"start": 0.5, "methods": methods, "lone": lone}
    return {
        name: _rounds(rng, budget, (60, 300, 1000), "text", 0.1, orthonormal=orthonormal, **options)
        for name, orthonormal in (("QR", True), ("no QR", False))
    }


def _tuned(budget, rng):
    best = _best_steps(budget, rng)
    counts = (60, 300, 1000)
    return {"best steps": _rounds(rng, budget, counts, "text", 0.1, start=0.5, multiples=best)}


def _best_steps(budget, rng):
    """Return by n and method the multiple of the theorem's step size with the fewest rounds."""
    trials = {}
    seed = int(rng.integers(2**63))
    for multiple in MULTIPLES:
        same = {n: dict.fromkeys(METHODS, multiple) for n in PUBLISHED_STEPS}
        # Each multiple meets the same problems, others than those of the comparison.
        again = np.random.default_rng(seed)
        found = _rounds(again, budget, (8, 10, 20), "text", 0.1, start=0.5, multiples=same)
        trials[multiple] = found.median()
    best = pd.DataFrame(trials).idxmin(axis=1)
    return {n: best[n].to_dict() for n in best.index.unique("n")}


def _pairs(readings, pairs, sizes=tuple(PUBLISHED_STEPS)):
    """Decide for each n whether the first method of each pair takes fewer rounds."""
    parts, tables = [], []
    for reading, found in readings.items():
        parts += [
            before(
                found[n, one], found[n, other],
                name=f"{one} before {other}, {reading}, n = {n}",
                setting={"n": n, "steps": reading, "first": one, "second": other},
            )
            for one, other in pairs for n in sizes if (n, one) in found
        ]  # fmt: skip
        tables.append(round_table(found, reading))
    return replace(combine(decided(parts)), points=pd.concat(tables, ignore_index=True))


def _rounds(
    rng, budget, counts, convention, goal, *, methods=tuple(METHODS), lone=1, **options
):  # fmt: skip
    """Return the rounds that methods take to a distance: a row per seed, columns n and method.

    For n = 10, where one client takes part in a round, `lone` times as many seeds.
    """
    columns = {}
    for n in budget((10, 20, 100), tuple(PUBLISHED_STEPS)):
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
    truth, data = draw_problem(n, 10, 2, 5, seed, **CONVENTIONS[convention])
    if start == "projected_gradient":
        start = lr.projected_gradient_start(data, 2)
    eta = theorem_step_size(truth, max(1, n // 10))
    found = {}
    for method in methods:
        steps = METHODS[method]
        options: dict[str, Any] = {"orthonormal": orthonormal, "step_size": eta}
        if multiples is not None:
            options["step_size"] = eta * multiples[n][method]
        if convention == "published":
            options = notebook(n, method)
        trace = lr.fedrep(
            data, rounds=5000 if n < 100 else 1000, participation=0.1, local_steps=steps,
            start=start, tolerance=goal, rng=seed, **options,
        )  # fmt: skip
        found[method] = until(trace)
    return found
