"""Inductive matrix completion: the centralized solvers that PerFedSI is compared with.

All fit entries of A M Z' with M of low rank. They work in orthonormal bases of the columns of A and
Z, as in the literature, and return M's factors in the given bases. For ratings, which have biases
and need a ridge, take :class:`linrep.estimators.MatrixCompletion`.
"""

from linrep.algorithms.imc.solvers import (
    alternating,
    balanced_gradient,
    gauss_newton,
    least_squares,
    nuclear_norm,
)

__all__ = [
    "alternating",
    "balanced_gradient",
    "gauss_newton",
    "least_squares",
    "nuclear_norm",
]
