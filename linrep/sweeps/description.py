"""What a run directory says of itself: ``sweep.json``, read and checked."""

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
_KINDS = {
    "name": str, "settings": dict, "replicates": int, "seed": int, "cells": list, "streams": list,
}  # fmt: skip
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
    except (TypeError, ValueError, RecursionError) as error:
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
    for name, kind in _KINDS.items():
        if not isinstance(content.get(name), kind):
            raise TypeError(f"its {name} is missing or no {kind.__name__}")
    if not isinstance(content.get("target"), str | None):
        raise TypeError("its target is no str")
    check.count("replicates", content["replicates"], most=MOST_REPLICATES)
    check.integer("seed", content["seed"], minimum=0)
    grid, streams = Grid.of(content["cells"]), content["streams"]
    for name in {name for cell in grid for name in cell} & set(RESERVED):
        raise ValueError(f"{name!r} cannot be a parameter")
    if len(streams) != len(grid) or not all(map(_is_stream, streams)):
        raise ValueError("its streams are no tables of 32 hexadecimal digits for every cell")
    json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair is no text


def _is_stream(keys):
    return isinstance(keys, dict) and keys and all(_KEY.fullmatch(str(k)) for k in keys.values())


def _refuse(constant):
    raise ValueError(f"{constant} is no number")
