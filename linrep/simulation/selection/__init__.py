"""Choosing a method and its settings by held-out data, beside baselines that share nothing."""

from linrep.simulation.selection.choose import select
from linrep.simulation.selection.result import Selection

__all__ = ["Selection", "select"]


def __dir__():
    return sorted(__all__)
