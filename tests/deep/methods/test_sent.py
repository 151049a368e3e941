"""The numbers that a client of a round sends, by method."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep.deep import FLUTE, METHODS  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.small import CLASSES  # noqa: E402


def sizes(network):
    """Return how many numbers the parts of a small network are, from the module alone."""
    model = small.NETWORKS[network][1]()
    head, rest = (
        sum(p.numel() for p in module.parameters()) for module in (model.head, model.representation)
    )
    averages = sum(
        b.numel() for n, b in model.named_buffers() if n.endswith(("running_mean", "running_var"))
    )
    return {
        "head": head, "rest": rest, "averages": averages, "features": model.head.in_features,
        "model": head + rest + averages,
    }  # fmt: skip


def sent(name, size):
    """Return what the method's paper has a client send."""
    k = size["features"]
    body = size["rest"] + size["averages"]
    policy = 2 * k * k + 2 * k + 2 * 2 * k  # a linear layer and a normalization
    return {
        "local": 0,
        "scaffold": size["model"] + size["rest"] + size["head"],
        "fedper": body,
        "fedrep": body,
        "fedalt": body,
        "fedbabu": body,
        "fedcp": size["model"] + policy,  # its personal head is averaged
        "fedas": body + 1,
        "pfedfda": body + CLASSES * k + k * k,
        "l2gd": round(0.9 * size["model"]),
        "pflmf": 5 * (size["rest"] + size["head"]) + size["averages"],  # U, of rank 5
    }.get(name, size["model"])


@pytest.mark.parametrize(
    ("name", "network"),
    [(name, "mlp") for name in METHODS if name not in ("perfedsi", "lg")]
    + [(name, "blocks") for name in METHODS if name not in ("perfedsi", "lg", "apfl")],
)
def test_clients_send_what_the_server_reads(name, network):
    method = METHODS[name]()
    fed = small.federation(network, method=method, seed=1)
    state = method.start(fed)
    wanted = sent(name, sizes(network))
    assert method.floats(state) == wanted
    method.round(fed, state, np.array([0, 2]))
    assert method.floats(state) == wanted


def test_clients_of_lg_and_perfedsi_send_what_they_share():
    lg, perfedsi = METHODS["lg"](), METHODS["perfedsi"]()
    size = sizes("cnn")
    kept = sum(
        p.numel()
        for name, p in small.NETWORKS["cnn"][1]().named_parameters()
        if name.startswith(("representation.conv1.", "representation.conv2."))
    )
    assert kept > 0
    assert lg.floats(lg.start(small.federation("cnn"))) == size["model"] - kept
    state = perfedsi.start(small.federation("concatenated"))
    assert perfedsi.floats(state) == sizes("concatenated")["model"]


def test_heads_are_sent_where_flutes_server_reads_them():
    fed = small.federation()
    found = [method.floats(method.start(fed)) for method in (FLUTE(), FLUTE(server_lr=0.0))]
    assert found[0] - found[1] == sizes("mlp")["head"]
