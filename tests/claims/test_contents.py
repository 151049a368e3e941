"""Papers side by side: the reader of their contents, and what is shown of them."""

import pytest
from click.testing import CliRunner

import linrep as lr
from linrep._lib.papers import own
from linrep.claims import claims, ledger
from linrep.claims import contents as side
from linrep.claims.pages import pages
from linrep.claims.record import Record
from linrep.cli import main
from tests.tools import complaint

SAMPLE = r"""
[[item]]
place = "Section 2.1, (4)"
says = "The loss is $\\frac1n \\sum_i f_i(B, w_i)$, a mean | over clients."
reason = "definition"

[[item]]
place = "Theorem 2"
says = "The moments start is at distance $\\tilde O(1/(mn))$."
claims = ["fedrep.theorem2"]

[[item]]
place = "Appendix A.1"
says = "Heads are a Q factor."
claims = ["fedrep.A1_W", "fedrep.A1_W.corrected"]

[[item]]
place = "Table 1"
says = "FedRep is ahead."
claims = ["fedrep.theorem1"]
networks = true
"""


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Let the contents of FedRep be a few lines, and other papers have none."""
    path = tmp_path / "fedrep" / side.FILE
    path.parent.mkdir()
    path.write_text(SAMPLE, encoding="utf-8")
    own = {"fedrep": side.read(path)}
    monkeypatch.setattr(side, "known", lambda: own)
    return own["fedrep"]


def test_items_are_read_in_their_order(sample):
    assert sample.paper == "fedrep"
    assert [item.place for item in sample] == [
        "Section 2.1, (4)", "Theorem 2", "Appendix A.1", "Table 1"
    ]  # fmt: skip
    assert [item.networks for item in sample] == [False, False, False, True]
    assert sample.items[0].reason == "definition"
    assert [claim.id for claim in sample.items[2].known()] == ["fedrep.A1_W"]


def test_what_is_shown_has_verdicts_corrected_forms_and_reasons(sample):
    recorded = ledger.recorded()
    for text in (str(sample), CliRunner().invoke(main, ["show", "fedrep"]).output):
        assert "no claim" in text
        assert "definition" in text
        assert "a mean | over clients" in text
        assert "$" not in text.partition("Section 2.1")[2]
        for name in ("fedrep.theorem2", "fedrep.A1_W.corrected"):
            (line,) = (line for line in text.splitlines() if f"· {name} " in f"{line} ")
            assert line.split()[0] == recorded[name].verdict
        assert "corrected: " in text
        assert text.index("Theorem 2: ") < text.index("Table 1: ")


def test_a_notebook_gets_a_table(sample):
    text = lr.contents("fedrep")._repr_markdown_()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(sample)
    assert all(line.replace(r"\|", "").count("|") == 4 for line in rows)
    assert r"$\tilde O(1/(mn))$" in text


def test_statements_on_networks_are_counted_apart(sample):
    own = [item for item in claims(["fedrep"]).values() if item.form == "printed"]
    found = side.of_paper("fedrep")
    assert side.of_networks("fedrep") == {"fedrep.theorem1"}
    assert found.kinds["networks"].total() == 1
    assert found.printed.total() == len(own) - 1
    wrong = [item.id for item in own if ledger.recorded()[item.id].verdict != "holds"]
    assert 0 < found.causes <= len(wrong)
    (row,) = (line for line in side.table({"fedrep": "One"}) if line.startswith("| One "))
    assert f"| {len(own) - 1} |" in row


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[item]\n", ("TOML",)),
        ("x = 1\n", ("[[item]]",)),
        ("item = [1]\n", ("[[item]]",)),
        ('[[item]]\nsays = "a"\nreason = "b"\n', ("item 1", "place")),
        ('[[item]]\nplace = "(1)"\nreason = "b"\n', ("item 1", "(1)", "says")),
        ('[[item]]\nplace = "(1)"\nsays = "a"\n', ("(1)", "claims", "reason")),
        (
            '[[item]]\nplace = "(1)"\nsays = "a"\nreason = "b"\nclaims = ["fedrep.lemma1"]\n',
            ("(1)", "claims", "reason"),
        ),
        ('[[item]]\nplace = "(1)"\nsays = "a"\nclaims = "fedrep.lemma1"\n', ("claims", "list")),
        ('[[item]]\nplace = "(1)"\nsays = "a"\nclaims = ["x", "x"]\n', ("claims", "once")),
        ('[[item]]\nplace = "(1)"\nsays = "a"\nclaim = ["x"]\n', ("claim", "claims")),
        ('[[item]]\nplace = "(1)"\nsays = "a $x"\nreason = "b"\n', ("$",)),
        ('[[item]]\nplace = "(1)"\nsays = "a"\nreason = "b"\nnetworks = 1\n', ("networks",)),
    ],
)
def test_what_is_wrong_with_a_file_is_told(text, words, tmp_path):
    path = tmp_path / "mine" / side.FILE
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with complaint(ValueError, "mine", *words):
        side.read(path)


def test_ids_and_papers_that_are_not_there_are_refused(sample):
    with complaint(ValueError, "fedrep.lemma99", "(9)"):
        side.Item("(9)", "One.", ("fedrep.lemma99",)).known()
    with complaint(ValueError, "fedrep", "fedrap"):
        lr.contents("fedrap")


def test_failures_under_a_corrected_hypothesis_are_counted():
    def item(id, change, verdict="fails", **more):
        changes = (f"Assumption 1 {change}",)
        return Record(id=id, verdict=verdict, changes=changes, **more)

    items = [
        item("mine.a", "corrected"), item("mine.b", "narrower"),
        item("mine.c", "corrected", "holds"), item("mine.d", "corrected", own=True),
        item("mine.e", "corrected", corrects="mine.a"),
    ]  # fmt: skip
    found = side.counts(items)
    assert found.under_corrected == 1
    assert {kind: each.total() for kind, each in found.kinds.items()} == {
        "printed": 3, "networks": 0, "corrected": 1, "own": 1,
    }  # fmt: skip
    row = dict(zip(side.heads(), found.cells(), strict=True))
    assert (row["statements"], row["fail"], row[side.UNDER_CORRECTED]) == ("3", "2", "1")


def test_all_tables_have_the_same_totals():
    recorded = ledger.recorded()
    row = side.counts(recorded.values()).cells()
    (total,) = (
        line
        for line in pages(recorded)["ledger.md"].splitlines()
        if line.startswith("| all |") and "hold" in line
    )
    assert total == f"| all | {' | '.join(row)} |"
    each = [side.of_paper(paper).cells() for paper in own()]
    assert row[0] == str(sum(int(cells[0]) for cells in each))
    assert repr(lr.statements).startswith(f"{row[0]} statements: ")


@pytest.mark.parametrize("paper", own())
def test_every_statement_is_in_its_papers_contents(paper):
    listed = {claim.id for item in side.contents(paper) for claim in item.known()}
    printed = {item.id for item in claims([paper]).values() if not item.corrects}
    assert sorted(printed - listed) == []
    assert {item.id for item in claims().values() if item.paper != paper} & listed == set()
