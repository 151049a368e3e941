"""What a trace predicts for samples or entries, and how much of their variance that explains."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linrep import _memory as memory
from linrep import _validation as check

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float64]
MEASURES = ("explained_variance", "rmse")


def origin(problem: Any) -> dict[str, Any]:
    """Return what a trace keeps of its problem to predict: the clients' names, the preparation.

    Parameters
    ----------
    problem : object
        ClientData, objectives on them, or any other problem, whose clients are 0 … n - 1.
    """
    data = getattr(problem, "data", problem)
    return {
        "clients": getattr(data, "names", None),
        "preparation": getattr(data, "preparation", None),
    }


def models(state: Mapping[str, Values]) -> Values:
    """Return the clients' models (n, d) that a state holds.

    Parameters
    ----------
    state : mapping of str to ndarray
        With ``theta``, ``B`` and ``W``, or ``U`` and ``V``; see :attr:`linrep.Trace.models`.

    Raises
    ------
    ValueError
        If there are none of these, or the models do not fit into memory.
    """
    if "theta" in state:
        theta = np.asarray(state["theta"])
        return np.tile(theta, (len(state["biases"]), 1)) if theta.ndim == 1 else theta
    B, W = _factors(state)
    memory.require("the clients' models", len(W) * len(B), n=len(W), d=len(B))
    return W @ B.T


def predict(trace: Any, data: Any) -> Values:
    """Return predictions of samples or entries; see :meth:`linrep.Trace.predict`.

    Parameters
    ----------
    trace : Trace
    data : ClientData, Observations or Ratings
    """
    if hasattr(data, "observations"):  # ratings, which are entries less their mean
        return data.mean + predict(trace, data.observations)
    if hasattr(data, "items"):
        return predict_entries(trace.state, data)
    if not hasattr(data, "offsets"):
        raise TypeError(
            f"data must be ClientData, Observations or Ratings, got {type(data).__name__}"
        )
    if data.weights is not None:
        raise ValueError("weighted data cannot be predicted for: use them as before weighted()")
    X, labels = data.X, None
    if trace.preparation is not None and data.preparation is None:
        X, labels = trace.preparation.covariates(X), trace.preparation.labels
    elif data.preparation != trace.preparation:
        raise ValueError("data must be raw, or prepared as those that the trace was learned from")
    found = _linear(trace.state, X, data.offsets, _rows_of(trace, data.names))
    return found if labels is None else labels(found)


def predict_entries(state: Mapping[str, Values], entries: Any) -> Values:
    """Return what factors predict of entries: those of A U V' Z', and biases where there are any.

    Parameters
    ----------
    state : mapping of str to ndarray
        With ``U`` (a, k) and ``V`` (p, k); if there, also ``mean``, a number, ``item_biases`` (d,)
        and ``client_biases`` (n,).
    entries : Observations
    """
    if not ("U" in state and "V" in state):
        raise ValueError(f"entries need factors U and V in the state, it has {_names(state)}")
    predicted = np.zeros(len(entries))
    sides = []
    for factor, table, places, size in (
        ("U", entries.A, entries.items, entries.d),
        ("V", entries.Z, entries.clients, entries.n),
    ):
        wanted = size if table is None else table.shape[1]
        if len(state[factor]) != wanted:
            raise ValueError(
                f"the entries must have the items, clients and side information of those that the "
                f"trace was learned from: {factor} has {len(state[factor])} rows, not {wanted}"
            )
        sides.append((state[factor] if table is None else table @ state[factor])[places])
    predicted += np.einsum("ek,ek->e", *sides)
    for name, places in (("item_biases", entries.items), ("client_biases", entries.clients)):
        if name in state:
            predicted += np.asarray(state[name])[places]
    return predicted + state["mean"] if "mean" in state else predicted


def score(trace: Any, data: Any, *, by: str | None, measure: str) -> float | pd.Series:
    """Return how well a trace predicts; see :meth:`linrep.Trace.score`.

    Parameters
    ----------
    trace : Trace
    data : ClientData, Observations or Ratings
    by : {None, "client"}
    measure : {"explained_variance", "rmse"}
    """
    check.choice("measure", measure, MEASURES)
    if by is not None:
        check.choice("by", by, ("client",))
    predicted = predict(trace, data)
    known, owner, names = _labels(data)
    if by is None:
        place = np.zeros(known.size, dtype=np.int64)
        return float(_measured(known, predicted, place, 1, measure)[0])
    import pandas as pd

    values = _measured(known, predicted, owner, len(names), measure)
    return pd.Series(
        values, index=pd.Index(names, name="client", tupleize_cols=False), name=measure
    )


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
    if hasattr(data, "observations"):
        known, owner, _ = _labels(data.observations)
        return data.mean + known, owner, list(data.clients)
    if hasattr(data, "items"):
        return data.values, data.clients, range(data.n)
    return data.y, np.repeat(np.arange(data.n), data.m), data.names


def _rows_of(trace, names: tuple[Hashable, ...]) -> NDArray[np.int64]:
    """Return the places of clients among those of the trace."""
    known = trace.clients
    if known is None:
        state = trace.state
        rows = next(
            (len(state[name]) for name in ("W", "biases", "V", "theta") if name in state), 0
        )
        known = range(rows)
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


def _linear(state, X, offsets, rows):
    """Return the products of each client's samples with its model, and its bias if it has one."""
    owner = np.repeat(rows, np.diff(offsets))
    bias = np.asarray(state["biases"])[owner] if "biases" in state else 0.0
    if "theta" not in state:
        B, W = _factors(state)
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


def _factors(state):
    """Return the representation (d, k) and the heads (n, k)."""
    for pair in (("B", "W"), ("U", "V")):
        if all(name in state for name in pair):
            return tuple(np.asarray(state[name]) for name in pair)
    raise ValueError(f"the trace holds no models: its state has {_names(state)}")


def _names(state):
    return ", ".join(state) or "nothing"
