"""Estimators for tables of one's own, as scikit-learn's users know them: rows in, rows out.

One column of a table says whose row it is, or two whose rating of what. Whatever takes
scikit-learn's regressors takes these.
"""

from linrep._lib.extras import need

need("data", "linrep.estimators")

from linrep.estimators.completion import MatrixCompletion
from linrep.estimators.folds import ClientKFold
from linrep.estimators.regressor import FederatedRegressor

__all__ = ["ClientKFold", "FederatedRegressor", "MatrixCompletion"]


def __dir__():
    return sorted(__all__)
