"""Where experiments' scripts and the record are, and the ids; loads nothing."""

from __future__ import annotations

from pathlib import Path

import linrep
from linrep._lib.papers import papers


def folder() -> Path:
    """Return the folder of the experiments' scripts, of the repository or of the installation."""
    package = Path(linrep.__file__).parent
    shipped = package / "_experiments"
    return shipped if shipped.is_dir() else package.parent / "experiments"


def record() -> Path | None:
    """Return the folder of the recorded figures that come with an installation, None elsewhere."""
    shipped = Path(linrep.__file__).parent / "_figures"
    return shipped if shipped.is_dir() else None


def scripts() -> dict[str, Path]:
    """Return the experiments' scripts by id: linrep's, and those in the papers' folders."""
    found = {path.stem.replace("_", ".", 1): path for path in folder().glob("[a-z]*_*.py")}
    for name, paper in papers().items():
        found |= {f"{name}.{path.stem}": path for path in paper.folder.glob("figures/[a-z]*.py")}
    return found


def available() -> list[str]:
    """Return the ids of the experiments of linrep and of the papers that packages bring."""
    return sorted(scripts())
