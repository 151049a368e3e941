"""Section 7.1 and Appendix C.1, Figures 1 and 3: FLUTE against FedRep; settings are in _races."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from linrep.claims import Evidence, claim, combine, frequency, ordering
from linrep.claims import trend as rising
from linrep.claims._parts import best_reading, decided, medians
from linrep.claims.flute._races import (
    EPOCH_TIE,
    HEADS,
    MODELS,
    NOISE,
    NOISES,
    RANKS,
    SIZES,
    TIE,
    noted,
    race,
    sides,
)  # fmt: skip

Decision = Callable[..., Evidence]
#: Training losses as near as this are those of the same minimum.
SAME_MINIMUM = 1e-4


@claim(
    "flute.figure1.early",
    place="Section 7.1; Figure 1",
    kind="comparison",
    latex=r"\mathrm{error}_{\text{FedRep}}(t) < \mathrm{error}_{\text{FLUTE}}(t) \quad (t \le 10)",
    plain="After 10 epochs FedRep, which starts from the data's moments, has the smaller error.",
    broken={"ahead": "FLUTE"},
)
def figure1_early(budget, rng, *, ahead="FedRep") -> Evidence:
    """Compare errors after 10 epochs: all head solvers, both step sizes and both truths."""
    options = {"starts": ("moments",), "heads": HEADS, "epochs": 10}
    parts: list[Decision] = []
    for models in MODELS:
        for n, m in budget(((30, 20),), SIZES):
            for k in budget((2, 8), RANKS):
                for noise in budget((NOISE,), NOISES):
                    found = race(rng, budget(30, 40), models, n, m, k, noise=noise, **options)
                    for name in found.methods:
                        pair = found.last(name), found.last("FLUTE")
                        parts.append(
                            partial(
                                ordering, *(pair if ahead == "FedRep" else pair[::-1]), tie=TIE,
                                name=f"{models}, {found.name}: {name}",
                                setting=found.setting(name),
                            )
                        )  # fmt: skip
    return combine(decided(parts))


_EVENTUALLY: dict[str, Any] = {
    "kind": "comparison",
    "latex": r"\mathrm{error}_{\text{FLUTE}}(T) < \mathrm{error}_{\text{FedRep}}(T)",
    "broken": {"share": 0.8},
}
FIGURE1 = "Section 7.1; Figure 1"
FIGURE3 = "Section 7.1 and Appendix C.1; Figure 3"


@claim(
    "flute.figure1",
    place=FIGURE1,
    plain="Independent normal models: FLUTE ends at a smaller error than FedRep at every M, N and "
    "k (moments' start, own step size).",
    **_EVENTUALLY,
)
def figure1(budget, rng, *, share=1.0) -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 1", "own", share)


@claim(
    "flute.figure1.eventually.same",
    place=FIGURE1,
    plain="The same where FedRep takes FLUTE's step size, on the sum of the gradients.",
    **_EVENTUALLY,
)
def eventually_1_same(budget, rng, *, share=1.0) -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 1", "same", share)


@claim(
    "flute.figure3.eventually.own",
    place=FIGURE3,
    plain="Models of decaying spectrum: FLUTE ends at a smaller error than FedRep at every M, N "
    "and k (moments' start, own step size).",
    **_EVENTUALLY,
)
def eventually_3_own(budget, rng, *, share=1.0) -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 3", "own", share)


@claim(
    "flute.figure3.eventually.same",
    place=FIGURE3,
    plain="The same where FedRep takes FLUTE's step size, on the sum of the gradients.",
    **_EVENTUALLY,
)
def eventually_3_same(budget, rng, *, share=1.0) -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 3", "same", share)


def _grid(budget, rng, models, steps, *, heads=("exact",)):
    """Run the whole grid, with most seeds where a run is short; quick has its cheapest corner.

    Other head solvers run at k = 2 only, noise of variance 0.3.
    """
    for noise in budget((NOISE,), NOISES):
        for n, m in budget(((15, 12), (15, 20)), SIZES):
            for k in budget((2,), RANKS):
                seeds = budget(80, 120 if k == 2 else 30, 400)
                solvers = heads if k == 2 and noise == NOISE else ("exact",)
                yield race(
                    rng, seeds, models, n, m, k, starts=("moments",), steps=steps, heads=solvers,
                    noise=noise,
                )  # fmt: skip


def _eventually(budget, rng, models, step, share):
    """Decide at every cell; ties take many seeds to see."""
    parts: list[Decision] = []
    tables, counts = [], []
    for found in _grid(budget, rng, models, (step,), heads=budget(("exact",), HEADS)):
        for name in found.methods:
            parts.append(
                partial(
                    ordering, found.last("FLUTE"), share * found.last(name), tie=TIE,
                    name=f"{found.name}: {name}", setting=found.setting(name),
                )
            )  # fmt: skip
        tables.append(found.curves(models))
        counts.append(f"{found.name}: {found.counts(found.methods[0])}")
    done = decided(parts)
    exact = [part for part in done if "exact" in part.name]
    note = f"; with exact heads FLUTE's median is {sides(exact)}; wins/ties/losses of FLUTE: "
    return noted(combine(done), note + "; ".join(counts), tables)


_SAME_MINIMA: dict[str, Any] = {
    "kind": "comparison",
    "latex": r"\mathcal L_{\text{FLUTE}}(T) = \mathcal L_{\text{FedRep}}(T) \implies "
    r"\mathrm{error}_{\text{FLUTE}}(T) = \mathrm{error}_{\text{FedRep}}(T)",
    "broken": {"same": False},
}


@claim(
    "flute.figure1.corrected",
    place=FIGURE1,
    plain="Independent normal models: where FLUTE and FedRep (own step size) end at the same "
    "minimum, training losses within 0.01 %, their errors are within 0.5 %, in most runs.",
    corrects="flute.figure1",
    **_SAME_MINIMA,
)
def figure1_corrected(budget, rng, *, same=True) -> Evidence:
    """Compare errors and training losses after 800 epochs."""
    return _same_minima(budget, rng, "Figure 1", "own", same)


@claim(
    "flute.figure1.eventually.same.corrected",
    place=FIGURE1,
    plain="The same where FedRep takes FLUTE's step size.",
    corrects="flute.figure1.eventually.same",
    **_SAME_MINIMA,
)
def eventually_1_same_corrected(budget, rng, *, same=True) -> Evidence:
    """Compare errors and training losses after 800 epochs."""
    return _same_minima(budget, rng, "Figure 1", "same", same)


@claim(
    "flute.figure3.eventually.own.corrected",
    place=FIGURE3,
    plain="Models of decaying spectrum: where FLUTE and FedRep (own step size) end at the same "
    "minimum, training losses within 0.01 %, their errors are within 0.5 %, in most runs.",
    corrects="flute.figure3.eventually.own",
    **_SAME_MINIMA,
)
def eventually_3_corrected(budget, rng, *, same=True) -> Evidence:
    """Compare errors and training losses after 800 epochs."""
    return _same_minima(budget, rng, "Figure 3", "own", same)


def _same_minima(budget, rng, models, step, same):
    """Count errors that differ (or do not) among all runs of the grid with one training loss."""
    together, total, tied = 0, 0, 0
    for found in _grid(budget, rng, models, (step,)):
        (name,) = found.methods
        losses = found.last("FLUTE", "loss") / found.last(name, "loss")
        errors = found.last("FLUTE") / found.last(name)
        meet = np.abs(losses - 1.0) <= SAME_MINIMUM
        together += int(meet.sum())
        total += len(meet)
        tied += int(np.sum(meet & (np.abs(errors - 1.0) <= TIE)))
    found = frequency(together - tied if same else tied, together, 0.5)
    return noted(found, f"; {together} of {total} runs end at one minimum", [])


# How fast.


@claim(
    "flute.figure1.random_start",
    place=FIGURE1,
    kind="comparison",
    latex=r"\min\{t : \mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep(RI)}}(t)\}"
    r"< \min\{t : \mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep}}(t)\}",
    plain="Independent normal models: FLUTE gets ahead of FedRep(RI), from FLUTE's own random "
    "start, in fewer epochs than it gets ahead of FedRep, at every M, N and k.",
    broken={"share": 0.05},
)
def figure1_random_start(budget, rng, *, share=1.0) -> Evidence:
    """Compare the first epochs at which FLUTE is ahead, to a share of those of FedRep."""
    parts: list[Decision] = []
    tables, told = [], []
    for noise in budget((NOISE,), NOISES):
        for n, m in budget(((15, 12),), SIZES):
            for k in budget((6, 8), RANKS):
                found = race(
                    rng, budget(50, 90 if k == 2 else 25, 600), "Figure 1", n, m, k,
                    starts=("moments", "random"), steps=("own",), noise=noise,
                )  # fmt: skip
                steady, random = found.methods
                pair = found.ahead(random), found.ahead(steady)
                told.append(", ".join(f"{np.median(x):.0f}" for x in pair) + f" ({found.name})")
                tables.append(found.curves("Figure 1"))
                parts.append(
                    partial(
                        ordering, pair[0], share * pair[1], tie=EPOCH_TIE, name=found.name,
                        setting=found.setting(random),
                    )
                )  # fmt: skip
    done = decided(parts)
    note = f"; {sides(done, EPOCH_TIE)}; median epochs until ahead of FedRep(RI), of FedRep: "
    return noted(combine(done), note + "; ".join(told), tables)


@claim(
    "flute.figure1.random_start.speed",
    place=FIGURE1,
    kind="comparison",
    latex=r"c\,\mathrm{epochs}_{\text{FLUTE}} < \mathrm{epochs}_{\text{FedRep(RI)}},\quad c = 1",
    plain="Independent normal models: FLUTE takes fewer epochs to 1.05 of its last error than "
    "FedRep(RI), own step size, at every M, N and k.",
    broken={"factor": 1.0},
    mended={"factor": 0.01},
)
def random_start_speed(budget, rng, *, factor=1.0) -> Evidence:
    """Compare epochs; from factor 0.01 on it is true, as FedRep(RI) rests sooner at k = 2."""
    parts: list[Decision] = []
    tables, told = [], []
    for noise in budget((NOISE,), NOISES):
        for n, m in budget(((15, 20),), SIZES):
            for k in budget((2, 4), RANKS):
                found = race(
                    rng, budget(45, 60 if k == 2 else 30, 400), "Figure 1", n, m, k,
                    starts=("random",), steps=("own",), noise=noise,
                )  # fmt: skip
                (name,) = found.methods
                pair = found.near("FLUTE"), found.near(name)
                parts.append(
                    partial(
                        ordering, factor * pair[0], pair[1], tie=EPOCH_TIE, name=found.name,
                        setting=found.setting(name),
                    )
                )  # fmt: skip
                told.append(", ".join(f"{np.median(x):.0f}" for x in pair) + f" ({found.name})")
                tables.append(found.curves("Figure 1"))
    done = decided(parts)
    note = f"; {sides(done, EPOCH_TIE)}; median epochs of FLUTE, FedRep(RI): "
    return noted(combine(done), note + "; ".join(told), tables)


_GAP: dict[str, Any] = {
    "kind": "comparison",
    "latex": r"k < k' \implies \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)}\right| > \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}"
    r"(k')}{\mathrm{epochs}_{\text{FLUTE}}(k')}\right|",
    "broken": {"of": "FLUTE"},
}
#: What is followed along k.
MEASURES: dict[str, Callable[..., Any]] = {
    "ratio": lambda races, name: np.abs(np.log(races.near(name) / races.near("FLUTE"))),
    "difference": lambda races, name: np.abs(races.near(name) - races.near("FLUTE")),
    "gain": lambda races, name: races.near(name) / races.near("FLUTE"),
    "last error": lambda races, name: races.last(name) / races.last("FLUTE"),
    "FLUTE": lambda races, name: races.near("FLUTE"),
}


@claim(
    "flute.figure3",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum: the epochs to 1.05 of the last error, FedRep's and FLUTE's,"
    " get nearer to each other as k grows, in their ratio or their difference.",
    **_GAP,
)
def figure3(budget, rng, *, of="") -> Evidence:
    """Compare gaps along k, whole grid: ratio or difference, own or FLUTE's step size."""
    return _along_k(budget, rng, "Figure 3", (of,) if of else ("ratio", "difference"), "falls")


@claim(
    "flute.figure1.gap",
    place=FIGURE1,
    plain="Independent normal models: the epochs to 1.05 of the last error, FedRep's and FLUTE's, "
    "get nearer to each other as k grows, in their ratio or their difference.",
    **_GAP,
)
def figure1_gap(budget, rng, *, of="") -> Evidence:
    """Compare gaps along k, whole grid: ratio or difference, own or FLUTE's step size."""
    return _along_k(budget, rng, "Figure 1", (of,) if of else ("ratio", "difference"), "falls")


_SMALL_K: dict[str, Any] = {
    "place": FIGURE1,
    "kind": "comparison",
    "latex": r"k < k' \implies \frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)} > \frac{\mathrm{epochs}_{\text{FedRep}}(k')}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k')}",
}


@claim(
    "flute.figure1.small_k",
    plain="Independent normal models: the epochs that FedRep takes to 1.05 of its last error, over "
    "FLUTE's, fall as k grows (FLUTE's gain is more pronounced for small k).",
    broken={"trend": "falls"},
    mended={"trend": "rises"},
    **_SMALL_K,
)
def small_k(budget, rng, *, trend="falls") -> Evidence:
    """Compare signed gains along k, whole grid: own or FLUTE's step size."""
    return _along_k(budget, rng, "Figure 1", ("gain",), trend)


@claim(
    "flute.figure1.small_k.corrected",
    plain="Independent normal models: these ratios rise as k grows; FedRep is the faster one at "
    "small k.",
    corrects="flute.figure1.small_k",
    broken={"trend": "falls"},
    **{**_SMALL_K, "latex": _SMALL_K["latex"].replace("> ", "< ")},
)
def small_k_corrected(budget, rng, *, trend="rises") -> Evidence:
    """Compare signed gains along k, whole grid: own or FLUTE's step size."""
    return _along_k(budget, rng, "Figure 1", ("gain",), trend)


@claim(
    "flute.figure3.small_k.end_error",
    place=FIGURE3,
    kind="comparison",
    latex=r"k < k' \implies \frac{\mathrm{error}_{\text{FLUTE}}(k)}{\mathrm{error}_{\text{FedRep}}"
    r"(k)} < \frac{\mathrm{error}_{\text{FLUTE}}(k')}{\mathrm{error}_{\text{FedRep}}(k')}",
    plain="Models of decaying spectrum: FLUTE's last error over FedRep's grows with k (its gain is "
    "more pronounced for small k).",
    broken={"of": "FLUTE"},
)
def figure3_end_error(budget, rng, *, of="last error") -> Evidence:
    """Compare last errors along k, whole grid: own or FLUTE's step size."""
    return _along_k(budget, rng, "Figure 3", (of,), "falls")


def _along_k(budget, rng, models, measures, trend):
    """Decide by the ranks along k within blocks of one M, N, noise and place among the seeds.

    The runs of a block are independent; the text speaks of M and N that are held, and of FedRep
    from the moments' start. What is measured, and FedRep's step size, are readings.
    """
    readings = ("own", "same")
    steps = budget(readings[:1], readings) if measures == ("gain",) else readings
    ranks = budget((2, 4, 8), RANKS)
    blocks: dict[tuple[str, str], list[Any]] = {
        (measure, step): [] for measure in measures for step in steps
    }
    rows = []
    for noise in budget((NOISE,), NOISES):
        for n, m in budget(((15, 20),), SIZES):
            found = [
                race(
                    rng, budget(40, 30, 100), models, n, m, k,
                    starts=("moments",), steps=steps, noise=noise,
                )
                for k in ranks
            ]  # fmt: skip
            for measure, step in blocks:
                place = steps.index(step)
                columns = [MEASURES[measure](races, races.methods[place]) for races in found]
                blocks[measure, step].append(np.column_stack(columns))
                label = {"panel": f"{models}, {measure}", "xlabel": "k", "ylabel": measure}
                series = f"M = {n}, N = {m}, noise {noise:.2g}, {step} step size"
                rows += [
                    pd.DataFrame({"y": column, "x": k, "series": series}).assign(**label)
                    for k, column in zip(ranks, columns, strict=True)
                ]
    sign = {"rises": 1.0, "falls": -1.0}[trend]
    tables = {key: np.vstack(table) for key, table in blocks.items()}
    parts = [
        partial(rising, sign * table, name=", ".join(key) + " step size", setting={"step": key[1]})
        for key, table in tables.items()
    ]
    told = (
        ", ".join(key) + ": " + ", ".join(f"{middle:.2g}" for middle in np.median(table, axis=0))
        for key, table in tables.items()
    )
    note = f"; medians at k = {', '.join(map(str, ranks))}: " + "; ".join(told)
    return noted(best_reading(decided(parts)), note, [medians(rows)])
