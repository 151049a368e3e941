"""Networks that take the client's side information."""

from collections import OrderedDict

import torch
from torch import Tensor, nn

from linrep._lib.validation import integer
from linrep.deep.models.base import SideInformationModel
from linrep.deep.models.images import block, block_layers


def concatenated(
    classes: int,
    side: int,
    channels: int = 1,
    size: int = 28,
    *,
    width: int = 64,
    depth: int = 4,
) -> SideInformationModel:
    """Return PerFedSI's model 1: :func:`blocks` whose head also reads an embedding of z.

    That is a linear layer to width · 3 · 3 numbers, then a block as in :func:`blocks`. Where the
    embedding is zero this is :func:`blocks`, with ``representation.features`` for its
    representation and the head's first columns for its head.

    Parameters
    ----------
    classes, channels, size, width, depth
        As in :func:`blocks`.
    side : int
        Number of entries of the side information.

    Notes
    -----
    PerFedSI, equation (3), section 4 and appendix D (Omniglot). The paper does not say how the 576
    numbers become an image: here 64 channels of 3×3 pixels. In training the block normalizes the
    embedding of one client alone, in evaluation by averages over clients.
    """
    layers, features = block_layers(channels, size, width, depth)
    first = nn.Linear(integer("side", side, minimum=1), width * 9)
    further = [nn.Unflatten(1, (width, 3, 3)), block(width, width), nn.Flatten()]
    representation = Concatenated(nn.Sequential(layers), nn.Sequential(first, *further))
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

    Each entry of z has an equal share of the channels (``ChannelMasks``); with a z of ones
    this is :func:`blocks`. Another embedding goes in place of ``representation.side``.

    Parameters
    ----------
    classes, channels, size, width, depth
        As in :func:`blocks`.
    side : int
        Number of entries of the side information, at most ``width``.
    layer : int
        The block after which features are multiplied.

    Notes
    -----
    PerFedSI, equation (4) and section 4 (CIFAR: four affine shifts, one-hot z, third convolutional
    layer). The paper leaves open how four entries meet the layer's channels, and where in the
    block; here after its pooling, so that channels set to zero stay zero.
    """
    layers, features = block_layers(channels, size, width, depth)
    layer = integer("layer", layer, minimum=1, maximum=depth)
    names = list(layers)
    before = OrderedDict((name, layers[name]) for name in names[:layer])
    after = OrderedDict((name, layers[name]) for name in names[layer:])
    representation = Multiplied(
        nn.Sequential(before), ChannelMasks(side, width), nn.Sequential(after)
    )
    head = nn.Linear(features, integer("classes", classes, minimum=1))
    return SideInformationModel(representation, head)


class Concatenated(nn.Module):
    """Features of the samples beside features of their side information, (b, d1 + d2)."""

    def __init__(self, features: nn.Module, side: nn.Module):
        super().__init__()
        self.features = features
        self.side = side

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Return [G(x), W(z)]."""
        z = z.expand(x.shape[0], z.shape[-1])
        return torch.cat([self.features(x), self.side(z)], dim=1)


class Multiplied(nn.Module):
    """Channels of an intermediate layer times a function of the side information."""

    def __init__(self, before: nn.Module, side: nn.Module, after: nn.Module):
        super().__init__()
        self.before = before
        self.side = side
        self.after = after

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Return after(G(x) ⊙ W(z))."""
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
