"""Write the lists of names that follow from the sources: `make names` runs it, a test compares.

These are what `linrep` and `linrep.algorithms` offer of algorithms, and what the command line knows
without loading anything: axes of algorithms, words that these may be, sizes of figures; the texts
of the papers' statements; the README's table of verdicts; and the project's addresses.
"""

import json
import re
import tomllib
from importlib import import_module
from inspect import getdoc
from itertools import chain
from pathlib import Path

from linrep import simulation
from linrep._lib import scripts
from linrep.claims import contents, texts
from linrep.cli import axes
from linrep.figures import experiment
from linrep.problems import completion, regression, samples
from linrep.simulation.families import regression as models

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
    for made in (statements, files):  # the README's table counts what is listed
        for path, text in made().items():
            path.write_text(text, encoding="utf-8")


def files():
    """Return the text of each file by its path."""
    offered = {
        path.stem: sorted(module.__all__)
        for path in sorted(PACKAGE.glob("algorithms/[a-z]*.py"))
        if path.stem not in (*MODULES, *OF_LINREP)
        and hasattr(module := import_module(f"linrep.algorithms.{path.stem}"), "__all__")
    }
    return {
        PACKAGE / "algorithms" / "__init__.py": algorithms(offered),
        PACKAGE / "__init__.pyi": stub(sorted(chain.from_iterable(offered.values()))),
        PACKAGE / "cli" / "names.json": json_text(known()),
        PACKAGE / "cli" / "algorithms.json": json_text(
            {name: shown(name) for name in simulation.ALGORITHMS}
        ),
        README: readme(),
        **addressed(),
        **statements(),
    }


def statements():
    """Return the lists of the papers' statements."""
    return texts.listings(PAPERS)


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


def known():
    """Return what the command line knows by heart."""
    sizes = {name: experiment.load(name).sizes for name in scripts.available()}
    return {
        "axes": {
            name: simulation.known_parameters(function, simulation.family_of(name))
            for name, function in simulation.ALGORITHMS.items()
        },
        "words": words(),
        "sizes": {name: list(vars(own)) for name, own in sizes.items() if own is not None},
    }


def json_text(value):
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def shown(name):
    """Return what the command line shows of an algorithm."""
    text = (getdoc(simulation.find_algorithm(name)) or "").partition("\n\n")[0]
    family = simulation.family_of(name)
    return {
        "says": axes.without_markup(text),
        "needed": [group[0] for group in simulation.required(name, family)],
        "offered": hasattr(import_module("linrep.algorithms"), name),
        "axes": axes.axis_section([name])[1],
    }


def words():
    """Return the words that an axis may be, of some algorithm or problem."""
    paths = sorted(PACKAGE.glob("algorithms/*.py"))
    methods = [import_module(f"linrep.algorithms.{path.stem}") for path in paths]
    named = {
        "batches": "BATCHES",
        "start": "STARTS",
        "normalization": "NORMALIZATIONS",
        "storage": "STORAGES",
        "loss": "LOSSES",
        "aggregate": "AGGREGATES",
        "order": "ORDERS",
        "sampling": "SAMPLINGS",
    }
    return {
        "heads": list(regression.HEADS),
        "design": list(samples.DESIGNS),
        "models": list(models.MODELS),
        "side": list(completion.SIDES),
        **{
            axis: sorted({*chain.from_iterable(getattr(each, name, ()) for each in methods)})
            for axis, name in named.items()
        },
    }


if __name__ == "__main__":
    main()
