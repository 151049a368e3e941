"""What a run on a user's own data reports: that it diverged, stalled, or lacked data.

Where there is a truth, its distance says how a run went; of data that nobody drew there is only the
training loss, which looks alike where a method has learned what there is, and where its step is too
small for it to learn anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from linrep._lib.warning import RunWarning, is_collecting, warn
from linrep.algorithms.whitening import is_feasible, whitening
from linrep.kernels.linalg import RANK_TOLERANCE
from linrep.problems.prediction import factors

__all__ = ["RunWarning"]

Values = NDArray[np.float64]

_GREW = 100.0  # times the first loss: further up than any run that still goes down
_GAIN = 0.01  # share of the loss that one line search must gain where a run is said to stand still
_FALLS = 0.01  # share of the loss by which it falls in the last quarter of a run that is too short
_GAIN_OF_OTHERS = 0.25  # where rounds lower another loss than that of heads on all samples
_SOLVED = 1e-8  # share of the labels' variance below which nothing is left to gain
_CHEAP = 512  # covariates up to which they are decomposed for an estimate's sake
_GAIN_OF_SOME = 0.05  # where rounds see some clients or samples, whose losses wander
_TIMES = 10.0  # and how many times what the run's own rounds gain
_FEW_ROUNDS = 10  # of a run of which nothing is said
_SCALES = 1e3  # ratio of columns' sizes from which they are called badly scaled
_ROUNDING = 1e-20  # share of the labels' mean square that is rounding
_FAR = 30.0  # means in standard deviations from which on columns are called far from centred
_FAR_FOR_OTHERS = 2.0  # the same, where rounds lower another loss than that of all samples
_ESTIMATOR = "linrep.estimators.FederatedRegressor"

_WARNED: WeakSet[Any] = WeakSet()  # data of which it was said what they lack


class Note(NamedTuple):
    """What is worth saying of a run: in a few words without numbers, and with them and a remedy."""

    kind: str
    text: str


def own_data(problem: Any) -> Any:
    """Return the ClientData or Observations of a problem whose truth is not known, or None.

    A problem may be objectives on them.
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
    """
    losses = _losses(metrics)
    finite = losses[np.isfinite(losses)]
    if not _are_samples(data) or _sees_some(settings) or finite.size < 2:
        return False
    rounding = np.finfo(np.float64).eps * np.mean(data.y**2)
    return bool(finite[-1] > _GREW * max(finite[0], rounding))


def _sees_some(settings):
    """Tell whether rounds see some of the clients or of their samples."""
    return settings.get("participation", 1.0) != 1.0 or settings.get("batch") is not None


def best_round(metrics: Mapping[str, Values], rounds: NDArray[np.int64]) -> int:
    """Return the recorded round after which the training loss is least, counted from the start.

    A loss that is NaN for the start is, in every row, that of the state the round began with. It
    is 0, the start, where no loss is finite.
    """
    losses = _losses(metrics)
    if not np.isfinite(losses).any():
        return 0
    late = int(np.isnan(losses[0]))
    return max(int(rounds[np.nanargmin(losses)]) - late, 0)


class Diagnosis(NamedTuple):
    """What is said of a run, each with its remedy, and how it ended."""

    notes: tuple[str, ...]
    stop_reason: str


def diagnose(
    problem: Any,
    data: Any,
    *,
    metrics: Mapping[str, Values],
    rounds: NDArray[np.int64],
    state: Mapping[str, Values],
    settings: Mapping[str, Any],
    stop_reason: str,
    returned: int | None,
    descends: bool | None = True,
) -> Diagnosis:
    """Return the notes on a run, and warn of them.

    A run that took itself for converged where one step of another length would lower the loss has
    ``stalled``.

    Parameters
    ----------
    problem, data
        What the method was given, and the :func:`own_data` that it is made of.
    metrics, rounds, state, settings, stop_reason
        As the trace has them.
    returned : int or None
        The round that the state is of, where the run diverged.
    descends : bool or None, default True
        Whether rounds lower the training loss of all samples, with heads fitted to all of them;
        None where they are to lower no loss, and are not judged by it.
    """
    about_run = []
    if returned is not None:
        text = f"the run diverged, and its state is that of round {returned}"
        about_run.append(Note("the run diverged", f"{text}: {_shorter_step(settings)}"))
    if not _are_samples(data):
        return Diagnosis(tell(*about_run), stop_reason)
    # Heads of one's own by least squares, which a global model and other losses do not have.
    heads = "w" not in state and _is_least_squares(problem, data)
    heads = heads and not np.any(settings.get("ridge", 0.0))
    work = rounds[-1] * _rank(state)
    if returned is None and stop_reason != "diverged":
        ended = stop_reason == "converged"
        least = _GAIN_OF_SOME if _sees_some(settings) else _GAIN
        fault = None
        if descends is not None and (heads or not descends):
            fault = _standstill(
                data, metrics, rounds, state, ended=ended, work=work,
                least=least if descends else _GAIN_OF_OTHERS,
            )  # fmt: skip
        if fault:
            remedy = f"take a smaller tolerance, or {_ESTIMATOR}, which scales covariates"
            kind = "the run has stalled" if ended else "the run hardly moves"
            remedy = remedy if ended else _longer_step(settings)
            about_run.append(Note(kind, f"{fault}: {remedy}"))
            stop_reason = "stalled" if ended else stop_reason
        elif descends and not ended and (fault := _still_falling(data, metrics, rounds, settings)):
            about_run.append(Note("the loss still falls", f"{fault}: give it more rounds"))
    about_run += _few_samples(data, state) if heads else []
    if not descends:
        with np.errstate(over="ignore"):
            sizes = np.sqrt(np.mean(data.X**2, axis=0))
        if _FAR_FOR_OTHERS < (far := _largest_mean(data.X, sizes)) <= _FAR:
            about_run.append(_uncentred(far))
    return Diagnosis(_with_shortcomings(about_run, data, work=work), stop_reason)


def diagnose_estimate(data: Any, state: Mapping[str, Values]) -> tuple[str, ...]:
    """Return the notes on an estimate that took no rounds, and warn of them."""
    return _with_shortcomings(_few_samples(data, state), data, work=_CHEAP)


def _with_shortcomings(about_run, data, *, work):
    """Return notes on a run with those on its data, and warn of those that were not said yet."""
    about_data = _shortcomings(data, work=work)
    if is_collecting():  # of every run, whichever is first
        return tell(*about_run, *about_data)
    tell(*about_run, *([] if data in _WARNED else about_data))
    if data.X.shape[1] <= work:  # otherwise a longer run may find more
        _WARNED.add(data)
    return tuple(note.text for note in (*about_run, *about_data))


def tell(*notes: Note) -> tuple[str, ...]:
    """Warn in one line of what is worth saying about a run, if anything, and return it."""
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
        return "covariates of mean 0 and one scale, or a nearer start, may help"
    given = settings.get("step_size_rule", "given") == "given"
    return f"take a step_size below {step:.3g}" + (
        ", or none, so that one is found" if given else ""
    )


def _longer_step(settings):
    if settings.get("step_size_rule", "given") == "given":
        return "take a larger step_size, or none, so that one is found"
    return "give it more rounds, or covariates of mean 0 and one scale"


def _rank(state):
    """Return k, or 1 where a state has no factors."""
    try:
        return factors(state)[0].shape[1]
    except ValueError:
        return 1


def _standstill(data, metrics, rounds, state, *, ended, work, least):
    """Return what to say of a run whose rounds gain far less than one line search would.

    `ended` says that it took itself for converged.
    """
    losses = _losses(metrics)
    there = np.isfinite(losses)
    losses, rounds = losses[there], rounds[there]
    if not losses.size or not losses[-1] > _nothing(data):
        return None
    if not ended and (losses.size < 4 or rounds[-1] - rounds[0] < _FEW_ROUNDS):
        return None
    gain = line_search_gain(data, state, whitened=data.X.shape[1] <= work)
    fall = 0.0
    if not ended:
        fall = max(_fall_of_last_quarter(losses, rounds), 0.0)
    if gain is None or gain < max(least, _TIMES * fall):
        return None
    if ended:
        return (
            "the run ended as converged, although one step of the best length would lower the loss "
            f"by {gain:.1e} of it"
        )
    return (
        f"the run hardly moves: its last rounds lower the loss by {fall:.1e} of it each, where one "
        f"step of the best length would by {gain:.1e}"
    )


def _nothing(data):
    """Return the loss below which rounding is all that is left to gain."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _SOLVED * np.var(data.y) + _ROUNDING * np.mean(data.y**2)


def _fall_of_last_quarter(losses, rounds):
    """Return by which share of it the loss fell in each of the last rounds.

    Between medians, since the losses of drawn participants vary.
    """
    quarter = losses.size // 4
    before, last = np.median(losses[-2 * quarter : -quarter]), np.median(losses[-quarter:])
    between = np.median(rounds[-quarter:]) - np.median(rounds[-2 * quarter : -quarter])
    return (before - last) / between / last


def _still_falling(data, metrics, rounds, settings):
    """Return what to say of a run of all clients that ended while its loss fell."""
    losses = _losses(metrics)
    there = np.isfinite(losses)
    losses, rounds = losses[there], rounds[there]
    if _sees_some(settings) or losses.size < 4 or rounds[-1] - rounds[0] < _FEW_ROUNDS:
        return None
    quarter = losses[-1 - losses.size // 4] - losses[-1]
    if not quarter > _FALLS * losses[-1] or losses[-1] < _nothing(data):
        return None
    return (
        f"the loss still falls: by {quarter / losses[-1]:.1e} of it in the last quarter of the "
        "rounds"
    )


def line_search_gain(
    data: Any, state: Mapping[str, Values], *, whitened: bool = True
) -> float | None:
    r"""Return the share of the training loss that one step on the representation can remove.

    The step is along the gradient of :math:`\frac1n\sum_i\frac1{2m_i}\|X_iBw_i-y_i\|^2` in B, with
    the heads that fit B best and the covariates whitened, so that it does not depend on their units
    or means, and of the length that gains most, :math:`\|G\|^4/2\langle G,HG\rangle` with H the
    curvature. The state's own heads may be of the round before.

    Not `whitened`, the gradient is that of the covariates as they are, without a decomposition. It
    is None where the state has no factors, or the loss is 0 or not finite.
    """
    try:
        B = factors(state)[0]
    except ValueError:
        return None
    if B.shape[0] != data.X.shape[1] or not np.isfinite(B).all():
        return None
    m = np.diff(data.offsets)
    projected = data.X @ B
    W = np.array([
        np.linalg.lstsq(projected[a:b], data.y[a:b], RANK_TOLERANCE)[0]
        for a, b in pairwise(data.offsets)
    ])  # fmt: skip
    weight = np.repeat(1.0 / (m * m.size), m)
    heads = np.repeat(W, m, axis=0)
    with np.errstate(all="ignore"):  # what overflows is not finite then
        residuals = np.einsum("sk,sk->s", projected, heads) - data.y
        loss = 0.5 * np.sum(weight * residuals**2)
        G = data.X.T @ ((weight * residuals)[:, None] * heads)
        step = G
        if whitened and is_feasible(data):
            root = whitening(data).forward
            G = root.T @ G
            step = root @ G
        along = np.einsum("sk,sk->s", data.X @ step, heads)
        slope, curvature = np.sum(G * G), np.sum(weight * along**2)
        gain = slope**2 / (2.0 * curvature * loss) if slope > 0.0 else 0.0
    return float(gain) if np.isfinite(gain) else None


def _largest_mean(X, sizes):
    """Return the largest mean of a column in its standard deviations, 0 where none varies."""
    scaled = X[:, sizes > 0.0] / sizes[sizes > 0.0]
    means, spreads = np.abs(scaled.mean(axis=0)), scaled.std(axis=0)
    varies = spreads > RANK_TOLERANCE  # otherwise a constant, to rounding
    return np.max(means[varies] / spreads[varies], initial=0.0)


def _uncentred(far):
    text = (
        f"covariates have means of up to {far:.1e} times their standard deviations: "
        f"{_ESTIMATOR} centres them and fits intercepts"
    )
    return Note("covariates are far from centred", text)


def _few_samples(data, state):
    """Return what to say where clients have no more samples than their heads have numbers."""
    k, m = _rank(state), np.diff(data.offsets)
    few = int(np.sum(m <= k))
    if not few or "theta" in state:
        return []
    text = (
        f"{few} of {m.size} clients have no more samples than the k = {k} numbers of a head, which "
        f"fits them exactly: take a smaller k, or {_ESTIMATOR}, which shrinks heads"
    )
    return [Note("clients have no more samples than a head has numbers", text)]


def _shortcomings(data, *, work):
    """Return what to say of the covariates.

    `work` is that of the run, in passes over the data: their rank is found where it costs less.
    """
    X, d = data.X, data.X.shape[1]
    notes = []
    with np.errstate(over="ignore"):
        sizes = np.sqrt(np.mean(X**2, axis=0))
    present = sizes[sizes > 0.0]
    if present.size and present.max() > _SCALES * present.min():
        text = (
            f"the covariates' root mean squares go from {present.min():.1e} to "
            f"{present.max():.1e}: {_ESTIMATOR} makes them alike"
        )
        notes.append(Note("the covariates' root mean squares are far apart", text))
    if (far := _largest_mean(X, sizes)) > _FAR:
        notes.append(_uncentred(far))
    with np.errstate(over="ignore", invalid="ignore"):
        level, spread = abs(float(np.mean(data.y))), float(np.std(data.y))
    if level > _FAR * spread > _FAR * RANK_TOLERANCE * level:
        text = (
            f"the labels have a mean of {level / spread:.1e} times their standard deviation: "
            f"{_ESTIMATOR} centres them; otherwise a representation spends itself on it"
        )
        notes.append(Note("the labels are far from centred", text))
    if d <= work and is_feasible(data):
        rank = whitening(data).rank
        if rank < d:
            text = (
                f"the covariates have rank {rank} of {d}, so that not all coefficients are "
                f"determined: leave out columns, or take {_ESTIMATOR}, which shrinks heads"
            )
            notes.append(Note("the covariates have less than full rank", text))
    return notes
