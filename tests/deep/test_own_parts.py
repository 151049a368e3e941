"""Networks, optimizers, data and functions of one's own, beside plain torch."""

import copy
import re
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset  # noqa: E402

from linrep import deep  # noqa: E402
from linrep.deep import SGD, Phase  # noqa: E402
from linrep.deep.augment import crop_and_flip  # noqa: E402
from linrep.deep.federation import Federation  # noqa: E402
from linrep.deep.training import schedule  # noqa: E402
from linrep.problems.random import keyed  # noqa: E402
from tests.deep import small  # noqa: E402

ENGINES = ["loop", "vmap"]
ADAM = partial(torch.optim.Adam, lr=0.01, weight_decay=0.1)


class Normed(torch.optim.Optimizer):
    """Steps of one length for each parameter as a whole: it does not work entry by entry."""

    def __init__(self, parameters, lr=0.05):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for value in group["params"]:
                value.add_(value.grad / value.grad.norm(), alpha=-group["lr"])


class Usual(nn.Module):
    """A network as torchvision builds them: torch's layers, a dropout used twice, the head `fc`."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.hidden, self.drop, self.fc = nn.Linear(36, 8), nn.Dropout(0.2), nn.Linear(8, 3)
        self.late = nn.BatchNorm1d(8)

    def forward(self, x):
        x = torch.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        x = self.late(self.hidden(self.drop(x.flatten(1)))).relu()
        return self.fc(self.drop(x))


TWICE = (Phase(epochs=2),)


def trained(samples=None, network="mlp", engine="loop", round=0, phases=TWICE, **sgd):
    """Return what all clients have after a round."""
    if "optimizer" not in sgd:
        sgd |= {"lr": 0.1, "momentum": 0.5}
    sgd = SGD(batch_size=4, **sgd)
    fed = small.federation(network, samples, engine=engine, sgd=sgd)
    return fed.train(fed.start().shared, {}, small.EVERYONE, phases, round=round)


# Steps


@pytest.mark.parametrize(
    ("optimizer", "clip", "engine"),
    [
        *((*each, engine) for each in ((ADAM, None), (None, 0.3), (ADAM, 0.01))
          for engine in ENGINES),
        (Normed, None, "auto"),
    ],
)  # fmt: skip
def test_steps_are_those_of_torchs_optimizer_with_clipped_gradients(optimizer, clip, engine):
    samples, client = small.data(), 2
    plain = {"lr": 0.1, "momentum": 0.5} if optimizer is None else {}
    sgd = SGD(batch_size=5, clip=clip, optimizer=optimizer, **plain)
    fed = small.federation(samples=samples, engine=engine, sgd=sgd)
    shared = fed.start().shared
    new = fed.train(shared, {}, small.EVERYONE, (Phase(epochs=2),), round=0)
    model = fed.model
    model.load_state_dict({name: value[0] for name, value in shared.items()})
    make = partial(torch.optim.SGD, **plain) if optimizer is None else optimizer
    steps = make(model.parameters())
    stream = keyed(fed.seeds[0], "batches", 0, 0, client)
    plan = schedule([12], [stream], batch_size=5, epochs=2)
    x, y = torch.as_tensor(samples.x).double(), torch.as_tensor(samples.y)
    x, y = x.to(small.DEVICE), y.to(small.DEVICE)
    for position, weight in zip(plan.position[0], plan.weight[0], strict=True):
        rows = samples.train[client][position[weight]]
        steps.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        steps.step()
    for name, value in model.named_parameters():
        # Torch divides by the norm and 1e-6.
        torch.testing.assert_close(new[name][0, client], value.detach(), rtol=1e-4, atol=1e-6)


class Clipping(torch.optim.SGD):
    """Steps along gradients whose common norm is bounded."""

    def step(self):
        nn.utils.clip_grad_norm_([p for group in self.param_groups for p in group["params"]], 5.0)
        super().step()


def decaying_matrices(parameters):
    kinds = [p for p in parameters if p.ndim > 1], [p for p in parameters if p.ndim < 2]
    groups = zip(kinds, (0.1, 0.0), strict=True)
    return torch.optim.AdamW([{"params": own, "weight_decay": w} for own, w in groups], lr=0.01)


def matrices_apart(parameters):
    assert {p.ndim for p in parameters} <= {1, 2}  # as in a network: no worker's axis
    return torch.optim.SGD(parameters, lr=0.1)


ENTRYWISE = [
    *(partial(getattr(torch.optim, name), lr=0.01) for name in (
        "SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop",
        "ASGD", "Rprop",
    )),
    partial(torch.optim.Adam, lr=1e-5, foreach=True),
    lambda parameters: torch.optim.SGD([{"params": parameters[:2], "lr": 0.1},
                                        {"params": parameters[2:]}], lr=0.2),
]  # fmt: skip
NOT_ENTRYWISE = [
    getattr(torch.optim, "Adafactor", Normed), Normed, partial(Clipping, lr=0.1), decaying_matrices,
    matrices_apart,
]  # fmt: skip


@pytest.mark.parametrize("optimizer", ENTRYWISE)
def test_optimizers_that_step_entry_by_entry_train_clients_together(optimizer):
    assert small.federation(sgd=SGD(optimizer=optimizer), engine="vmap").engine == "vmap"


@pytest.mark.parametrize("optimizer", NOT_ENTRYWISE)
@pytest.mark.parametrize("engine", ["auto", "measure", "loop"])
def test_those_that_do_not_train_them_one_by_one(optimizer, engine):
    sgd = SGD(optimizer=optimizer)
    assert small.federation(sgd=sgd, engine=engine).engine == "loop"
    with pytest.raises(ValueError, match="engine must be 'loop' for an optimizer whose"):
        small.federation(sgd=sgd, engine="vmap")


def test_an_optimizer_of_nothing_is_not_tried():
    frozen = nn.Linear(5, 3).requires_grad_(False)
    sgd = SGD(optimizer=partial(torch.optim.Adam, lr=0.1))
    fed = Federation(small.data(), frozen, sgd=sgd, device="cpu")
    assert fed.moving == {}


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
@pytest.mark.parametrize(
    "optimizer",
    [torch.optim.LBFGS, lambda parameters: None, partial(torch.optim.Adam, rate=0.1)],
)
def test_what_makes_no_steps_is_refused_before_any(optimizer, engine):
    with pytest.raises(ValueError, match="optimizer must make steps") as error:
        deep.run(small.data(), "fedavg", model="mlp", rounds=1, optimizer=optimizer, engine=engine)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("settings", [{}, {"optimizer": partial(torch.optim.SGD, lr=0.1)}])
def test_a_schedule_multiplies_the_step_size_of_the_round(settings):
    halved = trained(round=3, schedule=lambda round: 0.5 if round == 3 else 1.0, **settings)
    by_hand = trained(round=3, phases=(Phase(epochs=2, lr=0.05),), **settings)
    assert small.distance(halved, by_hand) == 0.0
    assert small.distance(halved, trained(round=3, **settings)) > 1e-3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"clip": 0.0}, "clip must be greater than 0"),
        ({"optimizer": "adam"}, "optimizer must be a function"),
        ({"augment": 3}, "augment must be a function"),
    ],
)
def test_bad_steps_are_refused(settings, said):
    with pytest.raises((ValueError, TypeError), match=said):
        SGD(**settings)


def test_a_schedule_of_zero_and_scaffold_with_adam_are_refused():
    with pytest.raises(ValueError, match="schedule must be greater than 0"):
        trained(schedule=lambda round: 0.0)
    with pytest.raises(ValueError, match="optimizer and clip must not be given: SCAFFOLD"):
        deep.run(small.data(), "scaffold", model="mlp", participation=1.0, optimizer=ADAM)


def test_settings_name_functions_and_leave_out_what_is_not_used():
    found = SGD(optimizer=ADAM, augment=crop_and_flip).settings
    assert found["augment"] == "crop_and_flip"
    assert "Adam" in found["optimizer"]
    assert not {"lr", "momentum", "weight_decay", "clip"} & set(found)
    assert SGD(optimizer=partial(crop_and_flip, padding=2)).settings["optimizer"] == (
        "crop_and_flip(padding=2)"
    )
    assert SGD(lr=0.2).settings["lr"] == 0.2


# Augmentation


def test_crops_are_windows_and_half_of_them_mirrored():
    torch.manual_seed(0)
    x = torch.arange(1, 1 + 3 * 5 * 7).reshape(1, 3, 5, 7).repeat(200, 1, 1, 1)
    padded = nn.functional.pad(x[0], (2,) * 4)
    windows = {}
    for row in range(5):
        for column in range(5):
            window = padded[:, row : row + 5, column : column + 7]
            windows[window.numpy().tobytes()] = (row, column, False)
            windows[window.flip(2).contiguous().numpy().tobytes()] = (row, column, True)
    seen = [windows[image.numpy().tobytes()] for image in crop_and_flip(x, padding=2)]
    assert len(set(seen)) > 35  # of fifty
    assert 70 < sum(mirrored for *_, mirrored in seen) < 130
    torch.testing.assert_close(crop_and_flip(x[:1], padding=0).sum(), x[:1].sum())


@pytest.mark.parametrize("network", ["cnn", "blocks"])
def test_engines_draw_the_same_augmentations(network):
    samples = small.data("images")
    loop, vmap = (
        trained(samples, network, engine, augment=partial(crop_and_flip, padding=1))
        for engine in ENGINES
    )
    assert small.distance(loop, vmap) < 1e-11
    assert small.distance(loop, trained(samples, network)) > 1e-4


def test_augmented_features_are_not_computed_once():
    samples, phase = small.data("images"), (Phase(("head",)),)
    once = trained(samples, "cnn", phases=phase, augment=lambda x: x)
    cached = trained(samples, "cnn", phases=phase)
    assert small.distance(once, cached) < 1e-12
    drawn = trained(samples, "cnn", phases=phase, augment=partial(crop_and_flip, padding=1))
    assert small.distance(drawn, cached) > 1e-5


def test_an_augmentation_that_changes_shapes_is_refused():
    with pytest.raises(ValueError, match="augment must keep torch"):
        trained(small.data("images"), "cnn", augment=lambda x: x[..., 1:])


# Networks


@pytest.mark.parametrize("method", ["fedrep", "fedper", "fedavg", "ditto"])
def test_torchs_layers_and_any_head_in_either_engine(method):
    samples = small.data("images")
    loop, vmap = (
        deep.run(
            samples, method, model=Usual, head="fc", rounds=2, participation=1.0, batch_size=4,
            rng=0, engine=engine, dtype="float64", device=small.DEVICE,
        )
        for engine in ENGINES
    )  # fmt: skip
    assert loop.state.keys() == vmap.state.keys()
    if method != "ditto":
        assert "shared.representation.norm.running_mean" in loop.state
    assert any(name.endswith("head.weight") for name in loop.state)
    for name, value in loop.state.items():
        np.testing.assert_allclose(value, vmap.state[name], rtol=1e-9, atol=1e-11)


def test_a_network_that_is_split_computes_what_it_did():
    whole = Usual().eval()
    parts = deep.models.split(copy.deepcopy(whole), "fc")
    x = torch.rand(2, 1, 8, 8)
    torch.testing.assert_close(parts(x), whole(x))
    assert parts.head.weight.equal(whole.fc.weight)
    nested = nn.Sequential(nn.Flatten(), nn.Sequential(nn.ReLU(), nn.Linear(64, 3)))
    assert isinstance(deep.models.split(nested, "1.1").head, nn.Linear)
    for name in ("classifier", ""):
        with pytest.raises(ValueError, match="head must be a part of the network, got"):
            deep.models.split(Usual(), name)


def test_a_head_of_linreps_own_networks_is_not_asked_for():
    with pytest.raises(ValueError, match="head must not be given for linrep's own network mlp"):
        deep.run(small.data(), "fedrep", model="mlp", head="fc", rounds=1)


def test_new_clients_fine_tune_the_same_head():
    samples = small.data("images")
    run = deep.run(samples, "fedper", model=Usual, head="fc", rounds=1, participation=1.0, rng=0)
    tuned = deep.fine_tune(samples, run, model=Usual, head="fc", epochs=1, rng=0)
    kept = "shared.representation.conv.weight"
    np.testing.assert_array_equal(tuned.state[kept], run.state[kept])


# Data


@pytest.mark.parametrize(
    "clients",
    [
        lambda data: [data, data],
        lambda data: data,
        lambda data: [data.tensors],
        lambda data: [(data, data.tensors[0])],
    ],
)
def test_clients_that_are_no_pairs_of_data_sets_are_refused(clients):
    data = TensorDataset(torch.zeros(4, 5), torch.zeros(4, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"clients must be pairs \(train, test\) of data sets"):
        deep.FederatedData.from_torch(clients(data))


def test_data_sets_of_torch_are_clients():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 2, 20)
    everything = TensorDataset(torch.as_tensor(x), torch.as_tensor(y))
    pairs = [
        (Subset(everything, range(0, 8)), Subset(everything, [8, 9])),
        (Subset(everything, range(10, 20)), []),
    ]
    data = deep.FederatedData.from_torch(pairs, classes=2)
    np.testing.assert_array_equal(data.x[data.train[1]], x[10:])
    np.testing.assert_array_equal(data.y[data.test[0]], y[8:10])
    assert data.sizes.tolist() == [8, 10]
    assert len(data.test[1]) == 0


class Stream(IterableDataset):
    def __iter__(self):
        yield torch.zeros(3), 0


def images(*shapes, dtype=np.uint8, labels=None):
    """Return items as ImageFolder has them before a transform, of these shapes."""
    return [
        (np.zeros(shape, dtype), i % 2 if labels is None else labels[i])
        for i, shape in enumerate(shapes)
    ]


RGB = images(*[(6, 5, 3)] * 4)


@pytest.mark.parametrize(
    ("test", "kind", "said"),
    [
        (images((6, 5, 3), (8, 5, 3)), ValueError, "sample 1 of test of client 1 .* (8, 5, 3)"),
        (
            images((6, 5, 3), (6, 5)),
            ValueError,
            "sample 1 of test of client 1 .* (6, 5), .* (6, 5, 3)",
        ),
        (images((6, 5, 3), (6, 5, 4)), ValueError, "sample 1 of test of client 1 .* (6, 5, 4)"),
        ([RGB[0], (RGB[0][0] / 1.0, 0)], ValueError, "sample 1 of test of client 1 is float64"),
        (images((6, 5, 4), (6, 5, 4)), ValueError, "of client 1 uint8 samples of shape (4, 6, 5)"),
        (images((6, 5, 3), labels=["cat"]), TypeError, "sample 0 of test of client 1 has 'cat'"),
        (images((6, 5, 3), labels=[None]), TypeError, "sample 0 of test of client 1 has None"),
        (images((6, 5, 3), (6, 5, 3), labels=[[0], 1]), ValueError, "sample 1 of test of client 1"),
        (DataLoader(RGB), TypeError, "test of client 1 is a DataLoader: take its .dataset"),
        (Stream(), TypeError, "test of client 1 is a Stream: take a list of its items"),
        ([torch.zeros(3)], TypeError, "got list as test of client 1"),
    ],
)
def test_what_is_wrong_with_data_sets_names_client_and_sample(test, kind, said):
    pattern = re.sub(r"[()]", r"\\\g<0>", said)
    with pytest.raises(kind, match=pattern) as caught:
        deep.FederatedData.from_torch([(RGB, []), (RGB, test)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("last", [{"dtype": torch.bfloat16}, {"requires_grad": True}])
def test_tensors_of_any_precision_and_with_gradients_are_taken(last):
    x = torch.arange(12.0).reshape(4, 3).to(last.get("dtype"))
    x.requires_grad_(last.get("requires_grad", False))
    y = torch.tensor([[0], [1], [1], [0]])  # as columns of files have them
    pair = (TensorDataset(x, y), [])
    for data in (
        deep.FederatedData.from_torch([pair] * 2), deep.FederatedData.from_lists([(x, y, [], [])])
    ):  # fmt: skip
        np.testing.assert_array_equal(data.x[:4], np.arange(12.0).reshape(4, 3))
        assert data.y[:4].tolist() == [0, 1, 1, 0]


def test_images_with_transparency_have_four_channels():
    data = deep.FederatedData.from_torch([(images((8, 8, 4), (8, 8, 4)), [])])
    assert data.x.shape == (2, 4, 8, 8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cache", ["auto", False])
def test_vectors_as_labels_by_hand(engine, cache):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 4)).astype(np.float32), rng.normal(size=(9, 2))
    data = deep.FederatedData.from_lists([(x[:5], y[:5], x[5:], y[5:])])
    assert data.classes == 2
    model = deep.models.linear(4, 3, outputs=2)
    start = copy.deepcopy(model).double()
    trace = deep.run(
        data, deep.FedRep(head_epochs=1), model=model, rounds=1, participation=1.0, lr=0.1,
        momentum=0.0, batch_size=9, dtype="float64", engine=engine, cache=cache,
    )  # fmt: skip
    inputs, wanted = torch.as_tensor(x).double(), torch.as_tensor(y)
    for part in (start.head, start.representation):
        residual = ((start(inputs[:5]) - wanted[:5]) ** 2).sum(1).mean() / 2.0
        gradients = torch.autograd.grad(residual, list(part.parameters()))
        with torch.no_grad():
            for value, gradient in zip(part.parameters(), gradients, strict=True):
                value -= 0.1 * gradient
    np.testing.assert_allclose(
        trace.state["personal.head.weight"][0], start.head.weight.detach(), rtol=1e-12
    )
    after = ((start(inputs[5:]) - wanted[5:]) ** 2).sum(1).mean().item() / 2.0
    assert trace["test_loss"][-1] == pytest.approx(after, rel=1e-12)
    assert np.isnan(trace["accuracy"]).all()
