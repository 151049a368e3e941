"""Benchmarks by name: run, printed, and stored with the machine they are of."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from linrep import _atomic as files
from linrep.bench.timing import Record, has
from linrep.provenance import processor, versions

#: In the order in which they are run; each is a module with a function ``measure``.
NAMES = (
    "fedrep", "gram", "flute", "pflmf", "imc", "estimators", "distance", "sweeps", "startup",
    "deep",
)  # fmt: skip

# Packages that benchmarks use where they are installed.
_OPTIONAL = {
    "deep": ["torch"],
    "fedrep": ["jax"],
    "flute": ["jax"],
    "pflmf": ["jax"],
    "sweeps": ["joblib", "xyzpy"],
}


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
    content = {"benchmark": name, "machine": about, "records": [asdict(r) for r in records]}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    files.write(path, f"{text}\n".encode())
    return path


def machine(name: str = "") -> dict[str, Any]:
    """Return versions, processor, cores, BLAS threads, the load before, and the date.

    With the name of a benchmark, versions include those of the packages that it compares with.
    """
    return {
        **versions(module for module in _OPTIONAL.get(name, ()) if has(module)),
        "processor": processor(),
        "cores": os.cpu_count(),
        "BLAS threads": _blas_threads(),
        "load": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _blas_threads() -> int | None:
    """Return how many threads BLAS may use, where threadpoolctl can tell."""
    try:
        pools = import_module("threadpoolctl").threadpool_info()
    except ImportError:
        return None
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=None)
