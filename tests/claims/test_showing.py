"""How claims and evidence show themselves."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import linrep as lr
from linrep.claims import VERDICTS, Evidence, claims, contents, ledger, pages, pictures
from linrep.claims.contents import KINDS, counts
from linrep.claims.evidence import combine
from linrep.claims.verify import verify
from tests.tools import complaint


def evidence():
    points = pd.DataFrame(
        {"panel": "a", "x": [1.0, 2.0], "y": [1.0, 3.0], "xlabel": "x", "ylabel": "y"}
    )
    first = Evidence("holds", "a < b & c.", 1.0, 2.0, (0.5, 1.5), name="one", n_trials=3)
    second = Evidence(
        "fails",
        "Too large.",
        3.0,
        2.0,
        tightness=1.5,
        name="two",
        counterexample={"X": [0.0] * 9},
        points=points,
    )
    return combine([first, second])


def test_evidence_shows_itself_in_a_line():
    assert repr(evidence()) == (
        "Evidence: fails. two: Too large. (measured 3, predicted 2, tightness 1.5, trials 3, error "
        "level 0, parts 2, counterexample {X=list of 9})"
    )
    assert repr(evidence().parts[0]).startswith("Evidence of one: holds. a < b & c. (measured 1,")
    undecided = repr(Evidence("undecided", "Who knows.", needed="10 runs"))
    assert "measured" not in undecided
    assert undecided.endswith("it would take 10 runs)")


def test_evidence_plots_itself():
    (axes,) = evidence().plot()
    try:
        assert axes.get_xlabel() == "x"
        assert axes.get_title() == "two a"
    finally:
        plt.close(axes.figure)
    with pytest.raises(ValueError, match="no points"):
        evidence().parts[0].plot()


def test_a_statement_shows_the_recorded_picture(monkeypatch):
    points = evidence().points
    monkeypatch.setattr(pictures, "recorded", lambda id, book: points)
    found = lr.statement("pflmf.lemma3")
    (axes,) = found.plot()
    try:
        assert axes.get_title() == "two a"
    finally:
        plt.close(axes.figure)
    open_figures = plt.get_fignums()
    assert "](data:image/png;base64,iVBOR" in found._repr_markdown_()
    assert plt.get_fignums() == open_figures
    monkeypatch.setattr(pictures, "recorded", lambda id, book: None)
    assert "](data:" not in found._repr_markdown_()
    with pytest.raises(ValueError, match=r"no picture of pflmf\.lemma3"):
        found.plot()


def test_statements_are_found_and_completed_by_id():
    assert lr.statements["pflmf.lemma3"].claim is claims()["pflmf.lemma3"]
    assert list(lr.statements) == lr.statements._ipython_key_completions_() == list(claims())
    assert len(lr.statements) == len(claims())
    assert "pflmf.nothing" not in lr.statements
    with pytest.raises(KeyError, match=r"did you mean pflmf\.lemma3"):
        lr.statements["pflmf.lema3"]
    for id in ("", ".x", "..", "/etc.x", "nowhere.x", "fedrep", "../claims.x"):
        with pytest.raises(KeyError, match="no claim"):
            lr.statements[id]
        with pytest.raises(ValueError, match="no claim"):
            lr.statement(id)


def test_all_statements_are_shown_as_counts():
    found = counts(ledger.known().values())
    shown = repr(lr.statements)
    assert shown.startswith(f"{found.printed.total()} statements: ")
    for kind in ("networks", "corrected", "own"):
        assert f"; {found.kinds[kind].total()} {KINDS[kind]}s: " in shown.splitlines()[0]
    assert len(shown.splitlines()) == 7
    expected = contents.of_paper("perfedsi").cells()
    (row,) = (line.split() for line in shown.splitlines() if "perfedsi " in line)
    assert row[1:4] == expected[:3]
    assert row[-4:] == expected[-1].split()
    assert repr(claims()).startswith(f"{len(claims())} claims; ")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("lemma 5", "fedrep.lemma5"),
        ("Theorem 5.1", "flute.theorem5.1"),
        ("theorem 1", "fedrep.theorem1"),
        ("Theorem 2", "fedrep.theorem2"),
    ],
)
def test_a_place_finds_what_is_called_so_first(words, first):
    assert next(iter(lr.statements.find(words))) == first


def test_statements_are_found_by_words_paper_and_verdict():
    found = lr.statements.find("THEOREM start", paper="fedrep", verdict="fails")
    assert "fedrep.theorem2" in found
    assert "fedrep.lemma5" not in found
    for item in found.values():
        assert (item.paper, item.verdict) == ("fedrep", "fails")
    conclusions = lr.statements.find(severity="conclusion")
    assert {item.finding.severity for item in conclusions.values()} == {"conclusion"}
    assert {item.strength for item in lr.statements.find(strength="derived").values()} == {
        "derived"
    }
    parts = [len(lr.statements.find(verdict=name)) for name in VERDICTS]
    assert sum(parts) == len(lr.statements)
    with pytest.raises(KeyError, match=r"no claim 'fedrep\.lemma5'"):
        found["fedrep.lemma5"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("paper", "fedprox"), ("verdict", "fail"), ("severity", "grave"), ("strength", "strong")],
)
def test_what_no_statement_can_have_is_an_error(name, value):
    with complaint(ValueError, name, "must be one of", value):
        lr.statements.find(**{name: value})


def test_found_statements_are_a_table_in_a_terminal():
    found = lr.statements.find(paper="fedrep", verdict="fails")
    title, *lines = repr(found).splitlines()
    assert title == f"{len(found)} of {len(found)} statements fail"
    assert [line.split()[0] for line in lines] == list(found)
    assert max(map(len, lines)) <= 100
    (line,) = (line for line in lines if line.startswith("fedrep.theorem2 "))
    assert line.endswith(f"fails      {found['fedrep.theorem2'].finding.headline}")
    assert repr(lr.statements.find("no such words")) == "0 statements"


def test_found_statements_go_to_pandas():
    table = lr.statements.find(paper="pflmf").to_frame()
    assert list(table.index) == list(lr.statements.find(paper="pflmf"))
    assert table.loc["pflmf.theorem1", ["verdict", "severity"]].tolist() == ["fails", "conclusion"]
    assert "pflmf.theorem1.corrected" in table.loc["pflmf.theorem1", "corrected_by"]


def test_a_statement_shows_badge_reason_and_corrected_formula(monkeypatch):
    monkeypatch.setattr(pictures, "recorded", lambda id, book: None)
    found = lr.statements["fedrep.theorem2"]
    shown = found._repr_markdown_()
    corrected = claims()["fedrep.theorem2.corrected"]
    for text in (
        ">✗ fails</span>",
        f"**Why:** {found.finding.headline} (severity: {found.finding.severity}). "
        f"{found.finding.reason[:40]}",
        f"$$\n{found.latex}\n$$",
        f"**`{corrected.id}`**",
        ">✓ holds</span>",
        f"$$\n{corrected.latex}\n$$",
    ):
        assert text in shown


def test_claims_show_id_and_statement():
    known = claims()
    for name, item in known.items():
        assert repr(item).startswith(f"Claim('{name}', {item.place}: ")
        assert len(repr(item)) < 400
        assert f"$$\n{item.latex}\n$$" in item._repr_markdown_()
    shown = known["fedrep.lemma1"]._repr_markdown_()
    assert shown.startswith("**`fedrep.lemma1`** (")
    assert "0x" not in repr(known["fedrep.lemma1"].hypotheses)


def test_a_result_shows_verdict_and_numbers(tmp_path):
    (result,) = verify([claims()["fedrep.lemma1"]], store=tmp_path)
    assert repr(result).startswith("fedrep.lemma1: ")
    assert "verdict    holds" in repr(result)
    assert "measured" in repr(result)


def test_readings_are_shown_wherever_the_verdict_is(tmp_path):
    (result,) = verify([claims()["perfedsi.lemmaC5"]], store=tmp_path)
    lines = result.read_as()
    assert len(lines) == len({item["of"] for item in result.readings})
    for text in (
        "region, in fractions: ",
        "“gamma”",
        "“orthonormal U*, V*”",
        "scaled U*, V*: fails",
    ):
        assert text in lines[0]
    page = pages.pages({result.id: result})["ledger/perfedsi.md"]
    for line in lines:
        assert line in " ".join(str(result).split())
        assert pages.cell(line) in page
    assert "read as" in result._repr_markdown_()


def test_a_phrase_is_found_before_its_words_apart():
    found = lr.statements.find("small p")
    texts = [f"{found[id].plain} {found[id].why()}".lower() for id in found]
    whole = ["small p" in text for text in texts]
    assert whole[0]
    assert not whole[-1]
    assert whole == sorted(whole, reverse=True)


def test_what_is_recorded_of_every_entry_can_be_drawn():
    """Intervals alone have no point, and are drawn all the same."""
    needed, without_points = {"panel", "x", "y", "xlabel", "ylabel"}, []
    for id, entry in ledger.recorded().items():
        points = entry.drawn()
        if points is not None:
            assert needed <= set(points), id
            if points["y"].isna().all():
                without_points.append(id)
    assert without_points
    for id in without_points:
        assert "](data:image/png;base64,iVBOR" in lr.statement(id)._repr_markdown_()


@pytest.mark.slow
def test_every_entry_is_shown_in_a_notebook():
    for id in ledger.recorded():
        assert lr.statement(id)._repr_markdown_()
