"""What a cell may say of an algorithm and of its problem; no algorithm is loaded for it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from linrep._lib.outlines import PACKAGE, outline_of, tree
from linrep._lib.suggest import unknown
from linrep.simulation.families import Family, find, takes

#: Before the name of a setting that is a parameter of its problem, too.
OF_METHOD = "method_"
#: Names of methods that train networks begin with it.
DEEP = "deep."
_HOME = "linrep.algorithms."
_DECORATOR = "@algorithm("
#: A parameter's line in a docstring: its name, and what it may be, words in quotes.
_LINE = re.compile(r"^(\w+) : (.*)$", re.MULTILINE)
_WORD = re.compile(r'"([^"]+)"')


@cache
def outlines() -> Mapping[str, tuple[str, Callable[..., Any]]]:
    """Return the algorithms that are registered, in order: their families, and their outlines."""
    found = {outline.__name__: (family, outline) for family, outline in _decorated()}
    return dict(sorted(found.items(), key=lambda item: (item[1][0] != "regression", item[0])))


def _decorated() -> Iterator[tuple[str, Callable[..., Any]]]:
    for path in PACKAGE.glob("algorithms/**/*.py"):
        if _DECORATOR not in path.read_text("utf-8"):
            continue
        for node in tree(path).body:
            match node:
                case ast.FunctionDef(
                    decorator_list=[
                        ast.Call(func=ast.Name("algorithm"), args=[ast.Constant(str(family))])
                    ]
                ):
                    home = path.relative_to(PACKAGE).with_suffix("").parts
                    yield family, outline_of(node, ".".join(("linrep", *home)))


def known_parameters(algorithm: Callable[..., Any], family: Family) -> tuple[str, ...] | None:
    """Return the parameters that a cell may have with an algorithm, None if any.

    The algorithm is as :func:`linrep.simulation.find_algorithm` returns it, the family that of its
    problem.
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

    It depends on the axes that are given: FLUTE's population has no samples.
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


def check_algorithm(name: str) -> None:
    """Raise ValueError for a name that is no algorithm's, and does not say where to find one."""
    if name not in outlines() and ":" not in name and not name.startswith(DEEP):
        every = (
            f"there are {', '.join(outlines())}, {DEEP}fedrep and so on for networks, and "
            "module:function for one of your own"
        )
        raise ValueError(unknown("unknown algorithm", name, outlines(), otherwise=every))


def check_axes(
    algorithms: Mapping[str, Callable[..., Any]],
    family: Family,
    axes: Mapping[str, Any],
    derived: Iterable[str] = (),
    beside: Iterable[str] = (),
) -> None:
    """Raise ValueError for a parameter that no algorithm has, and where one is missing.

    Of the algorithms, by name, and of their problem's family axes are given, and `derived` are
    computed from these; `beside` a parameter other names may have been meant.
    """
    given = dict.fromkeys([*axes, *derived])
    known = [known_parameters(function, family) for function in algorithms.values()]
    if all(own is not None for own in known):
        every = dict.fromkeys(name for own in known for name in own or ())
        for name in (each for each in given if each not in every):
            of, there = f"of {' and '.join(algorithms)}", f"there are {', '.join(every)}"
            names = [*every, *beside]
            raise ValueError(unknown("unknown parameter", name, names, of=of, otherwise=there))
    groups = [group for each in algorithms.values() for group in required(each, family, axes)]
    missing = [group for group in dict.fromkeys(groups) if not given.keys() & {*group}]
    if missing:
        raise ValueError(f"{', '.join(' or '.join(group) for group in missing)} must be given")


def described(algorithm: Callable[..., Any], family: Family) -> dict[str, tuple[Any, list[str]]]:
    """Return the default value of each parameter, and the words that its docstring has for it."""
    own, of_problem = _read(algorithm, *family.documented), _read(*family.documented)
    axes = known_parameters(algorithm, family) or (*family.parameters, *family.data)
    found = {}
    for axis in axes:
        plain = plain_name(axis, family)
        if plain != axis and plain in axes:  # which is shorter
            continue
        is_problems = plain != axis and axis.startswith(family.prefix)
        default, words = (of_problem if is_problems else own).get(plain, (None, []))
        if text := family.descriptions.get(plain):
            words = _WORD.findall(text)
        if axis == "batches" and of_samples(algorithm):
            words = ["fixed"]
        found[axis] = default, words
    return found


def _read(*functions: Callable[..., Any]) -> dict[str, tuple[Any, list[str]]]:
    """Return the default value of each parameter, and its words, by the first function that has."""
    defaults: dict[str, Any] = {}
    words: dict[str, list[str]] = {}
    for function in functions:
        for each in inspect.signature(function).parameters.values():
            defaults.setdefault(each.name, each.default)
        for name, kind in _LINE.findall(inspect.getdoc(function) or ""):
            words.setdefault(name, ["true", "false"] if kind[:4] == "bool" else _WORD.findall(kind))
    return {name: (defaults.get(name), words.get(name, [])) for name in {**defaults, **words}}


def of_samples(algorithm: Callable[..., Any]) -> bool:
    """Tell whether an algorithm takes samples, which its first parameter, data, says."""
    first = next(iter(inspect.signature(algorithm).parameters), None)
    return first == "data" and not getattr(algorithm, "trains_networks", False)


def plain_name(name: str, family: Family) -> str:
    """Return the name of an axis without the prefix that tells whose it is."""
    return owner(name, family)[1]


def owner(name: str, family: Family) -> tuple[bool, str]:
    """Return whether a name is of a parameter of the problem, and the name without prefix."""
    for prefix in (family.prefix, OF_METHOD) if family.prefix else ():
        if name.startswith(prefix) and (plain := name.removeprefix(prefix)) in family.parameters:
            return prefix == family.prefix, plain
    return name in family.parameters, name
