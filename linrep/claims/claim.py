"""A claim: a statement of a paper with the check that can refute it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar

import numpy as np

from linrep._lib import display as show
from linrep._lib import suggest
from linrep._lib.papers import paper_of
from linrep._lib.papers import papers as known_papers
from linrep._lib.validation import identifier
from linrep.claims.evidence import HOLDS, LEVEL, VERDICTS, Evidence, Fact
from linrep.problems.random import RNGLike, generator

BUDGETS = ("quick", "standard", "thorough")


@dataclass(frozen=True)
class Budget:
    """How much a check may spend.

    Attributes
    ----------
    name : {"quick", "standard", "thorough"}
        Seconds, a minute, or ten.

    Raises
    ------
    ValueError
        If there is no such budget.

    Examples
    --------
    >>> from linrep.claims import Budget
    >>> Budget("standard")(100, 10_000)
    10000
    """

    name: str = "quick"

    def __post_init__(self):
        if self.name not in BUDGETS:
            raise ValueError(f"budget must be one of {', '.join(BUDGETS)}, got {self.name!r}")

    def __call__(self, quick, standard, thorough=None):
        """Return the value for this budget; a missing thorough one is the standard one."""
        if self.name == "thorough" and thorough is not None:
            return thorough
        return quick if self.name == "quick" else standard


@dataclass(frozen=True)
class Hypothesis:
    """An assumption of a statement, as a predicate on a problem.

    Parameters
    ----------
    name, statement : str
        Such as "Assumption 2", and what a check takes it to say.
    test : callable
        ``test(problem, participants) -> bool``.
    printed : str
        What the paper has in its place, in short; "" where that says the same.
    change : {"", "narrower", "corrected"}
        What was done to it: narrower where a check covers part of what the paper allows,
        corrected where nothing, or nothing of interest, is as the paper has it.

    Examples
    --------
    >>> import linrep as lr
    >>> from linrep.claims import Hypothesis
    >>> def test(problem, participants):
    ...     return problem.n >= problem.d
    >>> many = Hypothesis("Assumption 1", "n >= d", test)
    >>> many(lr.SharedRepresentation.random(n=4, d=6, k=2, rng=0))
    False
    """

    name: str
    statement: str
    test: Callable[[Any, int], bool] = field(compare=False, repr=False)
    printed: str = ""
    change: str = ""

    def __post_init__(self):
        if self.change not in ("", "narrower", "corrected"):
            raise ValueError(f"change must be narrower, corrected or empty, got {self.change!r}")
        if self.change and not self.printed:
            raise ValueError(f"{self.name}: printed must have the paper's words, as they differ")

    def __call__(self, problem: Any, participants: int | None = None) -> bool:
        """Tell whether a problem satisfies it, with so many clients a round (all by default)."""
        return bool(self.test(problem, problem.n if participants is None else participants))

    def __str__(self) -> str:
        """Return its name, what it says, and what the paper has where that differs."""
        printed = f"{self.change or 'printed'}: the paper has “{self.printed}”"
        return f"{self.name} ({self.statement}{f'; {printed}' if self.printed else ''})"


@dataclass(frozen=True)
class Claim:
    """A statement and its check; made by :func:`statement`.

    Attributes
    ----------
    id, paper, place : str
        ``paper.statement``, the paper's name, and where in it.
    latex, plain : str
        The statement as printed, and in one plain line.
    check : callable
        ``check(budget, rng, **constants)``: yields measurements, facts and curves.
    hypotheses : tuple of Hypothesis
    constants : mapping
        Keyword arguments of the check that make it this version of the statement.
    expected : str
        The verdict that it should have where no ledger records one.
    control : mapping
        The negative control: keyword arguments of the check under which the statement is false; on
        top of those under which it holds, for a statement that fails as printed.
    holds_with : mapping or None
        For a statement that fails as printed: keyword arguments under which the same check lets it
        hold; by default the corrected claim shows that it can.
    corrects : str
        Id of the claim of which this one is the corrected version; of a claim that is `own`, of
        the one that it goes beyond.
    own : bool
        Whether the paper prints neither it nor what it corrects: a question of whoever checks it,
        or a theorem derived anew.
    stronger : mapping of str to {-1, 0, 1}
        Of constants, exponents and constants of hypotheses: whether a smaller or a larger value
        says more; 0 where any other value does, as in an identity.

    Examples
    --------
    >>> from linrep.claims import claims
    >>> claim = claims()["fedrep.lemma1"]
    >>> claim.verify("quick", rng=0).verdict
    'holds'
    """

    id: str
    plain: str
    check: Callable[..., Any] = field(compare=False)
    place: str = ""
    latex: str = ""
    hypotheses: tuple[Hypothesis, ...] = ()
    control: Mapping[str, Any] = field(default_factory=dict, compare=False)
    holds_with: Mapping[str, Any] | None = field(default=None, compare=False)
    corrects: str = ""
    own: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict, compare=False)
    expected: str = HOLDS
    stronger: Mapping[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self):
        if self.expected not in VERDICTS:
            raise ValueError(
                f"expected must be one of {', '.join(VERDICTS)}, got {self.expected!r}"
            )
        if "." not in identifier("id", self.id):
            raise ValueError(f"id must read paper.statement, got {self.id!r}")
        for item in self.hypotheses:
            if not isinstance(item, Hypothesis):
                raise TypeError(
                    f"{self.id}: hypotheses must be a list of Hypothesis, "
                    f"got {item!r} in it, a {type(item).__name__}"
                )
        known = list(inspect.signature(self.check).parameters)[2:]
        if not self.control:
            raise ValueError(f"{self.id}: negative_control must name a version that is false")
        for name in (*self.constants, *self.control, *(self.holds_with or ()), *self.stronger):
            if name not in known:
                raise ValueError(
                    f"{self.id}: the check takes no {name!r} after (budget, rng), only {known}"
                )
        if self.stronger.keys() - self.values.keys():
            raise ValueError(
                f"{self.id}: stronger names constants of the corrected version, and a "
                "counterexample decides what is printed"
            )
        for name, direction in self.stronger.items():
            if direction not in (-1, 0, 1):
                raise ValueError(
                    f"{self.id}: stronger must be -1, 0 or 1 for {name}, got {direction!r}"
                )

    def __repr__(self):
        place = f", {self.place}" if self.place else ""
        return f"Claim({self.id!r}{place}: {self.plain})"

    def _repr_markdown_(self):
        under = "; ".join(map(str, self.hypotheses))
        parts = (
            f"**`{self.id}`**" + (f" ({self.place})" if self.place else ""),
            show.literal(self.plain),
            f"$$\n{self.latex}\n$$" if self.latex else "",
            f"Under {show.literal(under)}." if under else "",
            f"Corrects `{self.corrects}`." if self.form == "corrected" else "",
        )
        return "\n\n".join(filter(None, parts))

    @property
    def paper(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]

    @property
    def form(self) -> str:
        """Which of "printed", "corrected" and "own" it is."""
        return "own" if self.own else "corrected" if self.corrects else "printed"

    def unmet(self, problem: Any, participants: int | None = None) -> list[str]:
        """Return the names of the hypotheses that a problem does not satisfy.

        Parameters
        ----------
        problem : object
            What the hypotheses are about.
        participants : int, optional
            Clients of a round; all by default.
        """
        return [item.name for item in self.hypotheses if not item(problem, participants)]

    def verify(
        self,
        budget: str | Budget = "quick",
        rng: RNGLike = None,
        *,
        level: float = LEVEL,
        **variant: Any,
    ) -> Evidence:
        """Run the check.

        Parameters
        ----------
        budget : {"quick", "standard", "thorough"} or Budget
        rng : optional
            Anything `numpy.random.default_rng` takes.
        level : float
            Probability of a false verdict that is allowed.
        **variant
            Changes of the statement, such as those in `control`. A derivation is of the
            statement's own constants: with others only enclosing intervals prove.

        Returns
        -------
        Evidence
        """
        from linrep.claims.prose import derived
        from linrep.claims.verdict import judge

        found = judge(self.measure(budget, rng, **variant), level)
        return derived(found, self.id, self.check)

    def measure(self, budget: str | Budget = "quick", rng: RNGLike = None, **variant: Any) -> Any:
        """Take the measurements, without deciding.

        Parameters
        ----------
        budget, rng, **variant
            As in :meth:`verify`.

        Returns
        -------
        list of Measurement, Fact and Curve
        """
        from linrep.claims.measurements import Curve, Measurement

        budget = budget if isinstance(budget, Budget) else Budget(budget)
        before = _global_draws()
        measured = self.check(budget, generator(rng), **{**self.constants, **variant})
        if isinstance(measured, Measurement | Fact | Curve) or not isinstance(measured, Iterable):
            got = "nothing" if measured is None else type(measured).__name__
            raise TypeError(f"a check yields measurements, and this one returns {got}")
        measured = list(measured)
        if _global_draws() != before:
            raise ValueError(
                "the check uses NumPy's global random numbers, which a seed does not give again: "
                "draw from its rng"
            )
        for item in measured:
            if not isinstance(item, Measurement | Fact | Curve):
                raise TypeError(f"a check yields measurements, got {type(item).__name__}")
        if self._is_changed_by(variant):
            measured = [
                item.underived() if isinstance(item, Measurement) else item for item in measured
            ]
        return measured

    @property
    def values(self) -> dict[str, Any]:
        """The constants of this version of the statement.

        Of a check that takes ``printed`` this alone where it is true: a counterexample decides what
        is printed, and the other constants are those of the corrected version.
        """
        parameters = list(inspect.signature(self.check).parameters.values())[2:]
        found = {each.name: self.constants.get(each.name, each.default) for each in parameters}
        return {"printed": True} if found.get("printed") is True else found

    def value_of(self, name: str) -> Any:
        """Return the value of a constant in this version of the statement.

        Parameters
        ----------
        name : str
            A keyword argument of the check.

        Raises
        ------
        ValueError
            If the check has no such argument.
        """
        parameters = inspect.signature(self.check).parameters
        if name not in parameters:
            raise ValueError(f"name must be one of {', '.join(list(parameters)[2:])}, got {name!r}")
        return self.constants.get(name, parameters[name].default)

    def _is_changed_by(self, variant):
        """Tell whether a variant has other constants than the statement, whose derivation is."""
        parameters = inspect.signature(self.check).parameters
        return any(
            name not in parameters or value != self.value_of(name)
            for name, value in variant.items()
        )

    def corrected(
        self,
        id: str,
        *,
        plain: str,
        negative_control: Mapping[str, Any],
        latex: str = "",
        constants: Mapping[str, Any] | None = None,
        place: str = "",
        hypotheses: Iterable[Hypothesis] | None = None,
        expected: str = HOLDS,
        stronger: Mapping[str, int] | None = None,
    ) -> Claim:
        """Register the corrected statement: the same check with other constants.

        Parameters
        ----------
        id, plain, latex, expected
            As in :class:`Claim`.
        negative_control : mapping
            Changes of the constants that make this version false.
        constants : mapping
            Keyword arguments of the check.
        place, hypotheses, stronger : optional
            Those of the printed statement by default.

        Returns
        -------
        Claim
        """
        return register(
            Claim(
                id=id,
                place=place or self.place,
                latex=latex,
                plain=plain,
                check=self.check,
                hypotheses=self.hypotheses if hypotheses is None else tuple(hypotheses),
                constants={**self.constants, **(constants or {})},
                control=dict(negative_control),
                corrects=self.id,
                expected=expected,
                stronger=self.stronger if stronger is None else dict(stronger),
            )
        )

    def negative_control(self, budget: str | Budget = "quick", rng: RNGLike = None) -> Evidence:
        """Run the check on a false version of the statement, which it must reject.

        The version is the statement with the constants of `control`. Where the statement fails as
        printed, those of `holds_with` or of the corrected version come first, so that it is not
        rejected for what is wrong in print. That the check accepts what is true is seen by running
        it: on the statement, or on the corrected one.

        Parameters
        ----------
        budget, rng
            As in :meth:`verify`.

        Returns
        -------
        Evidence
            Its verdict is "fails" if the check notices.
        """
        from linrep.claims.verdict import judge

        return judge(self.measure_control(budget, rng))

    def measure_control(self, budget: str | Budget = "quick", rng: RNGLike = None) -> Any:
        """Take the measurements of the negative control, without deciding.

        Parameters
        ----------
        budget, rng
            As in :meth:`verify`.

        Returns
        -------
        list of Measurement, Fact and Curve
        """
        true = self.holds_with
        if true is None:
            # A corrected version shares the check.
            versions = [item for item in corrections(self.id) if item.check is self.check]
            true = versions[0].constants if versions else {}
        return self.measure(budget, rng, **{**true, **self.control})


_CLAIMS: dict[str, Claim] = {}
#: Ids of the claims that the file being loaded has made so far.
_made: set[str] | None = None


def register(item: Claim) -> Claim:
    """Add a claim to those that there are, in place of another file's of the same id."""
    if _made is not None:
        if item.id in _made:
            raise ValueError(f"{item.id} is made twice")
        _made.add(item.id)
    _CLAIMS[item.id] = item
    return item


def statement(
    id: str,
    *,
    plain: str,
    negative_control: Mapping[str, Any],
    place: str = "",
    latex: str = "",
    hypotheses: Iterable[Hypothesis] = (),
    constants: Mapping[str, Any] | None = None,
    holds_with: Mapping[str, Any] | None = None,
    corrects: str = "",
    own: bool = False,
    expected: str = HOLDS,
    stronger: Mapping[str, int] | None = None,
) -> Callable[[Callable[..., Any] | Claim], Claim]:
    """Turn a check into a statement: a decorator, which may be applied several times to a function.

    Parameters
    ----------
    id, plain, place, latex, hypotheses, constants, corrects, own, expected, stronger
        As in :class:`Claim`. A file makes an id once; another file's statement takes its place.
    negative_control : mapping
        Keyword arguments of the check under which the statement is false. Where it fails as
        printed, they come on top of those of the corrected version that shares the check, or of
        `holds_with`: so the control is not rejected for what is wrong in print.
    holds_with : mapping, optional
        Keyword arguments under which the check lets the statement hold, where it fails as printed
        and no corrected version has them.

    Returns
    -------
    callable
        The decorator; it returns the statement, which has :meth:`Claim.corrected`.
    """

    def make(check):
        return register(
            Claim(
                id=id,
                place=place,
                latex=latex,
                plain=plain,
                check=check.check if isinstance(check, Claim) else check,
                hypotheses=tuple(hypotheses),
                control=dict(negative_control),
                holds_with=None if holds_with is None else dict(holds_with),
                corrects=corrects,
                own=own,
                constants=dict(constants or {}),
                expected=expected,
                stronger=dict(stronger or {}),
            )
        )

    return make


class Claims(dict[str, Claim]):
    """Claims by id, displayed in one line."""

    def __repr__(self):
        return f"{len(self)} claims; linrep.statements shows them with their verdicts"


def claims(papers: Iterable[str] = ()) -> Claims:
    """Return the claims of papers by id, in the order of their files.

    Parameters
    ----------
    papers : iterable of str
        Names of papers: of the others nothing is imported. By default all; what is none has none.

    Raises
    ------
    ValueError
        If a paper's modules cannot be imported, or make a statement of another paper.
    """
    asked = set(papers)
    modules = {
        f"{paper.module}.{item.name}": paper.name
        for paper in known_papers().values()
        if not asked or paper.name in asked
        for item in iter_modules([str(paper.folder)])
    }
    for module, name in modules.items():
        try:
            import_module(module)
        except Exception as error:
            from linrep.sweeps.targets import what_raised

            what = f"{module}, of the paper {name}, cannot be loaded: {what_raised(error)}"
            raise ValueError(what) from error
    # Not in the order in which somebody imported them.
    ours = [item for item in _CLAIMS.values() if item.check.__module__ in modules]
    places = {module: place for place, module in enumerate(modules)}
    ours.sort(key=lambda item: places[item.check.__module__])
    for item in ours:
        name = modules[item.check.__module__]
        if item.paper != name:
            raise ValueError(f"{item.id} is made in {item.check.__module__}: begin it with {name}.")
    return Claims({item.id: item for item in ours})


def load_file(path: str | Path) -> dict[str, Claim]:
    """Run a Python file and return the claims it makes, by id.

    Parameters
    ----------
    path : path

    Raises
    ------
    ValueError
        If there is no such file, it cannot be run, or makes none.
    """
    global _made
    from linrep.claims import inputs
    from linrep.sweeps import targets

    before = dict(_CLAIMS)
    _made = set()
    try:
        with inputs.watched():
            targets.load_file(path)
    finally:
        _made = None
    made = {name: item for name, item in _CLAIMS.items() if before.get(name) is not item}
    if not made:
        raise ValueError(f"{path} makes no claim")
    return made


def _global_draws():
    """Return what changes when NumPy's global generator is used."""
    state: Any = np.random.get_state()  # noqa: NPY002 - what is looked for
    return state[0], state[1].tobytes(), state[2]


def registered(id: str) -> Claim:
    """Return a claim of linrep, or of a file that was loaded."""
    return _CLAIMS[id] if id in _CLAIMS else claims([paper_of(id)])[id]


def unknown(id: str, known: Iterable[str]) -> str:
    """Say that there is no such claim, and which ones are near."""
    otherwise = "linrep verify [FILE.py] --list shows them"
    return suggest.unknown("no claim", id, known, otherwise=otherwise)


def corrections(id: str) -> list[Claim]:
    """Return the corrected versions of a claim.

    Parameters
    ----------
    id : str
        Of the claim that fails as printed.
    """
    return [item for item in _CLAIMS.values() if item.corrects == id]


Item = TypeVar("Item")


def select(known: Mapping[str, Item], patterns: Iterable[str]) -> list[Item]:
    """Return the claims whose ids match any of the patterns, all if there is none.

    Parameters
    ----------
    known : mapping of str to Claim, or to Record
    patterns : iterable of str
        Ids, with ``*`` and ``?`` as in file names.

    Raises
    ------
    ValueError
        If a pattern matches nothing.
    """
    patterns = list(patterns)
    if not patterns:
        return list(known.values())
    if not known:
        raise ValueError("known must hold at least one claim")
    chosen: dict[str, Item] = {}
    for pattern in patterns:
        matching = {name: item for name, item in known.items() if fnmatchcase(name, pattern)}
        if not matching:
            raise ValueError(unknown(pattern, known))
        chosen |= matching
    return [item for name, item in known.items() if name in chosen]
