"""The page on papers of one's own names all files of a paper, and all keys of its contents."""

import re

from linrep._lib import papers
from linrep.claims import contents
from tests.test_import import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text("utf-8")


def rows(head):
    """Return the cells of a table's rows, in which code may hold an escaped bar."""
    _, _, table = PAGE.partition(f"| {head} |")
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_keys_of_the_contents_are_those_that_are_read():
    found = {of: set() for of in ("the paper", "an item")}
    for key, of, _ in rows("key | of | what"):
        found[of].add(key.strip("`"))
    assert found == {"the paper": {*contents.TEXTS, "item"}, "an item": {*contents.KEYS}}


def test_the_files_are_those_that_the_papers_have():
    named = {name for cells in rows("file | what it has | who writes it")
            for name in re.findall(r"`([^`]+)`", cells[0])}  # fmt: skip
    there = {papers.LEDGER, "ledger.parquet", "figures/NAME.py", "*.py"}
    for name in papers.own():
        for path in (papers.FOLDER / name).iterdir():
            if path.name == "counterexamples":
                there.add("counterexamples/NAME.py")
            elif path.suffix != ".py" and path.name != "__pycache__":
                there.add(path.name + "/" * path.is_dir())
    assert named == there
