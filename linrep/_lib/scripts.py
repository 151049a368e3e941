"""Where experiments' scripts, the record and the papers are, and the ids; loads nothing."""

from __future__ import annotations

from pathlib import Path

import linrep


def folder() -> Path:
    """Return the folder of the experiments' scripts, of the repository or of the installation."""
    package = Path(linrep.__file__).parent
    shipped = package / "_experiments"
    return shipped if shipped.is_dir() else package.parent / "experiments"


def record() -> Path | None:
    """Return the folder of the recorded figures that come with an installation, None elsewhere."""
    shipped = Path(linrep.__file__).parent / "_figures"
    return shipped if shipped.is_dir() else None


def papers() -> Path:
    """Return the folder of the ledger, with a folder for each paper's statements."""
    return Path(linrep.__file__).parent / "papers"


def available() -> list[str]:
    """Return the ids of the experiments that come with linrep."""
    return sorted(path.stem.replace("_", ".", 1) for path in folder().glob("[a-z]*_*.py"))
