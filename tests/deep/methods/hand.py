"""What rounds of the small federations are worked out with by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.deep import small  # noqa: E402
from tests.deep.small import FULL  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def on_the_processor():
    """What is worked out by hand is there: for modules that import this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small, "DEVICE", "cpu")
        patch.setenv("LINREP_DEVICE", "cpu")
        yield


class Hand:
    """Full-batch gradients of clients, from plain autograd."""

    def __init__(self, network="mlp", method=None):
        self.fed = small.federation(network, sgd=FULL, method=method)
        self.data = self.fed.data

    def start(self):
        return {name: value.clone() for name, value in self.fed.start().shared.items()}

    def gradient(self, params, client, rows=slice(None)):
        index = self.data.train[client][rows]
        own = {name: value.detach().clone().requires_grad_() for name, value in params.items()}
        x = torch.as_tensor(self.data.x[index]).double()
        y = torch.as_tensor(self.data.y[index])
        outputs = torch.func.functional_call(self.fed.model, own, (x,))
        if y.is_floating_point():
            value = 0.5 * ((outputs[:, 0] - y) ** 2).mean()
        else:
            value = torch.nn.functional.cross_entropy(outputs, y)
        return dict(zip(own, torch.autograd.grad(value, list(own.values())), strict=True))


def moved(params, gradient, by):
    return {name: params[name] + by * gradient[name] for name in params}


def mean(values, weights=None):
    weights = np.full(len(values), 1 / len(values)) if weights is None else weights / weights.sum()
    return {k: sum(w * v[k] for w, v in zip(weights, values, strict=True)) for k in values[0]}


def of(values, client):
    return {name: value[client] for name, value in values.items()}


def nc(head, present, m):
    """Return (51) with the number of classes m."""
    gram = head @ head.T
    frame = np.outer(present, present) * (np.eye(len(head)) - 1.0 / m) / np.sqrt(m - 1.0)
    return np.linalg.norm(gram / np.linalg.norm(gram) - frame)
