"""Contenders timed by turns, what they took as records, and whether they agree."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

#: Largest difference allowed between the contenders' results, in absolute terms.
TOLERANCE = 1e-10

# Threads of BLAS and XLA spin for a while after a call and would take a core from whoever is next.
_SETTLE = 0.03


def take_turns(
    contenders: Mapping[Any, Callable[[], Any]], repetitions: int, *, warm: bool = True
) -> dict[Any, np.ndarray]:
    """Return every contender's times, those of one index taken right after one another.

    A call that is not timed goes before each, so that all find caches and clocks as in a long run;
    not before calls of seconds, which need none (`warm` false).
    """
    times = {name: np.empty(repetitions) for name in contenders}
    for repetition in range(repetitions):
        for name, call in contenders.items():
            time.sleep(_SETTLE)
            if warm:
                call()
            began = time.perf_counter()
            call()
            times[name][repetition] = time.perf_counter() - began
    return times


@dataclass(frozen=True)
class Record:
    """What one contender of a case took, next to the first one of that case.

    Attributes
    ----------
    table, case, contender : str
        What is timed, and per what; the setting; who.
    seconds, low, high : float
        Median and quartiles over the repetitions.
    ratio, ratio_low, ratio_high : float
        The same of the ratio to the first contender, of times taken right after one another.
    agree : bool or None
        Whether all contenders came to the same result; None where there is none to compare.
    note : str
        What else was measured.
    """

    table: str
    case: str
    contender: str
    seconds: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    agree: bool | None = None
    note: str = ""

    def line(self) -> str:
        """Return the record as a line of text, without its table."""
        ratio = f"{self.ratio:.3g}x" if self.ratio != 1.0 else ""
        spread = f"{duration(self.low)} to {duration(self.high)}"
        columns = f"{self.case:46} {self.contender:30} {duration(self.seconds):>9}"
        return f"{columns} {spread:>23} {ratio:>7}  {self.note}".rstrip()


def make_records(
    table: str,
    case: str,
    times: Mapping[str, np.ndarray],
    work: float | Mapping[str, float] = 1.0,
    *,
    agree: bool | None = None,
    difference: float = 0.0,
    notes: Mapping[str, str] | None = None,
) -> list[Record]:
    """Return the records of a case.

    Parameters
    ----------
    table, case : str
        See `Record`.
    times : mapping of str to ndarray
        Seconds of every contender's repetitions; the first is what the others are compared with.
    work : float or mapping of str to float
        Units of work in a repetition, of all contenders or of each.
    agree, difference
        Whether results agree, and the largest difference between them.
    notes : mapping of str to str, optional
        Of some contenders.
    """
    per_unit = {
        name: np.asarray(values) / (work[name] if isinstance(work, Mapping) else work)
        for name, values in times.items()
    }
    reference = next(iter(per_unit))
    records = []
    for name, values in per_unit.items():
        low, middle, high = (float(x) for x in np.quantile(values, (0.25, 0.5, 0.75)))
        ratios = np.ones(1) if name == reference else values / per_unit[reference]
        fast, ratio, slow = (float(x) for x in np.quantile(ratios, (0.25, 0.5, 0.75)))
        note = (notes or {}).get(name, "")
        if agree is False:
            note = f"results differ by {difference:.1e}: the times mean nothing"
        records.append(Record(table, case, name, middle, low, high, ratio, fast, slow, agree, note))
    return records


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def largest_difference(results) -> float:
    """Return the largest absolute difference from the first result, NaN if anything is NaN."""
    first, *others = results
    differences = [
        np.abs(part - expected).max()
        for other in others
        for part, expected in zip(other, first, strict=True)
    ]
    return float(np.max(differences))


def has(module: str) -> bool:
    """Tell whether a module can be imported."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def has_jax() -> bool:
    """Tell whether JAX can be imported; its threads are one, as linrep's and NumPy's are.

    XLA has as many as this variable says when it makes them.
    """
    os.environ["NPROC"] = "1"
    return has("jax")


def double_precision():
    """Return JAX's context manager for 64 bits, which older versions keep in jax.experimental."""
    import jax

    manager: Any = getattr(jax, "enable_x64", None)
    return import_module("jax.experimental").enable_x64 if manager is None else manager


def with_jax(contenders: dict[str, Any], make: Callable[[], Any]) -> dict[str, Any]:
    """Return the contenders with JAX's at the end, where JAX can be imported."""
    return {**contenders, "JAX": make()} if has_jax() else contenders
