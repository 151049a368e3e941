"""Statistics of trajectories and of parameter sweeps."""

from linrep.stats.contraction import ContractionRate, contraction_rate
from linrep.stats.intervals import mean_interval, proportion_interval
from linrep.stats.scaling import Collapse, ScalingExponents, collapse, scaling_exponents
from linrep.stats.transition import TransitionPoint, transition_point

__all__ = [
    "Collapse",
    "ContractionRate",
    "ScalingExponents",
    "TransitionPoint",
    "collapse",
    "contraction_rate",
    "mean_interval",
    "proportion_interval",
    "scaling_exponents",
    "transition_point",
]


def __dir__():
    return sorted(__all__)
