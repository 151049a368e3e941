"""The files that users' own claims rest on: what they import and what they read."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from linrep._lib.fingerprint import is_installed

_COMPILED = (".pyc", ".nbi", ".nbc")
_opened: set[str] = set()
_watching = 0
_aside = threading.local()
_hooked = False


@contextmanager
def watched() -> Iterator[None]:
    """Note the files that Python opens to read. Those that a library opens by itself are not seen.

    Noted for the life of the process: what a module reads when it is imported, it reads once.
    """
    global _hooked, _watching
    if not _hooked:
        sys.addaudithook(_note)
        _hooked = True
    _watching += 1
    try:
        yield
    finally:
        _watching -= 1


@contextmanager
def unwatched() -> Iterator[None]:
    """Read something in this thread that no claim rests on, whatever another one watches."""
    _aside.inside = True
    try:
        yield
    finally:
        _aside.inside = False


def _note(event, arguments):
    if not _watching or event != "open" or getattr(_aside, "inside", False):
        return
    path, mode, flags = arguments
    reads = "r" in mode and "+" not in mode if mode else not flags & (os.O_WRONLY | os.O_RDWR)
    if reads and isinstance(path, str | bytes | os.PathLike):
        _opened.add(os.path.abspath(os.fsdecode(path)))


def digests() -> dict[str, str]:
    """Return a digest of every file that counts, as it is now.

    Those of Python's and linrep's own installation do not.
    """
    outside = ("/proc/", "/sys/", "/dev/", "/etc/")
    modules = [module for name, module in list(sys.modules.items()) if name != "__main__"]
    imported = {os.path.abspath(file) for module in modules if (file := _file(module))}
    by_path = {}
    for path in sorted(imported | _opened):
        if not (is_installed(path) or path.startswith(outside) or path.endswith(_COMPILED)):
            digest = _digest(path)
            if digest:
                by_path[path] = digest
    return by_path


def unchanged(known: Mapping[str, str]) -> bool:
    """Tell whether files still have the digests that they had."""
    return all(_digest(path) == digest for path, digest in known.items())


def _file(module):
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and file.endswith(".py") else None


def _digest(path):
    try:
        return blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
    except OSError:  # not a file, or not there any more
        return None
