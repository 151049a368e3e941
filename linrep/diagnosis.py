"""What a run on a user's own data reports: that it diverged, stalled, or lacked data.

Where there is a truth, its distance says how a run went; of data that nobody drew there is only the
training loss, which looks alike where a method has learned what there is, and where its step is too
small for it to learn anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from linrep._warning import RunWarning, collecting, warn
from linrep.prediction import factors

__all__ = ["RunWarning"]

Values = NDArray[np.float64]

_GREW = 100.0  # times the first loss: further up than any run that still goes down
_GAIN = 0.01  # share of the loss that one line search must gain where a run is said to stand still
_TIMES = 10.0  # and how many times what the run's own rounds gain
_FEW_ROUNDS = 10  # of a run of which nothing is said
_SCALES = 1e3  # ratio of columns' sizes from which they are called badly scaled
_ROUNDING = 1e-12  # share of the largest eigenvalue of a correlation matrix, below which it is 0
_LOW_RANK = "the covariates have less than full rank"

_FOUND: WeakKeyDictionary[Any, list[Note]] = WeakKeyDictionary()  # what data lack
_WARNED: WeakSet[Any] = WeakSet()  # data of which that was said


class Note(NamedTuple):
    """What is worth saying of a run: in a few words without numbers, and with them and a remedy."""

    kind: str
    text: str


def own_data(problem: Any) -> Any:
    """Return the samples or entries of a problem whose truth is not known.

    Parameters
    ----------
    problem : object
        ClientData, or objectives on them, or Observations.

    Returns
    -------
    ClientData, Observations or None
    """
    data = getattr(problem, "data", problem)
    known = _are_samples(data) or hasattr(data, "per_item")
    return data if known and data.truth is None else None


def _are_samples(data):
    return all(hasattr(data, name) for name in ("X", "y", "offsets"))


def diverged(data: Any, metrics: Mapping[str, Values], settings: Mapping[str, Any]) -> bool:
    """Tell whether a run's training loss is a hundred times what it was at first.

    Not where rounds see some of the clients, whose losses differ, or some of their samples or
    entries. A loss at rounding level counts as rounding.

    Parameters
    ----------
    data : ClientData or Observations
    metrics : mapping of str to ndarray
        Of the recorded rounds.
    settings : mapping
        Of the run.
    """
    losses = _losses(metrics)
    finite = losses[np.isfinite(losses)]
    some = settings.get("participation", 1.0) != 1.0 or settings.get("batch") is not None
    if not _are_samples(data) or some or finite.size < 2:
        return False
    rounding = np.finfo(np.float64).eps * np.mean(data.y**2)
    return bool(finite[-1] > _GREW * max(finite[0], rounding))


def best_round(metrics: Mapping[str, Values], rounds: NDArray[np.int64]) -> int:
    """Return the recorded round after which the training loss is least.

    Parameters
    ----------
    metrics : mapping of str to ndarray
        Of the recorded rounds. A loss that is NaN for the start is, in every row, that of the state
        the round began with.
    rounds : ndarray of int
        Their numbers, from where the run began.

    Returns
    -------
    int
        0, the start, where no loss is finite.
    """
    losses = _losses(metrics)
    if not np.isfinite(losses).any():
        return 0
    late = int(np.isnan(losses[0]))
    return max(int(rounds[np.nanargmin(losses)]) - late, 0)


def notes(
    problem: Any,
    data: Any,
    *,
    metrics: Mapping[str, Values],
    rounds: NDArray[np.int64],
    state: Mapping[str, Values],
    settings: Mapping[str, Any],
    stop_reason: str,
    returned: int | None,
) -> tuple[str, ...]:
    """Return the notes on a run, each with its remedy, and warn of them.

    Parameters
    ----------
    problem : object
        What the method was given.
    data : ClientData or Observations
        The user's data that it is made of; see :func:`own_data`.
    metrics, state, settings, stop_reason
        As the trace has them.
    rounds : ndarray of int
        Those recorded.
    returned : int or None
        The round that the state is of, where the run diverged.
    """
    about_run = []
    if returned is not None:
        text = f"the run diverged, and its state is that of round {returned}"
        about_run.append(Note("the run diverged", f"{text}: {_shorter_step(settings)}"))
    if not _are_samples(data):
        return tell(*about_run)
    # Heads of one's own by least squares, which a global model and other losses do not have.
    heads = "w" not in state and _is_least_squares(problem, data)
    if heads and returned is None and stop_reason == "rounds":
        found = _standstill(data, metrics, rounds, state)
        if found:
            about_run.append(Note("the run hardly moves", f"{found}: {_longer_step(settings)}"))
    about_run += _few_samples(data, state) if heads else []
    about_data = _shortcomings(data, work=rounds[-1] * _rank(state))
    if collecting():  # of every run, whichever is first
        return tell(*about_run, *about_data)
    tell(*about_run, *([] if data in _WARNED else about_data))
    if data in _FOUND:
        _WARNED.add(data)
    return tuple(note.text for note in (*about_run, *about_data))


def tell(*notes: Note) -> tuple[str, ...]:
    """Warn in one line of what is worth saying about a run, if anything; return it for its notes.

    Parameters
    ----------
    *notes : Note
    """
    texts = tuple(note.text for note in notes)
    if texts:
        warn("; ".join(texts), RunWarning, *(note.kind for note in notes))
    return texts


def _is_least_squares(problem, data):
    """Tell whether a problem is the samples themselves, or their least squares without a ridge."""
    if problem is data:
        return True
    return type(problem).__name__ == "LeastSquaresObjectives" and not problem.ridge


def _losses(metrics):
    """Return the training loss, or the objective, of every recorded round."""
    for name in ("loss", "objective"):
        if name in metrics:
            return metrics[name]
    return np.array([np.nan])


def _shorter_step(settings):
    step = settings.get("step_size")
    if isinstance(step, str) or step is None:
        return "standardized() data, or a start nearer to them, may help"
    return f"take a step_size below {step:.3g}, or none, so that one is found"


def _longer_step(settings):
    if settings.get("step_size_rule", "given") == "given":
        return "take a larger step_size, or none, so that one is found"
    return "give it more rounds, or standardized() data"


def _rank(state):
    """Return k, or 1 where a state has no factors."""
    try:
        return factors(state)[0].shape[1]
    except ValueError:
        return 1


def _standstill(data, metrics, rounds, state):
    """Return what to say of a run whose rounds gain far less than one line search would."""
    losses = _losses(metrics)
    there = np.isfinite(losses)
    losses, rounds = losses[there], rounds[there]
    if losses.size < 4 or rounds[-1] - rounds[0] < _FEW_ROUNDS or not losses[-1] > 0.0:
        return None
    gain = line_search_gain(data, state)
    quarter = losses.size // 4
    # Medians, since the losses of drawn participants vary.
    before, last = np.median(losses[-2 * quarter : -quarter]), np.median(losses[-quarter:])
    between = np.median(rounds[-quarter:]) - np.median(rounds[-2 * quarter : -quarter])
    own = max((before - last) / between / last, 0.0)
    if gain is None or gain < max(_GAIN, _TIMES * own):
        return None
    return (
        f"the run hardly moves: its last rounds lower the loss by {own:.1e} of it each, where one "
        f"gradient step of the best length would by {gain:.1e}"
    )


def line_search_gain(data: Any, state: Mapping[str, Values]) -> float | None:
    r"""Return the share of the training loss that one step on the representation can remove.

    The step is along the gradient of :math:`\frac1n\sum_i\frac1{2m_i}\|X_iBw_i-y_i\|^2` in B, with
    the heads that fit B best, and of the length that gains most,
    :math:`\|G\|^4/2\langle G,HG\rangle` with H the curvature. The state's own heads may be of the
    round before.

    Parameters
    ----------
    data : ClientData
    state : mapping of str to ndarray
        With ``B`` (d, k) and ``W``, or ``U`` and ``V``.

    Returns
    -------
    float or None
        None where the state has no factors, or the loss is 0 or not finite.
    """
    try:
        B = factors(state)[0]
    except ValueError:
        return None
    if B.shape[0] != data.X.shape[1] or not np.isfinite(B).all():
        return None
    m = np.diff(data.offsets)
    clients = pairwise(data.offsets)
    W = np.array([np.linalg.lstsq(data.X[a:b] @ B, data.y[a:b], rcond=None)[0] for a, b in clients])
    weight = np.repeat(1.0 / (m * m.size), m)
    heads = np.repeat(W, m, axis=0)
    with np.errstate(all="ignore"):  # what overflows is not finite then
        residuals = np.einsum("sk,sk->s", data.X @ B, heads) - data.y
        loss = 0.5 * np.sum(weight * residuals**2)
        G = data.X.T @ ((weight * residuals)[:, None] * heads)
        along = np.einsum("sk,sk->s", data.X @ G, heads)
        slope, curvature = np.sum(G * G), np.sum(weight * along**2)
        gain = slope**2 / (2.0 * curvature * loss) if slope > 0.0 else 0.0
    return float(gain) if np.isfinite(gain) else None


def _few_samples(data, state):
    """Return what to say where clients have no more samples than their heads have numbers."""
    k, m = _rank(state), np.diff(data.offsets)
    few = int(np.sum(m <= k))
    if not few or "theta" in state:
        return []
    text = (
        f"{few} of {m.size} clients have no more samples than the k = {k} numbers of a head, which "
        "fits them exactly: take a smaller k, or lr.select, which chooses k and a ridge"
    )
    return [Note("clients have no more samples than a head has numbers", text)]


def _shortcomings(data, *, work):
    """Return what to say of the covariates: once for the same data, if it costs less than the run.

    `work` is that of the run, in passes over the data.
    """
    X, d = data.X, data.X.shape[1]
    affordable = d <= work
    if data in _FOUND:  # a run has the same notes whether a longer one came before it or not
        return [note for note in _FOUND[data] if affordable or note.kind != _LOW_RANK]
    found = []
    with np.errstate(over="ignore"):
        sizes = np.sqrt(np.mean(X**2, axis=0))
    present = sizes[sizes > 0.0]
    if present.size and present.max() > _SCALES * present.min():
        text = (
            f"the covariates' root mean squares go from {present.min():.1e} to "
            f"{present.max():.1e}: data.standardized() makes them alike"
        )
        found.append(Note("the covariates' root mean squares are far apart", text))
    if affordable:
        rank = 0
        if present.size:
            scaled = X[:, sizes > 0.0] / present
            spectrum = np.linalg.eigvalsh(scaled.T @ scaled)
            rank = int(np.sum(spectrum > _ROUNDING * spectrum[-1]))
        if rank < d:
            text = (
                f"the covariates have rank {rank} of {d}, so that not all coefficients are "
                "determined: data.whitened() leaves out what is not"
            )
            found.append(Note(_LOW_RANK, text))
        _FOUND[data] = found
    return found
