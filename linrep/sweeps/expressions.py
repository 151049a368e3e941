"""Arithmetic and conditions on columns, written as text that cannot do anything else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from linrep._lib import formulas
from linrep._lib.arguments import checked
from linrep._lib.suggest import unknown
from linrep.sweeps.plain import LARGEST_IN_FLOATS

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
        self._formula = formulas.parse(text)
        self.names = self._formula.names

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
        for name in self.names:
            if name not in columns:
                raise self._cannot(unknown("no column", name, columns))
        try:
            with np.errstate(all="ignore"):
                return self._evaluate(self._formula.tree, columns)
        except (TypeError, ValueError, ArithmeticError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise self._cannot(first) from None

    def _cannot(self, why):
        return formulas.error(self._formula.text, why)

    def _evaluate(self, node: Any, columns: Mapping[str, Any] | pd.DataFrame) -> Any:
        def worth(part):
            return self._evaluate(part, columns)

        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return columns[self._formula.quoted.get(name, name)]
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
                        compare = _COMPARISONS[type(comparison)]
                        holds = compare(_as_numbers(before), _as_numbers(after))
                        before = after
                    result = result & holds
                return result
        raise AssertionError(node)


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
    value = _as_numbers(value)
    if np.result_type(value) == np.dtype(bool):  # whose sum would be another truth value
        return value.astype(np.int64) if hasattr(value, "astype") else int(value)
    return value


def _as_numbers(value):
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
    are_integers = all(np.issubdtype(np.result_type(each), np.integer) for each in (left, right))
    if are_integers and operation in (operator.add, operator.sub, operator.mul):
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


checked(globals())
