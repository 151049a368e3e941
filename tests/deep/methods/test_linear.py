"""On linear networks and full batches FedRep is that of the linear problem."""

from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linrep import ClientData, fedrep  # noqa: E402
from linrep.deep import (  # noqa: E402
    SGD,
    Federation,
    FedRep,
    Phase,
    models,
)
from linrep.deep.data import FederatedData  # noqa: E402
from linrep.problems.subspace import distance  # noqa: E402


@dataclass(frozen=True)
class LinearFedRep(FedRep):
    """Heads to convergence, one step of the representation, orthonormalized: the theorem's."""

    step_size: float = 0.1

    def phases(self):
        return (
            Phase(self.personal, steps=400, lr=0.6),
            Phase(frozen=self.personal, steps=1, lr=self.step_size),
        )

    def server(self, federation, state, clients):
        name = "representation.B.weight"
        q, _ = torch.linalg.qr(state.shared[name].mT)
        state.shared[name] = q.mT.contiguous()


@pytest.mark.parametrize("participants", [6, 3])
def test_linear_fedrep_is_that_of_the_linear_problem(participants):
    rng = np.random.default_rng(0)
    n, m, d, k, step = 6, 60, 5, 2, 0.2
    X = rng.normal(size=(n, m, d)).astype(np.float32)  # as federated data keep them
    truth = np.linalg.qr(rng.normal(size=(d, k)))[0]
    y = np.einsum("imd,dk,ik->im", X.astype(float), truth, rng.normal(size=(n, k)))
    start = np.linalg.qr(rng.normal(size=(d, k)))[0]
    places = np.arange(n * m).reshape(n, m)
    data = FederatedData(
        X.reshape(-1, d), y.ravel(), tuple(places), tuple(p[:0] for p in places), classes=1
    )
    network = models.linear(d, k).double()
    with torch.no_grad():
        network.representation.B.weight.copy_(torch.tensor(start.T))
    settings = {"sgd": SGD(lr=0.1, batch_size=m), "dtype": "float64", "seeds": [0]}
    fed = Federation(data, network, **settings)
    method = LinearFedRep(step_size=step)
    state = method.start(fed)
    B = start
    for _ in range(10):
        clients = fed.sample("participation", state.round, participants)
        chosen = ClientData.from_list([(X[i].astype(float), y[places[i] // m, places[i] % m])
                                       for i in clients[0]])  # fmt: skip
        method.round(fed, state, clients)
        trace = fedrep(chosen, k=k, rounds=1, start=B, step_size=step, rng=0)
        B = trace.state["B"]
        found = state.shared["representation.B.weight"][0].cpu().numpy().T
        assert distance(found, B) < 1e-7
        assert np.linalg.norm(found @ found.T - B @ B.T) < 1e-10
    assert distance(B, start) > 0.1  # else there would be nothing to compare
