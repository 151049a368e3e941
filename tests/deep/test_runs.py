import copy
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from linrep.deep.data import FederatedData  # noqa: E402
from tests.deep import small  # noqa: E402

QUICK = {
    "model": small.NETWORKS["mlp"][1],
    "rounds": 6,
    "participation": 0.5,
    "lr": 0.1,
    "batch_size": 4,
    "device": "cpu",
}


def start(data=None, method=deep.FedPer(), **settings):  # noqa: B008 - frozen
    """Run quickly with seed 1."""
    data = small.data() if data is None else data
    settings = {"rng": 1, **QUICK, **settings}
    return deep.run(data, method, **settings)


def assert_same(one, other, tolerance=0.0):
    """Compare histories and final states, bit by bit by default."""
    assert one.metrics.keys() == other.metrics.keys()
    assert one.state.keys() == other.state.keys()
    np.testing.assert_array_equal(one.recorded, other.recorded)
    for name in one.metrics:
        np.testing.assert_allclose(
            one.metrics[name], other.metrics[name], rtol=tolerance, atol=tolerance
        )
    for name in one.state:
        np.testing.assert_allclose(
            one.state[name], other.state[name], rtol=tolerance, atol=tolerance
        )


# Seeds


def test_the_same_seed_has_the_same_history(engine):
    torch.manual_seed(1)
    one = start(model="mlp")
    torch.manual_seed(2)  # of no account
    assert_same(one, start(model="mlp"))
    other = start(model="mlp", rng=2)
    assert not np.array_equal(one["test_loss"], other["test_loss"])


def test_a_run_leaves_torchs_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    start()
    assert torch.equal(torch.rand(1), expected)


METHODS = [deep.FedRep(head_epochs=2), deep.Scaffold(), deep.FedAS(), deep.FLUTE()]


@pytest.mark.parametrize("method", METHODS)
def test_a_full_batch_is_one_of_all_samples(method, engine):
    full = start(method=method, batch_size=None, dtype="float64")
    for size in (max(small.SIZES), 10**9):
        assert_same(full, start(method=method, batch_size=size, dtype="float64"), 1e-12)
    assert full.settings["batch_size"] is None
    assert not np.array_equal(full["test_loss"], start(method=method)["test_loss"])


def test_samples_are_seen_in_the_precision_of_the_network():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)), rng.integers(3, size=40)
    side = rng.normal(size=(2, 2))
    double, single = (
        FederatedData.from_lists(
            [(x[:15].astype(kind), y[:15], x[15:20], y[15:20]), (x[20:], y[20:], [], [])],
            classes=3, side=side.astype(kind),
        )
        for kind in (np.float64, np.float32)
    )  # fmt: skip
    assert_same(start(double), start(single))
    seen = deep.Federation(double, QUICK["model"], dtype="float64", device="cpu")
    np.testing.assert_array_equal(seen.x.numpy(), double.x)
    np.testing.assert_array_equal(seen.side.numpy(), side)


# Metrics


def test_metrics_by_hand():
    data = small.data()
    trace = start(data, dtype="float64")
    model = small.NETWORKS["mlp"][1]().double()
    right, losses, collapse = [], [], []
    for client in range(data.n):
        state = {
            name.split(".", 1)[1]: torch.tensor(v if name.startswith("shared") else v[client])
            for name, v in trace.state.items()
            if name != "accuracies"
        }
        model.load_state_dict(state)
        index = data.test[client]
        y = torch.as_tensor(data.y[index])
        outputs = model(torch.as_tensor(data.x[index]).double())
        right.append((outputs.argmax(1) == y).sum().item())
        losses.append(torch.nn.functional.cross_entropy(outputs, y).item())
        present = np.bincount(data.y[data.train[client]], minlength=small.CLASSES) > 0
        both = (
            deep.neural_collapse(model.head.weight.detach(), torch.tensor(present).double(), local)
            for local in (False, True)
        )
        collapse.append([value.item() for value in both])
    shares = np.array(right) / small.TESTED
    np.testing.assert_allclose(trace.state["accuracies"], shares)
    assert trace["accuracy"][-1] == pytest.approx(shares.mean())
    assert trace["weighted_accuracy"][-1] == pytest.approx(sum(right) / sum(small.TESTED))
    assert trace["test_loss"][-1] == pytest.approx(np.mean(losses))
    nc2 = [trace["nc2_global"][-1], trace["nc2_local"][-1]]
    assert nc2 == pytest.approx(np.mean(collapse, axis=0))
    sent = sum(v.size for name, v in trace.state.items() if name.startswith("shared"))
    for name in ("floats_up", "floats_down"):
        np.testing.assert_array_equal(trace[name], 2.0 * sent * np.arange(7))
    assert (trace.stop_reason, trace.rounds, trace.algorithm) == ("rounds", 6, "FedPer")
    assert trace.wall_time > 0.0
    assert trace.settings["participants"] == 2


@pytest.mark.parametrize("tested", [(4, 0, 5, 1), (0, 0, 0, 0)])
def test_clients_without_test_samples_are_left_out_of_means(tested):
    trace = start(small.data(tested=tested))
    own = trace.state["accuracies"]
    assert np.isnan(own).tolist() == [count == 0 for count in tested]
    if any(tested):
        assert trace["accuracy"][-1] == pytest.approx(np.nanmean(own))
    for name in ("accuracy", "weighted_accuracy", "test_loss"):
        assert np.isfinite(trace[name]).all() == any(tested)
    assert trace.stop_reason == "rounds"


@pytest.mark.parametrize(("lr", "reason"), [(0.02, "rounds"), (1e30, "diverged")])
def test_real_labels_have_a_loss_and_no_accuracy(lr, reason):
    trace = start(small.data("real"), model=small.NETWORKS["regression"][1], lr=lr)
    assert np.isnan(trace["accuracy"]).all()
    assert np.isfinite(trace["test_loss"]).all() == (reason == "rounds")
    assert trace.stop_reason == reason
    assert "nc2_global" not in trace


@pytest.mark.parametrize("ft", ["head", "all"])
def test_fine_tuning_happens_after_the_last_round(ft):
    method = deep.FedAvg(ft=ft, ft_epochs=4)
    trace, plain = (start(method=each, dtype="float64") for each in (method, deep.FedAvg()))
    tuned = trace.metrics.pop("fine_tuned")
    assert_same(trace, plain)  # the state is that of the last round
    assert np.isnan(tuned[:-1]).all()
    fed = deep.Federation(
        small.data(), QUICK["model"], seed=1, dtype="float64",
        sgd=small.SGD(0.1, 0.5, 0.0, 4),
    )  # fmt: skip
    state = fed.start()
    state.round = 6
    for name in state.shared:
        value = torch.tensor(trace.state[f"shared.{name}"])
        state.shared[name] = value.to(fed.device)
    part = np.arange(4)
    found = fed.evaluate(*method.fine_tuned(fed, state, part), part)
    assert tuned[-1] == pytest.approx((found["correct"] / found["size"]).mean())


def test_rounds_between_records_are_not_evaluated():
    often, seldom = start(), start(record=4)
    assert seldom.recorded.tolist() == [0, 4, 6]
    for name in often:
        np.testing.assert_array_equal(often[name][[0, 4, 6]], seldom[name])


# Checkpoints

KEEPERS = {"scaffold": deep.Scaffold(), "fedper": deep.FedPer(), "fedrep": deep.FedRep(1)}


@pytest.mark.parametrize("name", KEEPERS)
def test_stopped_in_the_middle_of_a_round_and_resumed_is_uninterrupted(name, tmp_path, monkeypatch):
    method, path = KEEPERS[name], tmp_path / "run.pt"
    whole = start(method=method)
    calls, train = [], deep.Federation.train

    def interrupted(self, *args, **settings):
        calls.append(settings["round"])
        if len(calls) == 10:
            raise KeyboardInterrupt
        return train(self, *args, **settings)

    kept = {"checkpoint": path, "checkpoint_every": 0, "chunk": 1}
    with monkeypatch.context() as patched:
        patched.setattr(deep.Federation, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            start(method=method, **kept)
    assert calls[-1] == calls[-2] == 4  # one of two clients done
    resumed = start(method=method, **kept)
    uninterrupted = start(method=method, chunk=1)
    assert_same(resumed, uninterrupted)
    assert_same(resumed, whole, 1e-4)
    assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]


def test_a_finished_run_goes_on_for_more_rounds(tmp_path):
    settings = {"method": deep.Scaffold(), "checkpoint": tmp_path / "run.pt"}
    short = start(rounds=3, **settings)
    assert_same(short, start(rounds=3, **settings))  # nothing left to do
    assert_same(start(**settings), start(method=deep.Scaffold()))
    with pytest.raises(ValueError, match="rounds must be at least 6, as in the checkpoint"):
        start(rounds=3, **settings)


class Scaled(torch.nn.Module):
    factor = 1.0

    def __init__(self):
        super().__init__()
        self.representation, self.head = torch.nn.Linear(5, 4), torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.representation(x)) * self.factor


PLAIN, OTHER = Scaled(), Scaled()
FROZEN = copy.deepcopy(PLAIN)
FROZEN.head.weight.requires_grad_(False)


def unchanged(x):
    return x


def doubled(x):
    return 2.0 * x


def unscaled(self, x):
    return self.head(self.representation(x))


moved = unchanged


def calling(x):
    return moved(x)


class Base(deep.FedAvg):
    def aggregate(self, old, mean):
        return mean


class Inheriting(Base):
    pass


class Network(Scaled):
    pass


@pytest.mark.parametrize(
    ("options", "change", "said"),
    [
        ({}, {"lr": 0.2}, "lr: 0.1 there, 0.2 here"),
        ({}, {"data": small.data(seed=8)}, "data$"),
        ({}, {"rng": 2}, "seed: "),
        ({}, {"method": deep.FedAvg()}, "method: 'FedPer' there, 'FedAvg' here"),
        ({}, {"method": deep.FedPer(epochs=2)}, "epochs: 1 there, 2 here"),
        ({}, {"model": small.NETWORKS["linear"][1]}, "model"),
        ({}, {"participation": 1.0}, "participants: 2 there, 4 here"),
        ({}, {"dtype": "float64"}, "dtype"),
        ({}, {"augment": lambda x: 2.0 * x}, "augment"),
        ({}, ("linrep.deep._checkpoints.source", lambda: "other"), "code of linrep.deep"),
        ({"augment": calling}, ("moved", doubled), "augment"),
        ({"method": Base()}, ("Base.aggregate", lambda self, old, mean: old), "code of the method"),
        ({"method": Inheriting()}, ("Base.aggregate", lambda self, old, mean: old), "code of"),
        ({"model": Network}, ("Scaled.forward", unscaled), "model"),
        ({"model": Network}, ("Network.factor", 5.0), "model"),
        ({"model": PLAIN}, {"model": FROZEN}, "model"),
        ({"model": PLAIN}, {"model": OTHER}, "weights"),
        ({"data": small.data()}, {"data": small.data(reverse=True)}, "data$"),
    ],
)
def test_a_run_does_not_go_on_as_another_one(options, change, said, tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    for rounds in (1, 2):  # it goes on as long as nothing has changed
        start(checkpoint=path, rounds=rounds, **options)
    if isinstance(change, dict):
        options = options | change
    else:
        name, value = change
        monkeypatch.setattr(name if name.startswith("linrep") else f"{__name__}.{name}", value)
    with pytest.raises(ValueError, match=f"another run, which differs in {said}") as caught:
        start(checkpoint=path, rounds=2, **options)
    assert "\n" not in str(caught.value)


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harm",)


def test_files_that_are_no_checkpoints_are_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.pt"
    start(rounds=1, checkpoint=path)
    whole = path.read_bytes()
    torch.save({"format": 1, "identity": Harmful()}, "harmful.pt")
    torch.save([1, 2], "list.pt")
    torch.save({"format": 99}, "newer.pt")
    torch.save({"format": 1, "identity": "[1]"}, "odd.pt")
    contents = {
        "truncated": whole[: len(whole) // 2],
        "empty": b"",
        "text": b"round,accuracy\n1,0.5\n",
        "pickle": pickle.dumps(Harmful()),
        **{name: Path(f"{name}.pt").read_bytes() for name in ("harmful", "list", "newer", "odd")},
    }
    for name, content in contents.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"^checkpoint .*run\.pt cannot be read: ") as caught:
            start(checkpoint=path)
        assert "\n" not in str(caught.value), name
        assert "weights_only" not in str(caught.value), name
        assert path.read_bytes() == content, name
    assert not Path("harm").exists()
    pickle.loads(contents["pickle"])  # it would have
    assert Path("harm").exists()


# What users bring


@dataclass(frozen=True)
class Shrunk(deep.FedAvg):
    """A method of one's own: the server steps half the way."""

    share: float = 0.5

    def aggregate(self, old, mean):
        return old + self.share * (mean - old)


class Own(torch.nn.Module):
    """A network of one's own, without blocks."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(5))
        self.last = torch.nn.Linear(5, small.CLASSES)

    def forward(self, x):
        return self.last(x * self.scale)


def test_a_method_and_a_network_of_ones_own_plug_in(engine, tmp_path):
    settings = {"model": Own, "rounds": 1}
    half = start(method=Shrunk(), checkpoint=tmp_path / "run.pt", **settings)
    first = start(method=Shrunk(), **(settings | {"rounds": 0}))
    averaged = start(method=deep.FedAvg(), **settings)
    for name in ("shared.scale", "shared.last.weight"):
        middle = 0.5 * (first.state[name] + averaged.state[name])
        np.testing.assert_allclose(half.state[name], middle, rtol=1e-5, atol=1e-6)
    assert half.settings["share"] == 0.5
    assert half.algorithm == "Shrunk"
    personal = start(method=deep.FedPer(personal=("scale",)), **settings)
    assert personal.state["personal.scale"].shape == (4, 5)


def test_a_network_that_is_handed_over_stays_as_it_was():
    model = small.NETWORKS["blocks"][1]().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, second = (
        deep.run(small.data("images"), "fedavg", rng=seed, **QUICK | {"model": model, "rounds": 0})
        for seed in (1, 2)
    )
    assert_same(first, second)  # all runs start from its weights
    deep.run(small.data("images"), "fedavg", **(QUICK | {"model": model, "dtype": "float64"}))
    assert not model.training
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_data_that_cannot_be_written_to_are_no_matter():
    data = small.data()
    for array in (data.x, data.y):
        array.setflags(write=False)
    assert_same(start(data), start())


# Size

LARGE = """
import resource
import sys
import numpy as np
from linrep.deep import METHODS, FederatedData, run
rng = np.random.default_rng(0)
n, m = 1000, 50
x = rng.integers(256, size=(n * m, 3, 32, 32), dtype=np.uint8)
places = np.arange(n * m).reshape(n, m)
data = FederatedData(
    x, rng.integers(10, size=n * m), tuple(places[:, :49]), tuple(places[:, 49:]), classes=10
)
run(data, sys.argv[1], rng=0, rounds=1, participation=0.003, device="cpu")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fedrep", "ditto"])  # heads of one's own, whole models
def test_a_thousand_clients_fit_into_four_gigabytes(method):
    done = subprocess.run(
        [sys.executable, "-c", LARGE, method], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) * 1024 < 4 * 2**30  # Linux counts in kibibytes
