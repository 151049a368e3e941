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
from tests.tools import complaint


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["module:name", "''"]),
        ("functions", ["module:name", "'functions'"]),
        (":f", ["module:name"]),
        ("module:", ["module:name"]),
        ("nowhere.py:f", ["no such file", "nowhere.py"]),
        ("nowhere:f", ["no module", "'nowhere'"]),
        ("tests.nowhere:f", ["no module", "'tests.nowhere'"]),
        ("math.nowhere:f", ["no module", "'math.nowhere'"]),
        ("math:nothing", ["math", "no function", "nothing"]),
        ("math:pi", ["math", "no function", "pi"]),
        ("needy:f", ["needy", "needs the module", "q_missing"]),
        ("needy.py:f", ["needy.py", "needs the module", "q_missing"]),
        ("broken:f", ["broken", "cannot be loaded", "SyntaxError"]),
        ("broken.py:f", ["broken.py", "cannot be loaded", "SyntaxError"]),
        ("raising:f", ["raising", "cannot be loaded", "RuntimeError: two lines"]),
        ("leaving.py:f", ["leaving.py", "cannot be loaded", "SystemExit"]),
        (".relative:f", ["relative"]),
    ],
)
def test_what_is_not_there_is_told_in_one_line(folder, text, words):
    (folder / "needy.py").write_text("import q_missing\n")
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "raising.py").write_text("raise RuntimeError('two\\nlines')\n")
    (folder / "leaving.py").write_text("raise SystemExit(0)\n")
    with complaint(ValueError, *words):
        load(text)
