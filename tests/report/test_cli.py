"""linrep report."""

import json
import os

import pytest
from click.testing import CliRunner

from linrep.claims import claims
from linrep.claims.prose import SEVERITIES
from linrep.cli import main


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.slow
def test_without_runs_the_ledger_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f"report.html: {len(claims())} claims, 0 with a stored run" in call("report")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "linrep verify fedrep.lemma1 --budget standard --seed 0" in page
    assert "ledger, standard" in page
    assert page.count("data:image/png") >= len(SEVERITIES)


def test_claims_of_ones_own(own):
    """Where they are stored on this machine is named nowhere."""
    call("verify", "own_claims.py", "mine.wrong", "--workers", "1", "--store", own / "runs", code=1)
    words = ("own_claims.py", "--store", own / "runs", "--json", "mine.json")
    output = call("report", *words, "--out", "mine.html")
    assert "mine.html: 4 claims, 1 with a stored run, 0 figures" in output
    page = (own / "mine.html").read_text(encoding="utf-8")
    assert "linrep verify own_claims.py mine.wrong --budget quick --seed 0<" in page
    assert str(own) not in page
    assert page.count("data:image/png") == 1
    found = json.loads((own / "mine.json").read_text(encoding="utf-8"))["statements"]
    assert set(found) == {"mine.bound", "mine.wrong", "mine.wrong.corrected", "mine.crash"}
    for name, item in found.items():
        assert item["address"] == f"mine.html#{name}"
        assert f'id="{name}"' in page
    assert found["mine.wrong"]["verdict"] == "fails"
    assert found["mine.bound"]["verdict"] == "unchecked"
    call("report", "own_claims.py", "mine.wrong*", "--out", "few.html")
    few = (own / "few.html").read_text(encoding="utf-8")
    assert 'id="mine.wrong.corrected"' in few
    assert 'id="mine.bound"' not in few


def test_a_run_of_linreps_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("verify", "pflmf.lemma3", "--workers", "1", "--store", "here")
    assert "5 claims, 1 with a stored run" in call("report", "pflmf.lemma*", "--store", "here")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "quick run · seed 0" in page
    assert "ledger, standard · seed 0" in page
    assert "linrep verify pflmf.lemma3 --budget quick --seed 0 --store here" in page


@pytest.mark.parametrize("name", ["sweep.json", "*.parquet"])
def test_a_stored_run_that_is_damaged_is_named(own, name):
    arguments = ("own_claims.py", "mine.bound", "--store", "runs")
    call("verify", *arguments, "--workers", "1")
    (path,) = (own / "runs").rglob(name)
    path.write_bytes(path.read_bytes()[:99])
    said = call("report", *arguments, code=1)
    assert "mine.bound: its check in runs is damaged" in said
    assert "1 claim, 0 with a stored run" in said
    assert "A stored run cannot be read" in (own / "report.html").read_text("utf-8")
    call("verify", *arguments, "--workers", "1")
    assert "1 with a stored run" in call("report", *arguments)
    assert "cannot be read" not in (own / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_figures_of_the_folder_in_place(tmp_path, monkeypatch, figures):
    monkeypatch.chdir(tmp_path)
    assert ", 0 figures" in call("report")
    assert ", 1 figure" in call("report", "--figures", "pictures")
    figures.rename("figures")
    assert ", 1 figure" in call("report")
    assert ", 0 figures" in call("report", "flute.*")


def test_what_cannot_be_read_is_said_and_the_rest_is_written(own, figures):
    manifest = figures / "mine.figure.json"
    before = manifest.read_bytes()
    manifest.write_bytes(before[:-9])
    said = call("report", "mine.wrong", "own_claims.py", "--figures", figures)
    assert [line for line in said.splitlines() if "mine.figure.json is damaged: " in line]
    assert "1 claim, 0 with a stored run, 0 figures" in said
    manifest.write_bytes(before)
    assert "1 figure," in call("report", "mine.wrong", "own_claims.py", "--figures", figures)


def test_a_failure_leaves_the_page_that_was_there(own, monkeypatch):
    page = own / "report.html"
    page.write_text("before")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "no space left" in call("report", "mine.bound", "own_claims.py", code=2)
    assert page.read_text() == "before"
    monkeypatch.undo()
    assert not [path for path in own.iterdir() if path.name.startswith(".")]
