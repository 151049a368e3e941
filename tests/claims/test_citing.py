"""BibTeX of the papers, and of places in them."""

import doctest
import re

import pytest
from click.testing import CliRunner

import linrep as lr
from linrep.claims import load_file, prose
from linrep.claims.record import of_claim
from linrep.cli import main
from tests.tools import complaint

PAPERS = ("fedrep", "flute", "perfedsi", "pflmf")
OWN = """
from linrep.claims import Cases, statement

@statement("mine.a_b", plain="One is one.", negative_control={"x": 2}, place="Lemma 1")
def check(budget, rng, *, x=1):
    yield Cases([(x, 1, {})])
"""


def call(*words, code=0):
    done = CliRunner().invoke(main, ["show", "--cite", *words])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("name", PAPERS)
def test_each_paper_has_one_complete_entry(name):
    text = prose.bibtex(name)
    assert text.count("@") == 1
    assert text.count("{") == text.count("}")
    assert {"title", "author", "year", "url"} <= set(re.findall(r"^  (\w+) +=", text, re.M))
    assert prose.noted(text, "Here").endswith(",\n  note = {Here},\n}\n")


def test_a_statement_is_cited_with_its_place():
    found = lr.statement("fedrep.theorem2.corrected").cite()
    place = lr.statement("fedrep.theorem2.corrected").place
    name = f"corrected form, fedrep.theorem2.corrected in linrep {lr.__version__}"
    assert found.startswith("@inproceedings{collins2021exploiting,\n")
    assert f"  note = {{{place} ({name})}},\n}}\n" in found
    assert doctest.testmod(prose).failed == 0


def test_a_claim_of_ones_own_is_cited_by_the_file_beside_it(tmp_path):
    file = tmp_path / "claims.py"
    file.write_text(OWN)
    own = of_claim(load_file(file)["mine.a_b"], {}, None, str(file))
    with complaint(ValueError, "mine has no paper.bib"):
        own.cite()
    (tmp_path / "paper.bib").write_text("@misc{mine,\n  title = {Mine}\n}\n")
    assert own.cite() == (
        "@misc{mine,\n  title = {Mine},\n"
        f"  note = {{Lemma 1 (mine.a\\_b in linrep {lr.__version__})}},\n}}\n"
    )


def test_the_command_prints_all_some_and_places():
    everything = call()
    assert everything.startswith("@software{linrep,")
    entries = re.findall(r"^@\w+\{(.*),$", everything, re.M)
    assert len(set(entries)) == len(entries) > 1 + len(PAPERS)
    assert everything.count("{") == everything.count("}")
    assert call("pflmf") == prose.bibtex("pflmf")
    several = call("fedrep.lemma[12]", "flute")
    assert several.count("@") == 2
    assert "fedrep.lemma1 in linrep" in several
    assert "fedrep.lemma2 in linrep" in several
    assert "did you mean fedrep.lemma5" in call("fedrep.lema5", code=2)
