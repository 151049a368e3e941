"""``{networks} ID`` shows a table or figure of networks as it is recorded, beside the paper.

All numbers are those of ``figures/networks/ID.json``. What was meant to run and has not is named.
``{networks_run}`` says of every table how much of it has run.
"""

import inspect
from html import escape
from pathlib import Path

import pandas as pd

import linrep
from linrep.figures import experiment
from linrep.figures.networks import TITLES
from linrep.figures.reproduction import read_record
from linrep.report.sphinx import Markdown

FIGURES = Path(linrep.__file__).parents[1] / "figures" / "networks"
HIGHEST, OPEN, FEW = "highest", "not distinguishable", "too few replicates"


class Networks(Markdown):
    def lines(self, name):
        path = FIGURES / f"{name}.json"
        if not path.is_file():
            return [f"`{name}` is not recorded; `linrep figures {name} --data FOLDER` draws it."]
        up = "../" * (1 + self.env.docname.count("/"))
        self.env.note_dependency(str(path))
        manifest, rows = read_record(FIGURES, name)
        return entry(manifest, f"{up}figures/networks/{name}.svg", rows, renamed(name))


class Run(Markdown):
    optional_arguments = 0

    def lines(self):
        rows = ["| | runs recorded | seeds |", "| --- | --- | --- |"]
        for name in sorted(experiment.available()):
            path = FIGURES / f"{name}.json"
            if not name.startswith("deep.") or name == "deep.digits":
                continue
            title = experiment.load(name).title.partition(":")[0]
            if not path.is_file():
                rows.append(f"| {title} | none | |")
                continue
            self.env.note_dependency(str(path))
            manifest, recorded = read_record(FIGURES, name)
            result = manifest["result"]
            seeds = [line["replicates"]["value"] for line in result["summary"]["lines"]]
            spread = f"{min(seeds)} to {max(seeds)}" if min(seeds) < max(seeds) else str(max(seeds))
            rows.append(f"| {title} | {share(result, recorded)} | {spread} |")
        return rows


def runs_of(result, rows):
    """Return a row for each run: by the parameters of cells, and the replicate."""
    names = dict.fromkeys(name for cell in result["settings"]["cells"] for name in cell)
    return rows.drop_duplicates([*(name for name in names if name in rows), "replicate"])


def share(result, rows):
    """Return how many of the runs that were meant to be are recorded."""
    recorded = len(runs_of(result, rows))
    return f"{recorded} of {recorded + result['settings'].get('absent', 0)}"


def renamed(name):
    """Return what a script does to rows before it groups them into columns."""
    module = inspect.getmodule(experiment.load(name).at().replicate)
    return getattr(module, "named", lambda rows: rows)


def entry(manifest, picture, rows=None, named=lambda rows: rows):
    """Return the lines of Markdown about a recorded table or figure.

    Parameters
    ----------
    manifest : dict
    picture : str
        Its address.
    rows : DataFrame, optional
        All rows that are recorded.
    named : callable
        See :func:`renamed`.
    """
    result = manifest["result"]
    lines = [
        *([] if rows is None else [f"**{share(result, rows)} runs.**", ""]),
        f"```{{image}} {picture}",
        f":alt: {manifest['title']}",
        ":class: figure",
        "```",
        "",
        # The picture has it, too, in letters that are small on a phone.
        f"<details><summary>Caption</summary>{escape(result['caption'])}</details>",
        "",
    ]
    for name, about in manifest["provenance"].get("data", {}).items():
        text = (about["about"] or "no description in the file").rstrip(".")
        lines += [f"Data `{name}`, SHA-256 {about['sha256'][:12]}…: {escape(text)}.", ""]
    row = row_label(result["summary"])
    labels = [name for name in result["summary"]["labels"] if name != row]
    meant = named(pd.DataFrame(result["settings"]["cells"])).to_dict("records")
    if row == "method":  # a number of clients that follows from the data names no column
        labels = [name for name in labels if all(name in cell for cell in meant)]
    columns = by_column(result["summary"], labels)
    wanted = runs_by_column(meant, labels) if row == "method" else {}
    if rows is not None and "trained" in rows:
        lines += [time_taken(runs_of(result, rows)), ""]
    for column, found in columns.items():
        lines += [f"**{escape(column)}**", "", *table(found, row), ""]
        if row != "method":
            continue
        lines += [*remarks(found), ""]
        shown = {line["method"] for line in found}
        if missing := [method for method in wanted.get(column, ()) if method not in shown]:
            lines += [f"*Not run:* {'; '.join(missing)}.", ""]
    if absent := [column for column in wanted if column not in columns]:
        lines += ["*Not run at all:* " + "; ".join(map(escape, absent)) + ".", ""]
    return lines


def time_taken(runs):
    """Return how long the runs of a table trained, all together, on what, and by which code."""
    hours = runs["trained"].sum() / 3600.0
    took = f"{hours:.1f} hours" if hours >= 1.0 else f"{60.0 * hours:.0f} minutes"
    devices = ", ".join(sorted(runs["device"].unique()))
    text = (
        f"{len(runs)} runs, which trained for {took} together, evaluations included, one thread "
        f"each (device: {devices})"
    )
    if "commit" in runs:
        counts = runs["commit"].fillna("an unknown commit").value_counts(sort=False)
        text += f", by the code of {', '.join(f'{name} ({n})' for name, n in counts.items())}"
    return f"{text}."


def by_column(summary, labels):
    """Return the lines of a summary by their column, which these labels name."""
    found = {}
    for line in summary["lines"]:
        found.setdefault(_title(line, labels), []).append(line)
    return found


def row_label(summary):
    """Return the label of the rows of a table: methods, or what the summary has last."""
    return "method" if "method" in summary["labels"] else summary["labels"][-1]


def runs_by_column(cells, labels):
    """Return the methods that were to run in each column."""
    found = {}
    for cell in cells:
        found.setdefault(_title(cell, labels), []).append(cell["method"])
    return found


def _title(line, labels):
    return ", ".join(_label(name, line[name]) for name in labels)


def _label(name, value):
    if not isinstance(value, str):
        return f"{name.replace('_', ' ')} = {value:g}"
    known, *more = value.split(", ")
    return ", ".join([TITLES.get(known, known), *more])


def table(lines, row="method"):
    """Return the numbers of a column, the highest first, beside those of the paper."""
    value = next(name for name in ("accuracy", "error") if name in lines[0])
    steps = any("lr" in line for line in lines)
    rows = [
        f"| {row} | paper | {value} here | 95 % interval | seeds | order |"
        + " step sizes chosen |" * steps,
        "| --- | --- | --- | --- | --- | --- |" + " --- |" * steps,
    ]
    digits = ".3f" if value == "error" else ".1f"
    orders = {line.get("order", {}).get("value") for line in lines}
    untested = orders <= {HIGHEST, FEW}
    for line in sorted(lines, key=lambda line: -_number(line, value)):
        low, high = _number(line, "low"), _number(line, "high")
        cells = [
            str(line[row]),
            printed(_number(line, "paper"), _number(line, "paper_error")),
            _text(_number(line, value), digits),
            "–" if low is None else " to ".join(_text(end, digits) for end in (low, high)),
            str(line["replicates"]["value"]),
            FEW if untested else line.get("order", {}).get("value", ""),
            *([line["lr"]["value"]] if steps else []),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def remarks(lines):
    """Return where the seeds contradict the paper's order, as far as it concerns the highest."""
    by_method = {line["method"]: line for line in lines}
    order = {name: line.get("order", {}).get("value") for name, line in by_method.items()}
    paper = {name: _number(line, "paper") for name, line in by_method.items()}
    known = {name: number for name, number in paper.items() if number is not None}
    best = next((name for name, word in order.items() if word == HIGHEST), None)
    if best is None or len(known) < 2:
        return []
    text = f"Highest in the paper among these: {max(known, key=known.get)}; here {best}"
    if not {OPEN, "lower"} & {*order.values()}:
        return [f"{text}, of too few seeds to claim an order."]
    if ties := [name for name, word in order.items() if word == OPEN]:
        text += f", from which the seeds do not distinguish {'; '.join(ties)}"
    if best in known and (
        other := [
            name
            for name, word in order.items()
            if word == "lower" and known.get(name, 0.0) > known[best]
        ]
    ):
        text += f". Above {best} in the paper and below it here: {'; '.join(other)}"
    return [f"{text}."]


def _number(line, name):
    return line.get(name, {}).get("value")


def printed(number, error=None):
    """Return a number of a paper, with what it prints after ±."""
    if error is None:
        return _text(number, ".2f")
    return f"{number:.2f} ± {error:{'.2f' if error >= 0.1 else '.3f'}}"


def _text(value, form=".1f"):
    return "–" if value is None else format(value, form)


def setup(app):
    app.add_directive("networks", Networks)
    app.add_directive("networks_run", Run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
