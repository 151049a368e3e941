"""Networks on vectors."""

from collections import OrderedDict
from collections.abc import Sequence

from torch import nn

from linrep._lib.validation import integer
from linrep.deep.models.base import Model, fully_connected, with_head


def mlp(classes: int, inputs: int, *, hidden: Sequence[int] = (200, 200)) -> Model:
    """Return a multilayer perceptron: "fc1", "fc2" with ReLU, then the head.

    Parameters
    ----------
    classes : int
        Number of outputs.
    inputs : int
        Number of inputs; samples of any shape are flattened.
    hidden : sequence of int
        Size of each hidden layer.

    Notes
    -----
    FedRep, appendix A.2 (FEMNIST: two hidden layers), and pFL^MF, section 5 (MNIST and FEMNIST:
    three linear layers). Neither gives sizes; chosen here as in McMahan et al. (2017): 200 units.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    inputs = integer("inputs", inputs, minimum=1)
    return with_head(layers, fully_connected(layers, inputs, hidden), classes)


def linear(d: int, k: int, *, outputs: int = 1) -> Model:
    """Return the linear network x ↦ wᵀ Bᵀ x, without biases.

    With it and full batches the deep methods are those of the linear problems.

    Parameters
    ----------
    d : int
        Number of inputs.
    k : int
        Number of features; ``representation.B.weight`` is Bᵀ, (k, d).
    outputs : int
        Number of outputs; ``head.weight`` is wᵀ, (outputs, k).
    """
    d = integer("d", d, minimum=1)
    k = integer("k", k, minimum=1)
    outputs = integer("outputs", outputs, minimum=1)
    representation = nn.Sequential(OrderedDict(B=nn.Linear(d, k, bias=False)))
    return Model(representation, nn.Linear(k, outputs, bias=False))
