import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from linrep.deep import (  # noqa: E402
    FLUTE,
    SGD,
    FedAvg,
    Federation,
    FedRep,
    Phase,
    features,
    layers,
    models,
)
from linrep.deep.training import Batch, Network, loss  # noqa: E402
from tests.deep import small  # noqa: E402

HEADS = {
    "fedrep": FedRep(head_epochs=3),
    "flute": FLUTE(head_epochs=3),
    "flute_head_first": FLUTE(head_epochs=3, flute_order="head_first"),
}
#: With these, features do not depend on the batch that a sample is in.
EXACT = ["mlp", "linear", "lstm", "cnn"]


@pytest.mark.parametrize("network", EXACT)
@pytest.mark.parametrize("name", HEADS)
def test_cached_heads_are_those_trained_on_the_whole_network(name, network, engine):
    cached, whole = (
        small.tensors(
            small.rounds(HEADS[name], small.federation(network, cache=cache, seeds=[0, 1]))
        )
        for cache in (True, False)
    )
    assert small.distance(cached, whole) <= 1e-12


@pytest.mark.parametrize("ft", ["head", "all"])
def test_cached_fine_tuning_is_that_of_the_whole_network(ft):
    method, part = FedAvg(ft=ft, ft_epochs=3), np.array([[0, 1, 3]])
    found = []
    for cache in (True, False):
        fed = small.federation("cnn", cache=cache)
        state = small.rounds(method, fed)
        shared, own = method.fine_tuned(fed, state, part)
        assert set(shared) | set(own) == set(fed.parameters)
        assert not set(shared) & set(own)
        assert all(name.startswith("head") for name in own) == (ft == "head")
        found.append(own)
    assert small.distance(*found) <= 1e-12


def test_real_labels_are_cached_too():
    states = [
        small.tensors(small.rounds(HEADS["fedrep"], small.federation("regression", cache=cache)))
        for cache in (True, False)
    ]
    assert small.distance(*states) <= 1e-12


def test_features_of_a_representation_without_parameters_are_cached():
    model = models.Model(torch.nn.Flatten(), torch.nn.Linear(5, small.CLASSES))
    kept, part = [], np.array([[0, 2]])
    for cache in (True, False):
        fed = Federation(small.data(), model, sgd=small.FAST, dtype="float64", cache=cache)
        kept.append(fed.train(fed.start().shared, {}, part, (Phase(),), round=0))
        assert (fed.evaluate({}, kept[-1], part)["size"] == [[4, 5]]).all()
    assert small.distance(*kept) <= 1e-12


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        ("cnn100", "the representation holds dropout or batch statistics"),
        ("blocks", "the representation holds dropout or batch statistics"),
        ("concatenated", "side information enters with the features"),
        ("factored", "no block 'head'"),
    ],
)
def test_where_caching_is_not_exact_it_is_refused_in_a_line(network, reason):
    fed = small.federation(network, cache=True)
    with pytest.raises(ValueError, match=reason) as caught:
        small.rounds(HEADS["fedrep"], fed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("network", ["cnn100", "blocks", "concatenated"])
def test_where_caching_is_not_exact_auto_does_without(network):
    auto, off = (
        small.tensors(small.rounds(HEADS["fedrep"], small.federation(network, cache=cache)))
        for cache in ("auto", False)
    )
    assert all(torch.equal(auto[name], off[name]) for name in off)


class Drawing(torch.nn.Module):
    """A representation with dropout that is a function, not a layer."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 4)

    def forward(self, x):
        return torch.nn.functional.dropout(self.layer(x).tanh(), 0.5, training=self.training)


class Warmer(models.Model):
    """A network whose outputs are doubled in training."""

    def forward(self, x):
        return super().forward(x) * (2.0 if self.training else 1.0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: models.Model(Drawing(), torch.nn.Linear(4, small.CLASSES)), "draws from torch's"),
        (
            lambda: Warmer(torch.nn.Linear(5, 4), torch.nn.Linear(4, small.CLASSES)),
            "computes something else",
        ),
    ],
)
@pytest.mark.parametrize("name", HEADS)
def test_what_only_training_does_is_not_cached(make, reason, name):
    def trained(cache, seed):
        torch.manual_seed(seed)
        settings = {"sgd": small.FAST, "dtype": "float64", "device": small.DEVICE}
        return small.tensors(
            small.rounds(HEADS[name], Federation(small.data(), make, cache=cache, **settings))
        )

    auto, again, off = trained("auto", 0), trained("auto", 1), trained(False, 0)
    for key, value in off.items():
        assert torch.equal(auto[key], value)
        assert torch.equal(again[key], value)  # and nothing depends on torch's own generator
    with pytest.raises(ValueError, match=f"cache must not be True for this model: .*{reason}"):
        trained(True, 0)


def test_caching_that_is_asked_for_leaves_other_phases_alone():
    small.rounds(FedAvg(), small.federation("blocks", cache=True))


def test_dropout_in_the_head_keeps_features_exact():
    model = small.NETWORKS["mlp"][1]()
    model.head = torch.nn.Sequential(layers.Dropout(0.5), model.head)
    settings = {"sgd": small.FAST, "dtype": "float64"}
    cached, whole = (
        small.tensors(
            small.rounds(HEADS["fedrep"], Federation(small.data(), model, cache=cache, **settings))
        )
        for cache in (True, False)
    )
    assert small.distance(cached, whole) <= 1e-12


@given(
    workers=st.integers(1, 3),
    size=st.integers(1, 5),
    classes=st.integers(2, 4),
    bias=st.booleans(),
    real=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_the_closed_form_gradient_is_that_of_autograd(workers, size, classes, bias, real, seed):
    rng = np.random.default_rng(seed)
    outputs = 1 if real else classes
    head = torch.nn.Linear(3, outputs, bias=bias).double()
    model = torch.nn.Module()
    model.head = head
    params = {
        f"head.{name}": torch.as_tensor(rng.normal(size=(workers, *value.shape)))
        for name, value in head.named_parameters()
    }
    x = torch.as_tensor(rng.normal(size=(workers, size, 3)))
    shape = (workers, size)
    labels = rng.normal(size=shape) if real else rng.integers(outputs, size=shape)
    lengths = rng.integers(0, size + 1, size=(workers, 1))  # a worker may have no sample at all
    weight = torch.as_tensor((np.arange(size) < lengths).astype(float))
    batch = Batch(x, torch.as_tensor(labels), weight, torch.zeros(workers, 0))
    found = features.head_gradient(params, batch)
    for worker in range(workers):
        own = {name: value[worker].clone().requires_grad_() for name, value in params.items()}
        network = Network(model, {}, from_features=True)
        value = loss(network, own, Batch(*(part[worker] for part in batch)))
        expected = torch.autograd.grad(value, list(own.values()))
        for name, gradient in zip(own, expected, strict=True):
            torch.testing.assert_close(found[name][worker], gradient, rtol=1e-12, atol=1e-13)


def test_momentum_and_decay_are_those_of_the_phase_with_and_without_cache():
    sgd = SGD(lr=0.05, momentum=0.9, weight_decay=0.2, batch_size=5)
    cached, whole = (
        small.tensors(small.rounds(HEADS["fedrep"], small.federation(sgd=sgd, cache=cache)))
        for cache in (True, False)
    )
    assert small.distance(cached, whole) <= 1e-12
