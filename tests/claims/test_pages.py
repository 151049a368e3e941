"""The ledger as it is hosted: addresses that stay, links that lead somewhere, JSON beside."""

import json
import re

import pytest

import linrep
from linrep._lib.papers import papers
from linrep.claims import claims, corrections, ledger, pages
from linrep.claims.claim import paper_of
from linrep.claims.ledger import earned
from linrep.claims.record import Record


@pytest.fixture(scope="module")
def made():
    return pages.pages(ledger.recorded())


def address(name):
    return f"ledger/{paper_of(name)}.md#{name}"


def test_each_entry_has_its_id_for_an_address(made):
    for name in ledger.recorded():
        page, _, anchor = address(name).partition("#")
        assert made[page].count(f'<div id="{anchor}"></div>') == 1
    count = sum(text.count('<div id="') for text in made.values())
    assert count == len(ledger.recorded())


def test_links_within_a_page_lead_somewhere(made):
    for name, text in made.items():
        labels = set(re.findall(r"^\((\S+)\)=$", text, re.M))
        links = set(re.findall(r"\]\(#(claim-[^)]+)\)", text))
        assert links <= labels, name
        assert bool(links) == name.startswith("ledger/")


def test_the_file_has_all_statements_with_their_results(made):
    entries = ledger.known()
    read = json.loads(pages.hosted(entries.values(), address))
    assert (read["schema"], read["version"]) == (pages.SCHEMA, linrep.__version__)
    assert set(read["statements"]) == set(claims())
    for name, item in read["statements"].items():
        page, _, anchor = item.pop("address").partition("#")
        assert f'id="{anchor}"' in made[page]
        assert item["plain"] == claims()[name].plain
        assert set(item["corrected_by"]) == {other.id for other in corrections(name)}
        assert earned(Record.from_json(item), papers()[entries[name].paper].folder) == entries[name]


def test_the_keys_are_those_of_the_schema():
    """With other keys, or another meaning of one, comes another schema."""
    read = json.loads(pages.hosted([Record(id="mine.bound")], address))
    assert (pages.SCHEMA, list(read), " ".join(read["statements"]["mine.bound"])) == (
        2,
        ["schema", "version", "statements"],
        "address id place plain latex hypotheses changes corrects own constants stated derivation "
        "verdict sentence "
        "measured predicted tightness low high n_trials level measured_is predicted_is quantity "
        "unit needed strength claimed ground asked map counterexample worst budget seed mode "
        "versions seconds looks corrected_by control expected stored missing kinds readings "
        "parts quick facts lines sensitivity",
    )
