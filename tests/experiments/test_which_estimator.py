"""Every sentence of docs/estimators.md that has a number or a comparison, on the recorded rows."""

import re
from itertools import combinations
from pathlib import Path

import pandas as pd

from linrep.figures.experiment import load
from linrep.figures.summaries import along

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "estimators.md").read_text()
ROWS = pd.read_parquet(ROOT / "figures" / "literature.estimators.parquet")
STUDY = load("literature.estimators").summary.__globals__
means, times = STUDY["means"], STUDY["times"]
MINIMIZERS = list(STUDY["KINDS"]["minimize the loss"][1])
HEADS_ALONE = [
    name for kind, (_, names) in STUDY["KINDS"].items() for name in names
    if kind not in ("convex", "alone")
]  # fmt: skip
GIVEN = "Cramér-Rao given the covariates"
CHECKS = {}


def says(sentence):
    """Register what has to hold of the rows for a sentence, whose numbers are in braces."""

    def register(check):
        CHECKS[sentence] = check
        return check

    return register


def mean(axis, value, method, other=None):
    """Return a mean risk, or the mean ratio of two."""
    if other is None:
        return means(ROWS, axis).loc[value, method]
    return times(ROWS, axis, method, other).loc[value, "times"]


def ahead(axis, value, one, other):
    """Tell whether a method is nearer to the truth than another beyond chance, at 95 %."""
    return times(ROWS, axis, one, other).loc[value, "high"] < 1.0


def level(axis, value, one, other):
    found = times(ROWS, axis, one, other).loc[value]
    return found["low"] < 1.0 < found["high"]


def bullets():
    """Return the sentences of the page's lists."""
    return [" ".join(each.split()) for each in re.findall(r"^- (.+(?:\n  .+)*)", PAGE, re.M)]


def rounds_to(value, text):
    """Tell whether a value is what the page has for it, rounded as it stands there."""
    _, _, decimals = text.partition(".")
    return f"{value:.{len(decimals)}f}" == text


def ratios(axis, values, one, other):
    return [mean(axis, value, one, other) for value in values]


@says(
    "From m = 9 on, LF, AltGDmin, FedRep and FLUTE reach the same risk, within 1%: they minimize "
    "the same loss."
)
def _():
    same = [name for name in MINIMIZERS if name != "AltMin"]
    table = means(ROWS, "m").loc[9:, same]
    return [
        same == ["LF", "AltGDmin", "FedRep", "FLUTE"],
        (table.max(axis="columns") < 1.01 * table.min(axis="columns")).all(),
    ]


@says(
    "There their risk is within 8% of the Cramér–Rao bound given the covariates, a lower bound for"
    " every unbiased estimator."
)
def _():
    ratio = means(ROWS, "m").loc[9:, "FedRep"] / means(ROWS, "m").loc[9:, GIVEN]
    return [1.07 < ratio.max() < 1.08, ratio.min() > 1.0]


@says(
    "AltMin reaches the same risk from m = 13 on; at m = 9 it ends in a worse minimum in some "
    "draws."
)
def _():
    table = means(ROWS, "m")
    draws = along(ROWS, "m", STUDY["BASE"]).query("m == 9").pivot(
        index="replicate", columns="method", values="population_risk"
    )  # fmt: skip
    worse = (draws["AltMin"] > 1.1 * draws["LF"]).mean()
    same = abs(table.loc[13:, "AltMin"] / table.loc[13:, "LF"] - 1.0).max() < 0.01
    return [same, 0.0 < worse < 0.5]


@says("The nuclear norm's risk is 2.7 to 3.0 times FedRep's for m from 9 to 80.")
def _():
    found = ratios("m", (9, 13, 20, 40, 80), "nuclear norm", "FedRep")
    return [rounds_to(min(found), "2.7"), rounds_to(max(found), "3.0")]


@says(
    "For m ≤ 4, that is, at most k + 1, every estimator that fits heads without a penalty is "
    "behind a ridge regression per client."
)
def _():
    return [ahead("m", m, "ridge alone", name) for m in (2, 3, 4) for name in HEADS_ALONE]


@says("There the nuclear norm is ahead of all others.")
def _():
    others = [*HEADS_ALONE, "ridge alone"]
    return [ahead("m", m, "nuclear norm", name) for m in (2, 3, 4) for name in others]


@says(
    "At m = 6, twice the rank, none of nuclear norm, FedRep and AltGDmin is ahead of another; all "
    "three are ahead of a ridge regression per client."
)
def _():
    three = ("nuclear norm", "FedRep", "AltGDmin")
    even = [level("m", 6, one, other) for one, other in combinations(three, 2)]
    return even + [ahead("m", 6, name, "ridge alone") for name in three]


@says(
    "At m = 6, AltMinGD, which fits heads to half of the samples, as many as the rank, has a risk "
    "above 1000."
)
def _():
    return [mean("m", 6, "AltMinGD") > 1000.0, STUDY["BASE"]["k"] == 3]


@says(
    "Cross moments are ahead of the method of moments from m = 6 on, by a factor of 4.1 at m = 80."
)
def _():
    clear = [ahead("m", m, "cross moments", "method of moments") for m in (6, 9, 13, 20, 40, 80)]
    return [*clear, rounds_to(mean("m", 80, "method of moments", "cross moments"), "4.1")]


@says("They are ahead of the truncated moments from m = 6 on, by a factor of 1.02 to 1.10.")
def _():
    sizes = (6, 9, 13, 20, 40, 80)
    found = ratios("m", sizes, "truncated", "cross moments")
    clear = [ahead("m", m, "cross moments", "truncated") for m in sizes]
    return [*clear, rounds_to(min(found), "1.02"), rounds_to(max(found), "1.10")]


@says(
    "Their error does not vanish with the noise: from σ = 0.5 to σ = 0.03 their risk falls by a "
    "factor of 1.4, FedRep's by a factor of 282."
)
def _():
    table = means(ROWS, "noise")
    falls = table.loc[0.5] / table.loc[0.03]
    return [rounds_to(falls["cross moments"], "1.4"), rounds_to(falls["FedRep"], "282")]


@says("At σ = 2 cross moments are level with FedRep.")
def _():
    return [level("noise", 2.0, "cross moments", "FedRep")]


@says(
    "They are ahead of the nuclear norm for n ≥ 400 and for d ≤ 20, and behind it for n ≤ 100 and "
    "for d ≥ 80."
)
def _():
    two = "cross moments", "nuclear norm"
    return [
        *(ahead("n", n, *two) for n in (400, 800)), *(ahead("d", d, *two) for d in (10, 20)),
        *(ahead("n", n, *two[::-1]) for n in (25, 50, 100)),
        *(ahead("d", d, *two[::-1]) for d in (80, 160)),
    ]  # fmt: skip


@says("ANIL has 2.8 times FedRep's risk at m = 20 and 1.8 times at m = 80.")
def _():
    few, many = ratios("m", (20, 80), "ANIL", "FedRep")
    return [rounds_to(few, "2.8"), rounds_to(many, "1.8")]


@says(
    "Like that of cross moments, the errors of ANIL and MAML do not vanish with the noise: at σ = "
    "0.03 both have a risk of 0.049, FedRep of 0.0001."
)
def _():
    row = means(ROWS, "noise").loc[0.03]
    both = [rounds_to(row[name], "0.049") for name in ("ANIL", "MAML")]
    return [*both, rounds_to(row["FedRep"], "0.0001"), row["cross moments"] > 0.049]


@says(
    "ANIL is ahead of cross moments for m ≥ 40 and for σ ≤ 0.25, and behind them for m from 6 to "
    "13."
)
def _():
    return [
        *(ahead("m", m, "ANIL", "cross moments") for m in (40, 80)),
        *(ahead("noise", noise, "ANIL", "cross moments") for noise in (0.03, 0.1, 0.25)),
        *(ahead("m", m, "cross moments", "ANIL") for m in (6, 9, 13)),
    ]


@says(
    "With its default step size MAML diverges in all 20 draws at m = 2 and at k = 12, and in 7 at "
    "m = 4."
)
def _():
    def diverged(axis, value):
        own = along(ROWS, axis, STUDY["BASE"])
        own = own[(own["method"] == "MAML") & (own[axis] == value)]
        return int((own["stop_reason"] == "diverged").sum())

    return [diverged("m", 2) == diverged("k", 12) == 20, diverged("m", 4) == 7]


@says(
    "With 25 clients, LF has 3.4 times the risk of regression with known B*; with 800 clients, "
    "1.06 times."
)
def _():
    few, many = ratios("n", (25, 800), "LF", "B known")
    return [rounds_to(few, "3.4"), rounds_to(many, "1.06")]


@says(
    "From d = 10 to d = 160 FedRep's risk grows by a factor of 2.0, that of a ridge regression per"
    " client by a factor of 11."
)
def _():
    table = means(ROWS, "d")
    grows = table.loc[160] / table.loc[10]
    return [rounds_to(grows["FedRep"], "2.0"), rounds_to(grows["ridge alone"], "11")]


@says(
    "Splitting the samples is costly: AltMinGD has 3.8 times FedRep's risk at m = 13 and 2.1 times"
    " at m = 80."
)
def _():
    few, many = ratios("m", (13, 80), "AltMinGD", "FedRep")
    return [rounds_to(few, "3.8"), rounds_to(many, "2.1")]


@says(
    "The bound does not depend on κ, but at κ = 16 LF has 1.44 times the bound given the "
    "covariates."
)
def _():
    bound = means(ROWS, "condition")[GIVEN]
    fixed = bound.max() < bound.min() * (1.0 + 1e-9)
    return [fixed, rounds_to(mean("condition", 16.0, "LF", GIVEN), "1.44")]


@says("At κ = 8, FedRep and AltGDmin have 1.5 and 1.4 times the risk of LF after their 300 rounds.")
def _():
    return [
        STUDY["ROUNDS"] == 300,
        rounds_to(mean("condition", 8.0, "FedRep", "LF"), "1.5"),
        rounds_to(mean("condition", 8.0, "AltGDmin", "LF"), "1.4"),
        ahead("condition", 8.0, "LF", "FedRep"), ahead("condition", 8.0, "LF", "AltGDmin"),
    ]  # fmt: skip


@says(
    "At κ = 16 their risk after these rounds is below that of LF, by factors of 1.15 and 1.07: "
    "early stopping regularizes, too."
)
def _():
    return [
        rounds_to(mean("condition", 16.0, "LF", "FedRep"), "1.15"),
        rounds_to(mean("condition", 16.0, "LF", "AltGDmin"), "1.07"),
        ahead("condition", 16.0, "FedRep", "LF"), ahead("condition", 16.0, "AltGDmin", "LF"),
    ]  # fmt: skip


@says(
    "At k = 12, AltMin has more than twice LF's risk on average, but not beyond chance: only a few"
    " draws end in a worse minimum."
)
def _():
    draws = along(ROWS, "k", STUDY["BASE"]).query("k == 12").pivot(
        index="replicate", columns="method", values="population_risk"
    )  # fmt: skip
    poorer = (draws["AltMin"] > 1.1 * draws["LF"]).mean()
    return [
        mean("k", 12, "AltMin", "LF") > 2.0, level("k", 12, "AltMin", "LF"), 0.0 < poorer <= 0.25,
    ]  # fmt: skip


def test_all_sentences_of_the_page_are_checked_and_no_others():
    assert sorted(bullets()) == sorted(CHECKS)


def test_the_sentences_hold_of_the_recorded_rows():
    held = {sentence: list(check()) for sentence, check in CHECKS.items()}
    assert {sentence: each for sentence, each in held.items() if not (each and all(each))} == {}


def test_the_page_names_the_setting_of_the_study():
    base = STUDY["BASE"]
    for name, text in {"n": "n = {:g}", "m": "m = {:g}", "d": "d = {:g}", "k": "k = {:g}",
                       "condition": "κ = {:g}", "noise": "σ = {:g}"}.items():  # fmt: skip
        assert text.format(base[name]) in PAGE
    assert ROWS["replicate"].nunique() == 20
