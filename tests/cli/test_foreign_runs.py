"""Runs that are damaged or of other people's making: what every command that reads them says."""

import json
import shutil
import sys

import pytest

from linrep.cli import main
from linrep.sweeps import open_run
from tests.sweeps.support import content, numbers, same_rows
from tests.sweeps.test_parts import DAMAGES
from tests.tools import runner

CODE = """
def measure(cell, rng):
    return {"first": rng.random(), "second": rng.random()}
"""
SWEEP = ("sweep", "--function", "swept_foreign.py:measure", "--a", "1,2", "--replicates", "3")
SWEEP = (*SWEEP, "--workers", "1", "--out", "run")
#: All that read a run, beside the sweep itself; merge is into a folder of its own.
READERS = {
    "list": ("summary", "run"),
    "merge": ("merge", "all", "run"),
    "summary": ("summary", "run", "first"),
    "plot": ("plot", "run", "first", "--x", "a"),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template")
    (folder / "swept_foreign.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        assert runner().invoke(main, SWEEP).exit_code == 0
    return folder


@pytest.fixture
def folder(template, folder):
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return folder


def call(*arguments):
    """Return the exit status and what was said: at most one line of error, no traceback."""
    done = runner().invoke(main, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert len(errors) == (done.exit_code == 2), done.stderr
    assert len(done.stderr.splitlines()) < 4
    for words in ("Traceback", "Expecting", "recursion", "not supported", "object", "sys.set"):
        assert words not in done.stdout + done.stderr
    return done.exit_code, done.stdout + done.stderr


# --- sweep.json ---


def saying(**said):
    return lambda good: json.dumps({**good, **said})


DESCRIPTIONS = {
    "cut": lambda good: json.dumps(good)[:40],
    "foreign": lambda _: "[]",
    "nested": lambda _: "[" * 100_000,
    "no seed": lambda good: json.dumps({k: v for k, v in good.items() if k != "seed"}),
    "cells": saying(cells=[["a", 1], ["a", 2]]),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_specification_that_is_none_gets_one_line_and_advice(folder, name):
    path = folder / "run" / "sweep.json"
    text = DESCRIPTIONS[name](json.loads(path.read_text()))
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = content(folder / "run" / "parts")
    for words in (*READERS.values(), SWEEP, (*SWEEP, "--dry-run"), (*SWEEP, "--only", "a=1", "0")):
        status, said = call(*words)
        assert status == 2, said
        assert "run/sweep.json" in said
        assert "copy its sweep.json here" in said, said
        assert len(said) < 600
    assert content(folder / "run" / "parts") == before


def test_a_specification_is_restored_as_the_advice_says(folder):
    good = numbers(open_run("run"))
    (folder / "run" / "sweep.json").write_bytes(b"")
    assert call(*SWEEP)[0] == 2
    assert call(*SWEEP, "--out", "other")[0] == 0
    shutil.copy("other/sweep.json", "run")
    assert call(*SWEEP)[0] == 0
    same_rows(numbers(open_run("run")), good)


# --- parts ---


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_said_by_every_command_and_repaired_by_the_sweep(folder, damage):
    before = numbers(open_run("run"))
    (part,) = folder.glob("run/parts/*.parquet")
    part = DAMAGES[damage](part)
    for reader, words in READERS.items():
        status, said = call(*words)
        assert status == 1, (reader, said)
        assert "damaged" in said
        assert part.name in said
    assert call(*SWEEP) == (0, "run: 6 of 6 replicates, 0 failed\n")
    assert call("summary", "run")[0] == 0
    same_rows(numbers(open_run("run")), before)
