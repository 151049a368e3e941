"""A network on texts, and its layers.

Torch's own LSTM has no rule for vmap, under which many clients are trained at once.
"""

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from linrep._lib.validation import integer
from linrep.deep.models.base import Model, fully_connected, with_head


class LSTM(nn.LSTM):
    """Torch's long short-term memory out of operations that vmap knows; samples come first."""

    def __init__(self, inputs: int, hidden: int, layers: int = 1):
        sizes = {"inputs": inputs, "hidden": hidden, "layers": layers}
        checked = [integer(name, size, minimum=1) for name, size in sizes.items()]
        super().__init__(*checked, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the last layer's states, (b, length, hidden)."""
        for layer in range(self.num_layers):
            x = self._layer(x, layer)
        return x

    def _layer(self, x: Tensor, layer: int) -> Tensor:
        """Run one layer over all tokens, from zero states."""
        weight_ih, weight_hh, bias_ih, bias_hh = (
            getattr(self, f"{kind}_l{layer}")
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        inputs = F.linear(x, weight_ih, bias_ih + bias_hh)
        state = memory = x.new_zeros(x.shape[0], self.hidden_size)
        states = []
        for token in range(x.shape[1]):
            gates = inputs[:, token] + F.linear(state, weight_hh)
            enter, forget, new, leave = gates.chunk(4, dim=-1)
            memory = forget.sigmoid() * memory + enter.sigmoid() * new.tanh()
            state = leave.sigmoid() * memory.tanh()
            states.append(state)
        return torch.stack(states, dim=1)


class Embedding(nn.Module):
    """Vectors of tokens from a given matrix that is not trained.

    The matrix is a buffer and no part of ``state_dict()``: whoever builds the network brings it.
    """

    matrix: Tensor

    def __init__(self, matrix: Any):
        super().__init__()
        matrix = torch.as_tensor(matrix, dtype=torch.get_default_dtype())
        if matrix.ndim != 2 or matrix.numel() == 0:
            shape = tuple(matrix.shape)
            raise ValueError(f"embedding must be a matrix (vocabulary, size), got shape {shape}")
        self.register_buffer("matrix", matrix, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the vectors of tokens, (b, length, size)."""
        return self.matrix[tokens]

    def extra_repr(self) -> str:
        """Say how the layer was made."""
        return ", ".join(map(str, self.matrix.shape))


class Last(nn.Module):
    """The last of each sample's states: (b, length, size) to (b, size)."""

    def forward(self, states: Tensor) -> Tensor:
        """Return the states at the last token."""
        return states[:, -1]


def lstm(
    embedding: Any, classes: int = 2, *, hidden: int = 128, layers: int = 1, width: int = 10
) -> Model:
    """Return an LSTM on frozen vectors of words, with two fully connected layers on its last state.

    The representation's layers are "embedding", "lstm", "last" and "fc1" with ReLU; the head is the
    second of the fully connected layers.

    Parameters
    ----------
    embedding : (vocabulary, size) array
        Row i is the vector of token i; a buffer, never trained.
    classes : int
        Number of outputs.
    hidden, layers : int
        Size and number of the LSTM's layers.
    width : int
        Size of the first fully connected layer.

    Returns
    -------
    Model
        Takes tokens, (b, length), int64.

    Raises
    ------
    TypeError, ValueError
        If embedding is not a matrix, or a size is not a positive integer.

    Notes
    -----
    FedRep, appendix A.2 (Sent140: GloVe vectors of 300 numbers). The paper leaves open the sizes,
    the activation, and which states are decoded; 10 units in the decoder follow public
    implementations, the rest is chosen here.
    """
    vectors = Embedding(embedding)
    memory = LSTM(vectors.matrix.shape[1], hidden, layers)
    parts: OrderedDict[str, nn.Module] = OrderedDict(embedding=vectors, lstm=memory, last=Last())
    return with_head(parts, fully_connected(parts, hidden, (width,)), classes)
