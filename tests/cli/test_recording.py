"""What commands record as they go: nothing that was finished is lost, whatever ends them."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import pandas as pd
import pytest

import linrep
from linrep._lib import atomic, records
from linrep._lib.records import content
from linrep.claims import ledger, mutants, pictures, solvers
from linrep.claims.record import PROVED, Record
from linrep.cli.group import Batches
from tests.cli.support import call
from tests.tools import claims_of, complaint, interrupted, rewrite, sampled

ROOT = Path(linrep.__file__).parents[1]
FILE = """
import time
from pathlib import Path

from linrep.claims import Cases, statement


def make(name):
    @statement(f"mine.{name}", plain="It.", negative_control={"most": -1.0})
    def check(budget, rng, *, most=1.0):
        if most > 0.0:
            with open("computed", "a") as file:
                file.write(name)
            time.sleep(0.3)
            while name == "c" and Path("wait").exists():
                time.sleep(0.1)
            if name == "d":
                raise RuntimeError("no such thing")
        yield Cases([(0.5, most, {})])


for name in "abcd":
    make(name)
"""
VERIFY = ("verify", "own.py", "--ledger", "book.json", "--record", "--native")
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")


@pytest.fixture
def folder(folder):
    (folder / "own.py").write_text(FILE)
    return folder


def recorded(path):
    """Return the ids in a ledger and those that have a picture beside it."""
    pictures = atomic.current(path.with_suffix(".parquet"))  # a kill may have come between the two
    return (
        [
            entry["id"]
            for entry in content(path)["claims"]
            if "verdict" in entry and entry["verdict"] != "unchecked"
        ],
        sorted(set(pd.read_parquet(pictures)["claim"])) if pictures.exists() else [],
    )


@posix_only
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("workers", sampled(["2", "1"], 1))
def test_what_was_finished_before_a_signal_is_recorded(folder, number, workers):
    (folder / "wait").touch()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "linrep.cli", *VERIFY, "mine.[abc]", "--workers", workers]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    book = folder / "book.json"
    until = time.monotonic() + 60
    while not (ledger.recorded(book) and {*"abc"} <= {*_computed(folder)}):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(1.0)  # which a and b take at most
    os.killpg(process.pid, number)
    (folder / "wait").unlink()
    _, errors = process.communicate(timeout=120)
    if number != signal.SIGKILL:
        assert "the same command continues" in errors
        assert ("waiting for the checks that run" in errors) == (workers == "2")
    names = [f"mine.{name}" for name in "abc"]
    found, pictured = map(set, recorded(book))
    assert found == pictured
    assert number == signal.SIGKILL or {*names[:2]} <= found  # of the rest the store has the runs
    (folder / "computed").unlink()
    call(*VERIFY, "mine.[abc]", "--workers", "1")
    assert recorded(book) == (names, names)
    assert not {*_computed(folder)} & {*"ab"}


def _computed(folder):
    path = folder / "computed"
    return path.read_text() if path.exists() else ""


def test_a_check_that_raises_keeps_no_other_out_of_the_ledger(folder):
    said = call(*VERIFY, status=1)
    assert "mine.d is not recorded" in said
    assert recorded(folder / "book.json")[0] == ["mine.a", "mine.b", "mine.c"]


def test_a_smaller_budget_is_refused_before_anything_is_computed(folder):
    call(*VERIFY, "mine.a", "--budget", "standard")
    (folder / "computed").unlink()
    assert "mine.a is recorded with the budget standard already" in call(*VERIFY, status=2)
    assert not _computed(folder)


def result(name, y):
    points = pd.DataFrame({"panel": "", "x": [1.0], "y": [y], "xlabel": "", "ylabel": ""})
    return Record(
        verdict="holds", sentence="yes", id=name, budget="quick", seed=0, seconds=y, points=points
    )


def test_wherever_an_interrupt_comes_the_ledger_is_one_with_its_pictures(tmp_path):
    functions = (
        ledger.record, ledger._record, pictures.written, records.Kind.write, atomic.write_together,
        atomic._finish,
    )  # fmt: skip
    for place in count():
        path = tmp_path / str(place) / "book.json"
        path.parent.mkdir()
        ledger.record([result("a.b", 1.0)], claims_of("a.b", "a.c"), path)
        try:
            with interrupted(place, *functions) as sent:
                ledger.record([result("a.c", 2.0)], claims_of("a.b", "a.c"), path)
        except KeyboardInterrupt:
            pass
        for name, entry in ledger.recorded(path).items():
            assert pictures.recorded(name, path)["y"].tolist() == [entry.seconds]
        ledger.record([result("a.c", 2.0)], claims_of("a.b", "a.c"), path)
        assert [*ledger.recorded(path)] == ["a.b", "a.c"]
        if not sent:
            break


@posix_only
def test_who_record_at_once_lose_nothing(tmp_path):
    path, names = tmp_path / "book.json", [f"a.{name}" for name in "bcdefgh"]
    threads = [
        threading.Thread(target=ledger.record, args=([result(name, 1.0)], claims_of(*names), path))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded(path) == (names, names)


def test_what_another_process_recorded_in_the_same_tick_of_the_clock_is_kept(tmp_path, monkeypatch):
    path, names = tmp_path / "book.json", ["a.c", "a.d"]
    ledger.record([result("a.b", 1.0)], claims_of("a.b"), path)
    assert [*ledger.recorded(path)] == ["a.b"]
    monkeypatch.setattr(records, "_state", lambda path: "as before")
    ledger.recorded(path)
    rewrite(path, lambda content: content["claims"][0].update(id="a.c"))
    ledger.record([result("a.d", 1.0)], claims_of(*names), path)
    assert [*ledger.recorded(path)] == ["a.c", "a.d"]


def stopping(after, function):
    """Return a function that is interrupted after so many calls."""
    calls = []

    def call(*arguments, **named):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(arguments)
        return function(*arguments)

    return call


def test_sensitivity_records_what_it_has_found_and_says_what_is_left(monkeypatch):
    found = {}
    monkeypatch.setattr(ledger, "record_sensitivity", found.update)
    monkeypatch.setattr(mutants, "measure", stopping(2, lambda *given: {}))
    said = call("verify", "--sensitivity", "flute.*", "--record", status=130)
    assert len(found) == 2
    assert "sensitivity: stopped at 2 of " in said
    assert "what was found is recorded, left are flute." in said
    assert not any(name in said.split() for name in found)
    assert "the same command" not in said


def test_certify_records_what_it_has_found_and_says_what_is_left(monkeypatch):
    found = {}
    monkeypatch.setattr(ledger, "record_answers", lambda said, *rest: found.update(said))
    monkeypatch.setattr(solvers, "versions", lambda: {"z3": "0"})
    monkeypatch.setattr(solvers, "ask", stopping(20, lambda *arguments: PROVED))
    said = call("certify", "--record", status=130)
    assert found
    assert "certify: stopped at " in said
    assert "what was found is recorded, left are " in said


@pytest.mark.parametrize(
    ("key", "value"), [("budget", "huge"), ("verdict", "refuted"), ("facts", [{"no": 1}])]
)
def test_a_ledger_with_values_that_there_are_not_is_none(tmp_path, key, value):
    path = tmp_path / "book.json"
    ledger.record([result("a.b", 1.0)], claims_of("a.b"), path)
    rewrite(path, lambda content: content["claims"][0].update({key: value}))
    with complaint(ValueError, "book.json is not as this version of linrep writes it"):
        ledger.recorded(path)


def test_what_is_stored_nowhere_else_is_written_as_it_comes():
    written = {}
    with Batches(written.update) as found:
        for name in "abc":
            found.add(name, name)
            assert name in written


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_whatever_ends_the_work_all_that_waited_is_written(error):
    written = {}
    found = Batches(written.update, stored=True)

    def work():
        with found:
            for name in "abc":
                found.add(name, name)
            raise error

    with pytest.raises(error):
        work()
    assert written == {"a": "a", "b": "b", "c": "c"}
    assert found.written == set("abc")


def test_one_that_is_refused_keeps_no_other_from_being_written():
    written = {}

    def write(results):
        time.sleep(0.01)
        if "b" in results:
            raise ValueError("b is refused")
        written.update(results)

    with complaint(ValueError, "b is refused"), Batches(write, stored=True) as found:
        for name in "abc":
            found.add(name, name)
    assert written == {"a": "a", "c": "c"}
