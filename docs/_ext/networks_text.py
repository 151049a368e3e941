"""``{remarks} TABLE / COLUMN`` is text on a column of a table of networks, checked by its record.

In the text ``[[FedRep]]`` stands for what is measured here, ``[[paper FedRep]]`` for what the paper
prints, ``[[FedRep > FedPer]]`` for a sentence that the one is above the other, by how much, and
``[[FedRep ~ Local]]`` for one that the seeds do not distinguish them. It is an error where the
seeds do not support it. A column is given by what labels it, as in
``deep.fedrep_table1 / cifar10_16 / 100 / 2``.
"""

import re
from functools import cache
from pathlib import Path

import pandas as pd
from networks_page import printed

import linrep
from linrep.figures import experiment
from linrep.figures.record import read
from linrep.figures.reproduction import read_record
from linrep.figures.summaries import FEWEST, differences
from linrep.report.sphinx import Markdown

FIGURES = Path(linrep.__file__).parents[1] / "figures" / "networks"
_QUOTED = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
LEVEL = 0.05  # of all pairs of methods of a column together


def filled(column, text):
    """Return a text with what stands in brackets in the place of them."""
    name, *labels = column.split(" / ")
    return _QUOTED.sub(lambda match: said(name, labels, " ".join(match[1].split())), text)


def said(name, labels, quoted):
    """Return what a record says of a method of a column, or of two.

    Parameters
    ----------
    name : str
        Of the table.
    labels : list of str
        Of the column.
    quoted : str
        What stands in brackets.

    Raises
    ------
    ValueError
        If the record does not support it.
    """
    if pair := re.fullmatch(r"(.*) ([>~]) (.*)", quoted):
        return _compared(name, labels, *pair.groups())
    method = quoted.removeprefix("paper ")
    line = _line(name, [*labels, method])
    if method == quoted:
        value = next(line[each] for each in ("accuracy", "error") if each in line)
        return f"{value['value']:.1f}"
    if (number := line.get("paper", {}).get("value")) is None:
        raise ValueError(f"{name}: the paper prints no number of {method}")
    error = line.get("paper_error", {}).get("value")
    return printed(number, error)


def _compared(name, labels, first, sign, second):
    found = _pairs(name, *labels).get((first, second))
    if found is None:
        raise ValueError(f"{name}: no column {' / '.join(labels)} with {first} and {second}")
    by, p, seeds = found
    if seeds < FEWEST:
        raise ValueError(
            f"{name}: {seeds} seeds say nothing about the order of {first} and {second}"
        )
    if not (by > 0.0 and p <= LEVEL if sign == ">" else p > LEVEL):
        raise ValueError(
            f"{name}: {first} {sign} {second} is not what {seeds} seeds say: {by:+.1f} points, "
            f"p = {p:.3f}"
        )
    how = f"p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}, {seeds} seeds"
    if sign == ">":
        return f"{first} is {by:.1f} points above {second} ({how})"
    return f"{first} and {second} are not distinguishable ({by:+.1f} points, {how})"


@cache
def _summary(name):
    path = FIGURES / f"{name}.json"
    if not path.is_file():
        raise ValueError(f"{name} is not recorded")
    return read(path)["result"]["summary"]


def _line(name, labels):
    """Return a line of a summary."""
    summary = _summary(name)
    for line in summary["lines"]:
        if [str(line[label]) for label in summary["labels"]] == labels:
            return line
    raise ValueError(f"{name}: there is no line {' / '.join(labels)}")


@cache
def _by_seed(name):
    """Return the summary of each replicate of a figure."""
    item, (_, rows) = experiment.load(name).at(), read_record(FIGURES, name)
    return pd.concat(
        item.summary(own).reset_index().assign(replicate=replicate)
        for replicate, own in rows.groupby("replicate")
    )


@cache
def _pairs(name, *column):
    """Return difference, p and number of seeds of each pair of methods of a column.

    By Student's paired tests with Holm's correction, as the summary itself has them.
    """
    labels = [label for label in _summary(name)["labels"] if label != "method"]
    table = _by_seed(name)
    here = (table[labels].astype(str) == list(column)).all(axis=1)
    value = "accuracy" if "accuracy" in table else "error"
    pairs = {}
    for each in differences(table[here], value=value).itertuples():
        pairs[each.first, each.second] = (each.difference, each.p, each.replicates)
        pairs[each.second, each.first] = (-each.difference, each.p, each.replicates)
    return pairs


class Remarks(Markdown):
    has_content = True
    final_argument_whitespace = True

    def lines(self, column):
        name, _, _ = column.partition(" / ")
        self.env.note_dependency(str(FIGURES / f"{name}.json"))
        try:
            return filled(column, "\n".join(self.content)).splitlines()
        except ValueError as error:
            raise self.error(str(error)) from None


def setup(app):
    app.add_directive("remarks", Remarks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
