"""Functions replayed as CUDA graphs; without CUDA by a stand-in that computes them again."""

from contextlib import nullcontext
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")

from torch.utils._pytree import tree_leaves, tree_map  # noqa: E402

from linrep.deep import FedAvg, FedRep, Scaffold, graphs  # noqa: E402
from linrep.deep.graphs import Replayed  # noqa: E402
from tests.deep import small  # noqa: E402

CUDA = torch.cuda.is_available()


class Pair(NamedTuple):
    one: torch.Tensor
    other: torch.Tensor


class Function:
    """What is replayed: it counts how often Python runs it."""

    def __init__(self):
        self.runs = 0

    def __call__(self, values, pair):
        self.runs += 1
        return {"product": values["inner"]["w"] @ pair.one, "sum": (pair.other + 1,)}


class Graph:
    """Computes again what has been captured, into the same tensors."""

    def __init__(self):
        self.shared = None

    def pool(self):
        return self.shared or self

    def capture_begin(self, pool=None):
        self.shared = pool

    def capture_end(self):
        pass

    def replay(self):
        inputs = self.replayed._inputs
        found = {"product": inputs[0]["inner"]["w"] @ inputs[1].one, "sum": (inputs[1].other + 1,)}
        for old, new in zip(tree_leaves(self.replayed._outputs), tree_leaves(found), strict=True):
            old.copy_(new)


class Stream:
    def __init__(self, device):
        pass

    def wait_stream(self, other):
        pass


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(graphs, "_LAST", {})
    monkeypatch.setattr(graphs, "_REFUSED", set())
    if CUDA:
        return
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    for name in ("Stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())


@pytest.fixture
def replayed(monkeypatch):
    function = Function()
    made = Replayed(function)
    monkeypatch.setattr(Graph, "replayed", made, raising=False)
    return made, function


def inputs(number):
    generator = torch.Generator().manual_seed(number)
    w, one, other = (torch.randn(size, generator=generator) for size in ((2, 3), (3,), (4,)))
    device = "cuda" if CUDA else "cpu"
    return {"inner": {"w": w.to(device)}}, Pair(one.to(device), other.to(device))


def test_later_calls_see_their_own_inputs_and_run_no_python(replayed):
    made, function = replayed
    earlier = []
    for number in range(6):
        values, pair = inputs(number)
        kept = values["inner"]["w"].clone(), pair.one.clone(), pair.other.clone()
        found = made(values, pair)
        torch.testing.assert_close(found["product"], values["inner"]["w"] @ pair.one)
        torch.testing.assert_close(found["sum"][0], pair.other + 1)
        assert all(torch.equal(*each) for each in zip(
            kept, (values["inner"]["w"], pair.one, pair.other), strict=True
        ))  # fmt: skip
        earlier.append((found["product"], found["product"].clone()))
    assert function.runs == 2  # computed, and captured
    assert all(torch.equal(one, kept) for one, kept in earlier)  # no call changes another's


def test_what_cannot_be_captured_is_computed_in_every_call():
    runs = []

    def looks_at_a_value(x):
        runs.append(x.sum().item())  # what CUDA refuses in a capture
        if not CUDA and len(runs) == 2:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")
        return {"y": x + runs[-1]}

    made, ones = Replayed(looks_at_a_value), torch.ones(3, device="cuda" if CUDA else "cpu")
    made(ones)
    with pytest.warns(
        UserWarning, match="not replayed as CUDA graphs from here on: .*not permitted"
    ):
        made(ones)
    for number in range(2, 4):
        assert torch.equal(made(number * ones)["y"], 4 * number * ones)
    another = Replayed(lambda x: {"y": 2 * x})
    for number in range(4):
        assert torch.equal(another(number * ones)["y"], 2 * number * ones)
    assert another._graph is None


def test_all_graphs_have_the_memory_of_one(monkeypatch):
    if CUDA:
        before = 0
        for number in range(40):
            made = Replayed(lambda x: {"y": (x @ x.mT).sum(0)})
            for _ in range(3):
                made(torch.ones(1000, 1000, device="cuda"))
            if number == 3:
                before = torch.cuda.memory_reserved()
            assert made._graph is not None
        assert torch.cuda.memory_reserved() == before
        return
    pools = []
    for _ in range(3):
        made = Replayed(Function())
        monkeypatch.setattr(Graph, "replayed", made, raising=False)
        for number in range(2):
            made(*inputs(number))
        pools.append(made._graph.pool())
    assert pools[0] is pools[1] is pools[2]


class Held(Replayed):
    """Without CUDA: tensors are held as a graph does, and computed into again."""

    used = 0

    def _capture(self, inputs):
        self._inputs = tree_map(torch.clone, inputs)
        self._outputs = tree_map(torch.clone, self._function(*self._inputs))
        self._graph = self

    def replay(self):
        Held.used += 1
        new = tree_leaves(self._function(*self._inputs))
        for held, value in zip(tree_leaves(self._outputs), new, strict=True):
            held.copy_(value)


@pytest.mark.parametrize("method", [FedAvg(epochs=3), FedRep(head_epochs=3), Scaffold(epochs=3)])
@pytest.mark.parametrize("network", ["mlp", "blocks"])
def test_steps_that_are_replayed_are_those_that_are_not(monkeypatch, network, method):
    if not CUDA:
        monkeypatch.setattr(graphs, "Replayed", Held)
    monkeypatch.setattr(Held, "used", 0)
    found = []
    for replaying in ("cuda" if CUDA else "cpu", "nothing"):
        monkeypatch.setattr(graphs, "TYPE", replaying)
        fed = small.federation(network, engine="vmap", cache=False)
        found.append(small.tensors(small.rounds(method, fed)))
    assert CUDA or Held.used > 10
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], rtol=1e-10, atol=1e-12)
