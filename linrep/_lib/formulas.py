"""Arithmetic and conditions on columns, written as text that cannot do anything else.

Reading one loads nothing heavy.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from linrep._lib.suggest import unknown

if TYPE_CHECKING:
    import pandas as pd

_LENGTH = 1000  # of a text, in characters
_DEPTH = 50  # of what is nested in one another
_LARGEST = 2**53  # integers up to it are floats, too
#: Functions of numbers, which are NumPy's, and how many they take.
FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(
        ("abs", "ceil", "cos", "exp", "expm1", "floor", "log", "log10", "log1p", "log2"), 1
    ),
    **dict.fromkeys(("maximum", "minimum"), 2),
    **dict.fromkeys(("sign", "sin", "sqrt", "tan", "tanh"), 1),
}


class Expression:
    """A formula of columns.

    It reaches columns, numbers, texts and truth values; arithmetic, comparisons (also in chains,
    and with ``in``), ``and``, ``or``, ``not``, and of NumPy's functions abs, ceil, cos, exp, expm1,
    floor, log, log10, log1p, log2, maximum, minimum, sign, sin, sqrt, tan and tanh.

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
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        if len(text) > _LENGTH:
            raise ValueError(f"an expression has at most {_LENGTH} characters, got {len(text)}")
        self._text = text
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._cannot(
                "it is no expression (equality is '=='; '=' has no place in one)"
            ) from None
        self.names: tuple[str, ...] = ()
        self._value = self._read(tree)

    def value(self, columns: Mapping[str, Any] | pd.DataFrame) -> Any:
        """Return its value.

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
        import numpy as np
        import pandas as pd

        if not isinstance(columns, Mapping | pd.DataFrame):
            kind = type(columns).__name__
            raise TypeError(f"columns must be a mapping or a DataFrame, got {kind}")
        for name in self.names:
            if name not in columns:
                raise self._cannot(unknown("no column", name, columns))
        try:
            with np.errstate(all="ignore"):
                return self._value(columns)
        except (TypeError, ValueError, ArithmeticError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise self._cannot(first) from None

    def _cannot(self, why):
        return ValueError(f"cannot evaluate {self._text!r}: {why}")

    def _read(self, node: ast.AST, depth: int = 0) -> Callable[[Any], Any]:
        """Return a node, if it is one of those that are allowed, as a function of columns."""
        if depth > _DEPTH:
            raise self._cannot(f"it is nested more than {_DEPTH} deep")
        apply: Callable[..., Any]
        read = partial(self._read, depth=depth + 1)
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                return lambda columns: constant
            case ast.Name(id=name):
                if name.startswith("__"):
                    raise self._cannot(f"{name!r} is no column: names with __ first are Python's")
                self.names = tuple(dict.fromkeys((*self.names, name)))
                return lambda columns: columns[name]
            case ast.BoolOp(op=op, values=parts):
                apply, values = partial(_combined, type(op)), [*map(read, parts)]
            case ast.UnaryOp(op=op, operand=part) if type(op) in _UNARY:
                apply, values = _UNARY[type(op)], [read(part)]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                apply, values = partial(_result, _ARITHMETIC[type(op)]), [read(left), read(right)]
            case ast.Compare(left=left, ops=ops, comparators=rest):
                pairs = zip(ops, rest, strict=True)
                apply = partial(_compared, [*map(type, ops)])
                values = [read(left), *(self._right(op, part, read) for op, part in pairs)]
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
                if name not in FUNCTIONS:
                    every = f"there are {', '.join(FUNCTIONS)}"
                    raise self._cannot(unknown("no function", name, FUNCTIONS, otherwise=every))
                if len(parts) != FUNCTIONS[name]:  # NumPy would write into what comes after
                    raise self._cannot(f"{name} takes {FUNCTIONS[name]} argument(s)")
                apply, values = partial(_called, name), [*map(read, parts)]
            case ast.Attribute(attr=name):
                raise self._cannot(f"'.{name}' is not allowed: columns have no attributes")
            case _:
                raise self._cannot(
                    "only names, numbers, arithmetic, comparisons, and, or, not and functions of "
                    "numbers are allowed"
                )
        return lambda columns: apply(*(value(columns) for value in values))

    def _right(self, comparison, part, read):
        """Return what stands behind a comparison as a function of columns."""
        if isinstance(comparison, ast.In | ast.NotIn):
            if not isinstance(part, ast.List | ast.Tuple | ast.Set):
                raise self._cannot("'in' needs values in brackets, as in 'n in [1, 2]'")
            items = [*map(read, part.elts)]
            return lambda columns: [item(columns) for item in items]
        if type(comparison) not in _COMPARISONS:
            raise self._cannot("'is' is not among what it may hold")
        return read(part)


def _combined(kind, *conditions):
    """Return whether all conditions hold, or one of them."""
    return reduce(operator.and_ if kind is ast.And else operator.or_, map(_truth, conditions))


def _compared(kinds, before, *others):
    """Return whether all comparisons of a chain hold; a list is what one may be in."""
    result = _truth(True)
    for kind, after in zip(kinds, others, strict=True):
        if isinstance(after, list):
            holds = reduce(operator.or_, [before == item for item in after], _truth(False))
            holds = ~holds if kind is ast.NotIn else holds
        else:
            holds = _COMPARISONS[kind](_as_numbers(before), _as_numbers(after))
            before = after
        result = result & holds
    return result


def _called(name, *values):
    """Return what one of NumPy's functions makes of numbers."""
    import numpy as np

    return getattr(np, name)(*map(_numbers, values))


def _result(operation, left, right):
    """Return what arithmetic makes of numbers; of integers no integer that has overflowed."""
    import numpy as np

    left, right = _numbers(left), _numbers(right)
    are_integers = all(np.issubdtype(np.result_type(each), np.integer) for each in (left, right))
    if operation is operator.pow:
        there = np.float_power(left, right)
        return left**right if are_integers and np.all(right >= 0) and _fits(there) else there
    result = operation(left, right)
    if are_integers and operation in (operator.add, operator.sub, operator.mul):
        there = operation(np.float64(1.0) * left, np.float64(1.0) * right)
        return result if _fits(there) else there
    return result


def _fits(there):
    """Tell whether integers that floats are near to are those floats, too."""
    return (abs(there) <= _LARGEST).all()


def _has_texts(value):
    import pandas as pd

    return isinstance(value, str) or (
        isinstance(value, pd.Series)
        and not pd.api.types.is_numeric_dtype(value)
        and any(isinstance(item, str) for item in value)
    )


def _numbers(value):
    """Return a number or a column of numbers; of texts there would be sums, too."""
    import numpy as np

    if _has_texts(value):
        raise TypeError("a text is no number")
    value = _as_numbers(value)
    if np.result_type(value) == np.dtype(bool):  # whose sum would be another truth value
        return value.astype(np.int64) if hasattr(value, "astype") else int(value)
    return value


def _as_numbers(value):
    """Return a column with gaps among its numbers as one of numbers."""
    import pandas as pd

    gaps = isinstance(value, pd.Series) and value.dtype == object and not _has_texts(value)
    return pd.to_numeric(value) if gaps else value


def _truth(value):
    """Return conditions; a gap counts as false."""
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.Series) and value.dtype == object:
        value = value.where(value.notna(), False)
        if all(isinstance(item, bool | np.bool_) for item in value):
            value = value.astype(bool)
    elif isinstance(value, bool):
        value = np.bool_(value)
    if np.result_type(value) is not np.dtype(bool):
        raise TypeError("'and', 'or' and 'not' take conditions, such as n > 5")
    return value


_UNARY = {
    ast.Not: lambda value: ~_truth(value),
    ast.USub: lambda value: -_numbers(value),
    ast.UAdd: lambda value: +_numbers(value),
}
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
