"""The networks of the four papers, each as a representation and a linear head.

Every function returns a :class:`Model`: ``model.representation`` and ``model.head`` are its
parts, and parameters are named by them: "representation.conv1.weight", "head.bias". Weights start
as torch starts them, from torch's generator; :func:`build` draws them from a seed. Where a paper
does not say how its network looks, the functions say so and what was chosen.
"""

import copy
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from linrep._random import stream
from linrep._validation import choice, integer
from linrep.deep.layers import LSTM, BatchNorm2d, Dropout, Embedding, Last


class Model(nn.Module):
    """A head on a representation: ``head(representation(*inputs))``.

    Parameters
    ----------
    representation : nn.Module
        Makes features of a batch, (b, features).
    head : nn.Module
        Makes predictions of features, usually ``nn.Linear``.
    """

    #: Whether the network takes the client's side information z: forward(x, z).
    side_information = False

    def __init__(self, representation: nn.Module, head: nn.Module):
        super().__init__()
        self.representation = representation
        self.head = head

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the predictions for a batch."""
        return self.head(self.representation(*inputs))


class SideInformationModel(Model):
    """A model with forward(x, z).

    x are the samples (b, ...), z is their client's side information (p,), or one row for each
    sample (b, p).
    """

    side_information = True


# Images


def cnn(
    classes: int,
    channels: int = 3,
    size: int = 32,
    *,
    widths: Sequence[int] = (64, 64),
    hidden: Sequence[int] = (120, 64),
    kernel: int = 5,
    padding: int = 0,
) -> Model:
    """Return the five-layer CNN for CIFAR-10.

    Convolutions "conv1", "conv2", each with ReLU and 2×2 max pooling, then "fc1", "fc2" with
    ReLU, then the head.

    Parameters
    ----------
    classes : int
        Number of outputs.
    channels, size : int
        Of the images, (channels, size, size).
    widths, hidden : sequences of int
        Channels of each convolution, sizes of each fully connected layer but the head.
    kernel, padding : int
        Of the convolutions. Images of 8 pixels need padding.

    Returns
    -------
    Model

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer, or the images are too small.

    Notes
    -----
    FLUTE, appendix C.2, which leaves no size open but does not place the second pooling: the
    64·5·5 inputs of its first fully connected layer need one. FedRep, appendix A.2, has the same
    kinds of layers and refers to LG-FedAvg, whose published code has ``widths=(6, 16)`` and
    ``hidden=(120, 100)``.
    """
    layers, features = _convolutions(channels, size, widths, kernel, padding)
    return _with_head(layers, _fully_connected(layers, features, hidden), classes)


def cnn100(
    classes: int = 100,
    channels: int = 3,
    size: int = 32,
    *,
    dropout: float = 0.6,
    dropout_after: str = "pool1",
    widths: Sequence[int] = (64, 128),
    hidden: Sequence[int] = (256, 128),
    kernel: int = 5,
    padding: int = 0,
) -> Model:
    """Return the five-layer CNN for CIFAR-100: wider than :func:`cnn`, and with dropout.

    Parameters
    ----------
    classes, channels, size, widths, hidden, kernel, padding
        As in :func:`cnn`.
    dropout : float
        Probability of dropping a feature.
    dropout_after : {"pool1", "fc2"}
        Where: after the first pooling, or between the last hidden layer and the head.

    Returns
    -------
    Model

    Raises
    ------
    TypeError, ValueError
        As :func:`cnn`, or if ``dropout`` or ``dropout_after`` is not as above.

    Notes
    -----
    FLUTE, appendix C.2, which lists dropout after the first pooling. Public implementations of
    FedRep declare it at the same place and apply it before the head: "fc2".
    """
    choice("dropout_after", dropout_after, ("pool1", "fc2"))
    layers, features = _convolutions(channels, size, widths, kernel, padding)
    features = _fully_connected(layers, features, hidden)
    layers["dropout"] = Dropout(dropout)
    if dropout_after == "pool1":
        names = list(layers)
        for name in names[names.index("pool1") + 1 : -1]:
            layers.move_to_end(name)
    return _with_head(layers, features, classes)


def cnn4(
    classes: int,
    channels: int = 3,
    size: int = 32,
    *,
    widths: Sequence[int] = (32, 64),
    hidden: Sequence[int] = (512,),
    kernel: int = 5,
    padding: int = 2,
) -> Model:
    """Return a four-layer CNN: two convolutional and two linear layers.

    Parameters
    ----------
    classes, channels, size, widths, hidden, kernel, padding
        As in :func:`cnn`.

    Returns
    -------
    Model

    Raises
    ------
    TypeError, ValueError
        As :func:`cnn`.

    Notes
    -----
    pFL^MF, section 5, for CIFAR-10 and CIFAR-100. The paper gives neither sizes nor activations nor
    pooling; chosen here as in the CNN of McMahan et al. (Communication-efficient learning of deep
    networks from decentralized data, 2017).
    """
    return cnn(
        classes, channels, size, widths=widths, hidden=hidden, kernel=kernel, padding=padding
    )


def blocks(
    classes: int, channels: int = 1, size: int = 28, *, width: int = 64, depth: int = 4
) -> Model:
    """Return the CNN of four blocks, "block1" to "block4", and a linear head.

    A block is a 3×3 convolution that keeps the image's size, batch normalization, ReLU and 2×2
    max pooling.

    Parameters
    ----------
    classes : int
        Number of outputs.
    channels, size : int
        Of the images, (channels, size, size).
    width : int
        Channels of each block.
    depth : int
        Number of blocks.

    Returns
    -------
    Model

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer, or the images are too small.

    Notes
    -----
    PerFedSI, appendix D. The paper gives neither kernel nor width. That side information is mapped
    to 576 = 64·3·3 numbers before a block, and that the last block has 256 = 64·2·2 outputs, fits
    64 channels and, with 3×3 kernels and padding, images of 32 pixels; from images of 28 pixels the
    last block makes 64.
    """
    layers, features = _blocks(channels, size, width, depth)
    return _with_head(layers, features, classes)


# Vectors


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

    Returns
    -------
    Model

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer.

    Notes
    -----
    FedRep, appendix A.2 (FEMNIST: two hidden layers), and pFL^MF, section 5 (MNIST and FEMNIST:
    three linear layers). Neither gives sizes; chosen here as in McMahan et al. (2017): 200 units.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    inputs = integer("inputs", inputs, minimum=1)
    return _with_head(layers, _fully_connected(layers, inputs, hidden), classes)


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

    Returns
    -------
    Model

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer.
    """
    d = integer("d", d, minimum=1)
    k = integer("k", k, minimum=1)
    outputs = integer("outputs", outputs, minimum=1)
    representation = nn.Sequential(OrderedDict(B=nn.Linear(d, k, bias=False)))
    return Model(representation, nn.Linear(k, outputs, bias=False))


# Text


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
    return _with_head(found, _fully_connected(found, hidden, (width,)), classes)


# Side information


class Concatenated(nn.Module):
    """Features of the samples beside features of their side information, (b, d1 + d2).

    PerFedSI, equation (3).
    """

    def __init__(self, features: nn.Module, side: nn.Module):
        super().__init__()
        self.features = features
        self.side = side

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Return [G(x), W(z)]; z is (p,) or (b, p)."""
        z = z.expand(x.shape[0], z.shape[-1])
        return torch.cat([self.features(x), self.side(z)], dim=1)


class Multiplied(nn.Module):
    """Channels of an intermediate layer times a function of the side information.

    PerFedSI, equation (4): ``before`` is G, ``side`` is W, ``after`` the part of H below the head.
    """

    def __init__(self, before: nn.Module, side: nn.Module, after: nn.Module):
        super().__init__()
        self.before = before
        self.side = side
        self.after = after

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Return after(G(x) ⊙ W(z)); z is (p,) or (b, p)."""
        return self.after(self.before(x) * self.side(z)[..., None, None])


class ChannelMasks(nn.Module):
    """Give each entry of z an equal share of the channels: (..., p) to (..., channels).

    Channel c is multiplied by entry ⌊c p / channels⌋: a one-hot z leaves its own share of the
    channels and sets the others to zero, a z of ones changes nothing.
    """

    def __init__(self, p: int, channels: int):
        super().__init__()
        p = integer("side", p, minimum=1)
        self.p, self.channels = p, integer("width", channels, minimum=p)

    def forward(self, z: Tensor) -> Tensor:
        """Return what each channel is multiplied by."""
        owners = torch.arange(self.channels, device=z.device) * self.p // self.channels
        return z[..., owners]


def concatenated(
    classes: int,
    side: int,
    channels: int = 1,
    size: int = 28,
    *,
    embedding: str = "block",
    width: int = 64,
    depth: int = 4,
) -> SideInformationModel:
    """Return PerFedSI's model 1: :func:`blocks` whose head also reads an embedding of z.

    Where the embedding is zero this is :func:`blocks`, with ``representation.features`` for its
    representation and the head's first columns for its head.

    Parameters
    ----------
    classes : int
        Number of outputs.
    side : int
        Number of entries of the side information.
    channels, size, width, depth : int
        As in :func:`blocks`.
    embedding : {"block", "linear"}
        The second layer of z's map, after a linear layer to width · 3 · 3 numbers: a block as in
        :func:`blocks`, or ReLU and another linear layer to ``width`` numbers.

    Returns
    -------
    SideInformationModel

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer, the images are too small, or there is no such
        embedding.

    Notes
    -----
    PerFedSI, equation (3), section 4 and appendix D (Omniglot), with the default embedding. The
    paper does not say how the 576 numbers become an image: here 64 channels of 3×3 pixels. In
    training the block normalizes the embedding of one client alone, in evaluation by averages over
    clients; "linear" does neither.
    """
    choice("embedding", embedding, ("block", "linear"))
    layers, features = _blocks(channels, size, width, depth)
    first = nn.Linear(integer("side", side, minimum=1), width * 9)
    if embedding == "block":
        rest = [nn.Unflatten(1, (width, 3, 3)), _block(width, width), nn.Flatten()]
    else:
        rest = [nn.ReLU(), nn.Linear(width * 9, width)]
    representation = Concatenated(nn.Sequential(layers), nn.Sequential(first, *rest))
    head = nn.Linear(features + width, integer("classes", classes, minimum=1))
    return SideInformationModel(representation, head)


def multiplied(
    classes: int,
    side: int,
    channels: int = 3,
    size: int = 32,
    *,
    layer: int = 3,
    width: int = 64,
    depth: int = 4,
) -> SideInformationModel:
    """Return PerFedSI's model 2: :func:`blocks` with one block's channels multiplied by z.

    Each entry of z has an equal share of the channels (:class:`ChannelMasks`); with a z of ones
    this is :func:`blocks`. Another embedding goes in place of ``representation.side``.

    Parameters
    ----------
    classes : int
        Number of outputs.
    side : int
        Number of entries of the side information, at most ``width``.
    channels, size, width, depth : int
        As in :func:`blocks`.
    layer : int
        The block after which features are multiplied.

    Returns
    -------
    SideInformationModel

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer or too large, or the images are too small.

    Notes
    -----
    PerFedSI, equation (4) and section 4 (CIFAR: four affine shifts, one-hot z, third convolutional
    layer). The paper leaves open how four entries meet the layer's channels, and where in the
    block; here after its pooling, so that channels set to zero stay zero.
    """
    layers, features = _blocks(channels, size, width, depth)
    layer = integer("layer", layer, minimum=1, maximum=depth)
    names = list(layers)
    before = OrderedDict((name, layers[name]) for name in names[:layer])
    after = OrderedDict((name, layers[name]) for name in names[layer:])
    representation = Multiplied(
        nn.Sequential(before), ChannelMasks(side, width), nn.Sequential(after)
    )
    head = nn.Linear(features, integer("classes", classes, minimum=1))
    return SideInformationModel(representation, head)


# Factorization


class Factored(nn.Module):
    """A network whose parameters are θ = U v: pFL^MF, over all parameters.

    The parameter ``U.<name>``, ``(rank, *shape)``, holds the columns of U that make up the base's
    parameter <name>; ``v``, (rank,), is the client's own. Buffers are the base's, as ``U.<name>``.

    At the start the columns are independent usual starts of the base, the first one the base's own,
    and all entries of v are 1/√rank: weights then have the distribution's usual variance, and with
    rank 1 the network is the base. Parameters that start at a constant (biases at zero, scales of
    normalization at one) start there: their columns are the constant over √rank. All clients thus
    start at the same θ.

    Parameters
    ----------
    base : nn.Module
        The network, left as it is.
    rank : int
        Number of columns.
    rng : None, int, Generator, ...
        Where the columns after the first come from; by default torch's own generator, which
        otherwise stays as it was.

    Raises
    ------
    TypeError
        If a part of the base has parameters, and no ``reset_parameters()`` to draw them anew.
    ValueError
        If rank is not positive.

    Notes
    -----
    pFL^MF, equation (6) and section 5 (the entire model is factorized); the paper leaves the start
    open.
    """

    def __init__(self, base: nn.Module, rank: int, *, rng: Any = None):
        super().__init__()
        rank = integer("rank", rank, minimum=1)
        self.side_information = getattr(base, "side_information", False)
        self.U = copy.deepcopy(base)
        starts = [dict(base.named_parameters())]
        with _drawing_from(rng, "columns"):
            starts += [_start_anew(base) for _ in range(rank - 1)]
        for path in starts[0]:
            owner, _, name = path.rpartition(".")
            columns = nn.Parameter(_columns([start[path] for start in starts]))
            setattr(self.U.get_submodule(owner), name, columns)
        self.v = nn.Parameter(next(base.parameters()).new_full((rank,), rank**-0.5))

    def parameters_of_base(self) -> dict[str, Tensor]:
        """Return θ = U v as the base's parameters, by name."""
        return {name: torch.tensordot(self.v, u, dims=1) for name, u in self.U.named_parameters()}

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the base's output at θ = U v."""
        return functional_call(self.U, self.parameters_of_base(), inputs)


def _start_anew(base: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters of another start of a network."""
    drawn = copy.deepcopy(base)
    for module in drawn.modules():
        reset = getattr(module, "reset_parameters", None)
        if callable(reset):
            reset()
        elif next(module.parameters(recurse=False), None) is not None:
            kind = type(module).__name__
            raise TypeError(f"base must start anew, {kind} has parameters but no reset_parameters")
    return dict(drawn.named_parameters())


def _columns(starts: Sequence[Tensor]) -> Tensor:
    """Stack starts; divide constant ones by √rank, which is the sum of v's entries."""
    stacked = torch.stack([start.detach() for start in starts])
    return stacked / len(starts) ** 0.5 if (stacked == stacked[0]).all() else stacked


# By name


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
    with _drawing_from(rng, "start"):
        return function(**arguments, **settings)


@contextmanager
def _drawing_from(rng: Any, purpose: str) -> Iterator[None]:
    """Let torch draw, on the CPU, from a stream of numpy's, or as it would if rng is None."""
    if rng is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(stream(rng, purpose).integers(2**63)))
        yield


def _image_sizes(name: str, shape: tuple[int, ...], classes: int) -> dict[str, int]:
    """Return what a CNN has to know about data."""
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(f"data_shape of model {name} must be (channels, size, size), got {shape}")
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


# Parts


def _convolutions(
    channels: int, size: int, widths: Sequence[int], kernel: int, padding: int
) -> tuple[OrderedDict[str, nn.Module], int]:
    """Return convolutions with ReLU and pooling, flattened, and the number of features."""
    channels = integer("channels", channels, minimum=1)
    kernel = integer("kernel", kernel, minimum=1)
    padding = integer("padding", padding, minimum=0)
    side = integer("size", size, minimum=1)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, width in enumerate(_sizes("widths", widths), 1):
        layers[f"conv{number}"] = nn.Conv2d(channels, width, kernel, padding=padding)
        layers[f"relu{number}"] = nn.ReLU()
        layers[f"pool{number}"] = nn.MaxPool2d(2)
        channels, side = width, (side + 2 * padding - kernel + 1) // 2
        _check_side(side, size)
    layers["flatten"] = nn.Flatten()
    return layers, channels * side * side


def _blocks(
    channels: int, size: int, width: int, depth: int
) -> tuple[OrderedDict[str, nn.Module], int]:
    """Return PerFedSI's blocks, flattened, and the number of features."""
    channels = integer("channels", channels, minimum=1)
    width = integer("width", width, minimum=1)
    depth = integer("depth", depth, minimum=1)
    side = integer("size", size, minimum=1) // 2**depth
    _check_side(side, size)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number in range(1, depth + 1):
        layers[f"block{number}"] = _block(channels if number == 1 else width, width)
    layers["flatten"] = nn.Flatten()
    return layers, width * side * side


def _block(channels: int, width: int) -> nn.Sequential:
    """Return convolution, batch normalization, ReLU and pooling."""
    parts: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(channels, width, 3, padding=1),
        norm=BatchNorm2d(width),
        relu=nn.ReLU(),
        pool=nn.MaxPool2d(2),
    )
    return nn.Sequential(parts)


def _check_side(side: int, size: int) -> None:
    """Refuse images of which the poolings leave nothing."""
    if side < 1:
        raise ValueError(f"size must leave a pixel after all poolings, {size} is too small")


def _sizes(name: str, sizes: Any) -> list[int]:
    """Return the sizes of several layers."""
    if not isinstance(sizes, Sequence) or isinstance(sizes, str):
        raise TypeError(f"{name} must be a list of integers, got {sizes!r}")
    return [integer(name, size, minimum=1) for size in sizes]


def _fully_connected(
    layers: OrderedDict[str, nn.Module], features: int, hidden: Sequence[int]
) -> int:
    """Append fully connected layers with ReLU; return the number of features."""
    activations = sum(isinstance(layer, nn.ReLU) for layer in layers.values())
    for number, width in enumerate(_sizes("hidden", hidden), 1):
        layers[f"fc{number}"] = nn.Linear(features, width)
        layers[f"relu{activations + number}"] = nn.ReLU()
        features = width
    return features


def _with_head(layers: OrderedDict[str, nn.Module], features: int, classes: int) -> Model:
    """Return a model with the given layers and a linear head."""
    head = nn.Linear(features, integer("classes", classes, minimum=1))
    return Model(nn.Sequential(layers), head)
