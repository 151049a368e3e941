"""Files that are there whole or not at all, whatever interrupts the writing.

They are written under another name, flushed to the disk and renamed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

#: How the names of files begin that are being written, before host and process.
TEMPORARY = ".writing-"
#: A folder in another: of files that take their places there together.
_TOGETHER = ".replacing"


def write(path: Path, content: bytes, drafts: Path | None = None) -> None:
    """Write a file, in place of the one that may be there; drafts as for `whole`."""
    with whole(path, drafts) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def whole(path: Path, drafts: Path | None = None) -> Iterator[Path]:
    """Yield another name to write a file under; put it in its place if nothing is raised.

    It is in the folder drafts of the same disk, by default beside path.
    """
    with _draft(path, drafts) as draft:
        yield draft
        _flush(draft)
        os.replace(draft, path)
    _flush_folder(path.parent)


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files of a folder by name, in place of those that may be there: all of them or none.

    Who writes some of them keeps others out. Wherever a process is killed, :func:`read` has either
    what was there or what was to be written, and whoever writes there next goes on with it.
    """
    _finish(folder)
    remove_leftovers(folder)
    with _draft(folder / _TOGETHER) as draft:
        draft.mkdir()
        for name, content in contents.items():
            draft.joinpath(name).write_bytes(content)
            _flush(draft / name)
        _flush_folder(draft)
        os.replace(draft, folder / _TOGETHER)  # from here on they are written
        _flush_folder(folder)
        _finish(folder)


def _finish(folder):
    """Put files in their places that are written; a process may have been killed before it did."""
    together = folder / _TOGETHER
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(together.iterdir()):
            os.replace(path, folder / path.name)
        _flush_folder(folder)
        together.rmdir()


def current(path: Path) -> Path:
    """Return where a file is: perhaps not yet in its place, see :func:`write_together`."""
    waiting = path.parent / _TOGETHER / path.name
    return waiting if waiting.exists() else path


def read(path: Path) -> bytes:
    """Return what a file holds, or will where :func:`write_together` was interrupted."""
    with contextlib.suppress(FileNotFoundError):  # it takes its place at this moment
        return current(path).read_bytes()
    return path.read_bytes()


def create(path: Path, content: bytes) -> bool:
    """Write a file unless it is there; tell whether it was written."""
    with _draft(path) as draft:
        draft.write_bytes(content)
        _flush(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        except OSError:  # no links on this file system: who comes first may be replaced
            if path.exists():
                return False
            os.replace(draft, path)
    _flush_folder(path.parent)
    return True


def is_attempt(path: Path) -> bool:
    """Tell whether something is part of the writing of another file."""
    return path.name.startswith(TEMPORARY)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes of this machine that have ended did not finish writing."""
    for path in folder.glob(f"{TEMPORARY}*"):
        host, _, remainder = path.name.removeprefix(TEMPORARY).partition("-")
        process = remainder.partition("-")[0]
        if host == _host() and process.isdecimal() and not _alive(int(process)):
            _remove(path)


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def shared(lock: Path) -> Iterator[Callable[[], bool]]:
    """Share something with other processes; yield what gives it up and tells whether it was last.

    Of the last one nobody else may begin until the end. Where the system has no locks, nobody is
    known of.
    """
    try:
        import fcntl

        file = _lock(lock)
    except (ImportError, OSError):
        yield lambda: True
        return

    def alone() -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    with file:
        yield alone


def _lock(lock):
    """Open a file and share its lock; again where its last user removed it meanwhile."""
    import fcntl

    while True:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as unless_kept, contextlib.suppress(FileNotFoundError):
            file = unless_kept.enter_context(open(lock, "a"))
            fcntl.flock(file, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                unless_kept.pop_all()
                return file


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep others out who ask for the same folder; where the system has no such locks, nobody."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # A process that was forked meanwhile has the descriptor, too.
            held.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def _draft(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """Yield the name of a file in a folder, or beside path; remove it if it is still there."""
    # Threads may write the same file at a time.
    mine = f"{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    draft = (folder or path.parent) / f"{TEMPORARY}{mine}-{path.name}"
    try:
        yield draft
    finally:
        _remove(draft)


def _flush(path):
    """Wait until a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder):
    with contextlib.suppress(OSError):  # not every system has this
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _host():
    """Return whose process numbers these are: a machine's, or a container's."""
    name = socket.gethostname()
    with contextlib.suppress(OSError):  # Linux has it
        name += f".{os.stat('/proc/self/ns/pid').st_ino}"
    return name.replace("-", "_").replace(os.sep, "_")


def _alive(process):
    if os.name == "posix":  # elsewhere a signal 0 is not harmless
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
    return True
