"""Recorded files: JSON whose digest is of all of it, so that whatever changes is noticed.

The first line says of which kind a file is and has two digests: the SHA-256 of the file without
these 64 digits, and those of the files that belong to it, which are written together with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any, Generic, TypedDict, TypeVar

from linrep._lib import atomic as files
from linrep._lib import shapes
from linrep._lib.papers import owners, paper_of
from linrep._lib.warning import warn

Content = TypeVar("Content")

#: What is said of a damaged file that nothing stands in for.
LEFT_OUT = "what is in it is left out"


class Unread(UserWarning):
    """A recorded file cannot be read, and what is in it is left out."""


class Damaged(ValueError):
    """A recorded file is not as it was written, or has what does not belong into it."""


class Foreign(Damaged):
    """A file is no recorded one, or one of a former format."""


@dataclass(frozen=True, eq=False)
class Kind(Generic[Content]):
    """A kind of recorded files.

    Attributes
    ----------
    name : str
        In a word.
    command : str
        What writes them.
    decode : callable
        Returns what is read from plain values; it raises ValueError where these are others than
        it knows.
    ids : callable
        Returns the ids that plain values are of: in the folder of a paper these are of it.
    text : callable
        Returns plain values as JSON.
    """

    name: str
    command: str
    decode: Callable[[Any], Content]
    ids: Callable[[Any], Iterable[str]] = lambda values: ()
    text: Callable[[Any], str] = lambda values: json.dumps(
        values, indent=1, ensure_ascii=False, allow_nan=False
    )

    def read(self, path: Path) -> Content:
        """Return what a file holds, which is nobody's to change.

        Raises
        ------
        OSError
            If it is not there.
        Damaged
            If it is not as it was written, of another format, or has what is of another paper.
        """
        return _decoded(self, path, _state(path))

    def known(self, path: Path, otherwise: Content) -> Content:
        """Return what a file holds that is going to be replaced; something else if it is not there.

        A damaged one raises, as :meth:`read` does: nothing in it is to be lost.
        """
        return self.read(path) if is_there(path) else otherwise

    def shown(self, path: Path, otherwise: Content, instead: str = LEFT_OUT) -> Content:
        """Return what a file holds, or something else where it is not there or damaged.

        If it is damaged, a warning says so, and in words what is taken `instead`.
        """
        try:
            return self.known(path, otherwise)
        except (Damaged, OSError) as error:
            leave_out(error, instead)
            return otherwise

    def check(self, path: Path) -> None:
        """Raise Damaged where a file that is going to be replaced, or one beside it, is damaged."""
        if is_there(path):
            self.read(path)
            for name in _opened(path, _state(path))["files"]:
                beside(path, Path(name).suffix)

    def written(self, values: Any, beside: Mapping[str, bytes] | None = None) -> str:
        """Return the content of a file, given those that belong to it by name."""
        text = self.text(values)
        self.decode(json.loads(text))  # what could not be read is not written
        digests = {name: sha256(each).hexdigest() for name, each in (beside or {}).items()}
        head = f'{{"linrep": "{self.name}", "sha256": "'
        rest = f'", "files": {json.dumps(digests)}, "content":\n{text}\n}}\n'
        return f"{head}{_digest(head + rest)}{rest}"

    def write(self, path: Path, values: Any, beside: Mapping[str, bytes] | None = None) -> None:
        """Write a file with those that belong to it, all or none of them, by name."""
        text = self.written(values, beside).encode()
        files.write_together(path.parent, {**(beside or {}), path.name: text})
        forget()


class _Whole(TypedDict):
    linrep: str  # the kind
    sha256: str
    files: Mapping[str, str]
    content: Any


def content(path: Path) -> Any:
    """Return the plain values in a recorded file, of whatever kind.

    Raises
    ------
    OSError, Damaged
        If it is not as it was written, or not there.
    """
    return _opened(path, _state(path))["content"]


def beside(path: Path, suffix: str) -> bytes | None:
    """Return the file of another suffix that belongs to one, None where none does.

    Raises
    ------
    OSError, Damaged
        If one of them is not as it was written, or not there.
    """
    other = path.with_suffix(suffix)
    while True:
        state = _state(path)
        expected = _opened(path, state)["files"].get(other.name)
        if expected is None:
            return None
        content = files.read(other) if files.current(other).is_file() else None
        if content is not None and sha256(content).hexdigest() == expected:
            return content
        if _state(path) == state:  # or both were replaced meanwhile
            what = "is not there" if content is None else "is not what was written"
            raise Damaged(f"{other}, of {path.name}, {what}; {_remedy(other)}")


def forget() -> None:
    """Read all files anew: one may have been replaced by as many bytes in a tick of the clock."""
    _opened.cache_clear()
    _decoded.cache_clear()


def is_there(path: Path) -> bool:
    """Tell whether there is a file, or will be once what was interrupted is finished."""
    return files.current(path).is_file()


def leave_out(error: Exception, instead: str = LEFT_OUT) -> None:
    """Warn that a file is damaged, and of what is done without it."""
    warn(f"{error}; {instead}", Unread)


def _state(path):
    status = files.current(path).stat()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=64)
def _opened(path, state):
    """Return a file whose digest is right; it is read once for each of its states."""
    text = files.read(path).decode("utf-8", errors="replace").replace("\r\n", "\n")
    try:
        whole = json.loads(text)
        if not (isinstance(whole, dict) and _Whole.__annotations__.keys() & whole.keys()):
            raise Foreign(f"{path} is no file that this version of linrep has recorded")
        shapes.check(whole, _Whole, "it")
        if whole["sha256"] == _digest(text.replace(whole["sha256"], "", 1)):
            return whole
    except Foreign:
        raise
    except (ValueError, RecursionError):
        pass
    raise Damaged(f"{path} is damaged: it is not as it was written; {_remedy(path)}")


def _digest(text):
    return sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def _decoded(kind, path, state):
    anew = f"once it is removed, {kind.command} writes it anew"
    try:
        opened = _opened(path, state)
    except Foreign as error:
        raise Foreign(f"{error}; {anew}") from None
    if opened["linrep"] != kind.name:
        raise Damaged(f"{path} is no {kind.name}, it is a {opened['linrep']}; {_remedy(path)}")
    try:
        values, ids = kind.decode(opened["content"]), kind.ids(opened["content"])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        reason = f"is not as this version of linrep writes it ({error})"
        raise Damaged(f"{path} {reason}; {anew}") from None
    if ours := owners(path):
        for id in ids:
            if paper_of(id) not in ours:
                of = f"is of {', '.join(sorted(ours))}"
                raise Damaged(f"{path} has an entry of {id}, and {of}; {_remedy(path)}")
    return values


def _remedy(path):
    """Return how a file is restored."""
    above = path.absolute().parents
    for folder in above:
        if folder.name in ("site-packages", "dist-packages"):
            package = path.absolute().relative_to(folder).parts[0]
            return f"to restore it, install {package} again"
    if any((folder / ".git").exists() for folder in above):
        return f"to restore it as it was committed: git checkout -- {quote(str(path))}"
    return "put a copy of it in its place, or remove it to begin anew"
