"""linrep figures --check and --record, on a figure of one's own."""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import linrep
from linrep._lib import portable
from linrep._lib.records import content
from linrep.cli import main
from linrep.figures import experiment, reproduction
from linrep.figures.reproduction import check_figures
from tests.tools import complaint, rewrite

SCRIPT = Path(__file__).parents[1].joinpath("toy_figure.py").read_text("utf-8")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "mine.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call("--record").exit_code == 0
    return folder


@pytest.fixture
def own(recorded, tmp_path, monkeypatch):
    """Go to a folder with a script and its record."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(main, ["figures", "mine.py", "--workers", "1", *arguments])


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_comes_out_again_is_reproduced_and_nothing_recorded_is_touched(own):
    before = files(own / "figures")
    assert set(before) == {f"mine.figure.{kind}" for kind in ("json", "parquet", "svg")}
    result = call("--check")
    assert result.exit_code == 0, result.output
    last = result.stdout.strip().splitlines()[-1]
    assert last.startswith("reproduced: 1 of 1 figures")
    assert files(own / "figures") == before
    assert (own / "runs" / "figures" / "mine.figure.png").is_file()
    assert not (own / "figures" / ".runs").exists()


def test_intervals_decide_about_another_seed(own):
    result = call("--check", "--seed", "5")
    assert result.exit_code == 0, result.output
    assert "seed 5, not 0" in result.output
    assert "other bits" in result.output


def test_a_number_that_is_outside_is_named(own):
    def change(manifest):
        manifest["result"]["summary"]["lines"][1]["value"].update(value=9.0, interval=[8.0, 10.0])

    rewrite(own / "figures" / "mine.figure.json", change)
    result = call("--check")
    assert result.exit_code == 1
    assert "2, value" in result.output
    assert "outside" in result.output
    assert "2, value, from the stored rows" in result.output
    assert result.stdout.strip().splitlines()[-1].startswith("NOT reproduced: 0 of 1 figures")


def test_in_the_portable_mode_digits_decide(own, monkeypatch):
    """A change that no interval would find."""
    monkeypatch.setattr(portable, "mode", lambda: "portable")
    assert call("--record").exit_code == 0
    assert "the same digits" in call("--check").output

    def change(manifest):
        manifest["result"]["rows"]["sha256"] = "0" * 64

    rewrite(own / "figures" / "mine.figure.json", change)
    result = call("--check")
    assert result.exit_code == 1
    assert "digest" in result.output
    rewrite(
        own / "figures" / "mine.figure.json",
        lambda manifest: manifest["provenance"]["versions"].update(numba="0.1"),
    )
    result = call("--check")
    assert result.exit_code == 0
    assert "0.1 in the record" in result.output


def test_the_table_says_how_many_numbers_of_each_figure(own):
    item = experiment.load("mine.py")
    names = []
    found = check_figures([item], done=lambda drawn: names.append(drawn.manifest["id"]))
    assert names == ["mine.figure"]
    assert found.mode == portable.mode()
    (line,) = found.counts().to_dict("records")
    assert (line["figure"], line["same digits"], line["outside"]) == ("mine.figure", 3, 0)
    assert line["rows"] == "same bits"
    assert found.reproduced
    assert found.wrong.empty
    assert len(found.text().splitlines()) < 50


def test_many_wrong_numbers_fit_a_screen(own):
    table = check_figures([experiment.load("mine.py")]).table
    wrong = (table.assign(outcome="outside", figure=f"mine.{i}") for i in range(17))
    many = pd.concat(wrong, ignore_index=True)
    reasons = dict.fromkeys(many["figure"], ("a reason",))
    text = reproduction.Reproduction(many, "native", reasons).text()
    assert len(text.splitlines()) < 50
    assert "more" in text


def test_intervals_decide_where_there_is_a_reason_and_nowhere_else(own):
    """One figure that was recorded natively leaves the others as strict as they are."""
    table = check_figures([experiment.load("mine.py")]).table
    moved = table.assign(outcome=linrep.figures.record.INSIDE)
    both = pd.concat([moved.assign(figure="a.one"), moved.assign(figure="b.two")])
    found = reproduction.Reproduction(both, "portable", {"b.two": ("recorded natively",)})
    assert set(found.wrong["figure"]) == {"a.one"}
    assert found.sentence() == (
        "NOT reproduced: 1 of 2 figures (1: the same digits, in the portable mode; "
        "1: inside the recorded intervals, which decide: recorded natively)"
    )


@pytest.mark.parametrize("where", ["libc", "BLAS"])
def test_another_system_library_is_a_reason(own, where):
    def change(manifest):
        about = manifest["provenance"]
        if where == "BLAS":
            about["BLAS"][0]["version"] = "0.0"
        else:
            about["versions"]["libc"] = "glibc 0.0"

    rewrite(own / "figures" / "mine.figure.json", change)
    assert "0.0 in the record" in call("--check").output


class Entered(Exception):
    """A command has chosen the portable mode."""


def test_the_mode_is_entered_where_digits_are_compared_or_it_is_asked_for(own, monkeypatch):
    def enters():
        raise Entered

    monkeypatch.setattr(import_module("linrep.cli.figures"), "start_portable", enters)
    for words in (["--check"], ["--record"], ["--portable"]):
        assert isinstance(call(*words).exception, Entered), words
    for words in ([], ["--check", "--native"]):
        assert call(*words).exit_code == 0, words


COMMAND = ("-m", "linrep.cli", "figures", "mine.py", "--workers", "1")


def last_line(*words):
    """Return the last line that a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(Path(linrep.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def provenance(folder):
    return content(folder / "mine.figure.json")["provenance"]


@pytest.mark.slow
@pytest.mark.skipif(not portable.available(), reason=f"{portable.reason()}")
def test_a_process_of_its_own_is_started_in_the_mode_where_it_is_needed_or_asked_for(own):
    """The command, and the script by itself."""
    last_line(*COMMAND)
    assert provenance(own / "runs" / "figures")["mode"] == portable.mode()
    last_line("mine.py", "--portable")
    assert provenance(own / "runs" / "figures")["mode"] == "portable"
    last_line(*COMMAND, "--record")
    assert provenance(own / "figures")["mode"] == "portable"
    assert provenance(own / "figures")["instructions"] == portable.LEVEL
    for words in (("mine.py",), COMMAND):
        assert "(the same digits, in the portable mode)" in last_line(*words, "--check")


def test_a_record_that_is_missing_is_named(tmp_path):
    folder = Path(linrep.__file__).parents[1] / "figures"
    for path in folder.glob("*.json"):
        if path.stem != "fedrep.figure4":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    with complaint(ValueError, "fedrep.figure4", "no record"):
        reproduction.papers(tmp_path)


def test_the_papers_figures_have_a_record():
    folder = Path(linrep.__file__).parents[1] / "figures"
    there = {name for name in reproduction.recorded(folder) if not name.startswith("deep.")}
    assert set(experiment.matching(reproduction.PAPERS)) - there <= {
        name for name in experiment.available() if name.startswith("deep.")
    }
    assert np.isin(["fedrep.figure1", "flute.figure3", "fedrep.digits"], sorted(there)).all()
