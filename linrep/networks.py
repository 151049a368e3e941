"""Runs of networks as replicates of figures: a cell is a column and a method, and takes minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from linrep import deep
from linrep.summaries import accuracies
from linrep.sweeps import note, scratch
from linrep.trace import Trace, last_rounds

_EVERY = 20  # rounds, after which it is said how accurate a run is so far


def train(
    data: deep.FederatedData,
    method: deep.FedAvg,
    label: str,
    *,
    rounds: int,
    last: int = 10,
    record: Sequence[int] = (),
    **settings: Any,
) -> Trace:
    """Train networks as :func:`linrep.deep.run` does, within a sweep with a checkpoint.

    Parameters
    ----------
    data, method
        As there.
    label : str
        What is trained, for the bar of the sweep.
    rounds : int
        Of communication.
    last : int
        So many last rounds are evaluated, beside every twentieth.
    record : sequence of int
        Further rounds that are.
    **settings
        As there.
    """
    recorded = {*range(0, rounds, _EVERY), *last_rounds(rounds, last), *record}
    return deep.run(
        data, method, rounds=rounds, record=sorted(recorded), checkpoint=scratch("run.pt"),
        callback=_noting(label, rounds), progress=False, **settings,
    )  # fmt: skip


def choose_lr(
    data: deep.FederatedData,
    method: Callable[[float], deep.FedAvg],
    lrs: Sequence[float],
    label: str,
    *,
    rounds: int,
    **settings: Any,
) -> float:
    """Return the step size that :func:`linrep.deep.choose_lr` takes, within a sweep.

    Parameters
    ----------
    data, method, lrs, rounds, **settings
        As there.
    label : str
        What is trained, for the bar of the sweep.
    """
    return deep.choose_lr(
        data, method, lrs, rounds=rounds, checkpoint=scratch("try.pt"),
        callback=_noting(f"{label}, step sizes", rounds), progress=False, **settings,
    )  # fmt: skip


def _noting(label, rounds):
    """Return a callback that says how far a run is, and how accurate so far."""
    known = [""]

    def say(round, metrics):
        if metrics:
            known[0] = f", {metrics['accuracy']:.1%}"
        note(f"{label}: {round}/{rounds}{known[0]}")

    return say


def outcome(trace: Trace, last: int = 10) -> pd.DataFrame:
    """Return what a table has of a run, and what it was computed by, in one row.

    Parameters
    ----------
    trace : Trace
    last : int
        Rounds that accuracies are averaged over.

    Returns
    -------
    DataFrame
        ``accuracy`` and ``weighted`` (of all test samples together) in percent, ``fine_tuned``
        (NaN where nothing was), ``device``, ``engine``, ``samples_per_second`` and ``trained``,
        the seconds of the run.
    """
    tuned = trace["fine_tuned"][-1] if "fine_tuned" in trace else float("nan")
    row = {
        "accuracy": 100.0 * trace.mean_of_last("accuracy", last),
        "weighted": 100.0 * trace.mean_of_last("weighted_accuracy", last),
        "fine_tuned": 100.0 * tuned,
        **{name: trace.settings.get(name) for name in ("device", "engine", "samples_per_second")},
        "trained": trace.wall_time,
    }
    return pd.DataFrame([row])


def curve(trace: Trace) -> pd.DataFrame:
    """Return how accurate a run was against rounds, and what it was computed by, in rows.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    DataFrame
        ``round``, ``accuracy`` in percent, and what :func:`outcome` has of the whole run.
    """
    whole = outcome(trace).drop(columns=["accuracy", "fine_tuned"])
    return accuracies(trace).merge(whole, how="cross")


def with_tuned(rows: pd.DataFrame, label: str = " + FT") -> pd.DataFrame:
    """Return rows in which accuracies after fine-tuning are those of methods of their own.

    Parameters
    ----------
    rows : DataFrame
        Columns ``method``, ``accuracy`` and ``fine_tuned``.
    label : str
        What is added to a method's name.
    """
    tuned = rows[rows["fine_tuned"].notna()]
    tuned = tuned.assign(method=tuned["method"] + label, accuracy=tuned["fine_tuned"])
    return pd.concat([rows, tuned], ignore_index=True).drop(columns="fine_tuned")
