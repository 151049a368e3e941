"""Appendix C.4, Figure 3: federated averaging on five entries a client, with and without Z.

Success is a loss below 1e-3 of the start's. What the paper leaves open is set as in the figure,
``linrep.papers.perfedsi.settings``, and varied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import linrep as lr
from linrep.algorithms import imc
from linrep.claims import Curve, Fact, Frequency, Paired, Readings, statement
from linrep.claims.tables import draw_seeds
from linrep.papers.perfedsi import settings
from linrep.papers.perfedsi.settings import Figure3
from linrep.theory import perfedsi as theory

FIGURE = Figure3()
D, P, K = FIGURE.d, FIGURE.p, FIGURE.k
#: The figure's names of the models.
MODELS = {"Z": "side", "one-hot": "one-hot", "global model": "one model"}
#: Other choices of what is open, the product of step size, local steps and rounds held.
VARIED: tuple[dict[str, Any], ...] = (
    {"step_size": 0.1, "rounds": 60_000},
    {"step_size": 1.0, "rounds": 6_000},
    {"local_steps": 1, "rounds": 100_000},
    {"local_steps": 20, "rounds": 5_000},
    {"participants": 1},
    {"participants": 20},
)
SUCCESS = 1e-3  # of the loss over that of the start
FLOOR = 1e-24  # from which on rounding is seen
RECORDS = 40
RUNS = (
    ("Z", "random"),
    ("Z", "near"),
    ("one-hot", "random"),
    ("one-hot", "near"),
    ("global model", "random"),
)


def instance(seed: int, per_client: int = FIGURE.per_client) -> lr.Observations:
    """Return the entries that Appendix C.4 draws; all 16 of a client are as good as fresh ones."""
    rng = np.random.default_rng(seed)
    return FIGURE.truth(rng).observe(per_client=per_client, rng=rng)


def view(seen: lr.Observations, model: str) -> lr.Observations:
    """Return the entries as a model knows them."""
    return settings.view(seen, MODELS[model])


def losses(seen, model, start, seed, *, records=1, **changes) -> np.ndarray:
    """Return the loss over that of the start, at equally spaced rounds from the start on.

    Near the truth its factors are perturbed; the global model has rank 1 and no truth.
    """
    figure = FIGURE.changed(changes)
    trace = figure.descend(
        seen,
        MODELS[model],
        start,
        near=np.random.default_rng([seed, 1]),
        seed=seed,
        record=figure.rounds // records,
    )
    found = np.full(records + 1, np.inf)  # where it diverged
    found[: len(trace["error"])] = (trace["error"] / trace["error"][0]) ** 2
    return found


def most(successes, name, *, expected=True, setting=None) -> Frequency:
    """Return the part that more than half of the runs succeed, or fail."""
    wins, count = int(np.sum(successes)), len(successes)
    return Frequency(
        count - wins if expected else wins,
        count,
        0.5,
        name=name,
        setting=setting or {},
        quantity="share of runs that fail" if expected else "share of runs that succeed",
    )


@statement(
    "perfedsi.figure3",
    place="Appendix C.4; Figure 3",
    latex=r"\mathcal L(U_T, V_T) < 10^{-3}\,\mathcal L(U_0, V_0) \text{ with } Z,\ \log \mathcal L"
    r"(U_t, V_t) \text{ linear in } t;\quad \mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0)"
    r" \text{ without}",
    plain="d = 16, n = 20, p = 4, k = 2, five fixed entries a client: in most instances federated "
    "averaging converges linearly to the truth with side information, and does not without.",
    negative_control={"per_client": 2},
)
def figure3(budget, rng, *, per_client=FIGURE.per_client):
    """Count successes over instances as C.4 draws them, and look at how the loss falls."""
    rows, paths = [], []
    for seed in draw_seeds(rng, budget(32, 200, 1000)):
        seen = instance(seed, per_client)
        row: dict[Any, Any] = {"least": seen.per_item.min()}
        for run in RUNS:
            path = losses(seen, *run, seed, records=RECORDS)
            row[run] = path[-1] < SUCCESS
            paths.append((run, path))
        rows.append(row)
    table = pd.DataFrame(rows)
    for start in ("random", "near"):
        yield most(table["Z", start], f"with Z, {start}", setting={"start": start, "p": P})
    for start in ("random", "near"):
        yield _straight(paths, start)
    yield Readings(
        [most(table[run], ", ".join(run), expected=False) for run in RUNS[2:]],
        name="without Z",
        phrase="without side information",
    )
    often = table[table["least"] >= K]
    if len(often):
        for model in ("Z", "one-hot"):
            yield Fact(
                f"share of successes, {model}, random start, every item seen {K} times or more",
                often[model, "random"].mean(),
            )
    if budget.name != "quick":
        yield from _varied(rng, budget(0, 40, 100))
    yield Curve(_curves(paths))


def _straight(paths, start) -> Paired:
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
    # Where no run converges a single "never" leaves it undecided, and levels as they are.
    return Paired(
        linear or [np.inf],
        power or [np.inf],
        quantity="median ratio of squared residuals",
        name=f"log L linear in t, {start}",
    )


def _varied(rng, count):
    """Yield the shares of successes that are worst for the claim, over other choices."""
    shares: dict[str, list[float]] = {"Z": [], "one-hot": []}
    for changes in VARIED:
        seeds = draw_seeds(rng, count)
        for model, found in shares.items():
            ends = [losses(instance(seed), model, "random", seed, **changes)[-1] for seed in seeds]
            found.append(float(np.mean(np.array(ends) < SUCCESS)))
    yield Fact("least share of successes with Z over other open choices", min(shares["Z"]))
    yield Fact(
        "largest share of successes without Z over other open choices", max(shares["one-hot"])
    )


def _curves(paths) -> pd.DataFrame:
    """Return the median loss along rounds, for pictures."""
    kept = np.array([1, 2, 5, 10, 20, RECORDS])
    frames = []
    for run in RUNS:
        middle = np.median([path for own, path in paths if own == run], axis=0)[kept]
        frames.append(
            pd.DataFrame(
                {
                    "panel": f"{run[1]} start",
                    "series": run[0],
                    "x": kept * (FIGURE.rounds // RECORDS),
                    "y": np.maximum(middle, FLOOR),
                    "xlabel": "rounds",
                    "ylabel": "median loss over the start's",
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


@statement(
    "perfedsi.figure3.whatsoever",
    place="Appendix C.4; caption of Figure 3",
    latex=r"\mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0) \text{ without } Z, \text{ "
    r"from every start}",
    plain="Without side information (Z = I, Appendix C.4's original problem) federated averaging "
    "fails to converge to the truth whatsoever: in no instance and from no start.",
    negative_control={"per_client": D},
    holds_with={"starts": ("random",), "allowed": 0.5},
)
def whatsoever(
    budget, rng, *, starts=("random", "near"), allowed=0.0, per_client=FIGURE.per_client
):
    """Look for an instance that converges; so many are allowed to."""
    count = budget(60, 200, 1000)
    for start in starts:
        seeds = draw_seeds(rng, count)
        ends = np.array(
            [losses(instance(seed, per_client), "one-hot", start, seed)[-1] for seed in seeds]
        )
        best = int(np.argmin(ends))
        example = {"start": start, "seed": seeds[best], "loss over start's": float(ends[best])}
        yield Frequency(
            int(np.sum(ends < SUCCESS)),
            count,
            allowed,
            quantity="share of runs that converge",
            name=f"{start} start",
            setting=example,
        )


@statement(
    "perfedsi.figure3.whatsoever.corrected",
    place="Appendix C.4; caption of Figure 3",
    latex=r"\mathrm{rank}\,D(U, V \mapsto (UV^\top)_\Omega) = r(d + M - r),\quad "
    r"\mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0) \text{ from random starts}",
    plain="Without side information most random starts do not converge, though in most instances "
    "the entries determine the matrix, Gauss-Newton finds it, and so does federated averaging "
    "from near the truth, or with fresh entries.",
    corrects="perfedsi.figure3.whatsoever",
    negative_control={"per_client": 3},
)
def corrected(budget, rng, *, per_client=FIGURE.per_client):
    """Ask whether information is missing: what the entries determine, and what others find."""
    rows = []
    for seed in draw_seeds(rng, budget(40, 150, 600)):
        seen = instance(seed, per_client)
        one = view(seen, "one-hot")
        rows.append(
            {
                "least": seen.per_item.min(),
                "determined": theory.determines_truth(one),
                "found": _recovers(one),
                "random": losses(seen, "one-hot", "random", seed)[-1] < SUCCESS,
                "near": losses(seen, "one-hot", "near", seed)[-1] < SUCCESS,
                "fresh": losses(instance(seed, D), "one-hot", "random", seed)[-1] < SUCCESS,
            }
        )
    table = pd.DataFrame(rows)
    yield most(table["random"], "random starts fail", expected=False)
    yield most(table["determined"], "the entries determine the matrix")
    yield most(table["found"], "Gauss-Newton finds it")
    yield most(table["near"], "federated averaging from near the truth")
    yield most(table["fresh"], "federated averaging with fresh entries")
    rare = table[table["least"] < K]
    if len(rare):
        yield Fact(
            f"share determined where an item was seen less than {K} times",
            rare["determined"].mean(),
        )


def _recovers(seen) -> bool:
    """Return whether Gauss-Newton ends at a relative error below 1e-3."""
    with np.errstate(all="ignore"):  # it may diverge
        return bool(imc.gauss_newton(seen, K)["error"][-1] < 1e-3)
