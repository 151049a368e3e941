"""What a sweep is, before it is run: whether it can be, how many replicates, bytes and time."""

from __future__ import annotations

import math
import time
import warnings

from linrep.cli.group import BadInput, bad_input
from linrep.cli.text import echo, say_count

_PROBES = 8
_PROBE_SECONDS = 10.0
_ROW_BYTES = 40.0  # of a stored row besides its numbers, compressed
_TRIAL_SECONDS = 2.0  # for settings beside the first of each algorithm
#: What leaves of a run little more than reading its settings.
_SHORT = {"rounds": 2, "iterations": 1}


def refuse(specification):
    """Raise a ValueError if an algorithm of linrep refuses its settings.

    Of cells that differ in sizes alone the first is tried with few rounds. Only what then fails
    in whole, too, with other random numbers, and in the last of these cells, is an error of all.
    """
    from linrep import simulation
    from linrep.simulation.parameters import known_parameters
    from linrep.sweeps import canonical

    if specification.function is not simulation.simulate:
        return
    groups: dict[str, list] = {}
    known = {}
    for cell in specification.grid:
        name = cell["algorithm"]
        if name in simulation.ALGORITHMS:
            family = simulation.family_of(name, specification.settings.get("problem"))
            known[name] = known_parameters(simulation.ALGORITHMS[name], family)
            sizes = (*family.sizes, *family.data)
            others = {axis: value for axis, value in cell.items() if axis not in sizes}
            groups.setdefault(canonical(others), []).append(cell)
    began = time.perf_counter()
    tried = set()
    for cells in groups.values():
        first, name = cells[0], cells[0]["algorithm"]
        if name in tried and time.perf_counter() - began > _TRIAL_SECONDS:
            continue
        tried.add(name)
        short = {
            axis: min(first.get(axis, value), value) for axis, value in _SHORT.items()
            if axis in (known[name] or ()) and isinstance(first.get(axis, value), int | float)
        }  # fmt: skip
        if (
            _refusal(specification, first, 0, short)
            and _refusal(specification, cells[-1], 1)
            and (error := _refusal(specification, first, 1))
        ):
            raise ValueError(f"{name}: {error}")


def _refusal(specification, cell, replicate, short=None):
    """Return the error of a replicate that says what is wrong with its settings, None if none."""
    import numpy as np

    from linrep.sweeps.chunks import call

    keys, settings = specification.keys(cell), specification.settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sweep says them
        try:
            call(specification.function, {**cell, **(short or {})}, keys, replicate, settings)
        except np.linalg.LinAlgError:  # a ValueError, but of the data
            pass
        except (ValueError, TypeError) as error:
            return error
        except Exception:  # the sweep stores it
            pass
    return None


def estimate(specification, out, *, workers, extend, retry_failed, same_code):
    """Say how much a sweep is, from a few replicates run here and thrown away."""
    from linrep.sweeps.chunks import FAILURES, call, read_rows
    from linrep.sweeps.codes import Codes
    from linrep.sweeps.directories import check_code, check_directory
    from linrep.sweeps.store import open_run

    with bad_input(ValueError, OSError):
        check_directory(out, specification, extend=extend)
        check_code(out, Codes(specification), retry_failed=retry_failed, same_code=same_code)
    cells = list(specification.grid)
    total = len(cells) * specification.replicates
    stored = open_run(out).count() if (out / "sweep.json").exists() else 0
    step = max(1, len(cells) // _PROBES)
    seconds, rows, columns, error, failed = [], 0, 0, None, 0
    began = time.perf_counter()
    for index, cell in enumerate([cells[0], *cells[::step]]):
        before = time.perf_counter()
        try:
            keys = specification.keys(cell)
            result = call(specification.function, cell, keys, 0, specification.settings)
            new_rows = read_rows(result, specification.parameters)
        except FAILURES as failure:
            error, new_rows = failure, [{}]
            failed += 1
        if index > 0:  # the first may compile
            seconds.append(time.perf_counter() - before)
            rows += len(new_rows)
            columns = max(columns, *map(len, new_rows)) if new_rows else columns
        if seconds and time.perf_counter() - began > _PROBE_SECONDS:
            break
    if failed == len(seconds) + 1:
        raise BadInput(f"all replicates that were tried fail: {type(error).__name__}: {error}")
    missing = total - stored
    each = sum(seconds) / len(seconds)
    size = missing * rows / len(seconds) * (_ROW_BYTES + 8.0 * columns)
    replicates = say_count(specification.replicates, "replicate")
    echo(f"{say_count(len(cells), 'cell')}, {replicates} each: {total}")
    for reason, count in specification.grid.left_out.items():
        echo(f"{say_count(count, 'cell')} left out: {reason}")
    if stored:
        echo(f"stored in {out} already: {stored}")
    echo(f"about {_bytes(size)} in {out}")
    echo(
        f"about {duration(missing * each / workers)} on {say_count(workers, 'worker')}, "
        f"estimated from one replicate of {say_count(len(seconds), 'cell')}"
    )
    if error is not None:
        echo(f"a replicate failed: {type(error).__name__}: {error}")


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if math.isnan(seconds):
        return "-"
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 9.5 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _bytes(size):
    if size < 1000:
        return f"{size:.0f} bytes"
    for unit in ("kB", "MB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"
