"""Findings convince: the gravest first, a short counterexample that prints what it shows."""

import ast
import re

import pytest
from markdown_it import MarkdownIt

from linrep.claims import HOLDS, claims, ledger
from linrep.claims.evidence import STRENGTHS
from linrep.claims.findings import PATHS, SEVERITIES, findings
from linrep.claims.proofs import proofs
from linrep.claims.sections import sections

SECTIONS = [(path.parent.name, item) for path in PATHS for item in sections(path)]
LONGEST = 15  # lines of code
EACH = pytest.mark.parametrize(
    ("paper", "section"), SECTIONS, ids=lambda item: item.ids[0] if hasattr(item, "ids") else item
)


STRENGTH = rf"({'|'.join(STRENGTHS)})\b"
IDS = r"`[\w.-]+`(?:(?:,| and|, and) `[\w.-]+`)*"  # of several statements
VERDICTS = {name: entry.verdict for name, entry in ledger.recorded().items()}
WRONG = [
    (paper, item)
    for paper, item in SECTIONS
    if any(VERDICTS.get(name, HOLDS) != HOLDS for name in item.ids)
]


def blocks(section):
    return re.findall(r"```python\n(.*?)```", section.text, re.DOTALL)


def imported(tree):
    """Yield the dotted names that code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{item.name}" for item in node.names)


@EACH
def test_a_reproduction_is_short_prints_and_is_made_of_public_names(paper, section):
    assert blocks(section)
    for block in blocks(section):
        assert len([line for line in block.splitlines() if line.strip()]) <= LONGEST
        tree = ast.parse(block)
        assert "print" in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for name in imported(tree):
            assert not any(part.startswith("_") for part in name.split(".")), name


@pytest.mark.parametrize(
    ("paper", "section"), WRONG, ids=lambda item: item.ids[0] if hasattr(item, "ids") else item
)
def test_a_finding_says_what_it_does_not_touch_and_what_is_right(paper, section):
    assert "**Unaffected**" in section.text
    known = claims()
    for name in section.ids:
        for item in known.values():
            if item.corrects == name:
                assert item.id in section.text, item.id


@pytest.mark.parametrize(
    ("paper", "section"), WRONG, ids=lambda item: item.ids[0] if hasattr(item, "ids") else item
)
def test_the_strength_that_a_finding_names_is_the_recorded_one(paper, section):
    text = " ".join(section.text.split())
    (strength,) = re.findall(rf"The (?:failure|verdict)s? (?:is|are) {STRENGTH}", text)
    named = dict.fromkeys(section.ids, strength)
    for ids, other in re.findall(rf"(?:that|those) of ({IDS}) (?:is|are) {STRENGTH}", text):
        named |= dict.fromkeys(re.findall(r"`([^`]+)`", ids), other)
    for ids, other in re.findall(rf"({IDS}),(?: all)? {STRENGTH}", text):
        named |= dict.fromkeys(re.findall(r"`([^`]+)`", ids), other)
    recorded = ledger.recorded()
    assert named == {name: recorded[name].strength for name in named}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.parent.name)
def test_the_gravest_comes_first(path):
    found = findings()
    wrong = [item for paper, item in WRONG if paper == path.parent.name]
    grave = [SEVERITIES.index(found[item.ids[0]].severity) for item in wrong]
    assert grave == sorted(grave, reverse=True)


def test_what_is_claimed_of_a_paper_stands_on_its_page():
    for paper, section in SECTIONS:
        assert all(name.startswith(f"{paper}.") for name in section.ids)


def test_stars_of_symbols_are_no_emphasis():
    """Emphasis is for the beginnings of paragraphs: an optimum's star and an index are escaped."""
    for section in (*findings().values(), *proofs().values()):
        for inline in MarkdownIt().parse(section.text):
            tokens = inline.children or ()
            for place, token in enumerate(tokens):
                if token.type == "em_open":
                    before = "".join(each.content for each in tokens[:place][-1:])
                    assert before == "", section.ids
                    assert tokens[place + 1].content.endswith("."), section.ids
