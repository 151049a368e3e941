"""What a run directory says of itself: ``sweep.json``, read and checked to the bottom."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from linrep._lib import validation as check
from linrep.sweeps.grid import Grid
from linrep.sweeps.specification import FORMAT, MOST_REPLICATES, RESERVED

SPECIFICATION = "sweep.json"
PARTS = "parts"
_KEY = re.compile("[0-9a-f]{32}")
_DEEPEST = 50  # lists and tables within each other
_LONGEST = 200  # letters of what is said to be wrong


def read_description(path: Path) -> dict[str, Any]:
    """Return what the ``sweep.json`` of a run directory says.

    A ValueError says that there is none, or that it is not the specification of a sweep.
    """
    file = path / SPECIFICATION
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(
            f"{path} is not a run directory: it has no {SPECIFICATION}{advice(path)}"
        ) from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is damaged: it is no JSON{advice(path)}") from None
    written = content.get("format") if isinstance(content, dict) else None
    if type(written) is int and written != FORMAT:
        raise ValueError(
            f"{file} has format {written}, and this version of linrep knows format {FORMAT} only: "
            "read the run by the version that made it, or compute it anew in another folder"
        )
    if written != FORMAT:
        raise ValueError(
            f"{file} is not the specification of a sweep (format {FORMAT}){advice(path)}"
        )
    try:
        _check(content)
    except (TypeError, ValueError) as error:
        reason = str(error)
        reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"
        raise ValueError(
            f"{file} is not the specification of a sweep: {reason}{advice(path)}"
        ) from None
    return content


def advice(path: Path) -> str:
    """Return what may be done where a run directory has parts, but no specification."""
    if not any((path / PARTS).glob("*.parquet")):
        return ""
    return (
        "; its parts are left as they are: start the command that made them in another folder, "
        f"stop it, and copy its {SPECIFICATION} here"
    )


def _check(content):
    for name in ("name", "settings", "replicates", "seed", "cells", "streams"):
        if name not in content:
            raise ValueError(f"it has no {name}")
    for name, kind, what in (
        ("name", str, "a text"),
        ("settings", dict, "a table"),
        ("cells", list, "a list of tables"),
        ("streams", list, "a list of tables"),
        ("target", str | None, "a text"),
    ):
        if name in content and not isinstance(content[name], kind):
            raise TypeError(f"{name} must be {what}, got {content[name]!r}")
    for name in ("cells", "streams"):
        if not all(isinstance(each, dict) for each in content[name]):
            raise TypeError(f"{name} must hold tables only")
    if _is_deeper(content, _DEEPEST):
        raise ValueError(f"lists and tables must not be nested more than {_DEEPEST} times")
    check.count("replicates", content["replicates"], most=MOST_REPLICATES)
    check.integer("seed", content["seed"], minimum=0)
    for cell in Grid.of(content["cells"]):
        for name in cell.keys() & set(RESERVED):
            raise ValueError(f"{name!r} cannot be a parameter")
    if len(content["streams"]) != len(content["cells"]):
        raise ValueError(f"streams must be as many as cells, got {len(content['streams'])}")
    for keys in content["streams"]:
        if not keys or not all(isinstance(k, str) and _KEY.fullmatch(k) for k in keys.values()):
            raise ValueError(f"streams must be of 32 hexadecimal digits, got {keys!r}")
    json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair is no text


def _is_deeper(value, most):
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return most == 0 or any(_is_deeper(item, most - 1) for item in items)


def _refuse(constant):
    raise ValueError(f"{constant} is no number")
