"""Settings of libraries in the current folder, which commands do not obey.

Who starts a command in a folder of somebody else has not asked for what lies there: numba would
take compiled code from where `.numba_config.yaml` says, and matplotlib run a back end or LaTeX.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

#: The file that each library reads in the current folder.
FILES = {"numba": ".numba_config.yaml", "matplotlib": "matplotlibrc"}
#: Files without which this process has loaded the libraries.
disregarded: set[str] = set()
_ABSENT = object()


def found() -> list[str]:
    """Return the files of the current folder that libraries which are not loaded would obey."""
    unread = (file for library, file in FILES.items() if library not in sys.modules)
    return [file for file in unread if os.path.exists(file)]


def disregard(files: Iterable[str]) -> None:
    """Load the libraries without these files of the current folder."""
    disregarded.update(files)
    for library, file in FILES.items():
        if file in disregarded:
            with _in_another_folder(), _without_yaml():
                import_module(library)


@contextmanager
def _in_another_folder():
    """Be where nobody has put settings: matplotlib reads them once, as it is loaded."""
    here = os.getcwd()
    os.chdir(Path(__file__).parent)
    try:
        yield
    finally:
        os.chdir(here)


@contextmanager
def _without_yaml():
    """Be without YAML: numba, which reads its settings again and again, then reads none."""
    warnings.filterwarnings("ignore", "A Numba config file is found", UserWarning)
    before = sys.modules.get("yaml", _ABSENT)
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["yaml"]
        if before is not _ABSENT:
            sys.modules["yaml"] = before  # type: ignore[assignment]
