"""What `pip install linrep` alone can do, and the line that says what brings the rest."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

import linrep
from linrep._lib import extras

ROOT = Path(linrep.__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAME = re.compile(r"[A-Za-z0-9._-]+")


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(requirements):
    """Return the distributions of requirements, and those that they require by themselves."""
    names, remaining = set(), [normal(NAME.match(each)[0]) for each in requirements]
    while remaining:
        name = remaining.pop()
        if name not in names:
            names.add(name)
            remaining += [
                normal(NAME.match(each)[0])
                for each in requires(name) or ()
                if ";" not in each  # markers are of extras, and of other systems and versions
            ]
    return names


#: The distributions of each module that is installed.
OWNERS = packages_distributions()


def top_level(names):
    """Return the modules of distributions."""
    return {module for module, their in OWNERS.items() if set(map(normal, their)) & names}


BASE = distributions(PROJECT["dependencies"])
ELSE = {normal(owner) for owners in OWNERS.values() for owner in owners} - BASE
# Stands in a process of its own for an environment that has nothing but the dependencies.
ALONE = f"""
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(top_level(ELSE - {"linrep"}) - top_level(BASE))}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
"""


def alone(script, status=0):
    """Run a script without what extras bring; return what it writes."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE + script],
        env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_the_dependencies_are_few():
    assert {NAME.match(each)[0] for each in PROJECT["dependencies"]} == {
        "lazy-loader", "matplotlib", "numba", "numpy", "pandas", "scipy", "seaborn"
    }  # fmt: skip


@pytest.mark.parametrize("extra", extras.EXTRAS)
def test_extras_are_those_that_are_declared(extra):
    declared = {
        normal(NAME.match(each)[0])
        for each in PROJECT["optional-dependencies"][extra]
        if not each.startswith("linrep[")
    }
    known = {module: set(map(normal, OWNERS.get(module, ()))) for module in extras.EXTRAS[extra]}
    absent = {module for module, names in known.items() if not names}
    assert absent <= {"torch", "xarray"}
    assert set().union(*known.values()) | absent == declared


def test_methods_kernels_theory_and_pictures_need_the_dependencies_alone():
    written = alone("""
import numpy as np
import linrep as lr

truth = lr.SharedRepresentation.random(n=6, d=4, k=2, rng=0)
trace = lr.fedrep(truth, m=5, rounds=20, rng=1)
assert 0.0 < lr.theory.fedrep.contraction(truth, step_size=trace.step_size) < 1.0
trace.plot()
assert len(trace.to_frame()) == 21 and "fedrep" in trace._repr_html_().lower()

data = truth.draw(m=8, rng=2)
lr.flute(data, k=2, rounds=3, rng=1)
lr.local_only(data)
found = lr.compare(truth, ["fedrep", "fedsgd"], m=[5], trials=2, rounds=5, rng=0)
assert found.plot() is not None

seen = lr.SideInformationCompletion.random(n=20, d=10, p=4, k=2, rng=0).observe(per_client=5, rng=1)
lr.perfedsi(seen, step_size=0.01, rounds=5, rng=1)
lr.algorithms.imc.gauss_newton(seen, 2, iterations=3)
problem = lr.problems.personal.flipped_labels(n=6, d=3, m=5, ridge=0.1, rng=0)
lr.pflmf(problem, k=1, step_size=0.5, head_step_size=1.0, rounds=3, rng=1)

B = np.linalg.qr(np.ones((4, 1)))[0]
assert lr.kernels.distance(B, B) < 1e-12
lr.subspace.distance(B, B), lr.stats.proportion_interval(1, 2)
lr.plotting.style()
print("done")
""")
    assert written == "done\n"


TRUTH = "lr.SharedRepresentation.random(n=6, d=4, k=2, rng=0)"
LACKS = {
    "lr.sweeps": "sweeps",
    "lr.estimators": "data",
    "lr.simulation.sweep": "sweeps",
    "lr.experiment": "sweeps",
    "lr.claims": "claims",
    "lr.statements": "claims",
    "lr.report": "claims",
    "lr.testing": "claims",
    f"lr.fedrep({TRUTH}, m=5, rounds=1).to_xarray()": "xarray",
    "from linrep.sweeps.expressions import Expression": "sweeps",
    f"lr.compare({TRUTH}, ['fedrep'], m=3, trials=2, rounds=2, rng=0).to_parquet('x')": "sweeps",
    f"lr.compare({TRUTH}, ['fedrep'], m=3, trials=2, rounds=2, rng=0, progress=True)": "sweeps",
}


def test_what_needs_an_extra_says_in_one_line_how_to_get_it():
    """In one process: each of them would start anew."""
    script = (
        "import linrep as lr\nfor statement in "
        + repr(list(LACKS))
        + """:
    try:
        exec(statement)
    except ModuleNotFoundError as error:
        print(str(error).replace(chr(10), " and another line "))
"""
    )
    lines = alone(script).splitlines()
    assert len(lines) == len(LACKS)
    for line, extra in zip(lines, LACKS.values(), strict=True):
        assert re.fullmatch(rf".+ needs .+: pip install 'linrep\[{extra}\]'", line), line


def test_the_command_without_its_extra_is_one_line_and_status_2():
    said = alone("from linrep.__main__ import main\nmain()", status=2)
    assert (
        said == "Error: the command line needs click, docstring_parser: pip install 'linrep[cli]'\n"
    )


def test_a_command_that_lacks_a_package_is_one_line_and_status_2(monkeypatch, capsys):
    import linrep.cli
    from linrep.__main__ import main

    def lacking(prog_name):
        extras.need("nothing", "linrep verify")

    monkeypatch.setitem(extras.EXTRAS, "nothing", ("no_such_module",))
    monkeypatch.setattr(linrep.cli, "main", lacking)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == "Error: linrep verify needs no_such_module: pip install 'linrep[nothing]'\n"


def test_a_package_of_no_extra_is_installed_by_its_name():
    assert extras.command("sklearn") == "pip install 'linrep[data]'"
    assert extras.command("polars") == "pip install polars"


def test_python_m_linrep_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "linrep", "--version"],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"linrep, version {linrep.__version__}\n"


@pytest.mark.parametrize("words", ["networks", "networks --plan", "networks deep.fedrep_table1"])
def test_tables_of_networks_say_that_torch_is_missing(words):
    script = f"""
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
sys.argv = ["linrep", *{words.split()}]
from linrep.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "torch" in done.stderr
    assert "pip install" in done.stderr
