"""What moves in a round of each method, and which settings are refused."""

from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep.deep import (  # noqa: E402
    APFL,
    FLUTE,
    L2GD,
    METHODS,
    PFLMF,
    Ditto,
    FedAvg,
    FedPer,
    FedProx,
    FedRep,
    LGFedAvg,
    PerFedAvg,
    PerFedSI,
    Scaffold,
)
from tests.deep import small  # noqa: E402
from tests.deep.small import EVERYONE  # noqa: E402

#: Where a method's defaults do not fit the small network, or a round may do nothing.
NETWORK = {"lg": "cnn", "perfedsi": "concatenated"}


SETTINGS = {"l2gd": {"p": 1e-9, "penalty": 0.0}}
#: What stays as it was: FedBABU's head; and what may, where all clients of pFedFDA have β = 0.
STILL = {"fedbabu": ("shared.head",), "pfedfda": ("shared.gaussians",)}
#: Methods that change models of clients that took no part.
ALL_MOVE = ("cfl",)


@pytest.mark.parametrize("network", [None, "blocks"])
@pytest.mark.parametrize("name", METHODS)
def test_after_a_round_what_should_have_moved_has_and_nothing_else(name, network):
    method = METHODS[name](**SETTINGS.get(name, {}))
    if network == "blocks" and name in ("apfl", "perfedsi", "lg"):
        pytest.skip("has no use for the network")
    network = network or NETWORK.get(name, "mlp")
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
        if name == "fedbabu" and block.startswith("shared.head"):
            assert torch.equal(value, old), block
        if block.startswith(STILL.get(name, ())):
            continue
        if block.startswith("shared."):
            assert not torch.equal(value, old), block
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


@pytest.mark.parametrize("name", METHODS)
def test_everyone_starts_from_the_same_weights(name):
    method = METHODS[name](**SETTINGS.get(name, {}))
    fed = small.federation(NETWORK.get(name, "mlp"), method=method, seed=1)
    state = method.start(fed)
    for value in state.personal.values():
        assert (value == value[:1]).all()


def test_heads_that_have_no_epochs_are_bit_equal():
    fed = small.federation()
    state = FedRep(head_epochs=0).start(fed)
    before = small.copied(state)
    FedRep(head_epochs=0).round(fed, state, EVERYONE)
    assert torch.equal(state.personal["head.weight"], before["personal.head.weight"])
    assert not torch.equal(state.shared["representation.fc1.weight"],
                           before["shared.representation.fc1.weight"])  # fmt: skip


@pytest.mark.parametrize("method", [FedRep(personal=()), FLUTE(personal=(), server_lr=0.0)])
def test_no_personal_block_leaves_no_phase_for_it(method):
    phases = method.phases()
    assert len(phases) == 1
    assert set(phases[0].trained(["a", "b"])) == {"a", "b"}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (partial(FedAvg, epochs=0), "epochs must be at least 1"),
        (partial(FedAvg, ft="body"), "ft must be one of 'head', 'all', got 'body'"),
        (partial(FedAvg, ft_epochs=0), "ft_epochs must be at least 1"),
        (partial(FedProx, mu=-1.0), "mu must be at least 0"),
        (partial(Scaffold, global_lr=0.0), "global_lr must be greater than 0"),
        (partial(FedRep, head_epochs=-1), "head_epochs must be at least 0"),
        (partial(Ditto, penalty=-1.0), "penalty must be at least 0"),
        (partial(APFL, alpha=1.5), "alpha must be at most 1"),
        (partial(L2GD, p=1.0), "p must be below 1"),
        (partial(L2GD, alpha=0.0), "alpha must be greater than 0"),
        (partial(PerFedAvg, support=1.0), "support must be below 1"),
        (partial(FLUTE, lambda2=-1.0), "lambda2 must be at least 0"),
        (partial(PFLMF, rank=0), "rank must be at least 1"),
        (partial(PFLMF, steps_U=0), "steps_U must be at least 1"),
        (partial(PFLMF, order="last"), "order must be one of"),
        (partial(PFLMF, ft="head"), "ft must be None or 'all'"),
    ],
)
def test_bad_settings_are_refused_in_a_line(make, said):
    with pytest.raises(ValueError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "network", "said"),
    [
        (FedPer(personal=("hed",)), "mlp", "no block 'hed'"),
        (LGFedAvg(), "mlp", "no block 'representation.conv1'"),
        (PerFedSI(), "mlp", "model must take side information"),
        (APFL(), "blocks", "model must keep no running statistics"),
        (FLUTE(), "regression", "data must have classes"),
        (FLUTE(personal=()), "mlp", "personal must hold the heads"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_in_a_line(method, network, said):
    with pytest.raises(ValueError, match=said) as caught:
        method.start(small.federation(network))
    assert "\n" not in str(caught.value)


def test_perfedsi_needs_side_information():
    samples = small.data("images", sizes=(4, 4), tested=(1, 1))
    with pytest.raises(ValueError, match="data must have side information"):
        PerFedSI().start(small.federation("multiplied", samples))
