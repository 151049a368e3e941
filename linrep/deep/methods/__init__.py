"""Methods of federated learning: each is what it does beyond federated averaging.

A method is a frozen dataclass of its settings. Where code that authors published does something
else than their paper, a setting chooses, the paper being the default, or the method's docstring
says what differs. A method of one's own derives from :class:`FedAvg` and replaces what differs.
"""

from collections.abc import Mapping

from linrep.deep.methods.base import HEAD, FedAvg
from linrep.deep.methods.global_model import FedProx, PerFedAvg, PerFedSI, Scaffold
from linrep.deep.methods.personalized_layers import (
    FLUTE,
    PFLMF,
    FedAlt,
    FedBABU,
    FedPer,
    FedRep,
    LGFedAvg,
)
from linrep.deep.methods.personalized_models import APFL, CFL, L2GD, Ditto, FedMTL, Local
from linrep.deep.methods.prototypes import FedAS, PFedFDA
from linrep.deep.methods.two_heads import FedCP, FedRoD

__all__ = [
    "APFL",
    "CFL",
    "FLUTE",
    "HEAD",
    "L2GD",
    "METHODS",
    "PFLMF",
    "Ditto",
    "FedAS",
    "FedAlt",
    "FedAvg",
    "FedBABU",
    "FedCP",
    "FedMTL",
    "FedPer",
    "FedProx",
    "FedRep",
    "FedRoD",
    "LGFedAvg",
    "Local",
    "PFedFDA",
    "PerFedAvg",
    "PerFedSI",
    "Scaffold",
]

#: By the names that sweeps and :func:`linrep.deep.run` take.
METHODS: Mapping[str, type[FedAvg]] = {
    "lg" if kind is LGFedAvg else kind.__name__.lower(): kind
    for kind in (
        Local, FedAvg, FedProx, Scaffold, FedPer, FedRep, FedAlt, FedBABU, FedRoD, FedCP, FedAS,
        PFedFDA, CFL, FedMTL, LGFedAvg, Ditto, APFL, L2GD, PerFedAvg, FLUTE, PerFedSI, PFLMF,
    )
}  # fmt: skip


def __dir__():
    return sorted(__all__)
