"""Arguments and TOML files turned into the specification of a sweep."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from linrep._lib.formulas import Expression
from linrep._lib.suggest import unknown
from linrep.cli import names as known
from linrep.cli.group import loading
from linrep.cli.values import (
    check_cells,
    check_ranges,
    check_rounds,
    read_axis,
    read_names,
    split_arguments,
)

#: Keys of a sweep file, and what each may be.
_FILE_KEYS: dict[str, tuple[type, ...]] = {
    "algorithm": (str, list),
    "function": (str,),
    "replicates": (int,),
    "seed": (int,),
    "out": (str,),
    "keep": (str,),
    "problem": (str,),
    "zip": (str, list),
    "derive": (str, list),
    "where": (str, list, dict),
    "paired": (str, list),
    "axes": (dict,),
}
_KINDS = {str: "a text", list: "a list of texts", int: "an integer", dict: "a table"}


def read_options(
    source: Path | None,
    arguments: Sequence[str],
    algorithm: str | None,
    function: str | None,
    flags: Mapping[str, Any],
    own_options: Collection[str] = (),
) -> dict[str, Any]:
    """Return the options of a TOML file, over which those of the command line are put."""
    options = _read_file(source) | {
        name: value for name, value in flags.items() if value not in (None, ())
    }
    algorithms, axes = _read_arguments(arguments)
    options["axes"] = {**options.get("axes", {}), **axes}
    options["named"] = [
        name for each in (algorithm, algorithms, function) if each for name in read_names(each)
    ]
    # Data, networks and functions for them are named as axes.
    values = [value for axis in axes.values() if isinstance(axis, list) for value in axis]
    options["named"] += [value for value in values if isinstance(value, str) and ":" in value]
    given = algorithm or algorithms
    if sum(map(bool, (algorithm, algorithms, function))) > 1:
        raise ValueError("give one of ALGORITHM, --algorithm and --function")
    if given or function:
        options.pop("algorithm", None), options.pop("function", None)
        options["algorithm" if given else "function"] = given or function
    _check(options, own_options)
    return options


def _check(options, own_options):
    """Refuse what is seen to be wrong before anything is loaded."""
    if "algorithm" not in options and "function" not in options:
        raise ValueError(f"no algorithm is given; there are {', '.join(known.algorithms())}")
    axes, zipped = options["axes"], [read_names(group) for group in options.get("zipped", ())]
    derived = [text.partition("=") for text in options.get("derive", ())]
    for name, equals, rule in derived:
        if not equals or not name.strip().isidentifier():
            raise ValueError(f"--derive must be NAME = EXPRESSION, got {name + equals + rule!r}")
        Expression(rule.strip())
    for rule in options.get("where", ()):
        if not Expression(rule).names:
            raise ValueError(f"--where must be a condition, such as 'm >= 2 * k', got {rule!r}")
    if "function" in options:
        known.check_reference(options["function"])
    if "algorithm" in options:
        names = read_names(options["algorithm"])
        known.check_algorithms(names)
        if options.get("problem") is None:
            known.check_axes(names, [*axes, *(name.strip() for name, _, _ in derived)], own_options)
        if all(map(known.axes_of, names)):
            check_ranges(axes)
            check_rounds(axes)
            known.check_words(names, axes)
    check_cells(axes, zipped)
    if "algorithm" in options and options.get("problem") is None:
        known.check_given(names, axes, [name.strip() for name, _, _ in derived])
        known.check_rank(names, axes)


def build(options: Mapping[str, Any], allow: Collection[str] = ()):
    """Return the sweep that the options describe, and a name for its directory.

    Code that a TOML file names has to be in `allow`: it runs when it is imported.
    """
    from linrep.sweeps.targets import loading_only

    with loading_only((*options["named"], *allow)), loading("the algorithms"):
        return _build(options)


def _build(options):
    from linrep import simulation
    from linrep.sweeps import Grid, Sweep, load

    axes = options["axes"]
    zipped = [tuple(read_names(group)) for group in options.get("zipped", ())]
    derived = {}
    for text in options.get("derive", ()):
        name, _, rule = text.partition("=")
        derived[name.strip()] = rule.strip()
    common = {"replicates": options.get("replicates", 10), "seed": options.get("seed", 0)}
    rules = {"zipped": zipped, "derived": derived, "constraints": options.get("where", ())}
    if "function" in options:
        for name in ("keep", "problem"):
            if options.get(name):
                raise ValueError(f"--{name} belongs to algorithms, not to --function")
        if not axes:
            raise ValueError("no axis is given; write --NAME VALUES")
        function = load(options["function"])
        if function is simulation.simulate:  # which would load what an axis names
            raise ValueError("algorithms are swept by their names, not by --function")
        paired = read_names(options.get("paired", ()))
        name = options["function"].rpartition(":")[2]
        return Sweep(function, Grid.product(axes, **rules), paired=paired, **common), name
    if options.get("paired"):
        raise ValueError("--paired belongs to --function; algorithms are compared in pairs")
    names = read_names(options["algorithm"])
    keep = options.get("keep") or "final"
    problem = options.get("problem")
    specification = simulation.sweep(names, axes, keep=keep, problem=problem, **common, **rules)
    return specification, "-".join(name.rpartition(":")[2] for name in names)


def _read_arguments(arguments) -> tuple[str | None, dict[str, Any]]:
    """Return the algorithms, None without any, and the axes among the arguments."""
    words, options = split_arguments(arguments)
    if len(words) > 1:
        if words[1] in known.algorithms():
            raise ValueError(f"write several algorithms as one word: {','.join(words)}")
        raise ValueError(f"unexpected argument {words[1]!r}; an axis is given as --n 10,100")
    return next(iter(words), None), {name: read_axis(name, text) for name, text in options.items()}


def _read_file(path) -> dict[str, Any]:
    """Return the options of a TOML file, none without one."""
    import tomllib

    if path is None:
        return {}
    try:
        content = tomllib.loads(
            path.read_text(encoding="utf-8-sig")
        )  # Notepad's begins with a mark
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    except (ValueError, RecursionError):
        raise ValueError(
            f"{path} cannot be read: a number is too long, or lists are nested too deep"
        ) from None
    for name, value in content.items():
        if name not in _FILE_KEYS:
            raise ValueError(unknown(f"{path}: unknown key", name, _FILE_KEYS))
        if not _is_of(value, *_FILE_KEYS[name]):
            kinds = " or ".join(_KINDS[kind] for kind in _FILE_KEYS[name])
            raise ValueError(f"{path}: {name} must be {kinds}, got {value!r}")
    if "algorithm" in content and "function" in content:
        raise ValueError(f"{path}: give algorithm or function, not both")
    axes = content.get("axes", {})
    content["axes"] = {
        name: read_axis(name, value) if isinstance(value, str) else value
        for name, value in axes.items()
    }
    if "function" in content:  # whose axes may be any text
        content["function"] = _beside(path, content["function"])
    else:
        content["axes"] = {name: _beside(path, value) for name, value in content["axes"].items()}
    if "algorithm" in content:
        content["algorithm"] = _beside(path, read_names(content["algorithm"]))
    if "zip" in content:
        content["zipped"] = content.pop("zip")
    for name in ("where", "derive", "zipped"):
        if isinstance(content.get(name), str):
            content[name] = [content[name]]
    return content


def _beside(path, value):
    """Return names of functions in files as seen from here, not from the folder of a sweep file."""
    if isinstance(value, list):
        return [_beside(path, each) for each in value]
    home, colon, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    return f"{path.parent / home}:{name}" if colon and home.endswith(".py") else value


def _is_of(value, *kinds):
    if isinstance(value, list):
        return list in kinds and all(_is_of(item, str, list) for item in value)
    return isinstance(value, kinds) and not isinstance(value, bool)
