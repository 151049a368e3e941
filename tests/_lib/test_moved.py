"""Modules that have moved are the same under their former names."""

import pickle
import subprocess
import sys
from importlib import import_module

from linrep._lib import moved

(FINDER,) = (each for each in sys.meta_path if isinstance(each, moved._Finder))
FORMER = {*FINDER._homes, "linrep.plotting.lines", "linrep.settings.sizes"} - {"linrep.settings"}


def test_a_former_name_is_the_module_of_the_new_one():
    other = {}
    for name in FORMER:
        module, home = import_module(name), FINDER._home(name)
        if module is not sys.modules[home] or module.__spec__.name != home:
            other[name] = module.__spec__.name
    assert other == {}


def test_former_names_alone_are_enough_and_load_nothing_beforehand():
    code = (
        "import sys, linrep\n"
        "assert not [name for name in sys.modules if name.startswith('linrep.problems')]\n"
        "from linrep.subspace import distance\n"
        "import linrep.plotting.lines as lines\n"
        "from linrep.figures.plotting import lines as same\n"
        "assert lines is same\n"
        "print(distance.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "linrep.problems.subspace\n"


def test_a_module_that_there_never_was_is_none():
    code = "import linrep\nimport linrep.subspaces"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'linrep.subspaces'\n")


def test_what_was_pickled_by_a_former_name_can_be_read():
    distance = import_module("linrep.subspace").distance
    assert pickle.loads(b"clinrep.subspace\ndistance\n.") is distance
