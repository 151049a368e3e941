"""Laws: statements whose relation is an ordinary function of typed numbers.

A relation takes variables and, by keyword, constants of the statement. With floats it is searched,
with fractions compared exactly, with terms it becomes a question to solvers. It says what is
claimed once; where its instances come from is said once, too, by a :class:`Region`, by
:class:`Arrays` or a :class:`Grid`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from linrep._lib.suggest import unknown
from linrep.claims.certificates import Certificate, Term
from linrep.claims.certificates import register as register_line
from linrep.claims.claim import Budget, Claim, Hypothesis, register
from linrep.claims.evidence import FAILS, HOLDS, PROVED
from linrep.claims.measurements import Cases, Identity, Measurement, Readings, Together, relative
from linrep.claims.search import search_instances

#: What rounding may do to one side of a relation of floats, relative to it.
ROUNDING = 1e-12


class Relation(NamedTuple):
    """Two sides and the sign between them.

    Attributes
    ----------
    left, right : number
        Of whatever kind.
    sign : {"<=", "="}
    """

    left: Any
    sign: str
    right: Any


def at_most(left: Any, right: Any) -> Relation:
    """Return the claim left <= right.

    Parameters
    ----------
    left, right : number
        Of whatever kind.
    """
    return Relation(left, "<=", right)


def equal(left: Any, right: Any) -> Relation:
    """Return the claim left = right.

    Parameters
    ----------
    left, right : number
        Of whatever kind.
    """
    return Relation(left, "=", right)


# From relations at instances to measurements.


def measured(
    found: Iterable[tuple[Any, ...]], *, tolerance: float = ROUNDING, **options: Any
) -> dict[str, Measurement]:
    """Return what relations at instances come to, by name.

    Parameters
    ----------
    found : iterable of (str, Relation) or (str, Relation, mapping)
        The name of a part, the relation, and the instance.
    tolerance : float
        Relative deviation of both sides of an equation of floats that counts as rounding. Of
        inequalities of floats rounding is 1e-12 of the right side; fractions are compared as they
        are.
    **options
        Of the measurements, such as ``strength``.

    Examples
    --------
    >>> from linrep.claims.laws import equal, measured
    >>> parts = measured([("sum", equal(0.1 + 0.2, 0.3), {"n": 2})])
    >>> parts["sum"].decide(0.0).verdict
    'holds'
    """
    groups: dict[str, list[tuple[Relation, dict[str, Any]]]] = {}
    for name, relation, *at in found:
        groups.setdefault(name, []).append((relation, dict(at[0]) if at else {}))
    return {
        name: _measurement(cases, tolerance, {"name": name, **options})
        for name, cases in groups.items()
    }


def _measurement(cases, tolerance, options):
    exact = all(isinstance(side, Fraction | int) for each, _ in cases for side in each[::2])
    signs = {each.sign for each, _ in cases}
    if len(signs) > 1:
        raise ValueError(f"{options['name']!r} has equations and inequalities: name them apart")
    equations = signs == {"="}
    if equations and not exact:
        return Identity([(relative(*each[::2]), at) for each, at in cases], tolerance, **options)
    if equations:
        apart = [(abs(each.left - each.right), Fraction(0), at) for each, at in cases]
        return Cases(apart, **{"quantity": "distance of both sides", **options})
    room = 0 if exact else ROUNDING
    both = [(left, right + room * abs(right), at) for (left, _, right), at in cases]
    return Cases(both, **options)


def _by_name(relations):
    return {"": relations} if isinstance(relations, Relation) else relations or {}


# Where instances come from.


class Instances(Protocol):
    """Where instances of a law come from: :class:`Arrays`, a :class:`Grid`, or one of your own."""

    def measure(
        self,
        relations: Callable[..., Any],
        budget: Budget,
        rng: np.random.Generator,
        **options: Any,
    ) -> dict[str, Measurement]:
        """Return by name what relations of instances come to.

        Parameters
        ----------
        relations : callable
            Of an instance, by name of its parts.
        budget : Budget
        rng : numpy.random.Generator
        **options
            Of the measurements.
        """


class Grid:
    """All combinations of values by name.

    Parameters
    ----------
    **values
        Of each variable, or a function of the budget that returns them.

    Notes
    -----
    A law over a grid is a generator: it takes ``rng`` and the variables and yields a name, a
    relation, and perhaps what else its instance is made of. Or it returns relations by name.
    """

    def __init__(self, **values: Any):
        self.values = values

    def points(self, budget: Budget) -> Iterator[dict[str, Any]]:
        """Yield the combinations.

        Parameters
        ----------
        budget : Budget
        """
        lists = [each(budget) if callable(each) else each for each in self.values.values()]
        for values in product(*lists):
            yield dict(zip(self.values, values, strict=True))

    def measure(self, relations, budget, rng, **options):
        """Evaluate relations at each combination.

        Parameters
        ----------
        relations : callable
            Of an instance, by name of its parts.
        budget : Budget
        rng : numpy.random.Generator
        **options
            Of the measurements.
        """

        def found():
            for at in self.points(budget):
                relation = relations(rng=rng, **at)
                if isinstance(relation, Relation | Mapping):
                    relation = _by_name(relation).items()
                for name, each, *more in relation:
                    yield name, each, {**at, **(more[0] if more else {})}

        return measured(found(), **options)


class Arrays:
    """Real arrays by name, whose shapes are in letters of sizes.

    Parameters
    ----------
    *searched : mapping of str to int
        Sizes, by letter, at which a violation is searched for; by default none is.
    **shapes : str
        Letters of each array: ``Arrays({"l": 1, "m": 2}, A="lm", b="m", c="")``.

    Notes
    -----
    Arrays are drawn full, of rank one, sparse, or with entries of many orders of magnitude. A law
    over them returns relations, or None where they do not satisfy the hypotheses.
    """

    def __init__(self, *searched: Mapping[str, int], **shapes: str):
        self.searched = searched
        self.shapes = {name: tuple(letters) for name, letters in shapes.items()}

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return random arrays of random sizes, from 1 to 6.

        Parameters
        ----------
        rng : numpy.random.Generator
        """
        size: dict[str, int] = {}
        for letter in "".join(map("".join, self.shapes.values())):
            size.setdefault(letter, int(rng.integers(1, 7)))
        return {
            name: _random(rng, tuple(size[letter] for letter in letters))
            for name, letters in self.shapes.items()
        }

    def measure(self, relations, budget, rng, **options):
        """Evaluate relations at random arrays, and search for a violation of each.

        Parameters
        ----------
        relations : callable
            Of an instance, by name of its parts.
        budget : Budget
        rng : numpy.random.Generator
        **options
            Of the measurements.
        """
        arrays = (self.draw(rng) for _ in range(budget(500, 10_000)))
        drawn = ((each, relations(**each)) for each in arrays)
        each = [
            (name, relation, arrays)
            for arrays, found in drawn
            for name, relation in _by_name(found).items()
        ]
        parts = measured(
            ((f"drawn {name}".strip(), found, _plain(arrays)) for name, found, arrays in each),
            **options,
        )
        for name in dict.fromkeys(name for name, *_ in each) if self.searched else ():

            def sides(name=name, **arrays):
                relation = _by_name(relations(**arrays)).get(name)
                return relation and _searched(relation)

            title = f"searched {name}".strip()
            parts[title] = search_instances(
                sides, self.searched, self.shapes, budget, rng,
                **{"name": title, "guard": ROUNDING, **options},
            )  # fmt: skip
        return parts


def _plain(arrays):
    return {name: np.asarray(array).tolist() for name, array in arrays.items()}


def _searched(relation):
    """Return both sides as numbers; of an equation the larger one first."""
    left, right = map(float, relation[::2])
    return (left, right) if relation.sign == "<=" else (max(left, right), min(left, right))


def _random(rng, shape):
    X, kind = rng.standard_normal(shape), rng.integers(4)
    if kind == 1 and len(shape) == 2:
        return np.outer(X[:, 0], X[0])
    if kind == 2:
        return X * 10.0 ** rng.uniform(-8, 8, shape)
    return X * (rng.random(shape) < 0.5) if kind == 3 else X


class Open(NamedTuple):
    """An end of an interval that does not belong to it.

    Attributes
    ----------
    end : number
    """

    end: Any


class Root(NamedTuple):
    """A positive number that is given by its square.

    Attributes
    ----------
    square : number
    """

    square: Any


class Region:
    """Real numbers in turn, each between two ends: functions of earlier ones, and of constants.

    Parameters
    ----------
    **ends : (low, high), Root, or function that returns one
        Of each number. None is infinity; an end in :class:`Open` does not belong to the interval.

    Examples
    --------
    >>> from linrep.claims.laws import Open, Region
    >>> region = Region(last=(Open(0), 1), gap=lambda last, *, most=1: (Open(0), most * last))
    >>> next(region.points())
    {'last': Fraction(1, 1000), 'gap': Fraction(1, 1000000)}
    """

    def __init__(self, **ends: Any):
        self.ends = ends
        self.constants: dict[str, Any] = {
            each.name: each.default
            for end in filter(callable, ends.values())
            for each in inspect.signature(end).parameters.values()
            if each.kind is each.KEYWORD_ONLY
        }
        for place, (name, end) in enumerate(ends.items()):
            earlier = list(ends)[:place]
            for each in inspect.signature(end).parameters.values() if callable(end) else ():
                if each.kind is not each.KEYWORD_ONLY and each.name not in earlier:
                    raise ValueError(
                        unknown(f"{name} takes no number", each.name, earlier, of="before it")
                    )

    def between(self, name: str, known: Mapping[str, Any], **constants: Any) -> Any:
        """Return the ends of a number's interval, given those before it.

        Parameters
        ----------
        name : str
            Of the number.
        known : mapping of str to number
            Those before it.
        **constants
        """
        ends = self.ends[name]
        if not callable(ends):
            return ends
        given = {**known, **constants}
        takes = inspect.signature(ends).parameters
        return ends(**{each: given[each] for each in takes if each in given})

    def given(self, values: Mapping[str, Any], **constants: Any) -> Iterator[Any]:
        """Yield that each value is in its interval: terms, or what is true of numbers.

        Parameters
        ----------
        values : mapping of str to number
        **constants
        """
        for name, value in values.items():
            ends = self.between(name, values, **constants)
            if isinstance(ends, Root):
                yield value > 0
                yield value**2 == ends.square
                continue
            low, high = ends
            if low is not None:
                yield low.end < value if isinstance(low, Open) else low <= value
            if high is not None:
                yield value < high.end if isinstance(high, Open) else value <= high

    def points(self, **constants: Any) -> Iterator[dict[str, Any]]:
        """Yield corners and what is between in fractions, up to a thousandth of an open end.

        Intervals without a number are left out, and roots are rounded to floats.

        Parameters
        ----------
        **constants
        """
        free = [name for name, end in self.ends.items() if not isinstance(end, Root)]
        parts = {1: 64, 2: 16, 3: 6, 4: 4}.get(len(free), 2)
        shares = [Fraction(place, parts) for place in range(parts + 1)]
        for chosen in product(shares, repeat=len(free)):
            share = dict(zip(free, chosen, strict=True))
            values: dict[str, Any] = {}
            for name in self.ends:
                value = _inside(self.between(name, values, **constants), share.get(name))
                if value is None:
                    break
                values[name] = value
            else:
                yield values

    def needed(self, names: Iterable[str]) -> list[str]:
        """Return the numbers that these are, or that their intervals depend on.

        Parameters
        ----------
        names : iterable of str
        """
        found = set(names)
        for name in reversed(self.ends):
            if name in found and callable(self.ends[name]):
                found |= inspect.signature(self.ends[name]).parameters.keys() & self.ends.keys()
        return [name for name in self.ends if name in found]


def _inside(ends, share):
    """Return a number so far from one end of an interval to the other, None where there is none."""
    if isinstance(ends, Root):
        return float(ends.square) ** 0.5
    near = Fraction(1, 1000)
    low, high = ends
    if low is None or isinstance(low, Open):
        share = max(share, near)
    if high is None or isinstance(high, Open):
        share = min(share, 1 - near)
    start, end = (getattr(each, "end", each) for each in ends)
    if None not in (start, end) and (start > end or (start == end and Open in map(type, ends))):
        return None
    if start is None:
        return (1 - 2 * share) / (share * (share - 1)) if end is None else end + 1 - 1 / share
    value = start + share * (end - start) if end is not None else start - 1 + 1 / (1 - share)
    return value if isinstance(value, float) else Fraction(value)


@dataclass(frozen=True, eq=False)
class _Asked(Cases):
    """Lines of a proof at corners: certified where solvers prove them, which only lines can say."""

    asked: Sequence[str] = field(default=(), kw_only=True)

    def underived(self) -> Measurement:
        """Return it without the strength that a derivation gives, or solvers."""
        return replace(self, asked=(), strength="" if self.strength == PROVED else self.strength)

    def _decision(self, level):
        found = super()._decision(level)
        return found if found.verdict == FAILS else replace(found, asked=tuple(self.asked))


class Lines:
    """Lines of a proof over a region: questions to solvers that are compared in fractions, too.

    Attributes
    ----------
    claim : str
        Id of the statement.
    region : Region
    function : callable
        ``function(*variables, **constants)`` returns relations by name.
    steps : tuple of str
        Those that only serve the proof: that one of them is false refutes nothing. True for all.
    whole : bool
        Whether they are the statement itself, which is certified where solvers prove them.
    suffice : bool
        Whether the derivation leads from them to the statement, whatever the constants are.
    family : bool
        Whether the lines are what the statement says of a family of examples: they refute it where
        they are false, and prove nothing.
    given : mapping of str to number
        Constants that the statement has in place of the defaults.
    asked : bool
        Whether solvers are asked: not of a statement that is expected to fail.
    """

    def __init__(
        self,
        claim: str,
        region: Region,
        function: Callable[..., Any],
        steps: Iterable[str] | bool = (),
        family: bool = False,
        whole: bool = False,
        suffice: bool = False,
        given: Mapping[str, Any] = MappingProxyType({}),
        asked: bool = True,
    ):
        self.claim, self.region, self.function = claim, region, function
        self.family, self.whole, self.suffice = family, whole, suffice or whole
        parameters = inspect.signature(function).parameters
        own = {
            name: each.default
            for name, each in parameters.items()
            if each.kind is each.KEYWORD_ONLY
        }
        self._own, self._variables = own.keys(), [name for name in parameters if name not in own]
        for name in self._variables:
            if name not in region.ends:
                raise ValueError(unknown("the region has no number", name, region.ends))
        #: Constants with the values that solvers are asked with.
        self.constants = {
            name: Fraction(given.get(name, value))
            for name, value in {**region.constants, **own}.items()
        }
        of_region = {name: self.constants[name] for name in region.constants}
        self.names = tuple(self.at(next(region.points(**of_region))))
        self.steps = self.names if steps is True else tuple(steps or ())
        for name in self.steps:
            if name not in self.names:
                raise ValueError(unknown("no line", name, self.names))
        self.certificates = [self._certificate(name) for name in self.names if asked]

    def at(self, values: Mapping[str, Any], **constants: Any) -> dict[str, Relation]:
        """Return the lines at numbers or terms.

        Parameters
        ----------
        values : mapping of str to number or Term
        **constants
            Other values than the statement's.
        """
        own = {name: Fraction(constants.get(name, self.constants[name])) for name in self._own}
        found = self.function(*(values[name] for name in self._variables), **own)
        return {self.function.__name__: found} if isinstance(found, Relation) else dict(found)

    def measure(self, **constants: Any) -> Measurement:
        """Return the lines at corners of the region, but for mere steps where there are others.

        What solvers have answered counts only for the constants that they were asked with. Where
        all are steps, they are those of the proof of the statement as it is, whatever the
        constants: they say nothing of others.

        Parameters
        ----------
        **constants
            Of the statement; those that no line has are left aside.
        """
        given = {name: Fraction(constants.get(name, own)) for name, own in self.constants.items()}
        deciding = [name for name in self.names if name not in self.steps]
        tried = given if deciding else self.constants
        deciding = deciding or list(self.names)
        cases = [
            (*_as_case(line), {"line": name, **{key: str(value) for key, value in at.items()}})
            for at in self.region.points(**{name: tried[name] for name in self.region.constants})
            for name, line in self.at(at, **tried).items()
            if name in deciding
        ]
        asked = tuple(each.step for each in self.certificates if given == self.constants)
        title = deciding[0] if len(deciding) == 1 else f"{deciding[0]} to {deciding[-1]}"
        return _Asked(cases, name=title, asked=asked, strength=PROVED if asked else "")

    @property
    def symbols(self) -> dict[str, Term]:
        """The region's numbers as terms."""
        return {name: Term(name, frozenset([name])) for name in self.region.ends}

    @property
    def says(self) -> str:
        """What the lines are about, in a line."""
        return " ".join((self.function.__doc__ or "").split())

    def _certificate(self, name):
        line = self.at(self.symbols)[name]
        used = {name for each in line[::2] if isinstance(each, Term) for name in each.names}
        return register_line(Certificate(self, name, tuple(self.region.needed(used))))


def _as_case(line):
    """Return both sides of a line as those of an inequality."""
    left, sign, right = line
    if sign == "=":
        left, right = abs(left - right), Fraction(0)
    if isinstance(left, float) or isinstance(right, float):  # with a root
        return left, right + ROUNDING * max(map(abs, line[::2]))
    return Fraction(left), Fraction(right)


def lines(
    claim: str,
    region: Region,
    *,
    steps: Iterable[str] | bool = (),
    family: bool = False,
    whole: bool = False,
    suffice: bool = False,
) -> Callable[[Callable[..., Any]], Lines]:
    """Make lines of a claim's proof out of a function of some of a region's numbers.

    Parameters
    ----------
    claim : str
        Id of the statement.
    region : Region
    steps, family, whole, suffice : optional
        As in :class:`Lines`.

    Examples
    --------
    >>> from linrep.claims.laws import Open, Region, at_most, lines
    >>> @lines("mine.lemma", Region(x=(Open(0), 1)))
    ... def bernoulli(x, *, power=2):
    ...     return {"(1)": at_most(1 + power * x, (1 + x) ** 2)}
    >>> bernoulli.measure().decide(0.0).verdict
    'holds'
    """
    return lambda function: Lines(claim, region, function, steps, family, whole, suffice)


# Statements.


@dataclass(frozen=True, repr=False)
class Law(Claim):
    """A statement with its relation, to which evidence and corrected versions are added.

    Attributes
    ----------
    relation : callable
        Of instances, and by keyword of the constants.
    over : Instances
        Where instances come from.
    template : str
        Its LaTeX with constants as ``<name>``.
    also_measured : list of callable
        What :meth:`also` has added.
    versions : list of Lines
        Over a region: of the statement, and of the corrected ones.
    """

    relation: Callable[..., Any] = field(default=equal, compare=False, repr=False)
    over: Any = field(default=None, compare=False, repr=False)
    template: str = field(default="", compare=False, repr=False)
    also_measured: list[Callable[..., Any]] = field(default_factory=list, compare=False, repr=False)
    versions: list[Lines] = field(default_factory=list, compare=False, repr=False)

    def also(self, part: Callable[..., Any]) -> Callable[..., Any]:
        """Add measurements.

        Parameters
        ----------
        part : callable
            ``part(budget, rng, **constants)`` yields them.
        """
        self.also_measured.append(part)
        return part

    def attained(
        self, where: str, of: str = "", **shapes: str
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add where both sides of a relation are equal; with other constants, what it says there.

        Parameters
        ----------
        where : str
            In a few words.
        of : str
            Name of the relation, where there are several.
        **shapes : str
            Of arrays that are drawn, as in :class:`Arrays`; of these the decorated function
            returns arguments of the relation by name.
        """

        def add(arguments):
            arrays = Arrays(**shapes)

            def part(budget, rng, **constants):
                drawn = (arguments(**arrays.draw(rng)) for _ in range(budget(50, 1000)))
                own = {**_defaults(self.relation), **constants} == _defaults(self.relation)
                held = (_by_name(self.relation(**each, **constants))[of] for each in drawn)
                found = (
                    (f"equality: {where}", equal(*each[::2]) if own else each) for each in held
                )
                return measured(found, strength=PROVED).values()

            self.also(part)
            return arguments

        return add

    def corrected(self, id: str, *, plain: str, negative_control: Mapping[str, Any], **more: Any):
        """Register the corrected statement: the same relation with other constants.

        Its LaTeX is that of the printed one, with its own constants, unless it is given.

        Parameters
        ----------
        id, plain, negative_control, **more
            As for :meth:`Claim.corrected`.
        """
        constants = {**_defaults(self.relation), **self.constants, **(more.get("constants") or {})}
        latex = more.pop("latex", None) or printed(self.template, constants)
        if self.versions:
            asked = more.get("expected", HOLDS) == HOLDS
            own = Lines(
                id, self.over, self.relation, whole=self.versions[0].whole, suffice=True,
                given=constants, asked=asked,
            )  # fmt: skip
            self.versions.append(own)
        return super().corrected(
            id, plain=plain, negative_control=negative_control, latex=latex, **more
        )


def law(
    id: str,
    place: str,
    latex: str,
    *,
    over: Any,
    wrong: Mapping[str, Any],
    reads: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
    underived: Iterable[str] = (),
    whole: bool = True,
    hypotheses: Iterable[Hypothesis] = (),
    **more: Any,
) -> Callable[[Callable[..., Any]], Law]:
    r"""Turn a relation into a statement, whose docstring is the sentence in plain words.

    Parameters
    ----------
    id, place, latex : str
        As of a claim; in LaTeX constants stand as ``<name>``, ``^<name>`` or ``<1/name>``.
    over : Arrays, Grid, Region, or another of Instances
        Where instances come from. Over a region solvers are asked for the relation itself.
    wrong : mapping
        Constants with which it is false: its negative control.
    reads : mapping of str to mapping
        Of a phrase that can be read in several ways the parts of each reading.
    underived : iterable of str
        Parts that no derivation covers.
    whole : bool, default True
        Over a region: whether the relation is all that is stated, so that solvers certify it; not
        where a derivation leads from it to the statement.
    hypotheses, **more
        As for :func:`linrep.claims.statement`.

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims.laws import Arrays, at_most, law
    >>> @law("mine.triangle", "(1)", r"|x + y| \le <factor>(|x| + |y|)",
    ...      over=Arrays({"n": 2}, x="n", y="n"), wrong={"factor": 0.9})
    ... def triangle(x, y, *, factor=1.0):
    ...     '''The triangle inequality.'''
    ...     return at_most(np.linalg.norm(x + y), factor * (np.linalg.norm(x) + np.linalg.norm(y)))
    >>> triangle.plain, triangle.latex
    ('The triangle inequality.', '|x + y| \\le (|x| + |y|)')
    >>> triangle.verify("quick", rng=0).verdict
    'holds'
    """

    def make(relation):
        parameters = inspect.signature(relation).parameters
        constants = _defaults(relation)
        if isinstance(over, Region):
            constants = {**over.constants, **constants}
            asked = more.get("expected", HOLDS) == HOLDS
            versions = [Lines(id, over, relation, whole=whole, suffice=True, asked=asked)]
        else:
            versions = []

        def check(budget, rng, **given):
            if versions:
                own = {name: Fraction(value) for name, value in {**constants, **given}.items()}
                lines = next((each for each in versions if each.constants == own), versions[0])
                yield lines.measure(**own)
            else:
                yield from parts(budget, rng, given)
            for part in item.also_measured:
                yield from part(budget, rng, **{**constants, **given})

        def parts(budget, rng, given):
            def of(rng=None, **at):
                return relation(**({"rng": rng} if "rng" in parameters else {}), **at, **given)

            found = over.measure(of, budget, rng, strength=PROVED)
            found |= {name: found[name].underived() for name in underived}
            for phrase, readings in (reads or {}).items():
                several = {name: list(map(found.pop, own)) for name, own in readings.items()}
                yield Readings(
                    [_together(name, own) for name, own in several.items()], phrase=phrase
                )
            yield from found.values()

        takes = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
            for name, value in constants.items()
        ]
        functools.update_wrapper(check, relation)  # its source is that of the relation
        check.__signature__ = inspect.Signature([*map(_positional, ("budget", "rng")), *takes])  # type: ignore[attr-defined]
        item = Law(
            id, " ".join((relation.__doc__ or "").split()), check, place,
            printed(latex, constants), tuple(hypotheses), control=dict(wrong),
            relation=relation, over=over, template=latex, versions=versions, **more,
        )  # fmt: skip
        register(item)
        return item

    return make


def _defaults(relation):
    """Return the constants of a relation with their values."""
    return {
        name: each.default
        for name, each in inspect.signature(relation).parameters.items()
        if each.kind is each.KEYWORD_ONLY
    }


def _together(name, parts):
    return replace(parts[0], name=name) if len(parts) == 1 else Together(parts, name=name)


def _positional(name):
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _near(value):
    """Return a fraction of a small denominator that a number is, up to rounding, or it itself."""
    near = value.limit_denominator(1000)
    return near if abs(near - value) <= Fraction(1, 10**12) * abs(value) else float(value)


def printed(template: str, constants: Mapping[str, Any]) -> str:
    r"""Return LaTeX with constants in the places of <name>, ^<name> and <1/name>, but for 1.

    Parameters
    ----------
    template : str
    constants : mapping

    Examples
    --------
    >>> from linrep.claims.laws import printed
    >>> printed(r"x^<power> <= <factor> y", {"power": 1.0, "factor": 0.25})
    'x <= \\tfrac{1}{4} y'
    """

    def text(found):
        power, inverse, name = found.groups()
        if name not in constants:
            raise ValueError(unknown("the statement has no constant", name, constants))
        value = _near(1 / Fraction(constants[name]) if inverse else Fraction(constants[name]))
        follows = template[found.end() :].lstrip()
        if value == 1 and (power or re.match(r"[A-Za-z\\(|]", follows)):
            return ""
        size = abs(value)
        if isinstance(value, float):
            return f"^{{{value:.4g}}}" if power else f"{value:.4g}"
        shown = (
            str(size)
            if size.denominator == 1
            else rf"\tfrac{{{size.numerator}}}{{{size.denominator}}}"
        )
        shown = f"-{shown}" if value < 0 else shown
        return f"^{{{shown}}}" if power else shown

    return re.sub(r"(\^)?<(1/)?([A-Za-z_]\w*)>", text, template)
