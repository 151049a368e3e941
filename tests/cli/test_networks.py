"""``linrep networks``: what is run, in which order, how it stops, what it says is missing."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.text import Text

torch = pytest.importorskip("torch")

from linrep._lib.provenance import commit  # noqa: E402
from linrep._lib.records import content  # noqa: E402
from linrep.cli import main  # noqa: E402
from linrep.deep import readers  # noqa: E402
from linrep.figures import computing, drawing, experiment, networks, plotting  # noqa: E402
from linrep.figures.network_runs import Table, in_turn  # noqa: E402
from linrep.figures.networks import with_method  # noqa: E402
from linrep.sweeps import load, open_run  # noqa: E402
from tests.tools import rewrite  # noqa: E402

SCALED = [
    name for name in experiment.available() if name.startswith("deep.") and name != "deep.digits"
]
SCRIPT = Path(__file__).parents[1].joinpath("networks_figure.py").read_text("utf-8")
RESULTS = Path("runs", "figures")


def train_here(patch):
    """Train in this process: to start others, which load torch, is most of a test's time."""
    threads = computing.run

    def run_here(*arguments, **options):
        return threads(*arguments, **options | {"processes": False})

    patch.setattr(computing, "run", run_here)


@pytest.fixture
def here(monkeypatch):
    train_here(monkeypatch)


@pytest.fixture
def run(command, here):
    return command


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINREP_DEVICE", raising=False)
    monkeypatch.setenv("LINREP_DEVICE", "cpu")
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine.py").write_text(SCRIPT)
    return lambda *arguments: CliRunner().invoke(main, ["networks", *arguments])


def manifest():
    return content(RESULTS / "mine.networks.json")


def test_what_is_missing_is_said_and_the_same_command_goes_on(command, monkeypatch):
    run = command  # with processes of its own
    with monkeypatch.context() as patch:
        train_here(patch)
        one = run("mine.py", "--where", "method == 'FedRep'", "--workers", "1")
    assert one.exit_code == 0, one.output
    assert "mine.networks: 3 runs are missing; none of those asked for\n" in one.output
    found = manifest()["result"]
    assert found["settings"]["absent"] == 3
    assert found["caption"].startswith("INCOMPLETE: 3 runs are left out, which have not been run.")
    plan = run("mine.py", "--plan").output.splitlines()
    assert plan[0] == "mine.networks: Mine; times on cpu"
    two = run("mine.py", "--workers", "1")
    assert two.exit_code == 0, two.output
    assert "missing" not in two.output
    assert "absent" not in manifest()["result"]["settings"]
    rows = pd.read_parquet(RESULTS / "mine.networks.parquet")
    assert rows.groupby("method")["replicate"].nunique().to_dict() == {"FedRep": 3, "Local": 3}
    # The methods are compared on the same data, weights and participants.
    assert rows.groupby("replicate")["seed"].nunique().eq(1).all()
    assert rows["device"].eq("cpu").all()
    assert (rows["samples_per_second"] > 0).all()
    assert rows["commit"].eq(commit()).all()


def test_what_is_worth_most_of_all_tables_is_run_first(run, tmp_path):
    (tmp_path / "other.py").write_text(SCRIPT.replace("mine.networks", "mine.other"))
    tables = [
        Table(experiment.load(name), 0, lambda cell: True) for name in ("mine.py", "other.py")
    ]
    parts = [(table, table.missing(None)) for table in tables]
    assert in_turn(parts[:1]) == parts[:1]
    steps = in_turn(parts)
    order = [(table, {replicate for *_, replicate in runs}) for table, runs in steps]
    assert order == [(table, {replicate}) for replicate in range(3) for table in tables]
    assert [set.union(*(runs for each, runs in steps if each is table)) for table in tables] == [
        runs for _, runs in parts
    ]
    # A table that is complete has its turn, in which nothing is run.
    assert (tables[0], set()) in in_turn([(tables[0], set()), parts[1]])


def test_a_table_that_fails_stops_no_other(run, tmp_path):
    fails = SCRIPT.replace("mine.networks", "mine.failing").replace(
        "    seed = int(", '    raise ValueError("no network")\n    seed = int('
    )
    (tmp_path / "failing.py").write_text(fails)
    found = run("failing.py", "mine.py", "--workers", "1")
    assert found.exit_code == 1
    assert "no network" in found.output
    assert Path(RESULTS, "mine.networks.svg").is_file()
    assert not Path(RESULTS, "mine.failing.svg").exists()


def test_a_run_with_several_rows_counts_once(run):
    once = ".assign(seed=str(seed))"
    assert once in SCRIPT
    Path("mine.py").write_text(SCRIPT.replace(once, once + ".loc[[0, 0]]"))
    assert run("mine.py", "--where", "method == 'FedRep'", "--workers", "1").exit_code == 0
    plan = [line.split() for line in run("mine.py", "--plan").output.splitlines()]
    assert ["FedRep", "3", "3", "0", "s"] in [line[:5] for line in plan]


def test_what_cannot_be_recorded_replaces_nothing(run):
    assert run("mine.py", "--workers", "1", "--record").exit_code == 0
    record = Path("figures", "networks")
    before = {file.name: file.read_bytes() for file in record.iterdir()}
    assert before.keys() == {f"mine.networks.{kind}" for kind in ("json", "parquet", "svg")}

    def fails(rows):
        raise ValueError("no numbers")

    for part in ("summary", "draw"):
        item = dataclasses.replace(experiment.load("mine.py"), **{part: fails})
        with pytest.raises(ValueError, match="no numbers"):
            drawing.make_figure(
                item, out=record, recorded=True, partial=True, runs=RESULTS / computing.RUNS
            )
    assert {file.name: file.read_bytes() for file in record.iterdir()} == before


def test_one_step_at_a_time_is_all_at_once(run, tmp_path):
    assert run("mine.py", "--where", "method == 'Local'", "--workers", "1").exit_code == 0
    assert run("mine.py", "--workers", "1").exit_code == 0
    parts = pd.read_parquet(RESULTS / "mine.networks.parquet")
    whole = computing.run_rows(experiment.load("mine.py"))
    same = ["method", "replicate", "accuracy", "weighted", "seed", "stream"]
    pd.testing.assert_frame_equal(parts[same], whole[same])


def test_a_number_of_seeds_has_a_folder_of_its_own(run):
    result = run("mine.py", "--replicates", "1", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "which is not compared: replicates = 1" in result.output
    found = content(RESULTS / "replicates=1" / "mine.networks.json")
    assert found["result"]["settings"]["others"] == {"replicates": 1}
    assert found["result"]["rows"]["count"] == 2
    assert not (RESULTS / "mine.networks.json").exists()


def test_nothing_run_is_nothing_drawn(run):
    result = run("mine.py", "--draw")
    assert result.exit_code == 0
    assert "mine.networks: no run has ended yet" in result.output
    assert not (RESULTS / "mine.networks.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fedrep.figure3",), "fedrep.figure3 trains no networks"),
        (("nothing",), "unknown experiment 'nothing'"),
        (("mine.py", "--device", "quantum"), "device must be one that is here, got 'quantum'"),
        (("mine.py", "--where", "method ="), "cannot evaluate"),
        (("mine.py", "--where", "clients == 3", "--plan"), "no column 'clients'"),
        (("mine.py", "--where", "method == 'x'", "--plan"), "no cell is left"),
        (("mine.py", "--rounds", "3"), "--rounds is no size of this figure"),
        (("mine.py", "--replicates", "2", "--record"), "the record has the default sizes"),
        (("deep.fedrep_table1",), "needs --data FOLDER with one of"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_run(run, arguments, said, monkeypatch):
    monkeypatch.delenv("LINREP_DATA", raising=False)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert len(result.output.splitlines()) == 1
    assert not Path("runs").exists()


def packed(folder, name):
    images = np.zeros((4, 1, 2, 2), np.uint8)
    np.savez(folder / f"{name}.npz", x_train=images, y_train=[0, 1, 0, 1])


def test_tables_of_data_that_are_not_there_are_left_out(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    packed(tmp_path, "cifar10_16")
    packed(tmp_path, "mnist_10k")
    (tmp_path / "cifar100.npz").write_bytes((tmp_path / "mnist_10k.npz").read_bytes()[:-9])
    (tmp_path / "cifar-10-batches-py").mkdir()
    result = run("--data", str(tmp_path), "--plan")
    assert result.exit_code == 0, result.output
    assert (
        f"left out, not in {tmp_path}: sent140 (sent140.npz, or LEAF's files and GloVe's vectors)\n"
        f"left out, not in {tmp_path}: femnist (femnist.npz, or LEAF's files)\n"
    ) in result.output
    assert "left out, cannot be read: cifar10: cifar10 is read by torchvision" in result.output
    damaged = f"left out, cannot be read: cifar100: {tmp_path / 'cifar100.npz'} must be a file of"
    assert damaged in result.output
    assert "cifar10_16" in result.output
    assert "femnist  " not in result.output


def test_samples_are_not_read_to_see_that_they_are_there(run, tmp_path, monkeypatch):
    packed(tmp_path, "cifar10_16")
    monkeypatch.setattr(readers.arrays, "npz", None)
    monkeypatch.setattr(readers, "npz", None)
    assert run("deep.flute_table1", "--data", str(tmp_path), "--plan").exit_code == 0


def test_a_condition_that_some_tables_cannot_meet_leaves_these_out(run, tmp_path):
    packed(tmp_path, "cifar10_16")
    condition = ("--data", str(tmp_path), "--plan", "--where", "n == 1000 and classes == 2")
    result = run(*condition)
    assert result.exit_code == 0, result.output
    assert "left out, deep.flute_table1: no cell is left" in result.output
    assert "no column 'classes'" in result.output  # pFL^MF's tables
    assert "deep.fedrep_table1: FedRep, Table 1" in result.output
    named = run("deep.flute_table1", *condition)
    assert (named.exit_code, named.output.count("no cell is left")) == (2, 1)
    nothing = run(*condition[:-1], "n == 7")
    assert nothing.exit_code == 2
    assert "no table has a cell that could be run" in nothing.output


OWN = """
from dataclasses import dataclass
from linrep import deep

@dataclass(frozen=True)
class Clipped(deep.FedRep):
    radius: float = 0.5

class Same(deep.FedRep):
    pass

class Apart:
    pass
"""


def test_a_method_of_ones_own_stands_beside_the_others_on_the_same_draws(run, tmp_path):
    (tmp_path / "own_method.py").write_text(OWN)
    assert run("mine.py", "--where", "method == 'FedRep'", "--workers", "1").exit_code == 0
    before = pd.read_parquet(RESULTS / "mine.networks.parquet")
    result = run("mine.py", "--method", "own_method.py:Same", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "own_method:Same (own)" in result.output
    folder = RESULTS / "method=own_method.Same"
    found = content(folder / "mine.networks.json")["result"]
    said = "uns of the other methods: 3 run here, 0 of the record."
    assert f"mine.networks: r{said}" in result.output
    assert found["caption"].startswith(f"R{said} own_method:Same (own): a method of the user's, ")
    labels = [line["method"] for line in found["summary"]["lines"]]
    assert labels == ["FedRep", "own_method:Same (own)"]
    assert "own_method:Same (own)" in (folder / "mine.networks.svg").read_text("utf-8")
    rows = pd.read_parquet(folder / "mine.networks.parquet").set_index(["method", "replicate"])
    same = ["accuracy", "weighted", "seed", "stream"]
    pd.testing.assert_frame_equal(rows.loc["FedRep"][same], rows.loc["own_method:Same"][same])
    # The table itself is as it was.
    pd.testing.assert_frame_equal(pd.read_parquet(RESULTS / "mine.networks.parquet"), before)
    assert "own" not in (RESULTS / "mine.networks.json").read_text("utf-8")


def test_other_methods_stand_in_the_columns_that_are_wanted(run, tmp_path):
    (tmp_path / "own_method.py").write_text(OWN)
    figure = Path("mine.py").read_text("utf-8")
    for one, other in (
        ('{"method": SHOWN}', '{"n": (6, 8), "method": SHOWN}'),
        ("n=8", 'n=cell["n"]'),
        ('by=["method"]', 'by=["n", "method"]'),
    ):
        assert one in figure
        figure = figure.replace(one, other)
    Path("mine.py").write_text(figure, "utf-8")
    assert run("mine.py", "--where", "method == 'FedRep'", "--workers", "1").exit_code == 0
    own = ("--method", "own_method.py:Same", "--where", "n == 6")
    result = run("mine.py", *own, "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "runs of the other methods: 3 run here" in result.output
    rows = pd.read_parquet(RESULTS / "method=own_method.Same" / "mine.networks.parquet")
    assert set(rows["n"]) == {6}


def test_a_method_that_has_changed_is_run_anew(run, tmp_path):
    def folder(text):
        (tmp_path / "own_method.py").write_text(text)
        load("own_method.py:Same")
        own = with_method(experiment.load("mine.py"), "own_method:Same")
        return computing.run_directory(RESULTS, own, computing.sweep_of(own))

    first = folder(OWN)
    assert folder(OWN) == first
    assert folder(OWN.replace("Same(deep.FedRep)", "Same(deep.Local)")) != first


def test_recorded_rows_stand_beside_a_method_of_ones_own(run, tmp_path):
    (tmp_path / "own_method.py").write_text(OWN)
    recorded = run("mine.py", "--record", "--workers", "1", "--where", "method == 'Local'")
    assert recorded.exit_code == 0, recorded.output
    kept = pd.read_parquet(Path("figures", "networks", "mine.networks.parquet"))
    shutil.rmtree("runs")
    result = run("mine.py", "--method", "own_method.py:Clipped", "--workers", "1")
    assert result.exit_code == 0, result.output
    folder = RESULTS / "method=own_method.Clipped"
    rows = pd.read_parquet(folder / "mine.networks.parquet")
    of_record = rows[rows["method"] == "Local"]
    assert of_record["accuracy"].tolist() == kept["accuracy"].tolist()
    assert "runs of the other methods: 0 run here, 3 of the record." in result.output
    assert set(rows["method"]) == {"Local", "own_method:Clipped"}
    fewer = run("mine.py", "--method", "own_method.py:Clipped", "--replicates", "1")
    assert fewer.exit_code == 0, fewer.output
    (other,) = RESULTS.glob("replicates=1/method=*/mine.networks.parquet")
    assert set(pd.read_parquet(other)["method"]) == {"own_method:Clipped"}


def record():
    """Return the summary's methods, the rows and the missing runs of the record."""
    folder = Path("figures", "networks")
    result = content(folder / "mine.networks.json")["result"]
    shown = [line["method"] for line in result["summary"]["lines"]]
    rows = pd.read_parquet(folder / "mine.networks.parquet")
    return shown, rows, result["settings"].get("absent", 0)


def test_what_is_recorded_and_not_run_here_stays(run):
    def recorded(*arguments):
        result = run("mine.py", "--record", "--workers", "1", *arguments)
        assert result.exit_code == 0, result.output
        return record()

    only = ("--where", "method == 'FedRep'")
    shown, first, absent = recorded(*only)
    assert (shown, absent) == (["FedRep"], 3)
    shutil.rmtree("runs")
    plan = run("mine.py", "--record", "--plan").output.splitlines()
    assert [line.split()[:4] for line in plan if "FedRep" in line] == [["FedRep", "3", "3", "0"]]
    shown, both, absent = recorded()
    assert (shown, absent) == (["Local", "FedRep"], 0)
    kept = both[both["method"] == "FedRep"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, first)
    # By later code from the record alone.
    shutil.rmtree("runs")
    pd.testing.assert_frame_equal(recorded("--draw")[1], both)
    # What has been run again takes the place of its rows.
    assert run("mine.py", "--workers", "1", *only).exit_code == 0
    again = recorded("--draw")[1]
    assert len(again) == len(both)
    new = again[again["method"] == "FedRep"].reset_index(drop=True)
    assert (new["trained"] != first["trained"]).all()
    assert new["accuracy"].tolist() == first["accuracy"].tolist()


def test_what_is_left_of_the_wanted_runs_is_said_beside_what_is_missing(run):
    assert run("mine.py", "--workers", "1", "--where", "method == 'FedRep'").exit_code == 0
    assert (
        "3 runs are missing; without --draw, the command goes on with them"
        in run("mine.py", "--draw").output
    )
    script = Path("mine.py").read_text("utf-8")
    Path("mine.py").write_text(script.replace('SHOWN = ("Local",', 'SHOWN = ("FedAvg", "Local",'))
    assert run("mine.py", "--workers", "1", "--where", "method == 'FedRep'").exit_code == 0
    some = run("mine.py", "--draw", "--where", "method != 'Local'").output
    assert "6 runs are missing; without --draw, the command goes on with 3 of them" in some


def test_a_record_that_could_not_be_kept_is_not_replaced(run):
    every = ("mine.py", "--record", "--workers", "1", "--where")
    assert run(*every, "method == 'FedRep'").exit_code == 0
    shutil.rmtree("runs")
    folder = Path("figures", "networks")
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    manifest, rows = folder / "mine.networks.json", folder / "mine.networks.parquet"

    def of_data(name):
        data = {name: {"sha256": "0" * 64, "about": None}}
        rewrite(manifest, lambda values: values["provenance"].update(data=data))

    for said, change in {
        "its record is of seed 1;": lambda: rewrite(
            manifest, lambda values: values["result"]["settings"].update(seed=1)
        ),
        "mine.networks.parquet, of mine.networks.json, is not there": rows.unlink,
        "is damaged": lambda: manifest.write_bytes(manifest.read_bytes()[:-20]),
        "has no record": manifest.unlink,
        "of another digits than is here;": lambda: of_data("digits"),
        "of nowhere, which cannot be read;": lambda: of_data("nowhere"),
    }.items():
        for file, text in whole.items():
            (folder / file).write_bytes(text)
        change()
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        result = run(*every, "method == 'Local'")
        assert result.exit_code == 2, result.output
        assert said in result.output
        assert not Path("runs").exists()
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_recorded_runs_of_cells_that_the_table_has_no_longer_are_left_out(run):
    assert run("mine.py", "--record", "--workers", "1").exit_code == 0
    script = Path("mine.py").read_text("utf-8")
    Path("mine.py").write_text(script.replace('SHOWN = ("Local",', "SHOWN = ("))
    result = run("mine.py", "--record", "--draw")
    assert result.exit_code == 0, result.output
    assert "3 recorded runs, of no cell of it, are left out" in result.output
    assert record()[0] == ["FedRep"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mine.py", "--method", "own_method.py:Same", "--record"), "--method and --record"),
        (("mine.py", "--method", "nowhere.py:Same"), "no such file: nowhere.py"),
        (
            ("mine.py", "--method", "own_method.py:None"),
            "own_method.py has no function or class None",
        ),
        (("mine.py", "--method", "own_method.py:Apart"), "a class that derives from linrep.deep"),
        (("deep.pflmf_figure3", "--method", "own_method.py:Same"), "does not take a method"),
        (("deep.digits", "--method", "own_method.py:Same"), "does not take a method"),
    ],
)
def test_a_method_that_cannot_stand_in_a_table_is_refused(run, tmp_path, arguments, said):
    (tmp_path / "own_method.py").write_text(OWN)
    result = run(*arguments, "--data", str(tmp_path))
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert len(result.output.splitlines()) == 1
    assert not Path("runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALED)
def test_every_table_by_methods_takes_one_of_ones_own(name, tmp_path, monkeypatch):
    (tmp_path / "own_method.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    item = experiment.load(name)
    if name in ("deep.pflmf_figure3", "deep.pflmf_figure4"):
        return
    own = with_method(item, "own_method:Same").with_sizes({"replicates": 2})
    columns = [{k: v for k, v in cell.items() if k != "method"} for cell in item.at().cells(False)]
    cells = [dict(cell) for cell in own.at().cells(False)]
    assert len(cells) == len({json.dumps(column) for column in columns})
    assert {cell["method"] for cell in cells} == {"own_method:Same"}
    assert [own.order(cell, 1) for cell in cells]
    fixed = own.at(quick=True)
    cell = dict(fixed.cells(True).cells[0])
    fellow = cell | {"method": dict(item.at(quick=True).cells(True).cells[0])["method"]}
    sizes = dataclasses.asdict(own.sizes_at(quick=True))
    rows = pd.concat([
        own.replicate(each, np.random.default_rng(number), **sizes).assign(**each, replicate=number)
        for each in (fellow, cell) for number in (0, 1)
    ])  # fmt: skip
    summary = fixed.summary(rows)
    assert "own_method:Same (own)" in summary.index.get_level_values("method")
    with plotting.style():
        figure = fixed.draw(rows)
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert "own_method:Same (own)" in texts
    assert "own_method:Same (own): a method" in fixed.caption(rows, 2)


def test_other_code_does_not_go_on_from_a_checkpoint(monkeypatch):
    monkeypatch.setattr(networks, "scratch", str)
    known = networks._checkpoint("run")
    assert networks._checkpoint("run") == known != networks._checkpoint("try")
    monkeypatch.setattr(networks, "source", lambda: "other")
    assert networks._checkpoint("run") != known


@pytest.mark.slow
def test_a_signal_ends_a_run_before_its_end_and_nothing_is_lost(command, tmp_path):
    text = SCRIPT.replace("ROUNDS = 2", "ROUNDS = 400").replace("replicates=3", "replicates=1")
    (tmp_path / "mine.py").write_text(text)
    words = [sys.executable, "-m", "linrep.cli", "networks", "mine.py", "--workers", "1"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120.0
    while not list(tmp_path.glob("runs/figures/.runs/*/.scratch/*/run-*.pt")):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "the same command continues" in errors
    (folder,) = (path for path in tmp_path.glob("runs/figures/.runs/*") if path.is_dir())
    assert open_run(folder).count() == 0
    (checkpoint,) = folder.glob(".scratch/*/run-*.pt")
    assert torch.load(checkpoint, weights_only=True)["round"] > 1
    done = command("mine.py", "--workers", "1")
    assert done.exit_code == 0, done.output
    resumed = pd.read_parquet(RESULTS / "mine.networks.parquet")
    whole = computing.run_rows(experiment.load("mine.py"))
    same = ["method", "replicate", "accuracy", "weighted", "seed", "stream"]
    pd.testing.assert_frame_equal(resumed[same], whole[same])
