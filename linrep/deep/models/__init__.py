"""The networks of the four papers, each as a representation and a linear head.

Every function returns a :class:`Model`: ``model.representation`` and ``model.head`` are its
parts, and parameters are named by them: "representation.conv1.weight", "head.bias". Weights start
as torch starts them, from torch's generator. Where a paper does not say how its network looks, the
functions say so and what was chosen.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from linrep._lib.validation import choice, integer
from linrep.deep.data import FederatedData
from linrep.deep.models.base import Model, SideInformationModel, split
from linrep.deep.models.images import blocks, cnn, cnn4, cnn100, linear, mlp
from linrep.deep.models.side import concatenated, multiplied
from linrep.deep.models.text import lstm

__all__ = [
    "Model",
    "SideInformationModel",
    "blocks",
    "build",
    "cnn",
    "cnn4",
    "cnn100",
    "concatenated",
    "fitting",
    "linear",
    "lstm",
    "mlp",
    "multiplied",
    "split",
]

_MODELS: dict[str, Callable[..., Model]] = {
    function.__name__: function
    for function in (cnn, cnn100, cnn4, blocks, concatenated, multiplied, mlp, linear, lstm)
}
_NEEDS = {
    "concatenated": ("side", "side information of clients"),
    "multiplied": ("side", "side information of clients"),
    "lstm": ("embedding", "vectors of tokens"),
}


def build(name: str, data_shape: Sequence[int], classes: int, **settings: Any) -> Model:
    """Return a network by its name, of the size that data need.

    Parameters
    ----------
    name : str
        "cnn", "cnn100", "cnn4", "blocks", "concatenated", "multiplied", "mlp", "linear", "lstm":
        the functions of this module.
    data_shape : sequence of int
        Shape of one sample: (channels, size, size) for CNNs, (length,) for the LSTM, (d,) for the
        linear network, any for the MLP.
    classes : int
        Number of outputs.
    **settings
        Handed on to the function; ``side`` and ``embedding``, ``k`` must be given where the
        function asks for them.
    """
    function = _MODELS[choice("model", name, _MODELS)]
    shape = tuple(integer("data_shape", size, minimum=1) for size in data_shape)
    arguments = _sizes(name, shape, classes)
    allowed = [key for key in inspect.signature(function).parameters if key not in arguments]
    for key in settings:
        choice(f"a setting of model {name}", key, allowed)
    try:
        inspect.signature(function).bind(**arguments, **settings)
    except TypeError as error:
        raise ValueError(f"model {name}: {error}") from None
    return function(**arguments, **settings)


def fitting(name: str, data: FederatedData, **settings: Any) -> Model:
    """Return a network by its name, of the size that clients' data need.

    Parameters
    ----------
    name, **settings
        As for :func:`build`.
    data : FederatedData
    """
    if data.x.dtype.kind == "i" and name != "lstm":
        raise ValueError(f"model must be 'lstm' for data of tokens, got {name!r}")
    if name in _NEEDS:
        field, words = _NEEDS[name]
        value = getattr(data, field)
        if value is None:
            raise ValueError(f"model {name} needs data with {words}")
        settings[field] = value.shape[1] if field == "side" else value
    return build(name, data.x.shape[1:], data.classes, **settings)


def _sizes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, int]:
    """Return what a network has to know about data."""
    if name == "mlp":
        return {"classes": classes, "inputs": math.prod(shape)}
    if name in ("linear", "lstm"):
        if len(shape) != 1:
            wanted = "(d,)" if name == "linear" else "(length,)"
            raise ValueError(f"data_shape of model {name} must be {wanted}, got {shape}")
        return {"d": shape[0], "outputs": classes} if name == "linear" else {"classes": classes}
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(
            f"data_shape of model {name} must be (channels, size, size), got {shape}; the model "
            "'mlp' takes numbers of any shape"
        )
    return {"classes": classes, "channels": shape[0], "size": shape[1]}


def __dir__():
    return sorted(__all__)
