"""What the page is made of."""

import base64
import gzip
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from linrep._lib.records import Unread, content
from linrep.claims import claims
from linrep.claims import ledger as book
from linrep.claims.verify import verify
from linrep.figures.record import KIND
from linrep.report import gather
from tests.report.conftest import leave_undrawn


def entries(report):
    return {entry.claim.id: entry for entry in report.entries}


def test_without_a_store_the_ledger_is_shown(tmp_path, monkeypatch):
    leave_undrawn(monkeypatch)
    chosen, ledger = dict(list(claims().items())[::30]), book.recorded()
    for options in ({}, {"budget": "quick", "seed": 7}):
        report = gather(chosen.values(), ledger=ledger, store=tmp_path, progress=False, **options)
        found = entries(report)
        assert set(found) == set(chosen)
        for name, entry in found.items():
            recorded = ledger[name]
            assert (entry.stored, entry.result, entry.other) == (False, recorded, None)
            again = f" --budget {recorded.budget} --seed {recorded.seed}"
            assert entry.command.endswith(again)
        assert report.figures == ()


def test_of_a_stored_run_the_evidence_is_drawn(known, store):
    found = entries(gather(known.values(), ledger={}, store=store, progress=False))
    bound = found["mine.bound"]
    assert bound.stored
    assert bound.verdict == "holds"
    assert bound.picture.content.startswith("data:image/png;base64,")
    assert bound.picture.width > bound.picture.height > 100
    assert found["mine.wrong"].verdict == "fails"
    assert found["mine.wrong"].picture is not None
    assert found["mine.crash"].picture is None
    assert found["mine.crash"].verdict == "error"
    assert found["mine.wrong.corrected"].verdict == "unchecked"
    assert found["mine.wrong.corrected"].result is None


def test_the_largest_stored_budget_is_shown_unless_one_is_named(known, store):
    chosen = [known["mine.wrong"]]
    verify(chosen, budget="standard", store=store, progress=False)
    for budget, shown in ((None, "standard"), ("quick", "quick"), ("standard", "standard")):
        report = gather(chosen, ledger={}, store=store, budget=budget, progress=False)
        assert report.entries[0].result.budget == shown
    for others in ({"budget": "thorough"}, {"seed": 1}):
        report = gather(chosen, ledger={}, store=store, progress=False, **others)
        assert report.entries[0].result is None


def test_another_verdict_in_the_ledger_is_told(known, store, monkeypatch):
    leave_undrawn(monkeypatch)
    found = entries(gather(known.values(), ledger={}, store=store, progress=False))
    for name, verdict, budget, differs, contradicts in (
        ("mine.wrong", "fails", "quick", False, False),
        ("mine.wrong", "holds", "quick", True, True),
        # With fewer trials than the ledger's, undecided would have been no contradiction.
        ("mine.wrong", "undecided", "standard", True, False),
        ("mine.crash", "holds", "quick", True, False),
    ):
        recorded = {name: replace(found[name].result, verdict=verdict, budget=budget)}
        (entry,) = gather([known[name]], ledger=recorded, store=store, progress=False).entries
        assert (entry.other is not None, entry.contradicts) == (differs, contradicts)


def test_commands_reproduce(known, store, monkeypatch):
    leave_undrawn(monkeypatch)
    options = {"ledger": {}, "store": store, "progress": False}
    (entry,) = gather([known["mine.bound"]], file="my claims.py", **options).entries
    command = "linrep verify 'my claims.py' mine.bound --budget quick --seed 0"
    assert entry.command == command
    (entry,) = gather([known["mine.bound"]], options=["--store", "a b"], **options).entries
    assert entry.command.endswith("--seed 0 --store 'a b'")


def test_figures_have_their_numbers_and_natural_size(tmp_path, figures):
    def found(**options):
        return gather(
            [], ledger={}, store=tmp_path, figures=figures, progress=False, **options
        ).figures

    (figure,) = found()
    assert figure.command == "linrep figures mine.figure --quick --seed 3"
    assert [line["value"] for line in figure.numbers] == [0.5, None]
    assert (figure.picture.width, figure.picture.height) == (672, 576)
    svg = gzip.decompress(base64.b64decode(figure.picture.content)).decode()
    assert ElementTree.fromstring(svg).get("width") == "504pt"
    assert found(papers={"fedrep"}) == ()
    assert len(found(papers={"mine"})) == 1


@pytest.mark.parametrize("name", ["mine.figure; touch here", "--quick", "$(touch here)"])
def test_of_a_figure_whose_name_is_none_no_command_is_shown(tmp_path, figures, name):
    for path in [*figures.glob("mine.figure.*")]:
        path.rename(figures / f"{name}{path.suffix}")
    manifest = figures / f"{name}.json"
    drawing = manifest.with_suffix(".svg").read_bytes()
    KIND.write(manifest, content(manifest) | {"id": name}, {f"{name}.svg": drawing})
    with pytest.warns(Unread, match="json: id"):
        found = gather([], ledger={}, store=tmp_path, figures=figures, progress=False).figures
    assert found == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.write_text("{"), "is damaged"),
        (lambda path: path.with_suffix(".svg").write_text("[]"), "svg, of mine.figure.json"),
        (lambda path: KIND.write(path, content(path)), "has no SVG"),
    ],
)
def test_a_damaged_figure_is_named_and_left_out(tmp_path, figures, change, said):
    change(figures / "mine.figure.json")
    with pytest.warns(Unread, match=re.escape(said)) as caught:
        found = gather([], ledger={}, store=tmp_path, figures=figures, progress=False)
    assert len(caught) == 1
    assert "mine.figure" in str(caught[0].message)
    assert found.figures == ()


def test_of_the_ledger_theorems_and_findings_are_drawn():
    chosen = [item for name, item in claims().items() if name.startswith("pflmf.theorem1")]
    options = {"ledger": book.recorded(), "store": Path("none"), "progress": False}
    found = entries(gather(chosen, **options))
    drawn = {name for name, entry in found.items() if entry.picture is not None}
    assert drawn == {"pflmf.theorem1", "pflmf.theorem1.noise"}
    own = gather(chosen, file="mine.py", **options)  # whose ledger is not said
    assert all(entry.picture is None for entry in own.entries)
