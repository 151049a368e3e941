"""The papers whose statements are checked: linrep's own and those of installed packages.

A package names its paper in an entry point of the group ``linrep.papers``, ``name = "package"``;
the folder of that package has what a folder in ``linrep/papers`` has. It is found, and what is
recorded in it is read, without importing anything of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import linrep

GROUP = "linrep.papers"
LEDGER = "ledger.json"
#: Of the file beside a ledger that has what pictures are drawn from.
PICTURES = ".parquet"
#: Of linrep's own papers.
FOLDER = Path(linrep.__file__).parent / "papers"


@dataclass(frozen=True)
class Paper:
    """Where a paper's statements are.

    Attributes
    ----------
    name : str
        How the ids of its statements begin.
    module : str
        The package whose modules make them.
    folder : path
        Of this package.
    """

    name: str
    module: str
    folder: Path

    @property
    def ledger(self) -> Path:
        """The file of what is recorded of its statements."""
        return self.folder / LEDGER


def papers() -> dict[str, Paper]:
    """Return the papers by name, linrep's own first."""
    return _found()[0]


def own() -> list[str]:
    """Return the names of the papers that come with linrep."""
    return sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


def skipped() -> dict[str, str]:
    """Return which packages offer a paper that cannot be taken, and why."""
    return _found()[1]


def paper_of(id: str) -> str:
    """Return the name of the paper that an id, or a pattern of ids, is of."""
    return id.partition(".")[0]


def named(patterns: Iterable[str]) -> set[str]:
    """Return the papers that patterns of ids are of, none where one may be of several."""
    names = set(map(paper_of, patterns))
    return names if names <= papers().keys() else set()


def files(name: str, within: Iterable[str] = ()) -> list[Path]:
    """Return the files of a name, or a pattern, in the folders of papers, by default of all."""
    asked = set(within)
    folders = (item.folder for item in papers().values() if not asked or item.name in asked)
    return [path for folder in folders for path in sorted(folder.glob(name))]


def owners(path: Path) -> set[str]:
    """Return the papers that a file is of, none of one elsewhere."""
    place = path.resolve()
    return {name for name, item in papers().items() if place.is_relative_to(item.folder.resolve())}


@cache
def _found() -> tuple[dict[str, Paper], dict[str, str]]:
    from importlib.metadata import entry_points

    taken = {name: Paper(name, f"linrep.papers.{name}", FOLDER / name) for name in own()}
    refused: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        module = entry.value.partition(":")[0].strip()
        folder = _folder(module)
        if not entry.name.isidentifier():
            refused[module] = f"{entry.name!r} is no name of a paper: letters, digits and _"
        elif folder is None:
            refused[module] = f"there is no package {module}, which {entry.name} names"
        elif entry.name in taken:
            refused[module] = f"{taken[entry.name].module} is {entry.name} already"
        else:
            taken[entry.name] = Paper(entry.name, module, folder)
    return taken, refused


def _folder(module: str) -> Path | None:
    """Return the folder of a package without importing it, None where there is no package."""
    top, *inner = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place, *inner)
        if (folder / "__init__.py").is_file():
            return folder
    return None
