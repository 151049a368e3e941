"""The ledger as it is hosted: addresses that stay, links that lead somewhere, JSON beside."""

import json
import re

import pytest

import linrep
from linrep.claims import claims, corrections, hosting, ledger
from linrep.claims.claim import paper_of
from linrep.claims.evidence import Result
from linrep.claims.grounds import earned


@pytest.fixture(scope="module")
def pages():
    return ledger.pages(claims(), ledger.recorded())


def address(name):
    return f"ledger/{paper_of(name)}.md#{name}"


def test_each_entry_has_its_id_for_an_address(pages):
    for name in ledger.recorded():
        page, _, anchor = address(name).partition("#")
        assert pages[page].count(f'<div id="{anchor}"></div>') == 1
    count = sum(text.count('<div id="') for text in pages.values())
    assert count == len(ledger.recorded())


def test_links_within_a_page_lead_somewhere(pages):
    for name, text in pages.items():
        labels = set(re.findall(r"^\((\S+)\)=$", text, re.M))
        links = set(re.findall(r"\]\(#(claim-[^)]+)\)", text))
        assert links <= labels, name
        assert bool(links) == name.startswith("ledger/")


def test_the_file_has_all_statements_with_their_results(pages):
    entries = ledger.recorded()
    items = [(item, entries.get(name)) for name, item in claims().items()]
    read = json.loads(hosting.text(items, address))
    assert (read["schema"], read["version"]) == (hosting.SCHEMA, linrep.__version__)
    assert set(read["statements"]) == set(claims())
    for name, item in read["statements"].items():
        page, _, anchor = item["address"].partition("#")
        assert f'id="{anchor}"' in pages[page]
        assert item["plain"] == claims()[name].plain
        assert item["corrected_by"] == [other.id for other in corrections(name)]
        assert earned(Result.from_json(item["result"])) == entries[name]
    unchecked = hosting.data([(claims()["fedrep.lemma1"], None)], address)
    assert unchecked["statements"]["fedrep.lemma1"]["result"] is None


def test_the_keys_are_those_of_the_schema():
    """With other keys, or another meaning of one, comes another schema."""
    made = hosting.data([(claims()["fedrep.lemma1"], None)], address)
    assert (hosting.SCHEMA, list(made), list(made["statements"]["fedrep.lemma1"])) == (
        1,
        ["schema", "version", "statements"],
        ["address", "place", "plain", "latex", "hypotheses", "corrects", "corrected_by", "result"],
    )
