"""The ledger for programs that read it elsewhere: one JSON file, with the address of each entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import linrep
from linrep.claims.claim import Claim, corrections
from linrep.claims.evidence import Result

#: Of what the file holds; it grows where a key changes its meaning or goes.
SCHEMA = 1


def data(
    items: Iterable[tuple[Claim, Result | None]], address: Callable[[str], str]
) -> dict[str, Any]:
    """Return statements with their results as plain values.

    Parameters
    ----------
    items : iterable of (Claim, Result or None)
    address : callable
        ``address(id)`` returns where a statement is shown, relative to the file.

    Returns
    -------
    dict
        ``schema``, ``version`` of linrep, and ``statements`` by id: ``address``, the texts
        ``place``, ``plain``, ``latex``, ``hypotheses`` and ``corrects``, the ids of its corrected
        forms, ``corrected_by``, and ``result``, an entry of a ledger, or None.
    """
    return {
        "schema": SCHEMA,
        "version": linrep.__version__,
        "statements": {
            item.id: {
                "address": address(item.id),
                "place": item.place,
                "plain": item.plain,
                "latex": item.latex,
                "hypotheses": list(map(str, item.hypotheses)),
                "corrects": item.corrects,
                "corrected_by": [other.id for other in corrections(item.id)],
                "result": None if result is None else result.as_json(),
            }
            for item, result in items
        },
    }


def text(items: Iterable[tuple[Claim, Result | None]], address: Callable[[str], str]) -> str:
    """Return what the file holds.

    Parameters
    ----------
    items, address
        As for :func:`data`.
    """
    return json.dumps(data(items, address), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
