"""Methods, networks and data of one's own in sweeps; what cannot be run is refused."""

import textwrap

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from linrep import simulation
from linrep.cli import main
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
"""
SPLIT = ["--n", "4", "--classes_per_client", "2", "--rounds", "1", "--participation", "0.5"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(textwrap.dedent(OWN), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def swept(*arguments):
    result = CliRunner().invoke(main, ["sweep", *arguments, "--replicates", "1", "--out", "run"])
    return result.exit_code, result.output


def rows():
    found = open_run("run").read()
    assert (found["status"] == "ok").all()
    return found


def test_methods_of_linrep_and_of_ones_own_share_data_and_networks():
    names = "own_parts.py:Still,own_parts.py:Bold,deep.fedrep"
    own = ["--model", "own_parts.py:Net", "--head", "fc", "--batch_size", "2"]
    code, output = swept(names, *SPLIT, *own)
    assert code == 0, output
    accuracy = rows().set_index("algorithm")["test_loss"]
    assert accuracy["own_parts:Bold"] == pytest.approx(accuracy["deep.fedrep"], rel=1e-5)
    assert accuracy["own_parts:Still"] != pytest.approx(accuracy["deep.fedrep"], rel=1e-5)


def test_settings_of_a_method_of_ones_own_are_axes():
    code, output = swept("own_parts.py:Still", *SPLIT, "--model", "mlp", "--radius", "0,1")
    assert code == 0, output
    assert rows()["radius"].tolist() == [0, 1]


def test_clients_and_augmentation_of_ones_own():
    code, output = swept(
        *("own_parts.py:Still", "--dataset", "own_parts.py:clients", "--model", "mlp"),
        *("--augment", "own_parts.py:noisy", "--rounds", "1", "--participation", "0.5"),
    )
    assert code == 0, output
    assert len(rows()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["deep.fedrep", "--n", "4"], "missing a required argument: 'classes_per_client'"),
        (["deep.fedrep", *SPLIT], "8 is too small"),
        (["deep.fedrep", *SPLIT, "--model", "mlq"], "model must be one of"),
        (
            ["deep.fedrep", *SPLIT, "--model", "mlp", "--device", "tpu"],
            "device must be one that",
        ),
        (["deep.fedrep", "--partition", "shard", "--n", "4"], "partition must be one of"),
        (["deep.fedrep", "--dataset", "nowhere.npz", "--n", "4"], "nowhere.npz is not there"),
        (["deep.fedrep", "--dataset", "own_parts.py:nobody"], "has no function nobody"),
        (["own_parts.py:Still", "--dataset", "own_parts.py:clients", "--n", "4"], "split already"),
        (["own_parts.py:Still", *SPLIT, "--model", "mlp", "--radios", "1"], "radios"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_replicate(folder, arguments, said):
    code, output = swept(*arguments)
    assert code == 2
    assert said in output
    assert not (folder / "run").exists()


def test_the_problem_of_a_method_of_ones_own_is_found():
    assert simulation.family_of("own_parts.py:Still").refuse is not None
