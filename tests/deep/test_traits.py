"""What networks do that training must know: what is refused, and who is trained together."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from linrep import deep  # noqa: E402
from linrep.deep import SGD, Phase, models  # noqa: E402
from tests.deep import small  # noqa: E402


class Skipping(models.Model):
    """Outputs are more than what the head makes of the representation."""

    def __init__(self):
        super().__init__(nn.Linear(5, 4), nn.Linear(4, 3))
        self.skip = nn.Linear(5, 3)

    def forward(self, x):
        return super().forward(x) + self.skip(x)


class Tied(models.Model):
    """The head's weights are the representation's."""

    def __init__(self):
        super().__init__(nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 3)), nn.Linear(3, 3))
        self.head.weight = self.representation[1].weight


def judged_by_hand(fed, values):
    """Return each client's right answers by the whole network with its own values."""
    found = []
    for client, test in enumerate(fed.data.test):
        network = copy.deepcopy(fed.model).eval()
        network.load_state_dict({n: v[client] for n, v in values.items()}, strict=False)
        x = torch.as_tensor(fed.data.x[test]).double().to(small.DEVICE)
        found.append((network(x).argmax(1).cpu().numpy() == fed.data.y[test]).sum())
    return found


@pytest.mark.parametrize("network", [Skipping, Tied])
@pytest.mark.parametrize("blocks", [(), ("head",)])
def test_networks_that_are_not_their_parts_are_trained_and_judged_whole(network, blocks):
    samples = small.data(sizes=(8, 8), tested=(40, 40))

    def trained():
        fed = deep.Federation(
            samples, network, sgd=SGD(lr=0.5), dtype="float64", device=small.DEVICE
        )
        assert not fed.in_parts
        part = np.array([0, 1])
        shared = {name: value + 0.3 for name, value in fed.start().shared.items()}
        own = fed.train(shared, {}, part, (Phase(blocks, epochs=3),), round=0)
        rest = {name: value for name, value in shared.items() if name not in own}
        found = fed.evaluate(rest, own, part)
        everything = own | {n: v.expand(2, *v.shape) for n, v in rest.items()}
        np.testing.assert_array_equal(found["correct"], judged_by_hand(fed, everything))
        return own

    assert small.distance(*small.each_way(trained)) < 1e-10


@pytest.mark.parametrize("network", small.NETWORKS)
def test_networks_of_linrep_are_their_parts(network):
    fed = small.federation(network)
    plain = network not in ("concatenated", "multiplied", "factored")
    assert (fed.in_parts, fed.stacks) == (plain, True)


def test_frozen_normalization_stays_frozen_when_it_is_converted():
    norm = nn.BatchNorm1d(3)
    norm.weight.requires_grad_(False)
    network = deep.layers.converted(nn.Sequential(norm))
    assert [value.requires_grad for value in network.parameters()] == [False, True]


def test_results_hold_no_gradients(engine):
    fed = small.federation()
    shared = fed.start().shared
    for value in fed.train(shared, {}, small.EVERYONE, (Phase(),), round=0).values():
        assert (value if value._base is None else value._base).grad is None


class Dropping(nn.Module):
    """Draws in functions."""

    def __init__(self):
        super().__init__()
        self.representation, self.head = nn.Linear(5, 6), nn.Linear(6, 3)

    def forward(self, x):
        x = F.rrelu(self.representation(x), training=self.training)
        return self.head(F.dropout(x, 0.5, training=self.training))


class Recurrent(nn.Module):
    """Torch's GRU, which vmap does not know."""

    def __init__(self):
        super().__init__()
        self.representation, self.head = nn.GRU(1, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.representation(x.unsqueeze(-1))[0][:, -1])


class Placed(nn.Module):
    """Places, which are parameters that are no numbers to average."""

    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.arange(4, -1, -1), requires_grad=False)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(x[:, self.places])


def headed(*body):
    return models.Model(nn.Sequential(*body), nn.Linear(5, 3))


#: Networks of which linrep knows nothing: they draw, or keep something from step to step.
OTHERS = {
    "functions": Dropping,
    "recurrent": Recurrent,
    "recurrent head": lambda: models.Model(nn.Linear(5, 4), Recurrent()),
    "places": Placed,
    "alpha dropout": lambda: headed(nn.Linear(5, 5), nn.AlphaDropout(0.2)),
    "spectral norm": lambda: headed(nn.utils.parametrizations.spectral_norm(nn.Linear(5, 5))),
    "spectral norm by a hook": lambda: headed(nn.utils.spectral_norm(nn.Linear(5, 5))),
    "normalization": lambda: headed(nn.Linear(5, 5), nn.BatchNorm1d(5, affine=False)),
    "instances": lambda: headed(
        nn.Unflatten(1, (5, 1)), nn.Upsample(2), nn.InstanceNorm1d(5, track_running_stats=True),
        nn.Flatten(), nn.Linear(10, 5),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*spectral_norm.*")
@pytest.mark.parametrize("method", ["fedavg", "fedper"])
@pytest.mark.parametrize("network", OTHERS)
def test_other_networks_are_trained_one_by_one_by_seed_and_client_alone(network, method):
    make, torch_state, found = OTHERS[network], torch.get_rng_state(), []
    settings = {"model": make, "rounds": 2, "participation": 1.0, "lr": 1e-3, "dtype": "float64"}
    for other, chunk in ((1, 64), (2, 1)):
        torch.manual_seed(other)
        found.append(deep.run(small.data(), method, rng=0, chunk=chunk, **settings))
    assert found[0].settings["engine"] == "loop"
    for name, value in found[0].state.items():
        np.testing.assert_allclose(value, found[1].state[name], rtol=1e-12, atol=1e-14)
    again = deep.run(small.data(), method, rng=1, **settings)
    assert np.abs(again["test_loss"] - found[0]["test_loss"]).max() > 1e-4
    fed = deep.Federation(small.data(), make, dtype="float64", device=small.DEVICE)
    shared, one = fed.start().shared, np.array([2])
    together, alone = (
        fed.train(shared, {}, part, (Phase(epochs=2),), round=0) for part in (small.EVERYONE, one)
    )
    small.assert_close({name: value[[2]] for name, value in together.items()}, alone)
    torch.set_rng_state(torch_state)


def test_augmentation_and_dropout_draw_apart():
    seen = {}

    class Noting(Dropping):
        def forward(self, x):
            if self.training:
                seen.setdefault("network", []).append(torch.rand(3).tolist())
            return super().forward(x)

    def noting(x):
        seen.setdefault("augment", []).append(torch.rand(3).tolist())
        return x

    deep.run(
        small.data(), "fedavg", model=Noting, rounds=1, participation=1.0, augment=noting, rng=0
    )
    drawn = [tuple(each) for each in seen["network"]]
    assert 1 < len(drawn) == len(set(drawn))  # anew in each step of each client
    assert not {tuple(each) for each in seen["network"]} & {tuple(e) for e in seen["augment"]}


def test_servers_do_not_step_along_running_averages():
    samples = small.data("images")
    trace = deep.run(
        samples, deep.Scaffold(global_lr=3.0, epochs=4), model=small.NETWORKS["blocks"][1],
        rounds=2, participation=1.0, rng=0, lr=1e-6,
    )  # fmt: skip
    variances = [v for name, v in trace.state.items() if name.endswith("running_var")]
    assert variances
    assert min(value.min() for value in variances) > 0.0


def test_clients_without_test_samples_and_a_network_that_views(engine):
    class Viewing(models.Model):
        def forward(self, x):
            return super().forward(x.view(len(x), -1))

    def make():
        return Viewing(nn.Linear(5, 4), nn.Linear(4, 3))

    samples = small.data(sizes=(7, 3, 5), tested=(0, 4, 2))
    trace = deep.run(samples, deep.Local(), model=make, rounds=1, participation=1.0)
    assert np.isnan(trace.state["accuracies"][0])
    assert np.isfinite(trace["accuracy"]).all()


def test_clients_that_are_done_are_not_augmented(engine):
    def strict(x):
        if not len(x):
            raise RuntimeError("no samples")
        return x

    deep.run(
        small.data(), "fedavg", model="mlp", rounds=1, participation=1.0,
        augment=strict, batch_size=2,
    )  # fmt: skip


@pytest.mark.parametrize("network", small.NETWORKS)
@pytest.mark.parametrize("method", [deep.Local(), deep.FedAvg()])
def test_clients_are_judged_alike_together_and_one_by_one(network, method):
    def judged():
        fed = small.federation(network)
        return fed.evaluate(*method.models(fed, method.start(fed), small.EVERYONE), small.EVERYONE)

    found = small.each_way(judged)
    for name, values in found[0].items():
        np.testing.assert_allclose(values, found[1][name], rtol=1e-10)


def test_large_networks_are_trained_one_by_one_on_a_processor():
    for inputs, expected in ((900, True), (1100, False)):
        samples = deep.FederatedData(
            np.zeros((4, inputs)), [0, 1, 0, 1], ([0, 1], [2, 3]), ([], []), classes=2
        )
        network = lambda inputs=inputs: models.mlp(2, inputs, hidden=(200,))  # noqa: E731
        assert deep.Federation(samples, network, device="cpu").together == expected
