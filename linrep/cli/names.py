"""The names that come with linrep, known without loading what they stand for.

A wrong name is answered at once this way. `make names` writes `names.json`, and `algorithms.json`.
"""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import linrep
from linrep._lib import papers as known_papers
from linrep._lib.scripts import available
from linrep._lib.suggest import near, propose, unknown

_KNOWN = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
#: The axes of each algorithm of linrep.
AXES: dict[str, list[str]] = _KNOWN["axes"]
ALGORITHMS = tuple(AXES)
#: The words that axes of these algorithms may be, of some algorithm or problem.
WORDS: dict[str, list[str]] = _KNOWN["words"]
#: The sizes of each figure that has any.
SIZES: dict[str, list[str]] = _KNOWN["sizes"]
#: What the rank is at most, by the sizes of its family of problems.
_LARGEST_RANK = {"regression": ("d", "n"), "completion": ("d", "p")}
#: The families of problems.
PROBLEMS = tuple(
    sorted(path.stem for path in Path(linrep.__file__).parent.glob("simulation/families/[a-z]*.py"))
)


def shown(algorithm) -> dict[str, Any]:
    """Return what is shown of an algorithm: what it does, what must be given, its axes."""
    return json.loads(Path(__file__).with_name("algorithms.json").read_text("utf-8"))[algorithm]


def claims() -> list[str]:
    """Return the ids of the claims that the papers' ledgers record."""
    found: list[str] = []
    for path in filter(Path.is_file, known_papers.ledgers()):
        with suppress(ValueError, TypeError, KeyError):  # it is no ledger: who reads it says so
            found += _ids(path, path.stat().st_mtime_ns)
    return found


def is_claim(name) -> bool:
    """Tell whether a name is a claim's, recorded or not."""
    return name in claims() or ("." in name and name in _read_stated())


@cache
def _ids(path, changed):
    """Return the ids in a ledger, which is read once for each time at which it was changed."""
    return tuple(entry["id"] for entry in json.loads(path.read_text("utf-8")))


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
                f"lists its claims, '{pattern}.*' is all of them"
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
        raise ValueError(f"{path} makes no claim")


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
        if figure not in available() or figure not in SIZES:  # not listed yet: it says so itself
            continue
        for name in sizes:
            if name not in SIZES[figure]:
                problem = unknown("this figure has no size", name, SIZES[figure], prefix="--")
                raise ValueError(f"{figure}: {problem}")


def check_algorithms(names) -> None:
    """Raise ValueError for a name that is no algorithm's, and does not say where to find one."""
    for name in names:
        check_reference(name)
        if name not in AXES and ":" not in name and not name.startswith("deep."):
            every = f"there are {', '.join(ALGORITHMS)}, and module:function for one of your own"
            raise ValueError(unknown("unknown algorithm", name, ALGORITHMS, otherwise=every))


def check_reference(name) -> None:
    """Raise ValueError for file.py:name where there is no such file."""
    home, colon, _ = name.rpartition(":")
    if colon and home.endswith(".py") and not Path(home).is_file():
        raise ValueError(f"no such file: {home}")


def check_given(algorithms, axes, sizes=()) -> None:
    """Raise ValueError where a size without which there is no problem is not given.

    The `sizes` have to be given whatever the algorithms are.
    """
    axes = list(axes)
    needed: dict[str, None] = dict.fromkeys(sizes)
    for name in algorithms:
        axes_of = AXES.get(name, ())
        needed |= dict.fromkeys(size for size in ("n", "d", "p", "k") if size in axes_of)
        if "m" in axes_of and "batches" not in axes:  # FLUTE's population has no samples
            needed["m"] = None
        # What is seen of a matrix: federated averaging can draw it anew.
        seen = ("per_client", "entries", "oversampling")
        if "entries" in axes_of and "local_steps" not in axes_of and not {*seen} & {*axes}:
            needed[" or ".join(seen)] = None
    missing = [f"--{name.replace(' or ', ' or --')}" for name in needed if name not in axes]
    if missing:
        *others, last = missing
        raise ValueError(f"{' and '.join(filter(None, [', '.join(others), last]))} must be given")


def check_words(axes) -> None:
    """Raise ValueError for a word that no axis of linrep's algorithms may be."""
    for name, values in axes.items():
        for value in values if isinstance(values, list) else [values]:
            if name in WORDS and isinstance(value, str) and value not in WORDS[name]:
                raise ValueError(unknown(f"--{name}: no such value", value, WORDS[name]))


def check_rank(algorithms, axes) -> None:
    """Raise ValueError where the rank is too large for all other sizes that are given."""

    def numbers(name):
        values = axes.get(name, [])
        values = values if isinstance(values, list) else [values]
        return [value for value in values if isinstance(value, int | float)]

    if not numbers("k"):
        return
    rank = min(numbers("k"))
    for algorithm in algorithms:
        axes_of = AXES.get(algorithm, ())
        if "k" not in axes_of:
            continue
        for name in _LARGEST_RANK["completion" if "p" in axes_of else "regression"]:
            if numbers(name) and rank > max(numbers(name)):
                largest = max(numbers(name))
                raise ValueError(f"--k must be at most {name} = {largest}, got {rank}")


def check_axes(algorithms, axes, options=()) -> None:
    """Raise ValueError for an axis that none of some algorithms of linrep has.

    The `options` are the command's own, one of which may have been meant.
    """
    algorithms = list(algorithms)
    if not algorithms or not all(name in AXES for name in algorithms):
        return
    known = dict.fromkeys(axis for name in algorithms for axis in AXES[name])
    for axis in axes:
        if axis not in known:
            of, every = f"of {' and '.join(algorithms)}", f"there are {', '.join(known)}"
            names = [*known, *options]
            raise ValueError(
                unknown("unknown parameter", axis, names, of=of, otherwise=every, prefix="--")
            )


@cache
def _read_stated():
    """Return the ids of the statements in the papers' sources, recorded or not."""
    names = []
    for path in known_papers.files("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.Call(
                    func=ast.Name("statement") | ast.Attribute(attr="corrected"),
                    args=[ast.Constant(str(name)), *_],
                ):
                    names.append(name)
    return names
