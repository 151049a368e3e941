"""The grammar of formulas of columns: what may stand in one; loads nothing heavy."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linrep._lib.suggest import unknown

_LENGTH = 1000  # of a text, in characters
_DEPTH = 50  # of what is nested in one another
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
#: Functions of numbers, which are NumPy's, and how many they take.
FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(
        ("abs", "ceil", "cos", "exp", "expm1", "floor", "log", "log10", "log1p", "log2"), 1
    ),
    **dict.fromkeys(("maximum", "minimum"), 2),
    **dict.fromkeys(("sign", "sin", "sqrt", "tan", "tanh"), 1),
}


@dataclass(frozen=True)
class Formula:
    """A formula that has been read.

    Attributes
    ----------
    text : str
        As it was written.
    tree : ast.expr
        Of the allowed nodes only.
    quoted : mapping of str to str
        The columns that stood in backticks, by the identifiers in their place.
    names : tuple of str
        Columns that occur in it, each once.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    names: tuple[str, ...]


def parse(text: str) -> Formula:
    """Read a formula, as :class:`linrep.sweeps.Expression` describes it.

    Anything else is refused by a ValueError or TypeError.
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression must be a text, got {type(text).__name__}")
    if len(text) > _LENGTH:
        raise ValueError(f"an expression has at most {_LENGTH} characters, got {len(text)}")
    quoted: dict[str, str] = {}
    try:
        tree = ast.parse(_in_words(_unquote(text.strip(), quoted)), mode="eval").body
    except (SyntaxError, ValueError, tokenize.TokenError, RecursionError, MemoryError):
        raise error(text, "it is no expression (equality is '=='; '=' has no place in one)") \
            from None  # fmt: skip
    names = tuple(dict.fromkeys(_names(text, tree, quoted)))
    return Formula(text, tree, quoted, names)


def error(text: str, why: str) -> ValueError:
    """Return the error of a formula that has no value, and why."""
    return ValueError(f"cannot evaluate {text!r}: {why}")


def _unquote(text, quoted):
    """Replace names in backticks by identifiers."""

    def stand_in(match):
        if match[1] is None:  # a text
            return match[0]
        name = f"_quoted_{len(quoted)}"
        while name in text:
            name += "_"
        quoted[name] = match[1]
        return name

    return re.sub(r"'[^']*'|\"[^\"]*\"|`([^`]+)`", stand_in, text)


def _in_words(text):
    """Write ``&`` and ``|`` as words, which bind less than comparisons, as pandas has it."""
    words = {"&": "and", "|": "or", "~": "not"}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tokenize.untokenize(
        (tokenize.NAME, words[word]) if word in words else (kind, word) for kind, word, *_ in tokens
    )


def _names(text: str, node: ast.AST, quoted: Mapping[str, str], depth: int = 0) -> Iterator[str]:
    """Check a node and those below it; yield the columns."""
    if depth > _DEPTH:
        raise error(text, f"it is nested more than {_DEPTH} deep")
    parts: list[ast.expr]
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return
        case ast.Name(id=name):
            if name.startswith("__"):
                raise error(text, f"{name!r} is no column: names that begin with __ are Python's")
            yield quoted.get(name, name)
            return
        case ast.Attribute(attr=name):
            raise error(text, f"'.{name}' is not allowed: columns have no attributes")
        case ast.BoolOp(values=parts):
            pass
        case ast.UnaryOp(operand=part):
            parts = [part]
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
            parts = [left, right]
        case ast.Compare(left=left, ops=ops, comparators=rest):
            parts = [left]
            for comparison, part in zip(ops, rest, strict=True):
                if isinstance(comparison, ast.In | ast.NotIn):
                    if not isinstance(part, ast.List | ast.Tuple | ast.Set):
                        raise error(text, "'in' needs values in brackets, as in 'n in [1, 2]'")
                    parts += part.elts
                elif isinstance(comparison, _COMPARISONS):
                    parts.append(part)
                else:
                    raise error(text, "'is' is not among what it may hold")
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
            if name not in FUNCTIONS:
                every = f"there are {', '.join(FUNCTIONS)}"
                raise error(text, unknown("no function", name, FUNCTIONS, otherwise=every))
            if len(parts) != FUNCTIONS[name]:  # NumPy would write into what comes after
                raise error(text, f"{name} takes {FUNCTIONS[name]} argument(s)")
        case _:
            raise error(
                text,
                "only names, numbers, arithmetic, comparisons, and, or, not and functions of "
                "numbers are allowed",
            )
    for part in parts:
        yield from _names(text, part, quoted, depth + 1)
