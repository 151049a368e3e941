"""What is true, and what clients see of it."""

from linrep.problems.biases import BiasedRegression
from linrep.problems.clients import ClientData
from linrep.problems.completion import Observations, SideInformationCompletion
from linrep.problems.low_rank import BestModel, LowRankRegression
from linrep.problems.ratings import Ratings, read_movielens
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation

__all__ = [
    "BestModel",
    "BiasedRegression",
    "ClientData",
    "ImplicitRepresentation",
    "LowRankRegression",
    "Observations",
    "Ratings",
    "SharedRepresentation",
    "SideInformationCompletion",
    "read_movielens",
]
