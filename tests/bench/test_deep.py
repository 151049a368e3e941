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
from linrep.deep.methods import Ditto, FedAvg, FedPer, FedRep  # noqa: E402

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


def cases():
    return [
        bench.cache(16, 4, 1),
        bench.engines("linear 64", 2, 1),
        bench.rounds("FedAvg", 16, 4, 1),
    ]


def test_what_is_compared_agrees_and_is_timed():
    for records in cases():
        assert len(records) == 2
        assert all(record.agree and record.ratio > 0.0 for record in records)


@pytest.mark.parametrize(
    "method",
    [*bench.METHODS.values(), FedAvg(epochs=2), FedRep(head_epochs=2), Ditto(epochs=2)],
    ids=repr,
)
def test_the_plain_loop_takes_the_same_round(method):
    # 13 samples in batches of 10: the last batch of an epoch is smaller.
    case = bench.RoundCase.draw(method, 16, 13, "cpu", "float64")
    assert case.difference() <= 1e-12


@pytest.mark.parametrize("method", [FedAvg(), FedRep(head_epochs=2)])
def test_a_plain_round_moves_everything(method):
    case = bench.RoundCase.draw(method, 16, 13, "cpu", "float64")
    plain, start = case.loop(), case.model.double().state_dict()
    plain.round()
    for name, value in plain.model.state_dict().items():
        assert torch.equal(value, start[name]) == (name in plain.kept())
    for own in plain.personal:
        assert all(not torch.equal(value, start[name]) for name, value in own.items())


def test_another_method_is_told_apart():
    case = bench.RoundCase.draw(FedRep(head_epochs=1), 16, 13, "cpu", "float64")
    assert replace(case, method=FedRep(head_epochs=1)).difference() <= 1e-14
    plain, other = case.loop(), replace(case, method=FedPer()).loop()
    for loop in (plain, other):
        loop.round(loop.as_linrep)
    differences = [
        (value - other.model.state_dict()[name]).abs().max()
        for name, value in plain.model.state_dict().items()
    ]
    assert max(differences) > 1e-6


def test_clients_have_two_classes_each():
    data = bench.draw((3, 4, 4), 5, 40)
    assert data.n == 5
    assert all(len(np.unique(data.y[places])) == 2 for places in data.train)


def test_every_case_is_measured_and_the_engine_taken_is_told(monkeypatch):
    methods = dict(list(bench.METHODS.items())[:2])  # of all a round is compared above
    monkeypatch.setattr(bench, "METHODS", methods)
    monkeypatch.setattr(bench, "NETWORKS", NETWORKS)
    monkeypatch.setattr(bench, "WIDTHS", (2, 3))
    monkeypatch.setattr(bench, "CACHES", [(16, 4, 1)])
    monkeypatch.setattr(bench, "ROUNDS", (4, 1))
    monkeypatch.setattr(bench, "AT_32_PIXELS", ())
    monkeypatch.setattr(bench, "devices", lambda: ["cpu"])
    found = list(bench.measure())
    assert len(found) == 1 + len(NETWORKS) * 2 + len(bench.METHODS)
    for records in found[1:5]:
        assert [record.note for record in records].count("taken") == 1
    for records in found[5:]:
        assert all(record.note.endswith("samples/s") for record in records)


def test_disagreement_is_found(monkeypatch):
    monkeypatch.setattr(bench, "TOLERANCE", -1.0)
    for records in cases():
        assert [record.agree for record in records] == [False, False]
        assert all("the times mean nothing" in record.note for record in records)


def test_without_torch_there_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = CliRunner().invoke(main, ["bench", "deep"])
    assert result.exit_code == 2
    assert result.output.splitlines() == [
        "Error: bench deep needs torch: pip install 'linrep[deep]'"
    ]
