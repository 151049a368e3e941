"""Appendix A.1: what the start matters to FedRep and to GD-GD."""

import numpy as np

import linrep as lr
from linrep.claims import Fact, Frequency, Missing, Paired, Readings, Together, statement
from linrep.claims.tables import draw_seeds
from linrep.papers.fedrep.settings import CONVENTIONS, Figure3, draw_problem
from linrep.papers.fedrep.trajectories import arrival
from linrep.problems.subspace import distance

FIGURE = Figure3()
ROUNDS = "median ratio of rounds"
#: Where the claim is that two are the same, they may differ by this much.
SAME = 0.1
#: Runs after which distances no longer change; a lone pair of clients a round takes longest.
_LONGEST = {20: 3000, 100: 1500, 1000: 1500}
#: Seeds of the standard budget: most where the ratio of rounds is nearest to the limit of ties.
_COUNTS = {20: 1500, 100: 200, 1000: 30}
_READINGS = ("rounds from the start", "rounds from the same distance on")
_QUANTITIES = dict.fromkeys(_READINGS, ROUNDS) | {"end": "median ratio of last distances"}


@statement(
    "fedrep.init_insensitive.fedrep",
    place="Appendix A.1",
    latex=r"B^t_{\text{Gaussian start}} \text{ and } B^t_{\text{projected-gradient start}}:"
    r"\ \text{same trajectories}",
    plain="Figure 3's setting, Algorithm 2: from a Gaussian start FedRep takes as many rounds "
    "(within 10 %) as from projected gradient descent, counted from the start or from the same "
    "distance on.",
    negative_control={"same": False},
    holds_with={"readings": ("end",)},
)
def starts_fedrep(budget, rng, *, same=True, readings=_READINGS):
    """Count rounds until the distance is halfway to where the projected-gradient run ends.

    Halfway on a logarithmic scale, so that no start is there from the beginning. In the second
    reading the Gaussian run is counted from the round in which it is as near as the other starts.
    As facts, of the late phase as well, from halfway to three quarters of the way.
    """
    counts = {n: budget(22, _COUNTS[n]) for n in budget((100,), (20, 100, 1000))}
    found = {
        n: [_from_starts(n, seed, "FedRep") for seed in draw_seeds(rng, count)]
        for n, count in counts.items()
    }
    yield Readings(
        [
            Together([_compared(rows, reading, same, n) for n, rows in found.items()], name=reading)
            for reading in readings
        ],
        name="same trajectories",
        phrase="the same convergence trajectories",
    )
    yield from _facts(found)


def _compared(rows, measure, same, n):
    """Return the comparison of both starts."""
    gaussian, steady = np.array([row[measure] for row in rows]).T
    known = ~np.isnan(gaussian + steady)
    return Paired(
        gaussian[known],
        steady[known],
        tie=SAME,
        same=same,
        quantity=_QUANTITIES[measure],
        name=f"{measure}, n = {n}",
        setting={"n": n, "QR": True},
    )


def _facts(found):
    """Yield medians: where both start, and how the ratio of rounds depends on what is counted."""
    for n, rows in found.items():
        medians = np.median([row["starts"] for row in rows], axis=0)
        for start, middle in zip(("Gaussian", "projected-gradient"), medians, strict=True):
            yield Fact(f"median distance of the {start} start", float(middle), setting={"n": n})
        for reading in (*_READINGS, "late phase"):
            pairs = np.array([row[reading] for row in rows])
            pairs = pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 1] > 0.0)]
            if len(pairs):
                ratio = float(np.median(pairs[:, 0] / pairs[:, 1]))
                name = f"median ratio of rounds, Gaussian over projected gradient, {reading}"
                yield Fact(name, ratio, setting={"n": n})


@statement(
    "fedrep.init_insensitive.fedrep.corrected",
    place="Appendix A.1",
    latex=r"\mathrm{median}\ \frac{\mathrm{dist}(B^T_G, B^*)}{\mathrm{dist}(B^T_P, B^*)} \in"
    r"[0.9, 1.1], \qquad \mathrm{median}\ \frac{\tau_P}{\tau_G} < 1, \qquad"
    r"\tau = \min\{t: \mathrm{dist}^2(B^t, B^*) \le \mathrm{dist}(B^0_P, B^*)\,"
    r"\mathrm{dist}(B^T_P, B^*)\}",
    plain="Figure 3's setting, Algorithm 2, n = 100, 1000, T = 1500, the same data and "
    "participants from a Gaussian start G and from projected gradient descent P: G takes more "
    "rounds to halfway between P's ends, and ends within 10 % of its distance, in the median.",
    negative_control={"same_end": False},
    corrects="fedrep.init_insensitive.fedrep",
)
def starts_fedrep_corrected(budget, rng, *, same_end=True):
    """Compare rounds and the last distance; that of the first start by its own step size."""
    for n in budget((100,), (100, 1000)):
        seeds = draw_seeds(rng, budget(22, 40, 200))
        rows = [_from_starts(n, seed, "FedRep") for seed in seeds]
        gaussian, steady = np.array([row[_READINGS[0]] for row in rows]).T
        yield before(steady, gaussian, name=f"rounds, n = {n}", setting={"n": n, "QR": True})
        yield _compared(rows, "end", same_end, n)
        for share in (1.0, 0.3, 0.1):
            starts = [_start_at(n, seed, share) for seed in seeds[: budget(5, 12)]]
            name = f"distance of the projected-gradient start, step {share:g}/L"
            yield Fact(name, float(np.median(starts)), setting={"n": n})


@statement(
    "fedrep.init_insensitive.gd_gd",
    place="Appendix A.1",
    latex=r"\text{GD-GD: } \text{rounds}_{\text{projected gradient}} < "
    r"\text{rounds}_{\text{Gaussian}}, \text{ often } \infty",
    plain="Figure 3's setting, n = 100, 1000: GD-GD takes more rounds from a random start in both "
    "conventions, and as published runs often do not get to 0.1 in 2000 rounds.",
    negative_control={"sensitive": False},
)
def starts_gd_gd(budget, rng, *, sensitive=True, often=0.1):
    """Compare rounds of GD-GD and count runs that do not get to 0.1 in 2000 rounds."""
    count = budget(22, 60, 200)
    for n in budget((100,), (100, 1000)):
        for convention, orthonormal in [("text", True), ("text", False), ("published", False)]:
            runs = [
                _from_starts(n, seed, "GD-GD", convention, orthonormal, scale=None)
                for seed in draw_seeds(rng, count)
            ]
            late, early = np.array([row[_READINGS[0]] for row in runs]).T
            setting = {"n": n, "convention": convention, "QR": orthonormal}
            where = f"{convention}, {'QR' if orthonormal else 'no QR'}, n = {n}"
            pair = (early, late) if sensitive else (late, early)
            yield before(*pair, name=f"rounds, {where}", setting=setting)
            if convention == "published":
                arrived = sum(row["nearest"] <= 0.1 for row in runs)
                name, quantity = f"arrives, {where}", "share of runs that get to 0.1"
                yield Frequency(
                    int(arrived), count, 1.0 - often, name=name, quantity=quantity, setting=setting
                )


def before(early, late, *, name, setting):
    """Return the comparison of rounds of two runs; pairs of which neither ends drop out."""
    early, late = np.asarray(early, dtype=float), np.asarray(late, dtype=float)
    known = (np.isfinite(early) | np.isfinite(late)) & ~np.isnan(early + late)
    if not known.any():
        return Missing("neither gets there in any run", "more rounds", name=name, setting=setting)
    # However small an advantage, it is one: only equal rounds tie.
    return Paired(early[known], late[known], tie=0.0, quantity=ROUNDS, name=name, setting=setting)


def _from_starts(n, seed, method, convention="text", orthonormal=True, scale=1.0):
    """Return pairs, of a random start and of projected gradient descent: rounds and distances.

    The random B is Gaussian times `scale`, or orthonormal for None. Rounds are NaN where the
    projected-gradient run ends no nearer than it starts.
    """
    _, data = draw_problem(FIGURE, seed, n=n, **CONVENTIONS[convention])
    B, W = lr.random_start(n, FIGURE.d, FIGURE.k, seed)
    if scale is not None:
        B = scale * np.random.default_rng(seed).standard_normal(B.shape)
    options = {"orthonormal": orthonormal, **FIGURE.options(convention, n, method)}
    gaussian, steady = (
        lr.fedrep(data, rounds=_LONGEST[n], start=start, rng=seed, **options)["distance"]
        for start in ((B, W), lr.projected_gradient_start(data, FIGURE.k))
    )
    first, last = steady[0], steady[-1]
    goal = np.sqrt(first * last) if last < first else np.nan
    late, early = arrival(gaussian, goal), arrival(steady, goal)
    further = np.sqrt(goal * last)
    phases = arrival(gaussian, further) - late, arrival(steady, further) - early
    return {
        "rounds from the start": (late, early),
        "rounds from the same distance on": (late - min(late, arrival(gaussian, first)), early),
        "late phase": phases,
        "starts": (gaussian[0], first),
        "end": (gaussian[-1], last),
        "nearest": gaussian.min(),
    }


def _start_at(n, seed, share):
    """Return the distance of the start after ten rounds with a share of the longest safe step."""
    truth, data = draw_problem(FIGURE, seed, n=n, **CONVENTIONS["text"])
    X = data.X.reshape(n, -1, FIGURE.d)
    largest = np.linalg.norm(X, 2, axis=(1, 2)).max() ** 2 / X.shape[1]
    B, _ = lr.projected_gradient_start(data, FIGURE.k, step_size=share / largest)
    return distance(B, truth.B)
