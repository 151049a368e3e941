"""Networks, methods and settings that are refused, each in a line that says what is wrong."""

from functools import partial

import numpy as np
import pytest

from tests.tools import complaint

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from linrep import deep  # noqa: E402
from linrep.deep import SGD, Phase, models  # noqa: E402
from linrep.deep.layers import BatchNorm, Dropout, converted  # noqa: E402
from linrep.deep.models.factored import Factored  # noqa: E402
from linrep.deep.models.text import LSTM, Embedding  # noqa: E402
from tests.deep import small  # noqa: E402
from tests.deep.methods.test_labels import Headed  # noqa: E402
from tests.deep.test_choose import two_blobs  # noqa: E402
from tests.deep.test_fine_tune import clients  # noqa: E402
from tests.deep.test_models import VECTORS, Scale  # noqa: E402
from tests.deep.test_own_parts import Usual, trained  # noqa: E402
from tests.deep.test_runs import Own, start  # noqa: E402
from tests.deep.test_traits import Skipping, Tied  # noqa: E402

WHOLE = deep.Dataset(np.zeros((4, 5)), [0, 1, 0, 1])
MODEL = "model must be a linrep.deep.models.Model"
IMAGES = (3, 32, 32)


def frozen():
    network = models.mlp(3, 5, hidden=(6,))
    network.head.bias.requires_grad_(False)
    return network


def run(**settings):
    return partial(start, **settings)


def trains(*phases):
    return partial(trained, phases=phases)


def begins(method, network="mlp", **settings):
    return lambda: method.start(small.federation(network, **settings))


def on(network, method):
    return lambda: method.start(deep.Federation(small.data(), network))


def build(*arguments, **settings):
    return partial(models.build, *arguments, **settings)


SMALLER = {"model": lambda: models.mlp(3, 6, hidden=(50, 20)), "rounds": 0, "participation": 1.0}
tuned = partial(deep.fine_tune, clients(2), deep.run(clients(1), "fedavg", **SMALLER), model="mlp")
without_side = small.data("images", sizes=(4, 4), tested=(1, 1))
CALLS = [
    # Runs.
    (run(method="fedsgd"), "method must be one of 'local'"),
    (run(method=deep.FedAvg), TypeError, "method must be a name or derive from FedAvg"),
    (run(method=deep.FedPer(personal=("body",))), "no block 'body' in this model"),
    (run(method=deep.FedAvg(ft="head"), model=Own), "no block 'head'"),
    (run(chunk=0), "chunk must be at least 1"),
    (run(participation=0.01), "participation 0.01 selects none of 4 clients"),
    (run(participation=1.5), "participation must be at most 1"),
    (run(rounds=-1), "rounds must be at least 0"),
    (run(record=0), "record must be at least 1"),
    (run(checkpoint_every=-1), "checkpoint_every must be at least 0"),
    (run(dtype="float16"), "dtype must be one of"),
    (run(device="abacus"), "device must be one that is here"),
    (run(cache="always"), TypeError, "cache must be bool"),
    (run(model="transformer"), "model must be one of"),
    (run(model="lstm"), "model lstm needs data with vectors of tokens"),
    (run(model=3), TypeError, "model must be a name, a function or a Module"),
    (run(model=lambda: 3), TypeError, "model must make a torch Module, got int"),
    (run(data=3), TypeError, "data must be FederatedData, got int"),
    (run(data=WHOLE), TypeError, "FederatedData, got Dataset"),
    (run(data=WHOLE, model="mlp"), TypeError, "got Dataset"),
    (run(lr=0.0), "lr must be greater than 0"),
    (run(model="mlp", head="fc"), "head must not be given for linrep's own network mlp"),
    (run(method="pflmf", model=frozen), "model must have no frozen parameters"),
    (partial(deep.choose_lr, two_blobs(), lambda lr: "fedavg", (), model="mlp"), "lrs"),
    (tuned, "representation.fc1.weight", "[200, 6]"),
    (partial(tuned, epochs=-1), "epochs"),
    # Local steps.
    (partial(SGD, lr=0.0), "lr must be greater than 0"),
    (partial(SGD, lr=None), TypeError, "lr must be"),
    (partial(SGD, momentum=-0.1), "momentum must be at least 0"),
    (partial(SGD, weight_decay=np.nan), "weight_decay must be finite"),
    (partial(SGD, batch_size=0), "batch_size must be at least 1"),
    (partial(SGD, augment=3), TypeError, "augment must be a function"),
    *(
        (partial(trained, small.data("images"), "cnn", augment=change), "augment must keep")
        for change in (lambda x: x[..., 1:], lambda x: x / 255.0)
    ),
    (partial(Phase, epochs=-1), "epochs must be"),
    (partial(Phase, steps=-1), "steps must be"),
    (partial(Phase, lr=0.0), "lr must be"),
    (trains(Phase(("hed",))), "no block 'hed' in this model; it has head, head.bias"),
    (trains(Phase(frozen=("representation.fc9",))), "no block 'representation.fc9'"),
    (trains(Phase(("representation.fc",))), "no block 'representation.fc'"),
    # Methods.
    (partial(deep.FedAvg, epochs=0), "epochs must be at least 1"),
    (partial(deep.FedAvg, ft="body"), "ft must be one of 'head', 'all', got 'body'"),
    (partial(deep.FedAvg, ft_epochs=0), "ft_epochs must be at least 1"),
    (partial(deep.FedProx, mu=-1.0), "mu must be at least 0"),
    (partial(deep.Scaffold, global_lr=0.0), "global_lr must be greater than 0"),
    (partial(deep.FedRep, head_epochs=-1), "head_epochs must be at least 0"),
    (partial(deep.Ditto, penalty=-1.0), "penalty must be at least 0"),
    (partial(deep.APFL, alpha=1.5), "alpha must be at most 1"),
    (partial(deep.L2GD, p=1.0), "p must be below 1"),
    (partial(deep.L2GD, alpha=0.0), "alpha must be greater than 0"),
    (partial(deep.PerFedAvg, support=1.0), "support must be below 1"),
    (partial(deep.FLUTE, lambda2=-1.0), "lambda2 must be at least 0"),
    (partial(deep.PFLMF, rank=0), "rank must be at least 1"),
    (partial(deep.PFLMF, steps_U=0), "steps_U must be at least 1"),
    (partial(deep.PFLMF, order="last"), "order must be one of"),
    (partial(deep.PFLMF, ft="head"), "ft must be None or 'all'"),
    # Methods with networks and data.
    (begins(deep.FedPer(personal=("hed",))), "no block 'hed'"),
    (begins(deep.LGFedAvg()), "no block 'representation.conv1'"),
    (begins(deep.PerFedSI()), "model must take side information"),
    (begins(deep.APFL(), "blocks"), "model must keep no running statistics"),
    (begins(deep.FLUTE(), "regression"), "data must have classes"),
    (begins(deep.FLUTE(personal=())), "personal must hold the heads"),
    (begins(deep.L2GD(alpha=3.7)), "alpha times penalty must be at most n p"),
    (begins(deep.PerFedSI(), "multiplied", samples=without_side), "must have side information"),
    *((partial(small.federation, "factored", method=each), MODEL)
      for each in (deep.FedCP(), deep.FedRoD())),
    *((begins(method(), network), MODEL)
      for method in (deep.FedAS, deep.PFedFDA) for network in ("concatenated", "multiplied")),
    *((on(network, method()), MODEL)
      for method in (deep.FedAS, deep.PFedFDA) for network in (Skipping, Tied)),
    *((run(model=Headed, method=name), MODEL)
      for name in ("fedrod", "fedcp", "fedas", "pfedfda", "flute")),
    (run(model=Headed, method="lg"), "no block"),
    (run(model=Headed, method="perfedsi"), "must take side information"),
    # Networks.
    *((partial(deep.models.split, Usual(), name), "head must be a part of the network, got")
      for name in ("classifier", "")),
    *((partial(models.fitting, name, small.data("tokens")), "'lstm'", "tokens", repr(name))
      for name in ("mlp", "linear", "cnn")),
    (build("resnet", IMAGES, 10), "model", "'cnn'", "'lstm'", "'resnet'"),
    (build("cnn", (32, 32), 10), "data_shape", "(channels, size, size)", "cnn"),
    (build("cnn", (3, 32, 16), 10), "data_shape", "(3, 32, 16)"),
    (build("linear", (3, 2), 1, k=1), "data_shape", "linear", "(d,)"),
    (build("lstm", (3, 2), 1, embedding=VECTORS), "data_shape", "(length,)"),
    (build("mlp", (0,), 1), "data_shape must be at least 1", "0"),
    (build("mlp", (3,), 0), "classes must be at least 1", "0"),
    (build("cnn", IMAGES, 9, width=3), "setting of model cnn", "'widths'"),
    (build("cnn", IMAGES, 9, size=3), "setting of model cnn", "'size'"),
    (build("linear", (3,), 1), "model linear", "'k'"),
    (build("concatenated", (1, 16, 16), 2), "model concatenated", "'side'"),
    (build("cnn", (3, 8, 8), 10), "size", "8 is too small"),
    (build("blocks", (3, 8, 8), 10), "size", "8 is too small"),
    (build("blocks", (3, 8, 8), 10, depth=0), "depth must be at least 1"),
    (build("mlp", (3,), 1, hidden=200), TypeError, "hidden", "list of integers", "200"),
    (build("mlp", (3,), 1, hidden=(2, 0)), "hidden must be at least 1", "0"),
    (build("cnn100", IMAGES, 10, dropout_after="conv1"), "dropout_after", "'pool1', 'fc2'"),
    (build("multiplied", (1, 16, 16), 2, side=5, width=4), "width must be at least 5", "4"),
    (build("multiplied", (1, 16, 16), 2, side=2, layer=5), "layer must be between 1 and 4", "5"),
    (partial(Factored, frozen().requires_grad_(True), 0), "rank must be at least 1"),
    (partial(Factored, nn.Sequential(Scale()), 2), TypeError, "base", "Scale", "reset_parameters"),
    (partial(Dropout, 1.0), "p must be less than 1", "1"),
    (partial(Dropout, -0.1), "p must be at least 0", "-0.1"),
    (partial(Dropout, "half"), TypeError, "p must be a real number", "half"),
    (partial(Dropout, 0.5, salt=-1), "salt", "-1"),
    (lambda: converted(nn.BatchNorm1d(1, momentum=None)), "a momentum", "''"),
    (lambda: converted(nn.Sequential(nn.BatchNorm1d(1, track_running_stats=False))),
     "averages", "'0'"),
    (partial(BatchNorm, 0), "channels must be at least 1", "0"),
    (partial(BatchNorm, 1, eps=0.0), "eps must be greater than 0"),
    (partial(LSTM, 1, 0), "hidden must be at least 1"),
    (partial(Embedding, np.zeros(3)), "embedding", "(vocabulary, size)", "(3,)"),
    (partial(Embedding, np.zeros((0, 3))), "embedding", "(0, 3)"),
]  # fmt: skip


@pytest.mark.parametrize("row", CALLS, ids=range(len(CALLS)))
def test_a_call_is_refused_in_a_line(row):
    call, *words = row
    kind = ValueError if isinstance(words[0], str) else words.pop(0)
    with complaint(kind, *words):
        call()
