"""What is true, and what clients see of it."""

from linrep.problems import personal
from linrep.problems.biases import BiasedRegression
from linrep.problems.clients import ClientData
from linrep.problems.completion import Observations, SideInformationCompletion
from linrep.problems.losses import (
    LeastSquaresObjectives,
    LogisticObjectives,
    SampleObjectives,
    SoftmaxObjectives,
)
from linrep.problems.low_rank import BestModel, LowRankRegression
from linrep.problems.objectives import CustomObjectives, Objectives, QuadraticObjectives
from linrep.problems.preparation import Preparation
from linrep.problems.ratings import Ratings
from linrep.problems.reading import read_movielens, read_ratings
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation

__all__ = [
    "BestModel",
    "BiasedRegression",
    "ClientData",
    "CustomObjectives",
    "ImplicitRepresentation",
    "LeastSquaresObjectives",
    "LogisticObjectives",
    "LowRankRegression",
    "Objectives",
    "Observations",
    "Preparation",
    "QuadraticObjectives",
    "Ratings",
    "SampleObjectives",
    "SharedRepresentation",
    "SideInformationCompletion",
    "SoftmaxObjectives",
    "personal",
    "read_movielens",
    "read_ratings",
]


def __dir__():
    return sorted(__all__)
