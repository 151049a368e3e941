"""``{performance}`` shows the times of docs/performance.json, which `make bench` records."""

import json
from itertools import groupby
from pathlib import Path

from linrep.report.sphinx import Markdown

RECORD = Path(__file__).parents[1] / "performance.json"
#: Load per core above which others were at work: a bench keeps one of the cores busy.
ALLOWED = 1.0


class Performance(Markdown):
    optional_arguments = 0

    def lines(self):
        self.env.note_dependency(str(RECORD))
        return page(json.loads(RECORD.read_text("utf-8")))


def page(record):
    """Return the lines on a record: the machine, a remark if it was busy, and a table a bench."""
    machine = record["machine"]
    lines = ["| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in (machine | record["versions"]).items()]
    if max(machine["load before"], machine["load after"]) > ALLOWED * machine["cores"]:
        lines += ["", "**Others were at work on this machine: these times are too long.**"]
    for bench, times in groupby(record["times"], key=lambda time: time["bench"]):
        lines += ["", f"## {bench}", "", *table(list(times))]
    return lines


def table(times):
    """Return the lines of a bench's table: NumPy's time over each contender's of the same size."""
    numpy = {time["size"]: time["median"] for time in times if time["contender"] == "NumPy"}
    lines = ["| | | median | interquartile range | × NumPy |", "| --- | --- | --: | --: | --: |"]
    for size, same in groupby(times, key=lambda time: time["size"]):
        for place, time in enumerate(same):
            ratio = f"{numpy[size] / time['median']:.3g}" if time["contender"] != "NumPy" else ""
            spread = [duration(time[name]) for name in ("median", "iqr")]
            cells = ["" if place else size, time["contender"], *spread, ratio]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def duration(seconds):
    """Return a time in the unit that suits it."""
    unit, scale = next(
        (unit, scale)
        for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
        if seconds >= scale or unit == "ns"
    )
    return f"{seconds / scale:.3g} {unit}"


def setup(app):
    app.add_directive("performance", Performance)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
