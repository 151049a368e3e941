"""Section 7.1 and Appendix C.1, Figures 1 and 3: FLUTE against FedRep; settings are in _races."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from linrep.claims import Curve, Fact, Frequency, Paired, Readings, Trend, statement
from linrep.claims.flute._races import (
    EPOCH_TIE,
    MODELS,
    NOISE,
    NOISES,
    RANKS,
    SIZES,
    race,
)  # fmt: skip
from linrep.claims.tables import medians
from linrep.settings.flute import HEADS, TIE

#: Training losses as near as this are those of the same minimum.
SAME_MINIMUM = 1e-4


@statement(
    "flute.figure1.early",
    place="Section 7.1; Figure 1",
    latex=r"\mathrm{error}_{\text{FedRep}}(t) < \mathrm{error}_{\text{FLUTE}}(t) \quad (t \le 10)",
    plain="After 10 epochs FedRep, which starts from the data's moments, has the smaller error.",
    negative_control={"ahead": "FLUTE"},
)
def figure1_early(budget, rng, *, ahead="FedRep"):
    """Compare errors after 10 epochs: all head solvers, both step sizes and both truths."""
    options = {"starts": ("moments",), "heads": HEADS, "epochs": 10}
    for models in MODELS:
        for n, m in budget(((30, 20),), SIZES):
            for k in budget((2, 8), RANKS):
                for noise in budget((NOISE,), NOISES):
                    found = race(rng, budget(30, 40), models, n, m, k, noise=noise, **options)
                    for name in found.methods:
                        pair = found.last(name), found.last("FLUTE")
                        solver = name.removeprefix("FedRep, ").removesuffix(" step")
                        yield Paired(
                            *(pair if ahead == "FedRep" else pair[::-1]), tie=TIE,
                            quantity="median ratio of errors after 10 epochs",
                            name=f"{models}, {found.name}: {solver}", setting=found.setting(name),
                        )  # fmt: skip


_EVENTUALLY: dict[str, Any] = {
    "latex": r"\mathrm{error}_{\text{FLUTE}}(T) < \mathrm{error}_{\text{FedRep}}(T)",
    "negative_control": {"share": 0.8},
}
#: An advantage of FedRep's of a quarter is more than there is.
_NEARLY: dict[str, Any] = {"holds_with": {"share": 1.25}}
FIGURE1 = "Section 7.1; Figure 1"
FIGURE3 = "Section 7.1 and Appendix C.1; Figure 3"


def eventually(budget, rng, *, models, step, share=1.0):
    """Compare errors after 800 epochs at every cell; ties take many seeds to see."""
    ratios: list[float] = []
    for found in _grid(budget, rng, models, (step,), heads=budget(("exact",), HEADS)):
        for name in found.methods:
            yield Paired(
                found.last("FLUTE"), share * found.last(name), tie=TIE,
                quantity="median ratio of last errors", name=f"{found.name}: {name}",
                setting=found.setting(name),
            )  # fmt: skip
        yield Curve(found.curves(models))
        ratios.extend(found.last("FLUTE") / found.last(found.methods[0]))
    won = np.array(ratios) < 1.0 - TIE
    tied = np.abs(np.array(ratios) - 1.0) <= TIE
    yield Fact("share of runs in which FLUTE ends lower, exact heads", float(won.mean()))
    yield Fact("share of runs that tie", float(tied.mean()))


statement(
    "flute.figure1",
    place=FIGURE1,
    plain="Independent normal models: FLUTE ends at a smaller error than FedRep at every M, N and "
    "k (moments' start, own step size).",
    constants={"models": "Figure 1", "step": "own"},
    **_EVENTUALLY,
    **_NEARLY,
)(eventually)
statement(
    "flute.figure1.eventually.same",
    place=FIGURE1,
    plain="The same where FedRep takes FLUTE's step size, on the sum of the gradients.",
    constants={"models": "Figure 1", "step": "same"},
    **_EVENTUALLY,
    **_NEARLY,
)(eventually)
statement(
    "flute.figure3.eventually.own",
    place=FIGURE3,
    plain="Models of decaying spectrum: FLUTE ends at a smaller error than FedRep at every M, N "
    "and k (moments' start, own step size).",
    constants={"models": "Figure 3", "step": "own"},
    **_EVENTUALLY,
    **_NEARLY,
)(eventually)
statement(
    "flute.figure3.eventually.same",
    place=FIGURE3,
    plain="The same where FedRep takes FLUTE's step size, on the sum of the gradients.",
    constants={"models": "Figure 3", "step": "same"},
    **_EVENTUALLY,
)(eventually)


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


_SAME_MINIMA: dict[str, Any] = {
    "latex": r"\mathcal L_{\text{FLUTE}}(T) = \mathcal L_{\text{FedRep}}(T) \implies "
    r"\mathrm{error}_{\text{FLUTE}}(T) = \mathrm{error}_{\text{FedRep}}(T)",
    "negative_control": {"same": False},
}


def same_minima(budget, rng, *, models, step, same=True):
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
    yield Frequency(
        together - tied if same else tied, together, 0.5,
        quantity="share of runs at one minimum that violate it",
    )  # fmt: skip
    yield Fact("share of runs that end at one minimum", together / total)


statement(
    "flute.figure1.corrected",
    place=FIGURE1,
    plain="Independent normal models: where FLUTE and FedRep (own step size) end at the same "
    "minimum, training losses within 0.01 %, their errors are within 0.5 %, in most runs.",
    corrects="flute.figure1",
    constants={"models": "Figure 1", "step": "own"},
    **_SAME_MINIMA,
)(same_minima)
statement(
    "flute.figure1.eventually.same.corrected",
    place=FIGURE1,
    plain="The same where FedRep takes FLUTE's step size.",
    corrects="flute.figure1.eventually.same",
    constants={"models": "Figure 1", "step": "same"},
    **_SAME_MINIMA,
)(same_minima)
statement(
    "flute.figure3.eventually.own.corrected",
    place=FIGURE3,
    plain="Models of decaying spectrum: where FLUTE and FedRep (own step size) end at the same "
    "minimum, training losses within 0.01 %, their errors are within 0.5 %, in most runs.",
    corrects="flute.figure3.eventually.own",
    constants={"models": "Figure 3", "step": "own"},
    **_SAME_MINIMA,
)(same_minima)


# How fast.


@statement(
    "flute.figure1.random_start",
    place=FIGURE1,
    latex=r"\min\{t : \mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep(RI)}}(t)\}"
    r"< \min\{t : \mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep}}(t)\}",
    plain="Independent normal models: FLUTE gets ahead of FedRep(RI), from FLUTE's own random "
    "start, in fewer epochs than it gets ahead of FedRep, at every M, N and k.",
    negative_control={"share": 0.05},
)
def figure1_random_start(budget, rng, *, share=1.0):
    """Compare the first epochs at which FLUTE is ahead, to a share of those of FedRep."""
    for noise in budget((NOISE,), NOISES):
        for n, m in budget(((15, 12),), SIZES):
            for k in budget((6, 8), RANKS):
                found = race(
                    rng, budget(50, 90 if k == 2 else 25, 600), "Figure 1", n, m, k,
                    starts=("moments", "random"), steps=("own",), noise=noise,
                )  # fmt: skip
                steady, random = found.methods
                yield Paired(
                    found.ahead(random), share * found.ahead(steady), tie=EPOCH_TIE,
                    quantity="median ratio of epochs until FLUTE is ahead", name=found.name,
                    setting=found.setting(random),
                )  # fmt: skip
                yield Curve(found.curves("Figure 1"))


@statement(
    "flute.figure1.random_start.speed",
    place=FIGURE1,
    latex=r"c\,\mathrm{epochs}_{\text{FLUTE}} < \mathrm{epochs}_{\text{FedRep(RI)}},\quad c = 1",
    plain="Independent normal models: FLUTE takes fewer epochs to 1.05 of its last error than "
    "FedRep(RI), own step size, at every M, N and k.",
    negative_control={"factor": 1.0},
    holds_with={"factor": 0.01},
)
def random_start_speed(budget, rng, *, factor=1.0):
    """Compare epochs; from factor 0.01 on it is true, as FedRep(RI) rests sooner at k = 2."""
    for noise in budget((NOISE,), NOISES):
        for n, m in budget(((15, 20),), SIZES):
            for k in budget((2, 4), RANKS):
                found = race(
                    rng, budget(45, 60 if k == 2 else 30, 400), "Figure 1", n, m, k,
                    starts=("random",), steps=("own",), noise=noise,
                )  # fmt: skip
                (name,) = found.methods
                yield Paired(
                    factor * found.near("FLUTE"), found.near(name), tie=EPOCH_TIE,
                    quantity="median ratio of epochs to 1.05 of the last error", name=found.name,
                    setting=found.setting(name),
                )  # fmt: skip
                yield Curve(found.curves("Figure 1"))


_GAP: dict[str, Any] = {
    "latex": r"k < k' \implies \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)}\right| > \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}"
    r"(k')}{\mathrm{epochs}_{\text{FLUTE}}(k')}\right|",
    "negative_control": {"of": "FLUTE"},
}
#: What is followed along k.
MEASURES: dict[str, Callable[..., Any]] = {
    "ratio": lambda races, name: np.abs(np.log(races.near(name) / races.near("FLUTE"))),
    "difference": lambda races, name: np.abs(races.near(name) - races.near("FLUTE")),
    "gain": lambda races, name: races.near(name) / races.near("FLUTE"),
    "last error": lambda races, name: races.last(name) / races.last("FLUTE"),
    "FLUTE": lambda races, name: races.near("FLUTE"),
}


def gap(budget, rng, *, models, of=""):
    """Compare gaps along k, whole grid: ratio or difference, own or FLUTE's step size."""
    yield from _along_k(budget, rng, models, (of,) if of else ("ratio", "difference"), "falls")


statement(
    "flute.figure3",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum: the epochs to 1.05 of the last error, FedRep's and FLUTE's,"
    " get nearer to each other as k grows, in their ratio or their difference.",
    constants={"models": "Figure 3"},
    **_GAP,
)(gap)
statement(
    "flute.figure1.gap",
    place=FIGURE1,
    plain="Independent normal models: the epochs to 1.05 of the last error, FedRep's and FLUTE's, "
    "get nearer to each other as k grows, in their ratio or their difference.",
    constants={"models": "Figure 1"},
    **_GAP,
)(gap)


_GAIN = (
    r"k < k' \implies \frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)} > \frac{\mathrm{epochs}_{\text{FedRep}}(k')}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k')}"
)


@statement(
    "flute.figure1.small_k",
    place=FIGURE1,
    latex=_GAIN,
    plain="Independent normal models: the epochs that FedRep takes to 1.05 of its last error, over "
    "FLUTE's, fall as k grows (FLUTE's gain is more pronounced for small k).",
    negative_control={"trend": "falls"},
)
def small_k(budget, rng, *, trend="falls"):
    """Compare signed gains along k, whole grid: own or FLUTE's step size."""
    yield from _along_k(budget, rng, "Figure 1", ("gain",), trend)


small_k.corrected(
    "flute.figure1.small_k.corrected",
    latex=_GAIN.replace("> ", "< "),
    plain="Independent normal models: these ratios rise as k grows; FedRep is the faster one at "
    "small k.",
    constants={"trend": "rises"},
    negative_control={"trend": "falls"},
)


@statement(
    "flute.figure3.small_k.end_error",
    place=FIGURE3,
    latex=r"k < k' \implies \frac{\mathrm{error}_{\text{FLUTE}}(k)}{\mathrm{error}_{\text{FedRep}}"
    r"(k)} < \frac{\mathrm{error}_{\text{FLUTE}}(k')}{\mathrm{error}_{\text{FedRep}}(k')}",
    plain="Models of decaying spectrum: FLUTE's last error over FedRep's grows with k (its gain is "
    "more pronounced for small k).",
    negative_control={"of": "FLUTE"},
)
def figure3_end_error(budget, rng, *, of="last error"):
    """Compare last errors along k, whole grid: own or FLUTE's step size."""
    yield from _along_k(budget, rng, "Figure 3", (of,), "falls")


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
    yield Readings(
        [
            Trend(sign * np.vstack(table), name=", ".join(key) + " step", setting={"step": key[1]})
            for key, table in blocks.items()
        ],
        name="along k",
    )
    yield Curve(medians(rows))
