"""Appendix C.4, Figure 3: federated averaging on five entries a client, with and without Z.

The paper states no step size, local steps, participants, start or number of rounds: they are open,
around those of linrep's figure, ``linrep.papers.perfedsi.settings``, the only source of lengths.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import linrep as lr
from linrep.algorithms import imc
from linrep.claims import Cases, Frequency, Multiverse, Together, statement
from linrep.claims.multiverse import lengths
from linrep.claims.tables import draw_seeds
from linrep.papers.perfedsi.settings import STARTS, Figure3, view
from linrep.theory import perfedsi as theory

FIGURE = Figure3()
D = FIGURE.d
OPEN = "step, local steps, participants"
#: Of the first two the product with the rounds is held. Appendix D has a fifth of the clients, 4;
#: all 20, and smaller steps, are left out for what they cost.
CHOICES: dict[str, dict[str, Any]] = {
    "0.3, 5, 4": {"rounds": 40_000},
    "1, 5, 4": {"step_size": 1.0, "rounds": 12_000},
    "0.3, 1, 4": {"local_steps": 1, "rounds": 200_000},
    "0.3, 20, 4": {"local_steps": 20, "rounds": 10_000},
    "0.3, 5, 1": {"participants": 1, "rounds": 40_000},
}
LENGTHS = lengths(FIGURE.rounds)
RECORDS = 80
AXES: dict[str, Any] = {
    "loss": {"1e-2": 1e-2, "1e-3": 1e-3, "1e-6": 1e-6},  # over that of the start
    "how often": {"more than half": 0.5, "90 %": 0.1, "every instance": 0.0},  # may be otherwise
    # Places in records, of other choices in proportion.
    "rounds": {str(T): T * RECORDS // LENGTHS[-1] for T in LENGTHS},
    "start": tuple(STARTS),
}
ABOUT = {
    "loss": "below which share of the loss of the start a run is said to converge",
    "how often": "of how many instances it has to be true",
    "rounds": "how long runs are: 20,000 in linrep's figure, the paper names no number",
    "start": "entries of deviation 0.3, or the truth's factors with errors of deviation 0.03",
    OPEN: "of federated averaging, none of which the paper states",
    "without": "without Z: a row of V for each client, or one vector of ratings for all",
}
WITHOUT = ("one-hot", "one model")
FLOOR = 1e-24  # from which on rounding is seen


def instance(seed: int, per_client: int = FIGURE.per_client) -> lr.Observations:
    """Return the entries that Appendix C.4 draws; all 16 of a client are as good as fresh ones."""
    rng = np.random.default_rng(seed)
    return FIGURE.truth(rng).observe(per_client=per_client, rng=rng)


def losses(seen, model, start, seed, *, records=RECORDS, **changes) -> np.ndarray:
    """Return the loss over that of the start, at equally spaced rounds from the start on."""
    figure = FIGURE.changed(changes)
    near, record = np.random.default_rng([seed, 1]), figure.rounds // records
    trace = figure.descend(seen, model, start, near=near, seed=seed, record=record)
    found = np.full(records + 1, np.inf)  # where it diverged
    found[: len(trace["error"])] = (trace["error"] / trace["error"][0]) ** 2
    return found


def straight(path: np.ndarray) -> bool:
    """Tell whether the loss's logarithm is more linear in rounds than in their logarithm."""
    kept = np.flatnonzero((path > FLOOR) & np.isfinite(path))[1:]
    if len(kept) < 5:
        return True
    to_rounds, to_logarithm = np.corrcoef([np.log(path[kept]), kept, np.log(kept)])[0, 1:]
    return bool(to_rounds < 0.0 and abs(to_rounds) > abs(to_logarithm))


def _measure(budget, rng, count, models, per_client):
    """Run instances from both starts; return the axes, and paths by choice, model and start.

    Of a global model there is no truth to start near: its runs are those from random starts.
    """
    choices = list(CHOICES) if budget.name != "quick" else list(CHOICES)[:1]
    seeds = draw_seeds(rng, count)
    runs = [(instance(seed, per_client), seed) for seed in seeds]
    paths: dict[tuple[str, ...], np.ndarray] = {}
    for run in product(choices, models, STARTS):
        choice, model, start = run
        if (model, start) == ("one model", "near"):
            paths[run] = paths[choice, model, "random"]
        else:
            rows = [losses(seen, model, start, seed, **CHOICES[choice]) for seen, seed in runs]
            paths[run] = np.array(rows)
    return AXES | {OPEN: choices}, paths


def rare(events, at_most=0.5, name="", what="converge") -> Cases | Frequency:
    """Return the measurement that few runs do something, or that none of those looked at does."""
    violations, count = int(np.sum(events)), len(events)
    if not at_most:
        case = (violations, 0, {"runs": count})
        return Cases([case], name=name, quantity=f"runs that {what}")
    quantity = f"share of runs that {what}"
    return Frequency(violations, count, at_most, name=name, quantity=quantity)


@statement(
    "perfedsi.figure3",
    place="Appendix C.4; Figure 3",
    latex=r"\mathcal L(U_T, V_T) \ll \mathcal L(U_0, V_0) \text{ with } Z,\ \log \mathcal L"
    r"(U_t, V_t) \text{ linear in } t;\quad \mathcal L(U_T, V_T) \not\ll \mathcal L(U_0, V_0)"
    r" \text{ without}",
    plain="Federated averaging on five fixed entries a client (d = 16, n = 20, p = 4, k = 2) "
    "converges linearly to the truth with side information, and does not without.",
    negative_control={"per_client": 2},
)
def figure3(budget, rng, *, per_client=FIGURE.per_client):
    """Count instances that converge, with Z linearly: log L more so in rounds than in their log."""
    axes, paths = _measure(budget, rng, budget(24, 80), ("side", *WITHOUT), per_client)
    lines = {
        (choice, start, end): np.array([straight(path[: end + 1]) for path in own])
        for (choice, model, start), own in paths.items()
        for end in AXES["rounds"].values()
        if model == "side"
    }

    def rates(loss, how_often, rounds, start, convergence, without, **choice):
        (choice,) = choice.values()
        good = paths[choice, "side", start][:, rounds] < loss
        if convergence == "linear":
            good &= lines[choice, start, rounds]
        other = paths[choice, without, start][:, rounds] < loss
        return Together(
            [rare(~good, how_often, "with Z", "do not"), rare(other, how_often, "without Z")]
        )

    yield Multiverse.of(
        rates,
        {**axes, "convergence": ("linear", "of any rate"), "without": WITHOUT},
        phrase="leads to linear convergence to the ground-truth solution, while solving the "
        "original problem (vanilla FedAvg) does not lead to convergence to the ground-truth",
        excluded={"convergence": {"of any rate": "linear convergence"}},
        about=ABOUT | {"convergence": "with Z: with a straight curve of log loss, or in the end"},
    )


@statement(
    "perfedsi.figure3.whatsoever",
    place="Appendix C.4; caption of Figure 3",
    latex=r"\mathcal L(U_T, V_T) \not\ll \mathcal L(U_0, V_0) \text{ without } Z",
    plain="Not using the side information, federated averaging fails to converge to the truth "
    "whatsoever.",
    negative_control={"models": ("side",), "per_client": D},
)
def whatsoever(budget, rng, *, models=WITHOUT, per_client=FIGURE.per_client):
    """Count instances that converge, or get anywhere: to a quarter of the loss of the start."""
    axes, paths = _measure(budget, rng, budget(32, 150), models, per_client)

    def rate(loss, how_often, rounds, start, without, **choice):
        (choice,) = choice.values()
        return rare(paths[choice, without, start][:, rounds] < loss, how_often)

    yield Multiverse.of(
        rate,
        {**axes, "loss": {"0.25": 0.25, **axes["loss"]}, "without": models},
        phrase="fails to converge to the ground-truth solution whatsoever",
        excluded={"how often": dict.fromkeys(("more than half", "90 %"), "whatsoever")},
        about=ABOUT,
    )


@statement(
    "perfedsi.figure3.whatsoever.corrected",
    place="Appendix C.4; caption of Figure 3",
    latex=r"\mathrm{rank}\,D(U, V \mapsto (UV^\top)_\Omega) = r(d + M - r),\quad "
    r"\mathcal L(U_T, V_T) \ge 10^{-3}\,\mathcal L(U_0, V_0) \text{ from random starts}",
    plain="Without side information, at step 0.3, five local steps and four participants, "
    "most instances are above 1e-3 of the start's loss after 20,000 rounds from random starts, "
    "though in most the entries determine the matrix, Gauss-Newton finds it, and so does federated "
    "averaging from near the truth, or with fresh entries.",
    corrects="perfedsi.figure3.whatsoever",
    negative_control={"per_client": 3},
)
def corrected(budget, rng, *, per_client=FIGURE.per_client):
    """Ask whether information is missing: what the entries determine, and what others find."""
    rows = []
    for seed in draw_seeds(rng, budget(40, 150, 600)):
        seen, fresh = instance(seed, per_client), instance(seed, D)
        one = view(seen, "one-hot")
        with np.errstate(all="ignore"):  # it may diverge
            found = imc.gauss_newton(one, FIGURE.k)["error"][-1]
        ends = [
            losses(each, "one-hot", start, seed)[-1]
            for each, start in ((seen, "random"), (seen, "near"), (fresh, "random"))
        ]
        rows.append([theory.determines_truth(one), found < 1e-3, *np.less(ends, 1e-3)])
    determined, found, random, near, fresh = np.array(rows).T
    yield rare(random, name="random starts fail")
    yield rare(~determined, name="the entries determine the matrix", what="they do not determine")
    yield rare(~found, name="Gauss-Newton finds it", what="it does not find")
    yield rare(~near, name="federated averaging from near the truth", what="do not converge")
    yield rare(~fresh, name="federated averaging with fresh entries", what="do not converge")
