"""The benchmark of the deep experiments, in miniature: what is compared does the same work."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from linrep.bench import deep as bench  # noqa: E402
from linrep.bench import timing  # noqa: E402
from linrep.cli import main  # noqa: E402
from linrep.deep import models  # noqa: E402
from linrep.deep.methods import FedAvg, FedPer, FedRep  # noqa: E402

NETWORKS = {
    "linear": bench.NETWORKS["linear 64"],
    "CNN": bench.Network(
        lambda: models.cnn(10, 1, 8, widths=(2, 3), hidden=(4,), kernel=3, padding=1), (1, 8, 8)
    ),
}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(bench, "CLIENTS", 2)
    monkeypatch.setattr(bench, "_STEPS", 2)
    monkeypatch.setattr(timing, "_SETTLE", 0.0)


def tables():
    return {
        "cache": bench.bench_cache([(16, 4, 1)]),
        "engines": bench.bench_engines(["linear 64"], [2], 1),
        "rounds": bench.bench_rounds([(16, 4, 1)]),
    }


def test_what_is_compared_agrees_and_is_timed():
    for table in tables().values():
        assert table["agree"].all()
        assert (table["ratio"] > 0).all()


@pytest.mark.parametrize("method", [FedAvg(), FedAvg(epochs=2), FedPer(), FedRep(head_epochs=2)])
def test_the_plain_loop_takes_the_same_round(method):
    # 13 samples in batches of 10: the last batch of an epoch is smaller.
    case = bench.RoundCase.draw(method, 16, 13, "cpu", "float64")
    assert case.difference() <= 1e-14


@pytest.mark.parametrize("method", [FedAvg(), FedRep(head_epochs=2)])
def test_a_plain_round_moves_everything(method):
    case = bench.RoundCase.draw(method, 16, 13, "cpu", "float64")
    plain, start = bench.PlainLoop(case), case.model.double().state_dict()
    plain.round()
    for name, value in plain.model.state_dict().items():
        assert torch.equal(value, start[name]) == (name in plain.mine)
    for own in plain.personal:
        assert all(not torch.equal(value, start[name]) for name, value in own.items())


def test_another_method_is_told_apart():
    case = bench.RoundCase.draw(FedRep(head_epochs=1), 16, 13, "cpu", "float64")
    assert replace(case, method=FedRep(head_epochs=1)).difference() <= 1e-14
    plain, other = bench.PlainLoop(case), bench.PlainLoop(replace(case, method=FedPer()))
    for loop in (plain, other):
        loop.round(loop.loaded)
    differences = [
        (value - other.model.state_dict()[name]).abs().max()
        for name, value in plain.model.state_dict().items()
    ]
    assert max(differences) > 1e-6


def test_clients_have_two_classes_each():
    data = bench.draw((3, 4, 4), 5, 40)
    assert data.n == 5
    assert all(len(np.unique(data.y[places])) == 2 for places in data.train)


def test_the_command_prints_every_table(monkeypatch):
    monkeypatch.setattr(bench, "NETWORKS", NETWORKS)
    monkeypatch.setattr(bench.bench_engines, "__defaults__", (tuple(NETWORKS), (2, 3), 1))
    monkeypatch.setattr(bench.bench_cache, "__defaults__", (((16, 4, 1),),))
    monkeypatch.setattr(bench.bench_rounds, "__defaults__", (((16, 4, 1),), tuple(bench.METHODS)))
    monkeypatch.setattr(bench, "devices", lambda: ["cpu"])
    result = CliRunner().invoke(main, ["bench", "deep"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    for name, count in (("CNN, 16 pixels", 1), ("linear", 2), ("FedAvg", 1), ("FedRep, 16", 1)):
        assert sum(line.startswith(name) for line in lines) == count, name
    assert sum("*" in line for line in lines if line.startswith(("linear", "CNN  "))) == 4
    assert "differs" not in result.output


def test_disagreement_is_reported(monkeypatch):
    found = tables()
    for name, table in found.items():
        table = table.assign(agree=False, difference=1e-3)
        monkeypatch.setattr(bench, f"bench_{name}", lambda *cases, table=table, **device: table)
    monkeypatch.setattr(bench, "devices", lambda: ["cpu"])
    lines = []
    assert not bench.run_benchmark(lines.append)
    assert sum("differs by 1.0e-03" in line for line in lines) == sum(map(len, found.values()))


def test_without_torch_there_is_one_line(monkeypatch):
    monkeypatch.delitem(sys.modules, "linrep.bench.deep")
    monkeypatch.setitem(sys.modules, "torch", None)
    result = CliRunner().invoke(main, ["bench", "deep"])
    assert result.exit_code == 2
    assert result.output.splitlines() == [
        "Error: bench deep needs torch: pip install 'linrep[deep]'"
    ]
