"""How claims and evidence show themselves."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import linrep as lr
from linrep.claims import Evidence, claims, ledger
from linrep.claims.entry import entry
from linrep.claims.evidence import combine
from linrep.claims.verify import verify
from tests.tools import well_formed


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


def test_evidence_shows_verdict_numbers_and_parts_as_html():
    shown = well_formed(evidence()._repr_html_())
    assert {"Fails", "measured", "1.5", "part", "one", "a < b & c."} <= set(shown)
    assert "0.5 to 1.5" in well_formed(evidence().parts[0]._repr_html_())


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
    monkeypatch.setattr(ledger, "recorded_points", lambda id, book: points)
    found = lr.statement("pflmf.lemma3")
    (axes,) = found.plot()
    try:
        assert axes.get_title() == "two a"
    finally:
        plt.close(axes.figure)
    open_figures = plt.get_fignums()
    assert "](data:image/png;base64,iVBOR" in found._repr_markdown_()
    assert plt.get_fignums() == open_figures
    monkeypatch.setattr(ledger, "recorded_points", lambda id, book: None)
    assert "](data:" not in found._repr_markdown_()
    with pytest.raises(ValueError, match=r"no picture of pflmf\.lemma3"):
        found.plot()


def test_statements_are_found_and_completed_by_id():
    assert lr.statements["pflmf.lemma3"].claim is claims()["pflmf.lemma3"]
    assert list(lr.statements) == lr.statements._ipython_key_completions_() == list(claims())
    assert len(lr.statements) == len(claims())
    assert "pflmf.nothing" not in lr.statements
    assert repr(lr.statements).startswith(f"{len(claims())} statements")


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
    assert repr(result).startswith("Result(fedrep.lemma1: ")
    assert "measured=" in repr(result)


def test_readings_are_shown_wherever_the_verdict_is(tmp_path):
    (result,) = verify([claims()["perfedsi.lemmaC5"]], store=tmp_path)
    lines = ledger.readings(result.as_json())
    assert len(lines) == len({item["of"] for item in result.readings})
    assert lines[0].startswith("region, families: read as “orthonormal U*, V*” (otherwise scaled")
    book = tmp_path / "ledger.json"
    ledger.record([result], claims(), book)
    entries = ledger.recorded(book)
    shown = entry(claims()["perfedsi.lemmaC5"], entries, book)
    page = ledger.pages(claims(), entries)["ledger/perfedsi.md"]
    for line in lines:
        assert line in str(shown)
        assert ledger.cell(line) in page
    assert "read as" in shown._repr_markdown_()
