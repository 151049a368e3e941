"""Lines of proofs in a few real numbers, as questions to solvers in SMT-LIB."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from hashlib import sha256
from numbers import Rational
from typing import Any

from linrep._lib import papers
from linrep._lib.papers import paper_of
from linrep._lib.suggest import unknown
from linrep.claims.claim import claims
from linrep.claims.record import Line

#: The answer to the question whether what is given can hold.
POSSIBLE = "sat"


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


@dataclass(frozen=True)
class Certificate:
    """A line of a proof that solvers are asked.

    Attributes
    ----------
    lines : Lines
        Those that it is one of.
    step : str
        Its name among them.
    variables : tuple of str
        Numbers of the region that it needs, or that their intervals do.
    """

    lines: Any
    step: str
    variables: tuple[str, ...]

    @property
    def claim(self) -> str:
        """Id of the statement."""
        return self.lines.claim

    @property
    def name(self) -> str:
        """The statement's id and the line's name."""
        return f"{self.claim}.{self.step}"

    @property
    def family(self) -> bool:
        """Whether it is what the statement says of a family of examples, no line of its proof."""
        return self.lines.family

    @property
    def stated(self) -> bool:
        """Whether it is part of what the statement says, which is refuted where it is."""
        return not self.family and self.step not in self.lines.steps

    @property
    def constants(self) -> Mapping[str, Fraction]:
        """Constants of the statement that it may depend on, with the statement's values."""
        return self.lines.constants

    @property
    def file(self) -> str:
        """The name of a file for the question in SMT-LIB."""
        step = re.sub(r"\W+", "_", self.step).strip("_")
        return f"{self.claim}.{step}.{digest(self.smtlib())[:8]}.smt2"

    def relation(self, *values: Any, **constants: Any) -> tuple[list[Any], Any]:
        """Return what is given and what follows, of terms or numbers for the variables."""
        own = dict(zip(self.variables, values, strict=True))
        left, sign, right = self.lines.at({**self.lines.symbols, **own}, **constants)[self.step]
        of_region = {
            name: Fraction(value)
            for name, value in {**self.constants, **constants}.items()
            if name in self.lines.region.constants
        }
        given = list(self.lines.region.given(own, **of_region))
        return given, left == right if sign == "=" else left <= right

    def smtlib(self, **constants: Fraction | int) -> str:
        """Return the question in SMT-LIB: "unsat" is the answer that proves the line."""
        for name in constants:
            if name not in self.constants:
                raise ValueError(unknown("no constant", name, self.constants, of=f"of {self.name}"))
        given, then = self.relation(*map(Term, self.variables), **constants)
        about = f": {self.lines.says}" if self.lines.says else ""
        return script(self.variables, given, then, f"{self.name}\n{self.step}{about}")

    def hypotheses(self, **constants: Fraction | int) -> str:
        """Return the question whether what is given can be: "sat" is the answer that says so."""
        given, _ = self.relation(*map(Term, self.variables), **constants)
        return script(self.variables, given, False, f"{self.name}: what is given")

    def holds(self, *values: Fraction, **constants: Fraction | int) -> bool | None:
        """Tell whether `then` holds at numbers, exactly; None where what is given does not."""
        given, then = self.relation(*values, **constants)
        return bool(then) if all(given) else None


_CERTIFICATES: dict[str, Certificate] = {}


def register(item: Certificate) -> Certificate:
    """Add a certificate to those that there are."""
    # A file of one's own may be run again, a package is imported once.
    if item.name in _CERTIFICATES and "." in item.lines.function.__module__:
        raise ValueError(f"{item.name} is made twice")
    _CERTIFICATES[item.name] = item
    return item


def certificates(within: Iterable[str] = ()) -> Mapping[str, Certificate]:
    """Return certificates by name, in the order of papers and files."""
    asked = set(within) or papers.papers().keys()
    claims(asked)  # with their lines
    return {name: item for name, item in _CERTIFICATES.items() if paper_of(item.claim) in asked}


def lines_of(claim: str) -> dict[str, Line]:
    """Return the lines of a claim's proof that solvers are asked, without answers."""
    found: dict[str, Line] = {}
    for item in certificates([paper_of(claim)]).values():
        if item.claim == claim:
            found[item.step] = {"sha256": digest(item.smtlib())}
            for name in ("family", "whole"):
                if getattr(item.lines, name):
                    found[item.step][name] = True
    return found


def digest(text: str) -> str:
    """Return the SHA-256 of a question without its remarks, by which answers to it are known."""
    asked = [line for line in text.splitlines() if not line.startswith(";")]
    return sha256("\n".join(asked).encode()).hexdigest()


def select(patterns: Iterable[str] = ()) -> dict[str, Certificate]:
    """Return certificates by name: all, or those of claims, of which not all have some."""
    patterns = list(patterns) or ["*"]
    return {
        name: item
        for name, item in certificates(papers.named(patterns)).items()
        if any(fnmatchcase(item.claim, pattern) for pattern in patterns)
    }
