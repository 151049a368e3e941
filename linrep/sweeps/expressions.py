"""Arithmetic and conditions on columns, written as text that cannot do anything else."""

from __future__ import annotations

import ast
import io
import operator
import re
import tokenize
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from linrep.sweeps.plain import LARGEST_IN_FLOATS

_LENGTH = 1000  # of a text, in characters
_DEPTH = 50  # of what is nested in one another

_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
#: Functions of numbers, which are NumPy's.
FUNCTIONS = (
    "abs", "ceil", "cos", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "maximum",
    "minimum", "sign", "sin", "sqrt", "tan", "tanh",
)  # fmt: skip


class Expression:
    """A formula of columns.

    It reaches columns (in backticks where a name is no identifier), numbers, texts and truth
    values; arithmetic, comparisons (also in chains, and with ``in``), ``and``, ``or``, ``not`` (or
    ``&``, ``|``, ``~``), and of NumPy's functions abs, ceil, cos, exp, expm1, floor, log, log10,
    log1p, log2, maximum, minimum, sign, sin, sqrt, tan and tanh.

    Parameters
    ----------
    text : str

    Attributes
    ----------
    names : tuple of str
        Columns that occur in it, each once.

    Raises
    ------
    ValueError, TypeError
        If it is anything else.
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"an expression must be a text, got {type(text).__name__}")
        self._text = text
        if len(text) > _LENGTH:
            raise ValueError(f"an expression has at most {_LENGTH} characters, got {len(text)}")
        self._quoted: dict[str, str] = {}
        try:
            self._tree = ast.parse(_in_words(self._unquoted(text.strip())), mode="eval").body
        except (SyntaxError, ValueError, tokenize.TokenError, RecursionError, MemoryError):
            raise self._cannot(
                "it is no expression (equality is '=='; '=' has no place in one)"
            ) from None
        self.names = tuple(dict.fromkeys(self._names(self._tree)))

    def value(self, columns: Mapping[str, Any]) -> Any:
        """Return what it is worth.

        Parameters
        ----------
        columns : mapping of str to Series, array or number

        Returns
        -------
        Series, array or number

        Raises
        ------
        ValueError
            If a column is missing, or what is in one does not fit.
        """
        for name in self.names:
            if name not in columns:
                there = ", ".join(map(str, columns))
                raise self._cannot(f"no column {name!r}; there are {there or 'none'}")
        try:
            with np.errstate(all="ignore"):
                return self._evaluate(self._tree, columns)
        except (TypeError, ValueError, ArithmeticError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise self._cannot(first) from None

    def _cannot(self, why):
        return ValueError(f"cannot evaluate {self._text!r}: {why}")

    def _unquoted(self, text):
        """Replace names in backticks by identifiers."""

        def stand_in(match):
            if match[1] is None:  # a text
                return match[0]
            name = f"_quoted_{len(self._quoted)}"
            while name in text:
                name += "_"
            self._quoted[name] = match[1]
            return name

        return re.sub(r"'[^']*'|\"[^\"]*\"|`([^`]+)`", stand_in, text)

    def _names(self, node, depth=0):
        """Check a node and those below it; yield the columns."""
        if depth > _DEPTH:
            raise self._cannot(f"it is nested more than {_DEPTH} deep")
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return
            case ast.Name(id=name):
                yield self._quoted.get(name, name)
                return
            case ast.BoolOp(values=parts):
                pass
            case ast.UnaryOp(operand=part):
                parts = [part]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in {*_ARITHMETIC, ast.Pow}:
                parts = [left, right]
            case ast.Compare(left=left, ops=ops, comparators=rest):
                parts = [left]
                for comparison, part in zip(ops, rest, strict=True):
                    if isinstance(comparison, ast.In | ast.NotIn):
                        if not isinstance(part, ast.List | ast.Tuple | ast.Set):
                            raise self._cannot("'in' needs values in brackets, as in 'n in [1, 2]'")
                        parts += part.elts
                    elif type(comparison) in _COMPARISONS:
                        parts.append(part)
                    else:
                        raise self._cannot("'is' is not among what it may hold")
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
                if name not in FUNCTIONS:
                    raise self._cannot(f"no function {name!r}; there are {', '.join(FUNCTIONS)}")
                if len(parts) != getattr(np, name).nin:  # NumPy would write into what comes after
                    raise self._cannot(f"{name} takes {getattr(np, name).nin} argument(s)")
            case _:
                raise self._cannot(
                    "only names, numbers, arithmetic, comparisons, and, or, not and functions "
                    "of numbers are allowed"
                )
        for part in parts:
            yield from self._names(part, depth + 1)

    def _evaluate(self, node: Any, columns: Mapping[str, Any]) -> Any:
        def worth(part):
            return self._evaluate(part, columns)

        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return columns[self._quoted.get(name, name)]
            case ast.BoolOp(op=op, values=parts):
                combine = operator.and_ if isinstance(op, ast.And) else operator.or_
                result, *others = [_truth(worth(part)) for part in parts]
                for other in others:
                    result = combine(result, other)
                return result
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=part):
                return operator.invert(_truth(worth(part)))
            case ast.UnaryOp(op=op, operand=part):
                return (operator.neg if isinstance(op, ast.USub) else operator.pos)(
                    _numbers(worth(part))
                )
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return _power(_numbers(worth(left)), _numbers(worth(right)))
            case ast.BinOp(left=left, op=op, right=right):
                return _result(_ARITHMETIC[type(op)], _numbers(worth(left)), _numbers(worth(right)))
            case ast.Call(func=ast.Name(id=name), args=parts):
                return getattr(np, name)(*(_numbers(worth(part)) for part in parts))
            case ast.Compare(left=left, ops=comparisons, comparators=rest):
                result, before = np.bool_(True), worth(left)
                for comparison, part in zip(comparisons, rest, strict=True):
                    if isinstance(part, ast.List | ast.Tuple | ast.Set):
                        holds: Any = np.bool_(False)
                        for item in part.elts:
                            holds = holds | (before == worth(item))
                        holds = ~holds if isinstance(comparison, ast.NotIn) else holds
                    else:
                        after = worth(part)
                        holds = _COMPARISONS[type(comparison)](_ordered(before), _ordered(after))
                        before = after
                    result = result & holds
                return result
        raise AssertionError(node)


def _in_words(text):
    """Write ``&`` and ``|`` as words, which bind less than comparisons, as pandas has it."""
    words = {"&": "and", "|": "or", "~": "not"}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tokenize.untokenize(
        (tokenize.NAME, words[word]) if word in words else (kind, word) for kind, word, *_ in tokens
    )


def _has_texts(value):
    return isinstance(value, str) or (
        isinstance(value, pd.Series)
        and not is_numeric_dtype(value)
        and any(isinstance(item, str) for item in value)
    )


def _numbers(value):
    """Return a number or a column of numbers; of texts there would be sums, too."""
    if _has_texts(value):
        raise TypeError("a text is no number")
    value = _ordered(value)
    if np.result_type(value) == np.dtype(bool):  # whose sum would be another truth value
        return value.astype(np.int64) if hasattr(value, "astype") else int(value)
    return value


def _ordered(value):
    """Return a column with gaps among its numbers as one of numbers."""
    gaps = isinstance(value, pd.Series) and value.dtype == object and not _has_texts(value)
    return pd.to_numeric(value) if gaps else value


def _truth(value):
    """Return conditions; a gap counts as false."""
    if isinstance(value, pd.Series) and value.dtype == object:
        value = value.where(value.notna(), False)
        if all(isinstance(item, bool | np.bool_) for item in value):
            value = value.astype(bool)
    elif isinstance(value, bool):
        value = np.bool_(value)
    if np.result_type(value) is not np.dtype(bool):
        raise TypeError("'and', 'or' and 'not' take conditions, such as n > 5")
    return value


def _result(operation, left, right):
    """Return a sum, difference, product or ratio; of integers not one that has overflowed."""
    result = operation(left, right)
    whole = all(np.issubdtype(np.result_type(each), np.integer) for each in (left, right))
    if whole and operation in (operator.add, operator.sub, operator.mul):
        there = operation(np.float64(1.0) * left, np.float64(1.0) * right)
        if np.any(np.abs(there) > LARGEST_IN_FLOATS):
            return there
    return result


def _power(base, exponent):
    """Return a power, of integers an integer unless it is too large for a float to be one."""
    result = np.float_power(base, exponent)
    integers = all(np.issubdtype(np.result_type(each), np.integer) for each in (base, exponent))
    if integers and np.all(exponent >= 0) and np.all(np.abs(result) <= LARGEST_IN_FLOATS):
        return base**exponent
    return result
