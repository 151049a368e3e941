"""Section 7.1 and Appendix C.1, Figures 1 and 3: FLUTE against FedRep, and with more clients.

All sentences read one kind of array, of errors of several methods on the same problems. Models,
sizes, step sizes and starts are in ``linrep.papers.flute.settings``. No number of epochs is given
for these figures: the longest runs that the paper states, on CIFAR, have 100 rounds (Section 7.2),
linrep's figures have 500 epochs. FLUTE's step is .03, as printed for Figure 3. FedRep's, which is
not given, is read in three ways: its own, 1/(4L); FLUTE's, for the sum of the clients' gradients;
and the best of 1, 2 and 4 times its own, by the mean logarithm of the errors after 100 epochs of 20
further problems for each M, N and k. Its heads are exact, as in its own analysis, or take one step,
as in Section 7.2 ("one epoch of local head update"). Noise of N(0, 0.3) has variance .3, as Section
7.1 says "centered Gaussian distribution with variance"; where runs are few enough, deviation too.
Only errors "eventually" are read in the longest runs: elsewhere these are left out for their cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep.claims import Comparison, Growth, Paired, Trend, statement
from linrep.claims.multiverse import OF_RUN, lengths, up_to
from linrep.claims.tables import draw_seeds
from linrep.papers.flute import settings
from linrep.papers.flute.model import FIGURES
from linrep.papers.flute.settings import HEADS, NOISE, NOISES, TIE

FIGURE = settings.Figure1()
STATED = 100
LENGTHS = lengths(STATED, FIGURE.epochs)
EARLY = LENGTHS[: LENGTHS.index(STATED)]
SHORTER = LENGTHS[:-1]
#: Epochs at which errors are kept.
RECORD = np.union1d(np.geomspace(1, LENGTHS[-1], 100).round().astype(int), LENGTHS)
PANELS = "M x N x k"
SIZES = tuple(product(FIGURE.n, FIGURE.m, FIGURE.k))
CORNER = (15, 20)
#: Of FedRep; quick has the first two.
STEPS = {"its own": "own", "FLUTE's": "same", "its best after 100 epochs": "best"}
FACTORS = ("own", 2, 4)
ABOUT = {
    "epochs": "how long runs are; the paper states 100, for CIFAR",
    "noise": "of N(0, 0.3): 0.3 as variance, or as standard deviation",
    "heads": "FedRep's: exact, as in its own analysis, or so many gradient steps an epoch",
    "FedRep's step": "its own is 1/(4L), FLUTE's 0.03, its best among 1, 2 and 4 times 1/(4L)",
    "compared": 'what "outperforms in fewer iterations" is asked of',
    "gap": "of the epochs of FLUTE and of the other method",
    "epochs to": "how far: a share of what each run explains, or of what the worse run explains",
    "other method": "FedRep, which starts from moments, or FedRep(RI), at random",
    "gain as": "FLUTE's number against FedRep's",
    "gain in": "epochs to a share of what a run explains, or the error that it gets to",
    "error": "how far models are from the clients' own, or from the best ones of rank k",
}
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
    epochs: int = SHORTER[-1],
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
            (at, head, best_step(rng, models, size, at, head, noise) if step == "best" else step)
            for at, head, step in methods
        ]
        seeds = draw_seeds(rng, count)
        found.append([_run(models, *size, seed, chosen, record, noise, of) for seed in seeds])
    return np.moveaxis(np.array(found), 2, 0)


def best_step(rng, models, size, start, head, noise=NOISE):
    """Return which of `FACTORS` has the least error on further problems."""
    methods = [(start, head, factor) for factor in FACTORS]
    runs = race(rng, 20, models, [size], methods, epochs=STATED, noise=noise)
    errors = runs[1:, 0, :, -1]
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
    last = _last(errors, epochs)
    return _first(_until(errors, epochs) <= last + (1.0 - share) * (errors[..., :1] - last))


def epochs_to_common(ours: Errors, theirs: Errors, epochs: int) -> tuple[Errors, Errors]:
    """Return the epochs of both to one error, which 90 % of what the worse run explains leaves.

    Both get there; of two runs of which one has diverged it is of the other.
    """
    ends = [np.nan_to_num(_last(each, epochs), posinf=0.0) for each in (ours, theirs)]
    goal = np.maximum(*ends)
    goal = goal + 0.1 * np.maximum(0.0, ours[..., :1] - goal)
    one, other = (_first(_until(each, epochs) <= goal) for each in (ours, theirs))
    return one, other


def ahead(ours: Errors, theirs: Errors, epochs: int) -> Errors:
    """Return the first epoch at which one error is below the other by more than a tie.

    Before it is a tenth below that of no model nothing counts: there both can be at no model.
    """
    one, other = _until(ours, epochs), _until(theirs, epochs)
    left = np.logical_or.accumulate(one <= 0.9 * ours[..., :1], axis=-1)
    return _first(left & (one < (1.0 - TIE) * other))


def mean_error(errors: Errors, epochs: int) -> Errors:
    """Return the mean error up to an epoch."""
    until = _until(errors, epochs)
    return np.asarray(np.trapezoid(until, RECORD[: until.shape[-1]])) / (epochs - 1)


def _until(errors, epochs):
    """Return the errors at recorded epochs up to one."""
    return errors[..., 1 : 2 + int(np.searchsorted(RECORD, epochs))]


def _last(errors, epochs):
    return _until(errors, epochs)[..., -1:]


def _first(reached):
    """Return the first recorded epoch at which something is, infinity for never."""
    return np.where(reached.any(axis=-1), RECORD[np.argmax(reached, axis=-1)], np.inf)


def panels(sizes: Sequence[tuple[int, ...]]) -> list[str]:
    """Return the labels of sizes."""
    return [" x ".join(map(str, size)) for size in sizes]


def _about(over):
    return {name: ABOUT[name] for name in over if name in ABOUT}


def _against(budget, rng, count, models, sizes, heads=None, starts=("moments",), **options):
    """Return axes of FedRep's heads and steps, FLUTE's errors, and FedRep's along these axes.

    With two starts a further axis is first, and FedRep's best step would cost too much.
    """
    heads = heads or budget(["exact"], ["exact", "1 step"])
    steps = budget(list(STEPS)[:2], list(STEPS)[: 4 - len(starts)])
    methods = list(product(starts, heads, map(STEPS.__getitem__, steps)))
    ours, *theirs = race(rng, count, models, sizes, methods, **options)
    found = np.reshape(theirs, (len(starts), len(heads), len(steps), *ours.shape))
    over = {"heads": heads, "FedRep's step": steps}
    return over, ours[None, None], found if len(starts) > 1 else found[0]


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
    epochs, noises = budget((EARLY, ["variance 0.3"]), ((*EARLY, STATED), list(NOISES)))
    sizes = budget([(30, 20, 2)], SIZES)
    runs = [
        _against(
            budget, rng, budget(60, 50), "normal", sizes, list(HEADS),
            epochs=epochs[-1], noise=NOISES[noise],
        )
        for noise in noises
    ]  # fmt: skip
    (over, *_), *both = zip(*runs, strict=True)
    ours, theirs = (read(each, epochs) for each in np.broadcast_arrays(*map(np.array, both)))
    over = {"of a run": OF_RUN, "epochs": epochs, "noise": noises, **over, PANELS: panels(sizes)}
    yield Comparison(
        theirs, share * ours, over=over, sizes=PANELS, about=_about(over),
        phrase="FedRep converges to a relatively small error within the few initial epochs",
        excluded={"epochs": dict.fromkeys(
            map(str, epochs[len(EARLY) :]), "within the few initial epochs"
        )},
    )  # fmt: skip


def eventually(budget, rng, *, models, share=np.inf):
    """Compare errors, FLUTE's and FedRep's, these at most a share of FLUTE's."""
    sizes = budget([(*CORNER, 2)], SIZES)
    count = budget(40, 70, 100)
    over, *runs = _against(budget, rng, count, models, sizes, epochs=LENGTHS[-1])
    ours, theirs = (read(each, LENGTHS) for each in np.broadcast_arrays(*runs))
    over = {"of a run": OF_RUN, "epochs": LENGTHS, **over, PANELS: panels(sizes)}
    yield Comparison(
        ours, np.minimum(theirs, share * ours), over=over, sizes=PANELS, about=_about(over),
        phrase="as the learning progresses over more epochs, FLUTE eventually outperforms FedRep",
        excluded={
            "epochs": dict.fromkeys(map(str, EARLY), "as the learning progresses over more epochs")
        },
    )  # fmt: skip


_EVENTUALLY: dict[str, Any] = {
    "latex": r"\mathrm{error}_{\text{FLUTE}}(t) < \mathrm{error}_{\text{FedRep}}(t)"
    r" \quad \text{for large } t",
    "hypotheses": FIGURES,
    "negative_control": {"share": 0.5},
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
    "than 0.5 %, at each of three step sizes of FedRep with exact heads.",
    corrects="flute.figure1",
    hypotheses=FIGURES,
    negative_control={"share": 0.5},
)
def after_200_epochs(budget, rng, *, share=1.0):
    """Compare last errors by their means, each size's over what is usual there, and best ones."""
    over, *runs = _against(budget, rng, budget(12, 100), "normal", SIZES, ["exact"], epochs=200)
    found = zip(*(read(each, [200])[:, 0, 0] for each in runs), strict=True)
    kinds = ("last", "mean"), ("best", "median")
    for (which, statistic), ((ours,), others) in zip(kinds, found, strict=True):
        for step, theirs in zip(over["FedRep's step"], others, strict=True):
            usual = theirs.mean(axis=-1, keepdims=True)
            yield Paired(
                (ours / usual).ravel(), (share * theirs / usual).ravel(), tie=TIE,
                statistic=statistic, quantity="ratio of errors", setting={"step": step},
                name=f"{which} error, {statistic}, FedRep's step {step}",
            )  # fmt: skip


# How fast.


def speeds(errors: Errors) -> Errors:
    """Return the epochs to each of `GOALS` in runs of each length, two axes in front."""
    return np.array(
        [[epochs_to(errors, share, length) for length in SHORTER] for share in GOALS.values()]
    )


@statement(
    "flute.figure1.random_start",
    place=FIGURE1,
    latex=r"c\,\mathrm{epochs}_{\text{FLUTE}} < \mathrm{epochs}_{\text{FedRep(RI)}}"
    r" \text{ or } t\{\text{FLUTE} < \text{FedRep(RI)}\} < t\{\text{FLUTE} < \text{FedRep}\}"
    r" \text{ or } c\,\mathrm{error}_{\text{FLUTE}} < \mathrm{error}_{\text{FedRep(RI)}},"
    r"\quad c = 1",
    plain="Independent normal models: where FedRep, too, starts at random, as FedRep(RI), FLUTE is "
    "better than it after fewer epochs.",
    hypotheses=FIGURES,
    negative_control={"start": "moments", "factor": 1000.0},
)
def random_start(budget, rng, *, start="random", factor=1.0):
    """Compare epochs until FLUTE passes both, epochs to shares of what is explained, mean errors.

    "Much fewer" is read as fewer.
    """
    sizes = budget([(*CORNER, 4)], SIZES)
    over, ours, (steady, random) = _against(
        budget, rng, budget(40, 50), "normal", sizes, starts=("moments", start)
    )
    passed = [[ahead(ours, each, length) for length in SHORTER] for each in (random, steady)]
    means = [[mean_error(each, length) for length in SHORTER] for each in (ours, random)]
    alone = np.concatenate([speeds(ours), means[:1]])
    alone = np.broadcast_to(alone, (len(alone), len(SHORTER), *random.shape[:-1]))
    goals = [f"epochs to {goal} of what a run explains" for goal in GOALS]
    passing, mean = "epochs until FLUTE passes FedRep(RI), and FedRep", "mean error up to the end"
    compared = [passing, *goals, mean]
    over = {"compared": compared, "epochs": SHORTER, **over, PANELS: panels(sizes)}
    yield Comparison(
        np.concatenate([passed[:1], factor * alone]),
        np.concatenate([passed[1:], speeds(random), means[1:]]),
        over=over, sizes=PANELS, of="rounds", about=_about(over),
        phrase="when FedRep is randomly initialized, FLUTE outperforms FedRep(RI) in much fewer "
        "iterations",
    )  # fmt: skip


def _along_k(budget, rng, models, count, ranks, *heads, **options):
    """Return the axes, and FLUTE's and FedRep's errors along head, step, M x N, k, run, epoch."""
    pairs = budget([CORNER], list(product(FIGURE.n, FIGURE.m)))
    sizes = [(*pair, k) for pair in pairs for k in ranks]
    over, *runs = _against(budget, rng, count, models, sizes, *heads, **options)
    over |= {"M x N": panels(pairs), "k": ranks}
    shape = len(pairs), len(ranks)
    return over, *(each.reshape(*each.shape[:-3], *shape, *each.shape[-2:]) for each in runs)


def _ratio(one, other):
    """Return ratios, 1 of what is infinite in both."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 1.0, one / other)


def gap(budget, rng, *, models, phrase, widens=False):
    """Follow gaps of epochs along k, or k itself.

    Epochs are those to a share of what a run explains, of each method, or to one error for both.
    """
    ranks, methods = budget((2, 4, 8), FIGURE.k), {"FedRep": "moments", "FedRep(RI)": "random"}
    over, *runs = _along_k(
        budget, rng, models, budget(40, 50), ranks, starts=list(methods.values())
    )
    both = np.broadcast_arrays(*runs)
    common = np.array([epochs_to_common(both[0], both[1], length) for length in SHORTER])
    ours, theirs = (
        np.concatenate([speeds(each), common[:, place][None]]) for place, each in enumerate(both)
    )
    equal = theirs == ours  # infinite ones as well
    with np.errstate(invalid="ignore"):
        gaps = [np.abs(np.log(_ratio(theirs, ours))), np.where(equal, 0.0, np.abs(theirs - ours))]
    over = {
        "gap": ("ratio", "difference"),
        "epochs to": (
            *(f"{goal} of what a run explains" for goal in GOALS),
            "90 % of what the worse run explains",
        ),
        "epochs": SHORTER, "other method": methods, **over,
    }  # fmt: skip
    yield Growth(
        np.where(widens, np.array(ranks)[:, None], np.add(1.0, gaps)),  # positive, of one order
        over=over, along="k", sizes="M x N", falls=True, phrase=phrase, about=_about(over),
    )  # fmt: skip


_GAP: dict[str, Any] = {
    "latex": r"k < k' \implies \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}(k)}"
    r"{\mathrm{epochs}_{\text{FLUTE}}(k)}\right| > \left|\log\frac{\mathrm{epochs}_{\text{FedRep}}"
    r"(k')}{\mathrm{epochs}_{\text{FLUTE}}(k')}\right| \text{, or of their difference}",
    "hypotheses": FIGURES,
    "negative_control": {"widens": True},
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


def small_k(budget, rng, *, models, rises=False):
    """Ask whether gains fall along k, and whether there is one at k = 2.

    Gains are in epochs to a share of what a run explains, or in errors; or they are k and none.
    """
    over, *runs = _along_k(budget, rng, models, budget(60, 50), budget((2, 8), FIGURE.k))
    both = [np.concatenate([speeds(each), read(each, SHORTER)]) for each in runs]
    ours, theirs = np.broadcast_arrays(*both)
    with np.errstate(invalid="ignore"):
        more = np.where(theirs == ours, 0.0, theirs - ours)
    gains = 1.0 + np.array([_ratio(theirs, ours), np.maximum(0.0, 1.0 + more / SHORTER[-1])])
    phrase = (
        "the performance gain of FLUTE is more pronounced in highly under-parameterized "
        "scenarios, i.e., where k is relatively small"
    )
    named = [*(f"epochs to {goal}" for goal in GOALS), *(f"{which} error" for which in OF_RUN)]
    over = {"gain in": named, "epochs": SHORTER, **over}
    about = _about(over)
    yield Growth(
        np.where(rises, np.array(over["k"])[:, None], gains),
        over={"gain as": ("ratio", "difference"), **over}, about=about | _about(["gain as"]),
        along="k", sizes="M x N", falls=True, name="falls along k", phrase=phrase,
    )  # fmt: skip
    yield Comparison(
        ours[..., 0, :], np.where(rises, 0.5 * ours, theirs)[..., 0, :],
        over={name: over[name] for name in over if name != "k"}, about=about,
        sizes="M x N", of="gains", name="at k = 2", phrase=phrase,
    )  # fmt: skip


_SMALL_K: dict[str, Any] = {
    "latex": r"k < k' \implies \mathrm{gain}(k) > \mathrm{gain}(k'),\ \mathrm{gain}(2) > 1;\quad"
    r" \mathrm{gain} = \frac{\mathrm{epochs}_{\text{FedRep}}}{\mathrm{epochs}_{\text{FLUTE}}}"
    r" \text{ or } \frac{\mathrm{error}_{\text{FedRep}}}{\mathrm{error}_{\text{FLUTE}}}"
    r" \text{, or a difference}",
    "hypotheses": FIGURES,
    "negative_control": {"rises": True},
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
    "its lead falls as k grows, by the mean rank correlation, at each of three step sizes with "
    "exact heads.",
    corrects="flute.figure1.small_k",
    hypotheses=FIGURES,
    negative_control={"factor": 0.01},
)
def lead_at_small_k(budget, rng, *, factor=1.0):
    """Compare epochs at k = 2, FLUTE's times a factor, and follow their ratio along k."""
    ranks = budget((2, 4, 8), FIGURE.k)
    over, *runs = _along_k(budget, rng, "normal", budget(60, 100), ranks, ["exact"], epochs=STATED)
    ((ours,),), (others,) = (epochs_to(each, 0.99, STATED) for each in runs)
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
                np.random.default_rng(seed), budget(60, 400, 600), "decaying",
                [(n, *size) for size in sizes], noise=NOISES[noise], of=list(measures.values()),
            )
            for noise, seed in zip(noises, seeds, strict=True)
        ]
        for n in FIGURE.n
    )  # fmt: skip
    over = {"of a run": OF_RUN, "epochs": SHORTER, "noise": noises,
            "error": tuple(measures), "N x k": panels(sizes)}  # fmt: skip
    yield Comparison(
        read(np.array(many), SHORTER), share * read(np.array(few), SHORTER),
        over=over, sizes="N x k", about=_about(over),
        phrase="keeping d, k, and N unchanged while increasing the number of clients M, we see a "
        "reduction in the average error of models generated by FLUTE",
    )  # fmt: skip
