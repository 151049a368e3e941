"""FedRoD and FedCP: running averages, contexts, and side information."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from linrep.deep import FedAvg, FedCP, FedRoD, Phase  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.small import FULL, assert_close  # noqa: E402


@pytest.mark.parametrize("method", [FedCP(), FedCP(penalty=0.0), FedRoD()])
def test_running_averages_take_up_a_batch_once(method, engine):
    client = np.array([2])
    averages = []
    for each in (method, FedAvg()):
        fed = small.federation("blocks", method=each, sgd=FULL)
        state = small.rounds(each, fed, 1, clients=client)
        averages.append({name: state.shared[name] for name in fed.buffers})
    assert len(averages[1]) == 4
    assert_close(*averages)


def test_fedcps_context_stands_still_in_training_and_is_the_heads_in_evaluation():
    method = FedCP()
    fed = small.federation(method=method)
    state = small.rounds(method, fed, 1, clients=[0, 1, 2])
    before = {name: value.clone() for name, value in state.personal.items()}
    part = np.array([1])
    new = fed.train(
        state.shared, method.begin(fed, state, part), part, method.phases(), round=1,
        objective=method.objective, context=method.context(fed, state, part),
    )  # fmt: skip
    assert torch.equal(new["head.context"], before["head.context"][[1]])
    assert not torch.equal(new["head.own.weight"], before["head.own.weight"][[1]])
    method.round(fed, state, part)
    _, own = method.models(fed, state, part)
    torch.testing.assert_close(own["head.context"], own["head.own.weight"].sum(-2))
    # No gradient reaches it where everything moves.
    moved = fed.train(state.shared, own, part, (Phase(),), round=2)
    ratio = moved["head.context"] / own["head.context"]  # weight decay alone
    torch.testing.assert_close(ratio, ratio[..., :1].expand_as(ratio))


@pytest.mark.parametrize("name", ["fedrod", "fedcp"])
@pytest.mark.parametrize("network", ["concatenated", "multiplied"])
def test_networks_with_side_information_have_two_heads_too(name, network):
    trace = deep.run(
        small.data("images"), name, model=small.NETWORKS[network][1], rounds=2, participation=0.5,
        rng=0, lr=0.01,
    )  # fmt: skip
    assert np.isfinite(trace["test_loss"]).all()
