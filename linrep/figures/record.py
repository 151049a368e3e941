"""What is recorded of a figure, and how another run compares with it.

A manifest, a recorded file of JSON to which the picture and the stored rows belong, keeps two
things apart: the *result* (caption, settings, digest of the rows, the numbers of the summary),
which the same code and seed give again, and the *provenance*, which they do not.
Every number of a recorded summary says what makes it comparable, one of

- ``tolerance``: it does not vary over replicates, or is their number;
- ``interval``: where another, independent run has it (:func:`linrep.stats.rerun_interval`);
- ``share``: so many of so many replicates, a :class:`~linrep.figures.counts.Share`;
- ``order``: replicates won, tied and lost, an :class:`~linrep.figures.counts.Order`;
- ``of``: it is an end of the interval of that number, or its standard error (columns ``low``,
  ``high`` and ``sem`` after it), and varies with it.

All of them together find a difference between two runs of the same sweep with probability 1.2 %.
That is exact for means of normal replicates, and at most so for shares and orders; otherwise it is
nominal: the median of replicates that fall into two clusters, or a mean of which one replicate in
twenty makes up most, is outside in more than one of a hundred pairs of runs by itself. At 1 % over
all numbers shares of ten replicates and fewer cannot be outside: then the outcome says so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from linrep import stats
from linrep._lib import records
from linrep.figures.counts import Counts, Order, Share, numbers

Summary = Callable[[pd.DataFrame], pd.DataFrame]
#: Probability that any number of the whole record is not matched by another run.
LEVEL = 0.017
#: So many numbers the whole record may have, ends of intervals not counted: figures are recorded
#: one by one, each number at its share of the level.
CAPACITY = 3400
_EACH = LEVEL / CAPACITY
#: Relative difference up to which numbers have the same digits.
DIGITS = 1e-10
#: Relative difference that is allowed for what does not vary over replicates.
TOLERANCE = 1e-8
SAME, INSIDE, OUTSIDE = "same digits", "inside the recorded interval", "outside"
#: Outcome of what differs, where no value at all would be outside.
TOO_FEW = "too few replicates to tell"
#: Other outcomes: of texts and digests, which have no interval; and of a recorded number that the
#: stored rows do not give.
OTHER, CHANGED = "other digits", "not that of the stored rows"
_ENDS = ("low", "high", "sem")


def _as_json(manifest):
    """Return a manifest as text, a line for each cell and each line of the summary."""
    marks: dict[str, str] = {}

    def flat(values):
        texts = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values]
        places = [f"@{len(marks) + i}@" for i in range(len(texts))]
        marks.update(zip(places, texts, strict=True))
        return places

    result = manifest["result"]
    short = {
        **manifest,
        "result": {
            **result,
            "settings": {**result["settings"], "cells": flat(result["settings"]["cells"])},
            "summary": {**result["summary"], "lines": flat(result["summary"]["lines"])},
        },
    }
    text = json.dumps(short, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r'"(@\d+@)"', lambda mark: marks[mark[1]], text)


#: Manifests, to which the picture and the stored rows belong.
KIND = records.Kind("figure", "linrep figures ID --record", lambda values: values, text=_as_json)


def read(path: Path) -> Mapping[str, Any]:
    """Return a manifest; a ValueError says that it is damaged, or that of another figure."""
    manifest = KIND.read(path)
    if manifest["id"] != path.stem:
        raise ValueError(f"{path} is the manifest of {manifest['id']}")
    return manifest


def digest(rows: pd.DataFrame) -> str:
    """Return SHA-256 of a table's columns, whatever library holds or stores it.

    Parameters
    ----------
    rows : DataFrame
        Columns of numbers, truth values and text, any of it missing.

    Notes
    -----
    By column, in the order of their names: the name, the kind (``f``, ``i``, ``b`` or ``s``), and
    the values as little-endian float64 or int64, as bytes 0 and 1, or as texts in UTF-8, each after
    its length. Every NaN has the same bits, missing text has the length -1.
    """
    whole = hashlib.sha256()
    for name in sorted(rows.columns):
        kind, content = _column(rows[name])
        whole.update(json.dumps([name, kind, len(rows)]).encode())
        whole.update(content)
    return whole.hexdigest()


def _column(values):
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if pd.api.types.is_bool_dtype(values.dtype) and not values.hasnans:
        return "b", values.to_numpy(np.uint8).tobytes()
    if pd.api.types.is_integer_dtype(values.dtype) and not values.hasnans:
        return "i", values.to_numpy("<i8").tobytes()
    if pd.api.types.is_numeric_dtype(values.dtype):
        floats = values.to_numpy("<f8", na_value=np.nan, copy=True)
        floats[np.isnan(floats)] = np.nan
        return "f", floats.tobytes()
    if values.dtype == object:  # in which 1 and True are equal, and have other texts
        return "s", b"".join(map(_as_text, values))
    places, texts = pd.factorize(values)  # few texts, of many rows
    coded = [*map(_as_text, texts), _as_text(None)]
    return "s", b"".join([coded[place] for place in places])


def _as_text(value):
    if pd.isna(value):
        return (-1).to_bytes(8, "little", signed=True)
    content = str(value).encode()
    return len(content).to_bytes(8, "little") + content


def result(
    rows: pd.DataFrame,
    summary: Summary,
    *,
    caption: str,
    settings: Mapping[str, Any],
    comparable: bool = False,
    signed: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what the same code and seed give again: the first half of a manifest.

    Parameters
    ----------
    rows : DataFrame
        Of all replicates.
    summary : callable
        ``summary(rows) -> DataFrame``; its index says what the numbers of a line belong to.
    caption : str
    settings : mapping
        With the seed.
    comparable : bool, default False
        Work out what makes each number comparable.
    signed : sequence of str
        As for :class:`linrep.figures.experiment.Experiment`.
    """
    result = {
        "caption": caption,
        "settings": dict(settings),
        "rows": {"count": len(rows), "sha256": digest(rows)},
        **_summary(summary(rows)),
    }
    if comparable:
        _make_comparable(result["summary"], rows, summary, signed)
    return result


def _summary(table) -> dict[str, Any]:
    """Return a summary as a result has it."""
    return {"summary": {"labels": labels(table), "lines": _lines(table)}}


def labels(table: pd.DataFrame) -> list[str]:
    """Return the names of a summary's labels: its index, or where it has none its texts.

    Where these do not identify a line, it is the number of the line.
    """
    if table.index.names != [None]:
        return [str(name) for name in table.index.names]
    texts = [
        str(name)
        for name, column in table.items()
        if not pd.api.types.is_numeric_dtype(column.dtype)
        and not any(isinstance(value, Counts) for value in column)
    ]
    return texts if texts and not table.duplicated(texts).any() else ["line"]


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """Return a summary with its labels as columns, as people read it."""
    if table.index.names != [None]:
        return table.reset_index()
    return table.rename_axis("line").reset_index() if labels(table) == ["line"] else table


def table(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the recorded summary, by its labels.

    Parameters
    ----------
    result : mapping
        A result.
    """
    names = result["summary"]["labels"]
    lines = [
        {name: cell if name in names else _value(cell["value"]) for name, cell in line.items()}
        for line in result["summary"]["lines"]
    ]
    frame = pd.DataFrame(lines)
    return frame.set_index(names)


def _lines(frame):
    """Return the lines of a summary: labels as they are, numbers as objects with a value."""
    names = labels(frame)
    indexed = flat(frame)
    if indexed.duplicated(names).any():
        raise ValueError("the index of a summary has to tell its lines apart")
    return [
        {
            str(name): _plain(cell) if name in names else _entry(cell)
            for name, cell in line.items()
            if name not in _ENDS or not pd.isna(cell)
        }
        for line in indexed.to_dict("records")
    ]


def _entry(cell):
    """Return what a record has of a number: its value, and of counts the text and the numbers."""
    if isinstance(cell, Counts):
        return {"value": str(cell), cell.kind: numbers(cell)}
    return {"value": _plain(cell)}


def _plain(value):
    """Return a value as JSON has it: NaN as null, infinity as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _value(cell):
    """Return a number from what JSON has of it, and texts as they are."""
    if cell is None:
        return math.nan
    return float(cell) if cell in ("inf", "-inf") else cell


def _numbers(result) -> Iterator[tuple[tuple, str, dict[str, Any]]]:
    """Yield labels, column and entry of every number of a result."""
    names = result["summary"]["labels"]
    for line in result["summary"]["lines"]:
        key = tuple(line[name] for name in names)
        for column, entry in line.items():
            if column not in names:
                yield key, column, entry


def _by_name(result):
    """Return the entries of a result's numbers by labels and column."""
    return {(key, column): entry for key, column, entry in _numbers(result)}


def _make_comparable(recorded, rows, summary, signed):
    """Add to each number what makes it comparable."""
    replicates = np.sort(rows["replicate"].unique())
    if len(replicates) < 2:
        raise ValueError("a record needs at least two replicates, to know how much numbers vary")
    halves = [
        _by_place(summary, rows[rows["replicate"].isin(replicates[half])])
        for half in stats.half_samples(len(replicates))[0]
    ]
    singles = [_by_place(summary, rows[rows["replicate"] == each]) for each in replicates]
    names = recorded["labels"]
    for line in recorded["lines"]:
        key = tuple(line[name] for name in names)
        columns = [name for name in line if name not in names]
        ends = _ends(columns)
        for name in columns:
            place, value = (key, name), line[name]["value"]
            if name in ends:
                line[name]["of"] = ends[name]
            elif line[name].keys() & {Share.kind, Order.kind}:
                continue
            elif name == "replicates" or isinstance(_value(value), str):
                line[name]["tolerance"] = 0.0
            else:
                either = any(fnmatch(str(text), p) for text in (*key, name) for p in signed)
                line[name].update(
                    _interval(
                        float(_value(value)),
                        [part.get(place, math.nan) for part in halves],
                        [part.get(place, math.nan) for part in singles],
                        {end: _value(line[end]["value"]) for end in ends if ends[end] == name},
                        either,
                    )
                )


def _ends(columns):
    """Return by column that is an end of an interval, or a standard error, the one before it."""
    filled, last = {}, None
    for name in columns:
        if name in _ENDS and last is not None:
            filled[name] = last
        else:
            last = name
    return filled


def _by_place(summary, rows):
    """Return the numbers of a part of the replicates; none if that is too little for them."""
    try:
        with np.errstate(all="ignore"):
            result = _summary(summary(rows))
    except (ArithmeticError, LookupError, ValueError):
        return {}
    values = {place: _value(entry["value"]) for place, entry in _by_name(result).items()}
    return {place: value for place, value in values.items() if not isinstance(value, str)}


def _interval(value, halves, singles, known, signed):
    if math.isnan(value):
        return {"tolerance": TOLERANCE}
    ends = (known.get("low", math.nan), known.get("high", math.nan))
    error = known.get("sem", math.nan)
    low, high = stats.rerun_interval(
        value,
        halves,
        singles,
        level=_EACH,
        interval=None if np.isnan(ends).any() else ends,
        error=0.0 if math.isnan(error) else error,
        signed=signed,
    )
    if math.isclose(low, high, rel_tol=TOLERANCE):
        return {"tolerance": TOLERANCE}
    return {"interval": [_plain(low), _plain(high)]}


def compare(
    recorded: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    kept: pd.DataFrame | None = None,
    new_kept: pd.DataFrame | None = None,
    again: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare a run with the record, number by number, and the record with its stored rows.

    Parameters
    ----------
    recorded : mapping
        The manifest.
    new : mapping
        The result of the other run.
    kept, new_kept : DataFrame, optional
        Rows that are stored beside the manifest, and the same ones of the other run.
    again : DataFrame, optional
        The summary of the stored rows.

    Returns
    -------
    DataFrame
        Columns ``figure``; ``part``: "number", "rows", "settings", "caption", or "record" for what
        its stored rows do not give; ``what`` it is; ``recorded`` and ``new`` values; ``outcome``.
    """
    old = recorded["result"]
    changes = () if again is None else _changes(old, again)
    lines = [("record", *line, CHANGED) for line in changes]
    for name in sorted({*old["settings"], *new["settings"]}):
        one, two = (result["settings"].get(name) for result in (old, new))
        if one != two:
            same_sweep = OTHER if name == "seed" else OUTSIDE
            lines.append(("settings", name, _brief(one), _brief(two), same_sweep))
    entries, others = _by_name(old), _by_name(new)
    outcomes: dict[tuple, str] = {}
    for place in dict.fromkeys([*entries, *others]):
        one, two = entries.get(place), others.get(place)
        if one is None or two is None:
            outcome = OUTSIDE
        elif "of" in one and not _same(one["value"], two["value"]):
            outcome = outcomes[place[0], one["of"]]
            outcome = INSIDE if outcome == SAME else outcome
            of = others[place[0], one["of"]]
            if not _is_end(place[1], one["value"], two["value"], of["value"]):
                outcome = OUTSIDE
        else:
            outcome = _outcome(one, two)
        outcomes[place] = outcome
        shown = (None if entry is None else entry["value"] for entry in (one, two))
        lines.append(("number", _name(*place), *shown, outcome))
    digests = [result["rows"]["sha256"][:8] for result in (old, new)]
    lines.append(("rows", "digest", *digests, _text_outcome(*digests)))
    if kept is not None and new_kept is not None:
        lines += [("rows", *line, OTHER) for line in first_differences(kept, new_kept)]
    captions = [old["caption"], new["caption"]]
    lines.append(("caption", "text", *map(_brief, captions), _text_outcome(*captions)))
    frame = pd.DataFrame(lines, columns=["part", "what", "recorded", "new", "outcome"])
    frame.insert(0, "figure", recorded["id"])
    return frame


def _changes(old, again):
    """Yield what of a record the stored rows do not give."""
    fresh = _by_name(_summary(again))
    for place, entry in _by_name(old).items():
        value = fresh.get(place, {}).get("value")
        # Fits and quantiles differ in more digits with another version of SciPy.
        if not _same(entry["value"], value, TOLERANCE):
            yield f"{_name(*place)}, from the stored rows", entry["value"], value


def first_differences(
    kept: pd.DataFrame, new: pd.DataFrame, most: int = 3
) -> list[tuple[str, Any, Any]]:
    """Return where the first stored rows are not those of another run, and both values."""
    if list(kept.columns) != list(new.columns) or len(kept) != len(new):
        sizes = tuple(f"{len(each)} rows of {', '.join(each.columns)}" for each in (kept, new))
        return [("stored rows", _brief(sizes[0]), _brief(sizes[1]))]
    lines = []
    for name in kept:
        one, two = (each[name].to_numpy(object) for each in (kept, new))
        missing = pd.isna(one) & pd.isna(two)
        for at in np.flatnonzero((one != two) & ~missing)[:most]:
            where = f"row {at}, replicate {kept['replicate'].iloc[at]}, {name}"
            lines.append((int(at), (where, _plain(one[at]), _plain(two[at]))))
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])[:most]]


def _same(one, two, tolerance=DIGITS):
    one, two = _value(one), _value(two)
    if isinstance(one, str) or isinstance(two, str):
        return one == two
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    return math.isclose(one, two, rel_tol=tolerance)


def _outcome(entry, new):
    """Judge one number of another run by what its record says."""
    if _same(entry["value"], new["value"]):
        return SAME
    if not _compatible(entry, new):
        return OUTSIDE
    return INSIDE if _can_contradict(entry) else TOO_FEW


def _compatible(entry, new):
    for kind, differ in ((Share.kind, stats.shares_differ), (Order.kind, stats.orders_differ)):
        if kind in entry:
            before, now = entry[kind], new.get(kind)
            if now is None:
                return False
            if kind == Share.kind and 0 in (before[1], now[1]):
                return before == now
            return differ(before, now) > _EACH
    value, number = _value(entry["value"]), _value(new["value"])
    if isinstance(number, str) or isinstance(value, str) or math.isnan(number):
        return False
    if "interval" in entry:
        low, high = map(_value, entry["interval"])
        return low <= number <= high
    return math.isclose(value, number, rel_tol=entry.get("tolerance", 0.0))


def _can_contradict(entry):
    """Tell whether any outcome of another run would be outside of what is recorded."""
    if Share.kind in entry:
        trials = entry[Share.kind][1]
        extremes: list[Counts] = [Share(count, trials) for count in (0, trials)]
    elif Order.kind in entry:
        trials = sum(entry[Order.kind])
        extremes = [Order(trials, 0, 0), Order(0, 0, trials)]
    else:
        low, high = map(_value, entry.get("interval", (0.0, 0.0)))
        return not (low in (-math.inf, 0.0) and high == math.inf)
    return any(not _compatible(entry, _entry(extreme)) for extreme in extremes)


def _is_end(name, recorded, new, of):
    """Tell whether a new end of an interval, or standard error, can be one of that number."""
    recorded, new, of = map(_value, (recorded, new, of))
    if math.isnan(new) or math.isnan(recorded):
        return math.isnan(new) and math.isnan(recorded)
    return {"low": new <= of, "high": new >= of, "sem": new >= 0.0}[name]


def _text_outcome(one, two):
    return SAME if one == two else OTHER


def _name(key, column):
    return ", ".join([*map(str, key), column])


def _brief(value, width=24):
    text = str(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"
