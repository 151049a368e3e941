"""What all networks are: a representation and a head; and the parts they share."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from linrep._lib.validation import integer


class Model(nn.Module):
    """A head on a representation: ``head(representation(*inputs))``.

    A network of one's own that derives from it, with this forward, is taken apart where that saves
    time: while only heads move, features are computed once.

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
        """Return the predictions for a batch.

        Parameters
        ----------
        *inputs : Tensor
            What the representation takes, usually the samples (b, ...).
        """
        return self.head(self.representation(*inputs))


class SideInformationModel(Model):
    """A model with forward(x, z).

    x are the samples (b, ...), z is their client's side information (p,), or one row for each
    sample (b, p).
    """

    side_information = True


def split(network: nn.Module, head: str) -> Model:
    """Return a network as a representation and its head, which is taken out of it.

    Parameters
    ----------
    network : nn.Module
        Anything whose outputs are those of the head, as torchvision's networks; changed.
    head : str
        Name of the head in it, such as "fc" or "classifier.6".
    """
    parts = dict(network.named_modules())
    if head not in parts or not head:
        known = ", ".join(name for name, _ in network.named_children())
        raise ValueError(f"head must be a part of the network, got {head!r}; it has {known}")
    owner, _, name = head.rpartition(".")
    setattr(parts[owner], name, nn.Identity())
    return Model(network, parts[head])


def layer_sizes(name: str, sizes: Any) -> list[int]:
    """Return the sizes of several layers."""
    if not isinstance(sizes, Sequence) or isinstance(sizes, str):
        raise TypeError(f"{name} must be a list of integers, got {sizes!r}")
    return [integer(name, size, minimum=1) for size in sizes]


def fully_connected(
    layers: OrderedDict[str, nn.Module], features: int, hidden: Sequence[int]
) -> int:
    """Append fully connected layers with ReLU; return the number of features."""
    activations = sum(isinstance(layer, nn.ReLU) for layer in layers.values())
    for number, width in enumerate(layer_sizes("hidden", hidden), 1):
        layers[f"fc{number}"] = nn.Linear(features, width)
        layers[f"relu{activations + number}"] = nn.ReLU()
        features = width
    return features


def with_head(layers: OrderedDict[str, nn.Module], features: int, classes: int) -> Model:
    """Return a model with the given layers and a linear head."""
    head = nn.Linear(features, integer("classes", classes, minimum=1))
    return Model(nn.Sequential(layers), head)
