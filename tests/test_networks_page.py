"""The page of networks says what a record has, and what it lacks."""

import importlib
import re
from pathlib import Path

import pytest

from linrep import experiment

ROOT = Path(__file__).parents[1]
LABELS = ["data", "n", "method"]


@pytest.fixture
def page(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    return importlib.import_module("networks_page")


def line(method, accuracy, paper, order, n=10, ends=(1.0, 2.0)):
    values = {"replicates": 3, "accuracy": accuracy, "paper": paper, "order": order}
    values |= dict(zip(("low", "high"), ends, strict=False))
    return {"data": "x", "n": n, "method": method} | {
        name: {"value": value} for name, value in values.items()
    }


def manifest(lines, methods=("A", "B", "C", "D"), sizes=(10,)):
    cells = [{"data": "x", "n": n, "method": name} for n in sizes for name in methods]
    return {
        "title": "Title",
        "result": {
            "caption": "Of <3> seeds.",
            "settings": {"cells": cells},
            "summary": {"labels": LABELS, "lines": lines},
        },
        "provenance": {"data": {"x": {"sha256": "ab" * 32, "about": "Re-encoded."}}},
    }


LINES = [
    line("A", 50.04, 80.0, "lower"),
    line("B", 70.0, 75.5, "highest"),
    line("C", 69.0, None, "not distinguishable", ends=()),
]


def test_numbers_stand_beside_the_papers_with_the_highest_first(page):
    text = page.entry(manifest(LINES), "x.svg")
    rows = [each for each in text if each.startswith("|")]
    assert rows[2:] == [
        "| B | 75.50 | 70.0 | 1.0 to 2.0 | 3 | highest |",
        "| C | – | 69.0 | – | 3 | not distinguishable |",
        "| A | 80.00 | 50.0 | 1.0 to 2.0 | 3 | lower |",
    ]
    assert "Data `x`, SHA-256 abababababab…: Re-encoded." in text
    assert any("Of &lt;3&gt; seeds." in each for each in text)


def test_where_the_order_differs_and_what_has_not_run_is_said(page):
    text = "\n".join(page.entry(manifest(LINES, sizes=(10, 20)), "x.svg"))
    assert (
        "Highest in the paper among these: A; here B, from which the seeds do not distinguish C. "
        "Above B in the paper and below it here: A." in text
    )
    assert "*Not run:* D." in text
    assert "*Not run at all:* data = x, n = 20." in text
    agreeing = "\n".join(
        page.entry(manifest([*LINES[1:], line("D", 1.0, 70.0, "lower")], ("B", "C", "D")), "x.svg")
    )
    assert "below it here" not in agreeing
    assert "Not run" not in agreeing


def test_the_page_has_every_table_and_figure_of_a_paper():
    shown = re.findall(r"^```\{networks\} (\S+)$", (ROOT / "docs/networks.md").read_text(), re.M)
    assert set(shown) == {
        name for name in experiment.available() if name.startswith("deep.")
    } - {"deep.digits"}  # fmt: skip
