"""Terms of real arithmetic that are written in SMT-LIB, the language of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational


@dataclass(frozen=True, eq=False)
class Term:
    """A term or a relation: Python's operators on it make others.

    Attributes
    ----------
    text : str
        In SMT-LIB 2.
    names : frozenset of str
        Of the variables in it; a variable by itself has to be given its own.
    """

    text: str
    names: frozenset[str] = frozenset()

    def __add__(self, other):
        return _joined("+", self, other)

    def __radd__(self, other):
        return _joined("+", other, self)

    def __sub__(self, other):
        return _joined("-", self, other)

    def __rsub__(self, other):
        return _joined("-", other, self)

    def __mul__(self, other):
        return _joined("*", self, other)

    def __rmul__(self, other):
        return _joined("*", other, self)

    def __truediv__(self, other):
        return _joined("/", self, other)

    def __rtruediv__(self, other):
        return _joined("/", other, self)

    def __pow__(self, exponent):
        if not isinstance(exponent, int) or exponent < 1:
            raise ValueError(f"exponent must be a whole number of at least 1, got {exponent!r}")
        return self if exponent == 1 else _joined("*", *[self] * exponent)

    def __neg__(self):
        return Term(f"(- {self.text})", self.names)

    def __le__(self, other):
        return _joined("<=", self, other)

    def __lt__(self, other):
        return _joined("<", self, other)

    def __ge__(self, other):
        return _joined(">=", self, other)

    def __gt__(self, other):
        return _joined(">", self, other)

    def __eq__(self, other):
        return _joined("=", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self):
        raise TypeError(f"{self.text} is true or false only at numbers: join no comparisons")


def _joined(sign, *terms):
    names = frozenset().union(*(each.names for each in terms if isinstance(each, Term)))
    return Term(f"({sign} {' '.join(map(_text, terms))})", names)


def _text(value):
    """Return a term or a number in SMT-LIB, where numbers of reals have a point."""
    if isinstance(value, Term):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, Rational):
        raise TypeError(f"numbers must be whole or fractions, got {value!r}")
    value = Fraction(value)
    size = f"{abs(value.numerator)}.0"
    if value.denominator > 1:
        size = f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size


def script(
    names: Sequence[str], given: Sequence[Term | bool], then: Term | bool, remark: str = ""
) -> str:
    """Return the question whether `given` hold somewhere without `then`: "unsat" proves `then`."""
    return "\n".join(
        [
            *(f"; {line}" for line in remark.splitlines()),
            "(set-logic QF_NRA)",
            *(f"(declare-const {name} Real)" for name in names),
            *(f"(assert {_text(each)})" for each in given),
            f"(assert (not {_text(then)}))",
            "(check-sat)",
            "",
        ]
    )
