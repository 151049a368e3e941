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
    """Torch's layer of long short-term memory out of operations that vmap knows; samples first."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__(inputs, integer("hidden", hidden, minimum=1), batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states from zero states on, (b, length, hidden)."""
        inputs = F.linear(x, self.weight_ih_l0, self.bias_ih_l0 + self.bias_hh_l0)
        state = memory = x.new_zeros(x.shape[0], self.hidden_size)
        states = []
        for token in range(x.shape[1]):
            gates = inputs[:, token] + F.linear(state, self.weight_hh_l0)
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


def lstm(embedding: Any, classes: int = 2, *, hidden: int = 128, width: int = 10) -> Model:
    """Return an LSTM on frozen vectors of words, with two fully connected layers on its last state.

    It takes tokens, (b, length), int64. The representation's layers are "embedding", "lstm", "last"
    and "fc1" with ReLU; the head is the second of the fully connected layers.

    Parameters
    ----------
    embedding : (vocabulary, size) array
        Row i is the vector of token i; a buffer, never trained.
    classes : int
        Number of outputs.
    hidden : int
        Size of the LSTM.
    width : int
        Size of the first fully connected layer.

    Notes
    -----
    FedRep, appendix A.2 (Sent140: GloVe vectors of 300 numbers). The paper leaves open the sizes,
    the activation, and which states are decoded; 10 units in the decoder follow public
    implementations, the rest is chosen here.
    """
    vectors = Embedding(embedding)
    memory = LSTM(vectors.matrix.shape[1], hidden)
    parts: OrderedDict[str, nn.Module] = OrderedDict(embedding=vectors, lstm=memory, last=Last())
    return with_head(parts, fully_connected(parts, hidden, (width,)), classes)
