"""The repositories of papers in docs/examples: what is recorded is of their sources."""

import json
import os
import subprocess
import sys

import pytest

from tests.test_import import ROOT

FOLDER = ROOT / "docs" / "examples" / "linrep-anil"


@pytest.fixture
def linrep(tmp_path):
    """Return the command line where the paper is installed."""
    info = tmp_path / "linrep_anil-0.1.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Name: linrep-anil\nVersion: 0.1\n")
    info.joinpath("entry_points.txt").write_text("[linrep.papers]\nanil = linrep_anil\n")
    path = os.pathsep.join(map(str, [ROOT, FOLDER / "src", tmp_path]))

    def linrep(*words):
        return subprocess.run(
            [sys.executable, "-m", "linrep", *words], cwd=tmp_path, check=False,
            env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        )  # fmt: skip

    return linrep


def test_what_is_recorded_is_of_the_sources(linrep):
    entries = json.loads((FOLDER / "src" / "linrep_anil" / "ledger.json").read_text("utf-8"))
    listed = linrep("verify", "--list", "--paper", "anil")
    assert listed.returncode == 0, listed.stderr
    assert entries
    assert [item["id"] for item in entries if item["id"] not in listed.stdout] == []


def test_two_statements_are_as_recorded(linrep):
    done = linrep("verify", "anil.diversity", "anil.diversity.corrected")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 as recorded" in done.stdout + done.stderr
