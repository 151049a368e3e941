"""Algorithms side by side on the same truths, samples and participants."""

from linrep.simulation.comparison.compare import compare
from linrep.simulation.comparison.result import Comparison

__all__ = ["Comparison", "compare"]


def __dir__():
    return sorted(__all__)
