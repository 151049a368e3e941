"""What a trace predicts for samples or entries, and how much of their variance that explains."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float64]
MEASURES = ("explained_variance", "rmse")


def origin(problem: Any) -> dict[str, Any]:
    """Return what a trace keeps of its problem to predict: names of clients and of covariates.

    Parameters
    ----------
    problem : object
        ClientData, objectives on them, or any other problem, whose clients are 0 … n - 1.
    """
    data = getattr(problem, "data", problem)
    return {"clients": getattr(data, "names", None), "columns": getattr(data, "columns", None)}


def models(trace: Any) -> Values:
    """Return the clients' models (n, d) that a trace's state holds.

    Parameters
    ----------
    trace : Trace
        With ``theta``, ``B`` and ``W``, or ``U`` and ``V`` in its state; see
        :attr:`linrep.Trace.models`.

    Raises
    ------
    ValueError
        If there are none of these.
    """
    if "theta" in trace.state:
        theta = np.asarray(trace.state["theta"])
        return np.tile(theta, (len(_clients(trace)), 1)) if theta.ndim == 1 else theta
    B, W = factors(trace.state)
    return W @ B.T


def predict(trace: Any, data: Any) -> Values | pd.Series:
    """Return predictions in the order of the rows; see :meth:`linrep.Trace.predict`."""
    values = predict_in_place(trace, data)
    if getattr(data, "rows", None) is None:
        return values
    order = np.argsort(data.rows, kind="stable")
    index = getattr(data, "index", None)
    if index is None:
        return values[order]
    import pandas as pd

    return pd.Series(values[order], index=index[order])


def predict_in_place(trace: Any, data: Any) -> Values:
    """Return predictions of samples or entries, in the order in which the data have them."""
    if hasattr(data, "per_item"):
        return _entries(trace.state, data)
    if not hasattr(data, "offsets"):
        raise TypeError(f"data must be ClientData or Observations, got {type(data).__name__}")
    check.same_columns("data", data.columns, trace.columns, "what the trace was learned from")
    return _linear(trace.state, data.X, data.offsets, _rows_of(trace, data.names))


def _entries(state, entries):
    """Return the entries of A U V' Z'."""
    if "U" not in state or "V" not in state:
        raise ValueError(f"entries need U and V in the state, it has {_names(state)}")
    left = _side(state["U"], entries.A, entries.d, "items")[entries.items]
    right = _side(state["V"], entries.Z, entries.n, "clients")[entries.clients]
    return np.einsum("ek,ek->e", left, right)


def _side(factor, table, size, what):
    """Return the factor of every item or client, through its side information where there is."""
    rows = size if table is None else table.shape[1]
    if len(factor) != rows:
        raise ValueError(
            f"the {what} and their side information must be those that the trace was learned from: "
            f"{rows} rows, the state has {len(factor)}"
        )
    return factor if table is None else table @ factor


def score(trace: Any, data: Any, *, by: str | None, measure: str) -> float | pd.Series:
    """Return how well a trace predicts; see :meth:`linrep.Trace.score`."""
    check.choice("measure", measure, MEASURES)
    if by is not None:
        check.choice("by", by, ("client",))
    predicted = predict_in_place(trace, data)
    known, owner, names = _labels(data)
    if by is None:
        place = np.zeros(known.size, dtype=np.int64)
        return float(_measured(known, predicted, place, 1, measure)[0])
    import pandas as pd

    there, place = np.unique(owner, return_inverse=True)
    values = _measured(known, predicted, place, there.size, measure)
    index = pd.Index([names[i] for i in there], name="client", tupleize_cols=False)
    return pd.Series(values, index=index, name=measure)


def _measured(known, predicted, place, groups, measure):
    """Return a measure of each group of labels, NaN where it is not defined."""
    count = np.bincount(place, minlength=groups)
    with np.errstate(all="ignore"):  # what overflows, or has no samples or variance
        squares = np.bincount(place, (known - predicted) ** 2, minlength=groups)
        if measure == "rmse":
            return np.sqrt(squares / count)
        mean = np.bincount(place, known, minlength=groups) / count
        spread = np.bincount(place, (known - mean[place]) ** 2, minlength=groups)
        rounding = count * (16 * np.finfo(np.float64).eps * mean) ** 2
        return np.where(spread > rounding, 1.0 - squares / spread, np.nan)


def _labels(data):
    """Return labels, each one's client as a place, and the clients' names."""
    if hasattr(data, "per_item"):
        return data.values, data.clients, range(data.n)
    return data.y, np.repeat(np.arange(data.n), data.m), data.names


def _rows_of(trace, names: tuple[Hashable, ...]) -> NDArray[np.int64]:
    """Return the places of clients among those of the trace."""
    known = _clients(trace)
    if names == known:
        return np.arange(len(names))
    places = {name: place for place, name in enumerate(known)}
    for name in names:
        if name not in places:
            raise ValueError(
                f"the trace knows no client {name!r}, one of {len(places)} clients it was learned "
                "from is needed; linrep.fit_new_clients fits new ones"
            )
    return np.array([places[name] for name in names], dtype=np.int64)


def _clients(trace) -> Sequence[Hashable]:
    """Return the clients' names."""
    if trace.clients is not None:
        return trace.clients
    state = trace.state
    if "biases" in state or np.ndim(state.get("theta")) == 2:
        return range(len(state.get("biases", state.get("theta"))))
    return range(len(factors(state)[1]))


def _linear(state, X, offsets, rows):
    """Return the products of each client's samples with its model, and its bias if it has one."""
    owner = np.repeat(rows, np.diff(offsets))
    bias = np.asarray(state["biases"])[owner] if "biases" in state else 0.0
    if "theta" not in state:
        B, W = factors(state)
        _check_dimension(X, len(B))
        return np.einsum("sk,sk->s", X @ B, W[owner]) + bias
    theta = np.asarray(state["theta"])
    _check_dimension(X, theta.shape[-1])
    if theta.ndim == 1:
        return X @ theta + bias
    blocks = zip(rows, offsets[:-1], offsets[1:], strict=True)
    return np.concatenate([X[first:last] @ theta[i] for i, first, last in blocks]) + bias


def _check_dimension(X, d):
    if X.shape[1] != d:
        raise ValueError(f"data must have {d} covariates as the trace's models, got {X.shape[1]}")


def factors(state: Mapping[str, Values]) -> tuple[Values, Values]:
    """Return the representation (d, k) and the heads (n, k) of a state.

    Parameters
    ----------
    state : mapping of str to ndarray
        With ``B`` and ``W``, or ``U`` and ``V``.

    Raises
    ------
    ValueError
        If it has neither.
    """
    for pair in (("B", "W"), ("U", "V")):
        if all(name in state for name in pair):
            first, second = (np.asarray(state[name]) for name in pair)
            return first, second
    raise ValueError(f"the trace holds no models: its state has {_names(state)}")


def _names(state):
    return ", ".join(state) or "nothing"
