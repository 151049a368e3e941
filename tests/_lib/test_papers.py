"""Which papers there are: linrep's own, and those that packages name in their entry points."""

import sys

import pytest

from linrep._lib import papers
from linrep.claims import contents
from linrep.claims.prose import findings, proofs
from linrep.cli import names


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return what puts a package with an entry point on the path: which papers there are then."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(papers, "_found", papers._found.__wrapped__)

    def install(line, package=None):
        info = tmp_path / f"p{len(list(tmp_path.iterdir()))}-1.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(f"Name: {info.name.partition('-')[0]}\nVersion: 1\n")
        info.joinpath("entry_points.txt").write_text(f"[{papers.GROUP}]\n{line}\n")
        if package:
            folder = tmp_path.joinpath(*package.split("."))
            folder.mkdir(parents=True)
            folder.joinpath("__init__.py").write_text("raise RuntimeError('imported')\n")

    return install


def test_linreps_own_come_first_and_have_a_ledger():
    found = list(papers.papers().values())
    assert [item.name for item in found[:4]] == papers.own()
    assert all(item.ledger.is_file() for item in found[:4])


def test_a_package_is_found_without_being_imported(install, tmp_path):
    install("one = one_paper", "one_paper")
    install("two = several.two", "several.two")
    found = papers.papers()
    assert list(found)[4:] == ["one", "two"]
    assert found["two"].folder == tmp_path / "several" / "two"
    assert found["two"].ledger == tmp_path / "several" / "two" / "ledger.json"
    assert not {"one_paper", "several"} & sys.modules.keys()
    assert papers.paper_of("one.lemma1") == "one"
    assert papers.named(["one.*", "two.lemma"]) == {"one", "two"}
    assert papers.named(["*.lemma"]) == set()


@pytest.mark.parametrize(
    ("line", "package", "why"),
    [
        ("fedrep = other", "other", "linrep.papers.fedrep is fedrep already"),
        ("a-b = other", "other", "no name of a paper"),
        ("gone = no.such", None, "there is no package no.such"),
    ],
)
def test_what_cannot_be_taken_is_told(install, line, package, why):
    install(line, package)
    (reason,) = papers.skipped().values()
    assert why in reason
    assert list(papers.papers()) == papers.own()


def test_what_was_read_of_other_papers_is_not_taken_for_these(monkeypatch):
    def known():
        return findings(), proofs(), contents.known()

    with monkeypatch.context() as patch:
        patch.setattr(papers, "_found", lambda: ({}, {}))
        patch.setattr(names, "claims", list)
        assert not any(known())
        assert not names.is_claim("flute.figure1")
    monkeypatch.setattr(names, "claims", list)
    assert all(known())
    assert names.is_claim("flute.figure1")
