"""The public face is typed: every parameter and every result of what users call."""

import ast
import importlib
import importlib.resources
import inspect
from functools import cached_property

import pytest

import linrep
from tests import typed_use

MODULES = (
    "linrep", "linrep.algorithms", "linrep.algorithms.imc", "linrep.algorithms.personalized",
    "linrep.algorithms.starts", "linrep.claims", "linrep.claims.ledger", "linrep.claims.verify",
    "linrep.figures.experiment", "linrep.kernels", "linrep.figures.plotting", "linrep.problems",
    "linrep.problems.personal", "linrep.report", "linrep.simulation",
    "linrep.stats", "linrep.problems.subspace", "linrep.sweeps", "linrep.theory", "linrep.trace",
    *(f"linrep.theory.{name}" for name in linrep.theory.__all__ if name != "asked"),
    "linrep.theory.requirements",
)  # fmt: skip


def public(module):
    """Yield the functions and classes of linrep that a module offers, by name."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    for name in names:
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        if not name.startswith("_") and callable(value) and home.startswith("linrep"):
            yield name, value


def functions(name, value):
    """Yield the functions behind a name: of a class, its public methods and what makes it."""
    if not inspect.isclass(value):
        yield name, inspect.unwrap(value)
        return
    for method, member in vars(value).items():
        if method.startswith("_") and method != "__init__":
            continue
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        member = getattr(member, "__func__", member)
        if inspect.isfunction(member):
            yield f"{name}.{method}", member


def untyped(function):
    """Return what of a function has no annotation."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    missing = [
        parameter.name
        for place, parameter in enumerate(parameters)
        if parameter.annotation is parameter.empty
        and not (place == 0 and parameter.name in ("self", "cls"))
    ]
    makes = function.__name__ == "__init__"
    return missing + ["return"] * (signature.return_annotation is signature.empty and not makes)


FOUND = {
    f"{function.__module__}.{path}": function
    for module in MODULES
    for name, value in public(importlib.import_module(module))
    for path, function in functions(name, value)
}


def test_every_parameter_and_result_is_typed():
    missing = {path: untyped(function) for path, function in FOUND.items()}
    assert {path: names for path, names in missing.items() if names} == {}


def test_what_is_untyped_is_found():
    def partly(self, first: int, second, *rest): ...

    assert untyped(partly) == ["second", "rest", "return"]


def test_types_are_shipped():
    assert (importlib.resources.files("linrep") / "py.typed").is_file()


@pytest.mark.parametrize("package", [linrep, linrep.deep, linrep.kernels, linrep.theory])
def test_the_names_for_type_checkers_are_the_public_ones(package):
    if package is linrep.deep:
        pytest.importorskip("torch")
    path = importlib.resources.files(package) / "__init__.pyi"
    found = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name  # a name that is offered, not only used
                home = "." * node.level + (node.module or "")
                found[alias.name] = importlib.import_module(home, package.__name__)
    assert set(found) == {*package.__all__}
    for name, home in found.items():
        assert getattr(home, name) is getattr(package, name)


def test_a_typed_program_runs(tmp_path):
    trace = typed_use.regression()
    typed_use.other_problems()
    assert typed_use.own_method().rounds == 4
    assert 1.0 < typed_use.swept(str(tmp_path / "run")) < 2.0
    assert typed_use.drawn(trace).lines
