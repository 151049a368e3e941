"""Methods, networks and data of one's own in sweeps; what cannot be run is refused."""

import json
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from linrep import deep, simulation
from linrep.cli import main
from linrep.simulation.families import partitioned
from linrep.sweeps import open_run

OWN = """
    from dataclasses import dataclass

    import numpy as np
    import torch

    from linrep import deep

    @dataclass(frozen=True)
    class Still(deep.FedRep):
        radius: float = 0.0

        def aggregate(self, old, mean):
            return old + self.radius * (mean - old)

    @dataclass(frozen=True)
    class Bold(Still):
        radius: float = 1.0

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8))
            self.norm, self.fc = torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 10)

        def forward(self, x):
            return self.fc(torch.relu(self.norm(self.body(x))))

    def clients():
        rng = np.random.default_rng(0)
        return deep.FederatedData.from_lists(
            [(rng.normal(size=(3, 64)), [0, 1, 2], rng.normal(size=(2, 64)), [0, 1])] * 4,
            classes=10,
        )

    def noisy(x):
        return x + torch.randn(x.shape)

    def drawn(rng):
        x = rng.normal(size=(60, 64)).astype("float32")
        return deep.Dataset(x[:40], np.arange(40) % 10, x[40:], np.arange(20) % 10)

    def careless():
        return drawn(np.random.default_rng())

    def number():
        return 3
"""
SPLIT = "--n 4 --classes_per_client 2 --rounds 1 --participation 0.5"
SMALL = "--model mlp --batch_size 2 --rounds 1 --participation 0.5"
DIRICHLET = "--partition dirichlet --n 4"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(textwrap.dedent(OWN), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def swept(arguments):
    result = CliRunner().invoke(main, f"sweep {arguments} --replicates 1 --out run".split())
    return result.exit_code, result.output


def found(arguments):
    """Return the rows of a sweep, all of which have run."""
    code, output = swept(arguments)
    assert code == 0, output
    rows = open_run("run").read()
    assert (rows["status"] == "ok").all()
    return rows


def settings():
    return json.loads(Path("run", "sweep.json").read_text("utf-8"))["settings"]


def test_methods_of_linrep_and_of_ones_own_share_data_and_networks():
    rows = found(
        f"own_parts.py:Still,own_parts.py:Bold,deep.fedrep {SPLIT} --model own_parts.py:Net "
        "--head fc --batch_size 20"
    )
    loss = rows.set_index("algorithm")["test_loss"]
    assert loss["own_parts:Bold"] == pytest.approx(loss["deep.fedrep"], rel=1e-5)
    assert loss["own_parts:Still"] != pytest.approx(loss["deep.fedrep"], rel=1e-5)


def test_settings_of_a_method_of_ones_own_are_axes():
    rows = found(f"own_parts.py:Still {SPLIT} --model mlp --radius 0,1")
    assert rows["radius"].tolist() == [0, 1]


def test_clients_and_augmentation_of_ones_own():
    rows = found(
        "own_parts.py:Still --dataset own_parts.py:clients --model mlp "
        "--augment own_parts.py:noisy --rounds 1 --participation 0.5"
    )
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("deep.fedrep --n 4", "missing a required argument: 'classes_per_client'"),
        (f"deep.fedrep {SPLIT}", "8 is too small"),
        (f"deep.fedrep {SPLIT} --model mlq", "model must be one of"),
        (f"deep.fedrep {SPLIT} --model mlp --device tpu", "device must be one that"),
        ("deep.fedrep --partition shard --n 4", "partition must be one of"),
        ("deep.fedrep --dataset nowhere.npz --n 4", "nowhere.npz is not there"),
        ("deep.fedrep --dataset own_parts.py:nobody", "has no function or class nobody"),
        (f"deep.fedrep {SPLIT} --model mlp --augment crop_and_flip", "must be file.py:function"),
        ("own_parts.py:Still --dataset own_parts.py:clients --n 4", "split already"),
        (f"own_parts.py:Still {SPLIT} --model mlp --radios 1", "radios"),
        ("deep.fedrep --dataset own_parts.py:number", "must return a Dataset"),
        (f"deep.fedrep,deep.apfl {DIRICHLET} --alpha 1", "give method_alpha or partition_alpha"),
        (f"deep.fedrep {DIRICHLET} --alpha 1 --partition_alpha 1", "alpha or partition_alpha, not"),
        (f"deep.fedrep {SPLIT} --model mlp --method_alpha 1", "method_alpha"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_replicate(folder, arguments, said):
    code, output = swept(arguments)
    assert (code, said in output) == (2, True), output
    assert not (folder / "run").exists()


def test_the_problem_of_a_method_of_ones_own_is_found():
    assert simulation.family_of("own_parts.py:Still").refuse is not None


def test_the_mixture_of_apfl_and_the_law_of_the_partition_are_both_axes():
    rows = found(
        f"deep.apfl,deep.fedavg {DIRICHLET} {SMALL} --dataset own_parts.py:drawn "
        "--partition_alpha 0.5,50 --method_alpha 0,1"
    )
    assert len(rows) == 4 + 2
    # The method's own changes no data; with a mixture of 0 a client has the shared model.
    assert rows.groupby("partition_alpha")["stream"].nunique().tolist() == [1, 1]
    for _, of_data in rows.groupby("partition_alpha"):
        loss = of_data.set_index(["algorithm", "method_alpha"])["test_loss"]
        assert loss["deep.apfl", 0] != pytest.approx(loss["deep.apfl", 1], rel=1e-6)
    first, second = (part["test_loss"].iloc[0] for _, part in rows.groupby("partition_alpha"))
    assert first != pytest.approx(second, rel=1e-6)


def test_help_names_both_alphas_only_where_there_are_two():
    pages = {name: CliRunner().invoke(main, ["sweep", name, "--help"]).output
            for name in ("deep.apfl", "deep.fedrep")}  # fmt: skip
    for name in ("--partition_alpha", "--method_alpha"):
        assert name in pages["deep.apfl"]
        assert name not in pages["deep.fedrep"]
    assert "--alpha" in pages["deep.fedrep"]
    assert re.search(r"--method_alpha +\[default: 0.25\]", pages["deep.apfl"])
    assert "--alpha" not in pages["deep.apfl"]


def test_data_that_a_function_draws_are_those_of_the_stream():
    found(
        f"deep.fedrep,deep.fedavg --dataset own_parts.py:drawn --n 4 {SMALL} --classes_per_client 2"
    )
    cell = {
        "algorithm": "deep.fedavg", "dataset": "own_parts.py:drawn", "n": 4, "model": "mlp",
        "batch_size": 2, "rounds": 1, "participation": 0.5, "classes_per_client": 2,
    }  # fmt: skip
    again = [simulation.simulate(cell, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert again[0] == again[1] != again[2]
    assert "data" not in settings()


def test_the_digest_of_data_that_are_read_is_kept():
    found(f"deep.fedrep {SPLIT} --model mlp")
    assert settings()["data"] == {"digits": deep.load("digits").digest}


def test_data_that_differ_between_processes_are_refused():
    code, output = swept(
        f"deep.fedrep --dataset own_parts.py:careless --n 4 {SMALL} --classes_per_client 2 "
        "--workers 2 --processes"
    )
    assert code == 1
    assert "dataset own_parts.py:careless has other samples in this process" in output
    assert "a function that draws them must take rng" in output


def test_a_run_does_not_go_on_with_other_samples():
    x = np.random.default_rng(0).normal(size=(60, 64)).astype("float32")
    labels = np.arange(60) % 10

    def store(x):
        np.savez("own.npz", x_train=x[:40], y_train=labels[:40], x_test=x[40:], y_test=labels[40:])
        partitioned._read.cache_clear()

    store(x)
    arguments = f"deep.fedrep --dataset own.npz --n 4 {SMALL} --classes_per_client 2"
    assert [swept(arguments)[0] for _ in range(2)] == [0, 0]
    store(x + 1)
    code, output = swept(arguments)
    assert (code, "data" in output) == (2, True)


_DRAWN = "--model mlp --dataset own_parts.py:drawn"


@pytest.mark.parametrize(
    ("options", "old", "new", "changed"),
    [
        ("--model own_parts.py:Net --head fc", "torch.relu", "torch.tanh", "Net.forward"),
        (f"{_DRAWN} --augment own_parts.py:noisy", "x + torch", "x - torch", "noisy"),
        (_DRAWN, "(40) % 10", "(40) % 5", "drawn"),
    ],
)
def test_what_cells_name_is_code_of_theirs(folder, options, old, new, changed):
    arguments = f"deep.fedrep {SPLIT} {options} --batch_size 20"
    assert [swept(arguments)[0] for _ in range(2)] == [0, 0]
    text = (folder / "own_parts.py").read_text("utf-8")
    assert old in text
    (folder / "own_parts.py").write_text(text.replace(old, new), "utf-8")
    partitioned._loaded.cache_clear()  # as in a new process
    code, output = swept(arguments)
    assert (code, output.count("\n")) == (2, 1)
    assert f"of other code (changed: {changed})" in output
