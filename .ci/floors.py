"""Print the lowest declared versions as exact pins, `name==version`, one a line.

usage: floors.py [EXTRA ...]

Reads the core dependencies of pyproject.toml and those of the extras named. Every requirement must
be a plain `name>=version`, with a bound above or not, so that what is declared and what is tested
cannot differ.
"""

import re
import sys
import tomllib
from pathlib import Path

_PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_FLOOR = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)>=([0-9][0-9A-Za-z.]*)(?:,<[0-9.]+)?")
_NESTED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\[([A-Za-z0-9,._-]+)\]")


def floors(project, extras):
    """Return {name: lowest version} of the core and of the extras, with the extras these name."""
    pins = {}
    seen = set()

    def read(requirements):
        for requirement in requirements:
            nested = _NESTED.fullmatch(requirement)
            if nested and nested[1] == project["name"]:
                for extra in nested[2].split(","):
                    read_extra(extra)
                continue
            floor = _FLOOR.fullmatch(requirement)
            if not floor:
                sys.exit(f"floors.py: {requirement!r} is not of the form name>=version[,<version]")
            name, version = floor.groups()
            if pins.setdefault(name, version) != version:
                sys.exit(f"floors.py: {name} is declared with two floors")

    def read_extra(extra):
        if extra in seen:
            return
        seen.add(extra)
        if extra not in project["optional-dependencies"]:
            sys.exit(f"floors.py: pyproject.toml declares no extra {extra!r}")
        read(project["optional-dependencies"][extra])

    read(project["dependencies"])
    for extra in extras:
        read_extra(extra)
    return pins


def main():
    """Print the pins."""
    project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]
    for name, version in floors(project, sys.argv[1:]).items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
