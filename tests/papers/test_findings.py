"""Findings convince: the gravest first, a short counterexample that prints what it shows."""

import ast
import re

from markdown_it import MarkdownIt

from linrep._lib.papers import files, own
from linrep.claims import DEPENDS, HOLDS, UNDECIDED, claims, ledger
from linrep.claims.counterexamples import among
from linrep.claims.evidence import STRENGTHS
from linrep.claims.prose import FINDINGS, SEVERITIES, findings, proofs, sections

PATHS = files(FINDINGS, own())
SECTIONS = [(path.parent.name, item) for path in PATHS for item in sections(path)]
LONGEST = 15  # lines of code
STRENGTH = rf"({'|'.join(STRENGTHS)})\b"
IDS = r"`[\w.-]+`(?:(?:,| and|, and) `[\w.-]+`)*"  # of several statements
VERDICTS = {name: entry.verdict for name, entry in ledger.recorded().items()}
WRONG = [
    (paper, item)
    for paper, item in SECTIONS
    if any(VERDICTS.get(name, HOLDS) != HOLDS for name in item.ids)
]


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_a_failure_is_shown_by_a_program_that_stands_once():
    """A file of fractions where there is one, which the page shows; else a block of the page.

    What depends on the reading is shown by its map.
    """
    wrong = {}
    for _, section in SECTIONS:
        if {VERDICTS.get(id) for id in section.ids} <= {DEPENDS, UNDECIDED}:
            continue
        programs = blocks(findings()[section.ids[0]].with_program())
        scripts = {path.read_text("utf-8").rstrip() for path in among(section.ids).values()}
        shown = {each.rstrip() for each in programs}
        if not programs or (not blocks(section.text) and shown != scripts):
            wrong[section.ids[0]] = len(programs)
    assert wrong == {}


def imported(tree):
    """Yield the dotted names that code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{item.name}" for item in node.names)


def faults_of_a_reproduction(block):
    """Yield what a block of code is not: short, printing, of public names."""
    if len([line for line in block.splitlines() if line.strip()]) > LONGEST:
        yield f"more than {LONGEST} lines"
    tree = ast.parse(block)
    if "print" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
        yield "prints nothing"
    for name in imported(tree):
        if any(part.startswith("_") for part in name.split(".")):
            yield f"imports {name}"


def test_a_reproduction_is_short_prints_and_is_made_of_public_names():
    faults = {
        section.ids[0]: [
            fault for block in blocks(section.text) for fault in faults_of_a_reproduction(block)
        ]
        for _, section in SECTIONS
    }
    assert {name: lines for name, lines in faults.items() if lines} == {}


def test_a_finding_says_what_it_does_not_touch_and_what_is_right():
    corrections = [(item.corrects, item.id) for item in claims().values() if item.corrects]
    lacking = {}
    for _, section in WRONG:
        right = [name for wrong, name in corrections if wrong in section.ids]
        lacking[section.ids[0]] = [
            words for words in ("**Unaffected**", *right) if words not in section.text
        ]
    assert lacking
    assert {name: words for name, words in lacking.items() if words} == {}


def strengths_named(section):
    """Return the strengths that a finding's text names, by the statement's id.

    Of statements that the text does not set apart it is the first one.
    """
    text = " ".join(section.text.split())
    first, *_ = re.findall(rf"\b(?:is|are) {STRENGTH}", text) or [""]
    named = dict.fromkeys(section.ids, first)
    for ids, other in re.findall(rf"({IDS})(?: is| are|,)(?: all)? {STRENGTH}", text):
        named |= dict.fromkeys(re.findall(r"`([^`]+)`", ids), other)
    return named


def test_the_strength_that_a_finding_names_is_the_recorded_one():
    recorded = ledger.recorded()
    wrong = {
        (name, strength)
        for _, section in WRONG
        for name, strength in strengths_named(section).items()
        if strength != recorded[name].strength
    }
    assert wrong == set()


def test_the_gravest_comes_first():
    grave = {path.parent.name: [] for path in PATHS}
    for paper, section in WRONG:
        grave[paper].append(SEVERITIES.index(findings()[section.ids[0]].severity))
    assert grave == {paper: sorted(places, reverse=True) for paper, places in grave.items()}


def test_what_is_claimed_of_a_paper_stands_on_its_page():
    elsewhere = [
        name
        for paper, section in SECTIONS
        for name in section.ids
        if not name.startswith(f"{paper}.")
    ]
    assert elsewhere == []


def test_stars_of_symbols_are_no_emphasis():
    """Emphasis is for the beginnings of paragraphs: an optimum's star and an index are escaped."""
    for section in (*findings().values(), *proofs().values()):
        for inline in MarkdownIt().parse(section.text):
            tokens = inline.children or ()
            for index, token in enumerate(tokens):
                if token.type == "em_open":
                    before = "".join(each.content for each in tokens[:index][-1:])
                    assert before == "", section.ids
                    assert tokens[index + 1].content.endswith("."), section.ids


def test_what_a_map_draws_is_named():
    unnamed = [
        (name, part)
        for name, entry in ledger.recorded().items()
        for part, found in entry.maps.items()
        if found.quantity == "left side"
    ]
    assert unnamed == []


COUNTS = re.compile(
    r"(\d+)( more)?( of (all |its |the )?\d+)?( decided)? (readings?|holds?|fails?)\b"
)


def test_readings_are_counted_by_the_map_alone():
    """A count that is typed is wrong as soon as the statement is recorded anew."""
    typed = {}
    for _, section in SECTIONS:
        maps = [found for name in section.ids for found in ledger.recorded()[name].maps.values()]
        if not maps:
            continue
        sizes = {len(found.verdicts) for found in maps}
        for found in maps:
            sizes.add(sum(found.counts().values()))
            for axis, values in found.axes.items():
                sizes |= {sum(found.counts({axis: [value]}).values()) for value in values}
        text = " ".join(re.sub(r"```.*?```", "", section.text, flags=re.DOTALL).split())
        shares = [
            each.group() for each in re.finditer(r"\d+ of (\d+)", text) if int(each[1]) in sizes
        ]
        counts = [each.group() for each in COUNTS.finditer(text)]
        typed |= {section.ids[0]: counts + shares} if counts + shares else {}
    assert typed == {}
