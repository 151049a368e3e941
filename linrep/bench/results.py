"""Benchmarks by name: run, printed, and stored with the machines they are of."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from linrep._lib import atomic as files
from linrep._lib.provenance import surroundings, versions
from linrep.bench.timing import Record, has

#: In the order in which they are run; each is a module with a function ``measure``.
NAMES = (
    "fedrep", "gram", "flute", "pflmf", "imc", "estimators", "distance", "sweeps", "startup",
    "scaling", "deep",
)  # fmt: skip

# Packages that benchmarks use where they are installed.
_OPTIONAL = {
    "deep": ["torch"],
    "fedrep": ["jax"],
    "flute": ["jax"],
    "imc": ["implicit"],
    "pflmf": ["jax"],
    "sweeps": ["joblib", "xyzpy"],
}


#: Loads, over the number of cores, above which others were at work: of itself a benchmark makes
#: as much as there are cores, which the load before the next one still shows.
BUSY = {"load": 1.0, "load after": 1.5}


def run(
    name: str,
    echo: Callable[[str], None],
    keep: Callable[[list[Record]], Any] | None = None,
    **options: Any,
) -> list[Record]:
    """Run a benchmark, printing each case when it is done.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    echo : callable
        Takes a line of text, such as `print` does.
    keep : callable, optional
        Called after every case with the records so far, so that an interruption loses none.
    **options
        Of its ``measure``.

    Returns
    -------
    list of Record
    """
    measure = import_module(f"linrep.bench.{name}").measure
    records: list[Record] = []
    for case in measure(**options):
        if not records or records[-1].table != case[0].table:
            echo(f"\n{case[0].table}")
        for record in case:
            echo(f"  {record.line()}")
        records += case
        if keep is not None:
            keep(records)
    return records


def store(folder: Path, name: str, about: dict[str, Any], records: list[Record]) -> Path:
    """Write a benchmark's records to ``name.json`` in a folder, whole or not at all.

    They replace those of the same machine, and those that do not say of which they are; those of
    others stay, after them.

    Parameters
    ----------
    folder : Path
        An existing one.
    name : str
        Of the benchmark.
    about : dict
        What `machine` returned before.
    records : list of Record
        As `run` returned them.
    """
    path = folder / f"{name}.json"
    replaced = ("", _identity(about))
    others = [each for each in runs(path) if _identity(each["machine"]) not in replaced]
    new = {"machine": {**about, "load after": _load()}, "records": [asdict(r) for r in records]}
    content = {"benchmark": name, "runs": [new, *others]}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    files.write(path, f"{text}\n".encode())
    return path


def runs(path: Path) -> list[dict[str, Any]]:
    """Return what is stored of a benchmark: machine and records, the last machine first.

    Parameters
    ----------
    path : Path
        Of a file that `store` may have written.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        recorded = content.get("runs", [content])  # one alone, as files had it at first
        good = all({"machine", "records"} <= each.keys() for each in recorded)
    except FileNotFoundError:
        return []
    except (ValueError, AttributeError, TypeError):
        good = False
    if not good:
        raise ValueError(f"{path} holds no benchmark: move it away")
    return recorded


def machine(name: str = "") -> dict[str, Any]:
    """Return versions, processor, cores, instructions, BLAS, the load before, and the date.

    With the name of a benchmark, versions include those of the packages that it compares with.
    """
    import scipy.linalg  # noqa: F401  loads the BLAS of SciPy, too

    around = surroundings()
    blas = around["BLAS"]
    return {
        **versions(module for module in _OPTIONAL.get(name, ()) if has(module)),
        "processor": around["processor"],
        "cores": os.cpu_count(),
        "instructions": around["instructions"],
        "BLAS": ", ".join(f"{each['name']} {each['version']} {each['kernel']}" for each in blas),
        "BLAS threads": max((each["threads"] for each in blas), default=None),
        "load": _load(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def busy(machine: dict[str, Any]) -> str:
    """Return which load shows that others were at work while records were taken, "" for none.

    Parameters
    ----------
    machine : dict
        As stored: the load is an average over a minute, before the benchmark or after it.
    """
    for when, limit in BUSY.items():
        load = (machine.get(when) or [0.0])[0]
        if load > limit * machine["cores"]:
            return f"{when} {load:g} on {machine['cores']} cores"
    return ""


def describe(machine: dict[str, Any]) -> str:
    """Return in a line of which machine records are.

    Parameters
    ----------
    machine : dict
    """
    blas = machine.get("BLAS", "a BLAS that was not recorded")
    words = [machine["processor"], machine.get("instructions"), f"{machine['cores']} cores",
             f"{blas} with {machine['BLAS threads']} thread(s)", machine["date"]]  # fmt: skip
    return ", ".join(filter(None, words))


def ratios(stored: list[dict[str, Any]]) -> dict[tuple[str, str, str], list[float]]:
    """Return the ratios of each contender, by table and case, on the machines that were not busy.

    Parameters
    ----------
    stored : list of dict
        As `runs` returns them.
    """
    by_case: dict[tuple[str, str, str], list[float]] = {}
    for each in stored:
        for record in each["records"] if not busy(each["machine"]) else ():
            key = record["table"], record["case"], record["contender"]
            by_case.setdefault(key, []).append(record["ratio"])
    return by_case


def _identity(machine):
    """Return what tells machines apart; nothing where the BLAS was not recorded."""
    names = ("processor", "cores", "instructions", "BLAS", "BLAS threads")
    return str([machine.get(name) for name in names]) if "BLAS" in machine else ""


def _load():
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None
