"""Section 5.1 and Appendix A.1: Figures 1, 3, 4 and 7, and the remark on starts.

Each comparison is paired over seeds: methods meet the same truth, data, participants and start.
Ties are fixed beforehand. Settings that the paper leaves open are named with each claim. Two
conventions are in use:

- *text*: heads sqrt(k) times a Q factor, noise of variance 1e-3, gradients averaged, QR after each
  step, the theorem's step size 1/(4 sigma_max^2) or multiples of it, head steps of 1/lambda_max;
- *published*, the authors' notebook: heads a Q factor, noise of standard deviation 1e-3, gradients
  summed, no QR, step sizes of its own for each method and n, for head steps too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms.step_sizes import theorem_step_size
from linrep.claims import (
    HOLDS,
    UNDECIDED,
    Evidence,
    claim,
    combine,
    expectation,
    frequency,
    ordering,
)
from linrep.claims import trend as rising
from linrep.claims.fedrep._common import decided
from linrep.problems import ClientData
from linrep.subspace import distance
from linrep.theory.expectations import least_squares_error
from linrep.theory.fedrep import best_single_model

#: Rounds and errors whose ratio is within 1 -+ this are ties.
TIE = 0.05
#: Where the claim is that two are the same, they may differ by this much.
SAME = 0.1
CONVENTIONS: dict[str, dict[str, Any]] = {
    "text": {"heads": "scaled_qr", "noise": 1e-3**0.5},
    "published": {"heads": "qr", "noise": 1e-3},
}
#: Head steps per round; None is the exact head.
METHODS = {"FedRep": None, "10GD-GD": 10, "GD-GD": 1}
#: Of the notebook, by n; it has none for n = 20, where those of n = 10 are used.
PUBLISHED_STEPS = {
    10: {"FedRep": 0.4, "10GD-GD": 0.01, "GD-GD": 0.12},
    20: {"FedRep": 0.4, "10GD-GD": 0.01, "GD-GD": 0.12},
    100: {"FedRep": 4.0, "10GD-GD": 0.4, "GD-GD": 0.75},
    1000: {"FedRep": 60.0, "10GD-GD": 0.25, "GD-GD": 1.0},
}
#: Multiples of the theorem's step size among which each method is given its best.
MULTIPLES = (1.0, 2.0, 4.0, 8.0)

Decision = Callable[..., Evidence]


# Figure 1.


@claim(
    "fedrep.figure1",
    place="Figure 1",
    kind="comparison",
    latex=r"\mathrm{error}_{\text{FedRep}} < \mathrm{error}_{\text{local}},\ "
    r"\mathrm{error}_{\text{one model}} \quad \text{for every } m",
    plain="(d, k) = (20, 2), n = 100, with m = 5, 10, 20, r = 1, T = 500: local training suffers "
    "at small m, one global model at any m, FedRep has the smallest error.",
    broken={"best": "one model"},
)
def figure1(budget, rng, *, best="FedRep") -> Evidence:
    """Compare test errors, in both readings of the noise and both scalings of the heads."""
    samples = budget((5, 20), (5, 10, 20))
    readings = budget(
        [("scaled_qr", 1e-3**0.5)],
        [(heads, noise) for heads in ("scaled_qr", "unit_rows") for noise in (1e-3**0.5, 1e-3)],
    )
    parts: list[Decision] = []
    rows = []
    for heads, noise in readings:
        for m in samples:
            setting = {"heads": heads, "noise": noise, "m": m}
            where = f"m = {m}, {heads} heads, noise {noise:.2g}"
            seeds = _seeds(rng, budget(20, 30, 100))
            errors = pd.DataFrame([_figure1_errors(m, heads, noise, seed) for seed in seeds])
            parts += [
                partial(
                    ordering, errors[best], errors[other], name=f"{best} below {other}, {where}",
                    setting=setting,
                )
                for other in ("FedRep", "local", "one model") if other != best
            ]  # fmt: skip
            parts.append(
                partial(
                    ordering, errors["one model"], errors["floor"], tie=SAME, same=True,
                    name=f"one model no better than the best one, {where}", setting=setting,
                )
            )  # fmt: skip
            if m < 17:  # further up the mean is infinite, or its samples too far from normal
                ratio = errors["local"] / errors["local, expected"]
                parts.append(
                    partial(expectation, ratio, 1.0, name=f"local in closed form, {where}")
                )
            long = errors[["FedRep", "local", "one model"]].melt(var_name="series", value_name="y")
            panel = f"{heads} heads, noise {noise:.2g}"
            rows.append(long.assign(panel=panel, x=m, xlabel="m", ylabel="error"))
    found = combine(decided(parts))
    few = {m: _few_samples(m, rng) for m in budget((2,), (2, 3, 4))}
    note = "; ".join(f"{share:.2g} at m = {m}" for m, share in few.items())
    if found.verdict == HOLDS:
        found = replace(
            found,
            sentence=f"FedRep has the smallest error at m = {', '.join(map(str, samples))}; over "
            f"that of local training, its error near m = k = 2 has the median {note}",
        )
    return replace(found, points=_medians(rows))


def _figure1_errors(m, heads, noise, seed):
    """Return half mean squared test errors of the methods on one problem, and what is expected."""
    truth, data = _problem(100, 20, 2, m, seed, heads=heads, noise=noise)
    theta = _fedrep_model(data, seed)
    norms = np.linalg.norm(truth.theta, axis=1)
    return {
        "FedRep": _risk(theta, truth),
        "local": lr.local_only(data)["population_risk"][-1],
        "local, expected": 0.5 * np.mean(least_squares_error(20, m, signal=norms, noise=noise)),
        "one model": _risk(_one_model(data, seed)[1], truth),
        "floor": best_single_model(truth.theta)[1],
    }


def _few_samples(m, rng):
    """Return FedRep's error over that of local training, the median of 20 seeds."""
    ratios = []
    for seed in _seeds(rng, 20):
        truth, data = _problem(100, 20, 2, m, seed, **CONVENTIONS["text"])
        local = lr.local_only(data)["population_risk"][-1]
        ratios.append(_risk(_fedrep_model(data, seed), truth) / local)
    return float(np.median(ratios))


def _fedrep_model(data, seed):
    """Return the clients' models after 500 rounds, with heads fitted once more."""
    trace = lr.fedrep(data, rounds=500, start="projected_gradient", rng=seed)
    B = trace.state["B"]
    return lr.fit_heads(data, B) @ B.T


def _one_model(data, seed, start=None):
    """Return B and the model B w after 500 rounds of FedSGD at step size 0.1.

    Clients have equally many samples, so that the mean of their gradients does not depend on how
    the samples are divided among clients: here two share them.
    """
    B, W = lr.random_start(data.n, data.d, 2, seed) if start is None else start
    halves = ClientData(data.X, data.y, np.array([0, len(data.y) // 2, len(data.y)]))
    heads = np.tile(W.mean(axis=0), (2, 1))
    trace = lr.fedsgd(halves, k=2, step_size=0.1, rounds=500, start=(B, heads))
    return trace.state["B"], trace.state["B"] @ trace.state["w"]


# Figure 3.

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
                    _before(
                        *(found[n, method] for n in pair),
                        name=f"{method}, {reading}: n = {pair[0]} before {pair[1]}",
                        setting={"method": method, "convention": reading, "first n": pair[0]},
                    )
                )
        tables.append(_round_table(found, reading))
    return replace(combine(decided(parts)), points=pd.concat(tables, ignore_index=True))


_FASTEST: dict[str, Any] = {
    "latex": r"\text{rounds}_{\text{FedRep}} < \text{rounds}_{\text{10GD-GD}},\ "
    r"\text{rounds}_{\text{GD-GD}}",
    "broken": {"first": "GD-GD"},
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
    **_STEPS,
)
def head_steps_published(budget, rng, *, order=("10GD-GD", "GD-GD")) -> Evidence:
    """Compare rounds to distance 0.03."""
    return _pairs(_published(budget, rng), [order])


@claim(
    "fedrep.figure3.head_steps.common",
    plain=f"{_SETTING}, one step size (the theorem's): ten head steps take fewer rounds than one.",
    **_STEPS,
)
def head_steps_common(budget, rng, *, order=("10GD-GD", "GD-GD")) -> Evidence:
    """Compare rounds to distance 0.1, from distance 1/2, with QR and without."""
    return _pairs(_common(budget, rng), [order])


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
                _before(one, found[n, "GD-GD"], name=name.format("before GD-GD"), setting=setting)
            )
    tables = [_round_table(found, reading) for reading, found in readings.items()]
    return replace(combine(decided(parts)), points=pd.concat(tables, ignore_index=True))


def _against(first, rivals):
    return [(first, other) for other in rivals if other != first]


def _published(budget, rng):
    return {"published": _rounds(rng, budget, (40, 100, 300), "published", 0.03)}


def _common(budget, rng):
    counts = (60, 300, 1000)
    return {
        name: _rounds(rng, budget, counts, "text", 0.1, start=0.5, orthonormal=orthonormal)
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
            _before(
                found[n, one], found[n, other],
                name=f"{one} before {other}, {reading}, n = {n}",
                setting={"n": n, "steps": reading, "first": one, "second": other},
            )
            for one, other in pairs for n in sizes if (n, one) in found
        ]  # fmt: skip
        tables.append(_round_table(found, reading))
    return replace(combine(decided(parts)), points=pd.concat(tables, ignore_index=True))


def _rounds(rng, budget, counts, convention, goal, *, methods=tuple(METHODS), **options):
    """Return the rounds that methods take to a distance: a row per seed, columns n and method."""
    columns = {}
    count = budget(*counts)
    for n in budget((10, 20, 100), tuple(PUBLISHED_STEPS)):
        rows = [_race(n, seed, convention, goal, methods, **options) for seed in _seeds(rng, count)]
        for method in methods:
            columns[n, method] = [row[method] for row in rows]
    found = pd.DataFrame(columns)
    found.columns.names = ["n", "method"]
    return found


def _race(
    n, seed, convention, goal, methods, *, start="projected_gradient", orthonormal=True,
    multiples=None,
):  # fmt: skip
    """Return the rounds to a distance on one problem, infinite if it is not reached."""
    truth, data = _problem(n, 10, 2, 5, seed, **CONVENTIONS[convention])
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
            options = _notebook(n, method)
        trace = lr.fedrep(
            data, rounds=5000 if n < 100 else 1000, participation=0.1, local_steps=steps,
            start=start, tolerance=goal, rng=seed, **options,
        )  # fmt: skip
        found[method] = _until(trace)
    return found


def _notebook(n, method):
    """Return the settings of the published notebook."""
    step_size = PUBLISHED_STEPS[n][method]
    return {
        "step_size": step_size,
        "head_step_size": None if METHODS[method] is None else step_size,
        "normalization": "published",
        "orthonormal": False,
    }


# Appendix A.1, starts.

_STARTS: dict[str, Any] = {
    "place": "Appendix A.1",
    "kind": "comparison",
}
#: Runs from other starts than projected gradient: convention, QR, and the scale of a Gaussian B
#: (with QR it does not matter), None for an orthonormal one.
_RUNS = [
    ("text", True, 1.0), ("text", False, None), ("text", False, 0.3), ("text", False, 1.0),
    ("text", False, 3.0),
]  # fmt: skip


@claim(
    "fedrep.init_insensitive.fedrep",
    latex=r"B^t_{\text{Gaussian start}} \text{ and } B^t_{\text{projected-gradient start}}:"
    r"\ \text{same trajectories}",
    plain="Figure 3's setting, n = 100, 1000, theorem's step size: FedRep takes as many rounds and "
    "ends at the same distance from a random start as from projected gradient descent.",
    broken={"same": False},
    **_STARTS,
)
def starts_fedrep(budget, rng, *, same=True) -> Evidence:
    """Compare rounds to 0.1 and the distance after 2000 rounds, with QR and without."""
    count = budget(22, 40, 200)
    parts: list[Decision] = []
    for n in budget((100,), (100, 1000)):
        for run in budget(_RUNS[:2], _RUNS):
            seeds = _seeds(rng, count)
            runs = [_from_starts(n, seed, "FedRep", *run) for seed in seeds]
            for measure in ("rounds", "end"):
                random, steady = ([row[measure, start] for row in runs] for start in (0, 1))
                parts.append(
                    partial(
                        ordering, random, steady, tie=SAME, same=same,
                        name=f"{measure}, {_named(n, *run)}", setting=_setting(n, *run),
                    )
                )  # fmt: skip
    return combine(decided(parts))


@claim(
    "fedrep.init_insensitive.fedrep.corrected",
    latex=r"\lim_t \mathrm{dist}(B^t, B^*) \text{ does not depend on the start (with QR)},\quad"
    r"\text{rounds}_{\text{projected gradient}} < \text{rounds}_{\text{Gaussian}}",
    plain="Figure 3's setting with QR: from a random start FedRep takes more rounds, and ends at "
    "the same distance.",
    broken={"same_end": False},
    corrects="fedrep.init_insensitive.fedrep",
    **_STARTS,
)
def starts_fedrep_corrected(budget, rng, *, same_end=True) -> Evidence:
    """Compare rounds to 0.1 and the distance after 2000 rounds."""
    parts: list[Decision] = []
    for n in budget((100,), (100, 1000)):
        run = _RUNS[0]
        runs = [_from_starts(n, seed, "FedRep", *run) for seed in _seeds(rng, budget(22, 40, 200))]
        late, early, random, steady = (
            [row[key] for row in runs]
            for key in (("rounds", 0), ("rounds", 1), ("end", 0), ("end", 1))
        )
        name, setting = _named(n, *run), _setting(n, *run)
        parts.append(_before(early, late, name=f"rounds, {name}", setting=setting))
        parts.append(
            partial(
                ordering, random, steady, tie=SAME, same=same_end, name=f"end, {name}",
                setting=setting,
            )
        )  # fmt: skip
    return combine(decided(parts))


@claim(
    "fedrep.init_insensitive.gd_gd",
    latex=r"\text{GD-GD: } \text{rounds}_{\text{projected gradient}} < "
    r"\text{rounds}_{\text{Gaussian}}, \text{ often } \infty",
    plain="Figure 3's setting, n = 100, 1000: GD-GD takes more rounds from a random start in both "
    "conventions, and as published one run in ten or more never gets to 0.1.",
    broken={"sensitive": False},
    **_STARTS,
)
def starts_gd_gd(budget, rng, *, sensitive=True, often=0.1) -> Evidence:
    """Compare rounds to 0.1 of GD-GD and count runs that do not get there in 2000 rounds."""
    count = budget(22, 60, 200)
    parts: list[Decision] = []
    stuck = {}
    for n in budget((100,), (100, 1000)):
        for run in [("text", True, None), ("text", False, None), ("published", False, None)]:
            runs = [_from_starts(n, seed, "GD-GD", *run) for seed in _seeds(rng, count)]
            late, early = ([row["rounds", start] for row in runs] for start in (0, 1))
            name, setting = _named(n, *run), _setting(n, *run)
            pair = (early, late) if sensitive else (late, early)
            parts.append(_before(*pair, name=f"rounds, {name}", setting=setting))
            stuck[name] = np.mean(np.isinf(late))
            if run[0] == "published":
                arrived = int(np.isfinite(late).sum())
                parts.append(
                    partial(
                        frequency, arrived, count, 1.0 - often, name=f"arrives, {name}",
                        setting=setting,
                    )
                )  # fmt: skip
    found = combine(decided(parts))
    if found.verdict == HOLDS:
        shares = "; ".join(f"{name}: {share:.0%}" for name, share in stuck.items())
        found = replace(found, sentence=f"runs of GD-GD that never get to 0.1: {shares}")
    return found


def _from_starts(n, seed, method, convention, orthonormal, scale):
    """Return rounds to 0.1 and the last distance from a random start (0) and the usual one (1)."""
    _, data = _problem(n, 10, 2, 5, seed, **CONVENTIONS[convention])
    B, W = lr.random_start(n, 10, 2, seed)
    if scale is not None:
        B = scale * np.random.default_rng(seed).standard_normal((10, 2))
    options = {"orthonormal": orthonormal}
    if convention == "published":
        options = _notebook(n, method)
    found = {}
    for place, start in enumerate(((B, W), lr.projected_gradient_start(data, 2))):
        distances = lr.fedrep(
            data, rounds=2000, participation=0.1, local_steps=METHODS[method], start=start,
            rng=seed, **options,
        )["distance"]  # fmt: skip
        near = np.flatnonzero(distances <= 0.1)
        # One more, so that a start that is there already counts.
        found["rounds", place] = 1.0 + near[0] if near.size else np.inf
        found["end", place] = distances[-1]
    return found


def _named(n, convention, orthonormal, scale):
    start = "orthonormal start" if scale is None else f"Gaussian start times {scale:g}"
    return f"{convention}, {'QR' if orthonormal else 'no QR'}, {start}, n = {n}"


def _setting(n, convention, orthonormal, scale):
    return {"n": n, "convention": convention, "QR": orthonormal, "scale of B": scale}


# Figure 4.

_FIGURE4: dict[str, Any] = {
    "place": "Figure 4; Section 5.1",
    "kind": "comparison",
}
#: A model counts as accurate if its error is below this share of that of the zero model.
ACCURATE = 0.25


@claim(
    "fedrep.figure4",
    latex=r"\mathrm{error}_{\text{FedRep}}(m_{\text{new}}) <"
    r"\mathrm{error}_{\text{local}}(m_{\text{new}}), \qquad m_{\text{local}} = \Omega(d)",
    plain="n = 100, (d, k) = (20, 2), trained with m = 10, r = 1: a new client "
    "does better at m_new = 5, 10, 20 with FedRep's representation than alone, where it "
    "needs m_new of order d.",
    broken={"better": "local"},
    **_FIGURE4,
)
def figure4(budget, rng, *, better="FedRep") -> Evidence:
    """Compare new clients' errors with each other, and local ones with the closed form."""
    sizes = (1, 2, 3, 4, 5, 10, 18, 20, 22, 30)
    errors = _new_clients(rng, budget(20, 60, 300), sizes, ("FedRep", "local"))
    pair = ("FedRep", "local") if better == "FedRep" else ("local", "FedRep")
    parts: list[Decision] = [
        partial(
            ordering, *(errors[m, method] for method in pair),
            name=f"{pair[0]} below {pair[1]}, m_new = {m}", setting={"m_new": m},
        )
        for m in (5, 10, 20)
    ]  # fmt: skip
    limit = np.full(len(errors), ACCURATE)
    parts += [
        partial(ordering, limit, errors[m, "local"], name=f"local not accurate, m_new = {m}")
        for m in (5, 10, 20)
    ]
    parts.append(partial(ordering, errors[30, "local"], limit, name="local accurate, m_new = 30"))
    for m in (5, 10):
        noise = CONVENTIONS["text"]["noise"]
        # Heads of the training clients have mean square 2 * 2/100.
        predicted = float(least_squares_error(20, m, signal=1.0, noise=noise / 0.2))
        name = f"local in closed form, m_new = {m}"
        parts.append(partial(expectation, errors[m, "local"], predicted, name=name))
    return replace(combine(decided(parts)), points=_new_client_table(errors))


@claim(
    "fedrep.figure4.threshold",
    latex=r"m_{\text{new}} \ge k \implies \text{accurate}",
    plain="As Figure 4: with FedRep's representation a new client's model is accurate (mean square "
    "error below a quarter of the zero model's) from m_new = k on.",
    broken={"excess": -1},
    **_FIGURE4,
)
def figure4_threshold(budget, rng, *, excess=0) -> Evidence:
    """Compare new clients' errors from m_new = k + excess on with a quarter of the zero model's."""
    return _threshold(budget, rng, excess)


@claim(
    "fedrep.figure4.threshold.corrected",
    latex=r"m_{\text{new}} \ge k + 2 \implies \text{accurate}",
    plain="As Figure 4: with FedRep's representation a new client's model is accurate from "
    "m_new = k + 2 on, where the mean square error becomes finite.",
    broken={"excess": 0},
    corrects="fedrep.figure4.threshold",
    **_FIGURE4,
)
def figure4_threshold_corrected(budget, rng, *, excess=2) -> Evidence:
    """Do the same with two samples more."""
    return _threshold(budget, rng, excess)


def _threshold(budget, rng, excess):
    sizes = [2 + more for more in (-1, 0, 1, 2, 3, 8) if more >= excess]
    errors = _new_clients(rng, budget(40, 60, 300), sizes, ("FedRep",))
    limit = np.full(len(errors), ACCURATE)
    found = combine(
        decided(
            partial(ordering, errors[m, "FedRep"], limit, name=f"m_new = {m}", setting={"m_new": m})
            for m in sizes
        )
    )
    median = errors[sizes[0], "FedRep, median"].median()
    note = f"; the median client's error there is {median:.2g} of the zero model's"
    return replace(found, sentence=found.sentence + note, points=_new_client_table(errors))


@claim(
    "fedrep.figure4.fedsgd",
    latex=r"\text{FedSGD does not learn } B^*",
    plain="As Figure 4: FedSGD from a random start (the paper names none) is far from B*, and its "
    "representation gives no accurate model at m_new = 5, 10, 20.",
    broken={"start": "FedRep's"},
    **_FIGURE4,
)
def figure4_fedsgd(budget, rng, *, start="random") -> Evidence:
    """Compare FedSGD's distance with 1/2 and new clients' errors with a quarter of the zero's."""
    method = f"FedSGD, {start} start"
    errors = _new_clients(rng, budget(20, 60, 300), (5, 10, 20), ("FedRep", method))
    limit = np.full(len(errors), ACCURATE)
    parts: list[Decision] = [
        partial(ordering, np.full(len(errors), 0.5), errors[0, method], name="far from B*")
    ]
    for m in (5, 10, 20):
        setting = {"m_new": m, "start": start}
        one, other = errors[m, "FedRep"], errors[m, method]
        parts.append(
            partial(ordering, one, other, name=f"FedRep better, m_new = {m}", setting=setting)
        )
        parts.append(
            partial(ordering, limit, other, name=f"not accurate, m_new = {m}", setting=setting)
        )
    return replace(combine(decided(parts)), points=_new_client_table(errors))


def _new_clients(rng, count, sizes, methods):
    """Return new clients' mean errors over the zero model's: a row per seed, columns m_new, method.

    Column (0, method) holds the distance of the representation to B*.
    """
    rows = [_new_client_errors(seed, sizes, methods) for seed in _seeds(rng, count)]
    found = pd.DataFrame(rows)
    found.columns = pd.MultiIndex.from_tuples(found.columns, names=["m", "method"])
    return found


def _new_client_errors(seed, sizes, methods):
    truth, data = _problem(100, 20, 2, 10, seed, **CONVENTIONS["text"])
    start = lr.projected_gradient_start(data, 2)
    learn = {
        "FedRep": lambda: lr.fedrep(data, rounds=500, start=start, rng=seed).state["B"],
        "local": lambda: np.eye(20),
        "FedSGD, random start": lambda: _one_model(data, seed)[0],
        "FedSGD, FedRep's start": lambda: _one_model(data, seed, start)[0],
    }
    frames = {method: learn[method]() for method in methods}
    found = {(0, method): distance(B, truth.B) for method, B in frames.items() if method != "local"}
    rng = np.random.default_rng([seed, 4])
    heads = rng.standard_normal((50, 2))
    heads *= 0.2 / np.linalg.norm(heads, axis=1, keepdims=True)  # as the training heads on average
    newcomers = truth.with_heads(heads)
    for m in sizes:
        samples = newcomers.draw(m, rng=rng)
        for method, B in frames.items():
            theta = lr.fit_heads(samples, B) @ B.T
            errors = np.sum((theta - newcomers.theta) ** 2, axis=1) / 0.2**2
            found[m, method] = errors.mean()
            found[m, f"{method}, median"] = np.median(errors)
    return found


def _new_client_table(errors):
    long = errors.melt(value_name="y").rename(columns={"m": "x", "method": "series"})
    long = long[(long["x"] > 0) & ~long["series"].str.endswith("median")]
    words = {"panel": "new clients", "xlabel": "samples of the new client"}
    return _medians([long.assign(ylabel="error over the zero model's", **words)])


# Figure 7.


@claim(
    "fedrep.figure7",
    place="Figure 7; Appendix A.1",
    kind="comparison",
    latex=r"n < n' \implies \frac{\text{rounds}_{\text{GD-GD}}(n)}{\text{rounds}_{\text{FedRep}}"
    r"(n)} < \frac{\text{rounds}_{\text{GD-GD}}(n')}{\text{rounds}_{\text{FedRep}}(n')}",
    plain="d = 10, k = 2, r = 1, m = 5, 10, n = 10, 30, 100, 300, no noise, each method's best "
    "step size: GD-GD's rounds over FedRep's grow with n.",
    broken={"trend": "decreases"},
)
def figure7(budget, rng, *, trend="increases") -> Evidence:
    """Compare ratios of rounds to distance 1e-6, and to 1e-6 of the zero model's loss, along n."""
    sizes = budget((10, 30, 100), (10, 30, 100, 300))
    sign = {"increases": 1.0, "decreases": -1.0}[trend]
    parts: list[Decision] = []
    rows, best = [], []
    for m in budget((10,), (5, 10)):
        ratios = {n: _gains(n, m, budget(40, 60, 200), budget(4, 10, 20), rng) for n in sizes}
        for measure in ("distance", "loss"):
            table = np.column_stack([ratio[measure] for ratio in ratios.values()])
            parts.append(
                partial(
                    rising, sign * table,
                    name=f"{measure}, m = {m}: gain along n", setting={"m": m},
                )
            )  # fmt: skip
            for n, ratio in ratios.items():
                rows.append(
                    pd.DataFrame({"y": ratio[measure], "x": n, "series": f"m = {m}"}).assign(
                        panel=f"to 1e-6, {measure}", xlabel="n", ylabel="rounds, GD-GD over FedRep"
                    )
                )
        middles = ", ".join(f"{ratio['distance'].median():.3g}" for ratio in ratios.values())
        best.append(f"m = {m}: {middles}")
    found = combine(decided(parts))
    if found.verdict == HOLDS:
        listed = ", ".join(map(str, sizes))
        found = replace(
            found,
            sentence=f"median of GD-GD's rounds over FedRep's at n = {listed}: {'; '.join(best)}",
        )
    table = pd.concat(rows)
    return replace(found, points=_medians([table[np.isfinite(table["y"])]]))


def _gains(n, m, count, tuning, rng):
    """Return GD-GD's rounds over FedRep's by measure, a row per seed; 1 if neither gets there."""
    methods = ("FedRep", "GD-GD")
    trials = {
        (method, multiple): [_descend(n, m, seed, method, multiple) for seed in seeds]
        for seeds in [_seeds(rng, tuning)]
        for method in methods
        for multiple in (1.0, 2.0, 4.0, 6.0)
    }
    # First the one that arrives most often, then the fastest.
    middles = {
        key: (
            -np.mean([np.isfinite(run["distance"]) for run in runs]),
            np.median([run["distance"] for run in runs]),
        )
        for key, runs in trials.items()
    }
    best = {
        method: min(
            (value, multiple) for (own, multiple), value in middles.items() if own == method
        )[1]
        for method in methods
    }
    rows = []
    for seed in _seeds(rng, count):
        fedrep, other = (_descend(n, m, seed, method, best[method]) for method in methods)
        rows.append(
            {key: 1.0 if other[key] == own else other[key] / own for key, own in fedrep.items()}
        )
    return pd.DataFrame(rows)


def _descend(n, m, seed, method, multiple):
    """Return the rounds to distance 1e-6, and to 1e-6 of the zero model's loss, without noise."""
    truth, data = _problem(n, 10, 2, m, seed, heads="scaled_qr")
    trace = lr.fedrep(
        data, rounds=4000 if n < 100 else 1500, local_steps=METHODS[method],
        start=lr.projected_gradient_start(data, 2), tolerance=1e-6, rng=seed,
        step_size=multiple * theorem_step_size(truth, n),
    )  # fmt: skip
    zero = 0.5 * np.mean(np.sum(truth.theta**2, axis=1))
    low = np.flatnonzero(trace["loss"][1:] <= 1e-6 * zero)
    return {"distance": _until(trace), "loss": 1.0 + low[0] if low.size else np.inf}


# What the comparisons share.


def _problem(n, d, k, m, seed, **options):
    """Return a truth and samples of it."""
    rng = np.random.default_rng([seed, n, m])
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=rng, **options)
    return truth, truth.draw(m, rng=rng)


def _seeds(rng, count):
    return [int(seed) for seed in rng.integers(2**32, size=count)]


def _until(trace):
    """Return the rounds a run took to its tolerance, infinity for never."""
    return float(trace.rounds) if trace.stop_reason == "converged" else np.inf


def _risk(theta, truth):
    """Return half the mean squared error on noise-free test data."""
    return 0.5 * float(np.mean(np.sum((theta - truth.theta) ** 2, axis=1)))


def _before(early, late, *, name, setting):
    """Return the part that one takes fewer rounds than the other; pairs without an end drop out."""
    early, late = np.asarray(early, dtype=float), np.asarray(late, dtype=float)
    known = (np.isfinite(early) | np.isfinite(late)) & ~np.isnan(early + late)
    if not known.any():
        never = Evidence(
            UNDECIDED, "neither gets there in any run", needed="more rounds", name=name
        )
        return lambda level: replace(never, level=level)
    return partial(ordering, early[known], late[known], tie=TIE, name=name, setting=setting)


def _round_table(found, reading):
    """Return medians and quartiles of rounds by n and method, for pictures."""
    rows = []
    for (n, method), column in found.items():
        low, middle, high = np.quantile(column, [0.25, 0.5, 0.75], method="nearest")
        if np.isfinite(middle) and middle > 0:
            rows.append({"x": n, "y": middle, "low": low, "high": high, "series": method})
    return pd.DataFrame(rows).assign(panel=reading, xlabel="n", ylabel="rounds to the goal")


def _medians(rows):
    """Return medians of y over seeds, for pictures."""
    keys = ["panel", "series", "x", "xlabel", "ylabel"]
    return pd.concat(rows).groupby(keys, sort=False)["y"].median().reset_index()
