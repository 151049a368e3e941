"""Appendix C.4, Figure 3: federated averaging on five entries a client, with and without Z.

Success is a loss below 1e-3 of the start's. What the paper leaves open is set to step size 0.3,
5 local steps, 4 participants and 20000 rounds, and varied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms import imc
from linrep.claims import LEVEL, UNDECIDED, Evidence, claim, combine, frequency, ordering
from linrep.claims._parts import best_reading, draw_seeds
from linrep.stats import proportion_interval
from linrep.theory import perfedsi as theory

N, D, P, K, PER_CLIENT = 20, 16, 4, 2, 5
SETTING: dict[str, Any] = {
    "step_size": 0.3, "local_steps": 5, "participants": 4, "rounds": 20_000,
}  # fmt: skip
#: Other choices of what is open, the product of step size, local steps and rounds held.
VARIED: tuple[dict[str, Any], ...] = (
    {"step_size": 0.1, "rounds": 60_000}, {"step_size": 1.0, "rounds": 6_000},
    {"local_steps": 1, "rounds": 100_000}, {"local_steps": 20, "rounds": 5_000},
    {"participants": 1}, {"participants": 20},
)  # fmt: skip
RANDOM, NEAR = 0.3, 0.03  # deviations of a random start's entries, and around the truth's factors
SUCCESS = 1e-3  # of the loss over that of the start
FLOOR = 1e-24  # from which on rounding is seen
RECORDS = 40
RUNS = (("Z", "random"), ("Z", "near"), ("one-hot", "random"), ("one-hot", "near"),
        ("one model", "random"))  # fmt: skip

Decision = Callable[..., Evidence]


def instance(seed: int, per_client: int = PER_CLIENT) -> lr.Observations:
    """Return the entries that Appendix C.4 draws; all 16 of a client are as good as fresh ones."""
    rng = np.random.default_rng(seed)
    truth = lr.SideInformationCompletion.random(n=N, d=D, p=P, k=K, side="unit", rng=rng)
    return truth.observe(per_client=per_client, rng=rng)


def view(seen: lr.Observations, model: str) -> lr.Observations:
    """Return the entries as a model knows them: with Z, a basis vector per client, or a one."""
    if model == "one-hot":
        return seen.without_side_information()
    return seen if model == "Z" else replace(seen, Z=np.ones((seen.n, 1)))


def losses(seen, model, start, seed, *, records=1, **changes) -> np.ndarray:
    """Return the loss over that of the start, at equally spaced rounds from the start on.

    Near the truth its factors are perturbed; the one model for all has rank 1 and no truth.
    """
    rng = np.random.default_rng([seed, 1])
    settings = {**SETTING, **changes}
    truth = seen.truth.without_side_information() if model == "one-hot" else seen.truth
    trace = lr.perfedsi(
        view(seen, model), k=1 if model == "one model" else K,
        start="random" if start == "random" else tuple(
            F + NEAR * rng.standard_normal(F.shape) for F in (truth.U, truth.V)
        ),
        scale=RANDOM, record=settings["rounds"] // records, rng=seed, **settings,
    )  # fmt: skip
    found = np.full(records + 1, np.inf)  # where it diverged
    found[: len(trace["error"])] = (trace["error"] / trace["error"][0]) ** 2
    return found


def share(successes) -> str:
    """Return counts of successes with the exact 95 % interval, in words."""
    wins, count = int(np.sum(successes)), len(successes)
    if count == 0:
        return "none drawn"
    _, low, high = proportion_interval(wins, count)
    return f"{wins} of {count} [{low:.0%}, {high:.0%}]"


def most(successes, name, *, expected=True, setting=None) -> Decision:
    """Return the part that more than half of the runs succeed, or fail."""
    wins, count = int(np.sum(successes)), len(successes)
    return partial(
        frequency, count - wins if expected else wins, count, 0.5, name=name, setting=setting
    )


@claim(
    "perfedsi.figure3",
    place="Appendix C.4; Figure 3",
    kind="comparison",
    latex=r"\mathcal L(U_T, V_T) < 10^{-3}\,\mathcal L(U_0, V_0) \text{ with } Z,\ \log \mathcal L"
    r"(U_t, V_t) \text{ linear in } t;\quad \mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0)"
    r" \text{ without}",
    plain="d = 16, n = 20, p = 4, k = 2, five fixed entries a client: in most instances federated "
    "averaging converges linearly to the truth with side information, and does not without.",
    broken={"per_client": 2},
)
def figure3(budget, rng, *, per_client=PER_CLIENT) -> Evidence:
    """Count successes over instances as C.4 draws them; those of each stratum are told."""
    rows, paths = [], []
    for seed in draw_seeds(rng, budget(32, 200, 1000)):
        seen = instance(seed, per_client)
        assert seen.truth is not None
        row: dict[Any, Any] = {
            "least": seen.per_item.min(),
            "c_z": theory.scaling(seen.truth.Z).c_z,
        }
        for run in RUNS:
            path = losses(seen, *run, seed, records=RECORDS)
            row[run] = path[-1] < SUCCESS
            paths.append((run, path))
        rows.append(row)
    table = pd.DataFrame(rows)
    with_side: list[Decision] = [
        most(table["Z", start], f"with Z, {start}", setting={"start": start, "p": P})
        for start in ("random", "near")
    ]
    without = [most(table[run], f"without: {run[0]}, {run[1]}", expected=False) for run in RUNS[2:]]
    straight: list[Decision] = [partial(_straight, paths, start) for start in ("random", "near")]
    level = LEVEL / (len(with_side) + len(without) + len(straight))
    vanilla = best_reading([part(level=level) for part in without])
    parts = [part(level=level) for part in (*with_side, *straight)]
    found = combine([*parts, replace(vanilla, parts=(), name="without")])
    told = ", ".join(f"{part.name} {part.verdict}" for part in vanilla.parts)
    return replace(
        found,
        sentence=f"{found.sentence}; readings {told}. Successes: {_strata(table)}. c_z is "
        f"{table['c_z'].median():.3g} (median), up to {table['c_z'].max():.3g}"
        + _varied(rng, budget(0, 40, 100)),
        points=_curves(paths),
    )


def _strata(table) -> str:
    """Tell the successes of every kind of run by how often the rarest item was seen."""
    told = []
    for name, own in (
        (f"every item seen {K} times or more", table[table["least"] >= K]),
        (f"one seen less than {K} times", table[table["least"] < K]),
    ):
        counts = ", ".join(f"{model} {start} {share(own[model, start])}" for model, start in RUNS)
        told.append(f"{name}: {counts}")
    return "; ".join(told)


def _straight(paths, start, *, level) -> Evidence:
    """Compare how well the loss's logarithm is linear in rounds, and in their logarithm."""
    linear: list[float] = []
    power: list[float] = []
    for run, path in paths:
        kept = np.flatnonzero(path > FLOOR)[1:]
        if run != ("Z", start) or not path[-1] < SUCCESS or len(kept) < 5:
            continue
        logs = np.log(path[kept])
        for found, x in ((linear, kept), (power, np.log(kept))):
            found.append(float(np.sum((logs - np.polyval(np.polyfit(x, logs, 1), x)) ** 2)))
    name = f"log L linear in t, {start}"
    if not linear:
        return Evidence(UNDECIDED, "no run converges", needed="more runs", name=name, level=level)
    return ordering(linear, power, name=name, level=level)


def _varied(rng, count) -> str:
    """Tell the successes under other choices of what is open."""
    if not count:
        return ""
    told = []
    for changes in VARIED:
        seeds = draw_seeds(rng, count)
        counts = [
            share([losses(instance(seed), model, "random", seed, **changes)[-1] < SUCCESS
                   for seed in seeds])
            for model in ("Z", "one-hot")
        ]  # fmt: skip
        choice = ", ".join(f"{name} {value:g}" for name, value in changes.items())
        told.append(f"{choice}: Z {counts[0]}, one-hot {counts[1]}")
    return ". From random starts with " + "; ".join(told)


def _curves(paths) -> pd.DataFrame:
    """Return the median loss along rounds, for pictures."""
    kept = np.array([1, 2, 5, 10, 20, RECORDS])
    frames = []
    for run in RUNS:
        middle = np.median([path for own, path in paths if own == run], axis=0)[kept]
        frames.append(
            pd.DataFrame(
                {"panel": f"{run[1]} start", "series": run[0],
                 "x": kept * (SETTING["rounds"] // RECORDS),
                 "y": np.maximum(middle, FLOOR), "xlabel": "rounds",
                 "ylabel": "median loss over the start's"}
            )
        )  # fmt: skip
    return pd.concat(frames, ignore_index=True)


@claim(
    "perfedsi.figure3.whatsoever",
    place="Appendix C.4; caption of Figure 3",
    kind="comparison",
    latex=r"\mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0) \text{ without } Z, \text{ "
    r"from every start}",
    plain="Without side information (Z = I, Appendix C.4's original problem) federated averaging "
    "fails to converge to the truth whatsoever: in no instance and from no start.",
    broken={"per_client": D},
    mended={"starts": ("random",), "allowed": 0.5},
)
def whatsoever(
    budget, rng, *, starts=("random", "near"), allowed=0.0, per_client=PER_CLIENT
) -> Evidence:
    """Look for an instance that converges; mended: at most half do, from random starts."""
    count = budget(60, 200, 1000)
    parts, told = [], []
    for start in starts:
        seeds = draw_seeds(rng, count)
        ends = np.array(
            [losses(instance(seed, per_client), "one-hot", start, seed)[-1] for seed in seeds]
        )
        best = int(np.argmin(ends))
        example = {"start": start, "seed": seeds[best], "loss over start's": float(ends[best])}
        parts.append(
            frequency(
                int(np.sum(ends < SUCCESS)), count, allowed, name=f"{start} start",
                setting=example, level=LEVEL / len(starts),
            )
        )  # fmt: skip
        told.append(f"{share(ends < SUCCESS)} from {start} starts")
    found = combine(parts)
    return replace(found, sentence=f"{found.sentence}; converging: {', '.join(told)}")


@claim(
    "perfedsi.figure3.whatsoever.corrected",
    place="Appendix C.4; caption of Figure 3",
    kind="comparison",
    latex=r"\mathrm{rank}\,D(U, V \mapsto (UV^\top)_\Omega) = r(d + M - r),\quad "
    r"\mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0) \text{ from random starts}",
    plain="Without side information most random starts do not converge, though in most instances "
    "the entries determine the matrix, Gauss-Newton finds it, and so does federated averaging "
    "from near the truth, or with fresh entries.",
    corrects="perfedsi.figure3.whatsoever",
    broken={"per_client": 3},
)
def corrected(budget, rng, *, per_client=PER_CLIENT) -> Evidence:
    """Ask whether information is missing: what the entries determine, and what others find."""
    rows = []
    for seed in draw_seeds(rng, budget(40, 150, 600)):
        seen = instance(seed, per_client)
        one = view(seen, "one-hot")
        rows.append(
            {
                "least": seen.per_item.min(),
                "determined": theory.determines_truth(one),
                "found": _recovers(imc.gauss_newton, one),
                "random": losses(seen, "one-hot", "random", seed)[-1] < SUCCESS,
                "near": losses(seen, "one-hot", "near", seed)[-1] < SUCCESS,
                "fresh": losses(instance(seed, D), "one-hot", "random", seed)[-1] < SUCCESS,
            }
        )
    table = pd.DataFrame(rows)
    parts = [
        most(table["random"], "random starts fail", expected=False),
        most(table["determined"], "the entries determine the matrix"),
        most(table["found"], "Gauss-Newton finds it"),
        most(table["near"], "federated averaging from near the truth"),
        most(table["fresh"], "federated averaging with fresh entries"),
    ]
    found = combine(part(level=LEVEL / len(parts)) for part in parts)
    shares = ", ".join(f"{name} {share(table[name])}" for name in list(table)[1:])
    rare = table[table["least"] < K]
    return replace(
        found,
        sentence=f"{found.sentence}. {shares}; determined where an item was seen less than {K} "
        f"times: {share(rare['determined'])}{_comparators(rng, budget)}",
    )


#: Solvers with their settings in standard budget and, in thorough, the Comparators table's.
SOLVERS: dict[str, tuple[Callable[..., lr.Trace], dict[str, Any], dict[str, Any]]] = {
    "Gauss-Newton": (imc.gauss_newton, {}, {}),
    "alternating minimization": (imc.alternating, {"iterations": 300}, {"iterations": 1000}),
    "balanced gradient descent": (
        imc.balanced_gradient, {"iterations": 800, "tolerance": 1e-5},
        {"iterations": 10_000, "step_size": 0.05},
    ),
    "nuclear norm": (imc.nuclear_norm, {"iterations": 600, "smallest": 1e-5, "levels": 6}, {}),
    "least squares on the core": (imc.least_squares, {}, {}),
}  # fmt: skip


def _comparators(rng, budget) -> str:
    """Tell how often each solver finds the matrix from the same entries, with Z and without."""
    seeds = draw_seeds(rng, budget(0, 30, 100))
    if not seeds:
        return ""
    instances = [instance(seed) for seed in seeds]
    told = []
    for name, (solver, *settings) in SOLVERS.items():
        options = budget({}, *settings)
        counts = [
            share([_recovers(solver, view(seen, model), **options) for seen in instances])
            for model in ("Z", "one-hot")
        ]
        told.append(f"{name} {counts[0]} with Z and {counts[1]} without")
    return ". Relative error below 1e-3: " + "; ".join(told)


def _recovers(solver, seen, **options) -> bool:
    """Tell whether a solver ends at a relative error below 1e-3."""
    rank = () if solver in (imc.nuclear_norm, imc.least_squares) else (K,)
    with np.errstate(all="ignore"):  # it may diverge
        return bool(solver(seen, *rank, **options)["error"][-1] < 1e-3)
