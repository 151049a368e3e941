"""Files of kernels and of statements are tested by files of their names."""

from pathlib import Path

import linrep
from linrep.claims import claims

PACKAGE = Path(linrep.__file__).parent
TESTS = Path(__file__).parent


def place_of_tests(module):
    """Return where the tests of a module of linrep are."""
    _, *folders, name = module.split(".")
    return TESTS.joinpath(*folders, f"test_{name}.py")


def test_every_public_file_of_kernels_has_its_tests():
    names = [path.stem for path in PACKAGE.glob("kernels/[a-z]*.py")]
    assert names
    assert [name for name in names if not place_of_tests(f"linrep.kernels.{name}").is_file()] == []


def test_every_file_of_statements_has_its_tests():
    """Also those that each such file has, of the negative controls among others."""
    modules = {item.check.__module__ for item in claims().values()}
    assert modules
    assert [name for name in modules if not place_of_tests(name).is_file()] == []
    shared = "from tests.papers.support import *"
    assert [name for name in modules if shared not in place_of_tests(name).read_text("utf-8")] == []
