"""What the page is made of."""

import base64
import gzip
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from linrep._lib.records import Unread, content
from linrep.claims import claims
from linrep.claims import ledger as book
from linrep.claims.verify import verify
from linrep.figures.record import KIND
from linrep.report import gather
from tests.tools import rewrite


def entries(report):
    return {entry.claim.id: entry for entry in report.entries}


def test_without_a_store_the_ledger_is_shown(tmp_path):
    # Of all the page's tests make a report; each picture of evidence takes a fifth of a second.
    chosen, ledger = dict(list(claims().items())[::30]), book.recorded()
    report = gather(chosen.values(), ledger=ledger, store=tmp_path, progress=False)
    found = entries(report)
    assert list(found) == list(chosen)
    for name, entry in found.items():
        recorded = ledger[name]
        assert (entry.stored, entry.result, entry.picture) == (False, recorded, None)
        assert (entry.differs, entry.contradicts) == (False, False)
        again = f" --budget {recorded.budget} --seed {recorded.seed}"
        assert entry.command.endswith(again)
    assert report.figures == ()
    other = gather(
        chosen.values(), ledger=ledger, store=tmp_path, budget="quick", seed=7, progress=False
    )
    assert [entry.command for entry in other.entries] == [entry.command for entry in report.entries]


def test_of_a_stored_run_the_evidence_is_drawn(known, store):
    found = entries(gather(known.values(), ledger={}, store=store, progress=False))
    bound = found["mine.bound"]
    assert bound.stored
    assert bound.verdict == "holds"
    assert bound.picture.content.startswith("data:image/png;base64,")
    assert bound.picture.width > bound.picture.height > 100
    assert bound.versions.startswith("linrep ")
    assert found["mine.wrong"].verdict == "fails"
    assert found["mine.wrong"].picture is not None
    assert found["mine.crash"].picture is None
    assert found["mine.wrong"].corrected_by == ("mine.wrong.corrected",)
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


def test_another_verdict_in_the_ledger_is_told(known, store):
    (run,) = verify([known["mine.wrong"]], store=store, progress=False)
    cases = {
        "fails": ("fails", "quick", False, False),
        "holds": ("holds", "quick", True, True),
        # With fewer trials than the ledger's, undecided would have been no contradiction.
        "undecided": ("undecided", "standard", True, False),
    }
    for verdict, budget, differs, contradicts in cases.values():
        recorded = replace(run, verdict=verdict, budget=budget)
        (entry,) = gather(
            [known["mine.wrong"]], ledger={"mine.wrong": recorded}, store=store, progress=False
        ).entries
        assert (entry.differs, entry.contradicts) == (differs, contradicts)
        assert entry.verdict == "fails"


def test_a_check_that_raised_does_not_contradict_the_ledger(known, store):
    (run,) = verify([known["mine.crash"]], store=store, progress=False)
    recorded = {"mine.crash": replace(run, verdict="holds")}
    (entry,) = gather([known["mine.crash"]], ledger=recorded, store=store, progress=False).entries
    assert (entry.verdict, entry.differs, entry.contradicts) == ("error", True, False)


def test_commands_reproduce(known, store):
    found = entries(
        gather(known.values(), ledger={}, store=store, file="my claims.py", progress=False)
    )
    command = found["mine.bound"].command
    assert command == "linrep verify 'my claims.py' mine.bound --budget quick --seed 0"
    (entry,) = gather(
        [known["mine.bound"]], ledger={}, store=store, options=["--store", "a b"], progress=False
    ).entries
    assert entry.command == "linrep verify mine.bound --budget quick --seed 0 --store 'a b'"


def test_figures_come_with_their_manifests(known, tmp_path, figures):
    def found(**options):
        return gather([], ledger={}, store=tmp_path, figures=figures, progress=False, **options)

    (figure,) = found().figures
    assert figure.command == "linrep figures mine.figure --quick --seed 3"
    assert figure.picture.width == 672  # 7 inches
    assert figure.numbers == [{"n": 1, "value": 0.5}, {"n": 2, "value": None}]
    root = ElementTree.fromstring(gzip.decompress(base64.b64decode(figure.picture.content)))
    sizes = [root.get(name).removesuffix("pt") for name in ("width", "height")]
    assert root.get("viewBox").split()[2:] == sizes
    assert figure.picture.height == 576
    assert found(papers={"fedrep"}).figures == ()
    assert len(found(papers={"mine"}).figures) == 1


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


def damaged(change, wanted):
    """Return a damage of a manifest, and what is said."""
    return pytest.param(change, wanted, id=wanted)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        damaged(lambda path: path.write_text("{"), "is damaged"),
        damaged(lambda path: path.write_text('{"id": "a.b", "result": {}}'), "is no file that"),
        damaged(lambda path: path.with_suffix(".svg").write_text("[]"), "svg, of mine.figure.json"),
        damaged(lambda path: path.with_suffix(".svg").unlink(), "is not there"),
        damaged(lambda path: rewrite(path, lambda found: found.pop("title")), "lacks 'title'"),
        damaged(lambda path: rewrite(path, lambda found: found.update(id="a.b")), "of a.b"),
        damaged(lambda path: KIND.write(path, content(path)), "has no SVG"),
    ],
)
def test_a_damaged_figure_is_named_and_left_out(tmp_path, figures, change, said):
    change(figures / "mine.figure.json")
    with pytest.warns(Unread, match=re.escape(said)) as caught:
        found = gather([], ledger={}, store=tmp_path, figures=figures, progress=False)
    assert len(caught) == 1
    assert "mine.figure" in str(caught[0].message)
    assert found.figures == ()


def test_counterexamples_of_the_ledger_are_plain():
    assert json.dumps([entry.counterexample for entry in book.recorded().values()])


def test_of_the_ledger_theorems_and_causes_are_drawn():
    chosen = [item for name, item in claims().items() if name.startswith("pflmf.theorem1")]
    options = {"ledger": book.recorded(), "store": book.PATH.parent / "none", "progress": False}
    found = entries(gather(chosen, **options))
    drawn = {name for name, entry in found.items() if entry.chief is not None}
    assert drawn == {"pflmf.theorem1"}  # its finding is about theorem1.noise as well
    own = gather(chosen, file="mine.py", **options)  # whose ledger is not said
    assert all(entry.chief is None for entry in own.entries)
