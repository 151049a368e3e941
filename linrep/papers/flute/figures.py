"""Section 7.1 and Appendix C.1, Figures 1 and 3: FLUTE against FedRep, and with more clients.

All sentences read one kind of array, of errors of several methods on the same problems. Models,
sizes, step sizes and starts are in ``linrep.papers.flute.settings``. The longest run that the
paper states has 100 rounds (Section 7.2), linrep's figures have 500 epochs. FedRep's step size,
which the paper does not give, is read in three ways: its own, 1/(4L); FLUTE's, for the sum of the
clients' gradients; and the best of 1, 2 and 4 times its own, by the mean logarithm of the errors
after 100 epochs of 20 further problems for each M, N and k.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep.claims import Comparison, Growth, Multiverse, Paired, Together, Trend, statement
from linrep.claims.multiverse import OF_RUN, lengths, up_to
from linrep.claims.tables import draw_seeds
from linrep.papers.flute import settings
from linrep.papers.flute.model import FIGURES
from linrep.papers.flute.settings import HEADS, NOISE, NOISES, TIE

FIGURE = settings.Figure1()
STATED = 100
LENGTHS = lengths(STATED, FIGURE.epochs)
EARLY, LATE = LENGTHS[: LENGTHS.index(STATED)], LENGTHS[LENGTHS.index(STATED) :]
#: Epochs at which errors are kept.
RECORD = np.union1d(np.geomspace(1, LENGTHS[-1], 100).round().astype(int), LENGTHS)
PANELS = "M x N x k"
SIZES = tuple(product(FIGURE.n, FIGURE.m, FIGURE.k))
CORNER = (15, 20)
#: Of FedRep; quick has the first two.
STEPS = {"its own": "own", "FLUTE's": "same", "its best": "best"}
FACTORS = ("own", 2, 4)
#: Shares of the error that a run explains.
GOALS = {"50 %": 0.5, "90 %": 0.9, "99 %": 0.99}

Errors = NDArray[np.float64]


def race(
    rng: Any,
    count: int,
    models: str,
    sizes: Sequence[tuple[int, int, int]],
    methods: Sequence[tuple[str, str, Any]] = (),
    *,
    epochs: int = LENGTHS[-1],
    noise: float = NOISE,
    of: Sequence[str] = ("truth_error",),
) -> Errors:
    """Run FLUTE and variants of FedRep on the same problems.

    Parameters
    ----------
    rng : Generator
        Seeds of problems are drawn from it; those of one seed share what they can, whatever M.
    count : int
        Problems of each size.
    models : {"normal", "decaying"}
    sizes : sequence of (M, N, k)
    methods : sequence of (start, head, step)
        FedRep's variants, as of `settings.fedrep`; a step may be "best".
    epochs : int
    noise : float
        Standard deviation.
    of : sequence of str
        Metrics.

    Returns
    -------
    ndarray, shape (1 + methods, sizes, count, 1 + recorded epochs)
        FLUTE first, of each method its metrics. The first error is that of no model at all, the
        others are at the epochs of `RECORD`; infinity where a run has diverged.
    """
    record = RECORD[: np.searchsorted(RECORD, epochs, side="right")]
    found = []
    for size in sizes:
        chosen = [
            (start, head, best_step(rng, models, size, start, head) if step == "best" else step)
            for start, head, step in methods
        ]
        seeds = draw_seeds(rng, count)
        found.append([_run(models, *size, seed, chosen, record, noise, of) for seed in seeds])
    return np.moveaxis(np.array(found), 2, 0)


def best_step(rng, models, size, start, head):
    """Return which of `FACTORS` has the least error on further problems."""
    methods = [(start, head, factor) for factor in FACTORS]
    errors = race(rng, 20, models, [size], methods, epochs=STATED)[1:, 0, :, -1]
    return FACTORS[int(np.argmin(np.log(errors).mean(axis=-1)))]


def _run(models, n, m, k, seed, methods, record, noise, of):
    """Return the errors on one problem, a row a method and metric."""
    rng = np.random.default_rng([seed, m, k])
    truth = settings.draw_truth(models, n, FIGURE.d, noise, rng)
    data = truth.draw(m, rng=rng)
    run = data, k, settings.random_start(n, FIGURE.d, k, rng), int(record[-1]), record
    traces = {method: settings.fedrep(*run, *method) for method in dict.fromkeys(methods)}
    ordered = [settings.flute(*run), *(traces[method] for method in methods)]
    nothing = np.linalg.norm(truth.Phi, axis=0).mean()
    return [
        [nothing, *settings.kept(trace, metric, record)] for trace, metric in product(ordered, of)
    ]


def read(errors: Errors, epochs: Sequence[int]) -> Errors:
    """Return the last and the best errors up to these epochs, two axes before all others."""
    return up_to(errors[..., 1:], list(np.searchsorted(RECORD, epochs)))


def epochs_to(errors: Errors, share: float, epochs: int) -> Errors:
    """Return the epochs to a share of the error that runs of so many epochs explain.

    That is the error of no model less their last one, so that a method which is good from the first
    epoch on, or which gets little done, is not taken for a fast one; infinity where it is negative.
    """
    end = 1 + int(np.searchsorted(RECORD, epochs))
    last = errors[..., end : end + 1]
    goal = last + (1.0 - share) * (errors[..., :1] - last)
    reached = errors[..., 1 : end + 1] <= goal
    return np.where(reached.any(axis=-1), RECORD[np.argmax(reached, axis=-1)], np.inf)


def ahead(ours: Errors, theirs: Errors, epochs: int) -> Errors:
    """Return the first epoch at which one error is below the other by more than a tie."""
    end = 1 + int(np.searchsorted(RECORD, epochs))
    below = ours[..., 1 : end + 1] < (1.0 - TIE) * theirs[..., 1 : end + 1]
    return np.where(below.any(axis=-1), RECORD[np.argmax(below, axis=-1)], np.inf)


def panels(sizes: Sequence[tuple[int, ...]]) -> list[str]:
    """Return the labels of sizes."""
    return [" x ".join(map(str, size)) for size in sizes]


def _against(budget, rng, count, models, sizes, epochs=LENGTHS[-1]):
    """Return FedRep's steps, and errors of FLUTE and of FedRep with exact heads and each step."""
    steps = budget(list(STEPS)[:2], list(STEPS))
    methods = [("moments", "exact", STEPS[step]) for step in steps]
    return steps, race(rng, count, models, sizes, methods, epochs=epochs)


def _excluded(epochs, values, words):
    return {"epochs": {str(each): words for each in epochs if each in values}}


FIGURE1 = "Section 7.1; Figure 1"
FIGURE3 = "Appendix C.1; Figure 3"


@statement(
    "flute.figure1.early",
    place=FIGURE1,
    latex=r"\mathrm{error}_{\text{FedRep}}(t) < \mathrm{error}_{\text{FLUTE}}(t)"
    r" \quad \text{for small } t",
    plain="After few epochs FedRep, which starts from the data's moments, has a smaller error than "
    "FLUTE.",
    hypotheses=FIGURES,
    negative_control={"share": 0.2},
)
def early(budget, rng, *, share=1.0):
    """Compare errors, with all heads of FedRep: they cost, so that no run has more than 100 epochs.

    Quick has runs of the lengths that count.
    """
    epochs = budget(EARLY, (*EARLY, STATED))
    steps = budget(list(STEPS)[:2], list(STEPS))
    sizes = budget([(30, 20, 2)], SIZES)
    methods = [("moments", head, STEPS[step]) for head in HEADS for step in steps]
    errors = read(race(rng, 60, "normal", sizes, methods, epochs=epochs[-1]), epochs)
    shape = (*errors.shape[:2], len(HEADS), len(steps), *errors.shape[3:])
    theirs = errors[:, :, 1:].reshape(shape)
    yield Comparison(
        theirs, np.broadcast_to(share * errors[:, :, :1, None], shape),
        over={"of a run": OF_RUN, "epochs": [*map(str, epochs)], "heads": tuple(HEADS),
              "FedRep's step": steps, PANELS: panels(sizes)},
        sizes=PANELS,
        phrase="FedRep converges to a relatively small error within the few initial epochs",
        excluded=_excluded(LATE, epochs, "within the few initial epochs"),
    )  # fmt: skip


def eventually(budget, rng, *, models, share=1.0):
    """Compare errors, FLUTE's and a share of FedRep's with exact heads."""
    sizes = budget([(*CORNER, 2)], SIZES)
    steps, errors = _against(budget, rng, budget(40, 100), models, sizes)
    errors = read(errors, LENGTHS)
    theirs = share * errors[:, :, 1:]
    yield Comparison(
        np.broadcast_to(errors[:, :, :1], theirs.shape), theirs,
        over={"of a run": OF_RUN, "epochs": [*map(str, LENGTHS)], "FedRep's step": steps,
              PANELS: panels(sizes)},
        sizes=PANELS,
        phrase="as the learning progresses over more epochs, FLUTE eventually outperforms FedRep",
        excluded=_excluded(EARLY, LENGTHS, "as the learning progresses over more epochs"),
    )  # fmt: skip


_EVENTUALLY: dict[str, Any] = {
    "latex": r"\mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep}}(t)"
    r" \quad \text{for large } t",
    "hypotheses": FIGURES,
    "negative_control": {"share": 0.2},
}
statement(
    "flute.figure1",
    place=FIGURE1,
    plain="Independent normal models: after more epochs FLUTE has a smaller error than FedRep.",
    constants={"models": "normal"},
    **_EVENTUALLY,
)(eventually)
statement(
    "flute.figure3.eventually",
    own=True,
    place=FIGURE3,
    plain="Models of decaying spectrum: after more epochs FLUTE has a smaller error than FedRep.",
    constants={"models": "decaying"},
    **_EVENTUALLY,
)(eventually)


@statement(
    "flute.figure1.corrected",
    place=FIGURE1,
    latex=r"\frac{\mathrm{mean}\,\mathrm{error}_{\text{FLUTE}}(200)}"
    r"{\mathrm{mean}\,\mathrm{error}_{\text{FedRep}}(200)} < 1,\quad"
    r" \mathrm{median}\,\frac{\mathrm{lowest}_{\text{FLUTE}}(200)}"
    r"{\mathrm{lowest}_{\text{FedRep}}(200)} < 1",
    plain="Independent normal models, all M, N and k together: after 200 epochs FLUTE's error has "
    "a smaller mean than FedRep's, and the lowest one until then is smaller in the median, by more "
    "than 0.5 %, at each of three step sizes of FedRep.",
    corrects="flute.figure1",
    hypotheses=FIGURES,
    negative_control={"share": 0.5},
)
def after_200_epochs(budget, rng, *, share=1.0):
    """Compare last errors by their means, each size's over what is usual there, and best ones."""
    steps, errors = _against(budget, rng, budget(12, 100), "normal", SIZES, epochs=200)
    found = read(errors, [200])[:, 0]
    kinds = ("last", "mean"), ("best", "median")
    for (which, statistic), (ours, *others) in zip(kinds, found, strict=True):
        for step, theirs in zip(steps, others, strict=True):
            usual = theirs.mean(axis=-1, keepdims=True)
            yield Paired(
                (ours / usual).ravel(), (share * theirs / usual).ravel(), tie=TIE,
                statistic=statistic, quantity="ratio of errors", setting={"step": step},
                name=f"{which} error, {statistic}, FedRep's step {step}",
            )  # fmt: skip


# How fast.


def speeds(errors: Errors) -> Errors:
    """Return the epochs to each of `GOALS` in runs of each late length, two axes in front."""
    return np.array(
        [[epochs_to(errors, share, length) for length in LATE] for share in GOALS.values()]
    )


@statement(
    "flute.figure1.random_start",
    place=FIGURE1,
    latex=r"c\,\mathrm{epochs}_{\text{FLUTE}} < \mathrm{epochs}_{\text{FedRep(RI)}}"
    r" \text{ or } t\{\text{FLUTE} < \text{FedRep(RI)}\} < t\{\text{FLUTE} < \text{FedRep}\},"
    r"\quad c = 1",
    plain="Independent normal models: where FedRep, too, starts at random, as FedRep(RI), FLUTE is "
    "better than it after fewer epochs.",
    hypotheses=FIGURES,
    negative_control={"start": "moments", "factor": 1000.0},
)
def random_start(budget, rng, *, start="random", factor=1.0):
    """Compare the epochs after which FLUTE passes both, and those to a share of what runs explain.

    "Much fewer" is read as fewer.
    """
    steps = budget(list(STEPS)[:2], list(STEPS))
    sizes = budget([(*CORNER, 4)], SIZES)
    methods = [(each, "exact", STEPS[step]) for each in ("moments", start) for step in steps]
    ours, *theirs = race(rng, budget(40, 50), "normal", sizes, methods)
    steady, random = np.split(np.array(theirs), 2)
    passed = [[ahead(ours, each, length) for length in LATE] for each in (random, steady)]
    alone = np.broadcast_to(speeds(ours)[:, :, None], (len(GOALS), len(LATE), *random.shape[:-1]))
    compared = [f"to {goal} of what a run explains" for goal in GOALS]
    yield Comparison(
        np.concatenate([passed[:1], factor * alone]),
        np.concatenate([passed[1:], speeds(random)]),
        over={"epochs compared": ["until FLUTE passes FedRep(RI), and FedRep", *compared],
              "epochs": [*map(str, LATE)], "FedRep's step": steps, PANELS: panels(sizes)},
        sizes=PANELS, of="rounds",
        phrase="when FedRep is randomly initialized, FLUTE outperforms FedRep(RI) in much fewer "
        "iterations",
    )  # fmt: skip


def _along_k(budget, rng, models, count, ranks, epochs=LENGTHS[-1]):
    """Return errors of axes method, M x N, k, seed and epoch, and the axes of what is read."""
    pairs = budget([CORNER], list(product(FIGURE.n, FIGURE.m)))
    sizes = [(*pair, k) for pair in pairs for k in ranks]
    steps, errors = _against(budget, rng, count, models, sizes, epochs)
    over = {"epochs": [*map(str, LATE)], "FedRep's step": steps, "M x N": panels(pairs), "k": ranks}
    return errors.reshape(-1, len(pairs), len(ranks), *errors.shape[2:]), over


def _ratio(one, other):
    """Return ratios, 1 of what is infinite in both."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 1.0, one / other)


def gap(budget, rng, *, models, phrase, widening=0.0):
    """Follow gaps of epochs along k."""
    errors, over = _along_k(budget, rng, models, budget(40, 100), budget((2, 4, 8), FIGURE.k))
    epochs = speeds(errors)
    ours, theirs = epochs[:, :, :1], epochs[:, :, 1:]
    equal = theirs == ours  # infinite ones as well
    gaps = [np.abs(np.log(_ratio(theirs, ours))), np.where(equal, 0.0, np.abs(theirs - ours))]
    yield Growth(
        np.array(gaps) + widening * np.array(over["k"])[:, None],
        over={"gap": ("ratio", "difference"), "explained": tuple(GOALS), **over},
        along="k", sizes="M x N", falls=True, phrase=phrase,
    )  # fmt: skip


_GAP: dict[str, Any] = {
    "latex": r"k < k' \implies \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)}\right| > \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}"
    r"(k')}{\mathrm{epochs}_{\text{FLUTE}}(k')}\right| \text{, or of their difference}",
    "hypotheses": FIGURES,
    "negative_control": {"widening": 1e6},
}
statement(
    "flute.figure3",
    place=FIGURE3,
    plain="Models of decaying spectrum: FedRep's and FLUTE's speeds of convergence get nearer to "
    "each other as k grows.",
    constants={
        "models": "decaying",
        "phrase": "an increase in k results in a diminishing discrepancy in convergence speeds "
        "between FLUTE and FedRep",
    },
    **_GAP,
)(gap)
statement(
    "flute.figure1.gap",
    place=FIGURE1,
    plain="Independent normal models: FedRep's and FLUTE's speeds of convergence get nearer to "
    "each other as k grows.",
    constants={
        "models": "normal",
        "phrase": "As k increases, the gap between the convergence rates of FLUTE and FedRep "
        "narrows",
    },
    **_GAP,
)(gap)


def small_k(budget, rng, *, models, power=0.0):
    """Ask whether gains, times a power of k, fall along k, and whether there is one at k = 2.

    Gains are in epochs to a share of what a run explains, or in errors.
    """
    errors, over = _along_k(budget, rng, models, budget(60, 100), budget((2, 8), FIGURE.k))
    both = np.concatenate([speeds(errors), read(errors, LATE)])
    theirs = both[:, :, 1:]
    ours = np.broadcast_to(both[:, :, :1], theirs.shape)
    phrase = (
        "the performance gain of FLUTE is more pronounced in highly under-parameterized "
        "scenarios, i.e., where k is relatively small"
    )
    named = [*(f"epochs to {goal}" for goal in GOALS), *(f"{which} error" for which in OF_RUN)]
    falls = Growth(
        _ratio(theirs, ours) * np.power(over["k"], power)[:, None], over={"gain": named, **over},
        along="k", sizes="M x N", falls=True, phrase=phrase,
    )  # fmt: skip
    at_two = {name: values for name, values in over.items() if name != "k"}
    there = Comparison(
        ours[..., 0, :], theirs[..., 0, :], over={"gain": named, **at_two},
        sizes="M x N", phrase=phrase,
    )  # fmt: skip
    yield _both(falls, there)


def _both(*parts):
    """Ask of each reading whether all parts hold."""
    axes = {name: values for part in parts for name, values in part.axes.items()}
    found = [dict(zip(product(*part.axes.values()), part.cells, strict=True)) for part in parts]
    cells = []
    for values in product(*axes.values()):
        reading = dict(zip(axes, values, strict=True))
        keys = [tuple(reading[name] for name in part.axes) for part in parts]
        cells.append(Together([each[key] for each, key in zip(found, keys, strict=True)]))
    return Multiverse(axes, cells, phrase=parts[0].phrase)


_SMALL_K: dict[str, Any] = {
    "latex": r"k < k' \implies \mathrm{gain}(k) > \mathrm{gain}(k'),\ \mathrm{gain}(2) > 1;\quad"
    r" \mathrm{gain} = \frac{\mathrm{epochs}_{\text{FedRep}}}{\mathrm{epochs}_{\text{FLUTE}}}"
    r" \text{ or } \frac{\mathrm{error}_{\text{FedRep}}}{\mathrm{error}_{\text{FLUTE}}}",
    "hypotheses": FIGURES,
    "negative_control": {"power": 20.0},
}
statement(
    "flute.figure1.small_k",
    place=FIGURE1,
    plain="Independent normal models: FLUTE's gain over FedRep is larger for small k.",
    constants={"models": "normal"},
    **_SMALL_K,
)(small_k)
statement(
    "flute.figure3.small_k",
    own=True,
    place=FIGURE3,
    plain="Models of decaying spectrum: FLUTE's gain over FedRep is larger for small k.",
    constants={"models": "decaying"},
    **_SMALL_K,
)(small_k)


@statement(
    "flute.figure1.small_k.corrected",
    place=FIGURE1,
    latex=r"\frac{\mathrm{epochs}_{\text{FLUTE}}}{\mathrm{epochs}_{\text{FedRep}}}(2) > 1"
    r"\text{, and it falls as } k \text{ grows}",
    plain="Independent normal models, all M and N together: at k = 2 FedRep takes fewer epochs to "
    "99 % of the error that 100 epochs explain than FLUTE, in the median and by more than 2 %, and "
    "its lead falls as k grows, by the mean rank correlation, at each of three step sizes.",
    corrects="flute.figure1.small_k",
    hypotheses=FIGURES,
    negative_control={"factor": 0.01},
)
def lead_at_small_k(budget, rng, *, factor=1.0):
    """Compare epochs at k = 2, FLUTE's times a factor, and follow their ratio along k."""
    ranks = budget((2, 4, 8), FIGURE.k)
    errors, over = _along_k(budget, rng, "normal", budget(60, 100), ranks, epochs=STATED)
    ours, *others = epochs_to(errors, 0.99, STATED)
    for step, theirs in zip(over["FedRep's step"], others, strict=True):
        where: dict[str, Any] = {"setting": {"step": step}}
        lead = np.swapaxes(_ratio(ours, theirs), 1, 2).reshape(-1, len(ranks))
        yield Trend(-lead, name=f"along k, FedRep's step {step}", **where)
        pair = theirs[:, 0].ravel(), factor * ours[:, 0].ravel()
        yield Paired(*pair, quantity="ratio of epochs", name=f"k = 2, step {step}", **where)


# More clients.


@statement(
    "flute.figure3.clients",
    place=FIGURE3,
    latex=r"M < M' \implies \mathrm{error}(M) > \mathrm{error}(M')",
    plain="Singular values of the models fixed: FLUTE's error is smaller with more clients.",
    hypotheses=FIGURES,
    negative_control={"share": 0.2},
)
def clients(budget, rng, *, share=1.0):
    """Compare errors against the truth and, as in (7), against its best models of rank k.

    Truths of one seed have the same left singular vectors, whatever M.
    """
    measures = {"to the truth": "truth_error", "to its best of rank k, (7)": "client_error"}
    noises = budget(["variance 0.3"], list(NOISES))
    sizes = budget([(20, 4)], list(product(FIGURE.m, FIGURE.k)))
    seeds = draw_seeds(rng, len(noises))
    few, many = (
        [
            race(
                np.random.default_rng(seed), budget(60, 600), "decaying",
                [(n, *size) for size in sizes], noise=NOISES[noise], of=list(measures.values()),
            )
            for noise, seed in zip(noises, seeds, strict=True)
        ]
        for n in FIGURE.n
    )  # fmt: skip
    yield Comparison(
        read(np.array(many), LENGTHS), share * read(np.array(few), LENGTHS),
        over={"of a run": OF_RUN, "epochs": [*map(str, LENGTHS)], "noise": noises,
              "error": tuple(measures), "N x k": panels(sizes)},
        sizes="N x k",
        phrase="keeping d, k, and N unchanged while increasing the number of clients M, we see a "
        "reduction in the average error of models generated by FLUTE",
    )  # fmt: skip
