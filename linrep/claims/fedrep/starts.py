"""Appendix A.1: what the start matters to FedRep and to GD-GD."""

from __future__ import annotations

import numpy as np

import linrep as lr
from linrep.claims import Fact, Frequency, Paired, statement
from linrep.claims.fedrep._figures import (
    ROUNDS,
    SAME,
    before,
    draw_problem,
)
from linrep.claims.tables import draw_seeds
from linrep.settings.fedrep import CONVENTIONS, Figure3

FIGURE = Figure3()
#: Runs from other starts than projected gradient: convention, QR, and the scale of a Gaussian B
#: (with QR it does not matter), None for an orthonormal one.
_RUNS = [
    ("text", True, 1.0), ("text", False, None), ("text", False, 0.3), ("text", False, 1.0),
    ("text", False, 3.0), ("published", False, None),
]  # fmt: skip
_QUANTITIES = {"rounds": ROUNDS, "end": "median ratio of last distances"}


@statement(
    "fedrep.init_insensitive.fedrep",
    place="Appendix A.1",
    latex=r"B^t_{\text{Gaussian start}} \text{ and } B^t_{\text{projected-gradient start}}:"
    r"\ \text{same trajectories}",
    plain="Figure 3's setting, n = 100, 1000, the theorem's step size or the notebook's: FedRep "
    "takes as many rounds and ends at the same distance from a random start as from projected "
    "gradient descent.",
    negative_control={"same": False},
    holds_with={"measures": ("end",), "runs": _RUNS[:1]},
)
def starts_fedrep(budget, rng, *, same=True, measures=("rounds", "end"), runs=tuple(_RUNS)):
    """Compare rounds to 0.1 and the distance after 2000 rounds, with QR and without."""
    count = budget(22, 32, 200)
    for n in budget((100,), (100, 1000)):
        for run in budget([run for run in runs if run in (_RUNS[0], _RUNS[-1])], runs):
            found = [_from_starts(n, seed, "FedRep", *run) for seed in draw_seeds(rng, count)]
            for measure in measures:
                yield _same(found, measure, same, n, run)


@statement(
    "fedrep.init_insensitive.fedrep.corrected",
    place="Appendix A.1",
    latex=r"\lim_t \mathrm{dist}(B^t, B^*) \text{ does not depend on the start (with QR)},\quad"
    r"\text{rounds}_{\text{projected gradient}} < \text{rounds}_{\text{Gaussian}}",
    plain="Figure 3's setting: from a random start FedRep takes more rounds in both conventions, "
    "and with QR ends at the same distance.",
    negative_control={"same_end": False},
    corrects="fedrep.init_insensitive.fedrep",
)
def starts_fedrep_corrected(budget, rng, *, same_end=True):
    """Compare rounds to 0.1 and the distance after 2000 rounds."""
    count = budget(22, 40, 200)
    for n in budget((100,), (100, 1000)):
        for run in (_RUNS[0], _RUNS[-1]):
            found = [_from_starts(n, seed, "FedRep", *run) for seed in draw_seeds(rng, count)]
            late, early = ([row["rounds", start] for row in found] for start in (0, 1))
            setting = _setting(n, *run)
            yield before(early, late, name=f"rounds, {_named(n, *run)}", setting=setting)
            if setting["QR"]:
                yield _same(found, "end", same_end, n, run)


def _same(found, measure, same, n, run):
    """Return the comparison of both starts."""
    random, steady = ([row[measure, start] for row in found] for start in (0, 1))
    return Paired(
        random, steady, tie=SAME, same=same, quantity=_QUANTITIES[measure],
        name=f"{measure}, {_named(n, *run)}", setting=_setting(n, *run),
    )  # fmt: skip


@statement(
    "fedrep.init_insensitive.gd_gd",
    place="Appendix A.1",
    latex=r"\text{GD-GD: } \text{rounds}_{\text{projected gradient}} < "
    r"\text{rounds}_{\text{Gaussian}}, \text{ often } \infty",
    plain="Figure 3's setting, n = 100, 1000: GD-GD takes more rounds from a random start in both "
    "conventions, and as published one run in ten or more never gets to 0.1.",
    negative_control={"sensitive": False},
)
def starts_gd_gd(budget, rng, *, sensitive=True, often=0.1):
    """Compare rounds to 0.1 of GD-GD and count runs that do not get there in 2000 rounds."""
    count = budget(22, 60, 200)
    for n in budget((100,), (100, 1000)):
        for run in [("text", True, None), ("text", False, None), ("published", False, None)]:
            runs = [_from_starts(n, seed, "GD-GD", *run) for seed in draw_seeds(rng, count)]
            late, early = ([row["rounds", start] for row in runs] for start in (0, 1))
            name, setting = _named(n, *run), _setting(n, *run)
            pair = (early, late) if sensitive else (late, early)
            yield before(*pair, name=f"rounds, {name}", setting=setting)
            if run[0] == "published":
                yield Frequency(
                    int(np.isfinite(late).sum()), count, 1.0 - often, name=f"arrives, {name}",
                    quantity="share of runs that get to 0.1", setting=setting,
                )  # fmt: skip
            else:
                yield Fact(f"share that never gets to 0.1, {name}", float(np.mean(np.isinf(late))))


def _from_starts(n, seed, method, convention, orthonormal, scale):
    """Return rounds to 0.1 and the last distance from a random start (0) and the usual one (1)."""
    _, data = draw_problem(FIGURE, seed, n=n, **CONVENTIONS[convention])
    B, W = lr.random_start(n, FIGURE.d, FIGURE.k, seed)
    if scale is not None:
        B = scale * np.random.default_rng(seed).standard_normal(B.shape)
    options = {"orthonormal": orthonormal, **FIGURE.options(convention, n, method)}
    found = {}
    for place, start in enumerate(((B, W), lr.projected_gradient_start(data, FIGURE.k))):
        distances = lr.fedrep(data, rounds=2000, start=start, rng=seed, **options)["distance"]
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
