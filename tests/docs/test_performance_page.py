"""The page on performance has the times of the record, and no others."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def page(extension):
    return extension("performance_page")


def record(load):
    times = [("linrep", 2.5e-5, 1e-6), ("NumPy", 1e-3, 4e-10), ("JAX", 2.0, 1e-3)]
    return {
        "machine": {"cores": 2, "load before": load, "load after": 1.0},
        "versions": {"numpy": "2.4"},
        "times": [
            {"bench": "A round", "size": "n = 3", "contender": name, "median": median, "iqr": iqr}
            for name, median, iqr in times
        ],
    }


def test_times_stand_beside_numpys(page):
    assert page.page(record(2.0)) == [
        "| | |",
        "| --- | --- |",
        "| cores | 2 |",
        "| load before | 2.0 |",
        "| load after | 1.0 |",
        "| numpy | 2.4 |",
        "",
        "## A round",
        "",
        "| | | median | interquartile range | × NumPy |",
        "| --- | --- | --: | --: | --: |",
        "| n = 3 | linrep | 25 µs | 1 µs | 40 |",
        "|  | NumPy | 1 ms | 0.4 ns |  |",
        "|  | JAX | 2 s | 1 ms | 0.0005 |",
    ]


def test_a_busy_machine_is_named(page):
    assert [line for line in page.page(record(2.1)) if "Others were at work" in line]


def test_the_record_makes_a_row_a_time(page):
    recorded = json.loads(page.RECORD.read_text("utf-8"))
    rows = [line for line in page.page(recorded) if line.count("|") == 6]
    assert len(rows) == len(recorded["times"]) + 2 * len({x["bench"] for x in recorded["times"]})


def test_no_time_is_typed():
    text = (DOCS / "performance.md").read_text("utf-8")
    assert re.findall(r"\d (?:s|ms|µs|ns|×|times)\b", text) == []
