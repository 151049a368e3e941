"""Every sentence of docs/estimators.md that has a number or a comparison, on the recorded rows."""

import re
from functools import cache
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pandas as pd

from linrep.figures.experiment import load
from linrep.figures.summaries import along

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "estimators.md").read_text()
ROWS = pd.read_parquet(ROOT / "figures" / "literature.estimators.parquet")
STUDY = load("literature.estimators").summary.__globals__
MINIMIZERS = list(STUDY["KINDS"]["minimize the loss"][1])
HEADS_ALONE = [
    name for kind, (_, names) in STUDY["KINDS"].items() for name in names
    if kind not in ("convex", "alone")
]  # fmt: skip
GIVEN = "Cramér-Rao given the covariates"
SAME = [name for name in MINIMIZERS if name != "AltMin"]
THREE = ("nuclear norm", "FedRep", "AltGDmin")
FROM_SIX = (6, 9, 13, 20, 40, 80)


@cache
def risks(axis):
    return STUDY["means"](ROWS, axis)


@cache
def compared(axis, one, other):
    return STUDY["times"](ROWS, axis, one, other)


def mean(axis, value, method, other=None):
    """Return a mean risk, or the mean ratio of two."""
    if other is None:
        return risks(axis).loc[value, method]
    return compared(axis, method, other).loc[value, "times"]


def ahead(axis, values, one, other):
    """Tell whether a method is nearer to the truth than another beyond chance, at 95 %."""
    return (compared(axis, one, other).loc[list(values), "high"] < 1.0).all()


def level(axis, value, one, other):
    found = compared(axis, one, other).loc[value]
    return found["low"] < 1.0 < found["high"]


def bullets():
    """Return the sentences of the page's lists."""
    return [" ".join(each.split()) for each in re.findall(r"^- (.+(?:\n  .+)*)", PAGE, re.M)]


def rounds_to(value, text):
    """Tell whether a value is what the page has for it, rounded as it stands there."""
    _, _, decimals = text.partition(".")
    return f"{value:.{len(decimals)}f}" == text


def ranges(axis, values, one, other, low, high):
    """Tell whether the mean ratios of two have these as their smallest and largest."""
    found = [mean(axis, value, one, other) for value in values]
    return rounds_to(min(found), low) and rounds_to(max(found), high)


def falls(axis, first, last, method):
    """Return the quotient of two mean risks of a method."""
    return mean(axis, first, method) / mean(axis, last, method)


def worse(axis, value):
    """Return the share of draws in which AltMin ends well above LF."""
    draws = along(ROWS, axis, STUDY["BASE"]).query(f"{axis} == {value}")
    risks = draws.pivot(index="replicate", columns="method", values="population_risk")
    return (risks["AltMin"] > 1.1 * risks["LF"]).mean()


def diverged(axis, value):
    """Return in how many draws MAML diverges."""
    own = along(ROWS, axis, STUDY["BASE"])
    own = own[(own["method"] == "MAML") & (own[axis] == value)]
    return (own["stop_reason"] == "diverged").sum()


def quotients(axis, places, one, other):
    """Return the quotients of two methods' mean risks."""
    table = risks(axis).loc[places]
    return table[one] / table[other]


#: What has to hold of the rows for a sentence.
CHECKS = {
    "From m = 9 on, LF, AltGDmin, FedRep and FLUTE reach the same risk, within 1%: they minimize "
    "the same loss.": lambda: [
        SAME == ["LF", "AltGDmin", "FedRep", "FLUTE"],
        *(quotients("m", slice(9, None), *two).max() < 1.01 for two in permutations(SAME, 2)),
    ],
    "There their risk is within 8% of the Cramér–Rao bound given the covariates, a lower bound for "
    "every unbiased estimator.": lambda: [
        1.07 < quotients("m", slice(9, None), "FedRep", GIVEN).max() < 1.08,
        quotients("m", slice(9, None), "FedRep", GIVEN).min() > 1.0,
    ],
    "AltMin reaches the same risk from m = 13 on; at m = 9 it ends in a worse minimum in some "
    "draws.": lambda: [
        abs(quotients("m", slice(13, None), "AltMin", "LF") - 1.0).max() < 0.01,
        0.0 < worse("m", 9) < 0.5,
    ],
    "The nuclear norm's risk is 2.7 to 3.0 times FedRep's for m from 9 to 80.": lambda: [
        ranges("m", FROM_SIX[1:], "nuclear norm", "FedRep", "2.7", "3.0")
    ],
    "For m ≤ 4, that is, at most k + 1, every estimator that fits heads without a penalty is "
    "behind a ridge regression per client.": lambda: [
        ahead("m", (2, 3, 4), "ridge alone", name) for name in HEADS_ALONE
    ],
    "There the nuclear norm is ahead of all others.": lambda: [
        ahead("m", (2, 3, 4), "nuclear norm", name) for name in (*HEADS_ALONE, "ridge alone")
    ],
    "At m = 6, twice the rank, none of nuclear norm, FedRep and AltGDmin is ahead of another; all "
    "three are ahead of a ridge regression per client.": lambda: [
        *(level("m", 6, *two) for two in combinations(THREE, 2)),
        *(ahead("m", [6], name, "ridge alone") for name in THREE),
    ],
    "At m = 6, AltMinGD, which fits heads to half of the samples, as many as the rank, has a risk "
    "above 1000.": lambda: [mean("m", 6, "AltMinGD") > 1000.0, STUDY["BASE"]["k"] == 3],
    "Cross moments are ahead of the method of moments from m = 6 on, by a factor of 4.1 at "
    "m = 80.": lambda: [
        ahead("m", FROM_SIX, "cross moments", "method of moments"),
        rounds_to(mean("m", 80, "method of moments", "cross moments"), "4.1"),
    ],
    "They are ahead of the truncated moments from m = 6 on, by a factor of 1.02 to 1.10.": lambda: [
        ahead("m", FROM_SIX, "cross moments", "truncated"),
        ranges("m", FROM_SIX, "truncated", "cross moments", "1.02", "1.10"),
    ],
    "Their error does not vanish with the noise: from σ = 0.5 to σ = 0.03 their risk falls by a "
    "factor of 1.4, FedRep's by a factor of 282.": lambda: [
        rounds_to(falls("noise", 0.5, 0.03, "cross moments"), "1.4"),
        rounds_to(falls("noise", 0.5, 0.03, "FedRep"), "282"),
    ],
    "At σ = 2 cross moments are level with FedRep.": lambda: [
        level("noise", 2.0, "cross moments", "FedRep")
    ],
    "They are ahead of the nuclear norm for n ≥ 400 and for d ≤ 20, and behind it for n ≤ 100 and "
    "for d ≥ 80.": lambda: [
        ahead("n", (400, 800), "cross moments", "nuclear norm"),
        ahead("d", (10, 20), "cross moments", "nuclear norm"),
        ahead("n", (25, 50, 100), "nuclear norm", "cross moments"),
        ahead("d", (80, 160), "nuclear norm", "cross moments"),
    ],
    "ANIL has 2.8 times FedRep's risk at m = 20 and 1.8 times at m = 80.": lambda: [
        rounds_to(mean("m", 20, "ANIL", "FedRep"), "2.8"),
        rounds_to(mean("m", 80, "ANIL", "FedRep"), "1.8"),
    ],
    "Like that of cross moments, the errors of ANIL and MAML do not vanish with the noise: at σ = "
    "0.03 both have a risk of 0.049, FedRep of 0.0001.": lambda: [
        rounds_to(mean("noise", 0.03, "ANIL"), "0.049"),
        rounds_to(mean("noise", 0.03, "MAML"), "0.049"),
        rounds_to(mean("noise", 0.03, "FedRep"), "0.0001"),
        mean("noise", 0.03, "cross moments") > 0.049,
    ],
    "ANIL is ahead of cross moments for m ≥ 40 and for σ ≤ 0.25, and behind them for m from 6 to "
    "13.": lambda: [
        ahead("m", (40, 80), "ANIL", "cross moments"),
        ahead("noise", (0.03, 0.1, 0.25), "ANIL", "cross moments"),
        ahead("m", (6, 9, 13), "cross moments", "ANIL"),
    ],
    "With its default step size MAML diverges in all 20 draws at m = 2 and at k = 12, and in 7 at "
    "m = 4.": lambda: [diverged("m", 2) == diverged("k", 12) == 20, diverged("m", 4) == 7],
    "With 25 clients, LF has 3.4 times the risk of regression with known B*; with 800 clients, "
    "1.06 times.": lambda: [
        rounds_to(mean("n", 25, "LF", "B known"), "3.4"),
        rounds_to(mean("n", 800, "LF", "B known"), "1.06"),
    ],
    "From d = 10 to d = 160 FedRep's risk grows by a factor of 2.0, that of a ridge regression per "
    "client by a factor of 11.": lambda: [
        rounds_to(falls("d", 160, 10, "FedRep"), "2.0"),
        rounds_to(falls("d", 160, 10, "ridge alone"), "11"),
    ],
    "Splitting the samples is costly: AltMinGD has 3.8 times FedRep's risk at m = 13 and 2.1 times "
    "at m = 80.": lambda: [
        rounds_to(mean("m", 13, "AltMinGD", "FedRep"), "3.8"),
        rounds_to(mean("m", 80, "AltMinGD", "FedRep"), "2.1"),
    ],
    "The bound does not depend on κ, but at κ = 16 LF has 1.44 times the bound given the "
    "covariates.": lambda: [
        np.ptp(risks("condition")[GIVEN]) < 1e-9 * risks("condition")[GIVEN].min(),
        rounds_to(mean("condition", 16.0, "LF", GIVEN), "1.44"),
    ],
    "At κ = 8, FedRep and AltGDmin have 1.5 and 1.4 times the risk of LF after their 300 "
    "rounds.": lambda: [
        STUDY["ROUNDS"] == 300,
        rounds_to(mean("condition", 8.0, "FedRep", "LF"), "1.5"),
        rounds_to(mean("condition", 8.0, "AltGDmin", "LF"), "1.4"),
        *(ahead("condition", [8.0], "LF", name) for name in ("FedRep", "AltGDmin")),
    ],
    "At κ = 16 their risk after these rounds is below that of LF, by factors of 1.15 and 1.07: "
    "early stopping regularizes, too.": lambda: [
        rounds_to(mean("condition", 16.0, "LF", "FedRep"), "1.15"),
        rounds_to(mean("condition", 16.0, "LF", "AltGDmin"), "1.07"),
        *(ahead("condition", [16.0], name, "LF") for name in ("FedRep", "AltGDmin")),
    ],
    "At k = 12, AltMin has more than twice LF's risk on average, but not beyond chance: only a few "
    "draws end in a worse minimum.": lambda: [
        mean("k", 12, "AltMin", "LF") > 2.0,
        level("k", 12, "AltMin", "LF"),
        0.0 < worse("k", 12) <= 0.25,
    ],
}


def test_all_sentences_of_the_page_are_checked_and_no_others():
    assert sorted(bullets()) == sorted(CHECKS)


def test_the_sentences_hold_of_the_recorded_rows():
    held = {sentence: check() for sentence, check in CHECKS.items()}
    assert {sentence: each for sentence, each in held.items() if not (each and all(each))} == {}


def test_the_page_names_the_setting_of_the_study():
    base = STUDY["BASE"]
    for name, text in {"n": "n = {:g}", "m": "m = {:g}", "d": "d = {:g}", "k": "k = {:g}",
                       "condition": "κ = {:g}", "noise": "σ = {:g}"}.items():  # fmt: skip
        assert text.format(base[name]) in PAGE
    assert ROWS["replicate"].nunique() == 20
