"""Numbers that the pages on figures quote are those of the record.

A comment after a paragraph or before a table names them as ``linrep figures --check`` does::

    <!-- fedrep.figure1: 10, FedRep -> 0.00018; 4, FedRep best -> 18 -->

says that the text above has 0.00018 where the record, rounded like that, has it too. Before a table
it names the number in each column (nothing for a column that is none), with the row's cells of
other columns in braces::

    <!-- fedrep.digits: ; {m}, FedRep, 2, mean; {m}, FedRep, 5, mean -->
"""

import math
import re
from pathlib import Path

import pytest

from linrep.figures import record, reproduction

ROOT = Path(__file__).parents[2]
PAGES = ("figures", "atlas", "learning-curves", "paper/note")
COMMENT = re.compile(r"<!-- ([a-z]+\.\w+): (.*?) -->", re.DOTALL)
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:·10[⁻⁰¹²³⁴-⁹]+)?")
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def numbers(name):
    """Return the recorded numbers of a figure by their names."""
    manifest, _ = reproduction.read_record(ROOT / "figures", name)
    found = record._numbers(manifest["result"])
    return {record._name(key, column): entry["value"] for key, column, entry in found}


def agrees(text, value):
    """Tell whether a number, rounded as the text has it, is the recorded one."""
    if isinstance(value, str) and value != "inf":  # "18 of 20", "12/3/5"
        quoted, known = (re.findall(r"\d+", each) for each in (text, value))
        return quoted[:1] == known[:1] if " of " in value else quoted == known
    if text.startswith(("not in", ">")) or value == "inf":
        return text.startswith(("not in", ">")) and value == "inf"
    shown = NUMBER.search(text)
    if shown is None or value is None:
        return False
    digits, _, power = shown[0].replace("−", "-").partition("·10")
    unit = 10.0 ** int(power.translate(RAISED)) if power else 1.0
    step = 10.0 ** -len(digits.partition(".")[2]) * unit
    return math.isclose(float(digits) * unit, value, rel_tol=1e-9, abs_tol=0.5000001 * step)


def table_after(text, place):
    """Return header and rows of the table that begins at a place of a text, or None."""
    lines = []
    for line in text[place:].lstrip("\n").splitlines():
        if not line.strip().startswith("|"):
            break
        lines.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return (lines[0], lines[2:]) if len(lines) > 2 else None


def quotations(page):
    """Yield figure, name of the number, and what a page has for it."""
    page_text, last = (ROOT / "docs" / f"{page}.md").read_text("utf-8"), 0
    for comment in COMMENT.finditer(page_text):
        figure, entries = comment[1], [" ".join(e.split()) for e in comment[2].split(";")]
        if all("->" in entry for entry in entries):
            above = " ".join(page_text[last : comment.start()].split())
            for entry in entries:
                name, _, text = entry.partition(" -> ")
                yield figure, name, text if text in above else f"{text} (not in the text above)"
        else:
            header, rows = table_after(page_text, comment.end())
            above = {}
            for row in rows:
                cells = {
                    key: cell or above.get(key, "") for key, cell in zip(header, row, strict=True)
                }
                above = cells
                for template, cell in zip(entries, row, strict=False):
                    if template:
                        name = re.sub(r"\{(.+?)\}", lambda key, own=cells: own[key[1]], template)
                        yield figure, name, cell
        last = comment.end()


QUOTED = [each for page in PAGES for each in quotations(page)]


def test_quoted_numbers_are_the_recorded_ones():
    recorded = {figure: numbers(figure) for figure in {figure for figure, _, _ in QUOTED}}
    wrong = [
        f"{figure}, {name}: the page has {text}, the record {recorded[figure].get(name, 'nothing')}"
        for figure, name, text in QUOTED
        if name not in recorded[figure] or not agrees(text, recorded[figure][name])
    ]
    assert wrong == []
    assert len(QUOTED) > 200


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("0.011", 0.01149, True),
        ("0.011", 0.01151, False),
        ("8·10⁻⁷", 8.4e-7, True),
        ("8·10⁻⁷", 8.6e-7, False),
        ("−0.98 [−0.99, −0.96]", -0.9812, True),
        ("73", 73.5, True),
        ("not in 500", "inf", True),
        ("73", "inf", False),
        ("18", "18 of 20", True),
        ("18 (8·10⁻⁷)", "18 of 20", True),
        ("19", "18 of 20", False),
        ("10 won, 7 tied, 3 lost", "10/7/3", True),
        ("10 won, 7 tied", "10/3/7", False),
        ("5", None, False),
        ("none", 0.5, False),
    ],
)
def test_how_numbers_are_compared(text, value, expected):
    assert agrees(text, value) is expected
