"""Write the lists of names that follow from the sources: `make names` runs it, a test compares.

These are what `linrep` and `linrep.algorithms` offer of algorithms; the texts of the papers'
statements in their ledgers; the README's table of verdicts; and the project's addresses.
"""

import re
import tomllib
from importlib import import_module
from inspect import getdoc
from itertools import chain
from pathlib import Path

from linrep.claims import contents, ledger

PACKAGE = Path(__file__).parents[1] / "linrep"
README = PACKAGE.parent / "README.md"
#: What the README's table has of each paper.
PAPERS = {
    "fedrep": "[FedRep](docs/fedrep.md), Collins et al., ICML 2021",
    "flute": "[FLUTE](docs/flute.md), Liu et al., ICML 2024",
    "perfedsi": "[PerFedSI](docs/perfedsi.md)",
    "pflmf": "[pFL<sup>MF</sup>](docs/pflmf.md), Dadras et al., TMLR",
}
#: Offered as modules, since their names are those of others.
MODULES = ("biases", "imc", "personalized")
#: What they offer, `linrep` alone does.
OF_LINREP = ("diagnosis", "driver")


def main():
    ledger.refresh(PAPERS)  # the README's table counts what is in the ledgers
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


def files():
    """Return the text of each file by its path."""
    folder = PACKAGE / "algorithms"
    homes = (path.relative_to(folder).with_suffix("") for path in folder.glob("**/[a-z]*.py"))
    offered = {
        ".".join(home.parts): sorted(module.__all__)
        for home in sorted(homes)
        if home.parts[0] not in (*MODULES, *OF_LINREP) or home.name == "perfedsi"
        if hasattr(module := import_module(f"linrep.algorithms.{'.'.join(home.parts)}"), "__all__")
    }
    return {
        PACKAGE / "algorithms" / "__init__.py": algorithms(offered),
        PACKAGE / "__init__.pyi": stub(sorted(chain.from_iterable(offered.values()))),
        README: readme(),
        **addressed(),
    }


def readme():
    """Return the README, in which the table of verdicts is written anew."""
    text, lines = README.read_text("utf-8"), contents.table(PAPERS)
    old = re.search(r"^\| paper \| statements .*?\n(?=\n)", text, re.DOTALL | re.MULTILINE)
    return text.replace(old[0], "".join(f"{line}\n" for line in lines))


def addressed():
    """Return the texts that name the project's addresses, which pyproject.toml has."""
    root = README.parent
    urls = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    lines = {
        "CITATION.cff": {"url": "Homepage", "repository-code": "Repository"},
        "recipe/recipe.yaml": {
            "  homepage": "Homepage",
            "  documentation": "Documentation",
            "  repository": "Repository",
        },
    }
    made = {}
    for name, keys in lines.items():
        text = (root / name).read_text("utf-8")
        for key, url in keys.items():
            text = re.sub(rf"^{key}: .*$", f'{key}: "{urls[url]}"', text, flags=re.MULTILINE)
        made[root / name] = text
    return made


def algorithms(offered):
    """Return the source of `linrep.algorithms`."""
    names = sorted([*MODULES, *chain.from_iterable(offered.values())])
    lines = [
        f'"""{getdoc(import_module("linrep.algorithms"))}"""',
        "",
        f"from linrep.algorithms import {', '.join(MODULES)}",
        *(line for home, own in offered.items() for line in imported(home, own)),
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in names),
        "]",
        "",
        "",
        "def __dir__():",
        "    return sorted(__all__)",
    ]
    return "\n".join(lines) + "\n"


def imported(home, names):
    line = f"from linrep.algorithms.{home} import {', '.join(names)}"
    if len(line) <= 100:
        return [line]
    return [f"from linrep.algorithms.{home} import (", *(f"    {name}," for name in names), ")"]


def stub(names):
    """Return the stub of `linrep`, in which the lines on algorithms are written anew."""
    text = (PACKAGE / "__init__.pyi").read_text("utf-8")
    start = re.compile(r"(?:from \.algorithms import \w+ as \w+\n)+")
    lines = "".join(f"from .algorithms import {name} as {name}\n" for name in names)
    return start.sub(lines, text, count=1)


if __name__ == "__main__":
    main()
