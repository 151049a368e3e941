"""The names that come with linrep, read without loading what they stand for.

A wrong name is answered at once this way.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from linrep._lib import papers as known_papers
from linrep._lib import records
from linrep._lib.scripts import available, sizes_of
from linrep._lib.suggest import near, propose, unknown
from linrep.cli.axes import described
from linrep.simulation import families
from linrep.simulation.families import find
from linrep.simulation.parameters import known_parameters, outlines, required

#: The families of problems.
PROBLEMS = tuple(families.names())


def algorithms() -> list[str]:
    """Return the names of linrep's algorithms."""
    return list(outlines())


@cache
def axes_of(algorithm) -> tuple[str, ...]:
    """Return the axes of one of linrep's algorithms, none of another one."""
    if algorithm not in outlines():
        return ()
    family, function = outlines()[algorithm]
    return known_parameters(function, find(family)) or ()


def claims() -> list[str]:
    """Return the ids of the claims that the papers' ledgers record."""
    found: list[str] = []
    for path in filter(records.is_there, known_papers.ledgers()):
        with suppress(ValueError, TypeError, LookupError, OSError):  # who reads it says so
            found += [entry["id"] for entry in records.content(path)]
    return found


def is_claim(name) -> bool:
    """Tell whether a name is a claim's, recorded or not."""
    return name in claims() or ("." in name and name in _read_stated())


def papers() -> list[str]:
    """Return the names of the papers."""
    return list(known_papers.papers())


def check_claims(patterns, what="no claim") -> None:
    """Raise ValueError for an id or a pattern that no claim matches.

    It is said to be none of `what`, which may be more than a claim: papers, too, where it says so.
    """
    recorded = claims() if patterns else []
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in recorded):
            continue
        if pattern in papers():
            raise ValueError(
                f"{pattern!r} is a paper, not a claim: 'linrep verify --list --paper {pattern}' "
                f"lists its claims, '{pattern}.*' selects all of them"
            )
        meant = _of_group(pattern, recorded, papers(), "paper" in what)
        # And not recorded yet.
        if not meant and any(fnmatchcase(name, pattern) for name in _read_stated()):
            continue
        if meant:
            raise ValueError(f"{what} {pattern!r}; {propose(meant)}")
        otherwise = "linrep verify --list shows them"
        raise ValueError(unknown(what, pattern, recorded, otherwise=otherwise))


def _of_group(pattern, known, groups, whole=False):
    """Return what is meant where the group that ids begin with is wrong: it, or a pattern."""
    group, _, rest = pattern.partition(".")
    if group in groups or any(sign in group for sign in "*?["):
        return []
    named = near(group, groups)
    if not rest:
        return named if whole else [f"{name}.*" for name in named]
    patterns = [f"{name}.{rest}" for name in named]
    return [each for each in patterns if any(fnmatchcase(name, each) for name in known)]


def match_spelling(patterns, known) -> list[str]:
    """Return ids and patterns as the known names are spelled, whatever capitals they have.

    What matches nothing either way stays as it is.
    """
    spellings = []
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            low = pattern.casefold()
            matching = [name for name in known if fnmatchcase(name.casefold(), low)]
            spellings += matching or [pattern]
        else:
            spellings.append(pattern)
    return spellings


def check_file(path) -> None:
    """Raise ValueError for a file that is no Python, or has nothing in it; runs none of it."""
    try:
        content = ast.parse(Path(path).read_bytes(), filename=Path(path).name)
    except (SyntaxError, ValueError) as error:
        text = (getattr(error, "text", None) or "").strip()
        what = ": ".join(filter(None, [type(error).__name__, str(error), text]))
        raise ValueError(f"{path} cannot be loaded: {what}") from None
    if not content.body:
        raise ValueError(f"{path} contains no claim")


def check_papers(names) -> None:
    """Raise ValueError for a name that is no paper's."""
    known = papers() if names else []
    for name in names:
        if name not in known:
            raise ValueError(unknown("no paper", name, known))


def check_experiments(names, within="*") -> None:
    """Raise ValueError for an id or a pattern that no experiment matches, of those of a pattern."""
    known = [each for each in available() if fnmatchcase(each, within)]
    for name in names:
        if name.endswith(".py") and not Path(name).is_file():
            raise ValueError(f"no such file: {name}")
        if not name.endswith(".py") and not any(fnmatchcase(each, name) for each in known):
            groups = dict.fromkeys(each.partition(".")[0] for each in known)
            if meant := _of_group(name, known, groups):
                raise ValueError(f"unknown experiment {name!r}; {propose(meant)}")
            raise ValueError(unknown("unknown experiment", name, known))


def check_sizes(figures, sizes) -> None:
    """Raise ValueError for a size that a figure of linrep does not have."""
    for figure in figures:
        known = sizes_of(figure)
        for name in sizes if known else ():  # or else the figure says so itself
            if name not in known:
                problem = unknown("this figure has no size", name, known, prefix="--")
                raise ValueError(f"{figure}: {problem}")


def check_algorithms(names) -> None:
    """Raise ValueError for a name that is no algorithm's, and does not say where to find one."""
    for name in names:
        check_reference(name)
        if name not in outlines() and ":" not in name and not name.startswith("deep."):
            every = f"there are {', '.join(outlines())}, and module:function for one of your own"
            meant = {".toml": f"--from {name}", ".py": f"{name}:FUNCTION"}.get(Path(name).suffix)
            if meant:
                raise ValueError(f"unknown algorithm {name!r}; {propose([meant])}")
            raise ValueError(unknown("unknown algorithm", name, outlines(), otherwise=every))


def check_reference(name) -> None:
    """Raise ValueError for file.py:name where there is no such file."""
    home, colon, _ = name.rpartition(":")
    if colon and home.endswith(".py") and not Path(home).is_file():
        raise ValueError(f"no such file: {home}")


def check_given(algorithms, axes, derived=(), sizes=()) -> None:
    """Raise ValueError where a parameter without which nothing can be run is not given.

    The `sizes` have to be given whatever the algorithms are.
    """
    groups: dict[tuple[str, ...], None] = dict.fromkeys((size,) for size in sizes)
    for name in algorithms:
        if name in outlines():
            family, function = outlines()[name]
            groups |= dict.fromkeys(required(function, find(family), axes))
    missing = [f"--{' or --'.join(group)}" for group in groups if not {*group} & {*axes, *derived}]
    if missing:
        *others, last = missing
        raise ValueError(f"{' and '.join(filter(None, [', '.join(others), last]))} must be given")


def check_words(algorithms, axes) -> None:
    """Raise ValueError for a word that an axis of these algorithms may not be."""
    known, _ = described(algorithms)
    for name, values in axes.items():
        words = known[name].words if name in known else ()
        for value in values if isinstance(values, list) else [values]:
            if words and isinstance(value, str) and value not in words:
                raise ValueError(unknown(f"--{name}: no such value", value, words))


def check_rank(algorithms, axes) -> None:
    """Raise ValueError where no cell meets what the problems demand, such as k <= d."""

    def numbers(name):
        values = axes.get(name, [])
        values = values if isinstance(values, list) else [values]
        return [value for value in values if isinstance(value, int | float)]

    for algorithm in algorithms:
        family = find(outlines()[algorithm][0]) if algorithm in outlines() else None
        for rule in family.constraints if family else ():
            small, _, large = rule.split()
            if numbers(small) and numbers(large) and min(numbers(small)) > max(numbers(large)):
                raise ValueError(
                    f"--{small} must be at most {large} = {max(numbers(large))}, "
                    f"got {min(numbers(small))}"
                )


def check_axes(algorithms, axes, options=()) -> None:
    """Raise ValueError for an axis that none of some algorithms of linrep has.

    The `options` are the command's own, one of which may have been meant.
    """
    algorithms = list(algorithms)
    if not algorithms or not all(map(axes_of, algorithms)):
        return
    known = dict.fromkeys(axis for name in algorithms for axis in axes_of(name))
    for axis in axes:
        if axis not in known:
            of, every = f"of {' and '.join(algorithms)}", f"there are {', '.join(known)}"
            names = [*known, *options]
            raise ValueError(
                unknown("unknown parameter", axis, names, of=of, otherwise=every, prefix="--")
            )


def _read_stated():
    """Return the ids of the statements in the papers' sources, recorded or not."""
    return _stated_in(tuple(known_papers.files("*.py")))


@cache
def _stated_in(paths):
    names = []
    for path in paths:
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.Call(
                    func=ast.Name("statement") | ast.Attribute(attr="corrected"),
                    args=[ast.Constant(str(name)), *_],
                ):
                    names.append(name)
    return names
