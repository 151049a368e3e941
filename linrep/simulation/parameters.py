"""What a cell may say of an algorithm and of its problem; no algorithm is loaded for it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from linrep._lib.outlines import PACKAGE, outline_of, tree
from linrep.simulation.families import Family, find, takes

#: Before the name of a setting that is a parameter of its problem, too.
OF_METHOD = "method_"
_HOME = "linrep.algorithms."
_DECORATOR = "@algorithm("


@cache
def outlines() -> Mapping[str, tuple[str, Callable[..., Any]]]:
    """Return the algorithms that are registered, in order: their families, and their outlines."""
    found = {outline.__name__: (family, outline) for family, outline in _decorated()}
    return dict(sorted(found.items(), key=lambda item: (item[1][0] != "regression", item[0])))


def _decorated() -> Iterator[tuple[str, Callable[..., Any]]]:
    for path in PACKAGE.glob("algorithms/*.py"):
        if _DECORATOR not in path.read_text("utf-8"):
            continue
        for node in tree(path).body:
            match node:
                case ast.FunctionDef(
                    decorator_list=[
                        ast.Call(func=ast.Name("algorithm"), args=[ast.Constant(str(family))])
                    ]
                ):
                    yield family, outline_of(node, _HOME + path.stem)


def known_parameters(algorithm: Callable[..., Any], family: Family) -> tuple[str, ...] | None:
    """Return the parameters that a cell may have with an algorithm, None if any.

    Parameters
    ----------
    algorithm : callable
        As :func:`linrep.simulation.find_algorithm` returns it.
    family : Family
        Of the problem.
    """
    signature = inspect.signature(algorithm).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature):
        return None
    own = [parameter.name for parameter in signature][1:]
    # What is drawn of a regression is a setting of the algorithms, what is seen of a matrix is not.
    seen = () if family is find("regression") else family.data
    if family is find("regression") and of_samples(algorithm):
        own += ["m", "batches"]
    names = (*family.parameters, *seen, *family.options, *own)
    if family.prefix:
        both = [name for name in own if name in family.parameters]
        names = (
            *(name for name in names if name not in both),
            *(f"{OF_METHOD}{name}" for name in both),
            *(f"{family.prefix}{name}" for name in family.parameters),
        )
    return tuple(dict.fromkeys(name for name in names if name != "rng"))


def required(
    algorithm: Callable[..., Any], family: Family, axes: Mapping[str, Any] | None = None
) -> list[tuple[str, ...]]:
    """Return the parameters that have to be given: one of each tuple.

    Parameters
    ----------
    algorithm, family
        As in :func:`known_parameters`.
    axes : mapping, optional
        What is given: FLUTE's population has no samples.
    """
    groups: list[tuple[str, ...]] = [(size,) for size in family.sizes]
    batches = (axes or {}).get("batches", ())
    if family is find("regression") and algorithm.__module__.startswith(_HOME):
        if "population" not in batches:
            groups.append(family.data)
    elif family is find("completion") and not takes(algorithm, "local_steps"):
        groups.append(family.data)
    for each in list(inspect.signature(algorithm).parameters.values())[1:]:
        # The generator is handed over, and the rank where problems have one.
        named = each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
        if named and each.default is each.empty and each.name not in ("rng", "k"):
            groups.append((each.name,))
    return list(dict.fromkeys(groups))


def of_samples(algorithm: Callable[..., Any]) -> bool:
    """Tell whether an algorithm takes samples, which its first parameter, data, says.

    Parameters
    ----------
    algorithm : callable
    """
    first = next(iter(inspect.signature(algorithm).parameters), None)
    return first == "data" and not getattr(algorithm, "trains_networks", False)


def plain_name(name: str, family: Family) -> str:
    """Return the name of an axis without the prefix that tells whose it is.

    Parameters
    ----------
    name : str
    family : Family
    """
    return owner(name, family)[1]


def owner(name: str, family: Family) -> tuple[bool, str]:
    """Return whether a name is of a parameter of the problem, and the name without prefix.

    Parameters
    ----------
    name : str
    family : Family
    """
    for prefix in (family.prefix, OF_METHOD) if family.prefix else ():
        if name.startswith(prefix) and (plain := name.removeprefix(prefix)) in family.parameters:
            return prefix == family.prefix, plain
    return name in family.parameters, name
