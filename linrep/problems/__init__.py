"""What is true, and what clients see of it."""

from linrep.problems.clients import ClientData
from linrep.problems.regression import SharedRepresentation

__all__ = ["ClientData", "SharedRepresentation"]
