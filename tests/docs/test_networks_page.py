"""The page of networks says what a record has, and what it lacks."""

import re
import types
from pathlib import Path

import pandas as pd
import pytest

from linrep.figures import experiment
from linrep.figures.reproduction import read_record
from linrep.figures.summaries import FEWEST

ROOT = Path(__file__).parents[2]
LABELS = ["data", "n", "method"]


@pytest.fixture
def page(extension):
    return extension("networks_page")


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
            "settings": {"cells": cells, "replicates": 3, "absent": 5},
            "summary": {"labels": LABELS, "lines": lines},
        },
        "provenance": {"data": {"x": {"sha256": "ab" * 32, "about": "Re-encoded."}}},
    }


LINES = [
    line("A", 50.04, 80.0, "lower"),
    line("B", 70.0, 75.5, "highest"),
    line("C", 69.0, None, "not distinguishable", ends=()),
    line("E", 68.0, None, "not distinguishable", ends=()),
]


def test_numbers_stand_beside_the_papers_with_the_highest_first(page):
    text = page.entry(manifest(LINES), "x.svg")
    rows = [each for each in text if each.startswith("|")]
    assert rows[2:] == [
        "| B | 75.50 | 70.0 | 1.0 to 2.0 | 3 | highest |",
        "| C | – | 69.0 | – | 3 | not distinguishable |",
        "| E | – | 68.0 | – | 3 | not distinguishable |",
        "| A | 80.00 | 50.0 | 1.0 to 2.0 | 3 | lower |",
    ]
    rows = pd.DataFrame({"method": ["A", "A", "B"], "replicate": [0, 1, 0], "round": 1})
    text = page.entry(manifest(LINES), "x.svg", pd.concat([rows, rows.assign(round=2)]))
    assert text[0] == "**3 of 8 runs.**"
    assert "Data `x`, SHA-256 abababababab…: Re-encoded." in text
    assert any("Of &lt;3&gt; seeds." in each for each in text)


def test_where_the_order_differs_and_what_has_not_run_is_said(page):
    text = "\n".join(page.entry(manifest(LINES, sizes=(10, 20)), "x.svg"))
    assert (
        "Highest in the paper among these: A; here B, from which the seeds do not distinguish C; "
        "E. Above B in the paper and below it here: A." in text
    )
    assert "*Not run:* D." in text
    assert "*Not run at all:* x, n = 20." in text
    agreeing = "\n".join(
        page.entry(manifest([*LINES[1:], line("D", 1.0, 70.0, "lower")], ("B", "C", "D")), "x.svg")
    )
    # A number is the same whether it is whole or not, and rows that a script renames are found.
    whole = manifest([each | {"n": 10.0} for each in LINES])
    assert not any("Not run at all" in each for each in page.entry(whole, ""))
    other = page.entry(manifest(LINES), "", None, lambda rows: rows.assign(data="y"))
    assert "*Not run at all:* y, n = 10." in other
    assert "below it here" not in agreeing
    assert "Not run" not in agreeing


def test_one_seed_claims_no_order_and_highest_is_said_only_where_one_could_be_tested(page):
    few = [line("A", 50.0, 80.0, "highest"), line("B", 40.0, 75.5, "too few replicates")]
    assert page.remarks(few) == [
        "Highest in the paper among these: A; here A, of too few seeds to claim an order."
    ]
    assert all(row.endswith("| too few replicates |") for row in page.table(few)[2:])
    assert page.table([*few, line("C", 1.0, None, "lower")])[2].endswith("| highest |")


def test_a_row_has_the_step_sizes_and_what_a_paper_prints_after_its_mean(page):
    rows = page.table([each | {"lr": {"value": "0.1, 0.01"}} for each in LINES])
    assert rows[0].endswith("| order | step sizes chosen |")
    assert rows[2] == "| B | 75.50 | 70.0 | 1.0 to 2.0 | 3 | highest | 0.1, 0.01 |"
    for error, printed in ((1.49, "1.49"), (0.13, "0.13"), (0.013, "0.013")):
        own = line("A", 50.04, 80.0, "lower") | {"paper_error": {"value": error}}
        row = page.table([own])[-1]
        assert row == f"| A | 80.00 ± {printed} | 50.0 | 1.0 to 2.0 | 3 | lower |"


def test_columns_are_called_as_in_pictures(page):
    line = {"data": "cifar10_16, augmented", "n": 100, "per_alphabet": 4.0}
    assert page._title(line, [*line]) == "CIFAR-10, 16 px, augmented, n = 100, per alphabet = 4"


def test_how_long_runs_took_counts_each_run_once(page):
    runs = pd.DataFrame({"method": ["A", "A", "B"], "replicate": [0, 1, 0], "device": "cpu",
                         "trained": [1800.0, 3600.0, 5400.0]})  # fmt: skip
    rounds = runs.merge(pd.DataFrame({"round": range(5)}), how="cross")

    def taken(rows):
        return page.time_taken(page.runs_of(manifest(LINES)["result"], rows))

    said = taken(rounds)
    assert said.startswith("3 runs, which trained for 3.0 hours together")
    assert said == taken(runs)
    assert "30 minutes" in taken(rounds[:5])
    by_code = rounds.assign(commit=rounds["method"].map({"A": "0f0f0f0", "B": "1234567"}))
    coded = taken(by_code)
    assert coded == f"{said[:-1]}, by the code of 0f0f0f0 (2), 1234567 (1)."
    text = "\n".join(page.entry(manifest(LINES), "x.svg", rounds.assign(data="x", n=10)))
    assert said in text
    # Also by what labels no line of the summary.
    both = manifest(LINES)
    for cell in both["result"]["settings"]["cells"]:
        cell["augment"] = False
    rows = pd.concat([rounds.assign(data="x", n=10, augment=each) for each in (False, True)])
    assert any("6 runs, which trained for 6.0 hours" in line for line in page.entry(both, "", rows))
    unknown = taken(by_code.replace("0f0f0f0", None))
    assert unknown.endswith("by the code of an unknown commit (2), 1234567 (1).")


RECORDS = sorted((ROOT / "figures/networks").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_record_has_its_entry(page, path):
    manifest, rows = read_record(path.parent, path.stem)
    item = experiment.load(path.stem).at()
    text = page.entry(manifest, "x.svg", rows, page.renamed(path.stem))
    done, meant = map(int, re.fullmatch(r"\*\*(\d+) of (\d+) runs\.\*\*", text[0]).groups())
    assert 0 < done <= meant == len(list(item.cells(False))) * item.replicates
    assert manifest["title"] == item.title


TEXT = (ROOT / "docs/networks.md").read_text("utf-8")


def test_the_page_has_every_table_and_figure_of_a_paper_and_the_share_that_has_run(page):
    scripts = [name for name in experiment.available() if name.startswith("deep.")]
    scripts.remove("deep.digits")
    assert set(re.findall(r"^```\{networks\} (\S+)$", TEXT, re.M)) == set(scripts)
    here = types.SimpleNamespace(env=types.SimpleNamespace(note_dependency=lambda path: None))
    names = [row.split(" | ")[0].removeprefix("| ") for row in page.Run.lines(here)[2:]]
    assert names == [experiment.load(name).title.partition(":")[0] for name in sorted(scripts)]
    assert all(re.fullmatch(r"\S+, (Table|Figure) \d", name) for name in names)


REMARKS = re.findall(r"^```\{remarks\} (.*?)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COLUMN = "deep.fedrep_table1 / cifar10_16 / 100 / 2"
AUGMENTED = "deep.fedrep_table1 / cifar10_16, augmented / 100 / 2"


@pytest.fixture
def text(extension):
    return extension("networks_text")


def test_the_records_support_what_the_page_says(text):
    assert REMARKS
    for column, remarks in REMARKS:
        assert "[[" in remarks
        assert "[[" not in text.filled(column, remarks)


def test_no_accuracy_is_written_by_hand():
    by_hand = re.sub(r"\[\[.*?\]\]", "", TEXT, flags=re.DOTALL)
    assert re.findall(r"\b\d\d\.\d+", by_hand) == []


def test_numbers_and_orders_are_those_of_the_record(text):
    line = text._line("deep.fedrep_table1", ["cifar10_16", "100", "2", "FedRep"])
    accuracy = f"{line['accuracy']['value']:.1f}"
    assert text.filled(COLUMN, "[[FedRep]] and [[paper\nFedRep]]") == f"{accuracy} and 87.70"
    said = text.filled(COLUMN, "[[FedRep > FedPer]]")
    assert re.fullmatch(r"FedRep is \d+\.\d points above FedPer \(p [=<] 0\.\d+, 5 seeds\)", said)


def test_the_tests_in_the_text_are_those_of_the_table(text):
    name, *labels = COLUMN.split(" / ")
    for line in text._summary(name)["lines"]:
        if [str(line[each]) for each in ("data", "n", "classes")] == labels:
            sign = {"lower": ">", "not distinguishable": "~"}.get(line["order"]["value"])
            assert sign is None or text.filled(COLUMN, f"[[FedRep {sign} {line['method']}]]")


@pytest.mark.parametrize(
    ("column", "quoted", "said"),
    [
        (COLUMN, "FedPer > FedRep", "is not what 5 seeds say"),
        (COLUMN, "FedRep ~ FedPer", "is not what 5 seeds say"),
        (COLUMN, "FedRep > Local", "is not what 5 seeds say"),
        (COLUMN, "FedRep > FedNone", "with FedRep and FedNone"),
        (AUGMENTED, "FedRep ~ FedPer", "2 seeds say nothing"),
        (COLUMN, "FedNone", "there is no line"),
        (COLUMN, "paper FedBABU", "the paper prints no number"),
        ("deep.nothing / x", "FedRep", "deep.nothing is not recorded"),
    ],
)
def test_what_the_record_does_not_support_is_an_error(text, column, quoted, said):
    with pytest.raises(ValueError, match=said):
        text.filled(column, f"So [[{quoted}]].")


def test_columns_of_one_or_two_seeds_claim_no_order(text):
    seen = 0
    for column, remarks in REMARKS:
        name, *labels = column.split(" / ")
        seeds = [
            each["replicates"]["value"]
            for each in text._summary(name)["lines"]
            if [str(each[label]) for label in text._summary(name)["labels"]][:-1] == labels
        ]
        assert seeds, column
        if max(seeds) >= FEWEST:
            continue
        seen += 1
        for sentence in re.split(r"\.\s", " ".join(remarks.split())):
            claim = re.search("[Aa]s (in the paper|there)|above|below|grow|higher|better", sentence)
            papers = re.search("^In the paper |which the paper has", sentence)
            assert claim is None or papers, sentence
    assert seen


@pytest.mark.parametrize("name", ["deep.pflmf_table1", "deep.pflmf_table2"])
def test_the_step_size_that_was_chosen_is_the_one_the_page_names(name):
    assert "the largest of the paper's four step sizes, 0.1, was chosen" in TEXT
    rows = pd.read_parquet(ROOT / "figures" / "networks" / f"{name}.parquet")
    assert set(rows["lr"]) == {0.1}
