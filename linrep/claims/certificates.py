"""Inequalities in a few real numbers that proofs and derivations use, as questions to solvers.

Each is a function of real variables and, by keyword, of constants of the statement, and returns
what is given and what follows. With terms it writes the question in SMT-LIB; with fractions it is
evaluated exactly.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

from linrep._lib import atomic as files
from linrep._lib import papers, records, shapes
from linrep._lib.papers import paper_of
from linrep._lib.suggest import unknown
from linrep.claims.claim import claims
from linrep.claims.counterexamples import path_of
from linrep.claims.evidence import FRACTIONS, INTERVALS, Evidence
from linrep.claims.smtlib import Term, script
from linrep.claims.stated import stated

#: In the folder of a paper: questions, and the file of what solvers have answered.
FOLDER, ANSWERS = "certificates", "answers.json"
#: Answers to the question whether `then` can be false: it follows, or it does not.
PROVED, REFUTED = "unsat", "sat"
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
    whole : bool
        It is the statement itself, or a part of it, and not what a derivation needs: where solvers
        prove all that are, the statement is certified.
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
    def path(self) -> Path:
        """Of the question in SMT-LIB."""
        file = re.sub(r"\W+", "_", self.step).strip("_")
        return papers.papers()[paper_of(self.claim)].folder / FOLDER / f"{self.claim}.{file}.smt2"

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

    def smtlib(self, **constants: Fraction | int) -> str:
        """Return the question in SMT-LIB: "unsat" is the answer that proves the step.

        Parameters
        ----------
        **constants
            Other values than the statement's.
        """
        for name in constants:
            if name not in self.constants:
                raise ValueError(unknown("no constant", name, self.constants, of=f"of {self.name}"))
        given, then = self.relation(*map(Term, self.variables), **constants)
        return script(self.variables, given, then, f"{self.name}\n{self.plain}")

    def is_stored(self) -> bool:
        """Tell whether the file has this question."""
        return records.is_there(self.path) and files.read(self.path) == self.smtlib().encode()

    def hypotheses(self, **constants: Fraction | int) -> str:
        """Return the question whether what is given can be: "sat" is the answer that says so."""
        given, _ = self.relation(*map(Term, self.variables), **constants)
        return script(self.variables, given, False, f"{self.name}: what is given")

    def holds(self, *values: Fraction, **constants: Fraction | int) -> bool | None:
        """Tell whether `then` holds at numbers, exactly; None where what is given does not.

        Parameters
        ----------
        *values
            Fractions, one for each variable.
        **constants
            Other values than the statement's.
        """
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
    """Register a function of variables and constants as a step of a claim's proof.

    Parameters
    ----------
    claim : str
        Id of the statement.
    plain : str
        What the step says, in one line.
    instance, whole, stated, lines : optional
        As in :class:`Certificate`.
    """

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
    """Return certificates by name, in the order of papers and files.

    Parameters
    ----------
    within : iterable of str
        Names of papers: of the others nothing is imported. By default all.
    """
    asked = set(within) or papers.papers().keys()
    claims(asked)  # with their lines
    return {name: item for name, item in _CERTIFICATES.items() if paper_of(item.claim) in asked}


def questions(within: Iterable[str] = ()) -> dict[str, dict[str, str]]:
    """Return the steps of claims' proofs, by claim and step the digest of what is asked.

    Parameters
    ----------
    within : iterable of str
        Names of papers, by default all.
    """
    found: dict[str, dict[str, str]] = {}
    for item in certificates(within).values():
        if not item.instance:
            found.setdefault(item.claim, {})[item.step] = digest(item.smtlib())
    return found


def whole(within: Iterable[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the steps that are a statement itself, by claim.

    Parameters
    ----------
    within : iterable of str
        Names of papers, by default all.
    """
    found: dict[str, tuple[str, ...]] = {}
    for item in certificates(within).values():
        if item.whole:
            found[item.claim] = (*found.get(item.claim, ()), item.step)
    return found


def digest(text: str) -> str:
    """Return the SHA-256 of a question, by which answers to it are known."""
    return sha256(text.encode()).hexdigest()


class _Answer(TypedDict):
    version: str
    answer: str


class _Answers(TypedDict):
    sha256: str
    solvers: Mapping[str, _Answer]
    hypotheses: str


_KIND = records.Kind(
    "answers", "linrep certify --record", shapes.reader(Mapping[str, _Answers]), ids=list
)


def answers(paper: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what is recorded of solvers, by the name of the certificate.

    Each entry has ``sha256``, of the question, for each solver its version and answer, and in
    ``hypotheses`` whether what is given can be. A damaged file is left out.

    Parameters
    ----------
    paper : str
    """
    return _KIND.shown(_path(paper), {}) if paper in papers.papers() else {}


def _path(paper):
    return papers.papers()[paper].folder / FOLDER / ANSWERS


def check(names: Iterable[str]) -> None:
    """Raise ValueError where the answers of a paper are damaged: they are not written to then.

    Parameters
    ----------
    names : iterable of str
        Of papers.
    """
    for paper in names:
        _KIND.check(_path(paper))


def select(patterns: Iterable[str] = ()) -> dict[str, Certificate]:
    """Return certificates by name: all, or those of claims, of which not all have some.

    Parameters
    ----------
    patterns : iterable of str
        Ids of claims, with ``*`` and ``?`` as in file names.
    """
    patterns = list(patterns) or ["*"]
    return {
        name: item
        for name, item in certificates(papers.named(patterns)).items()
        if any(fnmatchcase(item.claim, pattern) for pattern in patterns)
    }


def record(
    said: Mapping[str, Mapping[str, str]],
    possible: Mapping[str, bool],
    versions: Mapping[str, str],
) -> None:
    """Write questions and answers beside the pages of proofs.

    Where a solver does not decide what it has decided before, its earlier answer stays; so does
    that hypotheses are possible.

    Parameters
    ----------
    said : mapping of str to mapping
        By the name of the certificate the answer of each solver. Those of others stay.
    possible : mapping of str to bool
        Whether what is given was shown to be possible.
    versions : mapping of str to str
        Of the solvers.

    Raises
    ------
    ValueError
        If a file of answers is damaged.
    """
    for paper in sorted(set(map(paper_of, said))):
        known, path = certificates([paper]), _path(paper)
        path.parent.mkdir(exist_ok=True)
        with files.alone(path.parent):
            records.forget()
            entries = dict(_KIND.known(path, {}))
            questions = {name: known[name].smtlib() for name in said if name in known}
            for name, question in questions.items():
                entries[name] = _answered(
                    digest(question), said[name], possible[name], versions, entries.get(name)
                )
            contents = {known[name].path.name: text.encode() for name, text in questions.items()}
            ours = {name: entries[name] for name in known if name in entries}
            contents[ANSWERS] = _KIND.written(ours).encode()
            files.write_together(path.parent, contents)
    records.forget()


def _answered(question, given, possible, versions, earlier):
    """Return what is recorded of a question with this digest, which may have an earlier record."""
    solvers = {
        solver: {"version": versions[solver], "answer": answer} for solver, answer in given.items()
    }
    hypotheses = POSSIBLE if possible else "unknown"
    if earlier is not None and earlier["sha256"] == question:
        for solver, before in earlier["solvers"].items():
            if solvers[solver]["answer"] not in (PROVED, REFUTED):
                solvers[solver] = before
        if earlier["hypotheses"] == POSSIBLE:
            hypotheses = POSSIBLE
    return {"sha256": question, "solvers": solvers, "hypotheses": hypotheses}


def checked_by(claim: str) -> dict[str, list[str]]:
    """Return which solvers prove steps of a claim's proof: a list of steps for each.

    Parameters
    ----------
    claim : str
        An id.

    Notes
    -----
    An answer counts for the question that the code asks now, as it is listed, where the other
    solver does not refute it and what is given can be.
    """
    steps: dict[str, list[str]] = {}
    paper = paper_of(claim)
    item = stated([paper]).get(claim)
    for step, question in item.steps.items() if item else ():
        entry = answers(paper).get(f"{claim}.{step}")
        if entry is None or entry["sha256"] != question or entry["hypotheses"] != POSSIBLE:
            continue
        given = {solver: said["answer"] for solver, said in entry["solvers"].items()}
        for solver, answer in given.items():
            if answer == PROVED and REFUTED not in given.values():
                steps.setdefault(solver, []).append(step)
    return steps


def say_checked(claim: str, recorded: Evidence | None = None) -> str:
    """Return who proves which steps of a claim's proof, in a line; "" where there are none.

    Parameters
    ----------
    claim : str
        An id.
    recorded : Evidence, optional
        Of the claim: with it also how many of its parts exact numbers prove.
    """
    by_step: dict[str, list[str]] = {}
    for solver, steps in checked_by(claim).items():
        for step in steps:
            by_step.setdefault(step, []).append(solver)
    groups: dict[str, list[str]] = {}
    for step, solvers in by_step.items():
        groups.setdefault(" and ".join(solvers), []).append(step.replace("_", " "))
    said = [f"{solvers} ({', '.join(steps)})" for solvers, steps in groups.items()]
    said += ["Python's fractions (counterexample)"] * path_of(claim).is_file()
    for tool, count in count_exact(recorded).items():
        said.append(f"{tool} ({count} part{'s' * (count > 1)})")
    return "; ".join(said)


def count_exact(recorded: Evidence | None) -> dict[str, int]:
    """Return how many parts of a claim are proved by exact numbers, by what computes them.

    Parameters
    ----------
    recorded : Evidence or None
        Of the claim.
    """
    counts = Counter(part.ground for part in recorded.parts) if recorded else Counter[str]()
    tools = {"python-flint": counts[INTERVALS], "fractions": counts[FRACTIONS]}
    return {tool: count for tool, count in tools.items() if count}
