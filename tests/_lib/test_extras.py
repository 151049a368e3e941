"""What `pip install linrep` alone can do, and the line that says what brings the rest."""

import os
import re
import shlex
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
# Stands in a process of its own for an environment that lacks some modules.
LACKING = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
"""
#: Nothing but the dependencies.
ALONE = LACKING.format(modules=sorted(top_level(ELSE - {"linrep"}) - top_level(BASE)))


def alone(script, status=0, lacking=ALONE, **options):
    """Run a script without what extras bring, or some of it; return what it writes."""
    done = subprocess.run(
        [sys.executable, "-c", lacking + script],
        env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        **options,
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
    own = set().union(*known.values()) | absent
    assert own <= declared if extra == "test" else own == declared  # the tests need more


@pytest.mark.slow
def test_methods_kernels_theory_and_pictures_need_the_dependencies_alone():
    written = alone("""
import numpy as np
import linrep as lr

truth = lr.SharedRepresentation.random(n=6, d=4, k=2, rng=0)
trace = lr.fedrep(truth, m=5, rounds=20, rng=1)
assert 0.0 < lr.theory.fedrep.contraction(truth, step_size=trace.step_size) < 1.0
trace.plot()
assert len(trace.to_frame()) == 21

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


def test_the_command_without_its_extra_is_one_line_and_status_2():
    said = alone("from linrep.__main__ import main\nmain()", status=2)
    assert said == "Error: the command line needs click: pip install 'linrep[cli]'\n"


#: Calls of commands that need what an extra brings, or do without it; in an empty folder.
CALLS = {
    "sweeps": ["sweep fedrep --n 6 --d 4 --k 2 --m 5 --rounds 2"],
    "claims": ["verify fedrep.lemma1", "show fedrep.lemma1", "certify fedrep.eq67", "report"],
    "data": ["figures fedrep.digits --quick", "show fedrep.digits"],
    "certify": ["certify fedrep.eq67", "show --cite fedrep.lemma1"],
    "cluster": ["sweep fedrep --n 6 --d 4 --k 2 --m 5 --rounds 2 --dask tcp://127.0.0.1:1"],
    "deep": [
        "figures deep.fedrep_table1",
        "figures deep.digits --quick",
        "show deep.digits",
        "sweep deep.fedrep --n 6 --d 4 --k 2 --m 5 --rounds 2",
    ],
}
#: Calls that have something to say without the extra.
WITHOUT = {"show fedrep.digits", "show deep.digits", "show --cite fedrep.lemma1"}
#: Calls the command as click's users do, which gives what nobody has handled.
CALLED = """
import os
from click.testing import CliRunner
from linrep.cli import main

for words in {calls}:
    done = CliRunner().invoke(main, words.split())
    odd = done.exception is not None and not isinstance(done.exception, SystemExit)
    print(done.exit_code, repr(done.exception) if odd else " / ".join(done.output.splitlines()))
"""
PUBLIC = """
from importlib import import_module
import linrep

rooms = ["linrep", *(f"linrep.{name}" for name in linrep.__all__ if name != "__version__")]
for room in rooms:
    try:
        home, _, name = room.rpartition(".")
        module = getattr(import_module(home), name) if home else linrep
        names = getattr(module, "__all__", ())
    except Exception as error:
        print(room, "|", type(error).__name__, "|", error)
        continue
    for name in names:
        try:
            getattr(module, name)
        except Exception as error:
            print(f"{room}.{name}", "|", type(error).__name__, "|", error)
"""


def required_by_others(extra):
    """Return modules that come, too, with the dependencies and with other extras' packages."""
    others = [
        each
        for name in extras.EXTRAS.keys() - {extra}
        for each in PROJECT["optional-dependencies"][name]
        if not each.startswith("linrep[") and set(map(normal, NAME.findall(each)[:1])) <= ELSE
    ]
    return top_level(distributions(others) | BASE)


def says_how(line):
    """Tell whether a line names modules and the command that installs the extra they are of."""
    found = re.fullmatch(r".+ needs (.+): pip install 'linrep\[(\w+)\]'", line)
    return bool(found) and {*found[1].split(", ")} <= {*extras.EXTRAS[found[2]]}


def test_each_public_name_is_there_or_says_in_one_line_what_it_lacks():
    lines = alone(PUBLIC).splitlines()
    assert len(lines) > 50
    for line in lines:
        _, kind, said = line.split(" | ")
        assert kind == "MissingPackage", line
        assert says_how(said), line


@pytest.mark.parametrize("extra", CALLS)
def test_each_command_that_lacks_an_extra_says_so_in_one_line(extra, tmp_path):
    lacking = LACKING.format(modules=sorted({*extras.EXTRAS[extra]} - required_by_others(extra)))
    script = CALLED.format(calls=CALLS[extra])
    lines = alone(script, lacking=lacking, cwd=tmp_path).splitlines()
    for words, line in zip(CALLS[extra], lines, strict=True):
        status, _, said = line.partition(" ")
        if words in WITHOUT:
            assert status == "0", (words, line)
        else:
            assert status == "2", (words, line)
            assert says_how(said), (words, line)
            assert said.startswith("Error: "), (words, line)


@pytest.mark.parametrize("words", ["-c 'from linrep.__main__ import main; main()'", "-m linrep"])
def test_whoever_calls_the_command_it_is_one_line(words, tmp_path):
    """The console script and Python's switch, in a process in which solvers are missing."""
    (tmp_path / "sitecustomize.py").write_text(LACKING.format(modules=extras.EXTRAS["certify"]))
    command = [sys.executable, *shlex.split(words), *CALLS["certify"][0].split()]
    around = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(command, env=around, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert says_how(done.stderr.removesuffix("\n"))
    assert done.stderr.startswith("Error: ")
