"""A network on texts."""

from collections import OrderedDict
from typing import Any

from torch import nn

from linrep.deep.layers import LSTM, Embedding, Last
from linrep.deep.models.base import Model, fully_connected, with_head


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
    found: OrderedDict[str, nn.Module] = OrderedDict(embedding=vectors, lstm=memory, last=Last())
    return with_head(found, fully_connected(found, hidden, (width,)), classes)
