"""linrep figures, and the same for one script: what it prints and where it writes."""

import runpy
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from linrep._lib import scripts
from linrep.cli import main
from tests.tools import runner

SCRIPT = Path(__file__).parents[1].joinpath("toy_figure.py").read_text("utf-8")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scripts, "record", lambda: None)
    (tmp_path / "mine.py").write_text(SCRIPT)
    return lambda *arguments: CliRunner().invoke(main, list(arguments))


def test_figures_runs_a_script_of_ones_own(run, tmp_path):
    result = run("figures", "mine.py")
    assert result.exit_code == 0, result.output
    assert "mine.figure: runs" in result.output
    assert (tmp_path / "runs" / "figures" / "mine.figure.json").is_file()
    assert not (tmp_path / "figures").exists()


def test_what_runs_would_warn_of_is_one_line(run, tmp_path):
    noted = 'warn("it crawls: 3", RunWarning, "it crawls")'
    head = "from linrep._lib.warning import RunWarning, warn\n"
    text = SCRIPT.replace("    return pd.DataFrame", f"    {noted}\n    return pd.DataFrame", 1)
    (tmp_path / "mine.py").write_text(text.replace("import pandas", f"{head}import pandas", 1))
    figures = ("figures", "mine.py")
    sweep = ("sweep", "--function", "mine.py:replicate", "--m", "1,2", "--replicates", "3")
    for words, line in (
        (figures, "mine.figure: notes on its runs: it crawls (24 of 24 replicates)\n"),
        (sweep, "in the column notes: it crawls (6 of 6)\n"),
    ):
        result = runner().invoke(main, words)
        assert result.exit_code == 0, result.output
        assert line in result.stderr
        assert (result.stdout + result.stderr).count("crawls") == 1


def test_other_sizes_have_a_folder_of_their_own(run, tmp_path):
    sizes = ("--n", "6", "--d", "4", "--m_new", "2:4:2", "--rounds", "3", "--replicates=2")
    result = run("figures", "fedrep.figure4", *sizes)
    assert result.exit_code == 0, result.output
    assert "fedrep.figure4: not the sizes of the record: n = 6; d = 4" in result.output
    folder = tmp_path / "runs" / "figures" / "n=6_d=4_rounds=3_m_new=2-4_replicates=2"
    assert (folder / "fedrep.figure4.png").is_file()
    assert [path.name for path in (tmp_path / "runs" / "figures").iterdir()] == [folder.name]
    rows = pd.read_parquet(folder / "fedrep.figure4.parquet")
    assert sorted(rows["samples"].unique()) == [2, 4]
    assert sorted(rows["replicate"].unique()) == [0, 1]


def test_a_wide_table_goes_into_a_file_and_what_was_not_reached_is_no_infinity(run, tmp_path):
    sizes = ("--n", "10", "--d", "6", "--k", "2", "--rounds", "3", "--replicates", "1")
    result = run("figures", "fedrep.figure3", *sizes)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 200  # a path is in it
    (path,) = (tmp_path / "runs" / "figures").glob("*/fedrep.figure3.csv")
    lines = len(pd.read_csv(path))
    assert f"numbers in {path.relative_to(tmp_path)}, {lines} lines" in result.stdout
    narrow = run("figures", "mine.py", "--quick")
    assert narrow.exit_code == 0
    assert not list((tmp_path / "runs" / "figures" / "quick").glob("*.csv"))


def test_help_lists_the_sizes_of_a_figure(run):
    found = run("figures", "fedrep.figure3", "flute.figure4", "--help").output
    for line in ("Sizes of fedrep.figure3", "--participation", "[default: 10,20,100,1000]",
                 "Sizes of flute.figure4", "--epochs"):  # fmt: skip
        assert line in found
    assert "linrep figures ID --help" in run("figures", "--help").output


def test_list_names_every_experiment(run):
    result = run("figures", "--list")
    assert result.exit_code == 0
    for name in ("figure1", "figure3", "figure4", "figure7", "digits"):
        assert f"fedrep.{name}" in result.output


def test_what_lacks_a_package_is_left_out_of_a_pattern_but_not_by_name(run, monkeypatch):
    from linrep.figures.experiment import Experiment

    monkeypatch.setattr(Experiment, "missing", lambda self, quick=False: "the package x")
    result = run("figures", "*.digits")
    assert result.exit_code == 0, result.output
    for name in ("deep.digits", "fedrep.digits"):
        assert f"{name} is left out, it needs the package x" in result.output
    for name in ("fedrep.digits", "mine.py"):
        result = run("figures", name)
        assert result.exit_code == 2
        assert "needs the package x" in result.output


def test_data_are_asked_for_where_the_full_settings_read_them(run, monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text(SCRIPT.replace('title="Mine",', 'title="Mine", data=("x",),'))
    monkeypatch.delenv("LINREP_DATA", raising=False)
    result = run("figures", "mine.py")
    assert result.exit_code == 2
    assert "mine.figure needs --data FOLDER with x (or --quick)" in result.output
    assert not (tmp_path / "figures").exists()
    assert run("figures", "mine.py", "--quick").exit_code == 0
    monkeypatch.setenv("LINREP_DATA", "")  # what --data sets is gone with the test
    assert run("figures", "mine.py", "--data", str(tmp_path)).exit_code == 0
    assert run("figures", "mine.py", "--data", "nowhere").exit_code == 2


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Return a function that runs a script with arguments and returns its status."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SCRIPT)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["mine.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path("mine.py", run_name="__main__")
        return ended.value.code

    return run


def test_a_script_runs_by_itself(script):
    assert script("--out", "here") == 0
    assert Path("here", "mine.figure.png").is_file()
