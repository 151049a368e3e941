"""Figures of networks: what a run has in its row, and that none begins again after a signal."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from linrep._lib.provenance import commit  # noqa: E402
from linrep.cli import main  # noqa: E402
from linrep.figures import computing, experiment, networks  # noqa: E402
from linrep.sweeps import open_run  # noqa: E402
from tests.figures.support import run_rows  # noqa: E402

SCRIPT = Path(__file__).parents[1].joinpath("networks_figure.py").read_text("utf-8")
#: How a sweep is run in this process: to start others, which load torch, takes long.
HERE = {"processes": False}
COMMAND = ("figures", "mine.py", "--workers", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINREP_DEVICE", "cpu")
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine.py").write_text(SCRIPT)
    return tmp_path


def drawn(folder):
    """Draw the figure, and return its rows."""
    done = CliRunner().invoke(main, COMMAND)
    assert done.exit_code == 0, done.output
    return pd.read_parquet(folder / "runs" / "figures" / "mine.networks.parquet")


def test_methods_are_compared_on_the_same_data_weights_and_participants(folder, monkeypatch):
    run = computing.run
    monkeypatch.setattr(computing, "run", lambda *a, **options: run(*a, **options | HERE))
    rows = drawn(folder)
    assert rows.groupby("method")["replicate"].nunique().to_dict() == {"FedRep": 3, "Local": 3}
    assert rows.groupby("replicate")["seed"].nunique().eq(1).all()
    assert rows["device"].eq("cpu").all()
    assert (rows["samples_per_second"] > 0).all()
    assert rows["commit"].eq(commit()).all()


def test_other_code_does_not_go_on_from_a_checkpoint(monkeypatch):
    monkeypatch.setattr(networks, "scratch", str)
    known = networks._checkpoint("run")
    assert networks._checkpoint("run") == known != networks._checkpoint("try")
    monkeypatch.setattr(networks, "source", lambda: "other")
    assert networks._checkpoint("run") != known


@pytest.mark.slow
def test_a_signal_ends_a_run_before_its_end_and_nothing_is_lost(folder):
    text = SCRIPT.replace("ROUNDS = 2", "ROUNDS = 400").replace("replicates=3", "replicates=1")
    (folder / "mine.py").write_text(text)
    words = [sys.executable, "-m", "linrep.cli", *COMMAND]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120.0
    while not list(folder.glob("runs/figures/.runs/*/.scratch/*/run-*.pt")):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "the same command continues" in errors
    (under_way,) = (path for path in folder.glob("runs/figures/.runs/*") if path.is_dir())
    assert open_run(under_way).count() == 0
    (checkpoint,) = under_way.glob(".scratch/*/run-*.pt")
    assert torch.load(checkpoint, weights_only=True)["round"] > 1
    resumed = drawn(folder)
    whole = run_rows(experiment.load("mine.py"))
    same = ["method", "replicate", "accuracy", "weighted", "seed", "stream"]
    pd.testing.assert_frame_equal(resumed[same], whole[same])
