"""Inequalities in a few real numbers that proofs and derivations use, as questions to solvers.

Each is a function of real variables and, by keyword, of constants of the statement, and returns
what is given and what follows. With terms it writes the question in SMT-LIB; with fractions it is
evaluated exactly.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from hashlib import sha256
from typing import Any

from linrep._lib import papers
from linrep._lib.papers import paper_of
from linrep._lib.suggest import unknown
from linrep.claims.claim import claims
from linrep.claims.record import Line
from linrep.claims.smtlib import Term, script

#: The answer to the question whether what is given can hold.
POSSIBLE = "sat"


@dataclass(frozen=True)
class Certificate:
    """A step of a proof or a derivation that solvers can decide.

    Attributes
    ----------
    claim : str
        Id of the statement.
    step : str
        Its name; with the id it is the name of the file.
    plain : str
        What it says, in one line.
    relation : callable
        ``relation(*variables, **constants) -> (given, then)``.
    instance : bool
        It is what the statement says of a family of examples, no step of its proof.
    stated : bool
        It is part of what the statement says, so that the statement is refuted where it is.
    lines : Lines or None
        Those that it is one of.
    """

    claim: str
    step: str
    plain: str
    relation: Callable[..., tuple[Sequence[Any], Any]]
    instance: bool = False
    whole: bool = False
    stated: bool = False
    lines: Any = None

    @property
    def name(self) -> str:
        """The statement's id and the step's name."""
        return f"{self.claim}.{self.step}"

    @property
    def variables(self) -> list[str]:
        """Names of the real variables."""
        parameters = inspect.signature(self.relation).parameters.values()
        return [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]

    @property
    def constants(self) -> dict[str, Fraction]:
        """Constants of the statement that it depends on, with the statement's values."""
        parameters = inspect.signature(self.relation).parameters.values()
        return {
            each.name: Fraction(each.default)
            for each in parameters
            if each.kind is each.KEYWORD_ONLY
        }

    @property
    def file(self) -> str:
        """The name of a file for the question in SMT-LIB."""
        step = re.sub(r"\W+", "_", self.step).strip("_")
        return f"{self.claim}.{step}.smt2"

    def smtlib(self, **constants: Fraction | int) -> str:
        """Return the question in SMT-LIB: "unsat" is the answer that proves the step."""
        for name in constants:
            if name not in self.constants:
                raise ValueError(unknown("no constant", name, self.constants, of=f"of {self.name}"))
        given, then = self.relation(*map(Term, self.variables), **constants)
        return script(self.variables, given, then, f"{self.name}\n{self.plain}")

    def hypotheses(self, **constants: Fraction | int) -> str:
        """Return the question whether what is given can be: "sat" is the answer that says so."""
        given, _ = self.relation(*map(Term, self.variables), **constants)
        return script(self.variables, given, False, f"{self.name}: what is given")

    def holds(self, *values: Fraction, **constants: Fraction | int) -> bool | None:
        """Tell whether `then` holds at numbers, exactly; None where what is given does not."""
        given, then = self.relation(*values, **constants)
        return bool(then) if all(given) else None


_CERTIFICATES: dict[str, Certificate] = {}


def certificate(
    claim: str,
    plain: str,
    *,
    instance: bool = False,
    whole: bool = False,
    stated: bool = False,
    lines: Any = None,
) -> Callable[[Callable[..., Any]], Certificate]:
    """Register a function of variables and constants as a step of a claim's proof."""

    def register(relation):
        item = Certificate(
            claim, relation.__name__, plain, relation, instance, whole, stated, lines
        )
        # A file of one's own may be run again, a package is imported once.
        if item.name in _CERTIFICATES and "." in relation.__module__:
            raise ValueError(f"{item.name} is made twice")
        _CERTIFICATES[item.name] = item
        return item

    return register


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
            if item.instance:
                found[item.step]["family"] = True
    return found


def digest(text: str) -> str:
    """Return the SHA-256 of a question, by which answers to it are known."""
    return sha256(text.encode()).hexdigest()


def select(patterns: Iterable[str] = ()) -> dict[str, Certificate]:
    """Return certificates by name: all, or those of claims, of which not all have some."""
    patterns = list(patterns) or ["*"]
    return {
        name: item
        for name, item in certificates(papers.named(patterns)).items()
        if any(fnmatchcase(item.claim, pattern) for pattern in patterns)
    }
