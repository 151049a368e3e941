"""Functions named by a text."""

import functools
import os
import runpy
import sys

import numpy as np
import pytest

from linrep.sweeps import load
from linrep.sweeps.targets import own_folders, reference
from tests.sweeps import functions


class Method:
    def function(self, cell, rng):
        return 1

    @staticmethod
    def alone(cell, rng):
        return 2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_function_of_a_module_is_found(folder):
    assert load("tests.sweeps.functions:uniform") is functions.uniform
    assert load("tests.sweeps.test_targets:Method.alone") is Method.alone
    (folder / "in_this_folder.py").write_text("def f(cell, rng):\n    return 5\n")
    assert load("in_this_folder:f")({}, None) == 5


def test_a_function_of_a_file_is_found(folder):
    (folder / "script.py").write_text(
        "import math\nfactor = 5\ndef f(cell, rng):\n    return math.sqrt(factor * 5)\n"
        "if __name__ == '__main__':\n    raise SystemExit(1)\n"
    )
    assert load("script.py:f")({}, None) == 5
    assert load(f"{folder}/script.py:f")({}, None) == 5


def test_a_reference_leads_back(folder):
    for function in (functions.uniform, Method.alone, np.mean):
        assert load(reference(function)) is function


def test_a_script_is_referred_to_by_its_file(folder):
    (folder / "script.py").write_text("def f(cell, rng):\n    return 5\n")
    function = runpy.run_path("script.py")["f"]
    text = reference(function)
    assert text == f"{os.path.realpath(folder)}/script.py:f"
    assert load(text)({}, None) == 5


def test_what_cannot_be_found_again_has_no_reference():
    def local():
        pass

    for function in (lambda: 1, local, functools.partial(functions.uniform), Method().function):
        assert reference(function) is None


def test_folders_of_installed_packages_are_not_ones_own(folder):
    installed = [f"{sys.prefix}/lib", os.path.dirname(os.__file__), "/home/u/lib/site-packages"]
    sys.path[:] = ["", *installed, "/x", str(folder)]
    assert own_folders() == [str(folder), "/x"]
