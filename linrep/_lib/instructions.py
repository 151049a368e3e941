"""What code objects do and name: the same wherever they stand in a file."""

from __future__ import annotations

import dis
import inspect
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
#: Instructions that do nothing.
_IDLE = ("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "RESUME")
#: What the body of a class stores of its text.
_ABOUT_TEXT = ("__doc__", "__firstlineno__", "__static_attributes__")
#: What says how a code object is called.
_FLAGS = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip


@dataclass(frozen=True)
class Instructions:
    """What a code object does, and those within it.

    Attributes
    ----------
    steps : tuple
        Plain values: equal if the same is done.
    variables : frozenset of str
        Names that are looked up in the module.
    names : frozenset of str
        Names of attributes, and texts that could be such.
    imports : frozenset of tuple
        Of each import the number of leading dots, the module's name, and what is taken from it.
    """

    steps: tuple[Any, ...]
    variables: frozenset[str]
    names: frozenset[str]
    imports: frozenset[tuple[int, str, tuple[str, ...]]]


@lru_cache(maxsize=2**12)
def read(code: CodeType) -> Instructions:
    """Return what a code object does, but for its docstring and annotations."""
    within: list[Instructions] = []
    variables, names, imports = set(), set(code.co_names), set()

    def constant(value):
        if isinstance(value, CodeType):
            within.append(read(value))
            return within[-1].steps
        if isinstance(value, tuple):
            return tuple(map(constant, value))
        if isinstance(value, frozenset):
            return "set", *sorted(repr(constant(each)) for each in value)
        if isinstance(value, str) and value.isidentifier():
            names.add(value)
        return repr(value)

    listed = [each for each in dis.get_instructions(code) if each.opname not in _IDLE]
    offsets = [each.offset for each in listed]
    steps: list[tuple[str, Any]] = []
    for place, each in enumerate(listed):
        argument: Any = each.arg  # of a variable its number: what it is called does not matter
        if each.opcode in dis.hasconst:
            argument = constant(each.argval)
        elif each.opcode in dis.hasname:
            argument = each.argval
        elif each.opcode in _JUMPS:
            argument = bisect_left(offsets, each.argval)
        if "GLOBAL" in each.opname or each.opname == "LOAD_NAME":
            variables.add(argument)
        elif each.opname == "IMPORT_NAME":
            dots, taken = (listed[place - back].argval for back in (2, 1))
            imports.add((dots, argument, taken or ()))
        if each.opname == "STORE_NAME" and argument in _ABOUT_TEXT:
            steps.pop()  # its value
        else:
            steps.append((each.opname, argument))
    handlers = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined] # unknown to stubs
    caught = tuple(
        (*(bisect_left(offsets, end) for end in (h.start, h.end, h.target)), h.depth, h.lasti)
        for h in handlers
    )
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    called = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    return Instructions(
        (counts, called, code.co_flags & _FLAGS, caught, *steps),
        frozenset(variables.union(*(each.variables for each in within))),
        frozenset(names.union(*(each.names for each in within))),
        frozenset(imports.union(*(each.imports for each in within))),
    )
