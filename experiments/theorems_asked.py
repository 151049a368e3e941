"""What the papers' theorems ask for beside what is needed, at the sizes of the papers' own figures.

Sizes are those of the figures; the problems satisfy the theorems' hypotheses: heads of FedRep as in
Assumption 3, no noise and a new batch every round; the models, the noise and the step of FLUTE's
Figure 3; the matrix and the near start of PerFedSI's Figure 3, with the constants of Definition 3.1
and Assumption 3.2 that this start itself has, which runs can only exceed; the planar example of
pFL^MF, with an L that is valid on balls that no run leaves. What is needed is found for each draw:
the least number of samples and the largest step by bisection, rounds by counting.

- FedRep: the least m with which 30 rounds keep what (11) promises, or end nearer than they began,
  which is what the theorem at finite sizes promises; the largest step with which the
  distance reaches the goal, the rounds to the goal with samples without end, the least total of all
  m, and the least m with which the moments start is near.
- FLUTE: the least N with which the mean error per client is at most the goal after the figure's
  epochs, and the largest step with which it is on infinitely many samples.
- PerFedSI: the largest step with which the loss falls to the goal's share in the figure's rounds,
  and the rounds at the figure's step; predicted are, near the truth, the largest step with which
  the mean square contracts, and its rounds.
- pFL^MF: the rounds until the mean squared gradients are the goal's share of L times the gap; for
  the sharp form of Theorem 1 until they are with the one in V times p^2.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binom

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.papers.fedrep import settings as of_fedrep
from linrep.papers.flute import settings as of_flute
from linrep.papers.perfedsi import settings as of_perfedsi
from linrep.papers.pflmf import settings as of_pflmf
from linrep.problems import personal
from linrep.problems.subspace import frame_at_distance
from linrep.sweeps import Grid
from linrep.theory import asked, asymptotics, finite, perfedsi, pflmf, requirements
from linrep.theory.asymptotics import flute as first_order
from linrep.theory.flute import Spectrum

KEPT = 30  # rounds in which (11) has to be kept
MANY = 10_000  # samples per client that stand for infinitely many
PATIENT = 20_000  # rounds of FedRep, at most
LONGEST = 1_000_000  # rounds of pFL^MF, at most
PAPERS = ("FedRep", "FLUTE", "PerFedSI", "pFL^MF")
LABELS = ["paper", "where", "place", "quantity", "bound"]


@dataclass(frozen=True)
class Asked(Sizes):
    """What is to be reached, and which of the figures' panels are taken."""

    goal: float = size(
        0.1,
        "Distance, mean error or share of the loss to be reached.",
        above=0.0,
        below=0.5,
        because={"below": "FedRep starts at 0.5 by default"},
    )
    gradients: float = size(
        1e-3, "Mean squared gradients to be reached, over L times the gap.", above=0.0, below=1.0
    )
    start: float = size(0.5, "Distance of FedRep's start.", above=0.0, below=1.0)
    ranks: tuple[int, ...] = size(of_flute.Figure1().k, "Ranks of FLUTE.", quick=2, most=4)
    p: tuple[float, ...] = size(
        (1.0, 0.5, 0.2, 0.1), "Participation in pFL^MF.", quick=1.0, above=0.0, maximum=1.0
    )

    def check(self):
        most = min(of_flute.Figure1().d, *of_flute.Figure1().n)
        if max(self.ranks) > most:
            raise ValueError(f"ranks must be at most {most}, got {max(self.ranks)}")
        if self.goal >= self.start:
            raise ValueError(f"goal must be below start = {self.start:g}, got {self.goal:g}")


def cells(sizes):
    found = {}
    for name, figure in (
        ("1", of_fedrep.Figure1()), ("3", of_fedrep.Figure3()), ("4", of_fedrep.Figure4()),
        ("7", of_fedrep.Figure7()),
    ):  # fmt: skip
        share = getattr(figure, "participation", 1.0)
        for n in np.atleast_1d(figure.n).tolist():
            if round(share * n) >= figure.k:  # fewer never span R^k: Assumption 2
                found.setdefault((n, figure.d, figure.k, share), []).append(name)
    points = [
        ("FedRep", f"Figure{'s' * (len(names) > 1)} {' and '.join(names)}", *key)
        for key, names in found.items()
    ]
    figure = of_flute.Figure1()
    for n in figure.n:
        points += [("FLUTE", "Figure 3", n, figure.d, k, 1.0) for k in sizes.ranks]
    figure = of_perfedsi.Figure3()
    share = figure.participants / figure.n
    points.append(("PerFedSI", "Figure 3", figure.n, figure.d, figure.k, share))
    figure = of_pflmf.Figure1()
    points += [("pFL^MF", "Figure 1", figure.n, 2, 1, p) for p in sizes.p]
    return Grid.of(
        dict(zip(("paper", "figure", "n", "d", "k", "share"), point, strict=True))
        for point in points
    )


def replicate(cell, rng, **sizes):
    # Without noise, at the step 1/(4L), Corollary 2 is Theorem 1; the sharp form has a better step.
    measure = {"FedRep": fedrep, "FLUTE": flute, "PerFedSI": of_entries, "pFL^MF": factors}
    found, needed, sharp = measure[cell["paper"]](cell, rng, Asked(**sizes))
    lines = []
    for row in found:
        if row.source == "proof" or row.place in ("Corollary 2", "Theorem 1, sharp, best step"):
            continue
        same = [
            each.asked
            for each in found
            if (each.place, each.quantity, each.source) == (row.place, row.quantity, "proof")
        ]
        lines.append(
            {
                "where": where(cell), "place": row.place, "quantity": row.quantity,
                "bound": row.bound, "asked": row.asked, "proof": same[0] if same else np.nan,
                "sharp": sharp.get((row.place, row.quantity), np.nan),
                "needed": needed.get((row.place, row.quantity), np.nan),
            }
        )  # fmt: skip
    return pd.DataFrame(lines)


def where(cell):
    """Return which of a paper's settings a cell is."""
    varied = {
        "FedRep": f", n = {cell['n']}", "FLUTE": f", M = {cell['n']}, k = {cell['k']}",
        "PerFedSI": "", "pFL^MF": f", p = {cell['share']:g}",
    }  # fmt: skip
    return f"{cell['figure']}{varied[cell['paper']]}"


def least(enough, most):
    """Return the least whole number that is enough, by doubling and halving; infinite beyond."""
    high = 1
    while not enough(high):
        if high >= most:
            return np.inf
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def largest(enough, start, factor=1.05):
    """Return the largest step that will do, to a factor; 0 where none near the start does."""
    low = high = start
    while not enough(low):
        low /= 2.0
        if low < 1e-6 * start:
            return 0.0
    high = max(high, 2.0 * low)
    while enough(high):
        low, high = high, 2.0 * high
        if high > 1e6 * start:
            return np.inf
    while high > factor * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if enough(middle) else (low, middle)
    return float(low)


def first(reached, rounds):
    """Return the first of some rounds where a goal is reached, infinite for none."""
    found = np.flatnonzero(reached)
    return float(rounds[found[0]]) if found.size else np.inf


def fedrep(cell, rng, sizes):
    """Return what FedRep's theorems ask for, and what is needed."""
    truth_rng, start_rng, run_rng = lr.streams(rng, "truth", "start", "run")
    n, d, k = cell["n"], cell["d"], cell["k"]
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, rng=truth_rng)
    start = frame_at_distance(truth.B, sizes.start, rng=start_rng)
    seed, q = int(run_rng.integers(2**63)), round(cell["share"] * n)
    found = asked(truth, tolerance=sizes.goal, initial_distance=sizes.start, participants=q)
    step = next(row.asked for row in found if row.quantity == "step size")
    factor = lr.theory.fedrep.contraction(
        truth.sigma_min(q), step_size=step, initial_distance=sizes.start
    )

    def run(m, rounds=KEPT, step_size=step):
        return lr.fedrep(
            truth, m=int(m), rounds=rounds, batches="gram", start=start, step_size=step_size,
            participation=cell["share"], rng=seed,
        )  # fmt: skip

    def keeps(m):
        distance = run(m)["distance"]
        promised = sizes.start * factor ** np.arange(KEPT + 1)
        return len(distance) > KEPT and bool((distance <= promised * (1.0 + 1e-9)).all())

    def rounds_to(m, step_size=step, most=PATIENT):
        rounds = 100
        while True:
            trace = run(m, rounds, step_size)
            count = first(trace["distance"] <= sizes.goal, trace.recorded)
            if np.isfinite(count) or rounds >= most:
                return count
            rounds *= 10

    def curve(m):
        return finite.fedrep(
            truth, m=int(m), step_size=step, rounds=KEPT, start=sizes.start,
            participation=q / n,
        ).distance  # fmt: skip

    def curve_keeps(m):
        promised = sizes.start * factor ** np.arange(KEPT + 1)
        return m >= k + 2 and bool((curve(m) <= promised * (1.0 + 1e-9)).all())

    tried = np.unique(np.geomspace(k + 1, 40 * k, 8).astype(int))
    totals = [m * cell["share"] * rounds_to(m) for m in tried]
    moments = least(
        lambda m: lr.fedrep(truth.draw(m, rng=seed), k=k, rounds=0, start="moments")
        ["distance"][0] <= sizes.start, 2**14,
    )  # fmt: skip
    return (
        found,
        {
            ("Theorem 1", "step size"): largest(
                lambda s: np.isfinite(rounds_to(MANY, s, 1000)), step
            ),
            ("Theorem 1", "samples per client and round"): least(keeps, 2**20),
            ("Theorem 1, finite sizes", "samples per client and round"): least(
                lambda m: run(m)["distance"][-1] < sizes.start, 2**20
            ),
            ("(11)", "rounds"): rounds_to(MANY),
            ("(12)", "samples per client in all"): min(totals),
            ("Theorem 2", "samples per client of the start"): moments,
        },
        {
            ("Theorem 1", "samples per client and round"): least(curve_keeps, 2**20),
            ("Theorem 1, finite sizes", "samples per client and round"): finite.least_samples(
                truth, step_size=step, participation=q / n
            ),
            ("Theorem 2", "samples per client of the start"): least(
                lambda m: (
                    np.linalg.norm(asymptotics.spectral_start(truth, m=m, rng=seed).E, 2)
                    <= sizes.start**2
                ),
                2**14,
            ),
        },
    )


def flute(cell, rng, sizes):
    """Return what FLUTE's Theorem 5.1 asks for, and what is needed."""
    truth_rng, data_rng, start_rng = lr.streams(rng, "truth", "data", "start")
    figure, (n, d, k) = of_flute.Figure1(), (cell["n"], cell["d"], cell["k"])
    truth = of_flute.draw_truth("decaying", n, d, of_flute.NOISE, truth_rng)
    start = of_flute.random_start(n, d, k, start_rng)
    seed = int(data_rng.integers(2**63))

    def enough(m):
        data = truth.draw(m, rng=seed)
        trace = of_flute.flute(data, k, start, figure.epochs, [figure.epochs])
        return bool(trace["client_error"][-1] <= sizes.goal)

    def arrives(step):
        trace = lr.flute(
            truth, k=k, batches="population", step_size=step, rounds=figure.epochs, start=start,
            record=[figure.epochs],
        )  # fmt: skip
        return bool(trace["client_error"][-1] <= sizes.goal)

    return (
        asked(Spectrum.of(truth, k), tolerance=sizes.goal),
        {
            ("Theorem 5.1", "samples per client"): least(enough, 2**15),
            ("Theorem 5.1", "step size"): largest(arrives, of_flute.STEP_SIZE),
        },
        {
            ("Theorem 5.1", "samples per client"): first_order.sufficient_samples(
                truth, k, sizes.goal
            )
        },
    )


def of_entries(cell, rng, sizes):
    """Return what PerFedSI's Theorem C.4 asks for at its start, and what is needed."""
    truth_rng, start_rng, run_rng = lr.streams(rng, "truth", "start", "run")
    figure = of_perfedsi.Figure3()
    truth, seed = figure.truth(truth_rng), int(run_rng.integers(2**63))
    U, V = (
        F + of_perfedsi.STARTS["near"] * start_rng.standard_normal(F.shape)
        for F in (truth.U, truth.V)
    )
    loss = perfedsi.loss_and_gradients(truth, U, V)[0]
    local = (np.repeat(F[None], figure.n, axis=0) for F in (U, V))
    known = perfedsi.regularity(truth, *local, loss=float(loss))
    side = perfedsi.scaling(truth.Z)
    setting = perfedsi.Setting.of(
        truth, c=max(1.0, known.norms, known.loss), mu=max(side.mu_z, known.rows, known.errors)
    )

    def rounds_to(step, rounds):
        trace = lr.perfedsi(
            truth, step_size=step, local_steps=figure.local_steps, rounds=rounds,
            participants=figure.participants, start=(U, V), rng=seed,
        )  # fmt: skip
        risk = trace["population_risk"]
        return first(risk <= sizes.goal * risk[0], trace.recorded)

    few = figure.rounds // 20
    needed = {
        "step size": largest(lambda s: np.isfinite(rounds_to(s, few)), figure.step_size),
        "rounds": rounds_to(figure.step_size, figure.rounds // 10),
    }
    found = asked(setting, tolerance=sizes.goal, local_steps=figure.local_steps)
    near = {"local_steps": figure.local_steps, "participants": figure.participants}
    rate = asymptotics.perfedsi.mean_square_rate(truth, step_size=figure.step_size, **near)
    exact = {
        "step size": asymptotics.perfedsi.step_limit(truth, **near),
        "rounds": np.log(sizes.goal) / np.log(rate),
    }
    return found, *(
        {(row.place, row.quantity): values[row.quantity] for row in found}
        for values in (needed, exact)
    )


def factors(cell, rng, sizes):
    """Return what pFL^MF's Theorem 1 asks for, and what is needed."""
    truth_rng, start_rng, run_rng = lr.streams(rng, "truth", "start", "run")
    figure = of_pflmf.Figure1()
    picture = personal.planar(figure.n, shift=figure.shift[0], rng=truth_rng)
    problem, scale = picture.problem, 0.3 * np.sqrt(np.linalg.norm(picture.local, 2))
    start = tuple(scale * start_rng.standard_normal((rows, 1)) for rows in (problem.d, problem.n))
    seed = int(run_rng.integers(2**63))
    times = np.unique(np.geomspace(1, LONGEST, 600).astype(int))

    def run(L, rounds):
        return lr.pflmf(
            problem, k=1, step_size=0.25 / L, head_step_size="theorem", aggregate="full",
            participation=cell["share"], start=start, rounds=rounds,
            record=times[times <= rounds], rng=seed,
        )  # fmt: skip

    radii, rounds, weights = np.full(2, 2.0 * scale), 1000, {"": 1.0, ", sharp": cell["share"] ** 2}
    while True:
        L = pflmf.local_smoothness(problem, *start, *radii).largest
        trace = run(L, rounds)
        reach = np.array([trace["reach_U"][-1], trace["reach_V"][-1]])
        if (reach > radii).any():
            radii = 1.1 * np.maximum(radii, reach)
            continue
        gap = float(trace["objective"][0] - problem.value(picture.line))
        counts = {
            f"Theorem 1{form}": first(
                trace["average_U"] + weight * trace["average_V"] <= sizes.gradients * L * gap,
                trace.recorded,
            )
            for form, weight in weights.items()
        }
        if np.isfinite(max(counts.values())) or rounds >= LONGEST:
            break
        rounds *= 10
    numbers = pflmf.Setting(cell["share"], 1, 0.25 / L, L, L)
    found = asked(numbers, tolerance=sizes.gradients, gap=gap)
    return found, {(place, "rounds"): count for place, count in counts.items()}, {}


def summary(rows, sizes):
    """Return what is asked for, at c = 1 and by the proof, and what is needed, over the draws."""
    lines = []
    for key, own in rows.groupby(LABELS, sort=False):
        means = {name: middle(own[name])[0] for name in ("asked", "proof", "sharp")}
        needed, low, high = middle(own["needed"])
        ends = {"needed": needed, "low": low, "high": high}
        lines.append(dict(zip(LABELS, key, strict=True)) | means | ends)
    return pd.DataFrame(lines).set_index(LABELS)


def middle(values):
    """Return the median with its 95 % interval of order statistics; NaN where nothing was run.

    A draw in which the goal is never reached needs infinitely many samples or rounds.
    """
    ordered = np.sort(values.to_numpy(dtype=np.float64))
    if np.isnan(ordered).any():
        return np.nan, np.nan, np.nan
    count = len(ordered)
    below = int(binom.ppf(0.025, count, 0.5)) - 1  # places that the median is above of
    ends = (ordered[below], ordered[count - 1 - below]) if below >= 0 else (np.nan, np.nan)
    return np.median(ordered) if np.isfinite(ordered[count // 2]) else np.inf, *ends


FORMS = {
    "Theorem C.4": "as printed", "Theorem C.4, corrected": "corrected",
    "Theorem 3.3, near": "near $M^*$, proved here",
}  # fmt: skip
NAMES = {"pFL^MF": r"pFL$^{MF}$"}
#: What the picture has of each paper: place, quantity.
SHOWN = {
    "FedRep": ("Theorem 1", "samples per client and round"),
    "FLUTE": ("Theorem 5.1", "samples per client"),
    "PerFedSI": (None, "rounds"),
    "pFL^MF": ("Theorem 1", "rounds"),
}


def draw(rows, sizes):
    from matplotlib.figure import Figure

    table = summary(rows, sizes).reset_index()
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 4.4))
    for axes, paper in zip(figure.subplots(2, 2).flat, PAPERS, strict=True):
        place, quantity = SHOWN[paper]
        own = table[(table["paper"] == paper) & (table["quantity"] == quantity)]
        if place:
            own = own[own["place"] == place]
        y = np.arange(len(own))
        axes.hlines(y, own[["asked", "needed"]].min(axis=1), own[["asked", "needed"]].max(axis=1),
                    color="0.8", linewidth=0.9, zorder=1)  # fmt: skip
        axes.plot(own["asked"], y, ">", color="C1", label="asked, open constants 1")
        axes.plot(own["proof"], y, "x", color="0.5", label="asked with the proof's constant")
        spread = np.nan_to_num([own["needed"] - own["low"], own["high"] - own["needed"]])
        axes.errorbar(own["needed"], y, xerr=spread, fmt="o", color="C0", capsize=1.5,
                      label="needed")  # fmt: skip
        axes.plot(own["sharp"], y, "|", color="C3", markersize=9, label="predicted")
        axes.axvline(requirements.POSSIBLE, color="0.3", linestyle=":", linewidth=0.9)
        names = own["where"] if place else own["place"].map(FORMS)
        axes.set(
            xscale="log", yticks=y, yticklabels=names, ylim=(len(own) - 0.4, -0.6),
            xlabel=quantity, title=f"{NAMES.get(paper, paper)}, {place or 'Theorems C.4 and 3.3'}",
        )  # fmt: skip
        axes.tick_params(axis="y", labelsize=6.5)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def caption(rows, replicates, sizes):
    own = rows[(rows["paper"] == "FLUTE") & (rows["quantity"] == "samples per client")]
    missed = int(np.isinf(own["needed"]).sum())
    return f"""
        What theorems ask for, and what is needed, at the sizes of the papers' own figures; medians
        over {replicates} draws, with 95 % intervals where they are wider than the symbols. Dotted:
        {requirements.POSSIBLE:g}, beyond which nobody has as many samples or rounds. FedRep: m of a
        round, heads of Assumption 3, no noise, start at distance {sizes.start:g}; needed: the least
        m with which {KEPT} rounds keep what (11) promises at the theorem's step; predicted: the
        least m with which the curve of the mean square does. FLUTE: N at Figure 3's models and
        noise, for a mean error per client of {sizes.goal:g}, asked at the theorem's step;
        predicted: to first order in 1/√N; needed: at the figure's step and epochs, which {missed}
        of {len(own)} draws do not reach with any N. PerFedSI: rounds until the loss is
        {sizes.goal:g} of the first at the largest step allowed, with the constants that the start
        has; near M* until the mean squared distance to its factors is; needed: of the loss, at the
        figure's step; predicted: by the exact rate of the mean square near M*. pFL^MF: rounds until
        the mean squared gradients are {sizes.gradients:g} L times the gap, at step 1/(4L).
    """


EXPERIMENT = Experiment(
    id="theorems.asked",
    title="What theorems ask for, and what is needed",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Asked(),
    replicates=12,
    quick_replicates=2,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
