"""Run directories: ``sweep.json`` read, checked and written, never over something else.

However many processes make, extend or open one at a time.
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linrep._lib import atomic as files
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.sweeps.grid import Grid
from linrep.sweeps.parts import PARTS
from linrep.sweeps.specification import (
    FORMAT,
    MOST_REPLICATES,
    RESERVED,
    Specification,
    differences,
    extends,
)
from linrep.sweeps.store import Run

SPECIFICATION = "sweep.json"
_KEY = re.compile("[0-9a-f]{32}")
_KINDS = {
    "name": str, "settings": dict, "replicates": int, "seed": int, "cells": list, "streams": list,
    "target": str | None,
}  # fmt: skip
_LONGEST = 200  # letters of what is said to be wrong
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


def open_run(path: str | Path) -> Run:
    """Open a run directory for reading.

    Parameters
    ----------
    path : path

    Raises
    ------
    ValueError
        If it is not one.
    """
    path = Path(path)
    return Run(path, _read_description(path))


def create_run(path: str | Path, sweep: Specification, *, extend: bool = False) -> Run:
    """Make a run directory for a sweep, or open the one that has been made for it.

    Parameters
    ----------
    path : path
        A new, an empty, or a run directory.
    sweep : Sweep
        What is to be computed.
    extend : bool, default False
        Allow the sweep to have more cells or replicates than the directory's.

    Raises
    ------
    ValueError
        If the directory holds something else; the message names the differences.
    OSError
        If it cannot be written.
    """
    path = Path(path)
    described = {**sweep.describe(), "target": sweep.target}
    if not (path / SPECIFICATION).exists() and make_directory(path, described):
        return Run(path, described)
    run = open_run(path)
    if not _is_extension(run, described, extend):
        return run
    with files.alone(path):
        if _is_extension(open_run(path), described, extend):  # another may have extended it, too
            files.write(path / SPECIFICATION, _text(described))
    return open_run(path)


def check_directory(path: str | Path, sweep: Specification, *, extend: bool = False) -> Run | None:
    """Raise what `create_run` would raise, writing nothing; return what run is there, if any."""
    path = Path(path)
    if not (path / SPECIFICATION).exists():
        _check_free(path)
        return None
    run = open_run(path)
    _is_extension(run, sweep.describe(), extend)
    return run


def make_directory(path: Path, description: Mapping[str, Any]) -> bool:
    """Make a run directory of a new or empty one; False if another process was first.

    A directory that holds something else is refused by a ValueError.
    """
    _check_free(path)
    (path / PARTS).mkdir(parents=True, exist_ok=True)
    with files.alone(path):  # where two at a time look the same otherwise
        return files.create(path / SPECIFICATION, _text(description))


def identity(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a description says which sweep it is."""
    return {name: value for name, value in description.items() if name != "target"}


@contextlib.contextmanager
def presence(path: Path) -> Iterator[bool]:
    """Yield whether this process is alone in a run directory, as far as the file system knows.

    In a directory that cannot be written it is taken not to be: a finished run needs no writing.
    """
    alone = True
    with contextlib.ExitStack() as held:
        try:
            file = held.enter_context(open(path / ".lock", "a"))
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            yield False
            return
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            alone = False
        except (ImportError, OSError):
            pass  # no locks here
        yield alone


def _check_free(path):
    """Raise unless a run directory can be made of path, of which an attempt may be left."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file, not a directory")
    for entry in path.iterdir() if path.is_dir() else ():
        empty = entry.name == PARTS and entry.is_dir() and not any(entry.iterdir())
        others = not empty and not files.is_attempt(entry)
        if others and not (path / SPECIFICATION).exists():  # another process may have made one
            lack = f": it has no {SPECIFICATION}{todo}" if (todo := _advice(path)) else ""
            raise ValueError(f"{path} is not empty and is not a run directory{lack}")


def _is_extension(run, description, extend) -> bool:
    """Tell whether a sweep differs from a run's as an extension; raise if in any other way."""
    stored, sought = identity(run.description), identity(description)
    lines = differences(stored, sought)
    if not lines:
        return False
    difference = "; ".join(lines)
    if not extends(stored, sought):
        raise ValueError(f"{run.path} holds another sweep ({difference}); take another folder")
    if not extend:
        raise ValueError(f"{run.path} holds a smaller sweep ({difference}); extend it explicitly")
    for name in dict.fromkeys(name for cell in sought["cells"] for name in cell):
        if name not in run.parameters and name in run.columns:
            raise ValueError(f"{run.path} has a column {name!r} already, which the sweep returned")
    return True


def _text(description):
    text = json.dumps(description, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _read_description(path):
    """Return what the ``sweep.json`` of a run directory says.

    A ValueError says that there is none, or that it is not the specification of a sweep.
    """
    file = path / SPECIFICATION
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (FileNotFoundError, NotADirectoryError):
        lack = f"it has no {SPECIFICATION}{_advice(path)}"
        raise ValueError(f"{path} is not a run directory: {lack}") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is damaged: it is no JSON{_advice(path)}") from None
    written = content.get("format") if isinstance(content, dict) else None
    if type(written) is int and written != FORMAT:
        raise ValueError(
            f"{file} has format {written}, and this version of linrep knows format {FORMAT} only: "
            "read the run by the version that made it, or compute it anew in another folder"
        )
    try:
        if written != FORMAT:
            raise ValueError(f"it has no format {FORMAT}")
        _check(content)
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error)
        reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"
        words = f"is not the specification of a sweep: {reason}{_advice(path)}"
        raise ValueError(f"{file} {words}") from None
    return content


def _advice(path):
    """Return what may be done where a run directory has parts, but no specification."""
    if not any((path / PARTS).glob("*.parquet")):
        return ""
    return (
        "; its parts are left as they are: start the command that made them in another folder, "
        f"stop it, and copy its {SPECIFICATION} here"
    )


def _check(content):
    for name, kind in _KINDS.items():
        if not isinstance(content.get(name), kind):
            raise TypeError(f"its {name} is missing or of another kind")
    check.count("replicates", content["replicates"], most=MOST_REPLICATES)
    check.integer("seed", content["seed"], minimum=0)
    grid, streams = Grid.of(content["cells"]), content["streams"]
    for name in {name for cell in grid for name in cell} & set(RESERVED):
        raise ValueError(f"{name!r} cannot be a parameter")
    if len(streams) != len(grid) or not all(map(_is_stream, streams)):
        raise ValueError("its streams are no tables of 32 hexadecimal digits for every cell")
    json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair is no text


def _is_stream(keys):
    return isinstance(keys, dict) and keys and all(_KEY.fullmatch(str(k)) for k in keys.values())


def _refuse(constant):
    raise ValueError(f"{constant} is no number")


checked(globals())
