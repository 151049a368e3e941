"""Models of clients on samples that are prepared: a method's rounds, then heads with a ridge."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrep import algorithms
from linrep._lib.warning import RunWarning
from linrep.algorithms.ridges import best_around_mean, decompose
from linrep.algorithms.whitening import whitening
from linrep.problems.clients import ClientData

Values = NDArray[np.float64]

#: Methods that learn a representation, by their names.
LOW_RANK: dict[str, Any] = {
    "fedrep": algorithms.fedrep,
    "flute": algorithms.flute,
    "pflmf": algorithms.pflmf,
    "als": algorithms.alternating_least_squares,
    "altgdmin": algorithms.altgdmin,
}
METHODS = (*LOW_RANK, "ridge_to_mean", "local", "pooled")
_RANKS = (1, 2, 4, 8)  # that are tried, beside no representation
_SMALLEST = 1e-2  # of what the intercept is multiplied by, where it has a ridge of its own


class Heads(NamedTuple):
    """What a client's head is fitted with: min ||y - X B w||^2 + ridge ||w - mean||^2."""

    basis: Values  # B (d, k)
    mean: Values  # (k,)
    ridge: float  # infinite where all heads are the mean

    def fit(self, data: ClientData) -> Values:
        """Return the heads (n, k) of clients, which may be others than those of the mean."""
        if np.isinf(self.ridge):
            return np.tile(self.mean, (data.n, 1))
        Z = data.X @ self.basis
        rest = ClientData(Z, data.y - Z @ self.mean, data.offsets)
        return self.mean + algorithms.ridge(rest, penalty=self.ridge).state["theta"]


def fit(
    method: str, data: ClientData, averaged: ClientData, k: int | None, ridge: float | None,
    rounds: int, *, intercept: bool,
) -> Heads:  # fmt: skip
    """Return the representation, and the heads' mean and ridge, that a method learns.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    data : ClientData
        Rows are multiplied by the square root of their weights.
    averaged : ClientData
        The same, weights of each client having the mean 1.
    k, ridge, rounds
        As of :class:`FederatedRegressor`.
    intercept : bool
        Whether the last column of the covariates is the intercept, which may have another ridge.
    """
    whole = np.eye(data.d)
    if method == "pooled":
        return Heads(whole, pooled(data), np.inf)
    if method == "local":
        penalty = algorithms.ridge(data, penalty=ridge).settings["penalty"]
        return Heads(whole, np.zeros(data.d), penalty)
    B = None
    if method in LOW_RANK and k is not None:
        B = _representation(method, averaged, k, rounds)
    if B is None:
        B = _with_scaled_intercept(data) if intercept and ridge is None else whole
    if method in LOW_RANK and k is None:
        B = _best_representation(method, data, averaged, rounds, B)
    if ridge == 0.0:
        return Heads(B, np.zeros(B.shape[1]), 0.0)
    trace = algorithms.ridge_to_mean(ClientData(data.X @ B, data.y, data.offsets), penalty=ridge)
    return Heads(B, trace.state["mean"], trace.settings["penalty"])


def pooled(data: ClientData) -> Values:
    """Return the model (d,) of all samples together."""
    return algorithms.pooled(data).state["theta"][0]


def _with_scaled_intercept(data):
    """Return a diagonal frame: what the ridge of the intercept is divided by is that entry squared.

    Of half decades from 1 on that of least error at samples left out, up or down to the first
    that is not better than the one before.
    """

    def error(scale):
        scaled = np.column_stack([data.X[:, :-1], scale * data.X[:, -1]])
        return best_around_mean(decompose(scaled, data.y, data.offsets))[1]

    best, least = 1.0, error(1.0)
    for factor in (np.sqrt(10.0), np.sqrt(0.1)):
        scale = factor
        while _SMALLEST <= scale <= 1.0 / _SMALLEST and (found := error(scale)) < least:
            best, least, scale = scale, found, scale * factor
        if best != 1.0:
            break
    return np.diag([*np.ones(data.d - 1), best])


def _best_representation(method, data, averaged, rounds, whole):
    """Return the representation of the rank whose heads have the least error at samples left out.

    A sample that is left out has taken part in finding the representation, whose k (r - k)
    parameters, of covariates of rank r, are counted as generalized cross-validation counts them.
    Where no client has more than k samples, heads fit them on any representation.
    """
    N, rank = len(data.y), whitening(data).rank
    frames, shares = [whole], [0.0]
    for k in _RANKS:
        share = k * (rank - k) / N
        if k < min(data.n, rank, int(data.m.max())) and share < 1.0:
            frames.append(_representation(method, averaged, k, rounds))
            shares.append(share)
    errors = [
        best_around_mean(decompose(data.X @ B, data.y, data.offsets))[1] / (1.0 - share) ** 2
        for B, share in zip(frames, shares, strict=True)
    ]
    return frames[int(np.argmin(errors))]


def _representation(method, data, k, rounds):
    """Return a frame (d, k) that a method's rounds end with, from the models' start.

    Gradients are taken in coordinates in which the pooled covariates have second moment I. None
    where k directions are all there are, and every frame has the same models.
    """
    k = min(k, data.n, data.d)
    coordinates = whitening(data)
    if k >= coordinates.rank:
        return None
    B = algorithms.models_start(data, k)
    if rounds == 0 or not data.y.any():
        return B
    run = LOW_RANK[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)  # few rounds are meant to stop early
        if method == "fedrep":  # which whitens by itself, and keeps the lowest loss
            return run(data, k=k, start="models", rounds=rounds).state["B"]
        white = ClientData(coordinates.covariates(data.X), data.y, data.offsets)
        start = np.linalg.qr(coordinates.back @ B)[0]
        begun = _balanced(white, start) if method in ("flute", "pflmf") else start
        found = run(white, k=k, start=begun, rounds=rounds).state
    return coordinates.frame((found["U"] if method == "pflmf" else found["B"]).T)


def _balanced(data, B):
    """Return factors (d, k) and (n, k) of the models on a frame, with the same Gram matrix."""
    left, values, right = np.linalg.svd(algorithms.fit_heads(data, B), full_matrices=False)
    return (B @ right.T) * np.sqrt(values), left * np.sqrt(values)
