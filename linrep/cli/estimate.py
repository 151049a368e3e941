"""How much a sweep is, before it is run: replicates, bytes and time."""

from __future__ import annotations

import math
import time

from linrep.cli.group import BadInput, bad_input
from linrep.cli.text import counted, echo

_PROBES = 8
_PROBE_SECONDS = 10.0
_ROW_BYTES = 40.0  # of a stored row besides its numbers, compressed


def estimate(specification, out, workers, *, extend):
    """Say how much a sweep is, from a few replicates run here and thrown away."""
    from linrep.sweeps.chunks import FAILURES, call, read_rows
    from linrep.sweeps.directories import check_directory
    from linrep.sweeps.store import open_run

    with bad_input(ValueError, OSError):
        check_directory(out, specification, extend=extend)
    cells = list(specification.grid)
    total = len(cells) * specification.replicates
    stored = open_run(out).count() if (out / "sweep.json").exists() else 0
    step = max(1, len(cells) // _PROBES)
    seconds, rows, columns, error, failed = [], 0, 0, None, 0
    began = time.perf_counter()
    for place, cell in enumerate([cells[0], *cells[::step]]):
        before = time.perf_counter()
        try:
            keys = specification.keys(cell)
            result = call(specification.function, cell, keys, 0, specification.settings)
            found = read_rows(result, specification.parameters)
        except FAILURES as failure:
            error, found = failure, [{}]
            failed += 1
        if place > 0:  # the first may compile
            seconds.append(time.perf_counter() - before)
            rows += len(found)
            columns = max(columns, *map(len, found)) if found else columns
        if seconds and time.perf_counter() - began > _PROBE_SECONDS:
            break
    if failed == len(seconds) + 1:
        raise BadInput(f"all replicates that were tried fail: {type(error).__name__}: {error}")
    missing = total - stored
    each = sum(seconds) / len(seconds)
    size = missing * rows / len(seconds) * (_ROW_BYTES + 8.0 * columns)
    replicates = counted(specification.replicates, "replicate")
    echo(f"{counted(len(cells), 'cell')}, {replicates} each: {total}")
    for reason, count in specification.grid.left_out.items():
        echo(f"{counted(count, 'cell')} left out: {reason}")
    if stored:
        echo(f"stored in {out} already: {stored}")
    echo(f"about {_bytes(size)} in {out}")
    echo(
        f"about {duration(missing * each / workers)} on {counted(workers, 'worker')}, "
        f"judged from one replicate of {counted(len(seconds), 'cell')}"
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
