"""linrep verify."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from linrep.claims import claims, ledger, pictures, prose
from linrep.claims.record import Record
from linrep.cli import main
from tests.cli import support
from tests.tools import claims_of, complaint, runner

OWN = """
import numpy as np
import pandas as pd
from linrep.claims import Constant, Identity, statement


@statement(
    "mine.square", place="my notes", latex="x x = x^2",
    plain="A square is a product.", negative_control={"power": 3},
)
def square(budget, rng, *, power=2):
    "Compare both."
    x = rng.standard_normal(budget(5, 50))
    print("computed")
    yield Identity([(abs(v**power - v * v), {"x": v}) for v in x], 1e-12)


@statement(
    "mine.wrong", place="my notes", latex="x = 2 x",
    plain="All numbers are twice themselves.", negative_control={"factor": 3},
    holds_with={"factor": 1},
)
def wrong(budget, rng, *, factor=2):
    "Compare both."
    yield Identity([(abs(factor - 1), {"x": [1.0, np.inf]})], 1e-12)


@statement(
    "mine.bound", place="my notes", latex="x <= c",
    plain="Bounded.", negative_control={"growth": 1},
)
def bound(budget, rng, *, growth=-1):
    "Estimate the constant."
    n = np.repeat([1.0, 10.0, 99.0], 100)
    rows = pd.DataFrame({"n": n, "constant": n**growth * rng.uniform(1, 1.1, 300)})
    yield Constant(rows, ["n"])


@statement(
    "mine.crash", place="my notes", latex="x", plain="Raises.",
    negative_control={"power": 3},
)
def crash(budget, rng, *, power=2):
    "Raise."
    raise RuntimeError("no such thing")
"""


@pytest.fixture
def own(folder):
    (folder / "own_claims.py").write_text(OWN)
    return folder


def call(*words, status=0, workers=1):
    return support.call("verify", *words, "--workers", workers, status=status)


def test_a_claim_of_ones_own(own):
    output = call("own_claims.py", "mine.square", "--json", "out.json")
    assert "1 claim holds (quick budget)" in output
    (entry,) = json.loads((own / "out.json").read_text())
    wanted = {"id", "verdict", "measured", "predicted", "tightness", "n_trials", "level", "seed",
              "counterexample", "corrected_by", "hypotheses"}  # fmt: skip
    assert wanted <= set(entry)
    assert (entry["id"], entry["verdict"], entry["n_trials"]) == ("mine.square", "holds", 5)


def test_what_is_stored_is_not_computed_again(own):
    assert "computed" in call("own_claims.py", "mine.square")
    assert "computed" not in call("own_claims.py", "mine.square")
    assert "computed" in call("own_claims.py", "mine.square", "--seed", "1")
    assert "computed" in call("own_claims.py", "mine.square", "--budget", "standard")
    shutil.rmtree(own / "runs")
    assert "computed" in call("own_claims.py", "mine.square")


def test_a_check_that_ends_its_process_is_an_error_and_the_others_are_decided(own):
    text = OWN.replace('raise RuntimeError("no such thing")', "import os; os._exit(0)")
    (own / "own_claims.py").write_text(text)
    assert "os._exit(0)" in text
    output = call("own_claims.py", status=1, workers=2)
    assert "mine.crash: error" in output
    assert "WorkerEnded: its process ended" in output
    assert "4 claims: 2 hold, 1 fails, 1 stops with an error" in output


@pytest.mark.parametrize("content", [None, b"", b"{", b"\0" * 9, b"[]"])
def test_a_stored_check_whose_specification_is_damaged_is_computed_again(own, content):
    first = call("own_claims.py", "mine.square", "--json", "first.json")
    (path,) = (own / "runs" / "verify").rglob("sweep.json")
    path.unlink() if content is None else path.write_bytes(content)
    again = call("own_claims.py", "mine.square", "--json", "again.json")
    assert "computed" in first
    assert "computed" in again
    one, two = (json.loads((own / f"{name}.json").read_text())[0] for name in ("first", "again"))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert "computed" not in call("own_claims.py", "mine.square")


def test_the_ledger_decides_the_exit_status(own, monkeypatch):
    entries = {"fedrep.definition1": result(verdict="fails")}
    monkeypatch.setattr(ledger, "recorded", lambda: entries)
    output = call("fedrep.definition1", status=1)
    assert "fedrep.definition1: holds, the ledger has fails" in output
    assert f"1 of {len(claims())} claims checked" in output
    assert "1 contradicts" in output
    entries["fedrep.definition1"] = result(verdict="holds")
    assert "1 as recorded" in call("fedrep.definition1")


def result(**changes):
    fields = {"id": "a.b", "budget": "standard", "seed": 0, "seconds": 1.0}
    return Record(**{"verdict": "holds", "sentence": "yes", **fields, **changes})


def test_recording(tmp_path):
    path = tmp_path / "ledger.json"
    ledger.record([result(), result(id="a.c")], claims_of("a.b", "a.c"), path)
    ledger.record([result(verdict="fails")], claims_of("a.b"), path)
    assert {name: entry.verdict for name, entry in ledger.recorded(path).items()} == {
        "a.b": "fails"
    }
    with complaint(ValueError, "a.b", "standard"):
        ledger.record([result(budget="quick")], claims_of("a.b"), path)
    with complaint(ValueError, "a.b", "raised"):
        ledger.record([result(verdict="error")], claims_of("a.b"), path)


OTHER = """
import numpy as np
from pathlib import Path

import helper
from linrep.claims import Cases, statement


@statement(
    "mine.bound", place="my notes", latex="x <= c",
    plain="Bounded.", negative_control={"c": -1e9}, expected="fails",
)
def bound(budget, rng, *, c=None):
    "Compare with what a module and a file say."
    print("computed")
    c = float(Path("data.txt").read_text()) + helper.MORE if c is None else c
    yield Cases([(5.0, c, {"x": 5.0})], quantity="x")


@statement(
    "mine.credulous", place="my notes", latex="0 <= 1",
    plain="Ignores its argument.", negative_control={"c": -1.0},
)
def credulous(budget, rng, *, c=1.0):
    "Look at nothing."
    yield Cases([(0.0, 1.0, {})])
"""


@pytest.fixture
def other(folder, monkeypatch):
    (folder / "other_claims.py").write_text(OTHER)
    (folder / "data.txt").write_text("1")
    (folder / "lib").mkdir()
    (folder / "lib" / "helper.py").write_text("MORE = 1")
    monkeypatch.syspath_prepend(folder / "lib")
    return folder


def test_a_verdict_rests_on_what_a_claim_imports_and_reads(other):
    """A module elsewhere and a file of data are part of what was checked."""
    claim = ("other_claims.py", "mine.bound")
    assert "computed" in call(*claim)
    output = call(*claim)
    assert "computed" not in output
    assert "stored" in output
    (other / "data.txt").write_text("90")
    assert "mine.bound: holds, expected with the verdict 'fails'" in call(*claim, status=1)
    (other / "data.txt").write_text("1")
    assert "computed" not in call(*claim)  # as it was first
    sys.modules.pop("helper")
    (other / "lib" / "helper.py").write_text("MORE = 90")
    assert "computed" in call(*claim, status=1)
    assert "computed" in call(*claim, "--fresh", status=1)


def test_a_neighbour_with_the_same_claim_has_a_verdict_of_its_own(other):
    """Both files were there when the first was checked."""
    text = Path("other_claims.py").read_text().replace("yield Cases([(5.0", "yield Cases([(0.5")
    Path("neighbour.py").write_text(text)
    assert "1 claim fails" in call("other_claims.py", "mine.bound")
    assert "1 claim holds" in call("neighbour.py", "mine.bound", status=1)
    output = call("other_claims.py", "mine.bound")
    assert "1 claim fails" in output
    assert "stored" in output


def test_a_check_that_accepts_its_negative_control_is_flagged(other):
    output = call("other_claims.py", "mine.credulous", status=1)
    assert "ACCEPTED" in output
    assert "mine.credulous: its check does not reject its negative control (holds)" in output


def test_a_ledger_of_ones_own(other):
    claim = ("other_claims.py", "mine.bound", "--ledger", "own.json")
    assert "--record makes it" in call(*claim, status=2)
    call(*claim, "--record")
    picture = pictures.recorded("mine.bound", Path("own.json"))
    assert picture["y"].tolist() == [2.5]
    assert picture["predicted"].tolist() == [1.0]
    assert pictures.recorded("mine.credulous", Path("own.json")) is None
    assert "1 as recorded" in call(*claim)
    assert "1 as expected, without a record" in call("other_claims.py", "mine.bound")
    shown = support.call("show", *claim)
    assert "verdict    fails" in shown
    assert "linrep verify other_claims.py mine.bound --budget quick --seed 0" in shown
    every = support.call("show", "other_claims.py")
    assert all(f"{name}: " in every for name in ("mine.bound", "mine.credulous"))
    assert "unchecked" in every
    support.call("report", *claim, "--out", "mine.html")
    page = Path("mine.html").read_text()
    assert "The claims of <code>other_claims.py</code>" in page
    assert "linrep checks the theory" not in page
    (other / "data.txt").write_text("90")
    assert "mine.bound: holds, the ledger has fails" in call(*claim, status=1)
    assert "--ledger" in call("other_claims.py", "--record", status=2)
    (other / "data.txt").write_text("1")
    before = (other / "own.json").read_bytes()
    call(*claim, "--record")  # from the store this time
    assert (other / "own.json").read_bytes() == before
    for text in ("{", "{}", "3", "[1]", '[{"id": "mine.bound"}]', "null"):
        (other / "bad.json").write_text(text)
        output = call("other_claims.py", "mine.bound", "--ledger", "bad.json", status=2)
        assert "bad.json is " in output
        assert len(output.splitlines()) == 1


def test_the_list_is_filtered():
    def listed(*options):
        done = runner().invoke(main, ["verify", "--list", *options])
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines(), done.stderr

    every, fails = (listed(*options)[0] for options in ((), ("--verdict", "fails")))
    assert 0 < len(fails) < len(every)
    assert all(" fails " in line for line in fails)
    own, counts = listed("--paper", "pflmf")
    forms = {form: listed("--paper", "pflmf", f"--{form}")[0]
             for form in ("printed", "corrected", "own")}  # fmt: skip
    for form, lines in forms.items():
        expected = {name for name, item in claims(["pflmf"]).items() if item.form == form}
        assert {line.split()[0] for line in lines} == expected
    assert sum(map(len, forms.values())) == len(own)
    recorded = [name for name in ledger.recorded() if name.startswith("pflmf.")]
    assert f"{len(recorded)} claims: " in counts


def test_what_fails_is_said_in_a_line_unless_asked_for_more(folder):
    reason = prose.findings()["fedrep.A1_W"].headline
    short = call("fedrep.A1_W", "fedrep.lemma5.union")
    assert f"\nfedrep.A1_W fails: {reason}\nfedrep.lemma5.union fails: " in short
    long = call("fedrep.A1_W", "--verbose")
    assert f"  why        {reason}" in long
    assert "2 of 3 parts fail" in long
    assert "  instance   " in long


NEAR = """
from linrep.claims import Mean, statement


@statement("mine.near", plain="Near the bound.", negative_control={"most": -3.0})
def near(budget, rng, *, most=0.3):
    yield Mean(rng.normal(0.0, 1.0, 100), at_most=most)
"""


def test_an_undecided_claim_is_gone_on_with(other):
    (other / "near.py").write_text(NEAR)
    assert "would take: about" in call("near.py", status=1)
    output = call("near.py", "--until-decided", "--json", "out.json")
    assert "look 2: 2 times the runs, 1 undecided" in output
    (found,) = json.loads((other / "out.json").read_text())
    assert (found["verdict"], found["control"]) == ("holds", "fails")
    assert found["n_trials"] in (200, 400)
    assert found["looks"] == (2 if found["n_trials"] == 200 else 3)
    runs = f"{found['n_trials'] // 100} runs, look {found['looks']} at 1/"
    assert f"mine.near: {runs}" in output
    shown = " ".join(support.call("show", "near.py").split())
    assert "verdict holds · statistical · measured" in shown
    assert runs in shown
    assert "of the level" in shown
    support.call("report", "near.py", "--out", "near.html")
    assert runs in Path("near.html").read_text()
    shutil.rmtree(next(Path("runs/verify").glob("quick-1/mine.near-*")))
    shown = support.call("show", "near.py")  # of one run, as another is gone
    assert "verdict    undecided" in shown
    assert "look" not in shown
    call("near.py", "--until-decided", "--at-most", "1x", status=1)
    for limit in ("0", "x", "-2x", "soon", "infx"):
        assert "--at-most" in call("near.py", "--until-decided", "--at-most", limit, status=2)
