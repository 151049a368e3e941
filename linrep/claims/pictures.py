"""What the pictures of a ledger are drawn from, in a file beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import pandas as pd

from linrep._lib import records
from linrep._lib.papers import PICTURES


def recorded(claim: str, book: Path) -> pd.DataFrame | None:
    """Return what a claim's recorded picture is drawn from, None where none is recorded."""
    table = _beside(book)
    points = table[table["claim"] == claim].drop(columns="claim").reset_index(drop=True)
    return _with_values(points) if len(points) else None


def written(points: Mapping[str, pd.DataFrame | None], kept: Iterable[str], book: Path) -> bytes:
    """Return the file of what a ledger's pictures are drawn from."""
    table = _beside(book)
    tables = [table[table["claim"].isin(set(kept) - points.keys())]]
    tables += [each.assign(claim=name) for name, each in points.items() if each is not None]
    tables = [_with_values(table) for table in tables if len(table)]
    table = pd.concat(tables or [_EMPTY], ignore_index=True).sort_values("claim", kind="stable")
    buffer = BytesIO()
    table.to_parquet(buffer, compression="zstd", index=False)
    return buffer.getvalue()


_EMPTY = pd.DataFrame({"claim": []}, dtype=str)


def _beside(book):
    content = records.beside(book, PICTURES) if records.is_there(book) else None
    return _EMPTY if content is None else _table(content)


@lru_cache(maxsize=4)
def _table(content):
    return pd.read_parquet(BytesIO(content))


def _with_values(points):
    """Return points without the columns of others; y stays where there are intervals alone."""
    return points.loc[:, points.notna().any() | (points.columns == "y")]
