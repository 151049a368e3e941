import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from linrep.deep import METHODS, SGD, Phase  # noqa: E402
from linrep.deep.methods.global_model import travelled  # noqa: E402
from linrep.deep.training import schedule  # noqa: E402
from linrep.problems.random import keyed  # noqa: E402
from tests.deep import small  # noqa: E402

# Schedules


def streams(count, seed=0):
    return [np.random.default_rng([seed, worker]) for worker in range(count)]


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    batch_size=st.integers(1, 5),
    epochs=st.integers(0, 3),
)
def test_an_epoch_is_a_permutation_of_the_clients_samples(sizes, batch_size, epochs):
    plan = schedule(sizes, streams(len(sizes)), batch_size=batch_size, epochs=epochs)
    assert plan.position.shape == plan.weight.shape
    assert plan.key.shape == plan.weight.shape[:2]
    for worker, size in enumerate(sizes):
        per_epoch = -(-size // batch_size)
        assert plan.weight[..., 0][worker].sum() == epochs * per_epoch
        for epoch in range(epochs):
            steps = slice(epoch * per_epoch, (epoch + 1) * per_epoch)
            weight = plan.weight[worker, steps]
            seen = plan.position[worker, steps][weight]
            assert sorted(seen) == list(range(size))
            assert weight[:-1].all()  # only the last batch is smaller, and padded at its end
            assert (np.diff(weight.astype(int), axis=1) <= 0).all()
    assert (plan.position[~plan.weight] == 0).all()


@given(size=st.integers(0, 9), batch_size=st.integers(1, 5), steps=st.integers(0, 12))
def test_steps_go_on_into_as_many_epochs_as_they_need(size, batch_size, steps):
    plan = schedule([size], streams(1), batch_size=batch_size, steps=steps)
    assert plan.weight[..., 0].sum() == (steps if size else 0)
    counts = np.bincount(plan.position[plan.weight], minlength=size)
    assert size == 0 or counts.max() - counts.min() <= 1


@pytest.mark.parametrize(
    ("sizes", "batch_size", "places"),
    [((2, 5), None, 5), ((2, 5), 6, 6), ((2, 5), 10**9, 256), ((2, 300), 10**9, 300)],
)
def test_batches_are_not_padded_far_beyond_what_workers_have(sizes, batch_size, places):
    plan = schedule(sizes, streams(2), batch_size=batch_size, epochs=3)
    assert plan.position.shape == (2, 3, places)
    assert plan.weight.sum(-1).tolist() == [[size] * 3 for size in sizes]


def test_streams_differ_by_purpose_round_phase_and_client():
    seed = np.random.SeedSequence(3)
    keys = [("a", 0, 0, 1), ("b", 0, 0, 1), ("a", 1, 0, 1), ("a", 0, 1, 1), ("a", 0, 0, 2)]
    drawn = {keyed(seed, *key).integers(2**62) for key in keys}
    assert len(drawn) == len(keys)
    assert keyed(seed, *keys[0]).integers(9**9) == keyed(seed, *keys[0]).integers(9**9)


def test_a_clients_training_depends_on_seed_round_phase_and_itself_alone(engine):
    fed = small.federation(seed=5)
    everyone, some = small.EVERYONE, np.array([2])
    shared = fed.start().shared
    train = {"phases": (Phase(),), "round": 3}
    all_of_them = fed.train(shared, {}, everyone, **train)
    alone = fed.train(shared, {}, some, **train)
    later = fed.train(shared, {}, some, **(train | {"round": 4}))
    twice = fed.train(shared, {}, some, (Phase(), Phase()), round=3)
    for name, value in alone.items():
        torch.testing.assert_close(value[0], all_of_them[name][2], rtol=0, atol=1e-14)
    assert not torch.equal(later["head.weight"], alone["head.weight"])
    again = fed.train(shared, alone, some, **train)  # the same batches a second time
    assert not torch.equal(again["head.weight"], twice["head.weight"])


# Steps


@pytest.mark.parametrize(
    "sgd", [SGD(0.1, 0.0, 0.0, 4), SGD(0.05, 0.9, 0.0, 3), SGD(0.05, 0.5, 0.1, 12)]
)
def test_sgd_is_that_of_torch_step_by_step(engine, sgd):
    samples = small.data()
    fed = small.federation(samples=samples, sgd=sgd)
    client, shared = 2, fed.start().shared
    plan = schedule(
        [12], [keyed(fed.seed, "batches", 0, 0, client)], batch_size=sgd.batch_size, epochs=2
    )
    model = fed.model
    model.load_state_dict(shared)
    optimizer = torch.optim.SGD(
        model.parameters(), sgd.lr, momentum=sgd.momentum, weight_decay=sgd.weight_decay
    )
    x, y = torch.as_tensor(samples.x).double(), torch.as_tensor(samples.y)
    x, y = x.to(small.DEVICE), y.to(small.DEVICE)
    for step in range(1, plan.position.shape[1] + 1):
        rows = samples.train[client][plan.position[0, step - 1][plan.weight[0, step - 1]]]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
        new = fed.train(shared, {}, np.array([client]), (Phase(steps=step),), round=0)
        for name, value in model.named_parameters():
            torch.testing.assert_close(new[name][0], value.detach(), rtol=1e-12, atol=1e-13)


@given(momentum=st.sampled_from([0.0, 0.5, 0.9]), steps=st.integers(1, 20))
def test_the_way_along_a_constant_gradient_counts_momentum(momentum, steps):
    parameter = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], 0.1, momentum=momentum)
    for _ in range(steps):
        parameter.grad = torch.ones(1, dtype=torch.float64)
        optimizer.step()
    way = travelled(np.array([steps, 1]), SGD(0.1, momentum))
    np.testing.assert_allclose(way, [-10.0 * parameter.item(), 1.0])


def test_only_the_named_blocks_move():
    fed = small.federation("cnn")
    part, shared = np.array([0, 2]), fed.start().shared
    for phase in (
        Phase(("head",)),
        Phase(frozen=("head",)),
        Phase(("representation",), frozen=("representation.conv1",)),
        Phase(("representation.conv1", "head.bias")),
    ):
        expected = set(phase.trained(fed.parameters))
        assert set(fed.train(shared, {}, part, (phase,), round=0)) == expected != set()
    assert fed.train(shared, {}, part, (Phase(frozen=("representation", "head")),), round=0) == {}


def test_running_statistics_move_with_their_block():
    fed = small.federation("blocks", cache=False)
    part, shared = np.array([0, 2]), fed.start().shared
    heads = fed.train(shared, {}, part, (Phase(("head",)),), round=0)
    assert set(heads) == {"head.weight", "head.bias"}
    others = fed.train(shared, {}, part, (Phase(frozen=("head",)),), round=0)
    for name in fed.buffers:
        assert not torch.equal(others[name][0], shared[name])


# Together and one by one

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
SETTINGS = {
    "fedrep": {"head_epochs": 2},
    "lg": {"personal": ("representation.fc1",)},
    "l2gd": {"p": 0.5},
    "flute": {"head_epochs": 2},
    "pflmf": {"rank": 3, "steps_U": 3},
    "perfedavg": {"inner_lr": 0.05},
}


def method(name):
    return METHODS[name](**SETTINGS.get(name, {}))


def compare(network, name, dtype="float64", chunks=(64,), **settings):
    """Assert that clients one by one and together, in so large chunks, come to the same."""
    chosen = method(name)

    def after(chunk):
        fed = small.federation(network, method=chosen, dtype=dtype, chunk=chunk, **settings)
        return small.tensors(small.rounds(chosen, fed))

    first, *others = (found for chunk in chunks for found in small.each_way(partial(after, chunk)))
    for other in others:
        assert small.distance(first, other) <= TOLERANCE[dtype]


@pytest.mark.parametrize(("dtype", "chunks"), [("float64", (64, 1)), ("float32", (64,))])
@pytest.mark.parametrize("name", METHODS)
def test_loop_and_vmap_and_chunks_agree_for_each_method(name, dtype, chunks):
    compare("concatenated" if name == "perfedsi" else "mlp", name, dtype, chunks)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("network", small.NETWORKS)
def test_loop_and_vmap_agree_for_each_network(network, cache, dtype):
    compare(network, "fedavg" if network == "factored" else "fedrep", dtype, cache=cache)


@pytest.mark.parametrize(
    ("networks", "names"),
    [
        (("blocks", "cnn100"), ("perfedavg", "flute", "ditto", "scaffold")),
        (("concatenated", "multiplied"), ("perfedsi", "flute")),
        (("cnn",), ("fedcp", "fedrod", "fedas", "pfedfda")),
    ],
)
def test_loop_and_vmap_agree_with_statistics_dropout_and_side_information(networks, names):
    for network, name in itertools.product(networks, names):
        compare(network, name)


@pytest.mark.parametrize("network", ["mlp", "blocks", "cnn100"])
def test_a_client_with_fewer_samples_than_a_batch_sees_no_padding(network):
    kind, _ = small.NETWORKS[network]
    samples = small.data(kind)
    small_batch = SGD(lr=0.1, batch_size=3)
    shared, part = small.federation(network).start().shared, np.array([1])  # has 3 samples
    results = [
        values
        for sgd in (small_batch, SGD(lr=0.1, batch_size=8))
        for values in small.each_way(
            lambda sgd=sgd: small.federation(network, samples, sgd=sgd).train(
                shared, {}, part, (Phase(),), round=0
            )
        )
    ]
    for other in results[1:]:
        assert small.distance(results[0], other) <= 1e-12
