"""Folders in which replicates that take long keep what they need to go on after an interruption."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from linrep.sweeps.parts import Segment

#: Name of the folder of all of them in a run directory.
FOLDER = ".scratch"
_NOTE = "note"
_current: ContextVar[Path | None] = ContextVar("_current", default=None)


def scratch(name: str) -> Path | None:
    """Return where the replicate that is being computed keeps a file, such as its checkpoint.

    It is there again when the replicate is begun anew, and removed when its rows are stored.

    Parameters
    ----------
    name : str
        Of the file.

    Returns
    -------
    Path or None
        None outside of a sweep, and where the run directory cannot be reached.
    """
    folder = _current.get()
    if folder is None or not folder.parent.parent.is_dir():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def note(text: str) -> None:
    """Say, where the sweep shows its progress, how far the replicate is that is being computed.

    Parameters
    ----------
    text : str
        A few words.
    """
    path = scratch(_NOTE)
    if path is not None:
        draft = path.with_name(f"{_NOTE}.draft")  # who reads meanwhile sees no half of a note
        draft.write_text(text, "utf-8")
        draft.replace(path)


def notes(run: Path, segments: Iterable[Segment]) -> list[str]:
    """Return what replicates of some segments have noted last in a run directory."""
    texts: list[str] = []
    for folder in _folders(run, segments):
        with contextlib.suppress(OSError):  # there is none, or it is removed meanwhile
            texts.append((folder / _NOTE).read_text("utf-8"))
    return texts


@contextmanager
def of(root: str, cell: str, replicate: int) -> Iterator[None]:
    """Let `scratch` return the folder of a replicate within the block.

    It lies below a root, the folder of those of all replicates; an empty root has none.
    """
    token = _current.set(_folder(Path(root), cell, replicate) if root else None)
    try:
        yield
    finally:
        _current.reset(token)


def clear(run: Path, segments: Iterable[Segment]) -> None:
    """Remove the folders in a run directory of replicates that are stored."""
    for folder in _folders(run, segments):
        shutil.rmtree(folder, ignore_errors=True)


def _folders(run, segments):
    root = run / FOLDER
    for segment in segments if root.is_dir() else ():
        for replicate in range(segment.start, segment.stop):
            yield _folder(root, segment.cell, replicate)


def _folder(root, cell, replicate):
    return root / f"{hashlib.sha256(cell.encode()).hexdigest()[:16]}-{replicate}"
