"""What a function computes with: all that may change its numbers counts, and nothing else."""

import importlib
import os
import subprocess
import sys

import pytest

from linrep._lib.fingerprint import fingerprint
from tests._lib import edits

CHANGING, UNCHANGING = edits.read(edits.CHANGING), edits.read(edits.UNCHANGING)


def by_name(table):
    return [pytest.param(edit, id=edit.what.replace(" ", "_")) for edit in table]


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Return a function that writes files into a folder and reads what ``m.g`` computes with."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def found(files, folder="here"):
        forget(before)
        write(files, tmp_path / folder)
        sys.path[0] = str(tmp_path / folder)
        importlib.invalidate_caches()
        return fingerprint(importlib.import_module("m").g)

    yield found
    forget(before)


def write(files, folder):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def forget(before):
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("m", "beside", "pack"):
            del sys.modules[name]


def changed(one, other):
    names = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    return {name.partition(" (")[0].rpartition("<locals>.")[2] for name in names}


@pytest.mark.parametrize("edit", by_name(CHANGING))
def test_what_may_change_a_number_is_named(edit, found):
    before = found(edit.files)
    assert all(before.values())
    assert found(edit.files) == before
    assert set(edit.said) <= changed(before, found(edit.after()))


@pytest.mark.parametrize("edit", by_name(UNCHANGING))
def test_what_changes_no_number_does_not_count(edit, found):
    before = found(edit.files)
    assert found(edit.after()) == before
    assert found(edit.after(), "there") == before


IN_ORDER = """
import sys
from linrep._lib.fingerprint import fingerprint
for folder in sys.argv[1:]:
    sys.path.insert(0, folder)
    import m
    print(fingerprint(m.g))
    for name in [name for name in sys.modules if name in ("m", "beside") or name[:4] == "pack"]:
        del sys.modules[name]
    del sys.path[0]
"""


def test_it_is_the_same_in_every_process(tmp_path):
    """Whatever the order of sets, and where objects lie in memory."""
    for number, edit in enumerate(CHANGING):
        write(edit.files, tmp_path / str(number))
    folders = [str(tmp_path / str(number)) for number in range(len(CHANGING))]
    seen = {
        subprocess.run(
            [sys.executable, "-c", IN_ORDER, *folders], capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert [len(lines.splitlines()) for lines in seen] == [len(CHANGING)]
