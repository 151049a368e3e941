"""What a run leaves behind."""

from __future__ import annotations

from collections.abc import Hashable, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.extras import need
from linrep._lib.labelled import attributes, described
from linrep.problems import prediction

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from linrep.stats import ContractionRate

#: Metrics that a plot shows on a logarithmic axis, with the axis label.
LABELS = {
    "distance": "principal-angle distance",
    "loss": "training loss",
    "head_error": "head error",
    "population_risk": "population risk",
    "error": "relative error of B W' against its target",
    "client_error": "mean error per client against the target",
    "truth_error": "mean error per client against the truth",
    "objective": "objective",
    "gap": "objective above its optimum",
    "gradient_U": "squared gradient in U",
    "gradient_V": "squared gradient in V",
    "average_U": "mean squared gradient in U so far",
    "average_V": "mean squared gradient in V so far",
    "floats_up": "floats sent to the server",
    "floats_down": "floats sent to the clients",
}

#: At a microsecond a round, which is what the smallest take, longer than a day.
MOST_ROUNDS = 10**11
#: Numbers that a recorded round takes: its own and its metrics.
_PER_RECORD = 20

_ENDS = {
    "rounds": "ran all of its {}",
    "converged": "converged after {}",
    "diverged": "diverged after {}",
    "stalled": "stalled after {}",
    "singular": "ended after {}, where a factor lost rank",
}

_MOST_SHOWN = 10  # trials, where they show themselves

#: What the arrays of clients' models go over.
_DIMENSIONS = {
    "B": ("feature", "component"),
    "W": ("client", "component"),
    "theta": ("client", "feature"),
}


@dataclass(eq=False)
class Trace:
    """Metrics per round, final state and settings of one run.

    ``trace["distance"]`` is the array of a metric; row 0 belongs to the start, row t to the state
    after t rounds, or, where only some rounds were recorded, after ``trace.recorded[t]`` rounds.

    Attributes
    ----------
    algorithm : str
        Name of the method.
    metrics : dict of str to ndarray, one number per row
        - ``distance``: principal-angle distance of B to B* (not squared);
        - ``loss``: mean of (1/2m)||y_i - X_i B w_i||^2 over the clients of the round, after their
          heads and before the representation moved; NaN in row 0;
        - ``head_error``: root mean square over all clients of ||B w_i - P_B B* w_i*||, the error
          that better heads on this representation would remove;
        - ``population_risk``: (1/2n) sum_i ||B w_i - B* w_i*||^2, the excess risk for covariates
          of covariance I;
        - ``floats_up``, ``floats_down``: numbers sent to the server and to the clients so far, by
          all clients together, the start included.

        The first, third and fourth need a known truth. A method's own metrics are in its
        documentation.
    state : dict of str to ndarray
        Final ``B`` (d, k) and ``W`` (n, k), or what the method has instead.
    settings : dict
        Everything the run depended on, except the data and the random numbers.
    stop_reason : {"rounds", "converged", "diverged", "stalled"}
        Budget used up; tolerance reached; numbers no longer finite or B no longer of full rank, in
        which case metrics and state are those of the last good round. On samples without a truth a
        training loss a hundred times the first one is divergence, too, and the state is that of the
        recorded round with the least loss; and a run has stalled that found no step down, although
        there is one.
    wall_time : float
        Seconds.
    recorded : ndarray of int
        The round each row belongs to; all of them unless a method records fewer. A run that goes
        on from another trace begins with that one's last round.
    checkpoint : object
        What a further run needs to continue from here, ``algorithm(problem, start=trace, ...)``:
        the state once more, and where the random streams are. Changing `state` does not change it.
        None where the algorithm takes no trace as its start.
    clients : tuple, optional
        Names of the clients in the order of the state's rows; None stands for 0 … n - 1.
    columns : tuple, optional
        Names of the covariates, ``columns`` of :class:`linrep.ClientData`.
    notes : tuple of str
        Notes on a run on samples without a truth, each with its remedy: that it diverged or hardly
        moved, or what its covariates lack. Each was also issued once as a
        :class:`linrep.RunWarning`.
    """

    algorithm: str
    metrics: dict[str, NDArray[np.float64]]
    state: dict[str, NDArray[np.float64]]
    settings: dict[str, Any] = field(default_factory=dict)
    stop_reason: str = "rounds"
    wall_time: float = float("nan")
    recorded: Any = None
    checkpoint: Any = field(default=None, repr=False, compare=False)
    clients: tuple[Hashable, ...] | None = field(default=None, repr=False)
    columns: tuple[Hashable, ...] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        if self.recorded is None:
            self.recorded = np.arange(len(next(iter(self.metrics.values()), [0])))

    def __getitem__(self, metric: str) -> NDArray[np.float64]:
        try:
            return self.metrics[metric]
        except KeyError:
            known = ", ".join(map(repr, self.metrics))
            raise KeyError(f"no metric {metric!r} in this trace; it has {known}") from None

    def __contains__(self, metric: object) -> bool:
        return metric in self.metrics

    def __iter__(self):
        return iter(self.metrics)

    def keys(self) -> KeysView[str]:
        """Return the names of the metrics."""
        return self.metrics.keys()

    @property
    def rounds(self) -> int:
        """Number of rounds completed."""
        return int(self.recorded[-1])

    @property
    def step_size(self) -> float:
        """Step size of the representation, in the run's normalization."""
        return self.settings["step_size"]

    @property
    def models(self) -> NDArray[np.float64]:
        """The clients' models, shape (n, d), in the order of `clients`.

        The state's ``theta``, W B', or V U', which completes a matrix where there is no side
        information. If the state has ``biases``, predictions add them. ValueError if the state has
        no models, as with simulated batches of an implicit truth.
        """
        return prediction.models(self)

    def predict(self, data: Any) -> NDArray[np.float64] | pd.Series:
        """Predict labels of clients' samples, or entries of a matrix.

        Parameters
        ----------
        data : ClientData or Observations
            Samples of clients that the run learned models of, found by name; entries of the matrix
            that it completed, with the same side information.

        Returns
        -------
        ndarray or Series, shape (N,)
            Products with the models, that is, log-odds if the losses are logistic: in the order of
            the rows that the data were made from, with their index if they had one, otherwise in
            the order of the data.

        Raises
        ------
        ValueError, TypeError
            If a client is unknown, the data are of another dimension or kind, columns have other
            names or another order, or the state has no
            models.

        See Also
        --------
        linrep.fit_new_clients
        """
        return prediction.predict(self, data)

    @overload
    def score(self, data: Any, *, by: None = None, measure: str = ...) -> float: ...

    @overload
    def score(self, data: Any, *, by: str, measure: str = ...) -> pd.Series: ...

    def score(
        self, data: Any, *, by: str | None = None, measure: str = "explained_variance"
    ) -> float | pd.Series:
        r"""Measure how well labels or entries are predicted.

        Parameters
        ----------
        data : ClientData or Observations
            As for :meth:`predict`.
        by : {None, "client"}
            For all together, or for each client that has any.
        measure : {"explained_variance", "rmse"}
            :math:`1 - \sum (y - \hat y)^2 / \sum (y - \bar y)^2`, with the mean of the labels
            measured: of all, or of the client; or the root mean square error, in the data's units.

        Returns
        -------
        float or Series
            A Series by client's name. The share is NaN where the labels do not vary, and negative
            where their mean is a better prediction.

        Raises
        ------
        ValueError, TypeError
            As :meth:`predict`.
        """
        return prediction.score(self, data, by=by, measure=measure)

    def summary(self) -> str:
        """Return in words how the run went: its rounds, its loss or distance, its step, its notes.

        Examples
        --------
        >>> import linrep as lr
        >>> truth = lr.SharedRepresentation.random(n=100, d=20, k=2, rng=0)
        >>> print(lr.fedrep(truth, m=10, rounds=200, tolerance=1e-6, rng=1).summary())
        """
        done = f"{self.rounds} round{'s' if self.rounds != 1 else ''}"
        lines = [f"{self.algorithm} {_ENDS[self.stop_reason].format(done)}."]
        for name in ("distance", "error", "objective", "loss"):
            if name in self:
                there = np.flatnonzero(np.isfinite(self[name]))
                if there.size:
                    first, last = there[0], there[-1]
                    lines.append(
                        f"The {LABELS[name]} went from {self[name][first]:.3g} in round "
                        f"{self.recorded[first]} to {self[name][last]:.3g} in round "
                        f"{self.recorded[last]}."
                    )
                break
        rule = self.settings.get("step_size_rule")
        if rule is not None:
            prescribed = self.settings.get("prescribed_step_size")
            beside = "" if prescribed is None else f"; the paper's would be {prescribed:.3g}"
            step = self.settings.get("step_size")
            taken = f"{step:.3g}, " if isinstance(step, float | int) else ""
            how = "as given" if rule == "given" else f"by the rule {rule!r}"
            lines.append(f"Its step size was {taken}{how}{beside}.")
        return "\n".join([*lines, *(f"{note[0].upper()}{note[1:]}." for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics as a DataFrame, one row per record, indexed by ``round``."""
        import pandas as pd

        index = pd.Index(self.recorded, name="round")
        return pd.DataFrame(self.metrics, index=index)

    def to_xarray(self) -> xr.Dataset:
        """Return the run as a dataset of xarray, which can be written to NetCDF.

        Returns
        -------
        xarray.Dataset
            The metrics along ``round``, the arrays of the state and ``wall_time``. Of models of
            clients the dimensions are ``client``, ``feature`` and ``component``, other arrays have
            dimensions of their own. Its attributes are the algorithm, how the run ended, and the
            settings.

        Raises
        ------
        ModuleNotFoundError
            Without xarray, which ``linrep[xarray]`` brings.
        """
        need("xarray", "to_xarray")
        import xarray as xr

        metrics = {
            name: ("round", values, described(name, LABELS.get(name)))
            for name, values in self.metrics.items()
        }
        state = {name: (_dimensions(name, array), array) for name, array in self.state.items()}
        clients = {} if self.clients is None else {"client": list(self.clients)}
        return xr.Dataset(
            {**state, **metrics, "wall_time": ((), self.wall_time, described("wall_time"))},
            {"round": self.recorded, **clients},
            attributes(
                {
                    **self.settings,
                    "algorithm": self.algorithm,
                    "stop_reason": self.stop_reason,
                    "notes": "; ".join(self.notes) or None,
                }
            ),
        )

    def mean_of_last(self, metric: str, rounds: int = 10) -> float:
        """Return the mean of a metric over those of the last rounds that were recorded.

        Parameters
        ----------
        metric : str
            Name of the metric.
        rounds : int
            How many rounds count as the last, recorded or not. The start, row 0, is not a round and
            does not count, even if the run was shorter.

        Returns
        -------
        float

        Raises
        ------
        KeyError
            If there is no such metric.
        ValueError
            If none of these rounds was recorded.

        Notes
        -----
        FedRep, Appendix A.2, "Evaluation", with ten rounds.
        """
        count = check.integer("rounds", rounds, minimum=1)
        values, last = self[metric], np.isin(self.recorded, last_rounds(self.rounds, count))
        if not last.any():
            raise ValueError("mean_of_last needs a recorded round, this trace has only its start")
        return float(values[last].mean())

    def rate(self, metric: str = "distance", *, confidence: float = 0.95) -> ContractionRate:
        """Return the contraction of a metric per round, its interval, and the plateau.

        Parameters
        ----------
        metric : str, default "distance"
            Distances below the unit of rounding, 2.2e-16, count as equal to it.
        confidence : float, default 0.95
            Level of the interval, in (0, 1).

        Raises
        ------
        ValueError
            If not every round was recorded, or a value of another metric is not positive.

        See Also
        --------
        linrep.stats.contraction_rate
        """
        from linrep.stats import contraction_rate

        values = self[metric]
        if len(self.recorded) != self.rounds - self.recorded[0] + 1:
            raise ValueError("rate needs every round, this trace recorded only some")
        floor = np.finfo(np.float64).eps if metric == "distance" else 0.0
        return contraction_rate(values[np.isfinite(values)], confidence=confidence, floor=floor)

    def plot(
        self,
        metric: str = "distance",
        *,
        beside: Mapping[str, ArrayLike] | None = None,
        ax: Axes | None = None,
        **line: Any,
    ) -> Axes:
        """Draw a metric against rounds on a logarithmic axis; return the matplotlib axes.

        Parameters
        ----------
        metric : str, default "distance"
        beside : mapping of str to array_like, optional
            Thin broken lines by their label, such as a bound or a limit, on top of the run, which
            is thick and pale then: a value for the start and for each round.
        ax : Axes, optional
            Where to draw; a new figure's by default.
        **line
            For :meth:`matplotlib.axes.Axes.plot`; the label is the algorithm by default.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        look = {"linewidth": 3.5, "alpha": 0.4} if beside else {}
        (run,) = ax.plot(self.recorded, self[metric], **{"label": self.algorithm, **look, **line})
        for place, (label, values) in enumerate((beside or {}).items()):
            numbers = check.numbers(f"beside[{label!r}]", values)
            ax.plot(
                np.arange(len(numbers)), numbers, ("--", ":", "-.")[place % 3], label=label,
                color=run.get_color(), linewidth=1.2, zorder=run.get_zorder() + 1,
            )  # fmt: skip
        ax.set(xlabel="round", ylabel=LABELS.get(metric, metric), yscale="log")
        ax.legend()
        return ax

    def _last_row(self):
        last = {name: values[-1] for name, values in self.metrics.items()}
        return {
            # The budget is used up unless something else ended the run.
            "rounds": str(self.rounds)
            + ("" if self.stop_reason == "rounds" else f" ({self.stop_reason})"),
            **{LABELS.get(name, name): f"{value:.6g}" for name, value in last.items()},
            "wall time": f"{self.wall_time:.3g} s",
            **({"notes": "; ".join(self.notes)} if self.notes else {}),
        }

    def __repr__(self):
        lines = "".join(f"\n  {name}: {value}" for name, value in self._last_row().items())
        return f"Trace of {self.algorithm}{lines}"


class Trials(list[Trace]):
    """Traces of several trials in their order, as :func:`linrep.run_trials` returns them.

    Parameters
    ----------
    iterable : iterable of Trace, optional
    """

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics, one row per trial (column ``replicate``) and recorded round."""
        import pandas as pd

        tables = {number: trace.to_frame() for number, trace in enumerate(self)}
        return pd.concat(tables, names=["replicate"]).reset_index()

    def plot(self, metric: str = "distance", *, ax: Axes | None = None, **line: Any) -> Axes:
        """Draw a metric of every trial, all in one colour; return the matplotlib axes.

        Parameters
        ----------
        metric, ax
            As in :meth:`Trace.plot`.
        **line
            As in :meth:`Trace.plot`; one colour, and one label, for all.

        Raises
        ------
        ValueError
            If there is no trial.
        """
        if not self:
            raise ValueError("there is no trial to draw")
        first, *others = self
        axes = first.plot(metric, ax=ax, **line)
        line |= {"color": axes.lines[-1].get_color(), "label": "_nolegend_"}
        for trace in others:
            trace.plot(metric, ax=axes, **line)
        return axes

    def __repr__(self):
        lines = [
            f"\n  {number}: {', '.join(f'{name} {value}' for name, value in row.items())}"
            for number, row in self._rows()
        ]
        return f"{self._title()}{''.join(lines)}{self._rest()}"

    def _rows(self):
        return [(number, trace._last_row()) for number, trace in enumerate(self[:_MOST_SHOWN])]

    def _title(self):
        names = ", ".join(dict.fromkeys(trace.algorithm for trace in self))
        return f"{len(self)} trials of {names}" if self else "no trials"

    def _rest(self):
        rest = len(self) - _MOST_SHOWN
        return f"\n  and {rest} more" if rest > 0 else ""


def _dimensions(name, array):
    """Return the dimensions of an array of the state."""
    known = _DIMENSIONS.get(name, ())
    if len(known) == np.ndim(array):
        return known
    return tuple(f"{name}_{axis}" for axis in range(np.ndim(array)))


def read_rounds(rounds: Any, record: Any = 1) -> int:
    """Return the number of rounds, if they can be run and what is to be recorded of them kept.

    Parameters
    ----------
    rounds : int
        From 0 to `MOST_ROUNDS`.
    record : int or list of int
        As :func:`read_record` takes it.

    Raises
    ------
    ValueError, TypeError
        If it is out of range, or no integer, or what is recorded does not fit into memory.
    """
    rounds = check.count("rounds", rounds, minimum=0, most=MOST_ROUNDS)
    if np.ndim(record) == 0:
        every = check.integer("record", record, minimum=1)
        kept = _PER_RECORD * (rounds // every)
        memory.require("the metrics", kept, rounds=rounds, record=every)
    return rounds


def read_record(record: int | ArrayLike, rounds: int) -> list[int]:
    """Return the rounds to record, increasing, from 0 to the last.

    Parameters
    ----------
    record : int or list of int
        Every so many rounds, or these, between 0 and `rounds`.
    rounds : int
        The last round.

    Raises
    ------
    ValueError, TypeError
        If it is neither.
    """
    if np.ndim(record) == 0:
        every = check.integer("record", record, minimum=1)
        return [*range(0, rounds, every), rounds]
    values = check.read_array("record", record)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise ValueError("record must be an integer or a list of rounds")
    if values.size and not (values.min() >= 0 and values.max() <= rounds):
        raise ValueError(f"record must hold rounds between 0 and {rounds}")
    return sorted({0, *values.tolist(), rounds})


def columns(rows: Sequence[Mapping[str, float]]) -> dict[str, NDArray[np.float64]]:
    """Return the rows of a table, which have the same keys, as one array per key.

    Parameters
    ----------
    rows : sequence of mappings of str to float
        At least one.
    """
    if not rows or not isinstance(rows[0], Mapping):
        raise ValueError("rows must hold mappings, at least one")
    return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}


def last_rounds(rounds: int, count: int = 10) -> range:
    """Return the last rounds of a run, those that :meth:`Trace.mean_of_last` averages.

    Parameters
    ----------
    rounds : int
        Of the run.
    count : int, default 10
        At most so many, and never the start.
    """
    return range(max(rounds - count, 0) + 1, rounds + 1)
