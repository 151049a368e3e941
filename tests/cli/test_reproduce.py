"""linrep reproduce: what is run, in which order, and what its last lines say."""

import re
from importlib import import_module

import pandas as pd
import pytest

from linrep.claims import claims, ledger
from linrep.claims.record import Record
from linrep.cli import reproduce as command
from linrep.cli.verdicts import compare
from linrep.figures import record, reproduction
from tests.cli.support import call
from tests.tools import rewrite

KNOWN = claims()
checks = import_module("linrep.claims.verify")


def result(name, verdict, budget="quick"):
    return Record(verdict=verdict, id=name, budget=budget, seed=0, seconds=1.0)


def figures(*outcomes):
    """Return a reproduction of one figure whose numbers have these outcomes."""
    lines = [
        {"figure": "a.figure1", "part": "number", "what": str(place), "outcome": outcome}
        for place, outcome in enumerate(outcomes)
    ]
    lines.append({"figure": "a.figure1", "part": "rows", "what": "digest", "outcome": record.SAME})
    return reproduction.Reproduction(
        pd.DataFrame(lines).assign(recorded="1", new="2"), "portable", {}
    )


def test_numbered_statements_and_their_corrected_forms_are_checked():
    chosen = [item for item in KNOWN.values() if command._is_numbered(item, KNOWN)]
    ids = {item.id for item in chosen}
    assert {"fedrep.theorem1", "flute.lemmaA16", "pflmf.theorem1"} <= ids
    for item in chosen:
        for other in KNOWN.values():
            if other.corrects == item.id:
                assert other.id in ids
    assert "fedrep.figure1" not in ids


NAMES = (ledger.AS_RECORDED, ledger.UNDECIDED_HERE, ledger.DECIDED_HERE)


def test_verdicts_beside_the_ledger(capsys):
    entries = {
        "a.1": result("a.1", "holds", "standard"),
        "a.2": result("a.2", "fails", "standard"),
        "a.3": result("a.3", "undecided", "standard"),
    }
    run = [result("a.1", "holds"), result("a.2", "undecided"), result("a.3", "holds")]
    assert compare(run, [f"a.{i}" for i in range(1, 8)], entries)
    said = capsys.readouterr()
    assert said.out.startswith("3 of 7 claims checked")
    assert said.out.rstrip().endswith(", ".join(f"1 {name}" for name in NAMES))
    assert not said.err
    wrong = [result(f"a.{i}", "fails") for i in range(30)]
    assert not compare(wrong, [f"a.{i}" for i in range(30)], {"a.1": entries["a.1"]})
    said = capsys.readouterr()
    assert "a.0: fails, it is not in the ledger, and expected to hold" in said.err
    assert "a.1: fails, the ledger has holds" in said.err
    assert said.err.endswith("and 10 more\n")
    assert said.out.rstrip().endswith("29 not as expected, without a record, 1 contradicts")


@pytest.mark.parametrize(("decided", "good"), [(2, True), (1, False), (0, False)])
def test_claims_that_are_undecided_are_not_reproduced(decided, good, folder, monkeypatch):
    """They contradict nothing, and half of the claims have to be decided again."""
    chosen = [item for item in KNOWN.values() if item.id.startswith("fedrep.lemma")][:3]
    monkeypatch.setattr(reproduction, "papers", lambda: ["a.figure1"])
    monkeypatch.setattr(reproduction, "read_record", lambda *_: [{"provenance": {"seconds": 1.0}}])
    monkeypatch.setattr(reproduction, "together", lambda _: figures(record.SAME))
    monkeypatch.setattr(command, "_is_numbered", lambda item, known: item in chosen)
    monkeypatch.setattr(command, "_draw", lambda *_: {"a.figure1": figures(record.SAME)})
    monkeypatch.setattr(command, "_report", lambda *_: "report.html")
    entries = {item.id: result(item.id, "holds", "standard") for item in chosen}
    monkeypatch.setattr(ledger, "recorded", lambda *_: entries)

    def verify(chosen, **settings):
        return [
            result(item.id, "holds" if place < decided else "undecided")
            for place, item in enumerate(chosen)
        ]

    monkeypatch.setattr(checks, "verify", verify)
    last = call("reproduce --native --workers 1", status=0 if good else 1).splitlines()[-1]
    assert last.startswith("REPRODUCED" if good else "NOT reproduced")
    assert last.endswith(f"3 of {len(KNOWN)} claims checked, {decided} as recorded")


def test_what_a_worker_cannot_write_is_one_line(folder, monkeypatch):
    """Raised in another process, it arrives here as it is."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command, "_draw", full)
    monkeypatch.setattr(reproduction, "papers", lambda: [])
    said = call("reproduce --native --workers 1", status=2)
    assert said.splitlines() == ["Error: [Errno 28] No space left on device"]


def test_what_was_not_checked_keeps_its_recorded_picture_in_the_report(tmp_path):
    """An interrupted run reports what there is, and of the rest what the ledger has."""
    chosen, (store, drawn) = [KNOWN["pflmf.theorem1"]], (tmp_path / "verify", tmp_path / "figures")
    page = command._report(chosen, ledger.recorded(), store, drawn, tmp_path)
    assert '<img src="data:image/png' in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_record_comes_out_again_and_one_changed_by_hand_does_not(folder, monkeypatch):
    monkeypatch.setattr(command, "NUMBERED", re.compile("^Lemma 1$|no such place"))
    monkeypatch.setattr(reproduction, "papers", lambda: ["fedrep.figure4"])
    call("figures fedrep.figure4 --record --native")
    again = "reproduce --native --workers 2"
    assert call(again).splitlines()[-1].startswith("REPRODUCED")
    assert (folder / "runs" / "reproduce" / "report.html").stat().st_size > 10_000
    manifest = folder / "figures" / "fedrep.figure4.json"

    def change(content):
        content["result"]["summary"]["lines"][0]["FedRep"].update(value=9.0, interval=[8.0, 10.0])

    rewrite(manifest, change)
    found = call(again, status=1)
    assert "fedrep.figure4" in found
    assert found.splitlines()[-1].startswith("NOT reproduced")
    manifest.write_text(re.sub(r'"sha256": "..', '"sha256": "zz', manifest.read_text()))
    assert "fedrep.figure4.json is damaged" in call(again, status=2)
