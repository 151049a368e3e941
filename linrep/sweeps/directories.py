"""Making run directories: never over something else, by however many processes at a time."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linrep._lib import atomic as files
from linrep._lib.arguments import checked
from linrep.sweeps.codes import Codes, OtherCode
from linrep.sweeps.description import PARTS, SPECIFICATION, advice
from linrep.sweeps.specification import Specification, differences, extends
from linrep.sweeps.store import Run, open_run

_LOCK = ".extending"


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
    if (path / SPECIFICATION).exists() or not make_directory(path, described):
        return _reopen(path, sweep.describe(), described, extend)
    return Run(path, described)


def check_directory(path: str | Path, sweep: Specification, *, extend: bool = False) -> None:
    """Raise what `create_run` would raise, writing nothing."""
    path = Path(path)
    if (path / SPECIFICATION).exists():
        _compare(open_run(path), sweep.describe(), extend)
    else:
        _check_free(path)


def check_code(
    path: str | Path, codes: Codes, *, retry_failed: bool = False, same_code: bool = False
) -> str:
    """Return which replicates of a run directory other code made, in words.

    If there are any, an OtherCode is raised, unless they are taken to be of the same code.
    """
    path = Path(path)
    if not (path / SPECIFICATION).exists():
        return ""
    run = open_run(path)
    others = codes.others(run, retry_failed=retry_failed)
    if others and not same_code:
        failed = not retry_failed and run.failed()
        retry = ", and retry_failed=True (--retry-failed) to compute failed ones again"
        raise OtherCode(others, retry if failed else "")
    return others


def make_directory(path: Path, description: Mapping[str, Any]) -> bool:
    """Make a run directory of a new or empty one; False if another process was first.

    A directory that holds something else is refused by a ValueError.
    """
    _check_free(path)
    (path / PARTS).mkdir(parents=True, exist_ok=True)
    return files.create(path / SPECIFICATION, _text(description))


def identity(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a description says which sweep it is."""
    return {name: value for name, value in description.items() if name != "target"}


@contextlib.contextmanager
def presence(path: Path) -> Iterator[bool]:
    """Yield whether this process is alone in a run directory, as far as the file system knows.

    In a directory that cannot be written it is taken not to be: a finished run needs no writing.
    """
    with contextlib.ExitStack() as held:
        try:
            file = held.enter_context(open(path / ".lock", "a"))
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            yield False
            return
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        except (ImportError, OSError):
            yield True  # no locks here
        else:
            yield True


def _check_free(path):
    """Raise unless a run directory can be made of path, of which an attempt may be left."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file, not a directory")
    for entry in path.iterdir() if path.is_dir() else ():
        empty = entry.name == PARTS and entry.is_dir() and not any(entry.iterdir())
        others = not empty and not files.is_attempt(entry)
        if others and not (path / SPECIFICATION).exists():  # another process may have made one
            lack = f": it has no {SPECIFICATION}{todo}" if (todo := advice(path)) else ""
            raise ValueError(f"{path} is not empty and is not a run directory{lack}")


def _reopen(path, sought, described, extend):
    run = open_run(path)
    if not _compare(run, sought, extend):
        return run
    with _lock(path):
        if _compare(open_run(path), sought, extend):  # another process may have extended it, too
            files.write(path / SPECIFICATION, _text(described))
    return open_run(path)


@contextlib.contextmanager
def _lock(path):
    """Let one process at a time change what a directory holds, where the file system can."""
    with open(path / _LOCK, "a") as file:
        with contextlib.suppress(ImportError, OSError):  # no locks here
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compare(run, sought, extend) -> bool:
    """Tell whether a sweep differs from a run's as an extension; raise if in any other way."""
    stored = identity(run.description)
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


checked(globals())
