"""What linrep's functions take and what their docstrings say, read from the sources.

Nothing is imported, since to load the algorithms takes seconds.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from linrep._lib.described import complete

PACKAGE = Path(__file__).parents[1]


@cache
def tree(path: Path) -> ast.Module:
    """Return a file of Python, parsed."""
    return ast.parse(path.read_bytes(), filename=str(path))


def file_of(module: str) -> Path:
    """Return the file of a module of linrep, by its full name."""
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def outline(place: str) -> Callable[..., Any]:
    """Return a function with the signature and the docstring of one of linrep, or of a class.

    Its place is ``module:name`` or ``module:class.name``. It does nothing. Annotations are left
    out, and each default value that is no literal is None.

    Examples
    --------
    >>> import inspect
    >>> from linrep._lib.outlines import outline
    >>> inspect.signature(outline("linrep._lib.outlines:outline"))
    <Signature (place)>
    """
    module, _, names = place.partition(":")
    node: Any = tree(file_of(module))
    within: Any = None
    for name in names.split("."):
        within, node = node, next(each for each in node.body if getattr(each, "name", "") == name)
    return outline_of(node, module, is_method=isinstance(within, ast.ClassDef))


def outline_of(
    node: ast.FunctionDef | ast.ClassDef, module: str, *, is_method: bool = False
) -> Callable[..., Any]:
    """Return what :func:`outline` does, of the parsed definition in a module.

    The first parameter of a method, the class or the instance, is left out.
    """

    def function(*args, **settings):
        raise NotImplementedError(node.name)

    function.__name__ = function.__qualname__ = node.name
    function.__module__, function.__doc__ = module, ast.get_docstring(node)
    if isinstance(node, ast.FunctionDef):
        parameters = _parameters(node.args)[is_method:]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    complete(function)
    return function


def _parameters(arguments: ast.arguments) -> list[inspect.Parameter]:
    """Return the parameters of a parsed function."""
    kinds = inspect.Parameter
    named = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(named) - len(arguments.defaults))
    found: list[tuple[ast.arg, Any, ast.expr | None]] = [
        (each, kinds.POSITIONAL_OR_KEYWORD, value)
        for each, value in zip(named, [*missing, *arguments.defaults], strict=True)
    ]
    found += [(each, kinds.VAR_POSITIONAL, None) for each in [arguments.vararg] if each]
    found += [
        (each, kinds.KEYWORD_ONLY, value)
        for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    found += [(each, kinds.VAR_KEYWORD, None) for each in [arguments.kwarg] if each]
    return [
        inspect.Parameter(each.arg, kind, default=kinds.empty if value is None else _literal(value))
        for each, kind, value in found
    ]


def _literal(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None
