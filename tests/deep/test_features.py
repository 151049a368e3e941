import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from linrep.deep import features, layers, models  # noqa: E402
from linrep.deep.training import Batch, Network, loss  # noqa: E402
from tests.deep import small  # noqa: E402

HEADS = {
    "fedrep": deep.FedRep(head_epochs=3),
    "flute": deep.FLUTE(head_epochs=3),
}
#: With these, features do not depend on the batch that a sample is in.
EXACT = ["mlp", "linear", "lstm", "cnn", "regression"]


@pytest.mark.parametrize(
    ("name", "network"),
    [(name, each) for name in HEADS for each in EXACT if (name, each) != ("flute", "regression")],
)
def test_cached_heads_are_those_trained_on_the_whole_network(name, network, engine):
    cached, whole = (
        small.tensors(small.rounds(HEADS[name], small.federation(network, cache=cache, seed=1)))
        for cache in (True, False)
    )
    assert small.distance(cached, whole) <= 1e-12


@pytest.mark.parametrize("ft", ["head", "all"])
def test_cached_fine_tuning_is_that_of_the_whole_network(ft):
    method, part = deep.FedAvg(ft=ft, ft_epochs=3), np.array([0, 1, 3])
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


def test_features_of_a_representation_without_parameters_are_cached():
    model = models.Model(torch.nn.Flatten(), torch.nn.Linear(5, small.CLASSES))
    kept, part = [], np.array([0, 2])
    for cache in (True, False):
        fed = deep.Federation(small.data(), model, sgd=small.FAST, dtype="float64", cache=cache)
        kept.append(fed.train(fed.start().shared, {}, part, (deep.Phase(),), round=0))
        assert (fed.evaluate({}, kept[-1], part)["size"] == [4, 5]).all()
    assert small.distance(*kept) <= 1e-12


@pytest.mark.parametrize("network", ["cnn100", "blocks", "concatenated"])
def test_where_caching_is_not_exact_runs_do_without(network):
    states = [
        small.tensors(small.rounds(HEADS["fedrep"], small.federation(network, cache=cache)))
        for cache in (True, False)
    ]
    small.assert_equal(*states)


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


@pytest.mark.parametrize("body", [Drawing(), torch.nn.Linear(5, 4)])
@pytest.mark.parametrize("name", HEADS)
def test_what_only_training_does_is_not_cached(body, name):
    kind = models.Model if isinstance(body, Drawing) else Warmer
    model, states = kind(body, torch.nn.Linear(4, small.CLASSES)), []
    for cache, seed in ((True, 0), (True, 1), (False, 0)):
        torch.manual_seed(seed)  # nothing depends on torch's own generator
        fed = deep.Federation(
            small.data(), model, cache=cache, sgd=small.FAST, dtype="float64", device=small.DEVICE
        )
        states.append(small.tensors(small.rounds(HEADS[name], fed)))
    small.assert_equal(states[0], states[1])
    small.assert_equal(states[0], states[2])


def test_dropout_in_the_head_keeps_features_exact():
    model = small.NETWORKS["mlp"][1]()
    model.head = torch.nn.Sequential(layers.Dropout(0.5), model.head)
    states = []
    for cache in (True, False):
        fed = deep.Federation(small.data(), model, cache=cache, sgd=small.FAST, dtype="float64")
        states.append(small.tensors(small.rounds(HEADS["fedrep"], fed)))
    assert small.distance(*states) <= 1e-12


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
