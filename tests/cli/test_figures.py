"""linrep figures, and the same for one script: what it prints and where it writes."""

import runpy
import sys
from pathlib import Path

import pandas as pd
import pytest

from linrep._lib import scripts
from linrep.cli import main
from linrep.figures.experiment import Experiment
from tests.cli.support import call
from tests.tools import runner

SCRIPT = Path(__file__).parents[1].joinpath("toy_figure.py").read_text("utf-8")


@pytest.fixture(autouse=True)
def mine(folder, monkeypatch):
    monkeypatch.setattr(scripts, "record", lambda: None)
    (folder / "mine.py").write_text(SCRIPT)


def test_figures_runs_a_script_of_ones_own(folder):
    assert "mine.figure: runs" in call("figures", "mine.py")
    assert (folder / "runs" / "figures" / "mine.figure.json").is_file()
    assert not (folder / "figures").exists()


def test_what_runs_would_warn_of_is_one_line(folder):
    noted = 'warn("it crawls: 3", RunWarning, "it crawls")'
    head = "from linrep._lib.warning import RunWarning, warn\n"
    text = SCRIPT.replace("    return pd.DataFrame", f"    {noted}\n    return pd.DataFrame", 1)
    (folder / "mine.py").write_text(text.replace("import pandas", f"{head}import pandas", 1))
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


def test_other_sizes_have_a_folder_of_their_own(folder):
    sizes = "--n 6 --d 4 --m_new 2:4:2 --rounds 3 --replicates=2"
    output = call(f"figures fedrep.figure4 {sizes}")
    assert "fedrep.figure4: not the sizes of the record: n = 6; d = 4" in output
    (own,) = (folder / "runs" / "figures").iterdir()
    assert own.name == "n=6_d=4_rounds=3_m_new=2-4_replicates=2"
    assert (own / "fedrep.figure4.png").is_file()
    rows = pd.read_parquet(own / "fedrep.figure4.parquet")
    assert sorted(rows["samples"].unique()) == [2, 4]
    assert sorted(rows["replicate"].unique()) == [0, 1]


def test_a_wide_table_goes_into_a_file_and_what_was_not_reached_is_no_infinity(folder):
    output = call("figures fedrep.figure3 --n 10 --d 6 --k 2 --rounds 3 --replicates 1")
    assert max(map(len, output.splitlines())) <= 200  # a path is in it
    (path,) = (folder / "runs" / "figures").glob("*/fedrep.figure3.csv")
    lines = len(pd.read_csv(path))
    assert f"numbers in {path.relative_to(folder)}, {lines} lines" in output
    call("figures", "mine.py", "--quick")
    assert not list((folder / "runs" / "figures" / "quick").glob("*.csv"))


def test_help_lists_the_sizes_of_a_figure_and_list_every_figure():
    found = call("figures", "fedrep.figure3", "flute.figure4", "--help")
    for line in ("Sizes of fedrep.figure3", "--participation", "[default: 10,20,100,1000]",
                 "Sizes of flute.figure4", "--epochs"):  # fmt: skip
        assert line in found
    assert "linrep figures ID --help" in call("figures", "--help")
    listed = call("figures", "--list")
    for name in ("figure1", "figure3", "figure4", "figure7", "digits"):
        assert f"fedrep.{name}" in listed


def test_what_lacks_a_package_is_left_out_of_a_pattern_but_not_by_name(monkeypatch):
    monkeypatch.setattr(Experiment, "missing", lambda self, quick=False: "the package x")
    output = call("figures", "*.digits")
    for name in ("deep.digits", "fedrep.digits"):
        assert f"{name} is left out, it needs the package x" in output
    for name in ("fedrep.digits", "mine.py"):
        assert "needs the package x" in call("figures", name, status=2)


def test_data_are_asked_for_where_the_full_settings_read_them(folder, monkeypatch):
    (folder / "mine.py").write_text(SCRIPT.replace('title="Mine",', 'title="Mine", data=("x",),'))
    monkeypatch.delenv("LINREP_DATA", raising=False)
    needed = "mine.figure needs --data FOLDER with x (or --quick)"
    assert needed in call("figures", "mine.py", status=2)
    assert not (folder / "figures").exists()
    call("figures", "mine.py", "--quick")
    monkeypatch.setenv("LINREP_DATA", "")  # what --data sets is gone with the test
    call("figures", "mine.py", "--data", folder)
    call("figures", "mine.py", "--data", "nowhere", status=2)


def test_a_script_runs_by_itself(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mine.py", "--out", "here"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path("mine.py", run_name="__main__")
    assert ended.value.code == 0
    assert Path("here", "mine.figure.png").is_file()
