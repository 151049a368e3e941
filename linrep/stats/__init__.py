"""Statistics of trajectories and of parameter sweeps."""

from linrep.stats.contraction import ContractionRate, contraction_rate
from linrep.stats.intervals import mean_interval, proportion_interval
from linrep.stats.runs import half_samples, orders_differ, rerun_interval, shares_differ
from linrep.stats.scaling import Collapse, ScalingExponents, collapse, scaling_exponents
from linrep.stats.transition import TransitionPoint, transition_point

__all__ = [
    "Collapse",
    "ContractionRate",
    "ScalingExponents",
    "TransitionPoint",
    "collapse",
    "contraction_rate",
    "half_samples",
    "mean_interval",
    "orders_differ",
    "proportion_interval",
    "rerun_interval",
    "scaling_exponents",
    "shares_differ",
    "transition_point",
]


def __dir__():
    return sorted(__all__)
