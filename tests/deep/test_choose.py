"""The choice of a step size by training samples that are held out."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")

from linrep import deep
from linrep.deep import runs
from linrep.deep.data import FederatedData
from linrep.deep.runs import _chance
from linrep.trace import Trace


def two_blobs(n=4, m=12):
    """Return clients with two classes that a line separates."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n * m)
    x = rng.standard_normal((n * m, 3)) + 3.0 * y[:, None]
    parts = np.split(np.arange(n * m), n)
    return FederatedData(x, y, [p[: m - 4] for p in parts], [p[m - 4 :] for p in parts])


def fedavg(lr):
    return "fedavg"


def test_chosen_step_size_is_the_one_that_learns():
    data, settings = two_blobs(), {"model": "mlp", "rounds": 10, "participation": 1.0, "record": 10}
    assert deep.choose_lr(data, fedavg, (1e-9, 0.05), rng=3, **settings) == 0.05
    assert deep.choose_lr(data, fedavg, (0.05, 1e-9), rng=3, **settings) == 0.05


def test_chosen_step_size_does_not_depend_on_test_samples():
    data, settings = two_blobs(), {"model": "mlp", "rounds": 3, "participation": 1.0, "record": 3}
    none = dataclasses.replace(data, test=[part[:0] for part in data.test])
    lrs = (0.003, 0.01, 0.03)
    one, other = (deep.choose_lr(each, fedavg, lrs, rng=2, **settings) for each in (data, none))
    assert one == other


def test_step_size_is_chosen_by_the_last_rounds(monkeypatch):
    def run(data, method, *, lr, **settings):
        late = np.arange(31) > 20
        return Trace("", {"accuracy": np.where(late, lr, 1.0 - lr)}, {})

    monkeypatch.setattr(runs, "run", run)
    assert runs.choose_lr(two_blobs(m=200), fedavg, (0.1, 0.9)) == 0.9


@pytest.mark.parametrize(("accuracy", "chosen"), [(0.25, 0.1), (0.4, 0.001)])
def test_accuracies_like_those_of_one_class_do_not_choose(monkeypatch, accuracy, chosen):
    def run(data, method, *, lr, **settings):  # the higher accuracy has the higher loss
        metrics = {"accuracy": [0.0, accuracy - lr], "test_loss": [9.0, 1.0 - lr]}
        return Trace("", {k: np.array(v) for k, v in metrics.items()}, {})

    monkeypatch.setattr(runs, "run", run)
    y = np.tile(np.arange(4), 1000)  # a quarter of the samples of each class
    halves = np.split(np.arange(4000), 2)
    data = FederatedData(np.zeros((4000, 1)), y, halves, [[], []])
    assert runs.choose_lr(data, fedavg, (0.1, 0.001)) == chosen


@pytest.mark.parametrize("n", [1, 4])
def test_chance_is_the_accuracy_of_the_best_constant_and_two_standard_errors(n):
    rng = np.random.default_rng(n)
    y = rng.integers(3, size=60)
    parts = np.split(rng.permutation(60), n)
    trains, tests = [part[:1] for part in parts], [part[1 : 7 + i] for i, part in enumerate(parts)]
    data = FederatedData(np.zeros((60, 1)), y, trains, tests)
    constant = max(np.mean([np.mean(y[test] == c) for test in tests]) for c in range(3))
    error = np.sqrt(sum(constant * (1 - constant) / len(test) for test in tests)) / n
    assert _chance(data) == pytest.approx(constant + 2 * error)


def test_step_sizes_for_real_labels_are_compared_by_their_loss():
    rng = np.random.default_rng(0)
    clients = []
    for _ in range(3):
        x = rng.standard_normal((20, 4))
        clients.append((x[:16], x[:16].sum(1), x[16:], x[16:].sum(1)))
    data = FederatedData.from_lists(clients, classes=1)
    settings = {"model": "mlp", "rounds": 5, "participation": 1.0, "rng": 0}
    for lrs in ((1e3, 0.01), (0.01, 1e3), (1e-9, 0.01)):
        assert deep.choose_lr(data, fedavg, lrs, **settings) == 0.01
    with pytest.raises(ValueError, match=r"all of .* diverge"):
        deep.choose_lr(data, fedavg, (1e5, 1e6), **settings)


def test_step_sizes_have_checkpoints_of_their_own(tmp_path):
    settings = {"model": "mlp", "rounds": 1, "participation": 1.0, "rng": 0}
    lrs = (0.1, 0.1000001)
    deep.choose_lr(two_blobs(), fedavg, lrs, checkpoint=tmp_path / "try.pt", **settings)
    assert len(list(tmp_path.iterdir())) == 2
