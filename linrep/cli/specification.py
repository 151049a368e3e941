"""Arguments and TOML files turned into the specification of a sweep."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from linrep._lib.suggest import unknown
from linrep.cli.axes import axes_of
from linrep.cli.group import loading
from linrep.cli.values import check_cells, read_axis, read_names, split_arguments
from linrep.simulation.families import find
from linrep.simulation.parameters import check_algorithm, check_axes, outlines

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
    "where": (str, list),
    "paired": (str, list),
    "axes": (dict,),
}
_KINDS = {str: "a text", list: "a list of texts", int: "an integer", dict: "a table"}
#: What leaves of a run little more than reading its settings.
_SHORT = {"rounds": 2, "iterations": 1}


def read_options(
    source: Path | None,
    arguments: Sequence[str],
    function: str | None,
    flags: Mapping[str, Any],
    own_options: Collection[str] = (),
) -> dict[str, Any]:
    """Return the options of a TOML file, over which those of the command line are put."""
    options = _read_file(source) | {
        name: value for name, value in flags.items() if value not in (None, ())
    }
    words, texts = split_arguments(arguments)
    if len(words) > 1:
        raise ValueError(
            f"unexpected argument {words[1]!r}: several algorithms are one word, as in "
            f"{','.join(words)}, and an axis is given as --n 10,100"
        )
    if words and words[0].endswith(".toml"):
        raise ValueError(f"{words[0]} is a file: --from {words[0]}")
    axes = {name: read_axis(name, text) for name, text in texts.items()}
    options["axes"] = {**options.get("axes", {}), **axes}
    given = [each for each in (*words, function) if each]
    if len(given) > 1:
        raise ValueError("give one of ALGORITHM and --function")
    # What the command line names may be imported: data, networks and functions for them, too.
    options["named"] = [name for each in given for name in read_names(each)]
    values = [value for axis in axes.values() for value in axis]
    options["named"] += [value for value in values if isinstance(value, str) and ":" in value]
    if given:
        options.pop("algorithm", None), options.pop("function", None)
        options["function" if function else "algorithm"] = given[0]
    _check(options, own_options)
    return options


def _check(options, own_options):
    """Refuse what is seen to be wrong before anything is loaded."""
    if "algorithm" not in options and "function" not in options:
        raise ValueError(f"no algorithm is given; there are {', '.join(outlines())}")
    derived = [text.partition("=") for text in options.get("derive", ())]
    for name, equals, rule in derived:
        if not equals or not name.strip().isidentifier():
            raise ValueError(f"--derive must be NAME = EXPRESSION, got {name + equals + rule!r}")
    axes = options["axes"]
    check_cells(axes, [read_names(group) for group in options.get("zip", ())])
    if "algorithm" not in options:
        return
    names = read_names(options["algorithm"])
    for name in names:
        check_algorithm(name)
    if any(name not in outlines() for name in names):
        return
    problem = options.get("problem")
    family = find(problem or outlines()[names[0]][0])
    functions = {name: outlines()[name][1] for name in names}
    others = [name.strip() for name, _, _ in derived]
    check_axes(functions, family, axes, others, own_options)
    for axis, (_, words) in axes_of(names, problem).known.items():
        values = axes.get(axis, [])
        for value in values if isinstance(values, list) else [values]:
            if words and isinstance(value, str) and value not in words:
                raise ValueError(unknown(f"--{axis}: no such value", value, words))


def build(options: Mapping[str, Any], allow: Collection[str] = ()):
    """Return the sweep that the options describe, and a name for its directory.

    Code that a TOML file names has to be in `allow`: it runs when it is imported.
    """
    from linrep.sweeps.targets import loading_only

    with loading_only((*options["named"], *allow)), loading("the algorithms"):
        return _build(options)


def _build(options):
    from linrep import simulation
    from linrep.sweeps import Expression, Grid, Sweep, load

    axes = options["axes"]
    zipped = [tuple(read_names(group)) for group in options.get("zip", ())]
    derived = {}
    for text in options.get("derive", ()):
        name, _, rule = text.partition("=")
        derived[name.strip()] = rule.strip()
    for rule in options.get("where", ()):
        if not Expression(rule).names:
            raise ValueError(f"--where must be a condition, such as 'm >= 2 * k', got {rule!r}")
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


def refuse(specification) -> None:
    """Raise ValueError for settings that an algorithm refuses in its first and in its last cell.

    What only some replicates refuse is for the sweep to store: of the first cell a few rounds are
    run, then both in whole, with other random numbers.
    """
    from linrep import simulation
    from linrep.simulation.parameters import known_parameters

    if specification.function is not simulation.simulate:
        return
    of_algorithm: dict[str, list] = {}
    for cell in specification.grid:
        of_algorithm.setdefault(cell["algorithm"], []).append(cell)
    for name in of_algorithm.keys() & simulation.ALGORITHMS.keys():
        first, last = of_algorithm[name][0], of_algorithm[name][-1]
        family = simulation.family_of(name, specification.settings.get("problem"))
        known = known_parameters(simulation.ALGORITHMS[name], family) or ()
        short = {
            axis: least for axis, least in _SHORT.items()
            if axis in known and isinstance(given := first.get(axis, least), int) and given >= least
        }  # fmt: skip
        if (
            _refusal(specification, {**first, **short}, 0)
            and _refusal(specification, last, 1)
            and (error := _refusal(specification, first, 1))
        ):
            raise ValueError(f"{name}: {error}")


def _refusal(specification, cell, replicate):
    """Return the error of a replicate that says what is wrong with its settings, None if none."""
    import numpy as np

    from linrep.sweeps.chunks import call

    keys, settings = specification.keys(cell), specification.settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sweep says them
        try:
            call(specification.function, cell, keys, replicate, settings)
        except np.linalg.LinAlgError:  # a ValueError, but of the data
            pass
        except (ValueError, TypeError) as error:
            return error
        except Exception:  # the sweep stores it
            pass
    return None


def _read_file(path) -> dict[str, Any]:
    """Return the options of a TOML file, none without one."""
    import tomllib

    if path is None:
        return {}
    try:  # Notepad's begins with a mark
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        why = error if isinstance(error, OSError | tomllib.TOMLDecodeError) else "it is no TOML"
        raise ValueError(f"{path} cannot be read: {why}") from None
    for name, value in content.items():
        if name not in _FILE_KEYS:
            raise ValueError(unknown(f"{path}: unknown key", name, _FILE_KEYS))
        if not _is_of(value, *_FILE_KEYS[name]):
            kinds = " or ".join(_KINDS[kind] for kind in _FILE_KEYS[name])
            raise ValueError(f"{path}: {name} must be {kinds}, got {value!r}")
    if "algorithm" in content and "function" in content:
        raise ValueError(f"{path}: give algorithm or function, not both")
    content["axes"] = {
        name: read_axis(name, value) if isinstance(value, str) else value
        for name, value in content.get("axes", {}).items()
    }
    if "function" in content:  # whose axes may be any text
        content["function"] = _beside(path, content["function"])
    else:
        content["axes"] = {name: _beside(path, value) for name, value in content["axes"].items()}
    if "algorithm" in content:
        content["algorithm"] = _beside(path, read_names(content["algorithm"]))
    for name in ("where", "derive", "zip"):
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
