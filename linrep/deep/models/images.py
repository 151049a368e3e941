"""Networks on images and on vectors."""

from collections import OrderedDict
from collections.abc import Sequence

from torch import nn

from linrep._lib.validation import choice, integer
from linrep.deep.layers import BatchNorm, Dropout
from linrep.deep.models.base import Model, fully_connected, layer_sizes, with_head


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

    Notes
    -----
    FLUTE, appendix C.2, which leaves no size open but does not place the second pooling: the
    64·5·5 inputs of its first fully connected layer need one. FedRep, appendix A.2, has the same
    kinds of layers and refers to LG-FedAvg, whose published code has ``widths=(6, 16)`` and
    ``hidden=(120, 100)``.
    """
    layers, features = _convolutions(channels, size, widths, kernel, padding)
    return with_head(layers, fully_connected(layers, features, hidden), classes)


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

    Notes
    -----
    FLUTE, appendix C.2, which lists dropout after the first pooling. Public implementations of
    FedRep declare it at the same place and apply it before the head: "fc2".
    """
    choice("dropout_after", dropout_after, ("pool1", "fc2"))
    layers, features = _convolutions(channels, size, widths, kernel, padding)
    features = fully_connected(layers, features, hidden)
    layers["dropout"] = Dropout(dropout)
    if dropout_after == "pool1":
        names = list(layers)
        for name in names[names.index("pool1") + 1 : -1]:
            layers.move_to_end(name)
    return with_head(layers, features, classes)


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

    Notes
    -----
    PerFedSI, appendix D. The paper gives neither kernel nor width. That side information is mapped
    to 576 = 64·3·3 numbers before a block, and that the last block has 256 = 64·2·2 outputs, fits
    64 channels and, with 3×3 kernels and padding, images of 32 pixels; from images of 28 pixels the
    last block makes 64.
    """
    layers, features = block_layers(channels, size, width, depth)
    return with_head(layers, features, classes)


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


def _convolutions(
    channels: int, size: int, widths: Sequence[int], kernel: int, padding: int
) -> tuple[OrderedDict[str, nn.Module], int]:
    """Return convolutions with ReLU and pooling, flattened, and the number of features."""
    channels = integer("channels", channels, minimum=1)
    kernel = integer("kernel", kernel, minimum=1)
    padding = integer("padding", padding, minimum=0)
    side = integer("size", size, minimum=1)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, width in enumerate(layer_sizes("widths", widths), 1):
        layers[f"conv{number}"] = nn.Conv2d(channels, width, kernel, padding=padding)
        layers[f"relu{number}"] = nn.ReLU()
        layers[f"pool{number}"] = nn.MaxPool2d(2)
        channels, side = width, (side + 2 * padding - kernel + 1) // 2
        _check_side(side, size)
    layers["flatten"] = nn.Flatten()
    return layers, channels * side * side


def block_layers(
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
        layers[f"block{number}"] = block(channels if number == 1 else width, width)
    layers["flatten"] = nn.Flatten()
    return layers, width * side * side


def block(channels: int, width: int) -> nn.Sequential:
    """Return convolution, batch normalization, ReLU and pooling."""
    parts: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(channels, width, 3, padding=1),
        norm=BatchNorm(width),
        relu=nn.ReLU(),
        pool=nn.MaxPool2d(2),
    )
    return nn.Sequential(parts)


def _check_side(side: int, size: int) -> None:
    """Refuse images of which the poolings leave nothing."""
    if side < 1:
        raise ValueError(
            f"size must leave a pixel after all poolings, {size} is too small; without "
            "convolutions, as in the model 'mlp', any size will do"
        )
