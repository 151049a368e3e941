"""What docs/paper says is what the ledger and the record say, and its figure is drawn from them."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from linrep.claims import claims, ledger
from tests.tools import quoted

FOLDER = Path(__file__).parents[2] / "docs" / "paper"
TEXT = " ".join((FOLDER / "paper.md").read_text("utf-8").split())


@pytest.fixture(scope="module")
def figure():
    spec = importlib.util.spec_from_file_location("figure_of_the_paper", FOLDER / "figure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counts(paper=None, corrected=False):
    """Count the verdicts of printed statements, or of corrected forms."""
    recorded = ledger.recorded()
    return Counter(
        recorded[item.id].verdict
        for item in claims().values()
        if paper in (None, item.paper) and item.form == ("corrected" if corrected else "printed")
    )


def test_verdicts_are_those_of_the_ledger():
    found = counts()
    verdicts = ("holds", "misprint", "depends on the reading", "fails", "vacuous", "undecided")
    present = [found[verdict] for verdict in verdicts if found[verdict]]
    assert quoted([found.total(), *present], TEXT)
    forms = counts(corrected=True)
    assert quoted([forms.total(), forms["holds"]], TEXT)
    papers = map(counts, ("fedrep", "flute", "perfedsi", "pflmf"))
    assert quoted([each[verdict] for each in papers for verdict in ("holds", "fails")], TEXT)


def test_ratios_are_those_of_the_record(figure):
    printed = figure.ratios(figure.PRINTED)
    shown = [f"{printed[1.0]:.2g}", f"{printed[0.1]:.2g}", 0.1, f"{printed[0.02]:.3g}"]
    assert quoted(shown, TEXT)
    assert max(figure.ratios(figure.CORRECTED).values()) < 1.0  # no measurement exceeds it


def test_the_figure_is_of_the_record(figure):
    with Image.open(figure.PICTURE) as picture:
        assert picture.text["Description"] == figure.description()


def test_every_reference_is_cited_and_every_citation_is_there():
    note = (FOLDER / "note.md").read_text("utf-8")
    cited = set(re.findall(r"\[@(\w+)\]", TEXT + note))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (FOLDER / "paper.bib").read_text(), re.M))


def test_the_sections_are_those_that_joss_asks_for():
    sections = re.findall(r"^# (.+)$", (FOLDER / "paper.md").read_text("utf-8"), re.M)
    assert sections == [
        "Summary", "Statement of need", "State of the field", "Software design",
        "Research impact statement", "References",
    ]  # fmt: skip
