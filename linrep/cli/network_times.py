"""How much of a table of networks is done, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from linrep._lib.progress import progress_bar
from linrep._lib.threads import one_thread
from linrep.cli.estimate import duration
from linrep.cli.text import counted, echo, frame
from linrep.figures import trial
from linrep.figures.experiment import Experiment, run_directory, run_of, runs_of, sweep_of
from linrep.sweeps import Sweep, open_run
from linrep.sweeps.chunks import FAILURES, describe
from linrep.sweeps.grid import Cell

HERE, RECORD, SCALED, TRIAL = "runs here", "the record", "the record, scaled", "a trial"
UNTRIED = "the record, without tries of step sizes"
RATIOS, MEAN = "ratios elsewhere", "its other methods"
#: Seconds and what they are judged from, by the name of a cell.
Times = dict[str, tuple[float, str]]


def plan(
    item: Experiment,
    *,
    runs: Path,
    seed: int,
    wanted: Callable[[Cell], bool],
    kept: pd.DataFrame | None,
    recorded: pd.DataFrame | None,
    device: str,
    workers: int,
    try_out: bool,
) -> None:
    """Say how much of a table is done, how long the rest takes, and what that is judged from.

    Times are of runs on the device, those here before those of the record. Where a column has
    none, one of its runs can be tried out. The other methods of a column are taken to differ as
    they do elsewhere.
    """
    sweep = sweep_of(item, seed=seed)
    grid = dict(zip(sweep.names, sweep.grid, strict=True))
    here = _stored(run_directory(runs, item, sweep))
    recorded, kept = (_named(rows, sweep, grid) for rows in (recorded, kept))
    done = pd.concat([_each(here), _each(kept)]).drop_duplicates(["cell", "replicate"])
    left = {  # how many runs
        name: sweep.replicates - int((done["cell"] == name).sum())
        for name, cell in grid.items()
        if wanted(cell)
    }
    keys = [name for name in sweep.parameters if name != "method"] or ["method"]
    columns: dict[str, list[str]] = {}
    for name in left:
        columns.setdefault(repr([grid[name].get(key) for key in keys]), []).append(name)
    known = {HERE: _times(here), RECORD: _times(recorded)}
    times = _on(known, device, UNTRIED if "tried" in sweep.parameters else RECORD)
    failures = 0
    if try_out:
        missing = [own for own in columns.values() if not set(own) & set(times)
                   and any(left[name] for name in own)]  # fmt: skip
        times, failures = _with_trials(times, missing, sweep, grid, _fastest(known, recorded, grid))
    _fill(times, columns, grid, known)
    echo(f"{item.id}: {item.title}; times on {device}")
    shown = _telling([grid[own[0]] for own in columns.values()], keys)
    lines = [_line(own, left, times, grid, shown, sweep) for own in columns.values()]
    frame(pd.DataFrame(lines), 6)
    _say_in_all(left, times, device, workers)
    if failures:
        echo(f"trials of {counted(failures, 'column')} failed")
    elif any(left[name] and name not in times for name in left):
        echo("where nothing has been run, --trial runs a few rounds to judge from")


def _telling(cells, keys):
    """Return the keys that tell cells apart, without those that follow from earlier ones.

    The data are always among them, and where nothing else would be, the first key.
    """
    kept: list[str] = []
    count = 1
    for key in keys:
        groups = len({repr([cell.get(each) for each in (*kept, key)]) for cell in cells})
        if groups > count or key == "data":
            kept, count = [*kept, key], groups
    return kept or list(keys[:1])


def _line(own, left, times, grid, keys, sweep):
    """Return what is said of a column."""
    to_run = [name for name in own if left[name]]
    seconds = sum(left[name] * times.get(name, (np.nan, ""))[0] for name in to_run)
    sources = dict.fromkeys(times[name][1] for name in to_run if name in times)
    runs = len(own) * sweep.replicates
    return {key: grid[own[0]].get(key) for key in keys} | {
        "runs": runs,
        "done": runs - sum(left[name] for name in own),
        "left on one worker": duration(seconds),
        "judged from": ", ".join(sources) or "-",
    }


def _say_in_all(left, times, device, workers):
    """Say how long all takes: workers share a GPU, and a run has one worker."""
    to_run = {name: count for name, count in left.items() if count}
    seconds = {name: times[name][0] for name in to_run if name in times}
    if not seconds:
        return
    workers = workers if device == "cpu" else 1
    whole = sum(to_run[name] * each for name, each in seconds.items())
    time = duration(max(whole / workers, *seconds.values()))
    sources = {times[name][1] for name in seconds}
    all_known = len(seconds) == len(to_run) and UNTRIED not in sources
    guessed = "roughly" if {RATIOS, MEAN} & sources else "about"
    about = guessed if all_known else "at least"
    echo(f"{about} {time} on {counted(workers, 'worker')}")


def _stored(directory):
    """Return the rows of the runs made here."""
    try:
        rows = open_run(directory).read(partial=True)
    except (ValueError, OSError):
        return _named(None, None, {})
    rows = rows[rows["status"] == "ok"]
    # What goes on from a checkpoint began anew to count its seconds.
    return rows.assign(seconds=rows[[*{"seconds", "trained"} & set(rows)]].max(axis=1))


def _named(rows, sweep, grid):
    """Return recorded rows with the names of their cells, and how long their runs took."""
    if rows is None or rows.empty:
        return pd.DataFrame({"cell": [], "replicate": [], "seconds": []})
    names = {run_of(cell, 0, sweep)[:-1]: name for name, cell in grid.items()}
    cells = runs_of(rows, sweep).map(lambda run: names.get(run[:-1]))
    seconds = rows.get("trained", np.nan)
    return rows.assign(cell=cells, seconds=seconds).dropna(subset="cell")


def _each(rows):
    """Return one row for each run: a curve has many."""
    return rows.drop_duplicates(["cell", "replicate"])


def _times(rows) -> dict[str, dict[str, float]]:
    """Return how long runs of cells took on average, on each device."""
    rows = _each(rows[rows["seconds"] > 0.0])
    rows = rows.assign(device=rows.get("device", "cpu"))
    found: dict[str, dict[str, float]] = {}
    for (device, cell), seconds in rows.groupby(["device", "cell"])["seconds"].mean().items():
        found.setdefault(device, {})[cell] = seconds
    return found


def _on(known, device, unscaled) -> Times:
    """Return times of cells on a device; those of the record at the speed of the runs here."""
    here, recorded = (known[source].get(device, {}) for source in (HERE, RECORD))
    logs = [np.log(here[name] / recorded[name]) for name in here.keys() & recorded.keys()]
    factor, source = (np.exp(np.mean(logs)), SCALED) if logs else (1.0, unscaled)
    times = {name: (factor * seconds, source) for name, seconds in recorded.items()}
    return times | {name: (seconds, HERE) for name, seconds in here.items()}


def _fastest(known, recorded, grid):
    """Return methods, the fastest first, by the column in which most are known.

    Those that fine-tune come last: a trial does not see what follows the last round.
    """
    tuned = set()
    if "fine_tuned" in recorded:
        tuned = set(recorded.loc[recorded["fine_tuned"].notna(), "method"])
    best = max((times for _, times in _places(known, grid)), key=len, default={})
    return sorted(best, key=lambda method: (method in tuned, best[method]))


def _places(known, grid) -> list[tuple[set, dict[str | None, float]]]:
    """Return the settings of each column on each device, and its times by method."""
    places: dict[tuple, tuple[set, dict[str | None, float]]] = {}
    for source, devices in known.items():
        for device, times in devices.items():
            for name, seconds in times.items():
                column = _column(grid[name])
                place = places.setdefault((source, device, repr(sorted(column))), (column, {}))
                place[1][grid[name].get("method")] = seconds
    return list(places.values())


def _column(cell):
    """Return the settings of a cell but for its method."""
    return {f"{key} = {value!r}" for key, value in cell.items() if key != "method"}


def _with_trials(
    times: Times, missing: list[list[str]], sweep: Sweep, grid: Mapping[str, Cell], fastest: list
) -> tuple[Times, int]:
    """Return times with those of a trial in each column, and how many trials failed."""
    import torch

    torch.set_num_threads(1)  # as each worker does
    one_thread()
    found, failures = dict(times), 0
    rank = {method: place for place, method in enumerate(fastest)}
    with progress_bar(None, total=len(missing), desc="trials", unit="column") as bar:
        for own in missing:
            name = min(own, key=lambda each: rank.get(grid[each].get("method"), len(rank)))
            try:
                if not found.keys() - times.keys():  # what a process does once is not of a run
                    trial.seconds(sweep, grid[name])
                found[name] = trial.seconds(sweep, grid[name]), TRIAL
                echo(f"{name}: {duration(found[name][0])} a run", err=True)
            except FAILURES as error:
                failures += 1
                echo(f"{name}: {describe(error)}", err=True)
            bar.update()
    return found, failures


def _fill(
    times: Times, columns: Mapping[str, list[str]], grid: Mapping[str, Cell], known: Mapping
) -> None:
    """Fill in the other methods of columns that have times.

    A method is to another as it is in the columns most like this one: the geometric mean over
    these, and over the methods that both can be compared by. Where it cannot be, it takes as long
    as the column's others.
    """
    here = [
        (_column(grid[own[0]]), {grid[n].get("method"): times[n][0] for n in own if n in times})
        for own in columns.values()
    ]
    places = [*_places(known, grid), *here]
    for own, (settings, there) in zip(columns.values(), here, strict=True):
        for name in own if there else ():
            method = grid[name].get("method")
            if method in there:
                continue
            found: dict[int, list[float]] = {}  # by how many settings the columns share
            for column, place in places:
                alike = len(column & settings)
                for other in place.keys() & there.keys() if method in place else ():
                    ratio = place[method] / place[other]
                    found.setdefault(alike, []).append(np.log(there[other] * ratio))
            if found:
                times[name] = float(np.exp(np.mean(found[max(found)]))), RATIOS
            else:
                times[name] = float(np.mean(list(there.values()))), MEAN
