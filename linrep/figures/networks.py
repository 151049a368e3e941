"""Runs of networks as replicates of figures: a cell is a column and a method, and takes minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep import deep
from linrep._lib.provenance import commit
from linrep.deep.source import source
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import accuracies
from linrep.sweeps import Grid, note, scratch
from linrep.trace import Trace, last_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What pictures call data sets.
TITLES = {
    "mnist_10k": "MNIST, a sixth",
    "cifar10_16": "CIFAR-10, 16 px",
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "sent140": "Sent140",
    "femnist": "FEMNIST",
    "digits": "digits",
}
_EVERY = 20  # rounds, after which it is said how accurate a run is so far


@dataclass(frozen=True)
class Scales(Sizes):
    """How large the data and networks of a table or figure are, and for how long they train."""

    scale: tuple[str, ...] = size(
        ("small", "paper"), "Of scikit-learn's digits, of fewer or smaller images, the paper's.",
        quick=("digits",), among=("digits", "small", "paper"),
    )  # fmt: skip
    rounds: int = size(0, "Rounds of each run; 0 for those of the caption.", minimum=0)


def scaled(
    scales: Mapping[str, Mapping[str, Any]], sizes: Scales, *, named: bool = True, **axes: Any
) -> Grid:
    """Return the cells of the scales that are asked for, with their own axes and those of all.

    In place of a scale's ``rounds`` `sizes` may have others; `named` cells have their ``scale``.
    """
    grids = [
        Grid.product(
            ({"scale": scale} if named else {}) | {**scales[scale], **axes}
            | ({"rounds": sizes.rounds} if sizes.rounds else {})
        )
        for scale in sizes.scale
    ]  # fmt: skip
    return sum(grids[1:], grids[0])


def most_common(dataset: deep.Dataset, labels: Sequence[int], count: int) -> NDArray[np.int64]:
    """Return those `count` of some classes that have most samples, in increasing order."""
    sizes = np.bincount(dataset.all_y, minlength=dataset.classes)[labels]
    return np.sort(np.asarray(labels)[np.argsort(-sizes, kind="stable")[:count]])


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

    The label is for the bar of the sweep. Every twentieth round is evaluated, so many last ones,
    and those in `record`.
    """
    commit()  # which computed_by has after the run: by then the code may be another
    recorded = {*range(0, rounds, _EVERY), *last_rounds(rounds, last), *record}
    return deep.run(
        data, method, rounds=rounds, record=sorted(recorded), checkpoint=_checkpoint("run"),
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
    """Return the step size that :func:`linrep.deep.choose_lr` takes, within a sweep."""
    commit()  # as in train
    return deep.choose_lr(
        data, method, lrs, rounds=rounds, checkpoint=_checkpoint("try"),
        callback=_noting(f"{label}, step sizes", rounds), progress=False, **settings,
    )  # fmt: skip


def _checkpoint(name):
    """Return where a run of this code has its checkpoint: other code does not go on from it."""
    return scratch(f"{name}-{source()}.pt")


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

    ``accuracy`` and ``weighted`` (of all test samples together) are means over the last rounds, in
    percent; ``fine_tuned`` is NaN where nothing was.
    """
    tuned = trace["fine_tuned"][-1] if "fine_tuned" in trace else float("nan")
    row = {
        "accuracy": 100.0 * trace.mean_of_last("accuracy", last),
        "weighted": 100.0 * trace.mean_of_last("weighted_accuracy", last),
        "fine_tuned": 100.0 * tuned,
        **computed_by(trace),
    }
    return pd.DataFrame([row])


def computed_by(trace: Trace) -> dict[str, Any]:
    """Return what a run was computed by.

    ``tf32`` is what was multiplied in TensorFloat-32 (on a CPU nothing, an empty text), ``trained``
    the seconds of the run, and ``commit`` the code's.
    """
    settings = ("device", "engine", "samples_per_second")
    return {
        **{name: trace.settings.get(name) for name in settings},
        "tf32": trace.settings.get("tf32", ""),
        "trained": trace.wall_time,
        "commit": commit(),
    }


def curve(trace: Trace) -> pd.DataFrame:
    """Return how accurate a run was against rounds, in percent, and :func:`outcome`, in rows."""
    whole = outcome(trace).drop(columns=["accuracy", "fine_tuned"])
    return accuracies(trace).merge(whole, how="cross")


def table_of_dots(
    table: pd.DataFrame,
    keys: Sequence[str],
    title: Callable[..., str],
    *,
    order: Sequence[str],
    across: int,
) -> Figure:
    """Return the picture of a table: a panel for each column, a line in it for each method.

    Parameters
    ----------
    table : DataFrame
        As :func:`linrep.figures.summaries.beside` makes it.
    keys : sequence of str
        What tells columns apart, of the table's index.
    title : callable
        ``title(*values)`` of a column, by the values of its keys.
    order : sequence of str
        Methods from top to bottom.
    across : int
        Panels side by side, at most.
    """
    from matplotlib.figure import Figure

    from linrep.figures import plotting

    panels = list(table.reset_index().groupby(list(keys), sort=False))
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.3 + 2.8 * down))
    axes = figure.subplots(down, across, sharey=True, squeeze=False)
    for ax, (values, own) in zip(axes.flat, panels, strict=False):
        plotting.dots(ax, own, order=order, limits=(0.0, 100.0))
        ax.set(title=title(*values), xlabel="accuracy (%)")
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2)
    return figure


def with_tuned(rows: pd.DataFrame, label: str = " + FT") -> pd.DataFrame:
    """Return rows in which accuracies after fine-tuning are those of methods of their own."""
    tuned = rows[rows["fine_tuned"].notna()]
    tuned = tuned.assign(method=tuned["method"] + label, accuracy=tuned["fine_tuned"])
    return pd.concat([rows, tuned], ignore_index=True).drop(columns="fine_tuned")
