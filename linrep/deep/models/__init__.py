"""The networks of the four papers, each as a representation and a linear head.

Every function returns a :class:`Model`: ``model.representation`` and ``model.head`` are its
parts, and parameters are named by them: "representation.conv1.weight", "head.bias". Weights start
as torch starts them, from torch's generator; :func:`build` draws them from a seed. Where a paper
does not say how its network looks, the functions say so and what was chosen.
"""

from linrep.deep.models.base import Model, SideInformationModel, split
from linrep.deep.models.by_name import build, fitting
from linrep.deep.models.images import blocks, cnn, cnn4, cnn100
from linrep.deep.models.side import concatenated, multiplied
from linrep.deep.models.text import lstm
from linrep.deep.models.vectors import linear, mlp

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


def __dir__():
    return sorted(__all__)
