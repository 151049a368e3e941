"""What moves in a round of each method, and which settings are refused."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import deep  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.small import EVERYONE  # noqa: E402

#: Where a method's defaults do not fit the small network, or a round may do nothing.
NETWORK = {"lg": "cnn", "perfedsi": "concatenated"}


SETTINGS = {"l2gd": {"p": 1e-9, "penalty": 0.0}}
#: What may stay as it was, where all clients have β = 0.
OPEN = {"pfedfda": ("shared.gaussians",)}
#: Methods that change models of clients that took no part.
ALL_MOVE = ("cfl",)


@pytest.mark.parametrize(
    ("name", "network"),
    [(name, NETWORK.get(name, "mlp")) for name in deep.METHODS]
    + [(name, "blocks") for name in deep.METHODS if name not in ("apfl", *NETWORK)],
)
def test_after_a_round_what_should_have_moved_has_and_nothing_else(name, network):
    method = deep.METHODS[name](**SETTINGS.get(name, {}))
    fed = small.federation(network, method=method, seed=1)
    state = method.start(fed)
    before = small.copied(state)
    sampled = np.array([0, 2])
    method.round(fed, state, sampled)
    after = small.tensors(state)
    assert before.keys() == after.keys()
    others = np.setdiff1d(EVERYONE, sampled)
    for block, value in after.items():
        old = before[block]
        if block.startswith(OPEN.get(name, ())):
            continue
        if block.startswith("shared."):
            still = name == "fedbabu" and block.startswith("shared.head")
            assert torch.equal(value, old) == still, block
        elif block.startswith("personal."):
            still = torch.equal(value[others], old[others])
            assert still == (name not in ALL_MOVE), block
            for client in sampled:
                assert not torch.equal(value[client], old[client]), block
    assert state.round == 1
    shared, own = method.models(fed, state, sampled)
    wanted = set(fed.parameters) | set(fed.buffers)
    assert set(shared) | set(own) == wanted
    assert not set(shared) & set(own)


@pytest.mark.parametrize("name", deep.METHODS)
def test_everyone_starts_from_the_same_weights(name):
    method = deep.METHODS[name](**SETTINGS.get(name, {}))
    fed = small.federation(NETWORK.get(name, "mlp"), method=method, seed=1)
    state = method.start(fed)
    for value in state.personal.values():
        assert (value == value[:1]).all()


def test_heads_that_have_no_epochs_are_bit_equal():
    fed = small.federation()
    state = deep.FedRep(head_epochs=0).start(fed)
    before = small.copied(state)
    deep.FedRep(head_epochs=0).round(fed, state, EVERYONE)
    assert torch.equal(state.personal["head.weight"], before["personal.head.weight"])
    assert not torch.equal(state.shared["representation.fc1.weight"],
                           before["shared.representation.fc1.weight"])  # fmt: skip


def test_no_personal_block_leaves_no_phase_for_it():
    for method in (deep.FedRep(personal=()), deep.FLUTE(personal=(), server_lr=0.0)):
        (phase,) = method.phases()
        assert set(phase.trained(["a", "b"])) == {"a", "b"}
