"""Networks by their names, of the size that data need."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from linrep._lib.validation import choice, integer
from linrep.deep.data import FederatedData
from linrep.deep.models.base import Model, drawing_from
from linrep.deep.models.images import blocks, cnn, cnn4, cnn100
from linrep.deep.models.side import concatenated, multiplied
from linrep.deep.models.text import lstm
from linrep.deep.models.vectors import linear, mlp


def build(
    name: str, data_shape: Sequence[int], classes: int, *, rng: Any = None, **settings: Any
) -> Model:
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
    rng : None, int, Generator, ...
        Where the start comes from; by default torch's own generator, which otherwise stays as it
        was.
    **settings
        Handed on to the function; ``side`` and ``embedding``, ``k`` must be given where the
        function asks for them.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If there is no such network, the shape is not one it takes, or a setting is unknown or
        missing.
    """
    choice("model", name, _MODELS)
    function, sizes = _MODELS[name]
    shape = tuple(integer("data_shape", size, minimum=1) for size in data_shape)
    arguments = sizes(name, shape, classes)
    allowed = [key for key in inspect.signature(function).parameters if key not in arguments]
    for key in settings:
        choice(f"a setting of model {name}", key, allowed)
    try:
        inspect.signature(function).bind(**arguments, **settings)
    except TypeError as error:
        raise ValueError(f"model {name}: {error}") from None
    with drawing_from(rng, "start"):
        return function(**arguments, **settings)


def fitting(name: str, data: FederatedData, *, rng: Any = None, **settings: Any) -> Model:
    """Return a network by its name, of the size that clients' data need.

    Parameters
    ----------
    name, rng, **settings
        As for :func:`build`.
    data : FederatedData

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        As :func:`build`, or if the data lack what the network needs.
    """
    if data.x.dtype.kind == "i" and name != "lstm":
        raise ValueError(f"model must be 'lstm' for data of tokens, got {name!r}")
    if name in _NEEDS:
        field, words = _NEEDS[name]
        value = getattr(data, field)
        if value is None:
            raise ValueError(f"model {name} needs data with {words}")
        settings[field] = value.shape[1] if field == "side" else value
    return build(name, data.x.shape[1:], data.classes, rng=rng, **settings)


def _image_sizes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, int]:
    """Return what a CNN has to know about data."""
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(
            f"data_shape of model {name} must be (channels, size, size), got {shape}; the model "
            "'mlp' takes numbers of any shape"
        )
    return {"classes": classes, "channels": shape[0], "size": shape[1]}


def _vector_sizes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, int]:
    """Return what the perceptron has to know about data."""
    return {"classes": classes, "inputs": math.prod(shape)}


def _linear_sizes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, int]:
    """Return what the linear network has to know about data."""
    if len(shape) != 1:
        raise ValueError(f"data_shape of model {name} must be (d,), got {shape}")
    return {"d": shape[0], "outputs": classes}


def _text_sizes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, int]:
    """Return what the LSTM has to know about data; it takes texts of any length."""
    if len(shape) != 1:
        raise ValueError(f"data_shape of model {name} must be (length,), got {shape}")
    return {"classes": classes}


_MODELS: dict[str, tuple[Callable[..., Model], Callable[..., dict[str, int]]]] = {
    "cnn": (cnn, _image_sizes),
    "cnn100": (cnn100, _image_sizes),
    "cnn4": (cnn4, _image_sizes),
    "blocks": (blocks, _image_sizes),
    "concatenated": (concatenated, _image_sizes),
    "multiplied": (multiplied, _image_sizes),
    "mlp": (mlp, _vector_sizes),
    "linear": (linear, _linear_sizes),
    "lstm": (lstm, _text_sizes),
}
_NEEDS = {
    "concatenated": ("side", "side information of clients"),
    "multiplied": ("side", "side information of clients"),
    "lstm": ("embedding", "vectors of tokens"),
}
