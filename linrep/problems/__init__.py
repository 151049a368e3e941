"""What is true, and what clients see of it."""

from linrep.problems.clients import ClientData
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation

__all__ = ["ClientData", "ImplicitRepresentation", "SharedRepresentation"]
