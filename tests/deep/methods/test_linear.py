"""On linear networks and full batches, methods are those of the linear problems, to rounding."""

from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import linrep as lr  # noqa: E402
from linrep import deep  # noqa: E402
from linrep.algorithms import personalized  # noqa: E402
from linrep.deep import SGD, Phase  # noqa: E402

D, K, STEP = 5, 2, 0.1
#: One batch a client, and nothing but the gradient.
FULL = {
    "batch_size": None, "momentum": 0.0, "dtype": "float64", "lr": STEP, "participation": 1.0,
    "record": [], "rng": 0,
}  # fmt: skip


def clients(sizes=(5, 10, 20, 40), noise=0.3):
    """Return samples of clients of different sizes, for networks and for linear problems."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(D, K))
    samples = []
    for m in sizes:
        X = rng.normal(size=(m, D))
        samples.append((X, X @ truth @ rng.normal(size=K) + noise * rng.normal(size=m)))
    data = deep.FederatedData.from_lists([(X, y, [], []) for X, y in samples], classes=1)
    return data, lr.ClientData.from_list(samples)


def network():
    """Return a network of a representation and a head, and these as (B, w)."""
    rng = np.random.default_rng(1)
    B, w = np.linalg.qr(rng.normal(size=(D, K)))[0], rng.normal(size=K)
    made = deep.models.linear(D, K).double()
    with torch.no_grad():
        made.representation.B.weight.copy_(torch.tensor(B.T))
        made.head.weight.copy_(torch.tensor(w[None]))
    return made, B, w


def assert_same(found, expected):
    assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()


def assert_moved(found, start):
    assert np.abs(found - start).max() > 1e-3


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize(("head_epochs", "head_lr"), [(1, None), (10, None), (3, 0.3)])
def test_fedrep(head_epochs, head_lr, cache, engine):
    data, problem = clients()
    made, B, w = network()
    method = deep.FedRep(head_epochs=head_epochs, head_lr=head_lr)
    trace = deep.run(data, method, model=made, rounds=6, cache=cache, **FULL)
    linear = lr.fedrep(
        problem, k=K, rounds=6, start=(B, np.tile(w, (problem.n, 1))), local_steps=head_epochs,
        head_step_size=head_lr or STEP, step_size=STEP, orthonormal=False, rng=0,
    )  # fmt: skip
    assert_same(trace.state["shared.representation.B.weight"].T, linear.state["B"])
    assert_same(trace.state["personal.head.weight"][:, 0], linear.state["W"])
    assert_moved(linear.state["B"], B)


@pytest.mark.parametrize("epochs", [1, 5])
def test_fedavg(epochs, engine):
    data, problem = clients()
    made, B, w = network()
    trace = deep.run(data, deep.FedAvg(epochs=epochs), model=made, rounds=6, **FULL)
    linear = lr.fedavg(
        problem, k=K, rounds=6, start=(B, np.tile(w, (problem.n, 1))), local_steps=epochs,
        step_size=STEP, rng=0,
    )  # fmt: skip
    assert_same(trace.state["shared.representation.B.weight"].T, linear.state["B"])
    assert_same(trace.state["shared.head.weight"][0], linear.state["w"])
    assert_moved(linear.state["B"], B)


def one_layer():
    torch.manual_seed(0)
    return torch.nn.Linear(D, 1, bias=False).double()


@pytest.mark.parametrize("order", ["simultaneous", "alternating"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_pflmf(order, epochs, engine):
    data, problem = clients()
    method = deep.PFLMF(rank=3, epochs=epochs, lr_v=0.05, order=order)
    start, trace = (
        deep.run(data, method, model=one_layer(), rounds=rounds, **FULL) for rounds in (0, 6)
    )
    U, V = start.state["shared.U.weight"][:, 0].T, start.state["personal.v"]
    linear = lr.pflmf(
        problem, k=3, rounds=6, start=(U, V), local_steps=epochs, step_size=STEP,
        head_step_size=0.05 * problem.n, order=order, rng=0,
    )  # fmt: skip
    assert_same(trace.state["shared.U.weight"][:, 0].T, linear.state["U"])
    assert_same(trace.state["personal.v"], linear.state["V"])
    assert_moved(linear.state["U"], U)


def test_local(engine):
    data, problem = clients()
    made = one_layer()
    start = np.tile(made.weight.detach().numpy(), (problem.n, 1))
    trace = deep.run(data, deep.Local(epochs=3), model=made, rounds=4, **FULL)
    linear = personalized.local(
        problem, local_steps=3, step_size=STEP, rounds=4, tolerance=0.0, start=start
    )
    assert_same(trace.state["personal.weight"][:, 0], linear.state["theta"])
    assert_moved(linear.state["theta"], start)


@dataclass(frozen=True)
class LinearFedRep(deep.FedRep):
    """Heads to convergence, one step of the representation, orthonormalized: the theorem's."""

    def phases(self):
        return (Phase(self.personal, steps=400, lr=0.6), Phase(frozen=self.personal, steps=1))

    def server(self, federation, state, clients):
        name = "representation.B.weight"
        q, _ = torch.linalg.qr(state.shared[name].mT)
        state.shared[name] = q.mT.contiguous()


@pytest.mark.parametrize("participants", [6, 3])
def test_fedrep_of_the_theorem(participants):
    data, problem = clients(sizes=(60,) * 6, noise=0.0)
    made, B, _ = network()
    start = B
    fed = deep.Federation(data, made, sgd=SGD(lr=0.2, batch_size=None), dtype="float64")
    method = LinearFedRep()
    state = method.start(fed)
    for _ in range(10):
        part = fed.sample("participation", state.round, participants)
        chosen = lr.ClientData.from_list([problem.client(i) for i in part])
        method.round(fed, state, part)
        B = lr.fedrep(chosen, k=K, rounds=1, start=B, step_size=0.2, rng=0).state["B"]
        found = state.shared["representation.B.weight"].cpu().numpy().T
        assert_same(found @ found.T, B @ B.T)
    assert lr.problems.subspace.distance(B, start) > 0.1  # else there would be nothing to compare
