"""Importing linrep costs nothing; its names load on first use."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import linrep

ROOT = Path(linrep.__file__).parent.parent
HEAVY = {
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "seaborn",
    "sklearn",
    "torch",
    "tqdm",
    "click",
}


#: Runs each statement in a copy of this process, which has loaded nothing yet.
APART = """
import os, sys
for statement in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            exec(statement)
        except SystemExit as ended:
            assert not ended.code, statement
        print("\\0", *sys.modules, end="\\0", flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{statement} fails")
"""


def loaded(*statements, folder=None):
    """Return of each statement what it prints, and the modules that it loads."""
    done = subprocess.run(
        [sys.executable, "-c", APART, *statements],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *parts, rest = done.stdout.split("\0")
    assert not rest
    return [(said, set(names.split())) for said, names in zip(parts[::2], parts[1::2], strict=True)]


def loaded_by(statement):
    """Return the top-level packages that a fresh interpreter has loaded after a statement."""
    ((_, names),) = loaded(statement)
    return {name.partition(".")[0] for name in names}


def test_importing_linrep_loads_nothing_heavy():
    loaded = loaded_by("import linrep; linrep.__version__; dir(linrep)")
    assert "linrep" in loaded
    assert loaded & HEAVY == set()


def test_a_name_that_a_package_does_not_have_is_answered_with_those_that_are_near():
    import linrep

    for package, name, meant in (
        (linrep, "fedrp", "did you mean fedrep"),
        (linrep.theory, "asymptotic", "did you mean asymptotics"),
        (linrep.problems, "SharedRepresentaton", "did you mean SharedRepresentation"),
        (linrep, "zzz", "dir(linrep) lists"),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; ") as raised:
            getattr(package, name)
        assert meant in str(raised.value)
    assert not hasattr(linrep, "_fedrep")


def test_solving_loads_no_tables_and_no_pictures():
    loaded = loaded_by("import linrep; linrep.fedrep; linrep.SharedRepresentation; linrep.stats")
    assert {"numba", "numpy", "scipy"} <= loaded
    assert loaded & {"matplotlib", "pandas", "pyarrow", "seaborn", "sklearn", "torch"} == set()


@pytest.mark.slow
def test_networks_need_no_compiled_kernels_and_their_data_no_torch():
    loaded = loaded_by("from linrep.deep import data, partitions, readers")
    assert loaded & {"numba", "torch"} == set()
    # From version 3 pandas loads pyarrow by itself; that linrep.deep does not, `test_layers` sees.
    assert "pyarrow" not in loaded or "pyarrow" in loaded_by("import pandas")
    pytest.importorskip("torch")
    loaded = loaded_by("from linrep.deep import METHODS, models, run")
    assert "torch" in loaded
    assert "numba" not in loaded


def test_every_public_name_resolves():
    values = {name: getattr(linrep, name, None) for name in linrep.__all__}
    assert [name for name, value in values.items() if value is None] == []
    # Loaded when first asked for, they stay the same objects.
    assert [name for name in values if getattr(linrep, name) is not values[name]] == []


def test_public_names_are_listed_once():
    assert len(set(linrep.__all__)) == len(linrep.__all__)


def test_dir_shows_the_public_names_and_no_others():
    modules = (
        linrep, linrep.algorithms, linrep.claims, linrep.deep, linrep.deep.partitions,
        linrep.deep.readers, linrep.figures.plotting, linrep.problems, linrep.problems.subspace,
        linrep.stats, linrep.sweeps, linrep.theory,
    )  # fmt: skip
    differing = {each.__name__: {*dir(each)} ^ {*each.__all__} for each in modules}
    assert {name: names for name, names in differing.items() if names} == {}
    assert [each.__name__ for each in modules if dir(each) != sorted(each.__all__)] == []


@pytest.mark.slow
@pytest.mark.parametrize("jedi", [False, True])
def test_completion_in_a_notebook_offers_the_public_names(jedi):
    completer = pytest.importorskip("IPython.core.completer")
    own = completer.IPCompleter(namespace={"lr": linrep}, use_jedi=jedi)
    with completer.provisionalcompleter():
        for text, module in (("lr.", linrep), ("lr.problems.", linrep.problems)):
            found = {item.text.lstrip(".") for item in own.completions(text, len(text))}
            public = {name for name in module.__all__ if not name.startswith("_")}
            assert {name for name in found if not name.startswith("_")} == public


@pytest.mark.slow
def test_completion_in_a_notebook_offers_the_ids_of_statements():
    completer = pytest.importorskip("IPython.core.completer")
    own = completer.IPCompleter(namespace={"lr": linrep})
    text = 'lr.statements["pflmf.lem'
    with completer.provisionalcompleter():
        found = {item.text.strip('"[]') for item in own.completions(text, len(text))}
    assert "pflmf.lemma3" in found


def test_the_names_of_the_modules_exist():
    for module in (linrep.algorithms, linrep.problems, linrep.problems.subspace):
        assert [name for name in module.__all__ if not getattr(module, name).__doc__] == []


def test_theory_loads_paper_by_paper():
    for name in linrep.theory.__all__:
        assert getattr(linrep.theory, name).__doc__
    with pytest.raises(AttributeError, match="attribute 'fedprox'"):
        linrep.theory.fedprox  # noqa: B018
    loaded = loaded_by("import linrep; linrep.theory.fedrep.contraction")
    assert loaded & {"matplotlib", "pandas", "pyarrow", "seaborn", "sklearn", "torch"} == set()


def test_all_algorithms_and_problems_are_public():
    for module in (linrep.algorithms, linrep.problems):
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                assert getattr(linrep, name) is value


def test_star_import_brings_the_public_names():
    names = {}
    exec("from linrep import *", names)
    assert set(linrep.__all__) <= set(names)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="linrep' has no attribute 'fedprox'"):
        linrep.fedprox  # noqa: B018
