"""Every sentence of docs/estimators.md that has a number or a comparison, on the recorded rows."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linrep.experiment import load

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


def numbers_of(sentence):
    return [
        float(each.replace("−", "-")) for each in re.findall(r"(?<![\w/])\d+(?:\.\d+)?", sentence)
    ]
