"""The state of the code: what was computed with another one is computed again."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

from llvmlite.binding import get_host_cpu_name

import linrep
from linrep._lib import papers, portable

#: Layers that present, store or compare numbers, and make none.
PRESENTING = (
    "_experiments", "_lib/atomic", "_lib/clock", "_lib/code", "_lib/display", "_lib/fingerprint",
    "_lib/instructions", "_lib/papers", "_lib/progress", "_lib/provenance", "_lib/scripts", "cli",
    "estimators", "figures/computing", "figures/drawing", "figures/experiment", "figures/plotting",
    "figures/record", "figures/reproduction", "report", "simulation/replicates",
)  # fmt: skip
_LIBRARIES = ("numpy", "scipy", "numba", "pandas")
version = cache(metadata.version)  # which reads and parses a file


def state(*left_out: str, mode: str | None = None) -> str:
    """Return a digest of what numbers depend on: sources of linrep, libraries and instructions.

    Beside the rooms that make no numbers, folders and modules are left out that the numbers in
    question do not depend on, such as ``deep`` or ``claims``. The mode is that of the process, or
    another one.
    """
    mode = mode or portable.mode()
    instructions = mode if mode == "portable" else get_host_cpu_name()
    parts = [*map(version, _LIBRARIES), instructions, _sources(frozenset({*PRESENTING, *left_out}))]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def statements() -> tuple[str, ...]:
    """Return the modules of the papers' statements: neither figures nor other papers use them."""
    paths = sorted(path for path in papers.FOLDER.glob("*/*.py") if path.stem != "settings")
    return tuple(f"papers/{path.parent.name}/{path.stem}" for path in paths)


@cache
def _sources(left_out):
    """Digest the sources as they are now: they may be edited while this process computes."""
    package = Path(linrep.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package).with_suffix("")
        if not left_out & {module.as_posix(), *(folder.as_posix() for folder in module.parents)}:
            digest.update(path.read_bytes())
    return digest.hexdigest()
