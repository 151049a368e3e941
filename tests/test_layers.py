"""Imports point downwards only, read from the sources so that lazy imports count too."""

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import linrep

PACKAGE = Path(linrep.__file__).parent
TESTS = Path(__file__).parent

#: From the lowest layer to the highest; a module imports from its own layer and from those before.
ORDER = """
_lib kernels stats problems trace algorithms estimators deep theory sweeps figures simulation claims
papers testing report cli __main__
"""
LAYERS = ORDER.split()
#: Rooms that may import only some of those below, or of one of them only a module, and only these
#: packages from elsewhere.
STRICT = {
    "_lib": ("", "lazy_loader llvmlite numba numpy pandas pyarrow scipy threadpoolctl tqdm"),
    # Their public calls check what users hand in, in the words of all other calls.
    "kernels": ("_lib", "llvmlite numba numpy"),
    "stats": ("_lib", "numpy scipy"),
    "trace": ("_lib problems.prediction stats", "numpy matplotlib pandas xarray"),
    # The adapter needs no compiled kernels.
    "deep": (
        "_lib problems.random stats trace",
        "PIL numpy pandas scipy sklearn torch torchvision",
    ),
    # What the papers predict depends on no algorithm.
    "theory": ("_lib kernels problems stats", "numpy scipy"),
    # What is swept is none of their business.
    "sweeps": ("_lib stats", "cloudpickle distributed numpy pandas pyarrow tqdm xarray"),
}


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in MODULES}
NAMES = {module.removesuffix(".__init__") for module in SOURCES}


@cache
def nodes(source):
    """Return all nodes of a module's source, which several tests look at."""
    return list(ast.walk(ast.parse(source)))


@cache
def imports(source, module):
    """Return what a module's source imports, wherever in it, as pairs: a module, and a name in it.

    The name is None where the module itself is imported; ``import_module`` and ``__import__`` count
    if called with a string.
    """
    return tuple(_imports(source, module))


def _imports(source, module):
    package = module.split(".")
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            name = ".".join(filter(None, (base, node.module)))
            yield from ((name, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = getattr(node.func, "attr", getattr(node.func, "id", None))
            argument = node.args[0]
            if function in ("import_module", "__import__") and isinstance(argument, ast.Constant):
                yield argument.value, None


def imported_modules(source, module):
    """Return the dotted names that a module's source imports.

    Of ``from a import b`` both a and a.b, since b may be a module; of a known module a.b only that.
    """
    names = set()
    for base, name in imports(source, module):
        target = base if name is None else f"{base}.{name}"
        names |= {target} if target in NAMES else {base, target}
    return names


def layer(name):
    """Return the layer of a dotted linrep name; None for the package itself and its attributes."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else None


def prefixes(name):
    """Yield a dotted linrep name and those above it, without the package's."""
    parts = name.split(".")[1:]
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def violations(source, module):
    """Return what a module imports and may not."""
    own = layer(module)
    below, elsewhere = set(LAYERS[: LAYERS.index(own)]), None
    if own in STRICT:
        below, elsewhere = (set(names.split()) for names in STRICT[own])
    wrong = set()
    for name in imported_modules(source, module):
        top = name.partition(".")[0]
        if top == "linrep":
            target = layer(name)
            # `from linrep import x` also yields "linrep": fine, unless x is no layer, that is one
            # of the package's public names, which load layers of their own accord.
            public = name.count(".") == 1 and target is None
            if public or (target not in (None, own) and not below & set(prefixes(name))):
                wrong.add(name)
        elif elsewhere is not None and top not in elsewhere | sys.stdlib_module_names:
            wrong.add(name)
    return wrong


def test_every_module_has_a_layer():
    unknown = [module for module in SOURCES if layer(module) is None]
    assert unknown == []


def test_imports_point_downwards():
    upward = {module: violations(source, module) for module, source in SOURCES.items()}
    assert {module: names for module, names in upward.items() if names} == {}


def test_the_package_itself_imports_nothing_that_takes_time():
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    names = imported_modules(source, "linrep.__init__")
    assert names == {"linrep._lib.lazy"}


def dependencies(sources):
    """Return, for each of some modules, given as sources by name, which of them it imports.

    A module in a package is not the package, which is its ``__init__.py``.
    """
    graph = {}
    for module, source in sources.items():
        graph[module] = set()
        for base, name in imports(source, module):
            names = (f"{base}.{name}", f"{base}.{name}.__init__", base, f"{base}.__init__")
            graph[module].update([each for each in names if each in sources][:1])
    return graph


def circle(sources):
    """Return modules each of which imports the next, the last being the first; or an empty list."""
    try:
        TopologicalSorter(dependencies(sources)).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_through_others():
    assert circle(SOURCES) == []


@pytest.mark.parametrize(
    "upward",
    [
        "from linrep.a.high import top",
        "def f():\n    from linrep.a import high",
        "if TYPE_CHECKING:\n    from .high import Top",
        "import linrep.a.high",
        "import_module('linrep.a.high')",
        "from linrep.a import top",
    ],
)
def test_a_circle_is_found(upward):
    sources = {
        "linrep.a.__init__": "from linrep.a.high import top",
        "linrep.a.high": "from linrep.a import low",
        "linrep.a.low": "import linrep.b",
        "linrep.b": "",
    }
    assert circle(sources) == []
    sources["linrep.a.low"] = upward
    assert {"linrep.a.low", "linrep.a.high"} <= set(circle(sources))


def private_imports(source, module):
    """Return the private names that a module imports and that are another package's.

    A private name, or what a private module holds, is for the folder that it stands in and those
    inside: the room ``linrep._lib`` is for all of linrep.
    """
    wrong = set()
    for base, name in imports(source, module):
        parts = [*base.split("."), *([] if name is None else [name])]
        for depth, part in enumerate(parts):
            if parts[0] == "linrep" and part.startswith("_") and not part.startswith("__"):
                owner = parts[:depth]
                # A name's owner is the folder of the module that defines it.
                if ".".join(owner) in SOURCES:
                    owner = owner[:-1]
                if module.split(".")[: len(owner)] != owner:
                    wrong.add(".".join(parts))
    return wrong


def test_private_names_stay_in_their_package():
    found = {module: private_imports(source, module) for module, source in SOURCES.items()}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "module", "foreign"),
    [
        ("from linrep.claims.verify import _digest", "linrep.cli.verify", True),
        ("from linrep.claims.verify import _digest", "linrep.claims.ledger", False),
        ("from linrep.papers.fedrep import _runs", "linrep.papers.flute.modes", True),
        ("from linrep.papers.fedrep._runs import runs", "linrep.papers.fedrep.lemma5", False),
        ("from ..fedrep._runs import runs", "linrep.papers.flute.modes", True),
        ("def f():\n    import linrep.stats._arguments", "linrep.theory.flute", True),
        ("from linrep._lib import validation as check", "linrep.papers.flute.modes", False),
        ("from linrep._lib.validation import _shape", "linrep.papers.flute.modes", True),
        ("from linrep.report import __doc__", "linrep.cli.report", False),
    ],
)
def test_a_private_name_of_another_package_is_found(source, module, foreign):
    assert bool(private_imports(source, module)) == foreign


SCRIPTS = sorted((TESTS.parent / "experiments").glob("*.py"))


def test_experiments_import_public_names_only():
    """Nor one another: each script runs by itself."""
    scripts = {"experiments", *(path.stem for path in SCRIPTS)}
    wrong = {}
    for path in SCRIPTS:
        names = imported_modules(path.read_text(encoding="utf-8"), f"experiments.{path.stem}")
        for name in names:
            parts = name.split(".")
            private = parts[0] == "linrep" and any(part.startswith("_") for part in parts)
            if private or parts[0] in scripts:
                wrong.setdefault(path.stem, set()).add(name)
    assert SCRIPTS
    assert wrong == {}


REFERENCES = sorted(TESTS.glob("reference/**/*.py"))


def test_the_reference_imports_nothing_of_linrep():
    """Nor of anything but NumPy, SciPy and itself."""
    wrong = {}
    for path in REFERENCES:
        module = ".".join(("tests", *path.relative_to(TESTS).with_suffix("").parts))
        names = imported_modules(path.read_text(encoding="utf-8"), module)
        outside = {name for name in names if not name.startswith("tests.reference")}
        wrong[path.stem] = {name.partition(".")[0] for name in outside} - {"numpy", "scipy"}
    assert {"fedrep", "subspace"} <= wrong.keys()
    assert {name: modules for name, modules in wrong.items() if modules} == {}


#: A module, what it imports, and what of this it may not.
UPWARD = """
linrep.problems.subspace: from linrep.algorithms import fedrep: linrep.algorithms.fedrep
linrep.stats: def f(): import linrep.figures.plotting: linrep.figures.plotting
linrep.kernels.rounds: from .. import problems: linrep.problems
linrep.kernels.rounds: from ..stats.runs import f: linrep.stats.runs linrep.stats.runs.f
linrep.figures.experiment: from linrep import cli: linrep.cli
linrep.problems.clients: from linrep import fedrep: linrep.fedrep
linrep.kernels.linalg: import scipy.linalg: scipy.linalg
linrep.stats: import pandas as pd: pandas
linrep.theory.fedrep: from linrep.algorithms import fedrep: linrep.algorithms.fedrep
linrep.report: import_module('linrep.cli'): linrep.cli
linrep.stats: from linrep._lib import validation as check:
linrep.problems.regression: from .clients import ClientData:
linrep.problems.subspace: from linrep.kernels import linalg; import scipy:
linrep.kernels.rounds: import os, numba, numpy.linalg:
"""


@pytest.mark.parametrize("line", UPWARD.strip().splitlines())
def test_an_upward_import_is_found_and_a_downward_one_is_none(line):
    module, _, rest = line.partition(": ")
    source, _, expected = rest.rpartition(":")
    assert violations(source, module) == set(expected.split())
