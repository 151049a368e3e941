"""What code objects do and name: the same wherever they stand in a file, and however formatted."""

from __future__ import annotations

import dis
import inspect
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
#: Instructions that do nothing.
_IDLE = ("EXTENDED_ARG", "NOP", "NOT_TAKEN", "RESUME")
_ALWAYS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
_DIRECTION = re.compile("(?<=POP_JUMP_)(FORWARD|BACKWARD)_")
_OPPOSITES = {
    "POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
#: Two in one, where they stand in one line.
_TWO = re.compile("((?:LOAD|STORE)_FAST(?:_BORROW)?)_((?:LOAD|STORE)_FAST(?:_BORROW)?)")
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


class _Step(NamedTuple):
    offset: int
    name: str
    argument: Any
    target: int | None = None


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

    listed = list(dis.get_instructions(code))
    steps: list[_Step] = []
    for place, each in enumerate(listed):
        argument: Any = each.arg  # of a variable its number: what it is called does not matter
        target = None
        if each.opcode in dis.hasconst:
            argument = constant(each.argval)
        elif each.opcode in dis.hasname:
            argument = each.argval
        elif each.opcode in _JUMPS:
            argument, target = None, each.argval
        if "GLOBAL" in each.opname or each.opname == "LOAD_NAME":
            variables.add(argument)
        elif each.opname == "IMPORT_NAME":
            dots, taken = (listed[place - back].argval for back in (2, 1))
            imports.add((dots, argument, taken or ()))
        if each.opname == "STORE_NAME" and argument in _ABOUT_TEXT:
            steps.pop()  # its value
        elif two := _TWO.fullmatch(each.opname):
            steps += [
                _Step(each.offset, two[1], argument >> 4),
                _Step(each.offset + 1, two[2], argument & 15),
            ]
        elif each.opname not in _IDLE:
            steps.append(_Step(each.offset, _DIRECTION.sub("", each.opname), argument, target))
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    handlers = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined] # unknown to stubs
    called = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    handlers = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return Instructions(
        (
            counts,
            called,
            code.co_flags & _FLAGS,
            *_walk(steps, handlers),
        ),
        frozenset(variables.union(*(each.variables for each in within))),
        frozenset(names.union(*(each.names for each in within))),
        frozenset(imports.union(*(each.imports for each in within))),
    )


def _walk(steps, handlers) -> Iterator[tuple]:
    """Yield steps in the order in which they come after each other, each with what comes next.

    How the parts of a function are laid out, and what jumps join them, depends on its lines.
    """
    offsets = [step.offset for step in steps]
    numbers: dict[int, int] = {}
    ahead: list[int] = []

    def number(offset):
        """Return the number of the step at an offset, or of the one that it jumps to."""
        place = bisect_left(offsets, offset)
        while steps[place].name in _ALWAYS:
            place = bisect_left(offsets, steps[place].target)
        if place not in numbers:
            numbers[place] = len(numbers)
            ahead.append(place)
        return numbers[place]

    number(0)
    for place in ahead:  # which grows
        name, argument, target = steps[place][1:]
        following = None if name in _ENDS else offsets[place] + 1
        if name in _OPPOSITES:
            name, following, target = _OPPOSITES[name], target, following
        caught = [each for each in handlers if each.start <= offsets[place] < each.end][:1]
        nexts = [None if each is None else number(each) for each in (following, target)]
        yield name, argument, *nexts, [(number(h.target), h.depth, h.lasti) for h in caught]
