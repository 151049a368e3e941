"""Importing linrep costs nothing; its names load on first use."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import linrep

ROOT = Path(linrep.__file__).parent.parent
#: What takes time to load: of tables, pictures and networks, and whatever computes.
TABLES = {"matplotlib", "pandas", "pyarrow", "seaborn", "sklearn", "torch"}
HEAVY = TABLES | {"click", "numba", "numpy", "scipy", "tqdm"}


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


def loaded_by(*statements):
    """Return for each statement the top-level packages that a fresh interpreter loads with it."""
    return [{name.partition(".")[0] for name in names} for _, names in loaded(*statements)]


def test_only_what_is_asked_for_is_loaded():
    nothing, solving, theory = loaded_by(
        "import linrep; linrep.__version__; dir(linrep)",
        "import linrep; linrep.fedrep; linrep.SharedRepresentation; linrep.stats",
        "import linrep; linrep.theory.fedrep.contraction",
    )
    assert "linrep" in nothing
    assert nothing & HEAVY == set()
    assert {"numba", "numpy", "scipy"} <= solving
    assert (solving | theory) & TABLES == set()


def test_a_name_that_a_package_does_not_have_is_answered_with_those_that_are_near():
    for package, name, meant in (
        (linrep, "fedrp", "did you mean fedrep"),
        (linrep.theory, "asymptotic", "did you mean asymptotics"),
        (linrep.problems, "SharedRepresentaton", "did you mean SharedRepresentation"),
        (linrep, "zzz", "dir(linrep) lists"),
        (linrep.theory, "fedprox", ""),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; ") as raised:
            getattr(package, name)
        assert meant in str(raised.value)
    assert not hasattr(linrep, "_fedrep")


@pytest.mark.slow
def test_networks_need_no_compiled_kernels_and_their_data_no_torch():
    data, pandas = loaded_by("from linrep.deep import data, partitions, readers", "import pandas")
    assert data & {"numba", "torch"} == set()
    # From version 3 pandas loads pyarrow by itself; that linrep.deep does not, `test_layers` sees.
    assert "pyarrow" not in data - pandas
    pytest.importorskip("torch")
    (networks,) = loaded_by("from linrep.deep import METHODS, models, run")
    assert "torch" in networks
    assert "numba" not in networks


def test_every_public_name_resolves_and_is_that_of_the_front_page():
    assert len(set(linrep.__all__)) == len(linrep.__all__)
    values = {}
    exec("from linrep import *", values)
    assert {name for name in linrep.__all__ if values.get(name) is None} == set()
    # Loaded when first asked for, they stay the same objects.
    assert [name for name in linrep.__all__ if getattr(linrep, name) is not values[name]] == []
    for module in (linrep.algorithms, linrep.problems, linrep.problems.subspace, linrep.theory):
        found = {name: getattr(module, name) for name in module.__all__}
        assert [name for name, value in found.items() if not value.__doc__] == []
        if module in (linrep.algorithms, linrep.problems):
            own = {name for name, value in found.items() if not isinstance(value, ModuleType)}
            assert [name for name in own if values[name] is not found[name]] == []


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
