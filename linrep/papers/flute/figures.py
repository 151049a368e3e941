"""Section 7.1 and Appendix C.1, Figures 1 and 3: FLUTE against FedRep; settings are in _races.

One rule for all sentences: what the paper leaves open is a reading of each of them. These are
FedRep's step size, FLUTE's for the sum of the gradients, or one of its own; whether a
sentence is about every M, N and k or about the whole grid; and, where speeds are compared, how near
to its last error a run has to be. Heads are exact, the noise has variance 0.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from linrep.claims import Curve, Fact, Paired, Readings, Together, Trend, statement
from linrep.claims.tables import medians
from linrep.papers.flute._races import (
    EPOCH_TIE,
    EXPLAINED,
    MODELS,
    NOISE,
    NOISES,
    RANKS,
    SIZES,
    STEPS,
    list_variants,
    named,
    race,
)
from linrep.papers.flute.model import FIGURES
from linrep.papers.flute.settings import HEADS, TIE


@statement(
    "flute.figure1.early",
    place="Section 7.1; Figure 1",
    latex=r"\mathrm{error}_{\text{FedRep}}(t) < \mathrm{error}_{\text{FLUTE}}(t) \quad (t \le 10)",
    plain="After 10 epochs FedRep, which starts from the data's moments, has the smaller error.",
    hypotheses=FIGURES,
    negative_control={"ahead": "FLUTE"},
)
def figure1_early(budget, rng, *, ahead="FedRep"):
    """Compare errors after 10 epochs: all head solvers, both step sizes and both truths."""
    others = list_variants(("moments",), HEADS)
    for models in MODELS:
        for n, m in budget(((30, 20),), SIZES):
            for k in budget((2, 8), RANKS):
                for noise in budget((NOISE,), NOISES if k == 2 else (NOISE,)):
                    found = race(
                        rng, budget(30, 40), models, n, m, k, others=others, epochs=10, noise=noise
                    )
                    for name in found.methods:
                        pair = found.last(name), found.last("FLUTE")
                        solver = name.removeprefix("FedRep, ").removesuffix(" step")
                        yield Paired(
                            *(pair if ahead == "FedRep" else pair[::-1]),
                            tie=TIE,
                            quantity="median ratio of errors after 10 epochs",
                            name=f"{models}, {found.name}: {solver}",
                            setting=found.setting(name),
                        )


FIGURE1 = "Section 7.1; Figure 1"
FIGURE3 = "Section 7.1 and Appendix C.1; Figure 3"


def _grid(budget, rng, models, seeds, more, *, starts=("moments",), ranks=RANKS):
    """Run the whole grid, with more seeds at k = 2, where runs are short.

    Quick has its cheapest corner.
    """
    others = list_variants(starts)
    for n, m in budget(((15, 12), (15, 20)), SIZES):
        for k in budget(ranks[:1], ranks):
            yield race(rng, more if k == 2 else seeds, models, n, m, k, others=others)


def _scopes(races, smaller, larger, step, *, few, tie, quantity):
    """Return the readings of one step size: every cell, and the grid with as many seeds of each."""
    pairs = [(found, smaller(found), larger(found)) for found in races]
    cells = [
        Paired(
            one,
            other,
            tie=tie,
            quantity=quantity,
            name=found.name,
            setting={"sizes": found.name, "step": step},
            weight=1.0 / len(pairs),
        )
        for found, one, other in pairs
    ]
    whole = [np.concatenate([pair[place][:few] for pair in pairs]) for place in (1, 2)]
    return [
        Together(cells, name=f"{STEPS[step]}, every M, N and k"),
        Paired(
            *whole,
            tie=tie,
            quantity=quantity,
            name=f"{STEPS[step]}, whole grid",
            setting={"step": step},
        ),
    ]


_EVENTUALLY: dict[str, Any] = {
    "latex": r"\mathrm{error}_{\text{FLUTE}}(T) < \mathrm{error}_{\text{FedRep}}(T)",
    "hypotheses": FIGURES,
    "negative_control": {"share": 0.5},
}


def eventually(budget, rng, *, models, share=1.0):
    """Compare errors after 800 epochs."""
    few = budget(40, 78, 200)
    races = list(_grid(budget, rng, models, few, budget(40, 160, 800)))
    readings: list[Any] = []
    for step in STEPS:
        name = named("moments", "exact", step)
        readings += _scopes(
            races,
            lambda found: found.last("FLUTE"),
            lambda found, name=name: share * found.last(name),
            step,
            few=few,
            tie=TIE,
            quantity="median ratio of last errors",
        )
        ratios = np.concatenate(
            [found.last("FLUTE")[:few] / found.last(name)[:few] for found in races]
        )
        yield Fact(
            f"share of runs in which FLUTE ends lower, {step}", float(np.mean(ratios < 1 - TIE))
        )
        yield Fact(f"share of runs that tie, {step}", float(np.mean(np.abs(ratios - 1) <= TIE)))
    yield Readings(readings, name="after 800 epochs", phrase="FLUTE eventually outperforms FedRep")
    for found in races:
        yield Curve(found.curves(models))


statement(
    "flute.figure1",
    place=FIGURE1,
    plain="Independent normal models: FLUTE ends at a smaller error than FedRep.",
    constants={"models": "Figure 1"},
    holds_with={"share": 1.25},
    **_EVENTUALLY,
)(eventually)
statement(
    "flute.figure3.eventually",
    own=True,
    place=FIGURE3,
    plain="Models of decaying spectrum: FLUTE ends at a smaller error than FedRep.",
    constants={"models": "Figure 3"},
    **_EVENTUALLY,
)(eventually)


@statement(
    "flute.figure1.corrected",
    place=FIGURE1,
    latex=r"N = 12, k = 8:\ \mathrm{error}_{\text{FLUTE}}(T) < \mathrm{error}_{\text{FedRep}}(T);"
    r"\quad N = 20:\ \mathrm{median}\,\frac{\mathrm{error}_{\text{FLUTE}}(T)}"
    r"{\mathrm{error}_{\text{FedRep}}(T)} = 1 \pm 0.02",
    plain="Independent normal models: FLUTE ends below FedRep where samples are few and k is large "
    "(N = 12, k = 8); with N = 20 the median over M and k is within 2 %, at either step size.",
    corrects="flute.figure1",
    hypotheses=FIGURES,
    negative_control={"share": 0.7},
)
def where_it_ends_lower(budget, rng, *, share=1.0):
    """Compare errors after 800 epochs, both M together, and all k where samples are many."""
    few, many = 12, 20
    clients = budget((15,), (15, 30))
    others = list_variants(("moments",))
    lower = [race(rng, budget(40, 100, 400), "Figure 1", n, few, 8, others=others) for n in clients]
    ties = [
        race(rng, budget(40, 40, 200), "Figure 1", n, many, k, others=others)
        for n in clients
        for k in budget((2,), RANKS)
    ]
    for step in STEPS:
        name = named("moments", "exact", step)
        for races, m, ranks, tie in ((lower, few, "k = 8", TIE), (ties, many, "any k", 0.02)):
            pair = [
                factor * np.concatenate([found.last(each) for found in races])
                for each, factor in (("FLUTE", 1.0), (name, share))
            ]
            yield Paired(
                *pair,
                tie=tie,
                same=races is ties,
                quantity="median ratio of last errors",
                name=f"N = {m}, {ranks}, {STEPS[step]}",
                setting={"m": m, "step": step},
            )


# How fast.


@statement(
    "flute.figure1.random_start",
    place=FIGURE1,
    latex=r"\sum_{t \le 100}\mathrm{error}_{\text{FedRep(RI)}}(t) >"
    r" \sum_{t \le 100}\mathrm{error}_{\text{FedRep}}(t)",
    plain="Independent normal models: FedRep(RI), from FLUTE's random start, has larger errors "
    "than FedRep at equal epochs, up to epoch 100, so that FLUTE overtakes it sooner.",
    hypotheses=FIGURES,
    negative_control={"share": 0.8},
)
def figure1_random_start(budget, rng, *, share=1.0):
    """Compare mean errors over the first 100 epochs, in which FLUTE's curve crosses the others."""
    few = budget(40, 30, 150)
    races = list(
        _grid(
            budget,
            rng,
            "Figure 1",
            few,
            budget(50, 60, 300),
            starts=("moments", "random"),
            ranks=budget((4,), RANKS),
        )
    )
    readings: list[Any] = []
    for step in STEPS:
        steady, random = (named(start, "exact", step) for start in ("moments", "random"))
        readings += _scopes(
            races,
            lambda found, name=steady: found.early(name),
            lambda found, name=random: share * found.early(name),
            step,
            few=few,
            tie=TIE,
            quantity="median ratio of mean errors up to epoch 100",
        )
        ahead = [np.mean(found.ahead(random) < found.ahead(steady)) for found in races]
        yield Fact(f"share of runs in which FLUTE passes FedRep(RI) first, {step}", np.mean(ahead))
    yield Readings(
        readings,
        name="up to epoch 100",
        phrase="when FedRep is randomly initialized, FLUTE outperforms it in much fewer iterations",
    )
    for found in races:
        yield Curve(found.curves("Figure 1"))


@statement(
    "flute.figure1.random_start.speed",
    place=FIGURE1,
    latex=r"c\,\mathrm{epochs}_{\text{FLUTE}} < \mathrm{epochs}_{\text{FedRep(RI)}},\quad c = 1",
    plain="Independent normal models: FLUTE takes fewer epochs than FedRep(RI) to 90 % or to 99 % "
    "of the error that each explains.",
    hypotheses=FIGURES,
    negative_control={"factor": 20.0},
)
def random_start_speed(budget, rng, *, factor=1.0):
    """Compare epochs to a share of the explained error, that of no model less the last one."""
    few = budget(30, 65, 150)
    races = list(
        _grid(budget, rng, "Figure 1", few, few, starts=("random",), ranks=budget((2,), RANKS))
    )
    readings: list[Any] = []
    for share in EXPLAINED:
        for step in STEPS:
            name = named("random", "exact", step)
            found = _scopes(
                races,
                lambda found, share=share: factor * found.near("FLUTE", share),
                lambda found, share=share, name=name: found.near(name, share),
                step,
                few=few,
                tie=EPOCH_TIE,
                quantity="median ratio of epochs",
            )
            readings += [replace(each, name=f"{share:.0%}, {each.name}") for each in found]
    yield Readings(
        readings, name="epochs", phrase="FLUTE outperforms FedRep(RI) in much fewer iterations"
    )


_GAP: dict[str, Any] = {
    "latex": r"k < k' \implies \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)}\right| > \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}"
    r"(k')}{\mathrm{epochs}_{\text{FLUTE}}(k')}\right|",
    "hypotheses": FIGURES,
    "negative_control": {"of": "FLUTE"},
}


def _ratio(found, name, share):
    return np.abs(np.log(found.near(name, share) / found.near("FLUTE", share)))


def _difference(found, name, share):
    return np.abs(found.near(name, share) - found.near("FLUTE", share))


def _own_epochs(found, _, share):
    return found.near("FLUTE", share)


def gap(budget, rng, *, models, of=""):
    """Compare gaps of epochs along k, whole grid."""
    measures = {"ratio": _ratio, "difference": _difference}
    followed = [
        (f"{name}, {share:.0%}, {STEPS[step]}", named("moments", "exact", step), measure, share)
        for share in EXPLAINED
        for step in STEPS
        for name, measure in ({"epochs": _own_epochs} if of else measures).items()
    ]
    races = _blocks(budget, rng, models, budget(45, 75, 150))
    rows: list[pd.DataFrame] = []
    yield Readings(
        [
            Trend(
                -_along_k(races, models, name, method, measure, share, rows),
                name=name,
                setting={"method": method},
            )
            for name, method, measure, share in followed
        ],
        name="along k",
        phrase="the gap between the convergence rates narrows as k increases",
    )
    yield Curve(medians(rows))


statement(
    "flute.figure3",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum: FedRep's and FLUTE's epochs to 90 % or 99 % of the error "
    "that each explains get nearer to each other as k grows, in ratio or difference, by the mean "
    "rank correlation over seeds.",
    constants={"models": "Figure 3"},
    **_GAP,
)(gap)
statement(
    "flute.figure1.gap",
    place=FIGURE1,
    plain="Independent normal models: FedRep's and FLUTE's epochs to 90 % or 99 % of the error "
    "that each explains get nearer to each other as k grows, in ratio or difference, by the mean "
    "rank correlation over seeds.",
    constants={"models": "Figure 1"},
    **_GAP,
)(gap)


def _blocks(budget, rng, models, seeds):
    """Return races per M and N, a list along k each."""
    return [
        [
            race(rng, seeds, models, n, m, k, others=list_variants(("moments",)))
            for k in budget((2, 4, 8), RANKS)
        ]
        for n, m in budget(((15, 20),), SIZES)
    ]


def _along_k(blocks, models, label, method, measure, share, rows):
    """Return a measure with a row per M, N and place among the seeds, a column per k."""
    table = []
    for races in blocks:
        columns = [measure(found, method, share) for found in races]
        table.append(np.column_stack(columns))
        series = races[0].name.rpartition(",")[0]
        rows += [
            pd.DataFrame({"y": column, "x": found.k, "series": series}).assign(
                panel=f"{models}, {label}", xlabel="k", ylabel=label
            )
            for found, column in zip(races, columns, strict=True)
        ]
    return np.vstack(table)


_GAIN = (
    r"k < k' \implies \mathrm{gain}(k) > \mathrm{gain}(k'),\ \mathrm{gain}(2) > 1;\quad"
    r" \mathrm{gain} = \frac{\mathrm{epochs}_{\text{FedRep}}}{\mathrm{epochs}_{\text{FLUTE}}}"
    r" \text{ or } \frac{\mathrm{error}_{\text{FedRep}}}{\mathrm{error}_{\text{FLUTE}}}"
)


def _speed_gain(found, name, share):
    return found.near(name, share) / found.near("FLUTE", share)


def _error_gain(found, name, _):
    return found.last(name) / found.last("FLUTE")


#: Gains of FLUTE's: each with the share of the explained error, and what counts as a tie.
_GAINS: dict[str, tuple[Any, float, float]] = {
    **{f"speed to {share:.0%}": (_speed_gain, share, EPOCH_TIE) for share in EXPLAINED},
    "last error": (_error_gain, 0.0, TIE),
}


def small_k(budget, rng, *, models, sign=1.0, factor=1.0, gains=tuple(_GAINS)):
    """Follow gains along k, and ask whether there is one at k = 2 at all, for every M and N.

    With sign -1 the gains are FedRep's, that is, the reciprocals; they are multiplied by a factor.
    """
    # Figure 1 has next to no gain at k = 2, Figure 3 a clear one that falls slowly.
    few = 30 if models == "Figure 1" else 95
    blocks = _blocks(budget, rng, models, budget(30, few, 2 * few))
    small = [
        race(rng, budget(60, 160, 400), models, n, m, 2, others=list_variants(("moments",)))
        for n, m in budget(((15, 20),), SIZES)
    ]
    rows: list[pd.DataFrame] = []
    readings = []
    for label in gains:
        gain, share, tie = _GAINS[label]
        for step in STEPS:
            method = named("moments", "exact", step)
            along = _along_k(blocks, models, f"{label}, {step}", method, gain, share, rows)
            at_two = [
                Paired(
                    np.ones(len(found.runs)),
                    factor * gain(found, method, share) ** sign,
                    tie=tie,
                    quantity="one over the median gain",
                    name=found.name,
                    setting={"sizes": found.name, "step": step},
                    weight=1.0 / len(small),
                )
                for found in small
            ]
            trend = Trend(-sign * along, name="along k", setting={"step": step})
            readings.append(Together([trend, *at_two], name=f"{label}, {STEPS[step]}"))
    yield Readings(
        readings,
        name="gain",
        phrase="the performance gain of FLUTE is more pronounced where k is relatively small",
    )
    yield Curve(medians(rows))


statement(
    "flute.figure1.small_k",
    place=FIGURE1,
    latex=_GAIN,
    plain="Independent normal models: FLUTE has a gain over FedRep at k = 2, in epochs or in the "
    "last error, and it shrinks as k grows.",
    hypotheses=FIGURES,
    constants={"models": "Figure 1"},
    negative_control={"factor": 0.01},
)(small_k)
statement(
    "flute.figure3.small_k",
    own=True,
    place=FIGURE3,
    latex=_GAIN,
    plain="Models of decaying spectrum: FLUTE has a gain over FedRep at k = 2, in epochs or in "
    "the last error, and it shrinks as k grows.",
    hypotheses=FIGURES,
    constants={"models": "Figure 3"},
    negative_control={"factor": 0.2},
)(small_k)
statement(
    "flute.figure1.small_k.corrected",
    place=FIGURE1,
    latex=r"\frac{\mathrm{epochs}_{\text{FLUTE}}}{\mathrm{epochs}_{\text{FedRep}}}(2) > 1"
    r"\text{, and it falls as } k \text{ grows}",
    plain="Independent normal models: at k = 2 FedRep takes fewer epochs to 99 % of the error that "
    "it explains than FLUTE, and its lead falls as k grows.",
    corrects="flute.figure1.small_k",
    hypotheses=FIGURES,
    constants={"models": "Figure 1", "sign": -1.0, "gains": ("speed to 99%",)},
    negative_control={"sign": 1.0, "factor": 0.5},
)(small_k)
