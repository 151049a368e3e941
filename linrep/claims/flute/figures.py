"""Section 7.1 and Appendix C.1, Figures 1 and 3: FLUTE against FedRep; settings are in _races."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from linrep.claims import Evidence, claim, combine, ordering
from linrep.claims import trend as rising
from linrep.claims.fedrep._common import decided
from linrep.claims.flute._races import EPOCH_TIE, HEADS, MODELS, TIE, medians, noted, race

RANKS = (2, 4, 6, 8)

Decision = Callable[..., Evidence]


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
    parts: list[Decision] = []
    for models in MODELS:
        for n, m in budget([(30, 20)], [(15, 12), (30, 20)]):
            for k in budget((2, 8), RANKS):
                options = {"starts": ("moments",), "heads": HEADS, "epochs": 10}
                found = race(rng, budget(30, 40), models, n, m, k, **options)
                for name in found.methods:
                    pair = found.last(name), found.last("FLUTE")
                    parts.append(
                        partial(
                            ordering, *(pair if ahead == "FedRep" else pair[::-1]), tie=TIE,
                            name=f"{models}, {found.name}: {name}", setting=found.setting(name),
                        )
                    )  # fmt: skip
    return combine(decided(parts))


_EVENTUALLY: dict[str, Any] = {
    "kind": "comparison",
    "latex": r"\mathrm{error}_{\text{FLUTE}}(T) < \mathrm{error}_{\text{FedRep}}(T)",
    "broken": {"first": "FedRep"},
}


@claim(
    "flute.figure1.eventually.own",
    place="Section 7.1; Figure 1",
    plain="Independent normal models: FLUTE ends at a smaller error than FedRep (moments' start, "
    "own step size).",
    **_EVENTUALLY,
)
def eventually_1_own(budget, rng, *, first="FLUTE") -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 1", "own", first)


@claim(
    "flute.figure1.eventually.same",
    place="Section 7.1; Figure 1",
    plain="Independent normal models: FLUTE ends at a smaller error than FedRep (moments' start, "
    "FLUTE's step size).",
    **_EVENTUALLY,
)
def eventually_1_same(budget, rng, *, first="FLUTE") -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 1", "same", first)


@claim(
    "flute.figure3.eventually.own",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum: FLUTE ends at a smaller error than FedRep (moments' start, "
    "own step size).",
    **_EVENTUALLY,
)
def eventually_3_own(budget, rng, *, first="FLUTE") -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 3", "own", first)


@claim(
    "flute.figure3.eventually.same",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum, N = 20, k = 2, 4, 6: FLUTE ends at a smaller error than "
    "FedRep (moments' start, FLUTE's step size).",
    **_EVENTUALLY,
)
def eventually_3_same(budget, rng, *, first="FLUTE") -> Evidence:
    """Compare errors after 800 epochs."""
    return _eventually(budget, rng, "Figure 3", "same", first)


def _eventually(budget, rng, models, step, first):
    """Decide at N = 20, where 800 epochs are enough for k up to 6; ties take many seeds to see."""
    parts: list[Decision] = []
    tables, counts = [], []
    for n in budget((15,), (15, 30)):
        for k in budget((2,), (2, 4, 6)):
            seeds = budget(150, 150 if k == 2 else 40, 400)
            heads = budget(("exact",), HEADS if (n, k) == (30, 2) else ("exact",))
            found = race(
                rng, seeds, models, n, 20, k, starts=("moments",), steps=(step,), heads=heads
            )
            for name in found.methods:
                pair = found.last("FLUTE"), found.last(name)
                parts.append(
                    partial(
                        ordering, *(pair if first == "FLUTE" else pair[::-1]), tie=TIE,
                        name=f"{found.name}: {name}", setting=found.setting(name),
                    )
                )  # fmt: skip
            tables.append(found.curves(models))
            counts.append(f"M = {n}, k = {k}: {found.counts(found.methods[0])}")
    note = "; wins/ties/losses of FLUTE against exact heads: " + ", ".join(counts)
    return noted(combine(decided(parts)), note, tables)


@claim(
    "flute.figure1.eventually.own.corrected",
    place="Section 7.1; Figure 1",
    kind="comparison",
    latex=r"\mathrm{error}_{\text{FLUTE}}(T) \approx \mathrm{error}_{\text{FedRep}}(T)",
    plain="Independent normal models, N = 20, k = 2: FLUTE and FedRep, whose objectives have the "
    "same minima, end at errors within 0.5 % of each other (median).",
    corrects="flute.figure1.eventually.own",
    broken={"same": False},
)
def eventually_1_corrected(budget, rng, *, same=True) -> Evidence:
    """Compare errors and training losses after 800 epochs."""
    return _tied(budget, rng, "Figure 1", same)


@claim(
    "flute.figure3.eventually.own.corrected",
    place="Appendix C.1; Figure 3",
    kind="comparison",
    latex=r"\mathrm{error}_{\text{FLUTE}}(T) \approx \mathrm{error}_{\text{FedRep}}(T)",
    plain="Models of decaying spectrum, N = 20, k = 2: FLUTE and FedRep, whose objectives have the "
    "same minima, end at errors within 0.5 % of each other (median).",
    corrects="flute.figure3.eventually.own",
    broken={"same": False},
)
def eventually_3_corrected(budget, rng, *, same=True) -> Evidence:
    """Compare errors and training losses after 800 epochs."""
    return _tied(budget, rng, "Figure 3", same)


@claim(
    "flute.figure1.eventually.same.corrected",
    place="Section 7.1; Figure 1",
    kind="comparison",
    latex=r"\mathrm{error}_{\text{FLUTE}}(T) \approx \mathrm{error}_{\text{FedRep}}(T)",
    plain="Independent normal models, M = 15, N = 20, k = 2: FLUTE and FedRep (FLUTE's step size) "
    "end at errors within 0.5 % of each other (median).",
    corrects="flute.figure1.eventually.same",
    broken={"same": False},
)
def eventually_1_same_corrected(budget, rng, *, same=True) -> Evidence:
    """Compare errors after 800 epochs."""
    found = race(
        rng, budget(200, 200, 600), "Figure 1", 15, 20, 2, starts=("moments",), steps=("same",)
    )
    (name,) = found.methods
    part = partial(
        ordering, found.last("FLUTE"), found.last(name), tie=TIE, same=same, name=found.name,
        setting=found.setting(name),
    )  # fmt: skip
    return combine(decided([part]))


def _tied(budget, rng, models, same):
    parts: list[Decision] = []
    for n in budget((15,), (15, 30)):
        found = race(
            rng, budget(120, 120, 400), models, n, 20, 2, starts=("moments",), steps=("own",)
        )
        (name,) = found.methods
        for what in ("truth_error", "loss"):
            parts.append(
                partial(
                    ordering, found.last("FLUTE", what), found.last(name, what), tie=TIE, same=same,
                    name=f"{what}, {found.name}", setting=found.setting(name),
                )
            )  # fmt: skip
    return combine(decided(parts))


# How fast.


@claim(
    "flute.figure1.random_start",
    place="Section 7.1; Figure 1",
    kind="comparison",
    latex=r"\min\{t : \mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep(RI)}}(t)\}"
    r"< \min\{t : \mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep}}(t)\}",
    plain="Independent normal models, N = 12: FLUTE gets ahead of FedRep(RI), from FLUTE's own "
    "random start, in fewer epochs than it gets ahead of FedRep.",
    broken={"sooner": "FedRep"},
)
def figure1_random_start(budget, rng, *, sooner="FedRep(RI)") -> Evidence:
    """Compare the first epochs at which FLUTE is ahead; at N = 20 they are told."""
    parts: list[Decision] = []
    tables, told = [], []
    for n, m in budget([(15, 12)], [(15, 12), (30, 20)]):
        for k in budget((6, 8), RANKS):
            seeds = budget(60, {12: 400 if k == 2 else 120, 20: 30}[m], 600)
            found = race(
                rng, seeds, "Figure 1", n, m, k, starts=("moments", "random"), steps=("own",)
            )
            steady, random = found.methods
            pair = found.ahead(random), found.ahead(steady)
            middles = ", ".join(f"{np.median(epochs):.0f}" for epochs in pair)
            told.append(f"{middles} ({found.name})")
            tables.append(found.curves("Figure 1"))
            if m == 12:
                parts.append(
                    partial(
                        ordering, *(pair if sooner == "FedRep(RI)" else pair[::-1]), tie=EPOCH_TIE,
                        name=found.name, setting=found.setting(random),
                    )
                )  # fmt: skip
    note = "; median epochs until ahead of FedRep(RI), of FedRep: " + "; ".join(told)
    return noted(combine(decided(parts)), note, tables)


_SPEED: dict[str, Any] = {
    "place": "Section 7.1; Figure 1",
    "kind": "comparison",
    "latex": r"\mathrm{epochs}_{\text{FLUTE}} < \mathrm{epochs}_{\text{FedRep(RI)}}",
}


@claim(
    "flute.figure1.random_start.speed",
    plain="Independent normal models: FLUTE takes fewer epochs to 1.05 of its last error than "
    "FedRep(RI), own step size, at every k.",
    broken={"ranks": (2,)},
    mended={"ranks": (8,)},
    **_SPEED,
)
def random_start_speed(budget, rng, *, ranks=RANKS) -> Evidence:
    """Compare epochs at M = 30, N = 20."""
    return _speed(budget, rng, {k: "FLUTE" for k in ranks if k in budget((2, 8), RANKS)})


@claim(
    "flute.figure1.random_start.speed.corrected",
    plain="Independent normal models, k = 2: FLUTE takes more epochs to 1.05 of its last error "
    "than FedRep(RI), own step size.",
    corrects="flute.figure1.random_start.speed",
    broken={"faster": "FLUTE"},
    **{**_SPEED, "latex": _SPEED["latex"].replace("<", ">")},
)
def random_start_speed_corrected(budget, rng, *, faster="FedRep(RI)") -> Evidence:
    """Compare epochs at M = 30, N = 20."""
    return _speed(budget, rng, {2: faster})


def _speed(budget, rng, expected):
    parts: list[Decision] = []
    tables, told = [], []
    for k, faster in expected.items():
        found = race(
            rng, budget(60, 150, 400), "Figure 1", 30, 20, k, starts=("random",), steps=("own",)
        )
        (name,) = found.methods
        pair = found.near("FLUTE"), found.near(name)
        parts.append(
            partial(
                ordering, *(pair if faster == "FLUTE" else pair[::-1]), tie=EPOCH_TIE,
                name=found.name, setting=found.setting(name),
            )
        )  # fmt: skip
        told.append(f"{np.median(pair[0]):.0f}, {np.median(pair[1]):.0f} (k = {k})")
        tables.append(found.curves("Figure 1"))
    note = "; median epochs of FLUTE, FedRep(RI): " + "; ".join(told)
    return noted(combine(decided(parts)), note, tables)


_SMALL_K: dict[str, Any] = {
    "kind": "comparison",
    "latex": r"k < k' \implies \frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)} > \frac{\mathrm{epochs}_{\text{FedRep}}(k')}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k')}",
    "broken": {"of": "FLUTE alone"},
    "mended": {"trend": "rises"},
}
_SMALL_K_CORRECTED: dict[str, Any] = {
    **_SMALL_K,
    "latex": _SMALL_K["latex"].replace("> ", "< "),
    "broken": {"trend": "falls", "of": "FLUTE alone"},
    "mended": None,
}


@claim(
    "flute.figure1.small_k",
    place="Section 7.1; Figure 1",
    plain="Independent normal models: the epochs that FedRep takes to 1.05 of its last error, over "
    "FLUTE's, fall as k grows.",
    **_SMALL_K,
)
def figure1_small_k(budget, rng, *, trend="falls", of="FedRep over FLUTE") -> Evidence:
    """Compare the ratios along k, from the moments' start and the random one."""
    return _along_k(budget, rng, "Figure 1", trend, of)


@claim(
    "flute.figure1.small_k.corrected",
    place="Section 7.1; Figure 1",
    plain="Independent normal models: the epochs that FedRep takes to 1.05 of its last error, over "
    "FLUTE's, rise as k grows.",
    corrects="flute.figure1.small_k",
    **_SMALL_K_CORRECTED,
)
def figure1_small_k_corrected(budget, rng, *, trend="rises", of="FedRep over FLUTE") -> Evidence:
    """Compare the ratios along k, from the moments' start and the random one."""
    return _along_k(budget, rng, "Figure 1", trend, of)


@claim(
    "flute.figure3.small_k",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum: the epochs that FedRep takes to 1.05 of its last error, "
    "over FLUTE's, fall as k grows.",
    **_SMALL_K,
)
def figure3_small_k(budget, rng, *, trend="falls", of="FedRep over FLUTE") -> Evidence:
    """Compare the ratios along k, from the moments' start and the random one."""
    return _along_k(budget, rng, "Figure 3", trend, of)


@claim(
    "flute.figure3.small_k.corrected",
    place="Appendix C.1; Figure 3",
    plain="Models of decaying spectrum: the epochs that FedRep takes to 1.05 of its last error, "
    "over FLUTE's, rise as k grows.",
    corrects="flute.figure3.small_k",
    **_SMALL_K_CORRECTED,
)
def figure3_small_k_corrected(budget, rng, *, trend="rises", of="FedRep over FLUTE") -> Evidence:
    """Compare the ratios along k, from the moments' start and the random one."""
    return _along_k(budget, rng, "Figure 3", trend, of)


def _along_k(budget, rng, models, trend, of):
    """Decide at M = 30, N = 20; a k's seeds are of its own, so that rows of the table are not."""
    ranks = budget((2, 4, 8), RANKS)
    starts = budget(("moments",), ("moments", "random"))
    found = [
        race(rng, budget(40, 60, 200), models, 30, 20, k, starts=starts, steps=("own",))
        for k in ranks
    ]
    parts: list[Decision] = []
    rows, told = [], []
    for place, start in enumerate(starts):
        ratios = []
        for races in found:
            own = races.near("FLUTE")
            ratio = races.near(races.methods[place]) / own
            ratios.append(own if of == "FLUTE alone" else ratio)
            line = pd.DataFrame({"y": ratio, "x": races.k, "series": f"{start} start"})
            rows.append(line.assign(panel=models, xlabel="k", ylabel="epochs, FedRep over FLUTE"))
        table = np.column_stack(ratios)
        sign = {"rises": 1.0, "falls": -1.0}[trend]
        parts.append(partial(rising, sign * table, name=f"{start} start", setting={"start": start}))
        middles = ", ".join(f"{middle:.2g}" for middle in np.median(table, axis=0))
        told.append(f"{start} start: {middles}")
    listed = ", ".join(map(str, ranks))
    note = f"; medians at k = {listed}: " + "; ".join(told)
    return noted(combine(decided(parts)), note, [medians(rows)])


@claim(
    "flute.figure3.small_k.end_error",
    place="Section 7.1; Figure 3",
    kind="comparison",
    latex=r"k < k' \implies \frac{\mathrm{error}_{\text{FLUTE}}(k)}{\mathrm{error}_{\text{FedRep}}"
    r"(k)} < \frac{\mathrm{error}_{\text{FLUTE}}(k')}{\mathrm{error}_{\text{FedRep}}(k')}",
    plain="Models of decaying spectrum, M = 30, N = 20, FedRep at FLUTE's step size: FLUTE's last "
    "error over FedRep's grows with k (its gain is more pronounced for small k).",
    broken={"trend": "falls"},
)
def figure3_end_error(budget, rng, *, trend="rises") -> Evidence:
    """Compare the ratios along k, from the moments' start and the random one."""
    sign = {"rises": 1.0, "falls": -1.0}[trend]
    starts = ("moments", "random")
    tables: dict[str, list] = {start: [] for start in starts}
    rows = []
    for k in budget((2, 4, 8), RANKS):
        races = race(
            rng, budget(40, 60, 200), "Figure 3", 30, 20, k, starts=starts, steps=("same",)
        )
        for start, name in zip(starts, races.methods, strict=True):
            ratio = races.last("FLUTE") / races.last(name)
            tables[start].append(ratio)
            line = pd.DataFrame({"y": ratio, "x": k, "series": f"{start} start"})
            rows.append(
                line.assign(panel="Figure 3", xlabel="k", ylabel="last error, FLUTE over FedRep")
            )
    parts = [
        partial(rising, sign * np.column_stack(table), name=f"{start} start", setting={})
        for start, table in tables.items()
    ]
    told = (
        f"{start} start: " + ", ".join(f"{np.median(ratio):.3g}" for ratio in table)
        for start, table in tables.items()
    )
    return noted(combine(decided(parts)), "; medians along k, " + "; ".join(told), [medians(rows)])
